"""Whether a JSON Schema is one: what a server would refuse is refused with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...load import JSON_TYPES, escape

_SCHEMAS_BY_NAME = {
    *("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"),
}
_SCHEMA_LISTS = {"allOf", "anyOf", "oneOf", "prefixItems"}
_SCHEMAS = {
    *("items", "additionalItems", "additionalProperties", "propertyNames", "not"),
    *("if", "then", "else", "contains", "unevaluatedItems", "unevaluatedProperties"),
}


def malformed(schema: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a schema: JSON pointer and message."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield pointer, "no schema: neither an object nor true or false"
        return
    for word, value in schema.items():
        place = f"{pointer}/{escape(word)}"
        if word in _SCHEMAS_BY_NAME:
            if isinstance(value, dict):
                for name, inner in value.items():
                    yield from malformed(inner, f"{place}/{escape(name)}")
            else:
                yield place, "no object"
        elif word in _SCHEMA_LISTS or (word == "items" and isinstance(value, list)):
            if isinstance(value, list) and (value or word == "items"):
                for number, inner in enumerate(value):
                    yield from malformed(inner, f"{place}/{number}")
            else:
                yield place, "no list with something in it"
        elif word in _SCHEMAS:
            yield from malformed(value, place)
        elif word in _VALUES and not _VALUES[word][0](value):
            yield place, f"not {_VALUES[word][1]}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of_texts(value: Any) -> bool:
    return (
        isinstance(value, list)
        and all(map(_is_text, value))
        and len(set(value)) == len(value)
    )


def _is_type(value: Any) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return (
        bool(kinds)
        and all(kind in JSON_TYPES for kind in kinds)
        and len(set(kinds)) == len(kinds)
    )


def _is_limit(value: Any) -> bool:
    # Before draft 6, the exclusive ones were true or false.
    return _is_number(value) or isinstance(value, bool)


_VALUES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (_is_type, "a type, nor a list of different ones"),
    "enum": (lambda value: isinstance(value, list), "a list"),
    "required": (_is_list_of_texts, "a list of different keys"),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "more than 0"),
    "minimum": (_is_number, "a number"),
    "maximum": (_is_number, "a number"),
    "exclusiveMinimum": (_is_limit, "a number"),
    "exclusiveMaximum": (_is_limit, "a number"),
    **dict.fromkeys(
        (
            *("minLength", "maxLength", "minItems", "maxItems", "minProperties"),
            *("maxProperties", "minContains", "maxContains"),
        ),
        (_is_count, "a number of things"),
    ),
    **dict.fromkeys(
        (
            "pattern",
            "$ref",
            "$dynamicRef",
            "$id",
            "$anchor",
            "$schema",
            "title",
            "description",
            "$comment",
            "format",
        ),
        (_is_text, "a text"),
    ),
}
"""Keyword → what its value has to be."""
