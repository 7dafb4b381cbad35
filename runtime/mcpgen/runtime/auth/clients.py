"""Who we are for an authorization server, and how that is proven to it."""

from __future__ import annotations

import secrets
import time
from base64 import b64encode
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import AuthError
from .discovery import Issuer
from .endpoints import Endpoints

ASSERTION_SECONDS = 300
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class Client(Struct):
    """A client as it is registered (RFC 7591)."""

    client_id: str
    client_secret: str = ""
    token_endpoint_auth_method: str = ""
    redirect_uri: str = ""
    client_secret_expires_at: float = 0
    """0: never."""

    def __repr__(self) -> str:
        return f"Client({self.client_id!r})"


async def register(
    endpoints: Endpoints, issuer: Issuer, redirect_uri: str, name: str
) -> Client:
    """Make ourselves known, for the code flow with this redirect URI."""
    method = issuer.method("none", "client_secret_basic", "client_secret_post")
    wanted = {
        "client_name": name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        # http stays on this machine, as has been checked; a page elsewhere is https.
        "application_type": "native" if redirect_uri.startswith("http:") else "web",
    }
    url, body = issuer.registration_endpoint, msgspec.json.encode(wanted)
    headers = {"content-type": "application/json"}
    client = await endpoints.post(url, Client, body, **headers)
    if not client.client_id or not client.client_id.isprintable():
        raise AuthError(f"{url} registers us without a client_id")
    method = client.token_endpoint_auth_method or method
    return replace(client, token_endpoint_auth_method=method, redirect_uri=redirect_uri)


def prove(
    client: Client, issuer: str, form: dict[str, str], key: Any, algorithm: str
) -> dict[str, str]:
    """Put what proves who we are into a token request's form, or into these headers."""
    if client.token_endpoint_auth_method == "client_secret_basic":
        # Each part is encoded first: a colon in one must not end it.
        pair = f"{quote(client.client_id, '')}:{quote(client.client_secret, '')}"
        return {"authorization": "Basic " + b64encode(pair.encode()).decode()}
    form["client_id"] = client.client_id
    if client.token_endpoint_auth_method == "client_secret_post":
        form["client_secret"] = client.client_secret
    elif client.token_endpoint_auth_method == "private_key_jwt" and key is not None:
        form["client_assertion"] = _assertion(client.client_id, issuer, key, algorithm)
        form["client_assertion_type"] = ASSERTION_TYPE
    return {}


def _assertion(client_id: str, issuer: str, key: Any, algorithm: str) -> str:
    """A JWT that only the owner of the private key can make (RFC 7523)."""
    from .jwt import imported, joserfc

    owned, now = imported(key, [algorithm]), int(time.time())
    header = {"alg": algorithm} | ({"kid": owned.kid} if owned.kid else {})
    claims: dict[str, Any] = {"iss": client_id, "sub": client_id, "aud": issuer}
    claims |= {"iat": now, "exp": now + ASSERTION_SECONDS}
    claims["jti"] = secrets.token_urlsafe(16)
    return str(joserfc("jwt").encode(header, claims, owned, algorithms=[algorithm]))
