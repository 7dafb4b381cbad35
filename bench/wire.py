"""The frames that are sent, written by hand: no SDK's client costs any of the time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

Json = dict[str, Any]

PREFIX = "io.modelcontextprotocol/"
CLIENT = {"name": "bench", "version": "1.0.0"}


@dataclass(frozen=True)
class Request:
    """A request that is sent again and again, each time with another id."""

    method: str
    name: str
    """The tool's; empty when there is none."""
    head: bytes
    tail: bytes

    def text(self, id: int) -> bytes:
        """The request as JSON text."""
        return b"%b%d%b" % (self.head, id, self.tail)


@dataclass(frozen=True)
class Wire:
    """How messages look in one era."""

    name: str
    version: str
    meta: Json
    """What every request has among its params."""
    opening: tuple[bytes, ...]
    """What comes before the first request: one message that is answered, and others."""

    def call(self, tool: str, arguments: Json) -> Request:
        """A `tools/call`."""
        return self._request("tools/call", tool, {"name": tool, "arguments": arguments})

    def list_tools(self) -> Request:
        """A `tools/list`."""
        return self._request("tools/list", "", {})

    def _request(self, method: str, name: str, params: Json) -> Request:
        rest = {"method": method, "params": params | self.meta}
        return Request(
            method, name, b'{"jsonrpc":"2.0","id":', b"," + _text(rest).lstrip(b"{")
        )


def _text(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


MODERN = Wire(
    name="modern",
    version="2026-07-28",
    meta={
        "_meta": {
            PREFIX + "protocolVersion": "2026-07-28",
            PREFIX + "clientInfo": CLIENT,
            PREFIX + "clientCapabilities": {},
        }
    },
    opening=(),
)

LEGACY = Wire(
    name="legacy",
    version="2025-11-25",
    meta={},
    opening=(
        _text(
            {
                "jsonrpc": "2.0",
                "id": 0,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-11-25",
                    "clientInfo": CLIENT,
                    "capabilities": {},
                },
            }
        ),
        _text({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ),
)

# From here on ids have one length, and so have requests: content-length never changes.
new_id = count(10**8).__next__


def check(answers: Iterable[bytes], ids: Iterable[int]) -> None:
    """Was each request answered once, and did each of them get what it asked for?"""
    missing = set(ids)
    for text in answers:
        answer = json.loads(text)
        result = answer.get("result", {})
        good = "content" in result or "tools" in result
        if not good or result.get("isError") or answer["id"] not in missing:
            raise RuntimeError(f"an answer that was not expected: {text[:500]!r}")
        missing.remove(answer["id"])
    if missing:
        raise RuntimeError(f"{len(missing)} requests were not answered")
