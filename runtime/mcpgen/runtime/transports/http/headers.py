"""Headers that repeat what a message says: do they say the same?

Gateways route by the headers and servers act on the body, so the two must agree.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder, decode

from ...errors import McpError
from ...peer import Call
from .request import Request

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Method → the param that the header Mcp-Name repeats."""

_ENCODED = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_PLAIN = re.compile(r"[\t\x20-\x7e]*")

Mirrors = Callable[[str], Mapping[str, tuple[str, ...]]]
"""A tool's name → its headers (in lower case), each with the path of its argument."""


class Mismatch(Exception):
    """What is wrong with a header."""


class _Params(Struct):
    """What headers may repeat; anything may be wrong with it still."""

    name: Any = None
    uri: Any = None
    arguments: Raw = Raw(b"null")


_PARAMS = Decoder(_Params)


def check(request: Request, call: Call, mirrors: Mirrors) -> None:
    """Compare the headers of a request with its body; Mismatch says where they differ."""
    _compare("Mcp-Method", request.header(b"mcp-method"), call.method)
    key = NAMED.get(call.method)
    if key is None or call.params is None:
        return
    params = _PARAMS.decode(call.params)
    name = getattr(params, key)
    if not isinstance(name, str):
        return  # which is another error
    value = request.header(b"mcp-name")
    _compare("Mcp-Name", None if value is None else _decoded(value), name)
    if call.method == "tools/call" and (annotated := mirrors(name)):
        arguments = decode(params.arguments)
        for header, path in annotated.items():
            value = request.header(header.encode("ascii"))
            _compare_argument(header, value, _at(path, arguments))


def mismatch(code: int, problem: Mismatch) -> McpError:
    """The error that a client gets."""
    return McpError(code, f"header mismatch: {problem}")


def _compare(name: str, value: str | None, body: str) -> None:
    if value is None:
        raise Mismatch(f"{name} is missing")
    if value != body:
        raise Mismatch(f"{name} is {value!r}, the body says {body!r}")


def _compare_argument(name: str, value: str | None, body: Any) -> None:
    if value is None:
        if body is not None:
            raise Mismatch(f"{name} is missing")
        return
    said = _decoded(value)
    if isinstance(body, bool):
        same = said == ("true" if body else "false")
    elif isinstance(body, int | float):
        same = _number(said) == body
    else:
        same = said == body
    if not same:
        raise Mismatch(f"{name} is {said!r}, the body says {body!r}")


def _number(text: str) -> float | None:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return None


def _decoded(value: str) -> str:
    """The value that a header stands for: as it is, or base64 of UTF-8."""
    match = _ENCODED.fullmatch(value)
    if match is None:
        if not _PLAIN.fullmatch(value):
            raise Mismatch(f"{value!r} has characters that need base64")
        return value
    try:
        return b64decode(match[1], validate=True).decode()
    except ValueError:
        raise Mismatch(f"{value!r} is not base64 of UTF-8") from None


def _at(path: tuple[str, ...], value: Any) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
