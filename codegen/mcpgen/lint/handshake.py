"""How a session begins: initialize, its result, notifications/initialized."""

from __future__ import annotations

from typing import Any

from .messages import Answer, Call
from .rule import Rule
from .session import Family, Session
from .text import short
from .words import CANCELLED, INITIALIZE, INITIALIZED, PING

FIRST = Rule(
    "initialize-first",
    "error",
    "a request before initialize",
    "A session begins with initialize: before it, version and capabilities are not known, and only ping "
    "is allowed.",
    "send initialize, wait for its result, send notifications/initialized",
    whole=True,
)
EARLY = Rule(
    "request-early",
    "warning",
    "a request before initialize was answered",
    "Until the result is there, a client should send nothing but pings: it may be speaking a version that "
    "is not agreed on.",
    "wait for the result of initialize",
    whole=True,
)
SERVER_EARLY = Rule(
    "server-early",
    "warning",
    "a request of the server before notifications/initialized",
    "Until the client says that it is ready, a server should send nothing but pings and logs.",
    "wait for notifications/initialized",
    whole=True,
)
AGAIN = Rule(
    "initialize-again",
    "error",
    "a second initialize in the same session",
    "A session is opened once. Servers refuse a second initialize, or forget what was agreed on.",
    "open a new connection or session instead",
    whole=True,
)
INITIALIZED_EARLY = Rule(
    "initialized-early",
    "error",
    "notifications/initialized before the result of initialize",
    "It says that the client has read the result and is ready, and cannot come before it.",
    "wait for the result of initialize",
    whole=True,
)
INITIALIZED_MISSING = Rule(
    "initialized-missing",
    "error",
    "no notifications/initialized after initialize",
    "After the result of initialize the client has to say that it is ready. Some servers answer nothing "
    "before that.",
    "send notifications/initialized directly after the result of initialize",
    whole=True,
)
INITIALIZED_AGAIN = Rule(
    "initialized-again",
    "warning",
    "a second notifications/initialized",
    "A client gets ready once.",
    "send it once, after the result of initialize",
    whole=True,
)
INITIALIZE_CANCELLED = Rule(
    "initialize-cancelled",
    "error",
    "a cancelled initialize",
    "The initialize request must not be cancelled.",
    "close the connection instead",
    whole=True,
)
VERSION_CHANGED = Rule(
    "version-changed",
    "note",
    "the server speaks another version than the client asked for",
    "That is how versions are agreed on: a server that does not have the requested version answers with "
    "one that it has, and the client goes on with it or leaves.",
    "nothing, unless one of them is meant to know the other's version",
)
VERSION_UNKNOWN = Rule(
    "version-unknown",
    "warning",
    "a protocol version that is not known here",
    "The messages are judged by the version that is closest to it, which may be wrong.",
    "check the spelling; use a newer mcpgen, or add the schema to your project: mcpgen schema add",
)


class Handshake(Family):
    """The opening of a session. Stateless versions have none."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._opening: Call | None = None
        self._wanted: object = None
        self._first: Call | None = None
        """The client's first request that came without notifications/initialized."""
        self._told: set[str] = set()

    def request(self, call: Call) -> None:
        """Is this the time for it?"""
        if (self.session.ready or call.version.modern) and call.method != INITIALIZE:
            return
        if call.method == INITIALIZE:
            self._initialize(call)
        elif call.method == PING or self.session.late or call.entry.cut:
            return
        elif not self.session.agreed:
            if self._opening is None:
                self._once(FIRST, call, f"{short(call.method)} before initialize")
            elif call.sender == "client":
                told = f"{short(call.method)} while initialize is not answered"
                self._once(EARLY, call, told)
            else:
                self._server_early(call)
        elif call.sender == "server":
            self._server_early(call)
        elif self._first is None:
            self._first = call

    def _initialize(self, call: Call) -> None:
        session = self.session
        if not session.journal.whole or call.sender != "client" or call.version.modern:
            return
        if call.path != "$":
            return  # it opens nothing
        if session.agreed or self._opening is not None:
            self.report(AGAIN, call.line, "initialize was sent before", call.path)
            return
        self._opening = call
        params = call.params or {}
        self._wanted = params.get("protocolVersion")
        session.offered = call.version
        session.parties["client"].capabilities = params.get("capabilities")
        session.extend(params.get("capabilities"))
        if isinstance(self._wanted, str) and self.versions.known(self._wanted) is None:
            told = f'the client asks for version "{short(self._wanted, 40)}"'
            where = f"{call.path}.params.protocolVersion"
            self.report(VERSION_UNKNOWN, call.line, told, where)

    def _server_early(self, call: Call) -> None:
        told = f"{short(call.method)} before the client is ready"
        self._once(SERVER_EARLY, call, told)

    def _once(self, rule: Rule, call: Call, told: str) -> None:
        """Once it is wrong it stays so; once is enough to say it."""
        if rule.id not in self._told:
            self._told.add(rule.id)
            self.report(rule, call.line, told, call.path)

    def notification(self, call: Call) -> None:
        """The client is ready, or has enough of waiting."""
        if call.method == INITIALIZED and not call.version.modern:
            if not self.session.agreed:
                if not self.session.late:
                    told = "initialize has not been answered"
                    self.report(INITIALIZED_EARLY, call.line, told, call.path)
            elif self.session.ready:
                told = "it was sent before"
                self.report(INITIALIZED_AGAIN, call.line, told, call.path)
            self.session.ready = True
        elif call.method == CANCELLED and self._opening is not None:
            wanted = call.params.get("requestId") if call.params else None
            if wanted == self._opening.id and not self.session.agreed:
                told = "initialize is cancelled"
                self.report(INITIALIZE_CANCELLED, call.line, told, call.path)

    def result(self, answer: Answer, result: Any) -> None:
        """The version is agreed on."""
        call, session = answer.call, self.session
        if call is None or call is not self._opening or type(result) is not dict:
            return
        session.parties["server"].capabilities = result.get("capabilities")
        session.extend(result.get("capabilities"))
        session.agreed = True
        where = f"{answer.path}.result.protocolVersion"
        agreed = result.get("protocolVersion")
        if not isinstance(agreed, str):
            return  # the schema says so, too
        session.spoken = agreed
        version = self.versions.known(agreed)
        if version is None or version.modern:
            told = f'the server answers with version "{short(agreed, 40)}"'
            if version is not None:
                told += (
                    f", which no initialize opens; {', '.join(self.versions.legacy)} do"
                )
            self.report(VERSION_UNKNOWN, answer.line, told, where)
            session.version = call.version
            return
        session.version = call.version = version
        call.row = version.requests.get(INITIALIZE)
        if agreed != self._wanted and isinstance(self._wanted, str):
            told = f"the client asked for {short(self._wanted, 40)}, the server speaks {agreed}"
            self.report(VERSION_CHANGED, answer.line, told, where)

    def refusal(self, answer: Answer, error: Any) -> None:
        """The client may try again."""
        if answer.call is not None and answer.call is self._opening:
            self._opening = None

    def end(self) -> None:
        """Was the client ever ready?"""
        call = self._first
        if call is not None and not self.session.ready:
            told = f"{short(call.method)} was sent, and it never came"
            self.report(INITIALIZED_MISSING, call.line, told, call.path)
