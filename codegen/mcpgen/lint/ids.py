"""Which answer belongs to which request."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from ..recording import Entry
from . import frames
from .messages import OTHER, Call, Key, Side
from .rule import Rule
from .seen import Id
from .session import IN_FLIGHT, Family, Party, Session
from .text import short
from .words import LISTEN

REUSED = Rule(
    "id-reused",
    "error",
    "an id that was used before",
    "An id names one request: two in flight at once cannot be told apart, and in a session opened by "
    "initialize an id is never used again.",
    "count up; never start anew within a session",
    whole=True,
)
UNKNOWN = Rule(
    "response-unknown",
    "error",
    "an answer to nothing",
    "A response carries the id of the request that it answers. One that nobody sent is dropped.",
    "answer with the id of the request, unchanged, and only to the side that sent it",
    whole=True,
)
RETYPED = Rule(
    "id-retyped",
    "error",
    "an id that comes back as another type",
    'The id is echoed as it was sent: 1 and "1" are two ids, and the request stays unanswered.',
    "keep the id as it was parsed; do not make it a string",
    whole=True,
)
TWICE = Rule(
    "answered-twice",
    "error",
    "a second answer to the same request",
    "Every request gets exactly one response. The second is dropped, whichever is the better one.",
    "answer once; look for a handler that goes on after it answered, or failed",
    whole=True,
)
UNANSWERED = Rule(
    "unanswered",
    "warning",
    "a request that was never answered",
    "Every request gets exactly one response, unless it was cancelled. The side that waits hangs until its "
    "timeout. At the end of a recording it may be that the answer was still being worked at.",
    "answer every request, with an error if need be",
    whole=True,
)
NOTIFICATION_ANSWERED = Rule(
    "notification-answered",
    "error",
    "an answer to a notification",
    "A notification has no id, and never gets a response, not even when it is wrong.",
    "do not answer what has no id",
    whole=True,
)
ERROR_ID = Rule(
    "error-id",
    "warning",
    "an error without the id that its version wants there",
    "An error for a message whose id could not be read has `id: null` in older versions, as JSON-RPC says, "
    "and no id at all in newer ones, whose schema forbids null.",
    "follow the version of the session",
)


def asked(session: Session, party: Party, call: Call) -> bool:
    """A request comes: does it count? One with an id in flight does not."""
    id: Any = call.id
    key = call.key = session.scoped(call, id)
    if isinstance(key, tuple):
        party.seen.add(_name(key))
    elif key not in party.seen:
        party.seen.add(key)
    elif (first := party.pending.get(key)) is not None and not first.excused:
        party.unreadable += 1
        _reused(session, call, f"is still in flight from line {first.line}")
        return False
    elif first is None and not call.version.modern:
        _reused(session, call, "was used before in this session")
    party.pending[key] = call
    if len(party.pending) > IN_FLIGHT:
        oldest = next(iter(party.pending))
        unanswered(session, party.pending.pop(oldest))
        party.forgotten.add(_name(oldest))
    return True


def _name(key: Key) -> Id:
    """By what an id is remembered, also one that is known in its exchange only."""
    return f"{key[1]!r} of exchange {key[0]}" if isinstance(key, tuple) else key


def _reused(session: Session, call: Call, why: str) -> None:
    told = f"the id {shown(call.id)} {why}"
    session.journal.report(REUSED, call.line, told, f"{call.path}.id")


def answered(
    session: Session,
    asker: Party,
    line: int,
    entry: Entry,
    side: Side,
    frame: dict[str, Any],
    path: str,
) -> Call | None:
    """The request that a response answers, which waits no more."""
    id = frame.get("id")
    if type(id) is not int:
        if "id" not in frame or id is None:
            _without_id(session, asker, line, entry, side, frame, path)
            return None
        id = frames.check_id(session.journal, line, path, id)
        if id is None:
            return None
    call = asker.pending.pop(id, None)
    if call is None and entry.http:
        call = asker.pending.pop((entry.http.exchange, id), None)
    if call is None and id in asker.refused:
        del asker.refused[id]
    elif call is None and not asker.lost:
        call = _unknown(session, asker, line, entry, side, id, path)
    return call


def excuse(party: Party, line: int) -> None:
    """What came in a refused batch may be answered, but need not be."""
    for call in party.pending.values():
        if call.line == line:
            call.excused = True


def void(asker: Party, id: Any) -> None:
    """A response says nothing, but it was one."""
    if type(id) is int or type(id) is str:
        asker.pending.pop(id, None)


def _unknown(
    session: Session,
    asker: Party,
    line: int,
    entry: Entry,
    side: Side,
    id: Id,
    path: str,
) -> Call | None:
    """Say what is wrong with an answer; the request that must be meant, if there is one."""
    report = session.journal.report
    exchange = entry.http.exchange if entry.http else -1
    names = id, _name((exchange, id))
    if any(name in asker.forgotten for name in names):
        return None
    other: Id | None = str(id) if isinstance(id, int) else None
    if isinstance(id, str) and id.isascii() and id.isdigit() and len(id) < 20:
        other = int(id)
    if any(name in asker.seen for name in names):
        told = f"the request {shown(id)} was answered before"
        report(TWICE, line, told, f"{path}.id")
        return None
    for key in () if other is None else (other, (exchange, other)):
        if key in asker.pending:
            told = f"{shown(id)} answers the request {shown(other)}, but is not its id"
            report(RETYPED, line, told, f"{path}.id")
            return asker.pending.pop(key)
    told = f"the {OTHER[side]} sent no request with the id {shown(id)}"
    report(UNKNOWN, line, told, f"{path}.id")
    return None


def _without_id(
    session: Session,
    asker: Party,
    line: int,
    entry: Entry,
    side: Side,
    frame: dict[str, Any],
    path: str,
) -> None:
    report = session.journal.report
    version = session.version
    # HTTP says no to a body as a whole: what it says so with needs no id.
    status = entry.http.status if entry.http else UNSET
    refused = status is not UNSET and status >= 400
    if "error" in frame and version is None:
        pass  # nothing is agreed on yet: both styles will do
    elif "error" in frame and version is not None:
        style = version.traits.unreadable_id
        if style == "null" and "id" not in frame and not refused:
            told = f"{version.name} wants id: null on an error without an id"
            report(ERROR_ID, line, told, f"{path}.id")
        elif style == "omitted" and "id" in frame:
            told = f"{version.name} wants no id at all on such an error"
            report(ERROR_ID, line, told, f"{path}.id")
    elif "id" not in frame:
        told = "the response has no id"
        report(frames.ID_TYPE, line, told, f"{path}.id")
    else:
        frames.check_id(session.journal, line, path, None)
    if asker.unreadable and "error" in frame:
        asker.unreadable -= 1
    elif refused and "error" in frame:
        pass
    elif asker.notified is not None:
        told = (
            f"it answers {short(asker.notified.method)} of line {asker.notified.line}"
        )
        report(NOTIFICATION_ANSWERED, line, told, path)
    elif session.journal.whole and "error" in frame:
        told = f"the {OTHER[side]} sent nothing that this can answer"
        report(UNKNOWN, line, told, path)


def shown(id: object) -> str:
    """An id for people, quoted if it is a string."""
    return f'"{short(id, 40)}"' if isinstance(id, str) else short(str(id), 40)


def unanswered(session: Session, call: Call) -> None:
    """Say that nobody answered, unless that is as it should be."""
    excused = call.cancelled or call.excused or session.peer(call.sender).lost
    if not excused and call.method != LISTEN:
        told = f"{short(call.method)} with the id {shown(call.id)} got no answer"
        session.journal.report(UNANSWERED, call.line, told, call.path)


class Ends(Family):
    """What is left when a session is over."""

    def end(self) -> None:
        """Tell what still waits."""
        for party in self.session.parties.values():
            for call in party.pending.values():
                unanswered(self.session, call)
