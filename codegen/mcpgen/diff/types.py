"""Types as sets of values: equality, inclusion, and a short text for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

from ..ir import (
    All,
    AnyType,
    Array,
    Boolean,
    Definition,
    Field,
    Literals,
    Map,
    Never,
    Not,
    Null,
    Number,
    Object,
    Ref,
    String,
    Type,
    Union,
)
from .rules import Effect

Definitions: TypeAlias = dict[str, Definition]
_T = TypeVar("_T")


def normal(value: Any) -> Any:
    """The same IR without descriptions and pointers, and in a fixed order."""
    if isinstance(value, tuple):
        return tuple(normal(item) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changes: dict[str, Any] = {
        f.name: "" if f.name in ("doc", "pointer") else normal(getattr(value, f.name))
        for f in fields(value)
        if f.init
    }
    match value:
        case Object():
            changes["fields"] = tuple(
                sorted(changes["fields"], key=lambda f: f.wire_name)
            )
            changes["also"] = _sorted(changes["also"])
            changes["patterns"] = _sorted(changes["patterns"])
        case Union():
            changes["arms"] = _sorted(changes["arms"])
        case All():
            changes["parts"] = _sorted(changes["parts"])
        case Literals():
            changes["values"] = tuple(sorted(changes["values"]))
    return replace(value, **changes)


def _sorted(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(items, key=repr))


def same(a: Any, b: Any) -> bool:
    """Equal but for descriptions, pointers and order?"""
    return bool(a == b or normal(a) == normal(b))


def pairs(
    a: dict[str, _T], b: dict[str, _T]
) -> Iterator[tuple[str, _T | None, _T | None]]:
    """Every key of either, in order, with what each holds."""
    for key in sorted(a.keys() | b.keys()):
        yield key, a.get(key), b.get(key)


# --- inclusion ----------------------------------------------------------------------


class Values:
    """What the types of two versions allow, compared."""

    def __init__(self, old: Definitions, new: Definitions) -> None:
        self.old = old
        self.new = new

    def kept(self, a: Type, b: Type) -> bool:
        """Is every value of the old `a` still allowed by the new `b`?"""
        return _Inclusion(self.old, self.new)(a, b)

    def known(self, b: Type, a: Type) -> bool:
        """Was every value of the new `b` already allowed by the old `a`?"""
        return _Inclusion(self.new, self.old)(b, a)

    def effect(self, a: Type, b: Type) -> Effect:
        """What becomes of the allowed values when `a` gives way to `b`."""
        if self.kept(a, b):
            return "none" if self.known(b, a) else "widens"
        return "narrows" if self.known(b, a) else "changes"


_EVERYTHING: Final[tuple[Type, ...]] = (
    *(Null(), Boolean(), String(), Number()),
    *(Array(AnyType()), Map(AnyType())),
)


class _Inclusion:
    """Is every value of a type of `old` provably allowed by a type of `new`?

    A definition of the same name on both sides counts as equal: what changed in it is
    told there. An unknown key that later gets a meaning does not count. The arms of a
    `oneOf` are taken to exclude each other, as whoever writes one means them to.
    """

    def __init__(self, old: Definitions, new: Definitions) -> None:
        self.old = old
        self.new = new
        self.assumed: set[tuple[Type, Type]] = set()
        self.refuted: set[tuple[Type, Type]] = set()

    def __call__(self, a: Type, b: Type) -> bool:
        if isinstance(a, Ref) and a == b and a.name in self.old and a.name in self.new:
            return True
        if not isinstance(a, Ref) and not isinstance(b, Ref):
            return self._includes(a, b)
        # A type that holds itself: what is being proved may be assumed.
        if (a, b) in self.assumed:
            return True
        if (a, b) in self.refuted:
            return False
        before = set(self.assumed)
        self.assumed.add((a, b))
        proved = self._includes(_resolve(a, self.old), _resolve(b, self.new))
        if not proved:
            # What was proved meanwhile may rest on the assumption that has fallen.
            self.assumed = before
            self.refuted.add((a, b))
        return proved

    def _includes(self, a: Type | None, b: Type | None) -> bool:
        if a is None or b is None:
            return False
        if isinstance(a, Never) or isinstance(b, AnyType):
            return True
        match a, b:
            case AnyType(), (Union() | All()):
                return all(self(kind, b) for kind in _EVERYTHING)
            case Union(), _:
                return all(self(arm, b) for arm in a.arms)
            case Literals(), Union():
                return all(
                    any(self(Literals((value,)), arm) for arm in b.arms)
                    for value in a.values
                )
            case _, Union():
                return any(self(a, arm) for arm in b.arms)
            case _, All():
                return all(self(a, part) for part in b.parts) or same(a, b)
            case All(), _:
                return any(self(part, b) for part in a.parts)
            case Literals(), _:
                return all(_allows(b, json.loads(value)) for value in a.values)
            case String(), String():
                return (
                    _at_least(b.min_length, a.min_length)
                    and _at_most(b.max_length, a.max_length)
                    and b.pattern in (None, a.pattern)
                )
            case Number(), Number():
                return (
                    (a.integer or not b.integer)
                    and _at_least(b.minimum, a.minimum)
                    and _at_most(b.maximum, a.maximum)
                    and _at_least(b.exclusive_minimum, a.exclusive_minimum)
                    and _at_most(b.exclusive_maximum, a.exclusive_maximum)
                    and b.multiple_of in (None, a.multiple_of)
                )
            case Array(), Array():
                return (
                    self(a.items, b.items)
                    and _at_least(b.min_items, a.min_items)
                    and _at_most(b.max_items, a.max_items)
                    and (a.unique or not b.unique)
                )
            case (Map() | Object()), (Map() | Object()):
                return self._object(_as_object(a), _as_object(b))
        return same(a, b)

    def _object(self, a: Object, b: Object) -> bool:
        ours = {f.wire_name: f for f in a.fields}
        theirs = {f.wire_name: f for f in b.fields}
        return (
            all(self._field(a, ours.get(name), f) for name, f in theirs.items())
            and all(
                self(f.type, b.additional or AnyType())
                for name, f in ours.items()
                if name not in theirs
            )
            and self(a.additional or AnyType(), b.additional or AnyType())
            and all(
                self(type, b.additional or AnyType())
                for pattern, type in a.patterns
                if pattern not in dict(b.patterns)
            )
            and set(normal(b.patterns)) <= set(normal(a.patterns))
            and (b.names is None or same(a.names, b.names))
            and _at_least(b.min_properties, a.min_properties)
            and _at_most(b.max_properties, a.max_properties)
            and set(normal(b.also)) <= set(normal(a.also))
        )

    def _field(self, a: Object, ours: Field | None, theirs: Field) -> bool:
        if ours is not None:
            return (ours.required or not theirs.required) and self(
                ours.type, theirs.type
            )
        if theirs.required:
            return False
        silent = a.additional in (None, Never(), AnyType())
        return silent or self(a.additional or AnyType(), theirs.type)


def _resolve(type: Type, definitions: Definitions) -> Type | None:
    seen = set()
    while isinstance(type, Ref):
        if type.name in seen or type.name not in definitions:
            return None
        seen.add(type.name)
        type = definitions[type.name].type
    return type


def _as_object(type: Map | Object) -> Object:
    if isinstance(type, Object):
        return type
    return Object((), type.values, (), None, type.min_properties, type.max_properties)


def _at_least(wanted: float | None, given: float | None) -> bool:
    """Does whatever keeps the lower bound `given` keep the one that is wanted?"""
    return wanted is None or (given is not None and given >= wanted)


def _at_most(wanted: float | None, given: float | None) -> bool:
    return wanted is None or (given is not None and given <= wanted)


def _allows(type: Type, value: Any) -> bool:
    match type:
        case Literals(values=values):
            return any(_equal(json.loads(text), value) for text in values)
        case Null():
            return value is None
        case Boolean():
            return isinstance(value, bool)
        case String(pattern=None):
            return isinstance(value, str) and _between(
                len(value), type.min_length, type.max_length
            )
        case Number(exclusive_minimum=None, exclusive_maximum=None, multiple_of=None):
            if isinstance(value, bool) or not isinstance(value, int | float):
                return False
            whole = isinstance(value, int) or not type.integer
            return whole and _between(value, type.minimum, type.maximum)
    return False


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _between(
    value: int | float, low: int | float | None, high: int | float | None
) -> bool:
    return (low is None or low <= value) and (high is None or value <= high)


# --- text ---------------------------------------------------------------------------


def show(type: Type | None) -> str:
    """A type in a few words, much as Python would write it."""
    match type:
        case None:
            return "unsaid"
        case Ref(name=name):
            return name
        case Literals(values=values):
            return " | ".join(values)
        case Array(items=items):
            return f"list[{show(items)}]" + _bounds(type)
        case Map(values=values):
            return f"map[{show(values)}]" + _bounds(type)
        case Union(arms=arms, exclusive=exclusive):
            text = " | ".join(show(arm) for arm in arms)
            return f"one of ({text})" if exclusive else text
        case All(parts=parts):
            return " & ".join(f"({show(part)})" for part in parts)
        case Not(type=inner):
            return f"not ({show(inner)})"
        case Number(integer=True):
            return "integer" + _bounds(type)
        case Object():
            keys = ", ".join(
                f"{f.wire_name}{'' if f.required else '?'}" for f in type.fields
            )
            return f"{{{keys}}}" + _bounds(type)
    return str(type.kind) + _bounds(type)


_HIDDEN = {"kind", "integer", "items", "values", "fields", "pointer", "doc"}


def _bounds(type: Type) -> str:
    said = [
        f"{f.name} {_value(value)}"
        for f in fields(type)
        if f.name not in _HIDDEN
        and (value := getattr(type, f.name)) not in (None, False, ())
    ]
    return f" ({', '.join(said)})" if said else ""


def _value(value: Any) -> str:
    """A bound for people: a number, a type, or several of them."""
    if isinstance(value, tuple):
        return " and ".join(_value(item) for item in value)
    return str(value) if isinstance(value, str | int | float) else show(value)
