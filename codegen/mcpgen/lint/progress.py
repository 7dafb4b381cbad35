"""Progress, cancellation and logs: notifications that belong to a request."""

from __future__ import annotations

from typing import Any, Final

from .ids import shown
from .messages import OTHER, Answer, Call, Key, Side
from .rule import Rule
from .seen import Seen, usable
from .session import IN_FLIGHT, Family, Session
from .text import short
from .words import CANCELLED, LISTEN, LOG_LEVEL, MESSAGE, PROGRESS, SET_LEVEL

UNKNOWN = Rule(
    "progress-unknown",
    "error",
    "progress of nothing",
    "Progress carries the token of the request that it belongs to, unchanged. One that no request gave is "
    "dropped.",
    "send the progressToken of the request's _meta, and no progress when there is none",
    whole=True,
)
AFTER_END = Rule(
    "progress-after-end",
    "error",
    "progress after the answer",
    "Progress stops when the request is answered: by then, nobody listens.",
    "wait for the last progress to be sent before answering",
    whole=True,
)
NOT_INCREASING = Rule(
    "progress-not-increasing",
    "error",
    "progress that does not increase",
    "The progress value increases with each notification, even when the total is not known.",
    "count up",
    whole=True,
)
TOKEN_REUSED = Rule(
    "progress-token-reused",
    "error",
    "a progress token of another request in flight",
    "Tokens are unique among the requests in flight: otherwise progress cannot be told apart.",
    "use the id of the request as its token",
    whole=True,
)
CANCEL_UNKNOWN = Rule(
    "cancel-unknown",
    "warning",
    "a cancellation of nothing",
    "It names the id of a request that its sender made. One that nobody made is ignored.",
    "send the id of the request that is to be cancelled, with its type",
    whole=True,
)
CANCELLED_ANSWERED = Rule(
    "cancelled-answered",
    "note",
    "an answer to a cancelled request",
    "Who reads a cancellation should not answer any more. The two may have crossed on their way.",
    "nothing, unless the answer comes long after the cancellation",
    whole=True,
)
CANCEL_OVER_HTTP = Rule(
    "cancel-over-http",
    "warning",
    "a cancellation by notification where closing the stream does it",
    "In this version the client cancels a request over HTTP by closing its response stream. A notification "
    "is a request of its own there, and the server cannot tell what it belongs to.",
    "close the response stream",
    whole=True,
)
BELOW_LEVEL = Rule(
    "log-below-level",
    "warning",
    "a log message that was not asked for",
    "The client says from which level on it wants logs, by logging/setLevel or in the _meta of a request.",
    "compare the level of a message with the one that was asked for",
    whole=True,
)

LEVELS: Final = (
    *("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"),
)


class Progress(Family):
    """Tokens, from the request to its answer."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._active: dict[Side, dict[Key, Call]] = {"client": {}, "server": {}}
        """Of each side: token → the request that wants it."""
        self._blind = False
        """May there be tokens that were not recorded, or are forgotten?"""
        self._ended: dict[Side, Seen] = {"client": Seen(), "server": Seen()}

    def request(self, call: Call) -> None:
        """It may want to hear of its progress."""
        self._blind = self._blind or call.entry.cut
        if call.meta is None:
            return
        token = usable(call.meta.get("progressToken"))
        if token is None:
            return
        active = self._active[call.sender]
        key = self.session.scoped(call, token)
        if key in active and self._waits(active[key]):
            told = f"the token {shown(token)} belongs to a request in flight"
            where = f"{call.path}.params._meta.progressToken"
            self.report(TOKEN_REUSED, call.line, told, where)
            return
        call.token = token
        active[key] = call
        if len(active) > IN_FLIGHT:
            del active[next(iter(active))]
            self._blind = True

    def _waits(self, call: Call) -> bool:
        """Is it in flight, and not given up or gone on as a task?"""
        party = self.session.parties[call.sender]
        waits = call.key is not None and party.pending.get(call.key) is call
        return waits and not (call.cancelled or call.excused)

    def notification(self, call: Call) -> None:
        """Progress of something that the other side asked for."""
        if call.method != PROGRESS or call.params is None:
            return
        token = usable(call.params.get("progressToken"))
        if token is None:
            return
        asker = OTHER[call.sender]
        request = self._active[asker].get(self.session.scoped(call, token))
        if request is None:
            self._stray(call, token, asker)
            return
        progress = call.params.get("progress")
        if type(progress) is int or type(progress) is float:
            if progress <= request.progress:
                told = f"{progress} after {request.progress}"
                where = f"{call.path}.params.progress"
                self.report(NOT_INCREASING, call.line, told, where)
            request.progress = progress

    def _stray(self, call: Call, token: int | str, asker: Side) -> None:
        where = f"{call.path}.params.progressToken"
        if token in self._ended[asker]:
            told = f"the request with the token {shown(token)} was answered before"
            self.report(AFTER_END, call.line, told, where)
        elif not (self._blind or self.session.parties[asker].lost):
            told = f"no request of the {asker} has the token {shown(token)}"
            self.report(UNKNOWN, call.line, told, where)

    def result(self, answer: Answer, result: Any) -> None:
        """No more progress, unless a task goes on."""
        call = answer.call
        if call is None or call.token is None:
            return
        if type(result) is dict and "task" in result:
            return
        active, key = self._active[call.sender], self.session.scoped(call, call.token)
        if active.get(key) is call:  # and not of one that came after it
            del active[key]
            self._ended[call.sender].add(call.token)

    def refusal(self, answer: Answer, error: Any) -> None:
        """No more progress."""
        self.result(answer, None)


class Cancellation(Family):
    """What was given up."""

    def notification(self, call: Call) -> None:
        """A request is given up by who made it."""
        if call.method != CANCELLED or call.params is None:
            return
        id = usable(call.params.get("requestId"))
        if id is None:
            return
        session = self.session
        by_closing = session.http and not session.event_source
        if by_closing and call.version.traits.closing_cancels:
            requests = session.parties["client"].pending.values()
            if call.sender == "client" and not any(
                request.id == id and request.method == LISTEN for request in requests
            ):
                told = f"the request {shown(id)} is cancelled by a notification"
                self.report(CANCEL_OVER_HTTP, call.line, told, call.path)
            return
        own = session.parties[call.sender]
        request = own.pending.get(id) or session.peer(call.sender).pending.get(id)
        if request is not None and (
            request.sender == call.sender or request.method == LISTEN
        ):
            request.cancelled = True
        elif id not in own.seen:
            told = f"the {call.sender} sent no request with the id {shown(id)}"
            where = f"{call.path}.params.requestId"
            self.report(CANCEL_UNKNOWN, call.line, told, where)

    def result(self, answer: Answer, result: Any) -> None:
        """An answer, perhaps to what was given up."""
        call = answer.call
        if call is not None and call.cancelled and call.method != LISTEN:
            told = f"{short(call.method)} of line {call.line} was cancelled"
            self.report(CANCELLED_ANSWERED, answer.line, told, answer.path)

    def refusal(self, answer: Answer, error: Any) -> None:
        """An error is an answer, too."""
        self.result(answer, error)


class Logs(Family):
    """From which level on does the client want logs?"""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._wanted: str | None = None
        self._asked: str | None = None
        """The level that holds from the answer on."""

    def request(self, call: Call) -> None:
        """The level may be set."""
        if call.method == SET_LEVEL and call.params is not None:
            level = call.params.get("level")
            self._asked = level if level in LEVELS else None
            # Until the answer comes, messages of the old level may be on their way.
            self._wanted = min(self._wanted, self._asked, key=_rank)

    def result(self, answer: Answer, result: Any) -> None:
        """The level is set."""
        if answer.call is not None and answer.call.method == SET_LEVEL:
            self._wanted = self._asked

    def notification(self, call: Call) -> None:
        """Is a message one that was asked for?"""
        if call.method != MESSAGE or call.params is None:
            return
        level = call.params.get("level")
        wanted = self._wanted
        if call.version.modern:
            wanted = self._lowest()
            if wanted is None:
                told = "no request in flight asks for logs"
                self.report(BELOW_LEVEL, call.line, told, call.path)
        if level not in LEVELS or wanted not in LEVELS:
            return
        if LEVELS.index(level) < LEVELS.index(wanted):
            told = f'"{level}" is below "{wanted}"'
            self.report(BELOW_LEVEL, call.line, told, f"{call.path}.params.level")

    def _lowest(self) -> str | None:
        """The lowest level that a stateless request in flight asks for."""
        pending = self.session.parties["client"].pending.values()
        wanted = [c.meta.get(LOG_LEVEL) for c in pending if c.meta is not None]
        return next((level for level in LEVELS if level in wanted), None)


def _rank(level: str | None) -> int:
    """The lower, the more is told; without a level, all is."""
    return LEVELS.index(level) if level is not None else -1
