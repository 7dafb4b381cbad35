"""One definition in two versions → how its shape changed.

What a change does to the set of allowed values (`narrows`, `widens`) and who writes
the definition give the verdict; see `rules`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..ir import (
    AnyType,
    Array,
    Definition,
    Field,
    Literals,
    Map,
    Never,
    Number,
    Object,
    String,
    Type,
    Union,
)
from .change import NOBODY, Change, Sides, make, others, verdict
from .rules import RULES, Effect
from .types import Values, normal, pairs, same, show


@dataclass(frozen=True)
class Shapes:
    """Compares one definition that `writers` write, in both versions."""

    name: str
    values: Values
    writers: Sides
    old_frame: Object | None = None
    """The JSON-RPC frame around it, if it is a message."""
    new_frame: Object | None = None

    def changes(self, a: Definition, b: Definition) -> Iterator[Change]:
        """Every change from `a` to `b`."""
        if a.schema_name != b.schema_name:
            names = a.schema_name or "inline", b.schema_name or "inline"
            yield self._change("DEFINITION_NAMED", self.name, *names)
        if type(a.type) is type(b.type) or a.category == b.category:
            yield from self._type(self.name, a.type, b.type)
        else:
            yield self._change(
                "DEFINITION_KIND_CHANGED",
                self.name,
                f"{a.category} {show(a.type)}",
                f"{b.category} {show(b.type)}",
                self.values.effect(a.type, b.type),
            )

    def _change(
        self,
        rule: str,
        place: str,
        before: str = "",
        after: str = "",
        effect: Effect | None = None,
        also: Sides = NOBODY,
    ) -> Change:
        """By the rule's own effect, unless told; `also` breaks in any case."""
        breaks = verdict(effect or RULES[rule].effect, self.writers) | also
        return make(
            rule, "definitions", place, before, after, breaks, subject=self.name
        )

    # --- objects --------------------------------------------------------------------

    def _object(self, place: str, a: Object, b: Object) -> Iterator[Change]:
        before = {f.wire_name: f for f in a.fields}
        after = {f.wire_name: f for f in b.fields}
        for wire_name, x, y in pairs(before, after):
            here = f"{place}.{wire_name}"
            if x is None and y is not None:
                yield self._field_added(here, a, y)
            elif y is None and x is not None:
                yield self._field_removed(here, x, b)
            elif x is not None and y is not None:
                yield from self._field(here, x, y)
        yield from self._additional(place, a.additional, b.additional)
        yield from self._bound(place, "min_properties", a, b, tighter=1)
        yield from self._bound(place, "max_properties", a, b, tighter=-1)
        yield from self._constraints(place, a, b)

    def _field_added(self, place: str, a: Object, field: Field) -> Change:
        if _says(self.old_frame, field):
            return self._change("FRAME_FIELD_ADDED", place, "", _field(field))
        effect = self._unknown(a.additional, field.type)
        if field.required:
            return self._change(
                *("FIELD_NOW_REQUIRED", place, "", _field(field)), effect, self.writers
            )
        return self._change("FIELD_ADDED", place, "", _field(field), effect)

    def _field_removed(self, place: str, field: Field, b: Object) -> Change:
        if _says(self.new_frame, field):
            return self._change("FRAME_FIELD_REMOVED", place, _field(field), "")
        effect = self._unknown(field.type, b.additional)
        if field.required:
            readers = others(self.writers)
            return self._change(
                *("REQUIRED_FIELD_REMOVED", place, _field(field), ""), effect, readers
            )
        return self._change("FIELD_REMOVED", place, _field(field), "", effect)

    def _unknown(self, a: Type | None, b: Type | None) -> Effect:
        """A key without a field on one side: it falls under the additional ones."""
        # Where those may be anything, nobody looks at them.
        open_to_all = (None, AnyType())
        if a in open_to_all or b in open_to_all:
            return "none"
        assert a is not None
        assert b is not None
        return self.values.effect(a, b)

    def _field(self, place: str, a: Field, b: Field) -> Iterator[Change]:
        if a.required != b.required:
            rule = "FIELD_NOW_REQUIRED" if b.required else "FIELD_NOW_OPTIONAL"
            yield self._change(rule, place, _field(a), _field(b))
        if a.default != b.default:
            yield self._change(
                "FIELD_DEFAULT_CHANGED", place, a.default or "", b.default or ""
            )
        if a.python_name != b.python_name:
            yield self._change(
                "PYTHON_NAME_CHANGED", place, a.python_name, b.python_name
            )
        yield from self._type(place, a.type, b.type)

    def _additional(
        self, place: str, a: Type | None, b: Type | None
    ) -> Iterator[Change]:
        if same(a, b):
            return
        shown = show(a), show(b)
        if isinstance(b, Never):
            yield self._change("OBJECT_NOW_CLOSED", place, *shown)
        elif isinstance(a, Never):
            yield self._change("OBJECT_NOW_OPEN", place, *shown)
        else:
            effect = self.values.effect(a or AnyType(), b or AnyType())
            yield self._change("ADDITIONAL_CHANGED", place, *shown, effect)

    def _constraints(self, place: str, a: Object, b: Object) -> Iterator[Change]:
        before, after = _conditions(a), _conditions(b)
        for key in after.keys() - before.keys():
            yield self._change("CONSTRAINT_ADDED", place, "", after[key])
        for key in before.keys() - after.keys():
            yield self._change("CONSTRAINT_REMOVED", place, before[key], "")

    # --- types ----------------------------------------------------------------------

    def _type(self, place: str, a: Type, b: Type) -> Iterator[Change]:
        if same(a, b):
            return
        match a, b:
            case Object(), Object():
                yield from self._object(place, a, b)
            case Literals(), Literals():
                yield from self._literals(place, a, b)
            case Union(), Union():
                yield from self._union(place, a, b)
            case Array(), Array():
                yield from self._type(f"{place}[]", a.items, b.items)
                yield from self._bound(place, "min_items", a, b, tighter=1)
                yield from self._bound(place, "max_items", a, b, tighter=-1)
                yield from self._bound(place, "unique", a, b, tighter=1)
            case Map(), Map():
                yield from self._type(f"{place}{{}}", a.values, b.values)
                yield from self._bound(place, "min_properties", a, b, tighter=1)
                yield from self._bound(place, "max_properties", a, b, tighter=-1)
            case String(), String():
                yield from self._bound(place, "min_length", a, b, tighter=1)
                yield from self._bound(place, "max_length", a, b, tighter=-1)
                yield from self._bound(place, "pattern", a, b)
                if a.format != b.format:
                    formats = a.format or "none", b.format or "none"
                    yield self._change("FORMAT_CHANGED", place, *formats)
            case Number(), Number():
                if a.integer != b.integer:
                    rule = "TYPE_NARROWED" if b.integer else "TYPE_WIDENED"
                    kinds = (
                        ("number", "integer") if b.integer else ("integer", "number")
                    )
                    yield self._change(rule, place, *kinds)
                yield from self._bound(place, "minimum", a, b, tighter=1)
                yield from self._bound(place, "maximum", a, b, tighter=-1)
                yield from self._bound(place, "exclusive_minimum", a, b, tighter=1)
                yield from self._bound(place, "exclusive_maximum", a, b, tighter=-1)
                yield from self._bound(place, "multiple_of", a, b)
            case _:
                yield self._change(
                    _BY_EFFECT[self.values.effect(a, b)], place, show(a), show(b)
                )

    def _literals(self, place: str, a: Literals, b: Literals) -> Iterator[Change]:
        if len(a.values) == len(b.values) == 1:
            yield self._change("CONSTANT_CHANGED", place, a.values[0], b.values[0])
            return
        gone = set(a.values) - set(b.values)
        come = set(b.values) - set(a.values)
        for value in gone:
            yield self._change("ENUM_VALUE_REMOVED", place, value, "")
        for value in come:
            yield self._change("ENUM_VALUE_ADDED", place, "", value)
        if not gone and not come:
            yield self._change("TYPE_RESPELLED", place, show(a), show(b))

    def _union(self, place: str, a: Union, b: Union) -> Iterator[Change]:
        before = {normal(arm): arm for arm in a.arms}
        after = {normal(arm): arm for arm in b.arms}
        for key in before.keys() - after.keys():
            effect: Effect = "none" if self.values.kept(before[key], b) else "narrows"
            yield self._change(
                "UNION_ARM_REMOVED", place, show(before[key]), "", effect
            )
        for key in after.keys() - before.keys():
            effect = "none" if self.values.known(after[key], a) else "widens"
            yield self._change("UNION_ARM_ADDED", place, "", show(after[key]), effect)
        if a.exclusive != b.exclusive:
            words = ("any", "exactly one") if b.exclusive else ("exactly one", "any")
            effect = "narrows" if b.exclusive else "widens"
            yield self._change("UNION_EXCLUSIVE_CHANGED", place, *words, effect)
        elif before.keys() == after.keys():  # an arm was written twice
            yield self._change("TYPE_RESPELLED", place, show(a), show(b))

    def _bound(
        self, place: str, name: str, a: Type, b: Type, *, tighter: int = 0
    ) -> Iterator[Change]:
        """`tighter` tells whether a higher (1) or a lower (-1) value allows less."""
        x, y = getattr(a, name), getattr(b, name)
        if x == y and type(x) is type(y):
            return
        if x is None or y is None:
            rule = "BOUND_TIGHTENED" if x is None else "BOUND_RELAXED"
        elif x == y:  # 1 and 1.0
            rule = "TYPE_RESPELLED"
        elif not tighter:
            rule = "BOUND_CHANGED"
        else:
            rule = "BOUND_TIGHTENED" if (y - x) * tighter > 0 else "BOUND_RELAXED"
        before, after = ("none" if bound is None else bound for bound in (x, y))
        yield self._change(rule, place, f"{name} {before}", f"{name} {after}")


_BY_EFFECT: dict[Effect, str] = {
    "narrows": "TYPE_NARROWED",
    "widens": "TYPE_WIDENED",
    "changes": "TYPE_CHANGED",
    "none": "TYPE_RESPELLED",
}


def _field(field: Field) -> str:
    return f"{'required' if field.required else 'optional'} {show(field.type)}"


def _says(frame: Object | None, field: Field) -> bool:
    """Does the frame around a message hold this field anyway?"""
    return frame is not None and any(
        own.wire_name == field.wire_name and same(own.type, field.type)
        for own in frame.fields
    )


def _conditions(struct: Object) -> dict[object, str]:
    """What an object asks beyond its fields: a key that tells them apart → text."""
    found: dict[object, str] = {
        ("keys", pattern, normal(type)): f"keys like {pattern}: {show(type)}"
        for pattern, type in struct.patterns
    }
    if struct.names is not None:
        found["names", normal(struct.names)] = f"key names: {show(struct.names)}"
    for part in struct.also:
        found["also", normal(part)] = f"also: {show(part)}"
    return found
