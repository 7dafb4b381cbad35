"""Which representation each type gets in msgspec: the decisions behind `types.py`.

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
from typing import TypeGuard

from ..ir import (
    AnyType,
    Array,
    Boolean,
    Field,
    Literals,
    Map,
    Null,
    Number,
    Object,
    Protocol,
    Ref,
    String,
    Type,
    Union,
    children,
)

_INT64 = 2**63


class Drawers:
    """Answers, for one protocol, how each definition is represented."""

    def __init__(self, protocol: Protocol) -> None:
        self.definitions = {d.name: d for d in protocol.definitions}
        self.tags: dict[str, str] = {}
        """Struct → the wire key that msgspec uses as its tag."""
        self._methods = sorted(protocol.methods, key=lambda m: m.name)
        self._assign_tags(protocol)
        self._inexact: set[str] = set()
        self._find_inexact()

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
        if definition.type.is_open and any(not f.wire_name for f in fields):
            return True  # the empty key is that of `extra`
        inline_open = definition.inline and definition.type.is_open
        return inline_open and not self.methods_with(name)

    def methods_with(self, params: str) -> list[str]:
        """The methods that take these params."""
        return [m.name for m in self._methods if m.params == params]

    def is_struct(self, name: str) -> bool:
        """A class of its own."""
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
                kinds = {literal_kind(value) for value in values}
                return kinds.pop() if len(kinds) == 1 else "odd"
            case Array():
                return "array"
            case Map() | Ref():
                return "object"
            case _:
                return "odd"

    # --- tags -----------------------------------------------------------------------

    def _assign_tags(self, protocol: Protocol) -> None:
        """Find a tag for every union of objects; the largest unions choose first."""
        unions = []
        for definition in protocol.definitions:
            unions += [tuple(self._objects(u)) for u in _unions(definition.type)]
        for objects in sorted(set(unions), key=lambda o: (-len(o), o)):
            if len(objects) > 1 and all(map(self.is_struct, objects)):
                for key in self._discriminators(list(objects)):
                    if all(self.tags.get(name, key) == key for name in objects):
                        self.tags.update(dict.fromkeys(objects, key))
                        break

    def _discriminators(self, objects: list[str]) -> list[str]:
        """Keys that every arm requires with a string constant of its own."""
        tables = [self.constants(name) for name in objects]
        return [
            key
            for key in sorted(set.intersection(*map(set, tables)))
            if len({table[key] for table in tables}) == len(tables)
        ]

    def constants(self, name: str) -> dict[str, str]:
        """Required keys that hold one string → that string, as JSON text."""
        return {
            f.wire_name: f.type.values[0]
            for f in self._fields(name)
            if f.required and is_constant(f.type) and f.type.values[0][0] == '"'
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
        return not self.fix(type, "value") and self._is_exact(type, (Ref(name),))

    def _find_inexact(self) -> None:
        """All structs are innocent until shown otherwise; one found may convict others."""
        suspects = [name for name in self.definitions if self.is_struct(name)]
        while convicted := {n for n in suspects if not self._looks_exact(n)}:
            self._inexact |= convicted
            suspects = [name for name in suspects if name not in convicted]

    def _looks_exact(self, name: str) -> bool:
        type = self.definitions[name].type
        assert isinstance(type, Object)
        bounded = (type.min_properties, type.max_properties) != (None, None)
        plain = not (type.also or type.names or type.patterns or bounded)
        return plain and all(self._is_exact(f.type) for f in type.fields)

    def _is_struct_exact(self, name: str) -> bool:
        return name not in self._inexact

    def _filled(self, name: str) -> set[str]:
        """Required keys that a constructor fills in: msgspec would not miss them."""
        return {
            f.wire_name
            for f in self._fields(name)
            if f.required and (is_constant(f.type) or has_default(f))
        }

    def _is_exact(self, type: Type, above: tuple[Type, ...] = ()) -> bool:
        if type in above:
            return self.is_any(type)  # recursive: `Any` at run time
        seen = (*above, type)
        match type:
            case AnyType() | Null() | Boolean() | String():
                return True
            case Number():
                return type.multiple_of is None and has_plain_bounds(type)
            case Literals(values=values):
                return all(literal_kind(value) != "odd" for value in values)
            case Array():
                return not type.unique and self._is_exact(type.items, seen)
            case Map():
                return self._is_exact(type.values, seen)
            case Ref(name=name):
                if self.is_record(name):
                    return True  # checked in __post_init__
                if self.is_struct(name):
                    return not self._filled(name) and self._is_struct_exact(name)
                return self._is_exact(self.definitions[name].type, seen)
            case Union():
                return self.is_any(type) or self._is_union_exact(type, seen)
            case _:
                return False

    def _is_union_exact(self, union: Union, seen: tuple[Type, ...]) -> bool:
        leaves = list(self._leaves(union))
        objects = self._objects(union)
        if self.choice(union):
            return not union.exclusive  # picked, and checked, in Python
        if not self.is_native(union) or any(self.fix(leaf, "x") for leaf in leaves):
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

    def is_any(self, type: Type, assumed: frozenset[Type] = frozenset()) -> bool:
        """Is it a long way to say "any JSON value"? (`JSONValue` is.)"""
        if type in assumed:
            return True  # what is to be shown may be assumed further down
        below = assumed | {type}
        match type:
            case AnyType():
                return True
            case Ref(name=name):
                return self.is_any(self.definitions[name].type, below)
            case Union(exclusive=False):
                leaves = [*type.arms, *(self._target(arm) for arm in type.arms)]
                return (
                    {Null(), Boolean(), Number(), String()} <= set(leaves)
                    and any(
                        isinstance(leaf, Array)
                        and leaf == Array(leaf.items)
                        and self.is_any(leaf.items, below)
                        for leaf in leaves
                    )
                    and any(
                        isinstance(leaf, Map)
                        and leaf == Map(leaf.values)
                        and self.is_any(leaf.values, below)
                        for leaf in leaves
                    )
                )
            case _:
                return False

    def _target(self, type: Type) -> Type:
        return self.definitions[type.name].type if isinstance(type, Ref) else type

    # --- what Python must do after msgspec --------------------------------------------

    def fix(self, type: Type, value: str, depth: int = 0) -> str | None:
        """An expression that checks or re-types `value`; None when it is fine as is."""
        match type:
            case Ref(name=name) if self.is_record(name):
                return f'codec.check({value}, "{name}")'
            case Ref(name=name) if not self.is_struct(name) and depth < 8:
                return self.fix(self.definitions[name].type, value, depth + 1)
            case Union():
                arms = self.choice(type)
                if arms is None:
                    return None
                return f"codec.pick({value}, {', '.join(arms)})"
            case Array():
                inner = self.fix(type.items, "item", depth + 1)
                return inner and f"[{inner} for item in {value}]"
            case Map():
                inner = self.fix(type.values, "item", depth + 1)
                return inner and f"{{key: {inner} for key, item in {value}.items()}}"
            case _:
                return None


# --- small questions ----------------------------------------------------------------


def is_constant(type: Type) -> TypeGuard[Literals]:
    """A single value that a constructor can fill in?"""
    return (
        isinstance(type, Literals)
        and len(type.values) == 1
        and literal_kind(type.values[0]) != "odd"
    )


def literal_kind(text: str) -> str:
    """msgspec literals are strings, integers or None; the rest is odd."""
    value = json.loads(text)
    if value is None:
        return "null"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _INT64:
        return "number"
    return "odd"


def _needs_escape(key: str) -> bool:
    return json.dumps(key, ensure_ascii=False) != f'"{key}"'


def _unions(type: Type) -> Iterator[Union]:
    if isinstance(type, Union):
        yield type
    for child in children(type):
        yield from _unions(child)


def has_plain_bounds(type: Number) -> bool:
    """Can msgspec be told the bounds? One at each end, and whole: they hold for `int`."""
    low = [b for b in (type.minimum, type.exclusive_minimum) if b is not None]
    high = [b for b in (type.maximum, type.exclusive_maximum) if b is not None]
    return max(len(low), len(high)) < 2 and all(
        abs(bound) < 2**53 and bound == int(bound) for bound in low + high
    )


def has_default(f: Field) -> bool:
    """Has it a default that fits it, and that constructors may share?"""
    if f.default is None:
        return False
    value = json.loads(f.default)
    if isinstance(f.type, String):
        return isinstance(value, str) and f.type == String(format=f.type.format)
    return isinstance(f.type, Boolean) and isinstance(value, bool)
