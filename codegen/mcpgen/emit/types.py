"""`types.py`, msgspec flavour: which Python type stands for which IR type, and why.

Most types are native to msgspec. What it cannot express is put into one of three
drawers, and `decode` stays exact in each:

* *records*: inline open objects are plain dicts; `__post_init__` checks known keys.
* *choices*: unions of objects without a common tag; `__post_init__` picks the arm.
* *inexact* definitions (rare keywords, constants nested below the top): the codec
  validates them with `validators.py` before it builds them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import jinja2

from ..ir import (
    AnyType,
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
)
from ..render import pystr

_IMPORTED = {
    "typing": ("TYPE_CHECKING", "Annotated", "Any", "Literal", "TypeAlias"),
    "msgspec": ("UNSET", "Meta", "Struct", "UnsetType", "field"),
    ".._codec": ("Codec", "Extra"),
}
_INT64 = 2**63


def emit(protocol: Protocol, env: jinja2.Environment) -> dict[str, str]:
    plan = _Plan(protocol)
    structs, aliases = plan.structs(), plan.aliases()
    context = {
        "protocol": protocol,
        "structs": structs,
        "aliases": aliases,
        "inexact": sorted(n for n in plan.definitions if not plan.is_exact_alone(n)),
        "use": plan.use,
        "chooses": "OneOf" in plan.used,
        "imports": plan.imports(structs, aliases),
        "exported": sorted([*plan.definitions, "convert", "decode", "encode"]),
    }
    return {"types.py": env.get_template("types/types.py.jinja").render(context)}


def struct_names(protocol: Protocol) -> frozenset[str]:
    """The definitions that are classes; the others are aliases."""
    plan = _Plan(protocol)
    return frozenset(name for name in plan.definitions if plan.is_struct(name))


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


@dataclass
class _Plan:
    protocol: Protocol
    definitions: dict[str, Definition] = field(init=False)
    tags: dict[str, str] = field(default_factory=dict)
    """Struct → the wire key that msgspec uses as its tag."""
    used: set[str] = field(default_factory=set)
    """What must be imported."""

    def __post_init__(self) -> None:
        self.definitions = {d.name: d for d in self.protocol.definitions}
        self.params = {m.params for m in self.protocol.methods}
        self._exact: dict[str, bool] = {}
        self._assign_tags()

    def use(self, name: str) -> str:
        """An imported name, to be imported."""
        self.used.add(name)
        return self.spelled(name)

    def spelled(self, name: str) -> str:
        """An imported name as the module spells it: a definition may have taken it."""
        return f"_{name}" if name in self.definitions else name

    def imports(
        self, structs: list[_Struct], aliases: list[_Alias]
    ) -> list[tuple[str, str]]:
        """(module, what is imported from it): only what is used."""
        self.use("Codec")
        self.used |= {"Struct"} if structs else set()
        self.used |= {"TypeAlias"} if aliases else set()
        if any(alias.recursive for alias in aliases):
            self.used |= {"TYPE_CHECKING", "Any"}
        if "OneOf" in self.used:
            self.use("TYPE_CHECKING")
        found = []
        for module, names in _IMPORTED.items():
            spelled = [
                name if (local := self.spelled(name)) == name else f"{name} as {local}"
                for name in names
                if name in self.used
            ]
            if spelled:
                found.append((module, ", ".join(spelled)))
        return found

    # --- which drawer ---------------------------------------------------------------

    def is_record(self, name: str) -> bool:
        """A dict at run time: an open object without a name of its own.

        So is what cannot be a struct: without fields, or with keys that msgspec
        would have to escape.
        """
        definition = self.definitions[name]
        if not isinstance(definition.type, Object):
            return False
        fields = definition.type.fields
        if not fields or any(_needs_escape(f.wire_name) for f in fields):
            return True
        inline_open = definition.inline and definition.type.is_open
        return inline_open and name not in self.params

    def is_struct(self, name: str) -> bool:
        return isinstance(self.definitions[name].type, Object) and not self.is_record(
            name
        )

    def _leaves(self, union: Union, seen: tuple[str, ...] = ()) -> Iterator[Type]:
        """The arms of a union, aliases and unions within it looked through."""
        for arm in union.arms:
            yield from self._leaf(arm, seen)

    def _leaf(self, arm: Type, seen: tuple[str, ...]) -> Iterator[Type]:
        if isinstance(arm, Union):
            yield from self._leaves(arm, seen)
        elif isinstance(arm, Ref) and arm.name not in seen:
            target = self.definitions[arm.name].type
            if isinstance(target, Object):
                yield arm
            else:
                yield from self._leaf(target, (*seen, arm.name))
        else:
            yield arm

    def choice(self, union: Union) -> tuple[str, ...] | None:
        """The arms among which Python must pick; None when msgspec tells them apart."""
        objects = self._objects(union)
        if len(objects) < 2 or self._tag(objects):
            return None
        only = len(objects) == len(set(self._leaves(union)))
        return tuple(objects) if only and all(map(self.is_struct, objects)) else None

    def is_native(self, union: Union) -> bool:
        """msgspec takes at most one arm of each JSON kind, or objects with tags."""
        kinds = [self._kind(leaf) for leaf in self._leaves(union)]
        objects = self._objects(union)
        others = [k for k in kinds if k != "object"]
        if "odd" in kinds or len(set(others)) < len(others):
            return False
        return kinds.count("object") < 2 or (
            len(objects) == kinds.count("object") and bool(self._tag(objects))
        )

    def _objects(self, union: Union) -> list[str]:
        leaves = dict.fromkeys(self._leaves(union))
        return [leaf.name for leaf in leaves if isinstance(leaf, Ref)]

    def _kind(self, type: Type) -> str:
        match type:
            case Null():
                return "null"
            case Boolean():
                return "boolean"
            case String():
                return "string"
            case Number():
                return "number"
            case Literals(values=values):
                kinds = {_literal_kind(value) for value in values}
                return kinds.pop() if len(kinds) == 1 else "odd"
            case Array():
                return "array"
            case Map() | Ref():
                return "object"
            case _:
                return "odd"

    # --- tags -----------------------------------------------------------------------

    def _assign_tags(self) -> None:
        """Find a tag for every union of objects; the largest unions choose first."""
        unions = []
        for definition in self.protocol.definitions:
            unions += [tuple(self._objects(u)) for u in _unions(definition.type)]
        for objects in sorted(set(unions), key=lambda o: (-len(o), o)):
            if len(objects) > 1 and all(map(self.is_struct, objects)):
                for key in self._discriminators(list(objects)):
                    if all(self.tags.get(name, key) == key for name in objects):
                        self.tags.update(dict.fromkeys(objects, key))
                        break

    def _discriminators(self, objects: list[str]) -> list[str]:
        """Keys that every arm requires with a string constant of its own."""
        tables = [self._constants(name) for name in objects]
        return [
            key
            for key in sorted(set.intersection(*map(set, tables)))
            if len({table[key] for table in tables}) == len(tables)
        ]

    def _constants(self, name: str) -> dict[str, str]:
        return {
            f.wire_name: f.type.values[0]
            for f in self._fields(name)
            if f.required and _is_constant(f.type) and f.type.values[0][0] == '"'
        }

    def _tag(self, objects: list[str]) -> str | None:
        """The tag that all these structs share, if it tells them apart."""
        if len(objects) < 2 or not all(map(self.is_struct, objects)):
            return None
        keys = {self.tags.get(name) for name in objects}
        key = keys.pop() if len(keys) == 1 else None
        return key if key and key in self._discriminators(objects) else None

    def _fields(self, name: str) -> tuple[Field, ...]:
        type = self.definitions[name].type
        assert isinstance(type, Object)
        return type.fields

    # --- exactness ------------------------------------------------------------------

    def is_exact_alone(self, name: str) -> bool:
        """Does decoding this definition by itself need no validator first?

        Constants and defaults of its own are no obstacle: the codec sees to those.
        """
        if self.is_struct(name):
            return self._is_struct_exact(name)
        type = self.definitions[name].type
        return not self._fix(type, "value") and self._is_exact(type, (name,))

    def _is_struct_exact(self, name: str) -> bool:
        if name not in self._exact:
            self._exact[name] = True  # recursion: innocent until shown otherwise
            type = self.definitions[name].type
            assert isinstance(type, Object)
            plain = not (type.also or type.names) and type.min_properties is None
            self._exact[name] = (
                plain
                and type.max_properties is None
                and all(self._is_exact(f.type, ()) for f in type.fields)
            )
        return self._exact[name]

    def _filled(self, name: str) -> set[str]:
        """Required keys that a constructor fills in: msgspec would not miss them."""
        return {
            f.wire_name
            for f in self._fields(name)
            if f.required and (_is_constant(f.type) or _usable_default(f))
        }

    def _is_exact(self, type: Type, seen: tuple[str, ...]) -> bool:
        match type:
            case AnyType() | Null() | Boolean() | String():
                return True
            case Number():
                return type.multiple_of is None and all(
                    map(_is_bound, _bounds(type, False))
                )
            case Literals(values=values):
                return all(_literal_kind(value) != "odd" for value in values)
            case Array():
                return not type.unique and self._is_exact(type.items, seen)
            case Map():
                return self._is_exact(type.values, seen)
            case Ref(name=name):
                if self.is_record(name):
                    return True  # checked in __post_init__
                if self.is_struct(name):
                    return not self._filled(name) and self._is_struct_exact(name)
                if name in seen:
                    return self.is_any(type)
                return self._is_exact(self.definitions[name].type, (*seen, name))
            case Union():
                return self.is_any(type) or self._is_union_exact(type, seen)
            case _:
                return False

    def _is_union_exact(self, union: Union, seen: tuple[str, ...]) -> bool:
        leaves = list(self._leaves(union))
        objects = self._objects(union)
        if self.choice(union):
            return True  # picked, and checked, in Python
        if not self.is_native(union) or any(self._fix(leaf, "x") for leaf in leaves):
            return False
        tag = self._tag(objects)
        for leaf in leaves:
            if isinstance(leaf, Ref):
                if not self._is_struct_exact(leaf.name) or self._filled(leaf.name) - {
                    tag
                }:
                    return False
            elif not self._is_exact(leaf, seen):
                return False
        return True

    def is_any(self, type: Type, assumed: frozenset[str] = frozenset()) -> bool:
        """Is it a long way to say "any JSON value"? (`JSONValue` is.)"""
        match type:
            case AnyType():
                return True
            case Ref(name=name):
                target = self.definitions[name].type
                return name in assumed or self.is_any(target, assumed | {name})
            case Union(exclusive=False):
                leaves = list(type.arms)
                for arm in type.arms:
                    if isinstance(arm, Ref):
                        leaves.append(self.definitions[arm.name].type)
                scalars = {Null(), Boolean(), Number(), String()} <= set(leaves)
                arrays = any(
                    isinstance(leaf, Array)
                    and leaf == Array(leaf.items)
                    and self.is_any(leaf.items, assumed)
                    for leaf in leaves
                )
                maps = any(
                    isinstance(leaf, Map)
                    and leaf == Map(leaf.values)
                    and self.is_any(leaf.values, assumed)
                    for leaf in leaves
                )
                return scalars and arrays and maps
            case _:
                return False

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
                if any(_literal_kind(value) == "odd" for value in values):
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
                if self.is_native(type):
                    return " | ".join(arms)
                return f"{self.use('OneOf')}[{', '.join(arms)}]"
            case _:
                return self.use("Any")

    def _annotated(self, base: str, bounds: list[str]) -> str:
        if not bounds:
            return base
        return (
            f"{self.use('Annotated')}[{base}, {self.use('Meta')}({', '.join(bounds)})]"
        )

    def _number(self, type: Number) -> str:
        if not all(map(_is_bound, _bounds(type, True))):
            return "int" if type.integer else "int | float"
        bounds = _number_bounds(type)
        whole = self._annotated("int", bounds)
        return (
            whole if type.integer else f"{whole} | {self._annotated('float', bounds)}"
        )

    # --- what Python must do after msgspec --------------------------------------------

    def _fix(self, type: Type, value: str, depth: int = 0) -> str | None:
        """An expression that checks or re-types `value`; None when it is fine as is."""
        match type:
            case Ref(name=name) if self.is_record(name):
                return f'codec.check({value}, "{name}")'
            case Ref(name=name) if not self.is_struct(name) and depth < 8:
                return self._fix(self.definitions[name].type, value, depth + 1)
            case Union():
                arms = self.choice(type)
                if arms is None:
                    return None
                return f"codec.pick({value}, {', '.join(arms)})"
            case Array():
                inner = self._fix(type.items, "item", depth + 1)
                return inner and f"[{inner} for item in {value}]"
            case Map():
                inner = self._fix(type.values, "item", depth + 1)
                return inner and f"{{key: {inner} for key, item in {value}.items()}}"
            case _:
                return None

    # --- output -----------------------------------------------------------------------

    def structs(self) -> list[_Struct]:
        return [self._struct(n) for n in self.definitions if self.is_struct(n)]

    def _struct(self, name: str) -> _Struct:
        definition = self.definitions[name]
        type = definition.type
        assert isinstance(type, Object)
        tag = self.tags.get(name)
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
        fields = sorted(type.fields, key=_reading_order)
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
            name, definition.doc, ", ".join(options), tuple(lines), tuple(fixes)
        )

    def _tag_value(self, name: str, tag: str) -> str:
        return _python(json.loads(self._constants(name)[tag]))

    def _line(self, f: Field, is_tag: bool) -> _Line:
        annotation = self.annotation(f.type)
        rename = (
            ""
            if _camel(f.python_name) == f.wire_name
            else f"name={_python(f.wire_name)}"
        )
        default = ""
        if f.required and _is_constant(f.type) and annotation != self.spelled("Any"):
            default = _python(json.loads(f.type.values[0]))
            if is_tag:
                return _Line(
                    f.python_name, f"typing.ClassVar[{annotation}]", default, f.doc
                )
        elif f.required and (usable := _usable_default(f)):
            default = usable
        elif not f.required:
            default = self.use("UNSET")
            if annotation != self.spelled("Any"):
                annotation = f"{annotation} | {self.use('UnsetType')}"
        if rename:
            arguments = f"default={default}, {rename}" if default else rename
            default = f"{self.use('field')}({arguments})"
        return _Line(f.python_name, annotation, default, f.doc)

    def _extra(self, type: Object) -> _Line:
        # Keys that never come from the wire: no schema has the empty one, but who knows.
        key = "" if all(f.wire_name for f in type.fields) else "\0"
        return _Line(
            "extra",
            f"{self.use('Extra')} | {self.use('UnsetType')}",
            f"{self.use('field')}(default={self.use('UNSET')}, name={_python(key)})",
            "Keys that the schema does not name; kept, and sent again.",
        )

    def _statement(self, f: Field) -> str | None:
        target = f"self.{f.python_name}"
        fix = self._fix(f.type, target)
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
            if not self.is_struct(name):
                self._alias(name, done, ())
        # Recursive ones are plain Any at run time, and others may be made of them.
        return sorted(done.values(), key=lambda alias: not alias.recursive)

    def _alias(self, name: str, done: dict[str, _Alias], path: tuple[str, ...]) -> None:
        if name in done:
            return
        definition = self.definitions[name]
        if self.is_record(name):
            annotation = f"dict[str, {self.use('Any')}]"
            doc = _record_doc(definition)
            done[name] = _Alias(name, annotation, doc, recursive=False)
            return
        recursive = name in set(self._reachable(definition.type, frozenset()))
        for other in _refs(definition.type):
            if not self.is_struct(other) and other not in (*path, name):
                self._alias(other, done, (*path, name))
        annotation = self.annotation(definition.type)
        done[name] = _Alias(name, annotation, definition.doc, recursive)

    def _reachable(self, type: Type, seen: frozenset[str]) -> Iterator[str]:
        """Aliases that this type is made of, at any depth."""
        for name in _refs(type):
            if not self.is_struct(name) and not self.is_record(name):
                yield name
                # What is any value at run time does not make its users recursive.
                if name not in seen and not self.is_any(Ref(name)):
                    target = self.definitions[name].type
                    yield from self._reachable(target, seen | {name})


# --- small questions ------------------------------------------------------------------


def _is_constant(type: Type) -> TypeGuard[Literals]:
    return (
        isinstance(type, Literals)
        and len(type.values) == 1
        and _literal_kind(type.values[0]) != "odd"
    )


def _literal_kind(text: str) -> str:
    """msgspec literals are strings, integers or None; the rest is odd."""
    value = json.loads(text)
    if value is None:
        return "null"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _INT64:
        return "number"
    return "odd"


def _usable_default(f: Field) -> str | None:
    """A default that fits the field and is immutable, as Python."""
    if f.default is None:
        return None
    value = json.loads(f.default)
    match f.type:
        case String() if isinstance(value, str) and f.type == String(
            format=f.type.format
        ):
            return _python(value)
        case Boolean() if isinstance(value, bool):
            return _python(value)
        case _:
            return None


def _needs_escape(key: str) -> bool:
    return json.dumps(key, ensure_ascii=False) != f'"{key}"'


def _python(value: Any) -> str:
    """A JSON scalar as Python source, whatever is in it."""
    return pystr(value) if isinstance(value, str) else repr(value)


def _camel(name: str) -> str | None:
    """What `rename="camel"` makes of a name; None where it is not worth guessing."""
    first, *rest = name.split("_")
    if not first or not all(part.isalpha() for part in (first, *rest)):
        return None
    return first + "".join(part.title() for part in rest)


def _reading_order(f: Field) -> tuple[bool, bool, bool]:
    """Constants, then what must be given, then what may; `_meta` last."""
    return (f.wire_name.startswith("_"), not f.required, not _is_constant(f.type))


def _unions(type: Type) -> Iterator[Union]:
    if isinstance(type, Union):
        yield type
    for child in _children(type):
        yield from _unions(child)


def _refs(type: Type) -> Iterator[str]:
    if isinstance(type, Ref):
        yield type.name
    for child in _children(type):
        yield from _refs(child)


def _children(type: Type) -> tuple[Type, ...]:
    match type:
        case Array(items=items):
            return (items,)
        case Map(values=values):
            return (values,)
        case Union(arms=arms):
            return arms
        case Object(fields=fields):
            return tuple(f.type for f in fields)
        case _:
            return ()


def _record_doc(definition: Definition) -> str:
    assert isinstance(definition.type, Object)
    keys = ", ".join(f"`{f.wire_name}`" for f in definition.type.fields)
    note = f"A dict; its known keys are checked: {keys}." if keys else "A dict."
    return f"{definition.doc}\n\n{note}".strip()


def _bounds(type: Number, present: bool) -> list[int | float]:
    bounds = (
        type.minimum,
        type.maximum,
        type.exclusive_minimum,
        type.exclusive_maximum,
    )
    whole = [b for b in bounds if b is not None]
    # Of a whole number msgspec wants whole bounds; of a number two bounds at one end
    # are refused.
    odd = [b for b in whole if type.integer and b != int(b)]
    doubled = (type.minimum is not None and type.exclusive_minimum is not None) or (
        type.maximum is not None and type.exclusive_maximum is not None
    )
    return whole + [float("inf")] * (len(odd) + doubled)


def _is_bound(value: int | float) -> bool:
    return value not in (float("inf"), float("-inf")) and abs(value) < 2**53


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
