"""Headers that repeat what a message says: do they say the same?

Gateways route by the headers and servers act on the body, so the two must agree.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import DecodeError

from ... import dispatch, versions
from ...errors import McpError
from ...mirrors import value_at
from ...names import MCP_NAME, PROTOCOL_VERSION
from ...peer import Call
from .request import Request

_ENCODED = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)


def check(request: Request, call: Call, said: dispatch.Said, host: Any) -> None:
    """Compare the headers of a request with its body; McpError where they differ."""
    _compare("MCP-Protocol-Version", request.version, said.meta[PROTOCOL_VERSION])
    _compare("Mcp-Method", request.header(b"mcp-method"), call.method)
    key = MCP_NAME.get(call.method)
    name = None if key is None else getattr(said, key)
    if not isinstance(name, str):
        return  # there is none, or it is another error
    _compare("Mcp-Name", _decoded(request.header(b"mcp-name")), name)
    mirrors = _mirrors(host, name) if call.method == "tools/call" else None
    if mirrors:
        with suppress(DecodeError):  # which is another error
            arguments = dispatch.plain_params(call).get("arguments")
            for header, path in mirrors.items():
                value = _decoded(request.header(header.encode("ascii")))
                _compare_argument(header, value, value_at(path, arguments))


def _mirrors(host: Any, tool: str) -> Mapping[str, tuple[str, ...]]:
    """The headers that repeat arguments of a tool, each with the argument's path."""
    registry = getattr(host, "registry", None)
    entry = None if registry is None else registry.tools.get(tool)
    return {} if entry is None else entry.mirrored


def _mismatch(problem: str) -> McpError:
    code = versions.get(versions.MODERN[-1]).errors.HEADER_MISMATCH
    return McpError(code, f"header mismatch: {problem}")


def _compare(name: str, value: str | None, body: Any) -> None:
    if value is None:
        raise _mismatch(f"{name} is missing")
    if value != body:
        raise _mismatch(f"{name} is {value!r}, the body says {body!r}")


def _compare_argument(name: str, value: str | None, body: Any) -> None:
    if isinstance(body, bool):
        body = "true" if body else "false"
    same = value == body
    if isinstance(body, int | float) and value is not None:
        same = _number(value) == body
    if not same:
        _compare(name, value, body)


def _number(text: str) -> float | None:
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    return None


def _decoded(value: str | None) -> str | None:
    """The value that a header stands for: as it is, or base64 of UTF-8."""
    if value is None:
        return None
    if value.startswith("=?") and (match := _ENCODED.fullmatch(value)):
        try:
            return b64decode(match[1], validate=True).decode()
        except ValueError:
            raise _mismatch(f"{value!r} is not base64 of UTF-8") from None
    if value.isascii() and value.replace("\t", " ").isprintable():
        return value
    raise _mismatch(f"{value!r} has characters that need base64")
