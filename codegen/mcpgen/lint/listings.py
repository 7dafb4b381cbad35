"""The tools and prompts that a session lists, and what their arguments have to be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ..diagnostics import did_you_mean
from .arguments import problems
from .messages import Answer, Call
from .text import short
from .words import CALL, GET_PROMPT, LIST_PROMPTS, LIST_TOOLS

BYTES: Final = 2_000_000
"""Of listings that are kept; then all are forgotten, and learned anew."""
_KEYS: Final = {LIST_TOOLS: (CALL, "tools"), LIST_PROMPTS: (GET_PROMPT, "prompts")}


class Difference(NamedTuple):
    """Where a call differs from what was listed."""

    path: str
    message: str
    fix: str
    in_arguments: bool


class Listings:
    """What was listed, as the schemas of arguments."""

    def __init__(self) -> None:
        self._schemas: dict[str, dict[str, Any]] = {CALL: {}, GET_PROMPT: {}}
        self._lines: dict[str, int] = {}
        """Where the last page of each is, once it was read."""
        self._bytes = 0

    def learn(self, answer: Answer, call: Call, result: dict[str, Any]) -> None:
        """Remember a page, if it is one."""
        if call.method not in _KEYS or answer.entry.cut or not answer.entry.frame:
            return
        method, key = _KEYS[call.method]
        listed, size = result.get(key), len(memoryview(answer.entry.frame))
        if not isinstance(listed, list) or size > BYTES:
            return
        self._bytes += size
        if self._bytes > BYTES:
            self._bytes = size
            self._lines.clear()
            for schemas in self._schemas.values():
                schemas.clear()
        for item in listed:
            name = item.get("name") if isinstance(item, dict) else None
            if isinstance(name, str):
                self._schemas[method][name] = (
                    item.get("inputSchema") if method == CALL else _prompt_schema(item)
                )
        if "nextCursor" not in result:
            self._lines[method] = answer.line

    def differences(self, call: Call) -> Iterator[Difference]:
        """Compare a call with what is listed under its name."""
        schemas = self._schemas.get(call.method)
        params = call.reread() if schemas else None
        name = params.get("name") if params else None
        if not schemas or params is None or not isinstance(name, str):
            return
        path = f"{call.path}.params"
        if name not in schemas:
            if call.method in self._lines:
                kind = "tool" if call.method == CALL else "prompt"
                told = (
                    f'line {self._lines[call.method]} lists no {kind} "{short(name)}"'
                )
                hint = did_you_mean(name, schemas)
                yield Difference(f"{path}.name", told, hint, False)
            return
        for at, message in problems(schemas[name], params.get("arguments", {})):
            whose = "inputSchema" if call.method == CALL else "arguments"
            told = f'against the {whose} of "{short(name)}": {message}'
            yield Difference(f"{path}.arguments{at[1:]}", told, "", True)


def _prompt_schema(prompt: dict[str, Any]) -> dict[str, Any]:
    """What a prompt says of its arguments, in the words of a schema."""
    found = prompt.get("arguments")
    arguments = [
        each
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict) and isinstance(each.get("name"), str)
    ]
    return {
        "type": "object",
        "properties": {each["name"]: {"type": "string"} for each in arguments},
        "required": [e["name"] for e in arguments if e.get("required") is True],
    }
