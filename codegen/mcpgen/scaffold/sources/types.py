"""`Shape`s → annotations, as text: datamodel-code-generator chooses the types.

It is told the bare structure, under names made here. What it answers is read as a syntax
tree and written anew, with the limits and descriptions of the shapes: no text of the
document is code before it has gone through the filters of `render`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ... import datamodel
from ...diagnostics import CompileError, fail
from ...render import pystr, pytext, pyvalue
from .shapes import Json, Model, Shape

_META = ("title", "description", "examples")


@dataclass(frozen=True)
class Types:
    """What datamodel-code-generator makes of shapes."""

    _nodes: dict[str, dict[str, ast.expr]]

    def of(self, holder: str, name: str, shape: Shape) -> Written:
        """The type of one member of a holder, or of a model."""
        return Written(self._nodes[holder][name], shape)


@dataclass(frozen=True)
class Written:
    """A type that can be written down."""

    node: ast.expr
    shape: Shape

    def required(self, more: Json | None = None) -> str:
        """The annotation of what is always there."""
        return _annotated(self.node, self.shape, more or {})

    def frozen(self) -> str:
        """The same, of what nobody should change: the default of a parameter."""
        return _annotated(self.node, self.shape, {}, ("Sequence", "Mapping"))

    def optional(self) -> str:
        """The annotation of what may be absent."""
        return _annotated(self.node, self.shape, {}, absent=True)


def choose(holders: dict[str, dict[str, Shape]], models: Iterable[Model]) -> Types:
    """Types for the members of models and of holders, which are no classes later."""
    definitions = {
        model.name: _object({m.python: m.shape for m in model.members})
        for model in models
    } | {name: _object(members) for name, members in holders.items()}
    made = datamodel.models(definitions, "msgspec").annotations
    return Types(
        {
            holder: {
                name: ast.parse(text, mode="eval").body for name, text in found.items()
            }
            for holder, found in made.items()
        }
    )


# --- structure: what datamodel-code-generator is told -----------------------------------


def _object(members: dict[str, Shape]) -> Json:
    return {
        "type": "object",
        "properties": {name: _structure(shape) for name, shape in members.items()},
        "required": list(members),
    }


def _structure(shape: Shape) -> Json:
    match shape.kind:
        case "any":
            return {}
        case "literal":
            return {"enum": list(shape.values)}
        case "array":
            return {"type": "array", "items": _structure(shape.of[0])}
        case "map":
            return {"type": "object", "additionalProperties": _structure(shape.of[0])}
        case "model":
            return {"$ref": f"#/$defs/{shape.name}"}
        case "union":
            return {"anyOf": [_structure(arm) for arm in shape.of]}
        case scalar:
            return {"type": scalar}


# --- annotations: what it answered, in full ---------------------------------------------


def _annotated(
    node: ast.expr,
    shape: Shape,
    more: Json,
    containers: tuple[str, str] = ("list", "dict"),
    *,
    absent: bool = False,
) -> str:
    text = _bare(node, shape, containers)
    # Limits are about one type, and what is said is about all of a union.
    inside = {**shape.limits} | ({} if shape.kind == "union" else _said(shape, more))
    if inside:
        text = f"Annotated[{text}, {_meta(inside)}]"
    if absent:
        text += " | UnsetType"
    if shape.kind == "union" and (outside := _said(shape, more)):
        text = f"Annotated[{text}, {_meta(outside)}]"
    return text


def _bare(node: ast.expr, shape: Shape, containers: tuple[str, str]) -> str:
    match shape.kind, node:
        case "array", ast.Subscript(slice=inner):
            return f"{containers[0]}[{_annotated(inner, shape.of[0], {})}]"
        case "map", ast.Subscript(slice=ast.Tuple(elts=[_, inner])):
            return f"{containers[1]}[str, {_annotated(inner, shape.of[0], {})}]"
        case "union", _:
            return _union(node, shape)
        case _:
            return _plain(node)


def _union(node: ast.expr, shape: Shape) -> str:
    found = [arm for arm in _arms(node) if not _is_none(arm)]
    arms = [arm for arm in shape.of if arm.kind != "null"]
    if len(found) != len(arms):
        raise _unexpected(node)
    written = [_annotated(n, arm, {}) for n, arm in zip(found, arms, strict=True)]
    nullable = any(map(_is_none, _arms(node)))
    return " | ".join(written + ["None"] * (nullable and "None" not in written))


def _arms(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_arms(left), *_arms(right)]
        case _:
            return [node]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _plain(node: ast.expr) -> str:
    """A type as it is; there is nothing else that could be."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=str() as text):
            return pystr(text)
        case ast.Constant(value=None | int() as value):
            return repr(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{_plain(operand)}"
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{_plain(left)} | {_plain(right)}"
        case ast.Tuple(elts=elements):
            return ", ".join(map(_plain, elements))
        case ast.Subscript(value=value, slice=inner):
            return f"{_plain(value)}[{_plain(inner)}]"
        case _:
            raise _unexpected(node)


def _unexpected(node: ast.expr) -> CompileError:
    return fail(
        "internal-types",
        f"datamodel-code-generator gave no type, but a {type(node).__name__}",
        hint="please report it",
    )


def _said(shape: Shape, more: Json) -> Json:
    """What is said of a value, as keyword arguments of `Meta`."""
    said = shape.said | more
    found: Json = {}
    rest: Json = {}
    for word, value in said.items():
        kind: Any = list if word == "examples" else str
        where = found if word in _META and isinstance(value, kind) else rest
        where[word] = value
    if rest:
        found["extra_json_schema"] = rest
    return found


def _meta(arguments: Json) -> str:
    written = (
        f"{name}={pytext(value) if isinstance(value, str) else pyvalue(value)}"
        for name, value in arguments.items()
    )
    return f"Meta({', '.join(written)})"
