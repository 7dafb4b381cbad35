"""The client under test: does what the scenarios of the conformance suite ask for.

`python -m tests.conformance.client URL`; the scenario's name is in the environment.
Only the public API is used here. The last line is DONE when all went as it should, also
where that means to stop: a crash is never taken for a refusal.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPMessage
from typing import Any
from urllib.parse import urlencode, urlsplit

from mcpgen.runtime import Client
from mcpgen.runtime.auth import AuthError, ClientCredentials, JwtBearer, OAuth

from .suite import DONE

SECONDS = 50
"""The suite gives up a little later, and would leave us running."""

METADATA_URL = "https://conformance-test.local/client-metadata.json"
REDIRECT_URI = "http://localhost:3000/callback"
"""Nobody listens there: the suite's login page answers at once, with a redirect."""

ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "add_numbers": {"a": 5, "b": 3},
    "valid_tool": {"region": "us-west1"},
}
"""Tool → what it is called with, if not with nothing."""

REFUSED = (
    "auth/scope-retry-limit",
    "auth/resource-mismatch",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
)
"""Where a client must not go on."""

TOKEN_TYPE = "urn:ietf:params:oauth:token-type:"


# --- what is asked of the server ------------------------------------------------------


async def use_everything(client: Client, _: Mapping[str, Any]) -> None:
    """Call, read and get whatever the server lists."""
    for tool in await client.list_tools():
        await call(client, tool.name, ARGUMENTS.get(tool.name, {}))
    for resource in await client.list_resources():
        await client.read_resource(resource.uri)
    for prompt in await client.list_prompts():
        await client.get_prompt(prompt.name)


async def make_the_calls(client: Client, context: Mapping[str, Any]) -> None:
    """Exactly those that the suite wants."""
    await client.list_tools()
    for wanted in context["toolCalls"]:
        await call(client, wanted["name"], wanted["arguments"])


async def only_list(client: Client, _: Mapping[str, Any]) -> None:
    await client.list_tools()


async def give_a_schema_back(client: Client, _: Mapping[str, Any]) -> None:
    schemas = {tool.name: tool.input_schema for tool in await client.list_tools()}
    schema = schemas["json_schema_2020_12_tool"]
    await call(client, "json_schema_echo", {"schema": schema})


async def call(client: Client, name: str, arguments: Mapping[str, Any]) -> None:
    result = await client.call_tool(name, arguments)
    if result.is_error is True:
        raise SystemExit(f"the tool {name} failed: {result.content}")


PROGRAMS = {
    "http-custom-headers": make_the_calls,
    "json-schema-ref-no-deref": only_list,
    "json-schema-2020-12-preservation": give_a_schema_back,
}


# --- what the server asks of us -------------------------------------------------------


async def fill_in(params: Any) -> dict[str, Any]:
    """A form: the runtime fills in the defaults."""
    fields = params.requested_schema["properties"]
    return {"confirmed": True} if "confirmed" in fields else {}


async def sample(params: Any) -> str:
    return "A model would say something here."


# --- who we are -----------------------------------------------------------------------


def authorization(url: str, scenario: str, context: Mapping[str, Any]) -> Any:
    """How to get a token, with what the suite told us beforehand."""
    known = {k: context[k] for k in ("client_id", "client_secret") if k in context}
    if scenario == "auth/client-credentials-jwt":
        key, algorithm = context["private_key_pem"], context["signing_algorithm"]
        known |= {"private_key": key, "algorithm": algorithm}
    if scenario.startswith("auth/client-credentials"):
        return ClientCredentials(url, **known)
    if scenario == "auth/wif-jwt-bearer":
        return JwtBearer(url, assertion=lambda *_: context["valid_jwt"], **known)
    if scenario == "auth/enterprise-managed-authorization":
        return JwtBearer(url, assertion=EnterpriseGrant(context), **known)
    return OAuth(
        url,
        client_metadata_url=METADATA_URL,
        redirect=log_in,
        redirect_uri=REDIRECT_URI,
        issuer=context.get("issuer", ""),
        **known,
    )


async def log_in(url: str) -> str:
    """Be the user and his browser: where the login page leads to."""
    _, headers = await asyncio.to_thread(exchange, "GET", url)
    return str(headers["location"])


class EnterpriseGrant:
    """Trades the user's identity for a grant, at the identity provider (RFC 8693)."""

    def __init__(self, context: Mapping[str, Any]) -> None:
        self._context = context

    async def __call__(self, issuer: str, resource: str) -> str:
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": TOKEN_TYPE + "id-jag",
            "subject_token": self._context["idp_id_token"],
            "subject_token_type": TOKEN_TYPE + "id_token",
            "client_id": self._context["idp_client_id"],
            "audience": issuer,
            "resource": resource,
        }
        url = self._context["idp_token_endpoint"]
        body, _ = await asyncio.to_thread(exchange, "POST", url, urlencode(form))
        return str(json.loads(body)["access_token"])


def exchange(method: str, url: str, form: str = "") -> tuple[bytes, HTTPMessage]:
    """One HTTP request of the world around the client; redirects are not followed."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=10)
    headers = {"content-type": "application/x-www-form-urlencoded"} if form else {}
    try:
        connection.request(method, f"{parts.path}?{parts.query}", form, headers)
        response = connection.getresponse()
        return response.read(), response.headers
    finally:
        connection.close()


# --- one run --------------------------------------------------------------------------


async def run(
    url: str, scenario: str, version: str, context: Mapping[str, Any]
) -> None:
    is_auth = scenario.startswith("auth/")
    client = Client.http(
        url,
        auth=authorization(url, scenario, context) if is_auth else None,
        name="mcpgen-conformance",
        version="1.0.0",
        timeout=20,
        sampling=sample,
        elicitation=fill_in,
        roots=["file:///tmp"],
    )
    async with asyncio.timeout(SECONDS), client:
        if client.version != version:  # It has to find out by itself.
            raise SystemExit(f"{client.version} is spoken, not {version}")
        await PROGRAMS.get(scenario, use_everything)(client, context)


def main() -> None:
    environment = os.environ
    scenario = environment["MCP_CONFORMANCE_SCENARIO"]
    version = environment["MCP_CONFORMANCE_PROTOCOL_VERSION"]
    context = json.loads(environment.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    try:
        asyncio.run(run(sys.argv[1], scenario, version, context))
    except AuthError as error:
        if scenario not in REFUSED:
            raise
        print(f"refused: {error}")
    else:
        if scenario in REFUSED:
            raise SystemExit(f"{scenario}: the client went on where it must stop")
    print(DONE)


if __name__ == "__main__":
    main()
