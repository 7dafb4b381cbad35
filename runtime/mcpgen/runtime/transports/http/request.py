"""One HTTP request: what ASGI tells of it, and how it is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from .settings import Settings

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Scope]]
Send: TypeAlias = Callable[[Scope], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]

JSON = b"application/json"
EVENTS = b"text/event-stream"
SINGLE = (b"authorization", b"content-type", b"host", b"last-event-id", b"origin")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Refusal(Exception):
    """An answer that is not 2xx, decided before any message was looked at."""

    def __init__(self, status: int, message: str, *headers: Header) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


class Request:
    """What came, and what has been answered so far."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, settings: Settings
    ) -> None:
        self.method: str = scope["method"]
        self.mounted_at: str = scope.get("root_path", "")
        """Where the application is mounted."""
        self.path: str = scope["path"].removeprefix(self.mounted_at) or "/"
        """The path below that."""
        self.settings = settings
        self.principal: Any = None
        """Who was authenticated, if anybody was."""
        self.streaming = False
        """Has an event stream been begun?"""
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.version = self.header(b"mcp-protocol-version")
        """The protocol version that it says to be of."""
        self._scope = scope
        self._receive = receive
        self._send = send

    # --- what came ------------------------------------------------------------------------

    def header(self, name: bytes) -> str | None:
        """A header by its name in lower case."""
        value = self.headers.get(name)
        return None if value is None else value.strip().decode("latin-1")

    def query(self) -> str:
        """What stands behind the question mark."""
        return bytes(self._scope.get("query_string", b"")).decode("latin-1")

    def accepts(self, kind: bytes) -> bool:
        """Would the client read an answer of this kind?"""
        return _admits(self.headers.get(b"accept"), kind)

    def check_source(self) -> None:
        """Refuse what a foreign web page may have sent, or what says two things."""
        headers = self.headers
        if len(headers) < len(self._scope["headers"]):
            _check_duplicates(self._scope["headers"])
        _check_source(headers.get(b"host"), headers.get(b"origin"), self.settings)

    def check_content(self) -> None:
        """Refuse a POST that is not JSON, or whose client could not read the answer."""
        headers = self.headers
        _check_content(headers.get(b"content-type"), headers.get(b"accept"))

    def check_events(self) -> None:
        """Refuse who could not read a stream."""
        if not self.accepts(EVENTS):
            raise Refusal(406, "Accept must admit text/event-stream")

    async def body(self) -> bytes:
        """All of the body; a Refusal when it is too large."""
        limit = self.settings.max_body
        declared = self.headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared[:20]) > limit:
            raise _too_large(limit)
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "the client went away before it had said all")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > limit:
                raise _too_large(limit)
            more = message.get("more_body", False)
        return b"".join(parts)

    async def gone(self) -> None:
        """Wait until the client is not there any more; only after the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    # --- answers --------------------------------------------------------------------------

    async def respond(self, status: int, body: bytes = b"", *headers: Header) -> None:
        """The whole answer at once."""
        said = [(b"content-length", b"%d" % len(body)), *headers]
        if body:
            said.append((b"content-type", JSON))
        start = {"type": "http.response.start", "status": status, "headers": said}
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})

    async def begin_stream(self, *headers: Header) -> None:
        """Begin an event stream."""
        self.streaming = True
        said = [
            (b"content-type", EVENTS),
            (b"cache-control", b"no-cache, no-transform"),
            (b"x-accel-buffering", b"no"),
            *headers,
        ]
        start = {"type": "http.response.start", "status": 200, "headers": said}
        await self._send(start)

    async def send_events(self, events: bytes, *, last: bool = False) -> None:
        """Send a part of the event stream."""
        part = {"type": "http.response.body", "body": events, "more_body": not last}
        await self._send(part)


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"the body is over {limit} bytes: see the setting max_body")


# --- at the door: clients say the same each time, and it is looked at once ----------------


def _check_duplicates(headers: list[Header]) -> None:
    """A gateway may have looked at one of them, and we would act on the other."""
    seen = set()
    for name, _ in headers:
        if name in seen and (name in SINGLE or name.startswith(b"mcp-")):
            raise Refusal(400, f"the header {name.decode('latin-1')} is there twice")
        seen.add(name)


@lru_cache(64)
def _check_source(host: bytes | None, origin: bytes | None, settings: Settings) -> None:
    name = (host or b"").strip().decode("latin-1")
    if not _is_allowed(name, settings.allowed_hosts):
        raise Refusal(421, f"host {name!r} is foreign: see the setting allowed_hosts")
    if origin is None:
        return
    page, allowed = origin.strip().decode("latin-1"), settings.allowed_origins
    anywhere = [each for each in allowed if each == "*"]
    if page not in allowed and not _is_allowed(page.partition("://")[2], anywhere):
        raise Refusal(
            403, f"origin {page!r} is foreign: see the setting allowed_origins"
        )


def _is_allowed(host: str, allowed: Sequence[str]) -> bool:
    name, _, port = host.rpartition(":")
    if not port.isdigit():
        name = host
    known = {*LOOPBACK, *(item.lower() for item in allowed)}
    return "*" in allowed or not known.isdisjoint((host.lower(), name.lower()))


@lru_cache(64)
def _check_content(kind: bytes | None, accept: bytes | None) -> None:
    if (kind or b"").partition(b";")[0].strip().lower() != JSON:
        raise Refusal(415, "the Content-Type must be application/json")
    if not _admits(accept, JSON) and not _admits(accept, EVENTS):
        raise Refusal(406, "Accept must admit application/json or text/event-stream")


@lru_cache(64)
def _admits(accept: bytes | None, kind: bytes) -> bool:
    family = kind.partition(b"/")[0] + b"/*"
    for part in (b"*/*" if accept is None else accept.lower()).split(b","):
        name, *parameters = (piece.strip() for piece in part.split(b";"))
        if name in (kind, family, b"*/*") and b"q=0" not in parameters:
            return True
    return False
