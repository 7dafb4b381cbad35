"""The book of a session: every entry, in order, redacted, written and shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import time
from typing import Any

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder, Encoder, encode, format

from ..recording import FORMAT, Entry, Header, Http, Source
from ..resources import VERSION
from .frames import Frame, envelope
from .pairing import Asked, Pairing, Place, Side
from .redaction import Redaction
from .stderr import warn

BATCH = 2**20
"""Bytes that are written at the latest; else when nothing more is there for now."""


class _Message(Struct):
    """What tells a request from a response; everything else is passed over unread."""

    id: Any = UNSET
    method: Any = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_MESSAGE = Decoder(_Message)
_BATCH = Decoder(list[_Message])
_ANY = Decoder()
_ENTRY = Encoder()
_NOWHERE = Place()


class Book:
    """Writes a recording, as far as the disk lets it: the session goes on without."""

    def __init__(
        self, file: int, redaction: Redaction, show: Callable[[Entry], None] | None
    ) -> None:
        self.redaction = redaction
        self._file: int | None = file
        self._show = show
        self._pairing = Pairing()
        self._unwritten = bytearray()

    def begin(self, transport: str, target: str, raw: bool, since: float) -> None:
        """The header; the session began so many seconds ago."""
        began = time() - since
        header = Header(
            recording=FORMAT,
            mcpgen=VERSION,
            transport="http" if transport == "http" else "stdio",
            target=target,
            started=_iso(began),
            raw=raw,
        )
        self._write(encode(header))

    def frame(
        self,
        t: float,
        side: Side,
        frame: Frame,
        http: Http | UnsetType = UNSET,
        place: Place = _NOWHERE,
    ) -> None:
        """What came where a message should: mostly it is one."""
        if frame.is_cut:
            self._cut(t, side, frame, http, place)
            return
        try:
            asked = self._understood(t, side, frame.data, place)
            data = self.redaction.frame(frame.data)
            if b"\n" in data or b"\r" in data:  # over HTTP it may have many lines
                data = format(data, indent=-1)
        except RecursionError:  # so nobody can tell whether there are secrets in it
            self._cut(t, side, frame, http, place)
        except (DecodeError, UnicodeDecodeError):
            self.text(t, side, frame, http)
        else:
            entry = Entry(t=_round(t), source=side, frame=Raw(data), http=http)
            self._add(_about(entry, t, asked))

    def text(
        self, t: float, source: Source, frame: Frame, http: Http | UnsetType = UNSET
    ) -> None:
        """What is no message; of a very long line, its beginning."""
        said = frame.data.decode("utf-8", "replace")
        # Secrets that a line begins with are told by where they are.
        begun = said.lstrip()
        text = said[: len(said) - len(begun)] + self.redaction.text(begun)
        entry = Entry(t=_round(t), source=source, text=text, http=http)
        if frame.is_cut:
            entry.cut, entry.size = True, frame.size
        self._add(entry)

    def note(self, t: float, source: Source, http: Http) -> None:
        """Something of HTTP without a body."""
        self._add(Entry(t=_round(t), source=source, http=http))

    def exit(self, t: float, code: int) -> None:
        """The server has ended."""
        self._add(Entry(t=_round(t), source="exit", code=code))

    # --- what a frame says --------------------------------------------------------------

    def _understood(
        self, t: float, side: Side, data: bytes, place: Place
    ) -> Asked | None:
        """Pair what is in it; what it answers, if it answers one thing."""
        if not data.isascii():
            data.decode()
        if data.lstrip(b" \t\r\n")[:1] == b"{":
            return self._paired(t, side, _MESSAGE.decode(data), place)
        try:
            for message in _BATCH.decode(data):
                self._paired(t, side, message, place)
        except DecodeError:
            _ANY.decode(data)  # JSON, if no message
        return None

    def _paired(
        self, t: float, side: Side, message: _Message, place: Place
    ) -> Asked | None:
        if isinstance(message.method, str):
            if message.id is not UNSET:
                self._pairing.ask(side, message.id, Asked(t, message.method, place))
            return None
        return self._pairing.answer(side, message.id, place)

    def _cut(
        self, t: float, side: Side, frame: Frame, http: Http | UnsetType, place: Place
    ) -> None:
        found = envelope(frame)
        message = _Message(found.get("id", UNSET), found.get("method", UNSET))
        asked = self._paired(t, side, message, place)
        entry = Entry(t=_round(t), source=side, cut=True, size=frame.size, http=http)
        if found:
            entry.frame = Raw(self.redaction.frame(encode(found)))
        self._add(_about(entry, t, asked))

    # --- writing ------------------------------------------------------------------------

    def _add(self, entry: Entry) -> None:
        self._write(_ENTRY.encode(entry))
        if self._show is not None:
            self._show(entry)

    def _write(self, line: bytes) -> None:
        self._unwritten += line
        self._unwritten += b"\n"
        if len(self._unwritten) > BATCH:
            self.flush()

    def flush(self) -> None:
        """Give it to the system."""
        data = memoryview(bytes(self._unwritten))
        self._unwritten.clear()
        try:
            while data and self._file is not None:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self._file = None
            warn(f"the rest of the session is not recorded: {error.strerror}")

    def close(self) -> None:
        """That was all."""
        self.flush()
        if self._file is not None:
            os.close(self._file)


def _about(entry: Entry, t: float, asked: Asked | None) -> Entry:
    if asked is not None:
        entry.method, entry.ms = asked.method, round((t - asked.t) * 1000, 3)
    return entry


def _round(t: float) -> float:
    return round(t, 6)


def _iso(seconds: float) -> str:
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
