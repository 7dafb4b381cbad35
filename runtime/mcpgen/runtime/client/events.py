"""Reading an event stream (WHATWG server-sent events), as its bytes come."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

from msgspec import Struct

from ..errors import ConnectionClosed
from .http1 import Response

PAUSE = 1.0
SHORTEST_PAUSE = 0.05
LONGEST_PAUSE = 30.0
_ID = re.compile(rb"[ -~]{0,1024}")
"""Ids that can be told again in a header; others are ignored."""
MARK = b"\xef\xbb\xbf"
"""A stream may begin with a byte order mark."""


class Event(Struct):
    """One event that says something."""

    kind: str = "message"
    data: bytes = b""


class Position:
    """How far a stream was read, and when to come back if it breaks."""

    last_id = ""
    retry: float | None = None
    """Seconds that the server wants a client to wait before it reconnects."""

    def pause(self, failures: int) -> float:
        """Seconds to wait, the more the more often in vain."""
        wanted = PAUSE if self.retry is None else max(self.retry, SHORTEST_PAUSE)
        return min(wanted * 2.0**failures, max(wanted, LONGEST_PAUSE))


async def read(
    response: Response, position: Position, limit: int
) -> AsyncIterator[Event]:
    """The events of a stream, until it ends; the position moves along."""
    lines = _Lines(limit)
    kind, data, size = "message", [], 0
    last_id = position.last_id
    async for chunk in response.chunks():
        for line in lines.feed(chunk):
            if line:
                name, _, value = line.partition(b":")
                value = value.removeprefix(b" ")
                if name == b"data":
                    size += len(value) + 1
                    if size > limit:
                        raise _too_long(limit)
                    data.append(value)
                elif name == b"event":
                    kind = value.decode("utf-8", "replace")
                elif name == b"id" and _ID.fullmatch(value):
                    last_id = value.decode("ascii")
                elif name == b"retry" and value.isdigit() and len(value) < 10:
                    position.retry = int(value) / 1000
            else:
                position.last_id = last_id  # only now has the event come
                if any(data):
                    yield Event(kind, b"\n".join(data))
                kind, data, size = "message", [], 0


class _Lines:
    """Splits bytes into lines that end with LF, CR or both."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._began = False
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        if not self._began:
            chunk = bytes(self._rest) + chunk
            self._rest.clear()
            if len(chunk) < len(MARK) and MARK.startswith(chunk):
                self._rest += chunk
                return []
            self._began = True
            chunk = chunk.removeprefix(MARK)
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]  # the other half of a line's end
        self._after_cr = chunk[-1:] == b"\r" or (self._after_cr and not chunk)
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        *lines, rest = (bytes(self._rest) + chunk).split(b"\n")
        self._rest = bytearray(rest)
        return lines

    def _keep(self, chunk: bytes) -> None:
        if len(self._rest) + len(chunk) > self._limit + 100:
            raise _too_long(self._limit)
        self._rest += chunk


def _too_long(limit: int) -> ConnectionClosed:
    return ConnectionClosed(f"the server sent an event of more than {limit} bytes")
