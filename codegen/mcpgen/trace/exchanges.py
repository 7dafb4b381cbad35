"""Exchanges over HTTP: the messages in requests, answers and streams of events."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import UNSET

from ..recording import Http
from . import heads
from .book import Book
from .frames import Frame, Gathering
from .heads import Head
from .pairing import Place

PIECE = 64 * 1024
"""Bytes that are decompressed at once: what is sent may grow a thousandfold."""
MARK = b"\xef\xbb\xbf"
"""A stream of events may begin with a byte order mark."""


class Event(NamedTuple):
    """A server-sent event."""

    id: str
    data: Frame


class Events:
    """Cuts a stream into its events; of huge ones only the ends are kept."""

    def __init__(self) -> None:
        self._line, self._data = bytearray(), Gathering()
        self._id, self._has_data, self._in_data = "", False, False
        self._has_begun = self._after_cr = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that end in this chunk."""
        if not self._has_begun:
            chunk, self._has_begun = chunk.removeprefix(MARK), True
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")  # the other half of a line's end
        self._after_cr = chunk[-1:] == b"\r"
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._add(line)
            yield from self._end_line()
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        if self._in_data:
            self._data.add(piece)
            return
        self._line += piece[:PIECE]
        if len(self._line) > 5 and self._line.startswith(b"data:"):
            self._begin_data(bytes(self._line[5:]).removeprefix(b" ") + piece[PIECE:])
            self._in_data = True

    def _begin_data(self, text: bytes) -> None:
        if self._has_data:
            self._data.add(b"\n")
        self._has_data = True
        self._data.add(text)
        self._line.clear()

    def _end_line(self) -> Iterator[Event]:
        if self._in_data:
            self._in_data = False
            return
        name, _, value = bytes(self._line).partition(b":")
        is_blank = not self._line
        self._line.clear()
        if is_blank:
            if self._has_data:
                yield Event(self._id, self._data.take())
            self._id, self._has_data = "", False
        elif name == b"data":
            self._begin_data(b"")
        elif name == b"id":
            self._id = value.removeprefix(b" ").decode("utf-8", "replace")


class _Body:
    """What comes of a body, without its encoding."""

    def __init__(self, head: Head) -> None:
        coding = head.text(b"content-encoding").lower()
        self._inflate = None
        if coding in ("gzip", "x-gzip", "deflate"):
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """The plain bytes."""
        if self._inflate is None:
            yield data
            return
        try:
            while data:
                yield self._inflate.decompress(data, PIECE)
                data = self._inflate.unconsumed_tail
        except zlib.error:  # it is something else: let it be seen as it is
            self._inflate = None
            yield data


class _Exchange:
    """A request, and all that answers it."""

    def __init__(self, number: int, head: Head) -> None:
        self.number = number
        self.session = head.text(b"mcp-session-id")
        self.request: Head | None = head
        """Until it is in the book."""
        self.request_body, self.asked = _Body(head), Gathering()
        self.response: Head | None = None
        self.response_body, self.answer = self.request_body, Gathering()
        self.events: Events | None = None

    @property
    def place(self) -> Place:
        """Where its messages are said."""
        return Place(self.number, self.session)


class Exchanges:
    """Enters what a proxy notes into the book."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._open: dict[int, _Exchange] = {}
        self._steps: dict[str, Callable[[float, _Exchange, bytes], None]] = {
            "request body": self._request_body,
            "request end": self._request_end,
            "response": self._response,
            "response body": self._response_body,
            "response end": self._response_end,
            "broken": self._response_end,
            "given up": self._given_up,
        }

    def take(self, t: float, what: tuple[str, int, bytes]) -> None:
        """A head, a piece of a body, or an end of something."""
        kind, number, data = what
        if kind == "request":
            self._open[number] = _Exchange(number, heads.request(data))
        elif exchange := self._open.get(number):
            self._steps[kind](t, exchange, data)

    def flush(self) -> None:
        """Nothing more is there for now."""
        self._book.flush()

    def close(self) -> None:
        """That was all."""
        self._book.close()

    # --- the steps of an exchange -----------------------------------------------------

    def _request_body(self, t: float, exchange: _Exchange, data: bytes) -> None:
        for piece in exchange.request_body.pieces(data):
            exchange.asked.add(piece)

    def _request_end(self, t: float, exchange: _Exchange, _: bytes) -> None:
        http = self._request_line(exchange) or Http(exchange=exchange.number)
        frame = exchange.asked.take()
        if frame.size:
            self._book.frame(t, "client", frame, http, exchange.place)
        elif http.method is not UNSET:
            self._book.note(t, "client", http)

    def _request_line(self, exchange: _Exchange) -> Http | None:
        if (head := exchange.request) is None:
            return None
        exchange.request = None
        return Http(
            exchange=exchange.number,
            method=head.method,
            path=self._book.redaction.text(head.target),
            headers=self._book.redaction.headers(head.shown()),
        )

    def _response(self, t: float, exchange: _Exchange, data: bytes) -> None:
        head = heads.response(data)
        if http := self._request_line(exchange):  # it is answered before its end
            self._book.note(t, "client", http)
        exchange.response, exchange.response_body = head, _Body(head)
        exchange.session = exchange.session or head.text(b"mcp-session-id")
        kind = head.text(b"content-type").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            exchange.events = Events()
            self._book.note(t, "server", self._status_line(exchange, ended=False))

    def _status_line(self, exchange: _Exchange, *, ended: bool) -> Http:
        http = Http(exchange=exchange.number, ended=ended)
        if (head := exchange.response) is not None:
            exchange.response = None
            http.status = head.status
            http.headers = self._book.redaction.headers(head.shown())
        return http

    def _response_body(self, t: float, exchange: _Exchange, data: bytes) -> None:
        for piece in exchange.response_body.pieces(data):
            if exchange.events is None:
                exchange.answer.add(piece)
                continue
            for id, frame in exchange.events.feed(piece):
                http = Http(exchange=exchange.number, event=id)
                if frame.size:
                    self._book.frame(t, "server", frame, http, exchange.place)
                else:
                    self._book.note(t, "server", http)

    def _response_end(self, t: float, exchange: _Exchange, _: bytes) -> None:
        http = self._status_line(exchange, ended=True)
        frame = exchange.answer.take()
        if frame.size:
            self._book.frame(t, "server", frame, http, exchange.place)
        else:
            self._book.note(t, "server", http)
        del self._open[exchange.number]

    def _given_up(self, t: float, exchange: _Exchange, _: bytes) -> None:
        if http := self._request_line(exchange):
            self._book.note(t, "client", http)
        self._book.note(t, "client", Http(exchange=exchange.number, ended=True))
        del self._open[exchange.number]
