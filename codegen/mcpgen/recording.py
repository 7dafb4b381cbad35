"""The file of a recorded session: what `trace` writes, and `lint` and `view` read.

JSON Lines: a `Header`, then an `Entry` for everything that happened, in the order in which
it did. docs/recordings.md is its description for others; change both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final, Literal

from msgspec import (
    UNSET,
    DecodeError,
    Raw,
    Struct,
    UnsetType,
    ValidationError,
    field,
    json,
)

from .diagnostics import CompileError, Diagnostic, clip, fail

FORMAT: Final = 1
"""Counts up when a reader of the format before would misunderstand the new one."""

HEADER_BYTES: Final = 1 << 20
"""A first line that is longer is none: the file need not be read to know that."""

MARK: Final = b"\xef\xbb\xbf"
"""What some editors put in front of UTF-8."""

Source = Literal["client", "server", "stderr", "exit"]


class Header(Struct, kw_only=True, omit_defaults=True):
    """The first line."""

    recording: int
    """The format: FORMAT."""
    mcpgen: str
    """The version of the recorder."""
    transport: Literal["stdio", "http"]
    target: str
    """The command line or the address, without secrets."""
    started: str
    """When, as ISO 8601 in UTC; times of entries count from here."""
    raw: bool = False
    """Are secrets in it?"""


class Http(Struct, kw_only=True, omit_defaults=True):
    """What HTTP said around a frame. A request and all that answers it share a number."""

    exchange: int
    method: str | UnsetType = UNSET
    """POST, GET or DELETE; on the entry that begins an exchange."""
    path: str | UnsetType = UNSET
    status: int | UnsetType = UNSET
    """On the entry that begins an answer."""
    headers: dict[str, str] | UnsetType = UNSET
    """Names in lower case; on the entries that begin a request or an answer."""
    event: str | UnsetType = UNSET
    """The id of a server-sent event; empty when it has none."""
    ended: bool = False
    """The answer's stream is over; from the client: it hung up before."""


class Entry(Struct, kw_only=True, omit_defaults=True):
    """Something that happened."""

    t: float
    """Seconds since the start."""
    source: Source = field(name="from")
    frame: Raw | UnsetType = UNSET
    """A message, or a batch of them: any JSON value, as it was sent."""
    text: str | UnsetType = UNSET
    """What came where a frame should, and is no JSON; or a line of stderr."""
    size: int | UnsetType = UNSET
    """Bytes on the wire, where the frame is `cut`."""
    cut: bool = False
    """The frame was too large to be kept: only its envelope is, without params or result.

    Of a text, only the beginning is there.
    """
    method: str | UnsetType = UNSET
    """What a response answers."""
    ms: float | UnsetType = UNSET
    """How long after the request a response came."""
    http: Http | UnsetType = UNSET
    code: int | UnsetType = UNSET
    """With `from: exit`: the exit status of the server; negative for a signal."""


_HEADER = json.Decoder(Header)
_ENTRY = json.Decoder(Entry)
_UNREADABLE = (DecodeError, UnicodeDecodeError, RecursionError)


def read(file: BinaryIO, shown: str) -> tuple[Header, Iterator[tuple[int, Entry]]]:
    """The header, and the entries with their line numbers, read as they are asked for.

    Blank lines are passed over, and a last one without an end, which a recorder that was
    killed leaves.
    """
    line = file.readline(HEADER_BYTES)
    try:
        header = _HEADER.decode(line.removeprefix(MARK))
    except _UNREADABLE as error:
        told = f"the first line is no header of a recording: {clip(str(error))}"
        raise fail(
            "not-a-recording",
            told if line else "the file is empty",
            file=shown,
            hint="record a session with: mcpgen trace -o session.jsonl -- COMMAND",
        ) from None
    if header.recording != FORMAT:
        raise fail(
            "recording-format",
            f"a recording of format {header.recording}; this mcpgen reads {FORMAT}",
            file=shown,
            hint="read it with the mcpgen that made it, or a newer one",
        )
    return header, _entries(file, shown)


def _entries(file: BinaryIO, shown: str) -> Iterator[tuple[int, Entry]]:
    decode = _ENTRY.decode
    for number, line in enumerate(file, 2):
        try:
            yield number, decode(line)
        except _UNREADABLE as error:
            unended = not line.endswith(b"\n") and not isinstance(
                error, ValidationError
            )
            if not line.strip():
                continue
            if unended:
                return
            told = clip(str(error))
            hint = "the lines before it can be read when the rest is cut off"
            if _begins(line):
                told = "another recording begins here"
                hint = "a file holds one: split it before this line"
            problem = Diagnostic(
                "recording-damaged", told, file=shown, hint=hint, line=number
            )
            raise CompileError([problem]) from None


def _begins(line: bytes) -> bool:
    """Is it the header of a recording?"""
    try:
        _HEADER.decode(line.removeprefix(MARK))
    except _UNREADABLE:
        return False
    return True
