"""An OpenAPI document → a typed tool for each operation, which calls it with httpx2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote

from ...diagnostics import CompileError, Diagnostic
from ...names import MAX_NAME, pascal_case
from ...render import docstring, pystr, pytext, pyvalue
from .operations import Api, Argument, Operation, operations
from .shapes import Inexact, Json, Member, Shape, Shapes, python_names
from .signature import parameters, struct
from .source import Source, function_names, names_in, render, says
from .types import Types, choose

HTTPX = "httpx2>=2"

_HINTS: dict[str, Json] = {
    "GET": {"readOnlyHint": True},
    "PUT": {"idempotentHint": True},
    "DELETE": {"destructiveHint": True, "idempotentHint": True},
}
_MODULE = ("api", "found", "lifespan", "models", "register")
_JOINED = {"spaceDelimited": "spaces", "pipeDelimited": "pipes", "form": "commas"}
"""Style of an array that is one text → the function of `api` that makes it so."""


def read(document: Json, shown: str, *, package: str, runtime: str) -> Source:
    """The modules for the operations of a document."""
    found = operations(document, shown)
    shapes = Shapes(lenient=True)
    read = []
    for number, operation in enumerate(found.operations):
        try:
            read.append(_Read(operation, shapes, found, f"Operation{number}Holder"))
        except Inexact as why:
            message = f"{operation.tool} is no tool: {why}"
            found.warn("operation-left-out", message, operation.pointer)
    if not read:
        empty = Diagnostic("source-empty", "there is nothing to call", shown, "/paths")
        raise CompileError([empty, *found.notes])
    models = [model for model in shapes.models.values() if model]
    types = choose({each.holder: each.shapes() for each in read}, models)
    tools = [each.operation.tool for each in read]
    names = function_names(tools, (*shapes.models, *_MODULE))
    functions = [each.function(names[each.operation.tool], types) for each in read]
    classes = [struct(model, types) for model in models]
    first = next((f for f in functions if f.is_easy), functions[0])
    context = {
        "api": found,
        "functions": functions,
        "classes": classes,
        "class_names": sorted(c.name for c in classes),
        "model_names": names_in(p.text for c in classes for p in c.fields),
        "tool_names": names_in(
            text for f in functions for text in (*f.parameters, f"_: {f.returns}")
        ),
        "tools": tools,
        "first": first,
        "is_vendored": runtime.startswith("."),
        "runtime": runtime,
        "package": package,
    }
    templates = {"tools.py": "tools_openapi.py", "api.py": "tools_api.py"}
    templates |= {"models.py": "tools_models.py"} if classes else {}
    return Source(
        "openapi",
        render(templates, context),
        render({"test_tools.py": "tools_openapi_test.py"}, context),
        (HTTPX,),
        tuple(tools),
        lifespan="lifespan",
        notes=tuple(found.notes),
    )


@dataclass(frozen=True)
class Function:
    """The tool of an operation, as text."""

    operation: Operation
    name: str
    parameters: tuple[str, ...]
    returns: str
    decoded: str
    """What the answer is read as; nothing for text."""
    doc: str
    options: tuple[str, ...]
    """Keyword arguments of `server.tool`."""
    call: tuple[str, ...]
    """Arguments of `api.call`."""
    is_easy: bool
    """Can it be called without arguments, for a test?"""


class _Read:
    """What one operation takes and gives."""

    def __init__(
        self, operation: Operation, shapes: Shapes, api: Api, holder: str
    ) -> None:
        self.operation = operation
        self.holder = holder
        self.scope = pascal_case(operation.tool)[:MAX_NAME]
        self.names = _argument_names(operation)
        self.members = [
            Member(
                name,
                name,
                argument.required,
                shapes.read(
                    argument.schema, api.root, self.scope + pascal_case(name), "/"
                ),
            )
            for name, argument in self.names.items()
        ]
        self.body: Member | None = None
        if operation.body is not None:
            shape = shapes.read(operation.body.schema, api.root, f"{self.scope}Body")
            self.body = Member("body", "body", operation.body.required, shape)
            self.members.append(self.body)
        self.result: Shape | None = None
        if operation.result is not None:
            shape = shapes.read(operation.result[0], api.root, f"{self.scope}Result")
            self.result = replace(shape, said={})  # nobody reads it at this place

    def shapes(self) -> dict[str, Shape]:
        """What needs a type, under the names in the holder."""
        found = {m.python: m.shape for m in self._indexed()}
        return found | ({"result": self.result} if self.result else {})

    def _indexed(self) -> list[Member]:
        return [
            Member(m.wire, f"p{number}", m.required, m.shape)
            for number, m in enumerate(self.members)
        ]

    def function(self, name: str, types: Types) -> Function:
        operation = self.operation
        made = parameters(self._indexed(), types, self.holder)
        texts = [
            p.text.replace(p.name, self.members[int(p.name[1:])].python, 1)
            for p in made
        ]
        returns = "str"
        if self.result is not None:
            returns = types.of(self.holder, "result", self.result).required()
        words = operation.description or operation.title
        if operation.deprecated:
            words = f"Deprecated. {words}".strip()
        meta: Json = {"tags": list(operation.tags)} if operation.tags else {}
        meta |= {"deprecated": True} if operation.deprecated else {}
        options: Json = {"name": operation.tool} if name != operation.tool else {}
        if operation.title and operation.title != words:
            options["title"] = operation.title
        doc = docstring(words, 4) if words else ""
        if doc and not says(doc, words):
            options["description"], doc = words, ""
        if operation.method in _HINTS:
            options["annotations"] = _HINTS[operation.method]
        if meta:
            options["meta"] = {"openapi": meta}
        return Function(
            operation,
            name,
            tuple(texts),
            returns,
            returns if self.result is not None else "",
            doc,
            tuple(
                f"{key}={pytext(v) if isinstance(v, str) else pyvalue(v)}"
                for key, v in options.items()
            ),
            tuple(self._call(returns)),
            not any(member.required for member in self.members),
        )

    def _call(self, returns: str) -> list[str]:
        operation = self.operation
        found = [pystr(operation.method), pystr(operation.path)]
        if self.result is not None:
            found.append(f"returns={returns}")
        for place in ("path", "query", "header", "cookie"):
            inside = [
                _sent(name, argument)
                for name, argument in self.names.items()
                if argument.place == place
            ]
            if inside:
                found.append(f"{place}={{{', '.join(inside)}}}")
        if operation.body is not None:
            media_type = operation.body.media_type
            found.append("body=body")
            if media_type != "application/json":
                found.append(f"media_type={pystr(media_type)}")
        if any(operation.security):
            found.append(f"security={pyvalue([list(s) for s in operation.security])}")
        if operation.base_url:
            found.append(f"base_url={pystr(operation.base_url)}")
        return found


def _sent(name: str, argument: Argument) -> str:
    """An argument as an item of the dict that holds those of its place."""
    key = pystr(argument.wire)
    if argument.place == "path":
        key = pystr(quote(argument.wire, safe="/:@!$&'()*+,;=~%"))
    if argument.is_json:
        return f"{key}: api.as_json({name})"
    if argument.style == "deepObject":
        return f"**api.deep({key}, {name})"
    if argument.place == "query" and not argument.explode:
        return f"{key}: api.{_JOINED[argument.style]}({name})"
    return f"{key}: {name}"


def _argument_names(operation: Operation) -> dict[str, Argument]:
    """Python name → argument; those of one name in two places say the place."""
    wires = [argument.wire for argument in operation.arguments]
    told = [
        (
            f"{argument.place}_{argument.wire}"
            if wires.count(argument.wire) > 1 or argument.wire == "body"
            else argument.wire
        )
        for argument in operation.arguments
    ]
    names = python_names(told)
    return {
        f"{names[text]}_" if names[text] in _MODULE else names[text]: argument
        for text, argument in zip(told, operation.arguments, strict=True)
    }
