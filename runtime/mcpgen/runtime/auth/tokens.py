"""Tokens: what their endpoint gives (RFC 6749), and what is kept of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from inspect import isawaitable

from msgspec import Struct
from msgspec.structs import replace

from ..errors import AuthError
from .clients import Client

EARLY_SECONDS = 60.0
MAX_SECONDS = 10.0**9

_TOKEN = re.compile(r"[\x21-\x7E]+")


class Answer(Struct):
    """What a token endpoint says."""

    access_token: str
    token_type: str = "bearer"
    expires_in: float = 0
    refresh_token: str = ""


class Grant(Struct):
    """A token, and all that is needed to get the next one."""

    issuer: str
    resource: str
    token_endpoint: str
    scopes: list[str]
    """As asked for: a later request must not lose any of them."""
    client: Client
    access_token: str = ""
    refresh_token: str = ""
    renew_at: float = 0
    """A little before it expires, in seconds since the epoch; 0: unknown."""

    def __repr__(self) -> str:
        return f"Grant({self.issuer!r}, {self.resource!r})"

    def filled(self, answer: Answer, now: float) -> Grant:
        """The same, with the tokens of an answer."""
        token, seconds = answer.access_token, answer.expires_in
        if answer.token_type.lower() != "bearer" or not _TOKEN.fullmatch(token):
            raise AuthError(f"{self.issuer} gave a token that is no bearer token")
        # Not every server gives a new refresh token each time.
        refresh = answer.refresh_token or self.refresh_token
        early = min(EARLY_SECONDS, seconds / 10)
        at = now + seconds - early if 0 < seconds < MAX_SECONDS else 0
        return replace(self, access_token=token, refresh_token=refresh, renew_at=at)


class StaticToken:
    """A token that somebody else takes care of; a function may give the newest."""

    def __init__(self, token: str | Callable[[], str | Awaitable[str]]) -> None:
        self._token = token

    async def header(self) -> str:
        """The value of `Authorization`."""
        found = self._token() if callable(self._token) else self._token
        token = await found if isawaitable(found) else found
        if not _TOKEN.fullmatch(token):
            raise ValueError("a token is visible ASCII characters, and nothing else")
        return f"Bearer {token}"

    async def refused(self, status: int, challenges: str, sent: str | None) -> bool:
        """Is there a newer one by now? Nothing else can be done."""
        return status == 401 and await self.header() != sent
