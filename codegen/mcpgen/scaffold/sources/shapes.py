"""JSON Schemas of other people → `Shape`s: what a Python type can say of them.

A shape accepts exactly what its schema accepts. Where no type of msgspec's does that, an
`Inexact` says which keyword is in the way; whoever asked then keeps the schema as it is.
Objects with known keys become `Model`s, named by where they stand: never by a counter.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

from ...diagnostics import clip
from ...load import escape
from ...names import MAX_NAME, field_name, pascal_case

Json: TypeAlias = dict[str, Any]
Kind = Literal[
    "any",
    "null",
    "boolean",
    "integer",
    "number",
    "string",
    "literal",
    "array",
    "map",
    "model",
    "union",
]

MAX_DEPTH = 48
MAX_PARTS = 300
"""Of `allOf`, for one schema that is asked for."""
MAX_INLINED = 20
"""Schemas that are written out in place of references to them, at one place."""

_SCALARS = ("null", "boolean", "integer", "number", "string")
_LIMITS = {
    "minimum": ("ge", ("integer", "number")),
    "maximum": ("le", ("integer", "number")),
    "exclusiveMinimum": ("gt", ("integer", "number")),
    "exclusiveMaximum": ("lt", ("integer", "number")),
    "multipleOf": ("multiple_of", ("integer",)),
    "minLength": ("min_length", ("string",)),
    "maxLength": ("max_length", ("string",)),
    "pattern": ("pattern", ("string",)),
    "minItems": ("min_length", ("array",)),
    "maxItems": ("max_length", ("array",)),
    "minProperties": ("min_length", ("map",)),
    "maxProperties": ("max_length", ("map",)),
}
"""Keyword → how msgspec calls it, and the kinds that it is about."""
_UNFIT = re.compile(r'["\\\x00-\x1f]')
_WIDER = {"integer": ("number",)}
_STRUCTURE = {
    *("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "items"),
    *("properties", "required", "additionalProperties", "$defs", "definitions"),
    *("$schema", *_LIMITS),
}
_BEYOND = {
    *("not", "if", "then", "else", "contains", "minContains", "maxContains"),
    *("prefixItems", "additionalItems", "patternProperties", "propertyNames"),
    *("dependencies", "dependentRequired", "dependentSchemas", "uniqueItems"),
    *("unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef"),
    *("$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
}
"""Keywords that say more than a type can."""
_IN_MAPS = ("properties", "patternProperties", "dependentSchemas")
_IN_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_INSIDE = (
    *("items", "not", "if", "then", "else", "contains", "additionalProperties"),
    *("propertyNames", "unevaluatedItems", "unevaluatedProperties"),
)
"""Where schemas are inside of schemas: in an object, in a list, by themselves."""
_TAKEN = {
    *("Annotated", "Any", "Literal", "Mapping", "Meta", "Sequence", "Struct"),
    *("UnsetType", "Server", "Context", "ToolResult", "None", "True", "False"),
}
"""Class names that generated modules use otherwise."""


class Inexact(Exception):
    """No type says the same as the schema; `pointer` is where."""

    def __init__(self, pointer: str, why: str) -> None:
        super().__init__(why)
        self.pointer = pointer


@dataclass(frozen=True)
class Shape:
    """What a schema accepts, in terms of Python types."""

    kind: Kind
    of: tuple[Shape, ...] = ()
    """The items of an array, the values of a map, the arms of a union."""
    values: tuple[str | int | None, ...] = ()
    """What a literal may be."""
    name: str = ""
    """Which model."""
    limits: Json = field(default_factory=dict)
    """Keyword arguments of `msgspec.Meta`, without what is merely said."""
    said: Json = field(default_factory=dict)
    """Keywords that accept and refuse nothing: description, format, default …"""


@dataclass(frozen=True)
class Member:
    """A key of an object."""

    wire: str
    python: str
    required: bool
    shape: Shape


@dataclass(frozen=True)
class Model:
    """An object with known keys."""

    name: str
    doc: str
    closed: bool
    """Is any other key refused?"""
    members: tuple[Member, ...]


class Shapes:
    """Reads schemas; keeps the models that they need, each under one name.

    With `lenient`, what no type can say is `Any` that carries its schema along.
    """

    def __init__(self, *, lenient: bool = False) -> None:
        self.lenient = lenient
        self.models: dict[str, Model | None] = {}
        self._same: dict[str, str] = {}
        """Name → what the model of that name was made from."""

    def read(self, schema: Any, root: Any, name: str, pointer: str = "") -> Shape:
        """The shape of a schema inside of `root`; its own models begin with `name`."""
        mark = len(self.models)
        try:
            return _Reader(self, root, name).read(schema, name, pointer)
        except Inexact:
            self.forget(mark)
            raise

    def members(self, schema: Any, root: Any, name: str) -> tuple[list[Member], bool]:
        """The members of an object that gets no model, and whether it is closed."""
        mark = len(self.models)
        try:
            return _Reader(self, root, name).members(schema, name, "")
        except Inexact:
            self.forget(mark)
            raise

    def forget(self, mark: int) -> None:
        """Drop the models since there were so many: what needed them came to nothing."""
        while len(self.models) > mark:
            del self._same[self.models.popitem()[0]]

    def claim(self, names: list[str], made_from: str, pointer: str) -> tuple[str, bool]:
        """The first name that is free, or that stands for the same; is it new?"""
        for name in names:
            if self._same.get(name) == made_from:
                return name, False
            if name not in self._same and len(name) <= MAX_NAME:
                self._same[name] = made_from
                self.models[name] = None
                return name, True
        raise Inexact(pointer, "two objects that would have the same name")


class _Reader:
    def __init__(self, shapes: Shapes, root: Any, scope: str) -> None:
        self.shapes = shapes
        self.root = root
        self.scope = scope
        self.is_exact = not shapes.lenient
        self.references: list[str] = []
        self.parts = 0

    # --- any schema -------------------------------------------------------------------

    def read(self, schema: Any, path: str, pointer: str) -> Shape:
        if pointer.count("/") > MAX_DEPTH * 3:
            raise Inexact(pointer, "nested too deeply")
        mark = len(self.shapes.models)
        try:
            return self._read(schema, path, pointer)
        except Inexact:
            if self.is_exact:
                raise
            self.shapes.forget(mark)
            return Shape("any", said=_Inlined(self.root).of(schema))

    def _read(self, schema: Any, path: str, pointer: str) -> Shape:
        if schema is True:
            return Shape("any")
        if not isinstance(schema, dict):
            raise Inexact(pointer, "accepts nothing")
        beyond = schema.keys() & _BEYOND
        if schema.get("uniqueItems") is False:
            beyond.remove("uniqueItems")
        if beyond and self.is_exact:
            raise Inexact(f"{pointer}/{min(beyond)}", "says more than a type can")
        said = self._said(schema)
        rest = {k: v for k, v in schema.items() if k in _STRUCTURE}
        for word in ("$schema", "$defs", "definitions"):
            rest.pop(word, None)
        if "allOf" in rest:
            rest = self._merged(rest, pointer)
        if "$ref" in rest:
            return self._reference(rest, said, path, pointer)
        for word in ("anyOf", "oneOf"):
            if word in rest:
                arms = rest.pop(word)
                if rest.keys() - {"type"}:
                    raise Inexact(pointer, f"more beside {word}")
                return self._union(word, arms, rest, said, path, pointer)
        if "enum" in rest or "const" in rest:
            return self._literal(rest, said, pointer)
        kinds = rest.pop("type", None)
        if kinds is None:
            if rest:
                raise Inexact(pointer, "no type")
            return Shape("any", said=said)
        if isinstance(kinds, list):
            if not kinds or len(set(map(str, kinds))) < len(kinds):
                raise Inexact(f"{pointer}/type", "no list of types")
            if len(kinds) > 1:
                arms = [self._arm(kind, rest) for kind in kinds]
                return self._union("anyOf", arms, {}, said, path, pointer)
            kinds = kinds[0]
        return self._typed(kinds, rest, said, path, pointer)

    def _said(self, schema: Json) -> Json:
        """What the type does not say; leniently, that may be more than words."""
        said = {k: v for k, v in schema.items() if k not in _STRUCTURE}
        return said if self.is_exact else _Inlined(self.root).of(said)

    def _arm(self, kind: Any, rest: Json) -> Json:
        """One of several types, with the keywords that are about it."""
        about = {
            "object": ("properties", "required", "additionalProperties"),
            "array": ("items",),
        }.get(str(kind), ())
        limits = [w for w, (_, kinds) in _LIMITS.items() if kind in kinds]
        if kind == "object":
            limits += ["minProperties", "maxProperties"]
        return {"type": kind} | {
            word: value
            for word, value in rest.items()
            if word in about or word in limits
        }

    def _typed(self, kind: Any, rest: Json, said: Json, path: str, at: str) -> Shape:
        if kind == "object":
            return self._object(rest, said, path, at)
        if kind == "array":
            items = rest.pop("items", True)
            inner = self.read(items, f"{path}Item", f"{at}/items")
            return self._limited(Shape("array", (inner,), said=said), rest, at)
        if kind not in _SCALARS:
            raise Inexact(f"{at}/type", "no type")
        return self._limited(Shape(kind, said=said), rest, at)

    def _limited(self, shape: Shape, rest: Json, pointer: str) -> Shape:
        """The shape with its limits; what is about other kinds stays beside it."""
        limits: Json = {}
        said: Json = {}
        for word, value in rest.items():
            name, kinds = _LIMITS.get(word, ("", ()))
            if shape.kind not in kinds:
                if word == "multipleOf" and shape.kind == "number" and self.is_exact:
                    raise Inexact(f"{pointer}/{word}", "fractions are not exact")
                said[word] = value
            elif word == "pattern":
                if _compiles(value):
                    limits[name] = value
                else:
                    said[word] = value
            elif not _is_limit(name, value, shape.kind):
                raise Inexact(f"{pointer}/{word}", "no limit that msgspec knows")
            else:
                limits[name] = value
        for word in ("minimum", "maximum") if not self.is_exact else ():
            if _LIMITS[f"exclusive{word.capitalize()}"][0] in limits and word in rest:
                said[word] = limits.pop(_LIMITS[word][0])
        if {"ge", "gt"} <= limits.keys() or {"le", "lt"} <= limits.keys():
            raise Inexact(pointer, "two limits at one end")
        return replace(shape, limits=limits, said=shape.said | said)

    # --- enumerations and unions ------------------------------------------------------

    def _literal(self, rest: Json, said: Json, pointer: str) -> Shape:
        values = rest.pop("enum", None)
        if "const" in rest:
            values = [rest.pop("const")] if values is None else None
        kinds = rest.pop("type", None)
        if rest or not isinstance(values, list) or not values:
            raise Inexact(pointer, "more than a list of values")
        allowed = set(map(str, kinds if isinstance(kinds, list) else [kinds]))
        found: list[str | int | None] = []
        for value in values:
            kind = kind_of(value)
            if kinds is not None and not {kind, *_WIDER.get(kind, ())} & allowed:
                continue
            if kind not in ("string", "integer", "null") or (
                kind == "integer" and abs(value) >= 2**63
            ):
                raise Inexact(pointer, "values that no Literal can hold")
            if value not in found:
                found.append(value)
        if not found:
            raise Inexact(pointer, "accepts nothing")
        if found == [None]:
            return Shape("null", said=said)
        return Shape("literal", values=tuple(found), said=said)

    def _union(
        self, word: str, arms: Any, rest: Json, said: Json, path: str, pointer: str
    ) -> Shape:
        if not isinstance(arms, list) or not arms:
            raise Inexact(f"{pointer}/{word}", "no list")
        shapes: list[Shape] = []
        for number, arm in enumerate(arms):
            if rest and not (isinstance(arm, dict) and arm.get("type") == rest["type"]):
                raise Inexact(pointer, f"a type beside {word}")
            shape = self._read(arm, path, f"{pointer}/{word}/{number}")
            if shape.kind == "union" and shape.said:
                raise Inexact(
                    f"{pointer}/{word}", "a union that is described in another"
                )
            shapes += shape.of if shape.kind == "union" else [shape]
        if len(shapes) == 1:
            only = shapes[0]
            if only.said.keys() & said.keys():
                raise Inexact(pointer, "two descriptions")
            return replace(only, said=only.said | said)
        seen: set[str] = set()
        for shape in shapes:
            for kind in _json_kinds(shape):
                if kind in seen:
                    # msgspec tells the arms apart by their type alone.
                    raise Inexact(f"{pointer}/{word}", "arms that are too much alike")
                seen.add(kind)
        if {"integer", "number"} <= seen:
            raise Inexact(f"{pointer}/{word}", "arms that are too much alike")
        return Shape("union", tuple(shapes), said=said)

    # --- objects ----------------------------------------------------------------------

    def _object(self, rest: Json, said: Json, path: str, pointer: str) -> Shape:
        if not _has_keys(rest):
            values = rest.pop("additionalProperties", True)
            for word in ("properties", "required"):
                rest.pop(word, None)
            inner = self.read(values, f"{path}Value", f"{pointer}/additionalProperties")
            return self._limited(Shape("map", (inner,), said=said), rest, pointer)
        return self._model(rest, said, [path], path, pointer)

    def _model(
        self, rest: Json, said: Json, names: list[str], path: str, pointer: str
    ) -> Shape:
        made_from = _fingerprint([rest, said.get("description")], self.root)
        names = [_class_name(name) for name in names]
        mark = len(self.shapes.models)
        name, new = self.shapes.claim(names, made_from, pointer)
        doc = said.pop("description", "")
        if new:
            # What refers to itself through a class is fine.
            references, self.references = self.references, []
            try:
                members, closed = self.members(rest, name, pointer)
            except Inexact:
                self.shapes.forget(mark)
                raise
            finally:
                self.references = references
            self.shapes.models[name] = Model(name, str(doc), closed, tuple(members))
        if said.get("title") == name:
            del said["title"]
        return Shape("model", name=name, said=said)

    def members(
        self, schema: Any, path: str, pointer: str
    ) -> tuple[list[Member], bool]:
        """What an object has, with a Python name for each key."""
        schema = {k: v for k, v in schema.items() if k != "type"}
        if "allOf" in schema:
            schema = self._merged(schema, pointer)
        properties = schema.pop("properties", {})
        required = schema.pop("required", [])
        if not self.is_exact and schema.get("additionalProperties") in (True, {}):
            raise Inexact(f"{pointer}/additionalProperties", "keys that would be lost")
        more = schema.pop("additionalProperties", True)
        if not (isinstance(more, bool) or more == {}):
            raise Inexact(f"{pointer}/additionalProperties", "some of the other keys")
        for word in schema.keys() & (_STRUCTURE | _BEYOND):
            if word not in ("$schema", "$defs", "definitions"):
                raise Inexact(f"{pointer}/{word}", "says more than a class can")
        if not isinstance(properties, dict) or not _are_texts(required):
            raise Inexact(pointer, "no object")
        if more is False and set(required) - properties.keys():
            raise Inexact(f"{pointer}/required", "accepts nothing")
        properties = properties | {k: True for k in required if k not in properties}
        names = python_names(list(properties), pointer)
        if any(_UNFIT.search(wire) for wire in properties):
            raise Inexact(pointer, "a key with characters that msgspec does not take")
        members = [
            Member(
                wire,
                names[wire],
                wire in required,
                self.read(
                    inner,
                    path + pascal_case(wire),
                    f"{pointer}/properties/{escape(wire)}",
                ),
            )
            for wire, inner in properties.items()
        ]
        return members, more is False

    def _merged(self, schema: Json, pointer: str) -> Json:
        """`allOf` of objects that do not contradict one another, as one object."""
        parts = schema["allOf"]
        rest = {word: value for word, value in schema.items() if word != "allOf"}
        if not isinstance(parts, list) or not parts:
            raise Inexact(f"{pointer}/allOf", "no list")
        if not rest and len(parts) == 1 and isinstance(parts[0], dict):
            return {k: v for k, v in parts[0].items() if k in _STRUCTURE}
        merged: Json = {"type": "object", "properties": {}, "required": []}
        kinds = set()
        for part in self._parts(schema, pointer):
            properties, required = part.get("properties", {}), part.get("required", [])
            if not _is_plain_object(part):
                raise Inexact(f"{pointer}/allOf", "parts that are no plain objects")
            for key, value in properties.items():
                if merged["properties"].setdefault(key, value) != value:
                    raise Inexact(f"{pointer}/allOf", f"two views of {clip(key, 40)}")
            merged["required"] += [k for k in required if k not in merged["required"]]
            kinds.add(part.get("type"))
        if "object" not in kinds and self.is_exact:
            raise Inexact(f"{pointer}/allOf", "no type")
        return merged

    def _parts(self, schema: Any, pointer: str) -> Iterator[Json]:
        """What an `allOf` demands, all of it on one level."""
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise Inexact(f"{pointer}/allOf", "too many parts")
        found = self._resolved(schema, f"{pointer}/allOf", 0)
        parts = found.get("allOf", [])
        for part in parts if isinstance(parts, list) else [parts]:
            yield from self._parts(part, pointer)
        yield {word: value for word, value in found.items() if word != "allOf"}

    # --- references -------------------------------------------------------------------

    def _resolved(self, schema: Any, pointer: str, depth: int) -> Json:
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            raise Inexact(pointer, "no object")
        if "$ref" in schema:
            if schema.keys() & (_STRUCTURE | _BEYOND) != {"$ref"}:
                raise Inexact(pointer, "more beside a reference")
            found, _ = target(self.root, schema["$ref"], pointer)
            return self._resolved(found, pointer, depth + 1)
        return schema

    def _reference(self, rest: Json, said: Json, path: str, pointer: str) -> Shape:
        if rest.keys() != {"$ref"}:
            raise Inexact(pointer, "more beside a reference")
        found, place = target(self.root, rest["$ref"], pointer)
        if place in self.references:
            raise Inexact(pointer, "refers to itself, and to no object")
        if isinstance(found, dict) and _is_model(found):
            name = pascal_case(place.rsplit("/", 1)[-1])
            inner = {k: v for k, v in found.items() if k in _STRUCTURE - {"type"}}
            if self.is_exact and (beyond := found.keys() & _BEYOND):
                raise Inexact(f"{place}/{min(beyond)}", "says more than a type can")
            if "allOf" in inner:
                inner = self._merged(inner, place)
                inner.pop("type")
            told = self._said(found)
            shape = self._model(inner, told, [name, self.scope + name], path, place)
        else:
            self.references.append(place)
            try:
                shape = self._read(found, path, place)
            finally:
                self.references.pop()
        return replace(shape, said=shape.said | said)


# --- names ------------------------------------------------------------------------------


def python_names(wires: list[str], pointer: str = "") -> dict[str, str]:
    """A Python name for each key; keys that fold into one name are spelled out."""
    names = {wire: field_name(wire) for wire in wires}
    folded = list(names.values())
    for wire, name in names.items():
        if folded.count(name) > 1:
            names[wire] = spelled(wire)
        if len(names[wire]) > MAX_NAME:
            raise Inexact(pointer, "a key that is too long")
    if len(set(names.values())) < len(names):
        raise Inexact(pointer, "keys that have the same Python name")
    return names


def spelled(text: str) -> str:
    """Any text as an identifier in which no character is lost."""
    made = re.sub(r"[^A-Za-z0-9_]", lambda m: f"_u{ord(m[0]):x}_", text)
    if not made or made[0].isdigit() or made.startswith("__"):
        made = f"field_{made}"
    return f"{made}_" if keyword.iskeyword(made) else made


def _class_name(name: str) -> str:
    if not name or name[0].isdigit():
        name = f"Model{name}"
    return f"{name}Model" if name in _TAKEN else name


# --- looking at schemas -----------------------------------------------------------------


def target(root: Any, ref: Any, pointer: str) -> tuple[Any, str]:
    """What a reference inside of the document refers to, and where that is."""
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        raise Inexact(f"{pointer}/$ref", "refers to something outside of the document")
    found = root
    for part in ref.split("/")[1:]:
        step = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            raise Inexact(f"{pointer}/$ref", "refers to nothing")
    return found, ref[1:]


def _fingerprint(schema: Any, root: Any) -> str:
    """A schema with all that it refers to, as text that tells it from others."""
    reached: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        for ref in _references(waiting.pop()):
            if ref not in reached:
                reached[ref] = None
                try:
                    reached[ref], _ = target(root, ref, "")
                except Inexact:
                    continue
                waiting.append(reached[ref])
    return json.dumps([schema, reached], sort_keys=True)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


class _Inlined:
    """Schemas without references: what refers to itself, or goes on, is left open."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.left = MAX_INLINED

    def of(self, schema: Any, within: tuple[str, ...] = ()) -> Json:
        """The same schema, or one that accepts more."""
        if not isinstance(schema, dict):
            return {"not": {}} if schema is False else {}
        self.left -= 1
        made: Json = {}
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref not in within and self.left > 0:
            with suppress(Inexact):
                found, _ = target(self.root, ref, "")
                made = self.of(found, (*within, ref))
        for word, value in schema.items():
            if word in _IN_MAPS and isinstance(value, dict):
                made[word] = {k: self.of(v, within) for k, v in value.items()}
            elif word in _IN_LISTS and isinstance(value, list):
                made[word] = [self.of(v, within) for v in value]
            elif word in _INSIDE and isinstance(value, dict):
                made[word] = self.of(value, within)
            elif word not in ("$ref", "$defs", "definitions"):
                made[word] = value
        return made


def _has_keys(schema: Json) -> bool:
    return bool(
        schema.get("properties")
        or schema.get("required")
        or schema.get("additionalProperties") is False
    )


def _is_model(schema: Json) -> bool:
    if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) > 1:
        return True
    return schema.get("type") == "object" and _has_keys(schema)


def _is_plain_object(schema: Json) -> bool:
    """Some keys of an object, and nothing about the others."""
    words = schema.keys() & (_STRUCTURE | _BEYOND)
    return (
        words <= {"type", "properties", "required", "additionalProperties"}
        and schema.get("additionalProperties", True) in (True, {})
        and schema.get("type", "object") == "object"
        and isinstance(schema.get("properties", {}), dict)
        and _are_texts(schema.get("required", []))
    )


def kind_of(value: Any) -> str:
    """What JSON Schema calls a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return {float: "number", str: "string", list: "array"}.get(type(value), "object")


def _json_kinds(shape: Shape) -> Iterator[str]:
    """The JSON types that a shape accepts."""
    if shape.kind == "union":
        for arm in shape.of:
            yield from _json_kinds(arm)
    elif shape.kind == "literal":
        yield from {kind_of(value) for value in shape.values}
    elif shape.kind == "any":
        yield from (*_SCALARS, "array", "object")
    else:
        yield "object" if shape.kind in ("map", "model") else shape.kind


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _compiles(pattern: Any) -> bool:
    try:
        return isinstance(pattern, str) and bool(re.compile(pattern))
    except (re.error, RecursionError, OverflowError):
        return False


def _is_limit(name: str, value: Any, kind: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if "length" in name:
        return isinstance(value, int) and 0 <= value < 2**63
    if kind == "integer":
        low = 1 if name == "multiple_of" else -(2**63) + 1
        return isinstance(value, int) and low <= value < 2**63
    return abs(value) < 2**63
