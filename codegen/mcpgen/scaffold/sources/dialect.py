"""Schemas as OpenAPI has them → JSON Schema, without what OpenAPI adds to it."""

from __future__ import annotations

from typing import Any

from .shapes import Json

_DROPPED = ("discriminator", "xml", "externalDocs", "example")
_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = ("items", "not", "additionalProperties", "propertyNames", "contains")


def json_schema(schema: Any, *, nullable: bool) -> Any:
    """A schema of OpenAPI as JSON Schema; `nullable` is a word of 3.0 only."""
    if not isinstance(schema, dict):
        return schema
    found: Json = {k: v for k, v in schema.items() if k not in _DROPPED}
    if nullable and "$ref" in found:
        return {"$ref": found["$ref"]}  # whatever stands beside it has no effect
    for word in _MAPS:
        if isinstance(found.get(word), dict):
            found[word] = {
                k: json_schema(v, nullable=nullable) for k, v in found[word].items()
            }
    for word in _LISTS:
        if isinstance(found.get(word), list):
            found[word] = [json_schema(v, nullable=nullable) for v in found[word]]
    for word in _SINGLE:
        if word in found:
            found[word] = json_schema(found[word], nullable=nullable)
    if "example" in schema and "examples" not in found:
        found["examples"] = [schema["example"]]
    if "type" not in found:
        # What is about objects alone is meant for objects.
        if "properties" in found or "additionalProperties" in found:
            found["type"] = "object"
        elif "items" in found:
            found["type"] = "array"
    return _of_3_0(found) if nullable else found


def _of_3_0(schema: Json) -> Json:
    for word, limit in (
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ):
        if isinstance(schema.get(word), bool) and schema.pop(word) and limit in schema:
            schema[word] = schema.pop(limit)
    if schema.pop("nullable", False) is not True:
        return schema
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
        return schema
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema
