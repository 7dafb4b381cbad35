"""Structured results of tools, compared with what the tools promised when listed."""

from __future__ import annotations

from typing import Any, Final

from .messages import Answer, Call
from .rule import Rule
from .session import Family
from .text import short
from .words import CALL, TOOLS_CHANGED

STRUCTURED = Rule(
    "structured-content",
    "error",
    "a structured result that differs from the tool's outputSchema",
    "A tool that lists an outputSchema promises structuredContent that fits it, in every result that is "
    "no error. Clients build types from the schema, and refuse what is different.",
    "return what the outputSchema says, or correct the outputSchema",
    whole=True,
)

LARGEST: Final = 256 * 1024
"""Bytes of a result that is compared."""


class Structured(Family):
    """What a tool returns, and what it said that it would."""

    def notification(self, call: Call) -> None:
        """Other tools: what was listed may be wrong by now."""
        if call.method == TOOLS_CHANGED:
            self.session.listings.outdated()

    def result(self, answer: Answer, result: Any) -> None:
        """Compare a result with the listing, if there is one."""
        call, entry = answer.call, answer.entry
        if call is None or call.method != CALL or type(result) is not dict:
            return
        output = self.session.listings.output(call.about)
        if output is None or entry.cut or not _is_final(call, result):
            return
        frame = memoryview(entry.frame)  # type: ignore[arg-type]
        hidden = self.session.journal.redacted
        if len(frame) > LARGEST or (hidden and hidden.encode() in bytes(frame)):
            return
        name, path = short(call.about or ""), f"{answer.path}.result"
        if "structuredContent" not in result:
            told = f'"{name}" lists an outputSchema, and structuredContent is missing'
            self.report(STRUCTURED, answer.line, told, path)
            return
        for at, message in output.problems(result["structuredContent"]):
            if not (hidden and hidden in message):
                told = f'against the outputSchema of "{name}": {message}'
                where = f"{path}.structuredContent{at[1:]}"
                self.report(STRUCTURED, answer.line, told, where)


def _is_final(call: Call, result: dict[str, Any]) -> bool:
    """Is it what the tool returns: no failure, no question, no task?"""
    return (
        call.version.traits.structured_content != "none"
        and result.get("isError") is not True
        and result.get("resultType", "complete") == "complete"
        and ("task" not in result or "content" in result)
    )
