"""Each side uses only what the other declared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .messages import OTHER, Answer, Call, Side
from .rule import Rule
from .session import Family, Session
from .versions import Row, declared
from .words import DISCOVER, INITIALIZE

NOT_OFFERED = Rule(
    "capability-not-offered",
    "error",
    "use of what the other side did not declare",
    "Capabilities say what a side can be asked for. A request for more is refused with -32601, or hangs.",
    "look at the capabilities before asking; or declare the capability where it is implemented",
    whole=True,
)
NOT_DECLARED = Rule(
    "capability-not-declared",
    "error",
    "a notification whose capability its sender did not declare",
    "A side that sends this has to declare it when the session begins; the other side need not listen.",
    "declare the capability, or do not send the notification",
    whole=True,
)
PARAMETER = Rule(
    "capability-parameter",
    "error",
    "a parameter that the other side did not declare",
    "Some capabilities have parts: modes of elicitation, tools in sampling, tasks. Each is declared for "
    "itself.",
    "leave the parameter out, or use a mode that was declared",
    whole=True,
)


class Capabilities(Family):
    """Who declared what, and who uses it."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._settled: dict[Side, set[str]] = {"client": set(), "server": set()}
        """Methods of a side, of which nothing more is to be said."""

    def request(self, call: Call) -> None:
        """The receiver of a request must have declared it."""
        row = call.row
        if row is None:
            return
        other = OTHER[call.sender]
        capabilities = self.session.parties[other].capabilities
        if call.method not in self._settled[call.sender]:
            path = needs(row, other)
            if path is None:
                self._settled[call.sender].add(call.method)
            elif capabilities is not None and call.sender in row.sent_by:
                if declared(capabilities, path):
                    self._settled[call.sender].add(call.method)
                else:
                    self._not_offered(call, other, path)
                    return
        if call.params is not None and capabilities is not None:
            for where, path in parts(call.method, call.params, row, capabilities):
                told = f"the {other} did not declare {'.'.join(path)}"
                at = f"{call.path}.params{where}"
                self.report(PARAMETER, call.line, told, at)

    def _not_offered(self, call: Call, other: Side, path: tuple[str, ...]) -> None:
        told = (
            f"{call.method} needs {'.'.join(path)}, which the {other} did not declare"
        )
        self.report(NOT_OFFERED, call.line, told, f"{call.path}.method")

    def notification(self, call: Call) -> None:
        """The sender must have declared it, or whoever else the version names."""
        row, sender = call.row, call.sender
        if row is None or call.method in self._settled[sender]:
            return
        own = needs(row, sender)
        owner = sender if own is not None else OTHER[sender]
        path = own if own is not None else needs(row, owner)
        if path is None:
            self._settled[sender].add(call.method)
            return
        capabilities = self.session.parties[owner].capabilities
        if capabilities is None:
            return
        if declared(capabilities, path):
            self._settled[sender].add(call.method)
        elif owner == sender:
            self._settled[sender].add(call.method)  # once is enough
            told = f"{call.method} needs {'.'.join(path)}, which the {sender} did not declare"
            self.report(NOT_DECLARED, call.line, told, f"{call.path}.method")
        else:
            self._not_offered(call, owner, path)

    def result(self, answer: Answer, result: Any) -> None:
        """Here a server says what it can."""
        call = answer.call
        if call is None or type(result) is not dict:
            return
        if call.method == DISCOVER or call.method == INITIALIZE:
            for settled in self._settled.values():
                settled.clear()
        if call.method == DISCOVER:
            # A later initialize says it again, for its own version.
            found = result.get("capabilities")
            self.session.parties["server"].capabilities = found


def needs(row: Row, owner: Side) -> tuple[str, ...] | None:
    """What a side must have declared for a method."""
    return row.client_capability if owner == "client" else row.server_capability


def parts(
    method: str, params: dict[str, Any], row: Row, capabilities: Any
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Paths in the params to what was not declared, each with what it needs."""
    if method == "elicitation/create":
        mode = params.get("mode", "form")
        offered = capabilities.get("elicitation") if _is_object(capabilities) else None
        # A declaration without modes means forms, as before there were any.
        implied = mode == "form" and not declared(offered, ("url",))
        known = mode in ("form", "url")
        if known and not implied and not declared(offered, (mode,)):
            yield ".mode" if "mode" in params else "", ("elicitation", mode)
    if method == "sampling/createMessage":
        for key in ("tools", "toolChoice"):
            if key in params and not declared(capabilities, ("sampling", "tools")):
                yield f".{key}", ("sampling", "tools")
    if "task" in params and any(name == "CreateTaskResult" for name, _ in row.results):
        path = ("tasks", "requests", *method.split("/"))
        if not declared(capabilities, path):
            yield ".task", path


def _is_object(value: object) -> bool:
    return isinstance(value, dict)
