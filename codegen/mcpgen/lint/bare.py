"""Messages out of their context: frames, one a line, of a version that is told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO

import msgspec
from msgspec import Raw

from ..diagnostics import fail
from ..recording import FORMAT, MARK, Entry, Header
from .messages import Side
from .seen import Seen, usable
from .versions import Version

_decode = msgspec.json.Decoder().decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError)


def read(
    file: BinaryIO, shown: str, version: Version
) -> tuple[Header, Iterator[tuple[int, Entry]]]:
    """The messages in a file, as the entries of a recording.

    A message a line; or the whole file is one, over as many lines as it likes.
    """
    header = Header(
        recording=FORMAT, mcpgen="", transport="stdio", target="", started="", raw=True
    )
    first = file.readline().removeprefix(MARK)
    value = _value(first)
    if isinstance(value, dict) and "recording" in value and "jsonrpc" not in value:
        raise fail(
            "version-twice",
            "a recording tells its version itself",
            file=shown,
            hint="leave --version out",
        )
    if value is not _NONE:
        return header, _entries(enumerate(chain([first], file), 1), version)
    text = first + file.read()
    return header, _entries(_pieces(text), version)


def _pieces(text: bytes) -> Iterable[tuple[int, bytes]]:
    """What is in a file that does not begin with a message of one line."""
    if _value(text) is not _NONE:
        return [(1, text)]
    lines = text.splitlines(keepends=True)
    written = [line for line in lines if line.strip()]
    if len(written) > 1 and not any(type(_value(line)) is dict for line in written):
        # One message over many lines, with a mistake in it.
        return [(_stop(text), text)]
    return enumerate(lines, 1)


def _stop(text: bytes) -> int:
    """The line in which a text stops being JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno
    except (ValueError, RecursionError):
        pass
    return 1


_NONE: Any = object()


def _value(text: bytes) -> Any:
    try:
        return _decode(text)
    except _UNREADABLE:
        return _NONE


def _entries(
    lines: Iterable[tuple[int, bytes]], version: Version
) -> Iterator[tuple[int, Entry]]:
    sides = _Sides(version)
    for number, line in lines:
        if not line.strip():
            continue
        value = _value(line)
        if value is _NONE:
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            yield number, Entry(t=0, source="client", text=text)
        else:
            yield number, Entry(t=0, source=sides.of(value), frame=Raw(line.strip()))


class _Sides:
    """Who says what, as the method tells, or the request that is answered."""

    def __init__(self, version: Version) -> None:
        self._version = version
        self._asked_by_server = Seen()

    def of(self, value: Any) -> Side:
        """The side that a frame comes from."""
        if isinstance(value, list):
            value = next((each for each in value if isinstance(each, dict)), None)
        if not isinstance(value, dict):
            return "client"
        method = value.get("method")
        key = usable(value.get("id"))
        if not isinstance(method, str):
            asked = key is not None and key in self._asked_by_server
            return "client" if asked else "server"
        tables = (self._version.requests, self._version.notifications)
        row = next((table[method] for table in tables if method in table), None)
        if row is None or "client" in row.sent_by:
            return "client"
        if key is not None:
            self._asked_by_server.add(key)
        return "server"
