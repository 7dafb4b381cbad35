"""A `tools/list` document → typed stubs, which list what the document lists.

A tool whose schemas a signature says exactly gets that signature. Any other keeps its
schemas as they are, and gets its arguments in a dict: nothing is lost either way.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...diagnostics import CompileError, Diagnostic, clip, fail
from ...names import MAX_NAME, pascal_case
from ...render import docstring, pytext, pyvalue
from .shapes import Inexact, Json, Member, Shape, Shapes
from .signature import Parameter, parameters, struct
from .source import JSONSCHEMA, Source, function_names, names_in, render, says
from .types import Types, choose
from .wellformed import malformed

MAX_SCHEMA_DEPTH = 60
"""A server takes no hand-written schema that is deeper than a little more than this."""

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_ROOT = {"title", "$schema", "$defs", "definitions"}
"""Words at the root of an input schema that a signature has no place for, or its own."""
_MODULE = ("register", "json", "models", "schemas")


def listed(value: Any) -> tuple[list[Any], str, bool] | None:
    """The tools of a document, their pointer, and whether it is only one page."""
    if isinstance(value, list):
        return value, "", False
    pointer = ""
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value, pointer = value["result"], "/result"
    if isinstance(value, dict) and isinstance(value.get("tools"), list):
        return value["tools"], f"{pointer}/tools", bool(value.get("nextCursor"))
    return None


def read(
    tools: list[Any],
    pointer: str,
    is_page: bool,
    shown: str,
    *,
    package: str,
    runtime: str,
) -> Source:
    """The modules for the tools of a document."""
    checked = _check(tools, pointer, shown)
    shapes = Shapes()
    read = [_Read(tool, shapes) for tool in checked]
    models = [model for model in shapes.models.values() if model]
    types = choose({each.holder: each.shapes() for each in read}, models)
    names = function_names([t.name for t in checked], (*shapes.models, *_MODULE))
    _check_names(names, shown, pointer)
    functions = [each.function(names[each.tool.name], types) for each in read]
    classes = [struct(model, types) for model in models]
    schemas = [schema for function in functions for schema in function.schemas]
    context = {
        "functions": functions,
        "schemas": schemas,
        "classes": classes,
        "class_names": sorted(c.name for c in classes),
        "model_names": names_in(p.text for c in classes for p in c.fields),
        "tool_names": names_in(
            text for f in functions for text in (*f.parameters, f"_: {f.returns}")
        ),
        "tools": [tool.name for tool in checked],
        "is_vendored": runtime.startswith("."),
        "runtime": runtime,
        "package": package,
    }
    templates = {"tools.py": "tools_stubs.py"}
    templates |= {"models.py": "tools_models.py"} if classes else {}
    templates |= {"schemas.py": "tools_schemas.py"} if schemas else {}
    return Source(
        "tools",
        render(templates, context),
        render({"test_tools.py": "tools_stubs_test.py"}, context),
        (JSONSCHEMA,) if schemas else (),
        tuple(tool.name for tool in checked),
        notes=tuple(_notes(functions, is_page, shown, pointer)),
    )


def _notes(
    functions: list[Function], is_page: bool, shown: str, pointer: str
) -> Iterator[Diagnostic]:
    if is_page:
        yield Diagnostic(
            "source-page",
            "there are more tools: the document is one page of a list",
            shown,
            pointer,
            "name the server instead of a document, and all pages are read",
            "warning",
        )
    for function in functions:
        for place, why in function.inexact:
            yield Diagnostic(
                "source-inexact",
                f'"{clip(function.tool.name, 40)}" keeps its schema: {why}',
                shown,
                f"{function.tool.pointer}{place}",
                severity="note",
            )


# --- checking ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Tool:
    """A tool as the document lists it, well formed."""

    name: str
    pointer: str
    input_schema: Json
    output_schema: Json | None
    description: str
    listed: Json
    """What else is said of it, as keyword arguments of `server.tool`."""


def _check(tools: list[Any], pointer: str, shown: str) -> list[Tool]:
    found: list[Diagnostic] = []
    made: dict[str, Tool] = {}
    for number, tool in enumerate(tools):
        place = f"{pointer}/{number}"
        problems = list(_problems(tool))
        if not problems and tool["name"] in made:
            problems = [
                ("/name", f'a second tool is called "{clip(tool["name"], 60)}"')
            ]
        found += [
            Diagnostic("source-tool", message, shown, place + inner)
            for inner, message in problems
        ]
        if not problems:
            made[tool["name"]] = _tool(tool, place)
    if not tools:
        found = [Diagnostic("source-empty", "there are no tools in it", shown, pointer)]
    if found:
        raise CompileError(found)
    return list(made.values())


def _problems(tool: Any) -> Iterator[tuple[str, str]]:
    """What keeps a tool from being listed by a server."""
    if not isinstance(tool, dict):
        yield "", "a tool is an object"
        return
    if not isinstance(tool.get("name"), str) or not tool["name"]:
        yield "/name", "a tool needs a name"
    for key in ("title", "description"):
        if not isinstance(tool.get(key) or "", str):
            yield f"/{key}", "no text"
    for key in ("annotations", "_meta", "outputSchema"):
        if not isinstance(tool.get(key) or {}, dict):
            yield f"/{key}", "no object"
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield "/inputSchema", 'an object with "type": "object" is needed'
    hints = tool.get("annotations") or {}
    if isinstance(hints, dict):
        for key in _HINTS:
            if not isinstance(hints.get(key, False), bool):
                yield f"/annotations/{key}", "neither true nor false"
        if not isinstance(hints.get("title", ""), str):
            yield "/annotations/title", "no text"
    icons = tool.get("icons") or []
    if not isinstance(icons, list) or not all(map(_is_icon, icons)):
        yield "/icons", "no list of icons"
    for key in ("inputSchema", "outputSchema"):
        if _depth(tool.get(key)) > MAX_SCHEMA_DEPTH:
            yield f"/{key}", f"more than {MAX_SCHEMA_DEPTH} levels deep"
        elif isinstance(tool.get(key), dict):
            yield from malformed(tool[key], f"/{key}")


def _is_icon(icon: Any) -> bool:
    return (
        isinstance(icon, dict)
        and isinstance(icon.get("src"), str)
        and isinstance(icon.get("mimeType", ""), str)
        and icon.get("theme", "light") in ("light", "dark")
        and isinstance(icon.get("sizes", []), list)
        and all(isinstance(size, str) for size in icon.get("sizes", []))
    )


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(_depth, inner), default=0)


def _tool(tool: Json, pointer: str) -> Tool:
    options = {
        "title": tool.get("title"),
        "annotations": tool.get("annotations"),
        "icons": tool.get("icons"),
        "meta": tool.get("_meta"),
    }
    return Tool(
        tool["name"],
        pointer,
        tool["inputSchema"],
        tool.get("outputSchema"),
        tool.get("description") or "",
        {key: value for key, value in options.items() if value},
    )


def _check_names(names: dict[str, str], shown: str, pointer: str) -> None:
    taken: dict[str, str] = {}
    for tool, name in names.items():
        # Constants are in upper case, and no two may differ in case alone.
        if len(name) > MAX_NAME:
            message = f'"{clip(tool, 40)}" is too long a name'
        elif name.upper() in taken:
            message = f'"{clip(tool, 40)}" and "{clip(taken[name.upper()], 40)}" would both be called {name}'
        else:
            taken[name.upper()] = tool
            continue
        raise fail("name-collision", message, file=shown, pointer=pointer)


# --- from tools to functions ------------------------------------------------------------


@dataclass(frozen=True)
class Function:
    """The stub of a tool, as text."""

    tool: Tool
    name: str
    parameters: tuple[str, ...]
    returns: str
    doc: str
    options: tuple[str, ...]
    """Keyword arguments of `server.tool`."""
    schemas: tuple[tuple[str, Json], ...] = ()
    inexact: tuple[tuple[str, str], ...] = ()


class _Read:
    """What the schemas of one tool say."""

    def __init__(self, tool: Tool, shapes: Shapes) -> None:
        self.tool = tool
        self.holder = f"Tool{tool.pointer.rpartition('/')[2]}Holder"
        self.members: list[Member] | None = None
        self.closed = False
        self.result: Shape | None = None
        self.inexact: list[tuple[str, str]] = []
        scope = pascal_case(tool.name)
        try:
            schema = tool.input_schema
            beyond = set(schema) - _ROOT - {"type", "properties", "required"}
            if beyond := beyond - {"additionalProperties"}:
                raise Inexact(f"/{min(beyond)}", "says more than a signature can")
            members, closed = shapes.members(schema, schema, scope)
            for member in members:
                if not _is_parameter(member.wire):
                    raise Inexact("/properties", "a key that is no name in Python")
            self.members = [
                Member(m.wire, m.wire, m.required, m.shape) for m in members
            ]
            self.closed = closed
        except Inexact as found:
            self.inexact.append((f"/inputSchema{found.pointer}", str(found)))
        if tool.output_schema is not None:
            schema = {k: v for k, v in tool.output_schema.items() if k != "$schema"}
            try:
                shape = shapes.read(schema, tool.output_schema, f"{scope}Result")
                if shape.kind not in ("model", "map"):
                    raise Inexact("", "no object")
                self.result = shape
            except Inexact as found:
                self.inexact.append((f"/outputSchema{found.pointer}", str(found)))

    def shapes(self) -> dict[str, Shape]:
        """What needs a type, under the names in the holder."""
        found = {m.python: m.shape for m in self._indexed()}
        return found | ({"result": self.result} if self.result else {})

    def _indexed(self) -> list[Member]:
        # Not under their own names: those might be reserved there.
        return [
            Member(m.wire, f"p{number}", m.required, m.shape)
            for number, m in enumerate(self.members or [])
        ]

    def function(self, name: str, types: Types) -> Function:
        tool = self.tool
        options: Json = {}
        references: dict[str, str] = {}
        schemas: list[tuple[str, Json]] = []
        if name != tool.name:
            options["name"] = tool.name
        doc = docstring(tool.description, 4) if tool.description else ""
        if doc and not says(doc, tool.description):
            options["description"], doc = tool.description, ""
        options |= tool.listed
        if self.members is None:
            constant = f"{name.strip('_').upper()}_INPUT"
            references["input_schema"] = constant
            schemas.append((constant, tool.input_schema))
            made = [_whole(tool.input_schema)]
        else:
            indexed = parameters(self._indexed(), types, self.holder)
            made = [_named(p, self.members) for p in indexed]
            if not self.closed:
                made.append(Parameter(f"**{_free('others', tool)}", "Any"))
        returns = "str"
        if self.result is not None:
            returns = types.of(self.holder, "result", self.result).required()
        elif tool.output_schema is not None:
            constant = f"{name.strip('_').upper()}_OUTPUT"
            references["output_schema"] = constant
            schemas.append((constant, tool.output_schema))
            is_object = tool.output_schema.get("type") == "object"
            returns = "dict[str, Any]" if is_object else "Any"
        return Function(
            tool,
            name,
            tuple(p.text for p in made),
            returns,
            doc,
            (
                *(f"{key}={_value(value)}" for key, value in options.items()),
                *(f"{key}={constant}" for key, constant in references.items()),
            ),
            tuple(schemas),
            tuple(self.inexact),
        )


def _is_parameter(wire: str) -> bool:
    return (
        wire.isascii()
        and wire.isidentifier()
        and not keyword.iskeyword(wire)
        and not wire.startswith("__")
        and len(wire) <= MAX_NAME
    )


def _named(parameter: Parameter, members: list[Member]) -> Parameter:
    wire = members[int(parameter.name[1:])].wire
    return Parameter(wire, parameter.annotation, parameter.default)


def _value(value: Any) -> str:
    return pytext(value) if isinstance(value, str) else pyvalue(value)


def _whole(schema: Json) -> Parameter:
    """The one parameter that gets all arguments: no argument is called so."""
    name = "arguments"
    while name in (schema.get("properties") or {}):
        name += "_"
    return Parameter(name, "dict[str, Any]")


def _free(name: str, tool: Tool) -> str:
    while name in (tool.input_schema.get("properties") or {}):
        name += "_"
    return name
