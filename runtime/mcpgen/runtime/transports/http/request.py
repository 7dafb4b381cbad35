"""One HTTP request: what ASGI tells of it, and how it is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import UNSET

from ... import jsonrpc
from ...errors import INVALID_REQUEST
from .settings import Settings

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Scope]]
Send: TypeAlias = Callable[[Scope], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

JSON = b"application/json"
EVENTS = b"text/event-stream"
SINGLE = (b"authorization", b"content-type", b"host", b"last-event-id", b"origin")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Refusal(Exception):
    """An answer that is not 2xx, decided before any message was looked at."""

    def __init__(
        self, status: int, message: str, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = list(headers)


class Request:
    """What came, and what has been answered so far."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, settings: Settings
    ) -> None:
        self.method: str = scope["method"]
        self.settings = settings
        self.principal: Any = None
        """Who was authenticated, if anybody was."""
        self.streaming = False
        """Has an event stream been begun?"""
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self._scope = scope
        self._receive = receive
        self._send = send

    # --- what came ------------------------------------------------------------------------

    def header(self, name: bytes) -> str | None:
        """A header by its name in lower case."""
        value = self._headers.get(name)
        return None if value is None else value.strip().decode("latin-1")

    @property
    def path(self) -> str:
        """The path, below where the application is mounted."""
        path: str = self._scope["path"]
        return path.removeprefix(self.mounted_at) or "/"

    @property
    def mounted_at(self) -> str:
        """Where the application is mounted."""
        return str(self._scope.get("root_path", ""))

    def query(self) -> str:
        """What stands behind the question mark."""
        return bytes(self._scope.get("query_string", b"")).decode("latin-1")

    def accepts(self, kind: bytes) -> bool:
        """Would the client read an answer of this kind?"""
        accept = self._headers.get(b"accept")
        return accept is None or _admits(accept, kind)

    def check_source(self) -> None:
        """Refuse what a foreign web page may have sent, or what says two things."""
        if len(self._headers) < len(self._scope["headers"]):
            _refuse_duplicates(self._scope["headers"])
        settings = self.settings
        host = self.header(b"host") or ""
        if not _is_allowed(host, tuple(settings.allowed_hosts)):
            raise Refusal(
                421,
                f"the host {host!r} is not served here: see the setting allowed_hosts",
            )
        origin = self.header(b"origin")
        if origin is None or origin in settings.allowed_origins:
            return
        _, _, name = origin.partition("://")
        allowed = ("*",) if "*" in settings.allowed_origins else ()
        if not _is_allowed(name, allowed):
            raise Refusal(
                403,
                f"the origin {origin!r} may not call this: see the setting "
                "allowed_origins",
            )

    def check_content(self) -> None:
        """Refuse a POST that is not JSON, or whose client could not read the answer."""
        kind = self._headers.get(b"content-type", b"").partition(b";")[0]
        if kind.strip().lower() != JSON:
            raise Refusal(415, "the Content-Type must be application/json")
        if not self.accepts(JSON) and not self.accepts(EVENTS):
            raise Refusal(
                406, "Accept must admit application/json or text/event-stream"
            )

    async def body(self) -> bytes:
        """All of the body; a Refusal when it is too large."""
        limit = self.settings.max_body
        length = self._headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > limit:
            raise _too_large(limit)
        message = await self._receive()
        body: bytes = message.get("body", b"")
        if message.get("more_body"):
            parts = bytearray(body)
            while message.get("more_body"):
                message = await self._receive()
                parts += message.get("body", b"")
                if len(parts) > limit:
                    raise _too_large(limit)
            body = bytes(parts)
        if message["type"] == "http.disconnect":
            raise Disconnected
        if len(body) > limit:
            raise _too_large(limit)
        return body

    async def gone(self) -> None:
        """Wait until the client is not there any more; only after the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    # --- answers --------------------------------------------------------------------------

    async def respond(
        self,
        status: int,
        body: bytes = b"",
        headers: Headers | None = None,
        kind: bytes = JSON,
    ) -> None:
        """The whole answer at once."""
        said: Headers = [(b"content-length", b"%d" % len(body))]
        if body:
            said.append((b"content-type", kind))
        if headers:
            said += headers
        await self._send(
            {"type": "http.response.start", "status": status, "headers": said}
        )
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, refusal: Refusal) -> None:
        """Say why not, as an error that belongs to no message."""
        body = jsonrpc.error(UNSET, INVALID_REQUEST, refusal.message)
        await self.respond(refusal.status, body, refusal.headers)

    async def begin_stream(self, headers: Headers | None = None) -> None:
        """Begin an event stream."""
        self.streaming = True
        said: Headers = [
            (b"content-type", EVENTS),
            (b"cache-control", b"no-cache, no-transform"),
            (b"x-accel-buffering", b"no"),
        ]
        said += headers or []
        await self._send(
            {"type": "http.response.start", "status": 200, "headers": said}
        )

    async def send_events(self, events: bytes, *, last: bool = False) -> None:
        """Send a part of the event stream."""
        await self._send(
            {"type": "http.response.body", "body": events, "more_body": not last}
        )


class Disconnected(Exception):
    """The client went away before it had said everything."""


def _refuse_duplicates(headers: Headers) -> None:
    """A gateway may have looked at one of them, and we would act on the other."""
    seen = set()
    for name, _ in headers:
        if name in seen and (name in SINGLE or name.startswith(b"mcp-")):
            raise Refusal(400, f"the header {name.decode('latin-1')} is there twice")
        seen.add(name)


def _too_large(limit: int) -> Refusal:
    return Refusal(
        413, f"the body has more than {limit} bytes: see the setting max_body"
    )


@lru_cache(64)
def _admits(accept: bytes, kind: bytes) -> bool:
    family = kind.partition(b"/")[0] + b"/*"
    for part in accept.lower().split(b","):
        name, *parameters = (piece.strip() for piece in part.split(b";"))
        if name in (kind, family, b"*/*") and b"q=0" not in parameters:
            return True
    return False


@lru_cache(64)
def _is_allowed(host: str, allowed: tuple[str, ...]) -> bool:
    name, _, port = host.rpartition(":")
    if not port.isdigit():
        name = host
    return (
        "*" in allowed
        or name.lower() in LOOPBACK
        or any(item.lower() in (host.lower(), name.lower()) for item in allowed)
    )
