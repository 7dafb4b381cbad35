"""Stage 3: JSON Schema → IR types, one `Definition` per schema definition.

A schema is a conjunction of keywords; a type is a shape. `_Lowering.schema` splits the
conjunction into parts (reference, constants, shapes, unions, negation) and `_merge`
folds the parts back into one type, exactly: where no single shape says the same, the
result is `All` of the parts, never an approximation.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from .diagnostics import clip, fail
from .ir import (
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
from .load import Document, escape, ref_target

_FACETS = {
    "number": {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    },
    "string": {"minLength", "maxLength", "pattern"},
    "array": {"items", "minItems", "maxItems", "uniqueItems"},
    "object": {
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
    },
}
_ALL_FACETS = frozenset().union(*_FACETS.values())
_ALL_TYPES = ["null", "boolean", "number", "string", "array", "object"]


def lower(document: Document) -> tuple[Definition, ...]:
    """Every definition of a checked document, in name order, inline objects in place."""
    lowering = _Lowering(document)
    return tuple(
        Definition(
            name=name,
            type=lowering.definition(name),
            pointer=pointer,
            doc=_doc(schema),
            schema_name=name,
        )
        for name, (pointer, schema) in document.definitions.items()
    )


def canonical(value: Any) -> str:
    """A JSON value as one text: equal JSON values (1 and 1.0 too) give equal texts."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    elif isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    elif isinstance(value, dict):
        items = (f"{json.dumps(k)}:{canonical(v)}" for k, v in sorted(value.items()))
        return "{" + ",".join(items) + "}"
    return json.dumps(value)


class _Lowering:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.done: dict[str, Type] = {}
        self.under_way: set[str] = set()

    def definition(self, name: str) -> Type:
        if name not in self.done:
            pointer, schema = self.document.definitions[name]
            if name in self.under_way:
                raise fail(
                    "ref-recursive",
                    f'"{clip(name)}" contains itself beside other keywords',
                    file=self.document.file,
                    pointer=pointer,
                    hint="give the combination a definition of its own",
                )
            self.under_way.add(name)
            self.done[name] = self.schema(schema, pointer)
            self.under_way.discard(name)
        return self.done[name]

    def schema(self, schema: Any, pointer: str) -> Type:
        if schema is True or schema == {}:
            return AnyType()
        if schema is False:
            return Never()
        if "$ref" in schema and self.document.ref_stands_alone:
            return self._ref(schema)
        return self._merge(self._parts(schema, pointer))

    # --- splitting ------------------------------------------------------------------

    def _parts(self, schema: dict[str, Any], pointer: str) -> list[Type]:
        parts: list[Type] = []
        if "$ref" in schema:
            parts.append(self._ref(schema))
        if "const" in schema:
            parts.append(Literals((canonical(schema["const"]),)))
        if "enum" in schema:
            # dict.fromkeys: an enum may repeat itself, a Literal may not.
            parts.append(Literals(tuple(dict.fromkeys(map(canonical, schema["enum"])))))
        if "type" in schema or schema.keys() & _ALL_FACETS:
            parts.append(self._shapes(schema, pointer))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                arms = tuple(
                    self.schema(arm, f"{pointer}/{keyword}/{index}")
                    for index, arm in enumerate(schema[keyword])
                )
                parts.append(_union(arms, exclusive=keyword == "oneOf"))
        for index, part in enumerate(schema.get("allOf", ())):
            parts.append(self.schema(part, f"{pointer}/allOf/{index}"))
        if "not" in schema:
            parts.append(Not(self.schema(schema["not"], f"{pointer}/not")))
        return parts

    def _ref(self, schema: dict[str, Any]) -> Ref:
        target = ref_target(schema["$ref"])
        assert target is not None, "load() checked that references resolve"
        return Ref(target)

    def _shapes(self, schema: dict[str, Any], pointer: str) -> Type:
        """What `type` and the facets allow; facets alone allow every other type too."""
        types = schema.get("type", _ALL_TYPES)
        names = types if isinstance(types, list) else [types]
        if "number" in names:
            names = [name for name in names if name != "integer"]
        return _union(tuple(self._shape(name, schema, pointer) for name in names))

    def _shape(self, name: str, schema: dict[str, Any], pointer: str) -> Type:
        match name:
            case "null":
                return Null()
            case "boolean":
                return Boolean()
            case "string":
                return String(
                    schema.get("minLength"),
                    schema.get("maxLength"),
                    schema.get("pattern"),
                    schema.get("format"),
                )
            case "integer" | "number":
                return Number(
                    name == "integer",
                    schema.get("minimum"),
                    schema.get("maximum"),
                    schema.get("exclusiveMinimum"),
                    schema.get("exclusiveMaximum"),
                    schema.get("multipleOf"),
                )
            case "array":
                return Array(
                    self.schema(schema.get("items", True), f"{pointer}/items"),
                    schema.get("minItems"),
                    schema.get("maxItems"),
                    schema.get("uniqueItems", False),
                )
            case _:
                return self._object(schema, pointer)

    def _object(self, schema: dict[str, Any], pointer: str) -> Type:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        additional = (
            self.schema(
                schema["additionalProperties"], f"{pointer}/additionalProperties"
            )
            if "additionalProperties" in schema
            else None
        )
        patterns = tuple(
            (
                pattern,
                self.schema(sub, f"{pointer}/patternProperties/{escape(pattern)}"),
            )
            for pattern, sub in schema.get("patternProperties", {}).items()
        )
        names = (
            self.schema(schema["propertyNames"], f"{pointer}/propertyNames")
            if "propertyNames" in schema
            else None
        )
        bounds = schema.get("minProperties"), schema.get("maxProperties")
        if not (properties or required or patterns or names or additional == Never()):
            return Map(additional or AnyType(), *bounds)
        fields = [
            self._field(
                name, sub, name in required, f"{pointer}/properties/{escape(name)}"
            )
            for name, sub in properties.items()
        ]
        # A key can be required without being described.
        fields += [
            Field(name, self._undescribed(name, additional, patterns), required=True)
            for name in required
            if name not in properties
        ]
        if "properties" not in schema and additional is None:
            additional = AnyType()  # nothing is described, so nothing is unknown
        return Object(
            tuple(fields),
            additional,
            patterns,
            names,
            *bounds,
            (),
            pointer,
            _doc(schema),
        )

    def _undescribed(
        self, name: str, additional: Type | None, patterns: tuple[tuple[str, Type], ...]
    ) -> Type:
        """What a required key may hold that `properties` does not mention."""
        matching = [type for pattern, type in patterns if re.search(pattern, name)]
        return self._merge(matching) if matching else additional or AnyType()

    def _field(self, name: str, schema: Any, required: bool, pointer: str) -> Field:
        default = schema.get("default") if isinstance(schema, dict) else None
        return Field(
            wire_name=name,
            type=self.schema(schema, pointer),
            required=required,
            doc=_doc(schema),
            default=None if default is None else canonical(default),
        )

    # --- merging --------------------------------------------------------------------

    def _merge(self, parts: list[Type]) -> Type:
        """The conjunction of the parts, as simple as it can exactly be said."""
        flat: list[Type] = []
        for part in parts:
            flat += part.parts if isinstance(part, All) else (part,)
        flat = [p for p in dict.fromkeys(flat) if p != AnyType()]
        if not flat:
            return AnyType()
        if Never() in flat:
            return Never()
        if len(flat) == 1:
            return flat[0]
        return (
            self._merge_literals(flat)
            or self._merge_numbers(flat)
            or self._merge_objects(flat)
            or self._with_constraints(flat)
            or All(tuple(flat))
        )

    def _merge_literals(self, parts: list[Type]) -> Type | None:
        """Constants that must also be of some scalar type: keep those that are."""
        literals = [p for p in parts if isinstance(p, Literals)]
        others = [p for p in parts if not isinstance(p, Literals)]
        if not literals or not all(_is_plain(p) for p in others):
            return None
        values = tuple(
            value
            for value in literals[0].values
            if all(value in other.values for other in literals[1:])
            and all(_allows(part, json.loads(value)) for part in others)
        )
        return Literals(values) if values else Never()

    def _merge_numbers(self, parts: list[Type]) -> Type | None:
        """`number` beside `integer` and the like, when at most one has bounds."""
        bare = [p for p in parts if p in (Number(), Number(integer=True))]
        rest = [p for p in parts if p not in bare]
        if len(rest) > 1 or not all(isinstance(p, Number) for p in parts):
            return None
        base = rest[0] if rest else bare[0]
        assert isinstance(base, Number)
        return replace(
            base, integer=any(p.integer for p in parts if isinstance(p, Number))
        )

    def _merge_objects(self, parts: list[Type]) -> Type | None:
        """Objects whose unknown keys are unconstrained merge into one object."""
        objects = [self._resolve(part) for part in parts]
        if not all(_is_mergeable(o) for o in objects):
            return None
        fields: dict[str, Field] = {}
        additional: Type | None = None
        also: tuple[Type, ...] = ()
        doc, pointer = "", ""
        for part, resolved in zip(parts, objects, strict=True):
            if isinstance(resolved, Map):
                continue
            assert isinstance(resolved, Object)
            additional = additional or resolved.additional
            also += resolved.also
            if not isinstance(part, Ref):
                doc, pointer = doc or resolved.doc, pointer or resolved.pointer
            for field in resolved.fields:
                known = fields.get(field.wire_name)
                fields[field.wire_name] = (
                    self._merge_field(known, field) if known else field
                )
        if not fields:
            return Map(AnyType())
        return Object(
            tuple(fields.values()), additional, also=also, pointer=pointer, doc=doc
        )

    def _merge_field(self, a: Field, b: Field) -> Field:
        return Field(
            a.wire_name,
            self._merge([a.type, b.type]),
            a.required or b.required,
            b.doc or a.doc,
            b.default or a.default,
        )

    def _with_constraints(self, parts: list[Type]) -> Type | None:
        """One object and other rules about it: the object, which must also obey."""
        objects = [p for p in parts if isinstance(p, Object)]
        if len(objects) != 1:
            return None
        rest = tuple(p for p in parts if p is not objects[0])
        return replace(objects[0], also=objects[0].also + rest)

    def _resolve(self, part: Type) -> Type:
        while isinstance(part, Ref):
            part = self.definition(part.name)
        return part


def _union(arms: tuple[Type, ...], exclusive: bool = False) -> Type:
    """A union without needless nesting; constants side by side become one set."""
    if len(arms) == 1:
        return arms[0]
    if exclusive:
        return Union(arms, exclusive=True)
    flat: list[Type] = []
    for arm in arms:
        flat += arm.arms if isinstance(arm, Union) and not arm.exclusive else (arm,)
    flat = [arm for arm in dict.fromkeys(flat) if arm != Never()]
    if AnyType() in flat:
        return AnyType()
    literals = [arm for arm in flat if isinstance(arm, Literals)]
    if len(literals) > 1:
        values = tuple(dict.fromkeys(v for arm in literals for v in arm.values))
        first = flat.index(literals[0])
        flat = [arm for arm in flat if not isinstance(arm, Literals)]
        flat.insert(first, Literals(values))
    if not flat:
        return Never()
    return flat[0] if len(flat) == 1 else Union(tuple(flat))


def _is_mergeable(part: Type) -> bool:
    if isinstance(part, Map):
        return part == Map(AnyType())
    if not isinstance(part, Object):
        return False
    return (
        part.additional in (None, AnyType())
        and not part.patterns
        and part.names is None
        and part.min_properties is None
        and part.max_properties is None
    )


def _is_plain(part: Type) -> bool:
    """Can `_allows` decide whether a constant is of this type?"""
    if isinstance(part, Union) and not part.exclusive:
        return all(_is_plain(arm) for arm in part.arms)
    if isinstance(part, Number):
        return part.multiple_of is None  # of fractions, only validators say exactly
    plain = (Null(), Boolean(), Map(AnyType()), Array(AnyType()))
    return isinstance(part, String) or part in plain


def _allows(part: Type, value: Any) -> bool:
    """Is the constant of this type?"""
    match part:
        case Union(arms=arms):
            return any(_allows(arm, value) for arm in arms)
        case Null():
            return value is None
        case Boolean():
            return isinstance(value, bool)
        case String():
            return isinstance(value, str) and _fits_string(part, value)
        case Number(integer=integer):
            # Canonical text has already turned 1.0 into 1.
            number = int if integer else int | float
            return (
                isinstance(value, number)
                and not isinstance(value, bool)
                and _fits_number(part, value)
            )
        case Array():
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _fits_string(type: String, value: str) -> bool:
    return (
        (type.min_length is None or len(value) >= type.min_length)
        and (type.max_length is None or len(value) <= type.max_length)
        and (type.pattern is None or re.search(type.pattern, value) is not None)
    )


def _fits_number(type: Number, value: int | float) -> bool:
    return (
        (type.minimum is None or value >= type.minimum)
        and (type.maximum is None or value <= type.maximum)
        and (type.exclusive_minimum is None or value > type.exclusive_minimum)
        and (type.exclusive_maximum is None or value < type.exclusive_maximum)
    )


def _doc(schema: Any) -> str:
    if not isinstance(schema, dict):
        return ""
    return str(schema.get("description") or schema.get("title") or "")
