"""Members of an object as parameters of a function, and as fields of a class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...render import pystr, pyvalue
from .shapes import Member, Model, Shape, kind_of
from .types import Types


@dataclass(frozen=True)
class Parameter:
    """`name: annotation = default`, as text."""

    name: str
    annotation: str
    default: str = ""

    @property
    def text(self) -> str:
        """As it stands in a signature or a class."""
        default = f" = {self.default}" if self.default else ""
        return f"{self.name}: {self.annotation}{default}"


@dataclass(frozen=True)
class Class:
    """A struct of msgspec's, as text."""

    name: str
    doc: str
    options: str
    fields: tuple[Parameter, ...]


def parameters(members: list[Member], types: Types, holder: str) -> list[Parameter]:
    """Parameters, those that must be given first."""
    made = [_parameter(member, types, holder) for member in members]
    return sorted(made, key=lambda parameter: bool(parameter.default))


def _parameter(member: Member, types: Types, holder: str) -> Parameter:
    written = types.of(holder, member.python, member.shape)
    if member.required:
        return Parameter(member.python, written.required())
    default = member.shape.said.get("default", ...)
    bare = types.of(holder, member.python, _without_default(member.shape))
    if default is ... or not fits(member.shape, default):
        return Parameter(member.python, written.optional(), "UNSET")
    if isinstance(default, list):
        # Nobody can change a tuple for all calls to come.
        values = "".join(f"{pyvalue(value)}, " for value in default)
        return Parameter(member.python, bare.frozen(), f"({values})")
    if isinstance(default, dict):
        return Parameter(member.python, bare.frozen(), pyvalue(default))
    return Parameter(member.python, bare.required(), pyvalue(default))


def struct(model: Model, types: Types) -> Class:
    """A model as a class."""
    options = ", kw_only=True" if model.members else ""
    options += ", forbid_unknown_fields=True" if model.closed else ""
    fields = tuple(_field(member, types, model.name) for member in model.members)
    return Class(model.name, model.doc, options, fields)


def _field(member: Member, types: Types, name: str) -> Parameter:
    written = types.of(name, member.python, member.shape)
    annotation, default = written.required(), ""
    if not member.required:
        value = member.shape.said.get("default", ...)
        simple = not isinstance(value, list | dict) or not value
        if value is not ... and simple and fits(member.shape, value):
            bare = types.of(name, member.python, _without_default(member.shape))
            annotation, default = bare.required(), pyvalue(value)
        else:
            annotation, default = written.optional(), "UNSET"
    if member.wire != member.python:
        told = f"default={default}, " if default else ""
        if default in ("[]", "{}"):
            told = f"default_factory={'list' if default == '[]' else 'dict'}, "
        default = f"field({told}name={pystr(member.wire)})"
    return Parameter(member.python, annotation, default)


def _without_default(shape: Shape) -> Shape:
    said = {word: value for word, value in shape.said.items() if word != "default"}
    return replace(shape, said=said)


def fits(shape: Shape, value: Any) -> bool:
    """Whether a default is one that the type accepts, and that Python can spell."""
    kind = kind_of(value)
    match shape.kind:
        case "any":
            return kind not in ("array", "object")
        case "literal":
            return any(v == value and kind_of(v) == kind for v in shape.values)
        case "union":
            scalar = kind not in ("array", "object")
            return scalar and any(fits(arm, value) for arm in shape.of)
        case "array":
            return (
                isinstance(value, list)
                and all(fits(shape.of[0], item) for item in value)
                and _within(shape, len(value))
            )
        case "map":
            return (
                isinstance(value, dict)
                and all(fits(shape.of[0], item) for item in value.values())
                and _within(shape, len(value))
            )
        case "number" | "integer":
            return kind in ("integer", shape.kind) and _within(shape, value)
        case "string":
            # A pattern is a stranger's, too, and could take for ever: it is believed.
            return isinstance(value, str) and _within(shape, len(value))
        case _:
            return kind == shape.kind


def _within(shape: Shape, size: Any) -> bool:
    limits = shape.limits
    low = limits.get("ge", limits.get("min_length", size))
    high = limits.get("le", limits.get("max_length", size))
    above, below = limits.get("gt", size - 1), limits.get("lt", size + 1)
    step = limits.get("multiple_of", 1)
    return bool(low <= size <= high and above < size < below and size % step == 0)
