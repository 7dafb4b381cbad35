"""What is known about a session while its messages go by."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from .finding import Finding
from .listings import Listings
from .messages import OTHER, Answer, Call, Key, Side
from .rule import Rule
from .seen import Id, Seen, compact, usable
from .versions import Version, Versions

IN_FLIGHT: Final = 1_000
"""Requests that wait for an answer at the same time; more are not believed in."""
EXTENSIONS: Final = 100
"""More of a session are not noted."""


class Journal:
    """What was found and not told yet, and what else all sessions of a recording share."""

    def __init__(self, versions: Versions, *, whole: bool) -> None:
        self.versions = versions
        """That are known."""
        self.whole = whole
        """A whole session, not messages out of context?"""
        self.found: list[Finding] = []
        self.stderr: deque[str] = deque(maxlen=5)
        """The last lines of it."""
        self.later: list[tuple[Rule, int, str, str]] = []
        """Failures whose reason may still come on stderr."""
        self.redacted = ""
        """What the recorder wrote in place of secrets, if it did."""

    def report(
        self, rule: Rule, line: int, message: str, path: str = "$", fix: str = ""
    ) -> None:
        """Something was found."""
        if self.whole or not rule.whole:
            made = Finding(rule.id, rule.severity, line, path, message, fix or rule.fix)
            self.found.append(made)


class Party:
    """One side of a session."""

    def __init__(self) -> None:
        self.capabilities: Any = None
        """What it declared; None while that is not known."""
        self.pending: dict[Key, Call] = {}
        """Its requests that are not answered yet."""
        self.seen = Seen()
        """The ids of all its requests."""
        self.forgotten = Seen()
        """The ids of requests that were too many to wait for."""
        self.refused: dict[Id, None] = {}
        """The ids of what was too broken to be a request: it may be answered all the same."""
        self.unreadable = 0
        """Messages of it that may be answered by an error without an id."""
        self.lost = False
        """Was a message of it too large to be recorded at all?"""
        self.notified: Call | None = None
        """Its last message, if that was a notification."""

    def refuse(self, id: Any = None) -> None:
        """A message of it cannot be read, or hardly."""
        self.unreadable += 1
        if (key := usable(id)) is not None:
            self.refused[key] = None
            if len(self.refused) > IN_FLIGHT:
                del self.refused[next(iter(self.refused))]


class Family:
    """Rules that belong together, with what they remember of one session.

    Who overrides a method is told what happened; who does not costs nothing.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.report = session.journal.report
        self.versions = session.journal.versions

    def request(self, call: Call) -> None:
        """A request was sent."""

    def notification(self, call: Call) -> None:
        """A notification was sent."""

    def result(self, answer: Answer, result: Any) -> None:
        """A request was answered with a result."""

    def refusal(self, answer: Answer, error: Any) -> None:
        """A request was answered with an error."""

    def end(self) -> None:
        """The session is over."""


class Session:
    """One connection over stdio, or what shares a session id over HTTP."""

    def __init__(self, journal: Journal, *, http: bool) -> None:
        self.journal = journal
        self.http = http
        self.version: Version | None = None
        """The one agreed on, else the last one that a message named."""
        self.offered: Version | None = None
        """The one that the client's initialize asks for."""
        self.spoken: str | None = None
        """What the server called it when it answered initialize."""
        self.agreed = False
        """Was initialize answered?"""
        self.ready = False
        """Did the client say that it has read the answer?"""
        self.event_source = False
        """Over HTTP, do all answers come on one stream of events?"""
        self.late = False
        """Had it begun before the recording did?"""
        self.parties: dict[Side, Party] = {"client": Party(), "server": Party()}
        self.extensions: set[str] = set()
        """What a side has beyond the protocol."""
        self.listings = Listings()
        self.families: list[Family] = []
        self.on_request: list[Callable[[Call], None]] = []
        self.on_notification: list[Callable[[Call], None]] = []
        self.on_result: list[Callable[[Answer, Any], None]] = []
        self.on_refusal: list[Callable[[Answer, Any], None]] = []

    def join(self, *kinds: type[Family]) -> None:
        """Let rules take part. They are told in this order."""
        for kind in kinds:
            family = kind(self)
            self.families.append(family)
            if kind.request is not Family.request:
                self.on_request.append(family.request)
            if kind.notification is not Family.notification:
                self.on_notification.append(family.notification)
            if kind.result is not Family.result:
                self.on_result.append(family.result)
            if kind.refusal is not Family.refusal:
                self.on_refusal.append(family.refusal)

    def extend(self, capabilities: Any) -> None:
        """A side says what it can: note what is none of the protocol."""
        for key in ("extensions", "experimental"):
            found = capabilities.get(key) if isinstance(capabilities, dict) else None
            if isinstance(found, dict) and len(self.extensions) < EXTENSIONS:
                self.extensions.update(compact(id) for id in islice(found, EXTENSIONS))

    def scoped(self, call: Call, id: Id) -> Key:
        """An id, or a token, where it counts.

        Stateless exchanges over HTTP share nothing, not even ids; what comes on one
        stream of events does.
        """
        http = call.entry.http
        if http and call.version.modern and not self.event_source:
            return (http.exchange, id)
        return id

    def peer(self, side: Side) -> Party:
        """The other side."""
        return self.parties[OTHER[side]]

    def end(self) -> None:
        """The session is over: say what only its end shows."""
        for family in self.families:
            family.end()
