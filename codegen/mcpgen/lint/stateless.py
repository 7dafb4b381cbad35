"""The rules of stateless versions: `_meta`, input_required, subscriptions."""

from __future__ import annotations

from typing import Any

from .capabilities import parts
from .handshake import VERSION_UNKNOWN
from .ids import shown
from .messages import Answer, Call, Key
from .rule import Rule
from .seen import Seen
from .session import IN_FLIGHT, Family, Session
from .text import short
from .versions import declared
from .words import (
    ACKNOWLEDGED,
    CLIENT_CAPABILITIES,
    FILTERS,
    LISTEN,
    PROTOCOL_VERSION,
    RESULT_TYPES,
    SUBSCRIPTION_ID,
    UPDATED,
)

META_MISSING = Rule(
    "meta-missing",
    "error",
    "a request without the _meta that each has to carry",
    "Stateless requests say for themselves which version they speak and what their client can: there is no "
    "initialize that could have said it. Without it they are refused with -32602.",
    f"send {PROTOCOL_VERSION} and {CLIENT_CAPABILITIES} in params._meta of every request",
)
RESULT_TYPE = Rule(
    "result-type",
    "error",
    "a resultType that does not exist",
    "It tells how to read the result: complete or input_required. A client treats another one as invalid.",
    'send "complete" with a finished result',
)
INPUT_METHOD = Rule(
    "input-required-method",
    "error",
    "input_required from a method that cannot ask",
    "Only the methods whose results the schema says so of may ask for input; a client does not expect it "
    "elsewhere.",
    "answer completely, or with an error",
)
INPUT_EMPTY = Rule(
    "input-required-empty",
    "error",
    "input_required without inputRequests and requestState",
    "At least one of them must be there: otherwise the client does not know what to do.",
    "say what is asked for in inputRequests",
)
INPUT_CAPABILITY = Rule(
    "input-required-capability",
    "error",
    "a question that the client did not declare it can answer",
    "Each request declares the capabilities of its client; a server asks for nothing else.",
    "answer with an error that names the capability (data.requiredCapabilities)",
    whole=True,
)
STATE_CHANGED = Rule(
    "request-state",
    "error",
    "a requestState that no server gave",
    "A client that tries again sends the requestState of the input_required result byte for byte, and none "
    "if there was none. Servers refuse another one.",
    "keep the string as it came",
    whole=True,
)
SUBSCRIPTION = Rule(
    "subscription-id",
    "error",
    "a notification that belongs to no subscription",
    "What a server sends for subscriptions/listen carries the id of that request in its _meta, as "
    f"{SUBSCRIPTION_ID}; nothing of the kind is sent without a subscription.",
    "send the id of the listen request, with its type",
    whole=True,
)
UNACKNOWLEDGED = Rule(
    "subscription-unacknowledged",
    "error",
    "a subscription that does not begin with its acknowledgement",
    "The first message for subscriptions/listen is notifications/subscriptions/acknowledged, with the part "
    "of the filter that the server honours.",
    "send the acknowledgement first",
    whole=True,
)
FILTER = Rule(
    "subscription-filter",
    "error",
    "a notification that the subscription did not ask for",
    "Each kind is opt-in: the server sends nothing that the filter of subscriptions/listen does not name.",
    "compare with the filter before sending",
    whole=True,
)


class Stateless(Family):
    """What each request and result carries."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._asked = False
        """Was a client asked for anything? Before that, a state is of an earlier session."""
        self._states = Seen()
        self._blind = False
        """May there be states that were not recorded?"""

    def request(self, call: Call) -> None:
        """Does it say what it has to?"""
        version = call.version
        if not version.modern or call.sender != "client" or call.row is None:
            return
        if not (call.entry.cut or call.garbled):
            meta = call.meta or {}
            keys = (PROTOCOL_VERSION, CLIENT_CAPABILITIES)
            if absent := [key for key in keys if key not in meta]:
                told = f"{call.method} lacks {' and '.join(absent)}"
                where = f"{call.path}.params._meta"
                self.report(META_MISSING, call.line, told, where)
            named = meta.get(PROTOCOL_VERSION)
            if isinstance(named, str) and self.versions.known(named) is None:
                told = f'the client speaks version "{short(named, 40)}"'
                where = f"{call.path}.params._meta"
                self.report(VERSION_UNKNOWN, call.line, told, where)
        state = call.params.get("requestState") if call.params else None
        blind = self._blind or not self._asked or self.session.parties["server"].lost
        if isinstance(state, str) and not (blind or state in self._states):
            told = "no input_required result had this requestState"
            where = f"{call.path}.params.requestState"
            self.report(STATE_CHANGED, call.line, told, where)

    def result(self, answer: Answer, result: Any) -> None:
        """How does the result say that it is to be read?"""
        call = answer.call
        self._blind = self._blind or answer.entry.cut
        if call is None or not call.version.modern or type(result) is not dict:
            return
        kind = result.get("resultType")
        if kind == "complete" or kind is None:
            return  # what is missing, the schema says
        if kind == "input_required":
            self._question(answer, call, result)
        elif isinstance(kind, str) and not self._extended(call):
            told = f'"{short(kind, 40)}" is none of {", ".join(RESULT_TYPES)}'
            where = f"{answer.path}.result.resultType"
            self.report(RESULT_TYPE, answer.line, told, where)

    def _extended(self, call: Call) -> bool:
        """Has the client an extension, which may bring more types?"""
        if call.meta is None:
            return True  # that was too large to be kept
        return declared(call.meta.get(CLIENT_CAPABILITIES), ("extensions",))

    def _question(self, answer: Answer, call: Call, result: dict[str, Any]) -> None:
        self._asked = True
        line, where = answer.line, f"{answer.path}.result"
        results = call.row.results if call.row is not None else ()
        if call.row is not None and not any("InputRequired" in n for n, _ in results):
            told = f"{call.method} cannot be answered with a question"
            self.report(INPUT_METHOD, line, told, f"{where}.resultType")
        state, asked = result.get("requestState"), result.get("inputRequests")
        if isinstance(state, str):
            self._states.add(state)
        if state is None and asked is None:
            self.report(INPUT_EMPTY, line, "neither is there", where)
        if not isinstance(asked, dict) or call.meta is None:
            return
        capabilities = call.meta.get(CLIENT_CAPABILITIES)
        for key, request in asked.items():
            method = request.get("method") if isinstance(request, dict) else None
            if not isinstance(method, str):
                continue
            row = call.version.requests.get(method)
            if row is None or row.client_capability is None:
                continue
            params = request.get("params")
            params = params if isinstance(params, dict) else {}
            missing = [("", row.client_capability)]
            if declared(capabilities, row.client_capability):
                found = parts(method, params, row, capabilities)
                missing = [(f".params{at}", path) for at, path in found]
            for at, path in missing:
                told = f"{method} needs {'.'.join(path)}, which the request did not declare"
                at = f"{where}.inputRequests[{shown(key)}]{at}"
                self.report(INPUT_CAPABILITY, line, told, at)


class _Subscription:
    def __init__(self, call: Call) -> None:
        self.line = call.line
        wanted = (call.params or {}).get("notifications")
        self.filter: dict[str, Any] = wanted if isinstance(wanted, dict) else {}
        self.acknowledged = False
        self.cut = call.entry.cut


class Subscriptions(Family):
    """What a client listens to."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._open: dict[Key, _Subscription] = {}

    def request(self, call: Call) -> None:
        """A subscription begins."""
        if call.method == LISTEN and call.version.modern and call.key is not None:
            self._open[call.key] = _Subscription(call)
            if len(self._open) > IN_FLIGHT:
                del self._open[next(iter(self._open))]

    def notification(self, call: Call) -> None:
        """Is it one of a subscription?"""
        if not call.version.modern or call.sender != "server":
            return
        method = call.method
        named = call.meta.get(SUBSCRIPTION_ID) if call.meta is not None else None
        if named is None and method != ACKNOWLEDGED and method not in FILTERS:
            return
        found = self._find(call, named)
        where = f"{call.path}.params._meta"
        if found is None:
            told = (
                f"{method} names no subscription"
                if named is None
                else f"there is no subscription {shown(named)}"
            )
            self.report(SUBSCRIPTION, call.line, told, where)
        elif method == ACKNOWLEDGED:
            found.acknowledged = True
        else:
            if not found.acknowledged:
                found.acknowledged = True
                told = f"{method} comes before the acknowledgement"
                self.report(UNACKNOWLEDGED, call.line, told, call.path)
            self._filter(call, found)

    def _find(self, call: Call, named: Any) -> _Subscription | None:
        if type(named) is not int and type(named) is not str:
            return None
        return self._open.get(self.session.scoped(call, named))

    def _filter(self, call: Call, found: _Subscription) -> None:
        key = FILTERS.get(call.method)
        wanted = found.filter.get(key) if key is not None else True
        if call.method == UPDATED and isinstance(wanted, list):
            # The one that changed may be a part of what is listened to.
            uri = (call.params or {}).get("uri")
            wanted = not isinstance(uri, str) or any(
                isinstance(each, str) and uri.startswith(each) for each in wanted
            )
        if not wanted and not found.cut:
            told = f"the filter of line {found.line} does not ask for {call.method}"
            self.report(FILTER, call.line, told, call.path)

    def result(self, answer: Answer, result: Any) -> None:
        """A subscription is over."""
        call = answer.call
        if call is not None and call.method == LISTEN and call.key is not None:
            found = self._open.pop(call.key, None)
            if not (found is None or found.acknowledged or call.cancelled):
                told = "it is over without an acknowledgement"
                self.report(UNACKNOWLEDGED, answer.line, told, answer.path)
