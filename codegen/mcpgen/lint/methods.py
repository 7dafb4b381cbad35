"""Methods, and whether what they carry fits the version's schema."""

from __future__ import annotations

from typing import Any, Final

from ..diagnostics import did_you_mean
from ..recording import Entry
from .messages import Answer, Call
from .rule import Rule
from .session import Family, Session
from .text import short, who_has
from .versions import Check, Row
from .words import CLIENT_CAPABILITIES, INITIALIZED, PROTOCOL_VERSION, RESULT_TYPES

FOLKLORE_METHOD = Rule(
    "method-folklore",
    "error",
    "a method that never was one of MCP",
    "Articles and other protocols have names that look right: `initialized`, `$/progress`. No version has "
    "them; as a notification they are dropped without a word.",
    "use the name that the specification has",
)
OTHER_VERSION = Rule(
    "method-other-version",
    "error",
    "a method of another version",
    "The version that is spoken does not have this method. The other side answers -32601, or drops it.",
    "use what this version has instead, or agree on a version that has the method",
)
UNKNOWN_METHOD = Rule(
    "method-unknown",
    "warning",
    "a method that no version has",
    "No known version of the protocol has this method. If it is an extension, both sides must have agreed "
    "on it.",
    "check the spelling",
)
DIRECTION = Rule(
    "method-direction",
    "error",
    "a method sent by the wrong side",
    "Each method has a direction: who may send it is a part of the protocol.",
    "let the other side send it",
)
KIND = Rule(
    "method-kind",
    "error",
    "a request sent as a notification, or the other way round",
    "What has an id is a request and gets an answer, what has none is a notification and gets none. A "
    "method is always one or always the other.",
    "send an id with requests, and none with notifications",
)
EMBEDDED = Rule(
    "method-embedded",
    "error",
    "a request of its own that travels inside a result only",
    "In this version servers do not send requests: what they want to know stands in an input_required "
    "result, and the client tries again with the answers.",
    "answer with resultType input_required and inputRequests",
)
DEPRECATED = Rule(
    "method-deprecated",
    "note",
    "a method that is on its way out",
    "This version still has the method, but deprecates it.",
    "use what the specification recommends instead",
)
PARAMS = Rule(
    "params-invalid",
    "error",
    "params that do not fit the schema",
    "The schema of the version says what a method's params are. What does not fit is refused with -32602 "
    "by a strict reader, and misunderstood by others.",
    "send what the schema asks for at this path",
)
RESULT = Rule(
    "result-invalid",
    "error",
    "a result that does not fit the schema",
    "The schema of the version says what the result of a method is. A strict client refuses another one.",
    "answer with what the schema asks for at this path",
)

FOLKLORE: Final = {
    "initialized": INITIALIZED,
    "logging/message": "notifications/message",
    "$/cancelRequest": "notifications/cancelled",
    "$/progress": "notifications/progress",
    "cancelled": "notifications/cancelled",
    "progress": "notifications/progress",
    "notifications/cancel": "notifications/cancelled",
    "notifications/logging": "notifications/message",
    "shutdown": "",
    "exit": "",
    "tools/execute": "tools/call",
    "tools/invoke": "tools/call",
}
"""What readers of articles, and of the Language Server Protocol, send → what they mean;
nothing when there is no such thing.
"""

STATELESS_KEYS: Final = (
    "$.params._meta",
    f'$.params._meta["{PROTOCOL_VERSION}"]',
    f'$.params._meta["{CLIENT_CAPABILITIES}"]',
)
"""What is missing there, `meta-missing` tells better."""
AT_MOST: Final = 10
"""So many issues of one message are told."""


class Methods(Family):
    """The method table and the schema."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._told: set[str] = set()
        """Deprecated methods that were told already."""

    def request(self, call: Call) -> None:
        """Look up a request."""
        row = call.row
        if call.version.modern and call.meta is not None:
            self.session.extend(call.meta.get(CLIENT_CAPABILITIES))
        if row is None:
            self._stranger(call)
            return
        if call.sender not in row.sent_by or row.embedded or row.deprecated:
            self._odd(call, row)
        self._params(call, row)

    notification = request

    def _params(self, call: Call, row: Row) -> None:
        if row.check is not None and not (call.entry.cut or call.garbled):
            if call.params is not None:
                if issues := row.check(call.params, "$.params"):
                    if call.version.modern:
                        issues = [i for i in issues if not _is_meta(i)]
                    self._issues(
                        PARAMS, call.entry, call.line, call.path, call.method, issues
                    )
            elif row.required and not (call.version.modern and call.id is not None):
                told = f"{call.method}: required, but missing"
                self.report(PARAMS, call.line, told, f"{call.path}.params")

    def result(self, answer: Answer, result: Any) -> None:
        """Does a result fit the method that it answers?"""
        call = answer.call
        if call is None or call.row is None or answer.entry.cut:
            return
        if call.version.traits.input_required and isinstance(result, dict):
            kind = result.get("resultType", "complete")
            if isinstance(kind, str) and kind not in RESULT_TYPES:
                return  # what an extension brings, or `result-type` tells
        results = call.row.results
        if len(results) == 1 and not call.version.traits.input_required:
            issues = results[0][1](result, "$.result")
        else:
            issues = fitting(results, result)
        if issues:
            self._issues(
                RESULT, answer.entry, answer.line, answer.path, call.method, issues
            )

    def _issues(
        self, rule: Rule, entry: Entry, line: int, path: str, method: str, issues: Any
    ) -> None:
        hidden = self.session.journal.redacted
        redacted = hidden and hidden.encode() in bytes(entry.frame)  # type: ignore[arg-type]
        for issue in list(issues)[:AT_MOST]:
            # The recorder makes a string of every secret.
            if redacted and issue[1].endswith(("got a string", f'got "{hidden}"')):
                continue
            # A member of a batch stands deeper than the validator knows.
            self.report(rule, line, f"{method}: {issue[1]}", path + issue[0][1:])

    def _odd(self, call: Call, row: Row) -> None:
        version = call.version.name
        where = f"{call.path}.method"
        if row.embedded:
            told = f"{call.method} is no request of its own in {version}"
            self.report(EMBEDDED, call.line, told, where)
        elif call.sender not in row.sent_by:
            only = " and ".join(row.sent_by)
            told = f"{call.method} is sent by the {only}, not by the {call.sender}"
            self.report(DIRECTION, call.line, told, where)
        if row.deprecated and call.method not in self._told:
            self._told.add(call.method)
            told = f"{call.method}: {row.deprecated}"
            self.report(DEPRECATED, call.line, told, where)

    def _stranger(self, call: Call) -> None:
        """A method that the version does not have, or not of this kind."""
        version, method, where = call.version, call.method, f"{call.path}.method"
        name = short(method)
        if version.knows(method):
            is_request = method in version.requests
            told = (
                f"{name} is a request, and has no id"
                if is_request
                else f"{name} is a notification, and has an id"
            )
            self.report(KIND, call.line, told, where)
        elif method in FOLKLORE:
            meant = FOLKLORE[method]
            fix = f'did you mean "{meant}"?' if meant else "end the connection instead"
            self.report(FOLKLORE_METHOD, call.line, f"there is no {name}", where, fix)
        elif others := self.versions.having(method):
            if self._is_extended(method):
                return
            told = f"{version.name} has no {name}; {who_has(others)}"
            self.report(OTHER_VERSION, call.line, told, where)
        elif not self.session.extensions:
            known = [*version.requests, *version.notifications]
            told = f"no version has {name}"
            hint = did_you_mean(method, known)
            self.report(UNKNOWN_METHOD, call.line, told, where, hint)

    def _is_extended(self, method: str) -> bool:
        """Is it one that left the protocol, and came back as an extension?"""
        area = method.removeprefix("notifications/").partition("/")[0]
        return any(id.rpartition("/")[2] == area for id in self.session.extensions)


def _is_meta(issue: Any) -> bool:
    return issue[0] in STATELESS_KEYS and issue[1].startswith("required")


def fitting(results: tuple[tuple[str, Check], ...], result: Any) -> list[Any]:
    """The issues of a result that may be one of several: none if it fits one of them.

    An InputRequiredResult fits nearly everything: it is meant only where it says so.
    """
    asks = isinstance(result, dict) and result.get("resultType") == "input_required"
    chosen = [each for each in results if ("InputRequired" in each[0]) == asks]
    first: list[Any] = []
    for _, check in chosen:  # none: the method cannot ask, which is another rule's
        issues = check(result, "$.result")
        if not issues:
            return []
        first = first or issues
    return first
