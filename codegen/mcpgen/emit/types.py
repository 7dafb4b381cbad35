"""`types.py`, msgspec flavour: the text of every class and alias.

What stands for which type is decided in `drawers`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jinja2

from ..ir import (
    Array,
    Boolean,
    Definition,
    Field,
    Literals,
    Map,
    Never,
    Null,
    Number,
    Object,
    Protocol,
    Ref,
    String,
    Type,
    Union,
    refs,
)
from ..render import pystr
from .drawers import Drawers, has_default, has_plain_bounds, is_constant, literal_kind
from .imports import Imports
from .reading import camel, described, reading_order

_IMPORTED = {
    "typing": ("TYPE_CHECKING", "Annotated", "Any", "Literal", "TypeAlias"),
    "msgspec": ("UNSET", "Meta", "Struct", "UnsetType", "field"),
    ".._codec": ("Codec", "Extra"),
}


def emit(protocol: Protocol, env: jinja2.Environment) -> dict[str, str]:
    """The module with every class and alias."""
    drawers = Drawers(protocol)
    module = _Module(protocol, drawers)
    structs, aliases = module.structs(), module.aliases()
    names = drawers.definitions
    context = {
        "protocol": protocol,
        "structs": structs,
        "aliases": aliases,
        "inexact": sorted(n for n in names if not drawers.is_exact_alone(n)),
        "use": module.use,
        "tagged": bool(drawers.tags),
        "chooses": "AnyOf" in module.used,
        "imports": module.imports(structs, aliases),
        "exported": sorted([*names, "convert", "decode", "encode"]),
    }
    return {"types.py": env.get_template("types/types.py.jinja").render(context)}


def struct_names(protocol: Protocol) -> frozenset[str]:
    """The definitions that are classes; the others are aliases."""
    drawers = Drawers(protocol)
    return frozenset(name for name in drawers.definitions if drawers.is_struct(name))


@dataclass(frozen=True)
class _Line:
    """A field of a struct, ready to print."""

    python_name: str
    annotation: str
    default: str
    doc: str


@dataclass(frozen=True)
class _Struct:
    name: str
    doc: str
    options: str
    lines: tuple[_Line, ...]
    fixes: tuple[str, ...]
    """Statements of `__post_init__`."""


@dataclass(frozen=True)
class _Alias:
    name: str
    annotation: str
    doc: str
    recursive: bool


class _Module(Imports):
    """Collects what the module says, and what it must import for that."""

    def __init__(self, protocol: Protocol, drawers: Drawers) -> None:
        super().__init__(_IMPORTED, drawers.definitions)
        self.protocol = protocol
        self.drawers = drawers

    def imports(
        self, structs: list[_Struct], aliases: list[_Alias]
    ) -> list[tuple[str, str]]:
        """(module, what is imported from it): only what is used."""
        self.use("Codec")
        self.used |= {"Struct"} if structs else set()
        self.used |= {"TypeAlias"} if aliases else set()
        if any(alias.recursive for alias in aliases):
            self.used |= {"TYPE_CHECKING", "Any"}
        if "AnyOf" in self.used:
            self.use("TYPE_CHECKING")
        return self.imported()

    # --- annotations ----------------------------------------------------------------

    def annotation(self, type: Type) -> str:
        match type:
            case Null():
                return "None"
            case Boolean():
                return "bool"
            case String():
                return self._annotated("str", _string_bounds(type))
            case Number():
                return self._number(type)
            case Literals(values=values):
                if any(literal_kind(value) == "odd" for value in values):
                    return self.use("Any")
                inner = ", ".join(_python(json.loads(value)) for value in values)
                return f"{self.use('Literal')}[{inner}]"
            case Array():
                bounds = _lengths(type.min_items, type.max_items)
                return self._annotated(f"list[{self.annotation(type.items)}]", bounds)
            case Map():
                bounds = _lengths(type.min_properties, type.max_properties)
                item = self.annotation(type.values)
                return self._annotated(f"dict[str, {item}]", bounds)
            case Ref():
                return type.name
            case Union():
                arms = list(dict.fromkeys(self.annotation(arm) for arm in type.arms))
                if self.drawers.is_native(type):
                    return " | ".join(arms)
                return f"{self.use('AnyOf')}[{', '.join(arms)}]"
            case _:
                return self.use("Any")

    def _annotated(self, base: str, bounds: list[str]) -> str:
        if not bounds:
            return base
        return (
            f"{self.use('Annotated')}[{base}, {self.use('Meta')}({', '.join(bounds)})]"
        )

    def _number(self, type: Number) -> str:
        if not has_plain_bounds(type):
            return "int" if type.integer else "int | float"
        bounds = _number_bounds(type)
        whole = self._annotated("int", bounds)
        return (
            whole if type.integer else f"{whole} | {self._annotated('float', bounds)}"
        )

    # --- output -----------------------------------------------------------------------

    def structs(self) -> list[_Struct]:
        return [self._struct(n) for n in self.definitions if self.drawers.is_struct(n)]

    def _struct(self, name: str) -> _Struct:
        definition = self.definitions[name]
        type = definition.type
        assert isinstance(type, Object)
        tag = self.drawers.tags.get(name)
        options = ["kw_only=True"]
        if any(f.wire_name != f.python_name for f in type.fields):
            options.append('rename="camel"')
        if tag:
            options += [
                f"tag_field={_python(tag)}",
                f"tag={self._tag_value(name, tag)}",
            ]
        if type.is_open or type.additional == Never():
            options.append("forbid_unknown_fields=True")
        fields = sorted(type.fields, key=reading_order)
        lines = [self._line(f, f.wire_name == tag) for f in fields]
        fixes = [fix for f in fields if (fix := self._statement(f))]
        if type.is_open:
            lines.append(self._extra(type))
            unset = self.use("UNSET")
            extra = self.use("Extra")
            fixes.append(
                f"if self.extra is not {unset}: self.extra = {extra}(self.extra)"
            )
        return _Struct(
            name,
            described(definition, self.protocol),
            ", ".join(options),
            tuple(lines),
            tuple(fixes),
        )

    def _tag_value(self, name: str, tag: str) -> str:
        return _python(json.loads(self.drawers.constants(name)[tag]))

    def _line(self, f: Field, is_tag: bool) -> _Line:
        annotation = self.annotation(f.type)
        rename = (
            ""
            if camel(f.python_name) == f.wire_name
            else f"name={_python(f.wire_name)}"
        )
        default = ""
        if f.required and is_constant(f.type) and annotation != self.spelled("Any"):
            default = _python(json.loads(f.type.values[0]))
            if is_tag:
                return _Line(
                    f.python_name, f"typing.ClassVar[{annotation}]", default, f.doc
                )
        elif f.required and has_default(f):
            default = _python(json.loads(f.default or "null"))
        elif not f.required:
            default = self.use("UNSET")
            if annotation != self.spelled("Any"):
                annotation = f"{annotation} | {self.use('UnsetType')}"
        if rename:
            arguments = f"default={default}, {rename}" if default else rename
            default = f"{self.use('field')}({arguments})"
        return _Line(f.python_name, annotation, default, f.doc)

    def _extra(self, type: Object) -> _Line:
        return _Line(
            "extra",
            f"{self.use('Extra')} | {self.use('UnsetType')}",
            f"{self.use('field')}(default={self.use('UNSET')}, name=\"\")",
            "Keys that the schema does not name; kept, and sent again.",
        )

    def _statement(self, f: Field) -> str | None:
        target = f"self.{f.python_name}"
        fix = self.drawers.fix(f.type, target)
        if fix is None:
            return None
        statement = f"{target} = {fix}"
        if fix.startswith("codec.check("):
            statement = fix  # checks, changes nothing
        unset = self.use("UNSET")
        return statement if f.required else f"if {target} is not {unset}: {statement}"

    def aliases(self) -> list[_Alias]:
        """In an order in which each can be evaluated; recursive ones are told apart."""
        done: dict[str, _Alias] = {}
        for name in self.definitions:
            if not self.drawers.is_struct(name):
                self._alias(name, done, ())
        # Recursive ones are plain Any at run time, and others may be made of them.
        return sorted(done.values(), key=lambda alias: not alias.recursive)

    def _alias(self, name: str, done: dict[str, _Alias], path: tuple[str, ...]) -> None:
        if name in done:
            return
        definition = self.definitions[name]
        if self.drawers.is_record(name):
            annotation = f"dict[str, {self.use('Any')}]"
            doc = _record_doc(definition)
            done[name] = _Alias(name, annotation, doc, recursive=False)
            return
        recursive = name in set(self._reachable(definition.type, frozenset()))
        for other in refs(definition.type):
            if not self.drawers.is_struct(other) and other not in (*path, name):
                self._alias(other, done, (*path, name))
        annotation = self.annotation(definition.type)
        done[name] = _Alias(name, annotation, definition.doc, recursive)

    def _reachable(self, type: Type, seen: frozenset[str]) -> Iterator[str]:
        """Aliases that this type is made of, at any depth."""
        for name in refs(type):
            if not self.drawers.is_struct(name) and not self.drawers.is_record(name):
                yield name
                # What is any value at run time does not make its users recursive.
                if name not in seen and not self.drawers.is_any(Ref(name)):
                    target = self.definitions[name].type
                    yield from self._reachable(target, seen | {name})


# --- small questions ----------------------------------------------------------------


def _python(value: Any) -> str:
    """A JSON scalar as Python source, whatever is in it."""
    return pystr(value) if isinstance(value, str) else repr(value)


def _record_doc(definition: Definition) -> str:
    assert isinstance(definition.type, Object)
    keys = ", ".join(f"`{f.wire_name}`" for f in definition.type.fields)
    note = f"A dict; its known keys are checked: {keys}." if keys else "A dict."
    return f"{definition.doc}\n\n{note}".strip()


def _number_bounds(type: Number) -> list[str]:
    names = {
        "ge": type.minimum,
        "gt": type.exclusive_minimum,
        "le": type.maximum,
        "lt": type.exclusive_maximum,
    }
    return [
        f"{name}={int(v) if v == int(v) else v}"
        for name, v in names.items()
        if v is not None
    ]


def _string_bounds(type: String) -> list[str]:
    bounds = _lengths(type.min_length, type.max_length)
    return bounds + ([f"pattern={_python(type.pattern)}"] if type.pattern else [])


def _lengths(least: int | None, most: int | None) -> list[str]:
    names = {"min_length": least, "max_length": most}
    return [f"{name}={value}" for name, value in names.items() if value is not None]
