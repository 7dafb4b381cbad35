"""Requests to OAuth's endpoints: JSON answers of a bounded size, in bounded time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from ..client.web import Web
from ..errors import AuthError, ConnectionClosed, HttpError
from .urls import LOOPBACK, secure

ANSWER_SECONDS = 30.0
MAX_BODY = 256 * 1024
T = TypeVar("T")

_OPAQUE = re.compile(r"(?=[\w.~+=-]*\d)[\w.~+=-]{16,}")
"""What may be a secret that somebody repeats."""


class Endpoints:
    """Asks what metadata names; plain http only if the MCP server is local too.

    Otherwise a server far away could make us talk to programs on this machine.
    """

    def __init__(self, server_url: str, http: Any) -> None:
        self._web = Web(server_url, http=http)
        self._is_local = urlsplit(server_url).hostname in LOOPBACK
        self.close = self._web.close

    def check(self, url: str) -> None:
        """AuthError unless the URL may be asked, or shown in a browser."""
        try:
            secure(url, "endpoint", local=self._is_local)
        except ValueError as error:
            raise AuthError(str(error)) from None

    async def first(self, urls: Iterable[str], kind: type[T]) -> T | None:
        """The first metadata document that there is; a 4xx or a web page is none."""
        for url in urls:
            status, said = await self._send("GET", url, None, {})
            if status == 200 and said:
                return _read(said, kind, url)
        return None

    async def post(self, url: str, kind: type[T], body: bytes, **headers: str) -> T:
        """The answer of an endpoint; AuthError if it says no."""
        status, said = await self._send("POST", url, body, headers)
        if status in (200, 201) and "error" not in said:
            return _read(said, kind, url)
        raise refusal(f"{url} answered {status}", said)

    async def _send(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, Any]]:
        self.check(url)
        headers["accept"] = "application/json"
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                response = await self._web.send(method, headers, body, url)
                data = await response.read(MAX_BODY)
        except (ConnectionClosed, HttpError, OSError, ValueError) as error:
            raise AuthError(f"{url}: {str(error) or 'no answer in time'}") from None
        if response.status >= 500:
            raise AuthError(f"{url} answered {response.status}")
        try:
            return response.status, msgspec.json.decode(data, type=dict[str, Any])
        except (ValueError, RecursionError):
            return response.status, {}


def refusal(what: str, said: dict[str, Any]) -> AuthError:
    """An answer that says no, in words fit for a terminal."""
    code, why = (str(said.get(key, ""))[:999] for key in ("error", "error_description"))
    text = _OPAQUE.sub("…", f"{code or 'no reason given'} {why}".rstrip())[:200]
    text = "".join(c if c.isprintable() else "?" for c in text)
    return AuthError(f"{what}: {text}", code or "?")


def _read(said: dict[str, Any], kind: type[T], url: str) -> T:
    """A null is as good as nothing, and some write numbers as strings."""
    given = {key: value for key, value in said.items() if value is not None}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise AuthError(f"{url}: {error}") from None
