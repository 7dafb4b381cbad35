"""A recording as the rows of a diagram: what each is, and which belong together."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType, field

from ..diff.report import clipped
from ..lint.words import LISTEN
from ..recording import Entry, Http, Source
from .frames import CLIP as LABEL
from .frames import FrameKind, Implementation, Message, messages
from .timing import Latency, Tally

CLIP: Final = 128 * 1024
"""Characters of a frame that are kept."""

LATEST: Final = 1e10
"""Seconds: what took longer than centuries is no time, and would be no number in the end."""

VERSIONS: Final = 5
"""Protocol versions that are told; there are not more, but a recording may say so."""

CLIENTS: Final = 5
"""Clients that are named: over HTTP there may be many."""

ALIKE: Final = 100
"""Requests with the same id that wait for an answer; the oldest are forgotten."""

Kind = FrameKind | Literal["text", "stderr", "exit", "http"]


class Row(Struct, kw_only=True, omit_defaults=True):
    """One entry of the recording, as the page reads it."""

    line: int
    t: float
    source: Source = field(name="from")
    kind: Kind
    method: str = ""
    """Of a response: what it answers."""
    id: str = ""
    detail: str = ""
    failed: bool = False
    ms: float | UnsetType = UNSET
    pair: list[int] = []
    """The lines of what it answers, and of what answers it."""
    answered: bool = False
    """Has it an answer, or need it not have one?"""
    given_up: bool = False
    """Who asked does not wait any more: it cancelled the request, or hung up."""
    text: str = ""
    """The frame as it was sent, the line of stderr, the stray text."""
    size: int = 0
    """Characters, or bytes of a cut frame, where `text` is not all of it."""
    cut: bool = False
    http: Http | UnsetType = UNSET
    code: int | UnsetType = UNSET


@dataclass(frozen=True)
class Session:
    """What is to be shown of a recording."""

    rows: tuple[Row, ...]
    entries: int
    """How many there are; `rows` may be fewer."""
    seconds: float
    latencies: tuple[Latency, ...]
    """By method, over all entries; methods that took longest together come first."""
    clients: tuple[Implementation, ...]
    server: Implementation | None
    versions: tuple[str, ...]
    """The protocol versions: over HTTP, every client has its own."""

    @property
    def left_out(self) -> int:
        """Entries without a row."""
        return self.entries - len(self.rows)

    @property
    def failures(self) -> int:
        """Answers, of all methods, that say that something failed."""
        return sum(latency.errors for latency in self.latencies)

    @property
    def unanswered(self) -> int:
        """Requests without an answer."""
        return sum(latency.unanswered for latency in self.latencies)


def collect(
    entries: Iterable[tuple[int, Entry]], limit: int, marked: Collection[int] = ()
) -> Session:
    """Read entries once; of more than `limit`, the first and the last half are kept.

    Between these, up to half as many again that are `marked` are kept, too. Figures are
    about all of them.
    """
    kept = _Kept(limit, marked)
    pairs = _Pairs()
    count, seconds = 0, 0.0
    for line, entry in entries:
        count += 1
        row, said = _row(line, entry)
        seconds = max(seconds, row.t)
        pairs.add(row, said)
        kept.add(row)
    return Session(
        rows=tuple(kept.rows()),
        entries=count,
        seconds=seconds,
        latencies=pairs.latencies(),
        clients=tuple(pairs.clients),
        server=pairs.server,
        versions=pairs.versions,
    )


def _row(line: int, entry: Entry) -> tuple[Row, list[Message]]:
    row = Row(line=line, t=_sane(entry.t), source=entry.source, kind="http")
    row.http, row.code = entry.http, entry.code
    if entry.ms is not UNSET:
        row.ms = _sane(entry.ms)
    if entry.method is not UNSET:
        row.method = entry.method
    if entry.source == "exit":
        row.kind = "exit"
    elif entry.source == "stderr":
        row.kind = "stderr"
    elif entry.text is not UNSET:
        row.kind = "text"
    said: list[Message] = []
    text = entry.text or ""
    if entry.frame is not UNSET:
        said = _describe(row, entry)
        text = bytes(entry.frame).decode("utf-8", "replace")
    row.text = text[:CLIP]
    row.size = len(text) if len(text) > CLIP else 0
    if entry.cut:
        row.cut = True
        row.size = 0 if entry.size is UNSET else entry.size
    return row, said


def _sane(time: float) -> float:
    return min(max(time, -LATEST), LATEST)


def _describe(row: Row, entry: Entry) -> list[Message]:
    """Fill in what the frame says of itself."""
    assert entry.frame is not UNSET
    found = messages(entry.frame, entry.cut)
    if isinstance(found, Message):
        row.kind, row.detail = found.kind, found.detail
        row.id = clipped(found.id, LABEL)
        row.failed = found.failed
        row.method = found.method or row.method
        return [found]
    row.kind = "batch"
    row.detail = ", ".join(m.method or m.kind for m in found[:20])
    row.failed = any(message.failed for message in found)
    return found


class _Kept:
    """The rows that are worth keeping, while nobody knows how many will come."""

    def __init__(self, limit: int, marked: Collection[int]) -> None:
        self._marked = marked
        self._head: list[Row] = []
        self._between: list[Row] = []
        self._tail: deque[Row] = deque()
        self._half = limit // 2
        self._size = limit - self._half

    def add(self, row: Row) -> None:
        if len(self._head) < self._size:
            self._head.append(row)
            return
        self._tail.append(row)
        if len(self._tail) > self._half:
            oldest = self._tail.popleft()
            if oldest.line in self._marked and len(self._between) < self._half:
                self._between.append(oldest)

    def rows(self) -> list[Row]:
        return [*self._head, *self._between, *self._tail]


@dataclass(frozen=True, slots=True)
class _Request:
    row: Row
    method: str
    version: str


class _Pairs:
    """Which response answers which request, and how long that took."""

    def __init__(self) -> None:
        self.clients: dict[Implementation, None] = {}
        self.server: Implementation | None = None
        self._wished: dict[str, None] = {}
        self._agreed: dict[str, None] = {}
        self._open: dict[tuple[Source, str], list[_Request]] = {}
        """By id; over HTTP every client has its own."""
        self._posted: dict[int, Row] = {}
        """The requests of HTTP that nobody answered yet, by exchange."""
        self._tallies: dict[tuple[Source, str], Tally] = {}

    def add(self, row: Row, said: Iterable[Message]) -> None:
        for message in said:
            if message.sender and row.source != "client":
                self.server = self.server or message.sender
            elif message.sender and len(self.clients) < CLIENTS:
                self.clients[message.sender] = None
            if message.version and message.kind == "request":
                self._wished[message.version] = None
            if message.kind == "request":
                self._asked(row, message)
            elif message.kind in ("result", "error"):
                self._answered(row, message)
            elif message.cancels:
                self._cancelled(row, message.cancels)
        if row.http is not UNSET and row.http.ended:
            asked = self._posted.pop(row.http.exchange, None)
            if asked and row.source == "client":
                asked.given_up = True

    @property
    def versions(self) -> tuple[str, ...]:
        """Those that were agreed on; a request may only have wished for one."""
        return tuple(self._agreed or self._wished)[:VERSIONS]

    def _asked(self, row: Row, message: Message) -> None:
        key = (row.source, message.id)
        waiting = self._open.setdefault(key, [])
        waiting.append(_Request(row, message.method, message.version))
        del waiting[:-ALIKE]
        self._tally(row.source, message.method).requests += 1
        row.answered = row.answered or message.method == LISTEN
        if row.http is not UNSET and row.source == "client":
            self._posted[row.http.exchange] = row

    def _answered(self, row: Row, message: Message) -> None:
        asker: Source = "server" if row.source == "client" else "client"
        request = self._request(asker, message.id, row)
        if request is None:
            return
        if message.kind == "result" and (version := message.version or request.version):
            self._agreed[version] = None
        request.row.answered = True
        self._posted.pop(_exchange(request.row), None)
        request.row.pair.append(row.line)
        row.pair.append(request.row.line)
        took = max(row.t - request.row.t, 0) * 1000
        if row.kind != "batch":
            row.method = row.method or request.method
            took = took if row.ms is UNSET else row.ms
            row.ms = took
        tally = self._tally(asker, request.method)
        tally.answers += 1
        tally.errors += message.failed
        tally.milliseconds.append(took)

    def _cancelled(self, row: Row, id: str) -> None:
        """The oldest such request that is not given up; over HTTP, of this client."""
        for request in self._open.get((row.source, id), ()):
            asked = request.row
            if not asked.given_up and _address(asked) == _address(row):
                asked.given_up = True
                return

    def _request(self, asker: Source, id: str, answer: Row) -> _Request | None:
        """The one that the recorder measured from, as it knows the sessions of HTTP.

        Where it says nothing: the oldest one of the same exchange, or else of any. A
        client answers in an exchange of its own; a resumed stream is another, too.
        """
        waiting = self._open.get((asker, id))
        if not waiting:
            return None
        began = None if answer.ms is UNSET else answer.t - answer.ms / 1000

        def unlikeness(place: int) -> tuple[float, bool]:
            row = waiting[place].row
            off = 0 if began is None else round(abs(row.t - began), 5)
            return off, _exchange(row) != _exchange(answer)

        found = waiting.pop(min(range(len(waiting)), key=unlikeness))
        if not waiting:
            del self._open[asker, id]
        return found

    def _tally(self, source: Source, method: str) -> Tally:
        return self._tallies.setdefault((source, method), Tally())

    def latencies(self) -> tuple[Latency, ...]:
        weight = {key: sum(tally.milliseconds) for key, tally in self._tallies.items()}
        return tuple(
            self._tallies[key].latency(key[1], key[0])
            for key in sorted(weight, key=lambda key: (-weight[key], key))
        )


def _exchange(row: Row) -> int:
    return 0 if row.http is UNSET else row.http.exchange


def _address(row: Row) -> tuple[str | UnsetType, str] | None:
    """Where it went, and in which session: over HTTP, this tells clients apart."""
    if row.http is UNSET:
        return None
    headers = {} if row.http.headers is UNSET else row.http.headers
    return row.http.path, headers.get("mcp-session-id", "")
