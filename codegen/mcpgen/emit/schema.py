"""The IR written back as JSON Schema: the same values allowed, said in the plainest way.

What a schema can say in many ways is said in one: corrections are applied, conjunctions
merged, every object with known keys is a definition under the name that the IR gave it.
So what is generated from it needs no name of its own making.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from ..ir import (
    All,
    AnyType,
    Array,
    Boolean,
    Field,
    Literals,
    Map,
    Never,
    Not,
    Null,
    Number,
    Object,
    Protocol,
    Ref,
    String,
    Type,
    Union,
)

Schema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(protocol: Protocol) -> Schema:
    """One document with a definition for each of the protocol's, inline objects included.

    Where a constant tells the arms of a union apart, `discriminator` names its key, as
    in OpenAPI; to JSON Schema that is an annotation.
    """
    writing = _Writing({d.name: d.type for d in protocol.definitions})
    definitions = {
        d.name: _described(d.doc, writing.of(d.type)) for d in protocol.definitions
    }
    return {"$schema": DIALECT, "$defs": definitions}


class _Writing:
    def __init__(self, types: Mapping[str, Type]) -> None:
        self.types = types

    def of(self, type: Type) -> Schema:
        """The schema of a type; a keyword that would say nothing is left out."""
        match type:
            case AnyType():
                return {}
            case Never():
                return {"not": {}}
            case Null():
                return {"type": "null"}
            case Boolean():
                return {"type": "boolean"}
            case String():
                return _said(
                    type="string",
                    minLength=type.min_length,
                    maxLength=type.max_length,
                    pattern=type.pattern,
                    format=type.format,
                )
            case Number():
                return _said(
                    type="integer" if type.integer else "number",
                    minimum=type.minimum,
                    maximum=type.maximum,
                    exclusiveMinimum=type.exclusive_minimum,
                    exclusiveMaximum=type.exclusive_maximum,
                    multipleOf=type.multiple_of,
                )
            case Literals(values=(value,)):
                return {"const": json.loads(value)}
            case Literals(values=values):
                return {"enum": [json.loads(value) for value in values]}
            case Array():
                return _said(
                    type="array",
                    items=self.of(type.items),
                    minItems=type.min_items,
                    maxItems=type.max_items,
                    uniqueItems=type.unique or None,
                )
            case Map():
                return _said(
                    type="object",
                    additionalProperties=self.of(type.values),
                    minProperties=type.min_properties,
                    maxProperties=type.max_properties,
                )
            case Union():
                return self._union(type)
            case All(parts=parts):
                return {"allOf": self._each(parts)}
            case Not(type=inner):
                return {"not": self.of(inner)}
            case Ref(name=name):
                return {"$ref": f"#/$defs/{name}"}
            case Object():
                return self._object(type)

    def _union(self, union: Union) -> Schema:
        made = {"oneOf" if union.exclusive else "anyOf": self._each(union.arms)}
        key = discriminator(union, self.types)
        return made | {"discriminator": {"propertyName": key}} if key else made

    def _each(self, types: tuple[Type, ...]) -> list[Schema]:
        return [self.of(type) for type in types]

    def _object(self, object: Object) -> Schema:
        additional, names = object.additional, object.names
        patterns = {pattern: self.of(type) for pattern, type in object.patterns}
        return _said(
            type="object",
            properties={f.wire_name: self._field(f) for f in object.fields} or None,
            required=[f.wire_name for f in object.fields if f.required] or None,
            additionalProperties=None if additional is None else self.of(additional),
            patternProperties=patterns or None,
            propertyNames=None if names is None else self.of(names),
            minProperties=object.min_properties,
            maxProperties=object.max_properties,
            allOf=self._each(object.also) or None,
        )

    def _field(self, field: Field) -> Schema:
        made = _described(field.doc, self.of(field.type))
        if field.default is None:
            return made
        return made | {"default": json.loads(field.default)}


def discriminator(union: Union, types: Mapping[str, Type]) -> str | None:
    """The key at which every arm requires a string of its own, if there is one."""
    tables = [_constants(leaf) for leaf in _leaves(union, types, ())]
    keys = set.intersection(*map(set, tables)) if len(tables) > 1 else set()
    for key in sorted(keys):
        if len({table[key] for table in tables}) == len(tables):
            return key
    return None


def _leaves(
    type: Type, types: Mapping[str, Type], above: tuple[Type, ...]
) -> Iterator[Type]:
    """What a union comes down to: its arms, through the names of other unions."""
    if type in above:
        return
    match type:
        case Union(arms=arms):
            for arm in arms:
                yield from _leaves(arm, types, (*above, type))
        case Ref(name=name):
            yield from _leaves(types[name], types, (*above, type))
        case _:
            yield type


def _constants(type: Type) -> dict[str, str]:
    """Required keys that hold one string → that string, as JSON text."""
    return {
        f.wire_name: f.type.values[0]
        for f in (type.fields if isinstance(type, Object) else ())
        if f.required
        and isinstance(f.type, Literals)
        and len(f.type.values) == 1
        and f.type.values[0][0] == '"'
    }


def _described(doc: str, schema: Schema) -> Schema:
    return {"description": doc, **schema} if doc else schema


def _said(**keywords: Any) -> Schema:
    return {keyword: value for keyword, value in keywords.items() if value is not None}
