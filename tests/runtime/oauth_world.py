"""A world in memory: an MCP server, authorization servers, and a user with a browser.

`World` is a `Requester`. The authorization servers check what RFC 6749 and 7636 tell
them to check, so that a flow that comes to its end was a right one.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from mcpgen.runtime.client.http1 import HttpBroken, TooLarge

MCP = "https://mcp.example/mcp"
ISSUER = "https://login.example"
CALLBACK = "http://127.0.0.1:8765/callback"
OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
RESOURCE = "/.well-known/oauth-protected-resource"


@dataclass
class Seen:
    """A request that came."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        pairs = parse_qsl(self.body.decode(), keep_blank_values=True)
        assert len(dict(pairs)) == len(pairs), "a parameter came twice"
        return dict(pairs)


class Answer:
    """A `Response`."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    async def read(self, limit: int) -> bytes:
        if len(self.body) > limit:
            raise TooLarge(f"more than {limit} bytes")
        return self.body

    def chunks(self) -> AsyncIterator[bytes]:
        raise NotImplementedError

    def close(self) -> None:
        pass


def says(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, headers, json.dumps(value).encode())


def no(error: str, description: str = "", status: int = 400) -> Answer:
    return says({"error": error, "error_description": description}, status)


@dataclass
class Issuer:
    """An authorization server."""

    url: str = ISSUER
    iss: str | None = None
    """What it puts into its answers to the browser; its own URL if `url`."""
    lifetime: Any = 3600
    refreshes: bool = True
    rotates: bool = True
    denies: str = ""
    """The error with which its user says no."""
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    refresh_tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    questions: list[dict[str, str]] = field(default_factory=list)
    """The authorization requests."""
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.iss = self.url if self.iss == "url" else self.iss
        self.metadata: dict[str, Any] = {
            "issuer": self.url,
            "authorization_endpoint": self.url + "/authorize",
            "token_endpoint": self.url + "/token",
            "registration_endpoint": self.url + "/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }

    def name(self, kind: str) -> str:
        """A secret that can be found again wherever it leaks to."""
        host = urlsplit(self.url).hostname or ""
        count = len(self.tokens) + len(self._codes) + len(self.clients)
        return f"{kind}-secret-{host.replace('.', '-')}-{count:04}"

    def authorize(self, url: str) -> str:
        """The user has signed in: where the browser goes next."""
        asked = dict(parse_qsl(urlsplit(url).query))
        self.questions.append(asked)
        client = self.clients[asked["client_id"]]
        assert asked["redirect_uri"] in client["redirect_uris"]
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert len(asked["code_challenge"]) == 43
        assert len(asked["state"]) >= 32
        answer = {"state": asked["state"]}
        if self.iss is not None:
            answer["iss"] = self.iss
        if self.denies:
            answer |= {"error": self.denies, "error_description": "I would rather not"}
        else:
            code = answer["code"] = self.name("code")
            self._codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def register(self, seen: Seen) -> Answer:
        wanted = json.loads(seen.body)
        client_id = f"client-{urlsplit(self.url).hostname}-{len(self.clients)}"
        method = wanted["token_endpoint_auth_method"]
        made = {**wanted, "client_id": client_id}
        if method != "none":
            made["client_secret"] = self.name("client")
        self.clients[client_id] = made
        return says(made, 201)

    def token(self, seen: Seen) -> Answer:
        form = seen.form
        client_id = self._authenticated(seen)
        if client_id is None:
            return no("invalid_client", status=401)
        kind = form["grant_type"]
        if kind == "authorization_code":
            asked = self._codes.pop(form["code"], None)
            if asked is None or not _answers(form, asked, client_id):
                return no("invalid_grant")
            return self._issue(client_id, asked.get("scope", ""), form["resource"])
        if kind == "refresh_token":
            held = self.refresh_tokens.get(form["refresh_token"])
            if held is None or held["client_id"] != client_id:
                return no("invalid_grant", f"unknown {form['refresh_token']}")
            if self.rotates:
                del self.refresh_tokens[form["refresh_token"]]
            return self._issue(client_id, held["scope"], form["resource"])
        return self._issue(client_id, form.get("scope", ""), form["resource"])

    def _authenticated(self, seen: Seen) -> str | None:
        form, header = seen.form, seen.headers.get("authorization", "")
        if header:
            pair = base64.b64decode(header.removeprefix("Basic ")).decode()
            client_id, secret = map(unquote, pair.split(":"))
            method = "client_secret_basic"
        else:
            client_id, secret = form["client_id"], form.get("client_secret", "")
            method = "client_secret_post" if secret else "none"
        if "client_assertion" in form:
            method = "private_key_jwt"
        client = self.clients.get(client_id)
        if client is None or client["token_endpoint_auth_method"] != method:
            return None
        return client_id if secret == client.get("client_secret", "") else None

    def _issue(self, client_id: str, scope: str, resource: str) -> Answer:
        token = self.name("access")
        held = {"client_id": client_id, "scope": scope, "resource": resource}
        self.tokens[token] = held
        answer = {"access_token": token, "token_type": "Bearer", "scope": scope}
        if self.lifetime is not None:
            answer["expires_in"] = self.lifetime
        if self.refreshes:
            answer["refresh_token"] = self.name("refresh")
            self.refresh_tokens[answer["refresh_token"]] = held
        return says(answer)


def _answers(form: dict[str, str], asked: dict[str, str], client_id: str) -> bool:
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return (
        challenge == asked["code_challenge"]
        and form["redirect_uri"] == asked["redirect_uri"]
        and form["resource"] == asked["resource"]
        and client_id == asked["client_id"]
    )


class World:
    """All that can be asked. Change it as a test needs it."""

    def __init__(self, issuer: Issuer | None = None, *, mcp: str = MCP) -> None:
        self.mcp = mcp
        self.issuer = issuer or Issuer()
        self.issuers = [self.issuer]
        self.seen: list[Seen] = []
        self.needs: list[str] = []
        """The scopes without which the MCP server answers 403."""
        self.challenge: dict[str, str] = {}
        """What a 401 says besides."""
        self.resource: dict[str, Any] = {"resource": mcp}
        self.resource["authorization_servers"] = [self.issuer.url]
        self.closed = 0
        parts = urlsplit(mcp)
        self.site = f"{parts.scheme}://{parts.netloc}"
        self.pages: dict[str, Any] = {
            self.site + RESOURCE + parts.path: self.resource,
            self.issuer.url + OAUTH: self.issuer.metadata,
        }
        """What GET gives; anything else is 404."""

    @property
    def asked(self) -> list[str]:
        """The paths that were asked, in order."""
        return [f"{seen.method} {seen.url}" for seen in self.seen]

    def add(self, issuer: Issuer) -> Issuer:
        self.issuers.append(issuer)
        self.pages[issuer.url + OAUTH] = issuer.metadata
        return issuer

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Answer:
        seen = Seen(method, url, dict(headers), body or b"")
        self.seen.append(seen)
        await asyncio.sleep(0)
        return self.answer(seen)

    async def close(self) -> None:
        self.closed += 1

    def answer(self, seen: Seen) -> Answer:
        found = self.pages.get(seen.url)
        if isinstance(found, Exception):
            raise found
        if isinstance(found, Answer):
            return found
        if callable(found):
            answer: Answer = found(seen)
            return answer
        if found is not None and seen.method == "GET":
            return says(found)
        for issuer in self.issuers:
            page = str(issuer.metadata.get("authorization_endpoint"))
            if seen.method == "GET" and seen.url.startswith(page + "?"):
                return Answer(302, {"location": issuer.authorize(seen.url)}, b"")
            if seen.url == issuer.metadata.get("token_endpoint"):
                return issuer.token(seen)
            if seen.url == issuer.metadata.get("registration_endpoint"):
                return issuer.register(seen)
        return Answer(404, {}, b"<html>nothing here")

    async def browse(self, url: str) -> str:
        """The user, who says yes to everything."""
        await asyncio.sleep(0)
        for issuer in self.issuers:
            if url.startswith(issuer.metadata["authorization_endpoint"]):
                return issuer.authorize(url)
        raise AssertionError(f"a strange page: {url}")

    def serve(self, authorization: str | None) -> tuple[int, str]:
        """The MCP server: a status, and the challenge that comes with it."""
        token = (authorization or "").removeprefix("Bearer ")
        current = self.resource.get("authorization_servers") or [self.site]
        held = None
        for issuer in self.issuers:
            if issuer.url in current:
                held = issuer.tokens.get(token)
        if held is None or held["resource"] != self.resource["resource"]:
            return 401, _challenge(self.challenge)
        if not set(self.needs) <= set(held["scope"].split()):
            said = {"error": "insufficient_scope", "scope": " ".join(self.needs)}
            return 403, _challenge(said)
        return 200, ""


def _challenge(said: Mapping[str, str]) -> str:
    return "Bearer " + ", ".join(f'{key}="{value}"' for key, value in said.items())


async def call(auth: Any, world: World, tries: int = 10) -> int:
    """One request, as the transport makes it: the status it ends with."""
    status = 0
    for _ in range(tries):
        sent = await auth.header()
        status, challenge = world.serve(sent)
        if status == 200 or not await auth.refused(status, challenge, sent):
            return status
    return status


BROKEN = HttpBroken("no connection", sent=False)


@asynccontextmanager
async def on_loopback() -> AsyncIterator[World]:
    """A world that real sockets lead to; its issuer has a path."""
    world: World

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *fields = head.strip().split("\r\n")
        method, target, _ = line.split(" ")
        headers = {k.lower(): v for k, v in (f.split(": ", 1) for f in fields)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        seen = Seen(method, world.site + target, headers, body)
        world.seen.append(seen)
        answer = world.answer(seen)
        said = {**answer.headers, "content-length": len(answer.body)}
        lines = [f"HTTP/1.1 {answer.status} X", "connection: close"]
        lines += [f"{name}: {value}" for name, value in said.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + answer.body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    site = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    world = World(Issuer(f"{site}/as", iss="url"), mcp=f"{site}/mcp")
    world.pages[f"{site}{OAUTH}/as"] = world.issuer.metadata
    world.pages[world.mcp] = lambda seen: _mcp(world, seen)
    async with server:
        yield world


def _mcp(world: World, seen: Seen) -> Answer:
    status, challenge = world.serve(seen.headers.get("authorization"))
    return Answer(status, {"www-authenticate": challenge}, b"{}")
