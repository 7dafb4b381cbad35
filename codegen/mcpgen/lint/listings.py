"""The tools and prompts that a session lists: what goes in, and what comes out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ..diagnostics import did_you_mean
from .arguments import problems
from .messages import Answer, Call
from .text import short
from .words import CALL, GET_PROMPT, LIST_PROMPTS, LIST_TOOLS

BYTES: Final = 2_000_000
"""Of listings that are kept; then all are forgotten, and learned anew."""
RESULTS: Final = 100
"""Results of a tool that are compared with its listing: a schema is slow to follow."""
_KEYS: Final = {LIST_TOOLS: (CALL, "tools"), LIST_PROMPTS: (GET_PROMPT, "prompts")}


class Difference(NamedTuple):
    """Where a call differs from what was listed."""

    path: str
    message: str
    fix: str
    in_arguments: bool


class Output:
    """What a tool promises of its structured results."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._left = RESULTS

    def problems(self, content: Any) -> list[tuple[str, str]]:
        """Paths inside of what came, and what is wrong there."""
        self._left -= 1
        return problems(self._schema, content) if self._left >= 0 else []


class Listings:
    """What was listed: the schemas of arguments, and more of tools."""

    def __init__(self) -> None:
        self._schemas: dict[str, dict[str, Any]] = {CALL: {}, GET_PROMPT: {}}
        self._outputs: dict[str, Output] = {}
        self._mirrors: dict[str, dict[str, tuple[str, ...]]] = {}
        self._lines: dict[str, int] = {}
        """Where the last page of each is, once it was read."""
        self._gaps: set[str] = set()
        """Of which some page was not read: what is missing may be there."""
        self._bytes = 0

    def learn(self, answer: Answer, call: Call, result: dict[str, Any]) -> None:
        """Remember a page, if it is one."""
        if call.method not in _KEYS or not answer.entry.frame:
            return
        method, key = _KEYS[call.method]
        listed, size = result.get(key), len(memoryview(answer.entry.frame))
        if not isinstance(listed, list) or size > BYTES:
            self._gaps.add(method)
            return
        self._bytes += size
        if self._bytes > BYTES:
            self._bytes = size
            self._lines.clear()
            self._gaps.update(self._schemas)
            for kept in (*self._schemas.values(), self._outputs, self._mirrors):
                kept.clear()
        for item in listed:
            name = item.get("name") if isinstance(item, dict) else None
            if isinstance(name, str):
                if method == CALL:
                    self._tool(name, item)
                else:
                    self._schemas[method][name] = _prompt_schema(item)
        if "nextCursor" not in result and method not in self._gaps:
            self._lines[method] = answer.line

    def _tool(self, name: str, tool: dict[str, Any]) -> None:
        from ..runtime.mirrors import header_parameters

        schema, output = tool.get("inputSchema"), tool.get("outputSchema")
        self._schemas[CALL][name] = schema
        self._outputs.pop(name, None)
        if isinstance(output, dict):
            self._outputs[name] = Output(output)
        self._mirrors.pop(name, None)
        with suppress(ValueError, RecursionError):  # a tool that clients must not call
            if isinstance(schema, dict) and (found := header_parameters(schema)):
                self._mirrors[name] = found

    def output(self, tool: str | None) -> Output | None:
        """What a tool promises of its results, if that is known."""
        return self._outputs.get(tool) if tool is not None else None

    def mirrored(self, tool: str) -> dict[str, tuple[str, ...]]:
        """The headers that repeat arguments of a tool, with the way to each argument."""
        return self._mirrors.get(tool, {})

    def outdated(self) -> None:
        """The tools have changed: what they promised may hold no longer."""
        self._outputs.clear()
        self._mirrors.clear()

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
