"""Frames: put together from the pieces in which they come, and cut if they are huge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from json import JSONDecoder
from typing import Any, NamedTuple

LARGEST = 4 * 2**20
"""Bytes of a frame that is kept whole."""
HEAD, TAIL = 64 * 1024, 4 * 1024
"""Bytes at both ends of a larger one, in which its envelope is looked for."""

_BLANK = b" \t\r\n"
_SPACE = re.compile(r"[ \t\r\n]*")
_MEMBER = r'"(?:jsonrpc|id|method)"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?[0-9.eE+-]{1,40}|null)'
# The brace is the one that the frame begins with, so its members are the frame's.
_LAST_MEMBERS = re.compile(rf"((?:,\s*{_MEMBER}\s*)+)\}}\s*\Z")
_ENVELOPE = ("jsonrpc", "id", "method")
_decode_at = JSONDecoder().raw_decode


class Frame(NamedTuple):
    """A frame as it came, or what is left of a huge one."""

    data: bytes
    """All of it, or its beginning."""
    size: int
    tail: bytes = b""
    """The end of one that was cut."""

    @property
    def is_cut(self) -> bool:
        """Was it too large to be kept?"""
        return self.size > len(self.data)


class Gathering:
    """The pieces of a frame that is still coming."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._kept = bytearray()
        self._tail = b""
        self.size = 0
        """How much has come."""

    def add(self, piece: bytes) -> None:
        """One piece more."""
        self.size += len(piece)
        if self.size > self._largest:
            self._tail = (self._tail or bytes(self._kept[-TAIL:])) + piece[-TAIL:]
            self._tail = self._tail[-TAIL:]
            if len(self._kept) > HEAD:
                del self._kept[HEAD:]
            elif len(self._kept) < HEAD:
                self._kept += piece[: HEAD - len(self._kept)]
        else:
            self._kept += piece

    def take(self) -> Frame:
        """What has been gathered; from now on it is another one."""
        frame = Frame(bytes(self._kept), self.size, self._tail)
        self._kept.clear()
        self._tail, self.size = b"", 0
        return frame


class Lines:
    """Cuts a stream into its lines: blank ones are left out, indentation is kept."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._gathering, self._largest = Gathering(largest), largest

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """The lines that end in this chunk."""
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            if self._gathering.size or len(line) > self._largest:
                self._gathering.add(line)
                yield from self.end()
            elif line := line.rstrip(_BLANK):
                yield Frame(line, len(line))
        if rest:
            self._gathering.add(rest)

    def end(self) -> Iterator[Frame]:
        """The line that has come so far."""
        frame = self._gathering.take()
        if frame.is_cut:
            yield frame
        elif data := frame.data.rstrip(_BLANK):
            yield Frame(data, len(data))


def envelope(frame: Frame) -> dict[str, Any]:
    """What the ends of a cut frame tell of it: no params, no result.

    Members are read from the front until one is not complete there; what follows it is
    found if it is short. `error` keeps its code and its message.
    """
    text = frame.data.decode("utf-8", "replace")
    found: dict[str, Any] = {}
    if (begin := _SPACE.match(text)) and text[begin.end() : begin.end() + 1] == "{":
        found = _members(text, begin.end() + 1, (*_ENVELOPE, "error"))
        if end := _LAST_MEMBERS.search(frame.tail.decode("utf-8", "replace")):
            with suppress(ValueError, RecursionError):
                found |= _decode_at("{" + end[1].lstrip(",") + "}")[0]
    return {name: found[name] for name in (*_ENVELOPE, "error") if name in found}


def _members(text: str, at: int, wanted: tuple[str, ...]) -> dict[str, Any]:
    """The wanted members of an object, as far as the text goes."""
    found: dict[str, Any] = {}
    with suppress(ValueError, RecursionError):
        while True:
            name, at = _decode_at(text, _skip(text, at))
            at = _skip(text, at)
            if text[at : at + 1] != ":" or not isinstance(name, str):
                break
            at = _skip(text, at + 1)
            if name == "error" and text[at : at + 1] == "{" and name in wanted:
                found[name] = _members(text, at + 1, ("code", "message"))
            value, at = _decode_at(text, at)
            if at == len(text):  # there may be more of a number
                break
            if name in wanted and name != "error":
                found[name] = value
            at = _skip(text, at)
            if text[at : at + 1] != ",":
                break
            at += 1
    return found


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
