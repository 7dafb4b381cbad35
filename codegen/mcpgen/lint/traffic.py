"""What HTTP says around the messages: exchanges, sessions, status."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from msgspec import UNSET

from ..recording import Entry
from .exchange import NO_HEADERS, Exchange, is_page
from .frames import NOT_JSON, unreadable
from .glimpse import is_message, opens
from .headers import CONTENT_TYPE
from .messages import Side
from .nameless import Nameless
from .rule import Rule
from .seen import Seen
from .session import Journal, Session
from .text import short
from .versions import Version
from .words import (
    CLIENT_CAPABILITIES,
    DISCOVER,
    PROTOCOL_VERSION,
    REDACTED,
)

STATUS = Rule(
    "http-status",
    "error",
    "a status that does not go with the message",
    "Notifications and responses are accepted with 202 and no body, requests are answered. A version that "
    "does not exist and a missing session id are refused with 400, a session that is over with 404. "
    "Stateless versions give some errors a status: 404 for an unknown method, 400 for what is wrong with "
    "headers, version and _meta.",
    "answer with the status that the specification names",
)
VERB = Rule(
    "http-method",
    "error",
    "GET or DELETE, served in a stateless version",
    "Stateless versions know POST only; everything else is answered with 405.",
    "answer with 405; listen with subscriptions/listen instead of GET",
)
SESSION_MISSING = Rule(
    "http-session-missing",
    "error",
    "a request without the session id that was given",
    "A server that gave a session id with the result of initialize wants it on every later request, and "
    "answers 400 without it.",
    "send the header Mcp-Session-Id",
    whole=True,
)
SESSION_ID = Rule(
    "http-session-id",
    "error",
    "a session id with characters that it must not have",
    "A session id consists of visible ASCII characters, so that it fits into a header.",
    "use hexadecimal digits, or base64url",
)

EXCHANGES: Final = 10_000
SESSIONS: Final = 1_000
"""More at the same time are not followed."""
NAMED_STATUS: Final = {
    "METHOD_NOT_FOUND": 404,
    "HEADER_MISMATCH": 400,
    "MISSING_REQUIRED_CLIENT_CAPABILITY": 400,
    "UNSUPPORTED_PROTOCOL_VERSION": 400,
}
"""What a stateless version calls an error code → its HTTP status."""


def _lacks_meta(message: dict[str, Any]) -> bool:
    """Is it a request without what stateless versions want in its _meta?"""
    if "method" not in message or "id" not in message:
        return False
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    needed = (PROTOCOL_VERSION, CLIENT_CAPABILITIES)
    return not isinstance(meta, dict) or any(key not in meta for key in needed)


class Traffic:
    """The exchanges, and the sessions that they belong to."""

    def __init__(
        self,
        journal: Journal,
        session: Session,
        new: Callable[[], Session],
        target: str,
    ) -> None:
        self._report = journal.report
        self._versions = journal.versions
        self._default = session
        """Of all that belongs to no session that initialize opened."""
        self._new = new
        self._sessions: dict[str, Session] = {}
        self._nameless = Nameless()
        self._exchanges: dict[int, Exchange] = {}
        self._places = Seen()
        """The paths of messages: what goes to others is none of the protocol."""
        with suppress(ValueError):
            self._places.add(urlsplit(target).path)
        self._posted = Seen()
        """Where POST was accepted: a stream of events elsewhere is that of HTTP+SSE."""
        self._sources: dict[int, Session] = {}
        """Sessions over HTTP+SSE, by the exchange that is their stream."""
        self._endpoints: dict[str, Session] = {}
        """Where the clients of these send their messages."""
        self._ended = Seen()
        """The ids of sessions that were deleted."""
        self._events = Seen()
        """What came on streams that may be resumed."""

    def entry(self, line: int, entry: Entry) -> Session | None:
        """The session that an entry belongs to; None when there is nothing to judge."""
        http: Any = entry.http
        if http.method is not UNSET:
            self._begin(line, entry)
        exchange = self._exchanges.get(http.exchange)
        if exchange is None:
            return None  # it began before the recording did
        if http.status is not UNSET:
            self._answered(line, entry, exchange)
        if exchange.foreign or is_page(exchange, entry):
            return None
        return None if self._is_repeated(exchange, entry) else exchange.session

    def _begin(self, line: int, entry: Entry) -> None:
        http: Any = entry.http
        exchange = Exchange(entry, self._default)
        self._exchanges[http.exchange] = exchange
        if len(self._exchanges) > EXCHANGES:
            del self._exchanges[next(iter(self._exchanges))]
        place = exchange.place
        known = http.path in self._endpoints or "mcp-session-id" in exchange.headers
        if not known and place not in self._places:
            if exchange.verb != "POST" or not is_message(entry):
                exchange.foreign = True
                return
            self._places.add(place)
        self._belongs(line, entry, exchange)

    def _belongs(self, line: int, entry: Entry, exchange: Exchange) -> None:
        """Find the session of an exchange."""
        http: Any = entry.http
        headers = exchange.headers
        named = headers.get("mcp-session-id")
        raw = b"" if entry.frame is UNSET else bytes(memoryview(entry.frame)[:4096])
        posted = exchange.verb == "POST"
        exchange.opens = posted and opens(entry)
        spoken = headers.get("mcp-protocol-version")
        version = self._versions.known(spoken)
        if named is not None and named in self._ended:
            exchange.refused = (404, "the session is over")
        modern = version is not None and version.modern
        if http.path in self._endpoints:
            exchange.session = self._endpoints[http.path]
        elif named is not None:
            exchange.session = self._named(named, version)
        elif exchange.opens:
            exchange.session = self._opened()
        elif modern or PROTOCOL_VERSION.encode() in raw:
            pass
        elif (found := self._nameless.of(entry, spoken)) is not None:
            exchange.session = found
        elif posted and self._sessions and not self._default.event_source:
            exchange.session = next(reversed(self._sessions.values()))
            told = "the header Mcp-Session-Id is missing"
            self._report(SESSION_MISSING, line, told)
            exchange.refused = (400, "the session id is missing")
        elif posted and version is not None:
            # It was agreed on before the recording began.
            self._default.late, self._default.version = True, version
        if spoken is not None and exchange.refused is None and version is None:
            agreed = spoken == exchange.session.spoken
            if not (agreed or spoken == REDACTED or self._versions.later(spoken)):
                exchange.refused = (400, f'the version "{short(spoken, 40)}" is none')

    def _named(self, name: str, version: Version | None) -> Session:
        session = self._sessions.get(name)
        if session is None:
            session = self._new()
            session.late = True
            session.version = version or self._versions.without_header()
            self._keep(name, session)
        return session

    def _keep(self, name: str, session: Session) -> None:
        self._sessions[name] = session
        if len(self._sessions) > SESSIONS:
            self._sessions.pop(next(iter(self._sessions))).end()

    def _opened(self) -> Session:
        """A session that begins; its id, if it gets one, comes with the answer."""
        if self._default.event_source and not self._default.agreed:
            return self._default
        session = self._new()
        self._nameless.open(session)
        return session

    def frame(self, line: int, entry: Entry, side: Side, value: Any) -> None:
        """What was said within an exchange."""
        http: Any = entry.http
        exchange = self._exchanges.get(http.exchange)
        if exchange is None:
            return
        members = value if isinstance(value, list) else [value]
        members = [each for each in members if isinstance(each, dict)]
        if side == "client":
            exchange.messages = True
            if exchange.refused is None and any(map(_lacks_meta, members)):
                version = self._spoken(exchange)
                if version is not None and version.modern:
                    exchange.refused = (400, "its _meta lacks what must be there")
            exchange.requests = any("method" in m and "id" in m for m in members)
            exchange.probes = any(m.get("method") == DISCOVER for m in members)
        elif exchange.status and "event-stream" not in exchange.type:
            for member in members:
                self._error_status(line, exchange, member)

    def _is_repeated(self, exchange: Exchange, entry: Entry) -> bool:
        """Is it an event that comes once more, on a stream that is resumed?"""
        http: Any = entry.http
        if not http.event or entry.frame is UNSET:
            return False
        name = exchange.headers.get("mcp-session-id", "")
        frame = bytes(memoryview(entry.frame)).decode("utf-8", "replace")
        event = f"{name} {http.event} {frame}"
        again = event in self._events
        self._events.add(event)
        return again and "last-event-id" in exchange.headers

    def _error_status(
        self, line: int, exchange: Exchange, member: dict[str, Any]
    ) -> None:
        version = self._spoken(exchange)
        error = member.get("error")
        if version is None or version.traits.http != "stateless":
            return
        code = error.get("code") if isinstance(error, dict) else None
        name = version.codes.get(code, "") if type(code) is int else ""
        wanted = NAMED_STATUS.get(name, exchange.status)
        if exchange.probes and name == "METHOD_NOT_FOUND":
            return  # all stateless servers have it: this one is older
        if wanted != exchange.status:
            told = f"{code} comes with the status {exchange.status}, not {wanted}"
            self._report(STATUS, line, told)

    def _spoken(self, exchange: Exchange) -> Version | None:
        """What the header says, or the session if it has agreed on something."""
        session = exchange.session
        agreed = session.version if session.agreed or session.late else None
        spoken = exchange.headers.get("mcp-protocol-version")
        return self._versions.known(spoken) or agreed

    def _answered(self, line: int, entry: Entry, exchange: Exchange) -> None:
        http: Any = entry.http
        headers = http.headers or NO_HEADERS
        status = exchange.status = http.status
        exchange.type = headers.get("content-type", "").lower()
        fine = 200 <= status < 300
        if exchange.verb == "GET" and fine and "event-stream" in exchange.type:
            self._streamed(http.exchange, exchange)
            exchange.foreign = False
        if exchange.foreign or exchange.session.event_source:
            return
        if exchange.verb == "POST" and status < 400:
            self._posted.add(exchange.place)
        if exchange.refused is not None and fine:
            wanted, why = exchange.refused
            told = f"the answer is {status}, not {wanted}: {why}"
            self._report(STATUS, line, told, fix=f"answer with {wanted}")
        if exchange.opens and fine:
            self._issued(line, exchange, headers.get("mcp-session-id"))
        if fine and exchange.verb == "POST" and exchange.messages:
            self._accepted(line, exchange, entry)
        elif fine and exchange.verb in ("GET", "DELETE"):
            self._served(line, exchange)
        ended = exchange.verb == "DELETE" and fine
        if ended or status == 404:
            gone = exchange.headers.get("mcp-session-id")
            if ended and gone is not None and gone != REDACTED:
                self._ended.add(gone)
            self._excuse(http.exchange, exchange)
            if gone is not None and gone != REDACTED and gone in self._sessions:
                self._sessions.pop(gone).end()

    def _served(self, line: int, exchange: Exchange) -> None:
        version = self._spoken(exchange)
        if version is not None and version.traits.http == "stateless":
            told = f"{exchange.verb} is answered with {exchange.status}"
            self._report(VERB, line, told)

    def _streamed(self, number: int, exchange: Exchange) -> None:
        """A stream that nobody posts to, of no session: HTTP with server-sent events."""
        if "mcp-session-id" in exchange.headers or exchange.place in self._posted:
            return
        if self._default.agreed or self._default.event_source:
            self._default = self._new()
        exchange.session = self._sources[number] = self._default
        exchange.session.event_source = True
        if len(self._sources) > SESSIONS:
            self._closed(next(iter(self._sources)))

    def _directed(self, exchange: Exchange, endpoint: str) -> None:
        """The stream says where the client is to send its messages."""
        with suppress(ValueError):
            found = urlsplit(urljoin(exchange.place, endpoint.strip()))
            path = found._replace(scheme="", netloc="", fragment="").geturl()
            if len(self._endpoints) < 2 * SESSIONS:
                self._endpoints[path] = exchange.session

    def _closed(self, number: int) -> None:
        """A stream is over, and with it its session."""
        if (session := self._sources.pop(number, None)) is None:
            return
        for path in [p for p, of in self._endpoints.items() if of is session]:
            del self._endpoints[path]
        session.end()
        if session is self._default:
            self._default = self._new()

    def _issued(self, line: int, exchange: Exchange, name: str | None) -> None:
        if name is None:
            return
        if not (name and all("!" <= char <= "~" for char in name)):
            told = f'the session id is "{short(name)}"'
            self._report(SESSION_ID, line, told)
        self._keep(name, exchange.session)
        self._nameless.discard(exchange.session)
        if exchange.session is self._default:
            self._default = self._new()

    def _accepted(self, line: int, exchange: Exchange, entry: Entry) -> None:
        status = exchange.status
        if not exchange.requests:
            if status != 202:
                told = f"{status} for what is not a request"
                self._report(STATUS, line, told, fix="answer with 202 and no body")
        elif status == 202:
            told = "202 for a request: nothing will answer it"
            self._report(STATUS, line, told, fix="answer with 200 and the response")
        elif status == 200:
            kind = exchange.type.split(";")[0].strip()
            if kind not in ("application/json", "text/event-stream"):
                told = f'Content-Type of the answer is "{short(exchange.type, 80)}"'
                self._report(CONTENT_TYPE, line, told)

    def text(self, line: int, entry: Entry) -> None:
        """A body, or an event, that is no JSON."""
        http: Any = entry.http
        exchange = self._exchanges.get(http.exchange) if http else None
        if exchange is None:
            return
        if exchange.session.event_source:
            if http.exchange in self._sources:
                self._directed(exchange, entry.text or "")
            return
        if entry.source == "client":
            exchange.session.parties["client"].refuse()
        self._report(NOT_JSON, line, unreadable(entry))

    def ended(self, line: int, entry: Entry) -> None:
        """An answer is over, and with it the exchange."""
        http: Any = entry.http
        exchange = self._exchanges.pop(http.exchange, None)
        if exchange is None:
            return
        version = self._spoken(exchange)
        closing = version is not None and version.traits.closing_cancels
        if exchange.status >= 400 or (closing and entry.source == "client"):
            # HTTP said no, or the client hung up: nothing else is to come.
            self._excuse(http.exchange, exchange)
        failed = exchange.opens and exchange.status >= 400
        if failed and self._nameless.discard(exchange.session):
            exchange.session.end()
        self._closed(http.exchange)

    def _excuse(self, number: int, exchange: Exchange) -> None:
        for call in exchange.session.parties["client"].pending.values():
            if call.entry.http and call.entry.http.exchange == number:
                call.excused = True

    def end(self) -> None:
        """The recording is over."""
        sessions = dict.fromkeys(
            [
                *(*self._sessions.values(), *self._sources.values()),
                *(*self._nameless, self._default),
            ]
        )
        for session in sessions:
            session.end()
