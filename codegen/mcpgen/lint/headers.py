"""The headers of HTTP requests, compared with the messages that they carry."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET

from ..headers import meaning
from .messages import Call
from .rule import Rule
from .session import Family
from .text import short, step
from .words import CALL, INITIALIZE, MCP_NAME, PROTOCOL_VERSION, REDACTED

HEADER_MISSING = Rule(
    "http-header-missing",
    "error",
    "a request without a header that its version asks for",
    "MCP-Protocol-Version tells a server how to read a request; stateless versions repeat the method in "
    "Mcp-Method, and what it is about in Mcp-Name, so that proxies need not read the body.",
    "send the header with every request",
)
HEADER_MISMATCH = Rule(
    "http-header-mismatch",
    "error",
    "a header that differs from what it repeats",
    "The header and the body, or the header and the version that was agreed on, contradict each other. "
    "Servers refuse that.",
    "make the header from the body that is sent",
)
ACCEPT = Rule(
    "http-accept",
    "error",
    "an Accept header that does not admit all answers",
    "The server decides whether it answers with JSON or with a stream of events; a client has to accept "
    "both.",
    "send Accept: application/json, text/event-stream",
)
CONTENT_TYPE = Rule(
    "http-content-type",
    "error",
    "a body of another type than the protocol has",
    "Requests are JSON; the answer to a request is JSON or a stream of events.",
    "send Content-Type: application/json, or text/event-stream for a stream of events",
)


class Headers(Family):
    """The headers of a request, compared with its body."""

    def request(self, call: Call) -> None:
        """Look at the headers that came with a message."""
        http = call.entry.http
        if not http or http.headers is UNSET or call.sender != "client":
            return
        if call.version.traits.http == "sse" or self.session.event_source:
            return
        headers = http.headers
        self._types(call, headers)
        if call.version.traits.version_header:
            self._version(call, headers)
        if call.version.traits.method_headers:
            self._repeated(call, headers, "Mcp-Method", call.method, "method")
            key = MCP_NAME.get(call.method)
            value = call.params.get(key) if key and call.params else None
            if isinstance(value, str):
                self._repeated(call, headers, "Mcp-Name", value, f"params.{key}")
                if call.method == CALL and call.id is not None:
                    self._arguments(call, headers, value)

    notification = request

    def _types(self, call: Call, headers: Mapping[str, str]) -> None:
        accept = headers.get("accept", "*/*").lower()
        wanted = ("application/json", "text/event-stream")
        if "*/*" not in accept and not all(each in accept for each in wanted):
            told = f'Accept is "{short(accept, 80)}"'
            self.report(ACCEPT, call.line, told)
        given = headers.get("content-type", "")
        if given.split(";")[0].strip().lower() != "application/json":
            told = (
                f'Content-Type is "{short(given, 80)}"' if given else "it has no type"
            )
            self.report(CONTENT_TYPE, call.line, told)

    def _version(self, call: Call, headers: Mapping[str, str]) -> None:
        meta = call.meta or {}
        if call.version.modern:
            wanted, whose = meta.get(PROTOCOL_VERSION), "_meta says"
        elif call.method != INITIALIZE and self.session.agreed:
            wanted, whose = self.session.spoken, "agreed on was"
        else:
            return
        given = headers.get("mcp-protocol-version")
        if given is None:
            told = f"{short(call.method)} lacks MCP-Protocol-Version"
            self.report(HEADER_MISSING, call.line, told)
        elif isinstance(wanted, str) and given != wanted:
            told = f'MCP-Protocol-Version is "{short(given, 40)}", {whose} {short(wanted, 40)}'
            self.report(HEADER_MISMATCH, call.line, told)

    def _repeated(
        self, call: Call, headers: Mapping[str, str], name: str, value: str, of: str
    ) -> None:
        given = headers.get(name.lower())
        at = f"{call.path}.{of}"
        if given is None:
            if call.id is None:
                return  # what is not a request need not repeat its method
            told = f"{short(call.method)} lacks {name}"
            self.report(HEADER_MISSING, call.line, told, at)
        elif not (_hidden(given, value) or value in (given, meaning(given))):
            told = f'{name} is "{short(given)}", the body has "{short(value)}"'
            self.report(HEADER_MISMATCH, call.line, told, at)

    def _arguments(self, call: Call, headers: Mapping[str, str], tool: str) -> None:
        """Compare what a tool wants repeated; which that is, its listing says."""
        if not (mirrored := self.session.listings.mirrored(tool)):
            return
        from ..runtime.mirrors import value_at

        arguments = (call.params or {}).get("arguments")
        for name, path in mirrored.items():
            given, value = headers.get(name), value_at(path, arguments)
            shown_name = "-".join(part.capitalize() for part in name.split("-"))
            at = f"{call.path}.params.arguments" + "".join(map(step, path))
            if given is None and value is not None:
                told = f"the call lacks {shown_name}"
                self.report(HEADER_MISSING, call.line, told, at)
            elif given is not None and not _same(given, value):
                told = f'{shown_name} is "{short(given)}", the body has {_json(value)}'
                self.report(HEADER_MISMATCH, call.line, told, at)


def _same(given: str, value: Any) -> bool:
    """Does a header repeat an argument, as far as the recorder let it be seen?"""
    if _hidden(given, value):
        return True
    if isinstance(value, bool):
        return given == ("true" if value else "false")
    if isinstance(value, int | float):
        for read in (int, float):
            with suppress(ValueError):
                return bool(read(given) == value)
        return False
    return isinstance(value, str) and meaning(given) == value


def _hidden(*values: Any) -> bool:
    """Is a part of one of them redacted, so that they cannot be compared?"""
    return any(isinstance(value, str) and REDACTED in value for value in values)


def _json(value: Any) -> str:
    return "nothing" if value is None else short(msgspec.json.encode(value).decode())
