"""Bearer tokens (RFC 6750) for a server, and its metadata (RFC 9728).

A token comes in the `Authorization` header and nowhere else. What it stands for is the
business of a verifier, which must make sure that the token was issued **for this
server** (its audience): one that takes tokens meant for others lets those others act
here in their users' names.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from ..peer import log
from .urls import absolute, site

WELL_KNOWN = "/.well-known/oauth-protected-resource"
MAX_TOKEN = 16 * 1024
"""Characters of the header that are looked at: servers seldom take longer ones."""

_CREDENTIALS = re.compile(r"bearer +([A-Za-z0-9\-._~+/]+=*)", re.ASCII | re.IGNORECASE)
_SCHEME = re.compile(r"bearer(\s|$)", re.ASCII | re.IGNORECASE)
SCOPE = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+")


class Principal(Struct, frozen=True):
    """Who calls."""

    subject: str
    """The user, or the program that acts for itself."""
    client_id: str = ""
    """The program that acts for the user."""
    scopes: frozenset[str] = frozenset()
    claims: dict[str, Any] = {}
    """All that is known, as the token or its issuer says it."""
    expires_at: float | None = None
    """When the token ends, in seconds since the epoch."""

    @property
    def key(self) -> str:
        """What sessions and states are bound to: the same for every token of a caller.

        A list, so that no two callers share one, whatever their names contain.
        """
        issuer = str(self.claims.get("iss", ""))
        return msgspec.json.encode([issuer, self.client_id, self.subject]).decode()


Verify: TypeAlias = Callable[[str], Principal | Awaitable[Principal | None] | None]
"""Takes a token; None, or anything that it raises, refuses it."""


class Unauthorized(Exception):
    """Nobody who may call: what to answer over HTTP."""

    def __init__(self, status: int, www_authenticate: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.www_authenticate = www_authenticate
        """The header of that name, which tells a client where to get a token."""
        self.message = message


class Bearer:
    """Lets in who has a good token; tells everybody else where to get one."""

    def __init__(
        self,
        verify: Verify,
        *,
        resource: str,
        authorization_servers: Sequence[str],
        scopes: Sequence[str] = (),
        scopes_supported: Sequence[str] | None = None,
        name: str = "",
        documentation: str = "",
        policy: str = "",
        terms: str = "",
        max_token: int = MAX_TOKEN,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`resource` is the URL of the endpoint as its clients know it.

        A token must have all `scopes`; `scopes_supported` are those that clients may
        ask for, the same if not given. `documentation`, `policy` and `terms` are URLs
        for people.
        """
        if isinstance(scopes, str) or isinstance(authorization_servers, str):
            raise TypeError("scopes and authorization_servers are lists of strings")
        parts = absolute(resource, "resource")
        if not authorization_servers:
            raise ValueError("authorization_servers: clients need at least one")
        for server in authorization_servers:
            absolute(server, "authorization_servers")
        for scope in (*scopes, *(scopes_supported or ())):
            if not SCOPE.fullmatch(scope):
                raise ValueError(f"scopes: {scope!r} is not a scope")
        path = parts.path if parts.path != "/" else ""
        self.metadata_path = WELL_KNOWN + path
        """Where the metadata is to be served."""
        query = f"?{parts.query}" if parts.query else ""
        self.metadata_url = site(parts) + self.metadata_path + query
        self.resource = resource
        self._verify = verify
        self._scopes = tuple(scopes)
        self._max_token = max_token
        self._clock = clock
        described = {
            "resource": resource,
            "authorization_servers": list(authorization_servers),
            "scopes_supported": list(
                scopes if scopes_supported is None else scopes_supported
            ),
            "bearer_methods_supported": ["header"],
            "resource_name": name,
            "resource_documentation": documentation,
            "resource_policy_uri": policy,
            "resource_tos_uri": terms,
        }
        self._metadata = msgspec.json.encode({k: v for k, v in described.items() if v})

    def metadata(self) -> bytes:
        """What a client must know to get a token: JSON of RFC 9728."""
        return self._metadata

    async def authenticate(self, authorization: str | None) -> Principal:
        """Who sent this header; Unauthorized when it is nobody who may call."""
        principal = await self._verified(self._token(authorization))
        expires_at = principal.expires_at
        # Not "expired when past": a time that is no number never comes.
        if expires_at is not None and not expires_at > self._clock():
            raise self._invalid("the token has expired")
        if not principal.scopes.issuperset(self._scopes):
            needed = " ".join(self._scopes)
            message = f"the token lacks a scope: {needed} are needed"
            raise self._refused(403, message, "insufficient_scope")
        return principal

    def _token(self, authorization: str | None) -> str:
        if authorization is None or not _SCHEME.match(authorization):
            # As RFC 6750 wants it: no error code where there was no token.
            raise self._refused(401, "a bearer token is needed")
        if len(authorization) > self._max_token:
            raise self._invalid("the token is too long")
        found = _CREDENTIALS.fullmatch(authorization)
        if found is None:
            raise self._invalid("the Authorization header is malformed")
        return found[1]

    async def _verified(self, token: str) -> Principal:
        try:
            found = self._verify(token)
            if isawaitable(found):
                found = await found
            if found is not None and not isinstance(found, Principal):
                raise TypeError(f"verify gave a {type(found).__name__}, no Principal")
        except Exception:
            log.exception("verifying a token failed")
            found = None
        if found is None:
            raise self._invalid("the token is not valid here")
        return found

    def _invalid(self, message: str) -> Unauthorized:
        return self._refused(401, message, "invalid_token")

    def _refused(self, status: int, message: str, error: str = "") -> Unauthorized:
        said = {"error": error, "scope": " ".join(self._scopes)}
        said["resource_metadata"] = self.metadata_url
        # Nothing in here comes from a request, and all of it was checked above.
        values = ", ".join(f'{key}="{value}"' for key, value in said.items() if value)
        return Unauthorized(status, f"Bearer {values}", message)
