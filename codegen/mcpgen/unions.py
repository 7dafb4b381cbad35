"""Unions that annotations can say and decoders can take apart.

What comes in is whatever `anyOf` somebody wrote; what goes out has no arm twice, none
inside of another, no two that look alike on the wire, and defaults that fit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

Schema = dict[str, Any]

MAX_NESTING = 12
"""Of lists and dicts in a type; objects have names, and are not nested in it."""
MAX_ARMS = 100
"""More are no help as a type, and too many for what reads and compiles types."""

OBJECT: Schema = {"type": "object", "additionalProperties": {}}
NULL: Schema = {"type": "null"}
_PLAIN = {"string": str, "boolean": bool, "null": type(None)}


class Unions:
    """The unions of a document whose definitions are all known."""

    def __init__(self, definitions: Mapping[str, Schema], *, needs_tags: bool) -> None:
        self.definitions = definitions
        self.needs_tags = needs_tags
        """Can classes stand side by side only if a constant tells them apart?"""
        self.tags: dict[str, str] = {}
        """Class → the property that is its tag; it can have but one."""
        self.done: dict[str, Schema] = {}
        self.arms: dict[str, Schema] = {}

    def readable(self, schema: Schema) -> Schema:
        """The same schema, its unions in order, and as deep as anyone can read."""
        return _trimmed(self.settled(schema), 0)

    def settled(self, schema: Schema) -> Schema:
        """The same schema, its unions in order at every depth."""
        made = dict(schema)
        if "properties" in schema:
            made["properties"] = {
                k: self.settled(v) for k, v in schema["properties"].items()
            }
        for key in ("items", "additionalProperties"):
            if key in schema:
                made[key] = self.settled(schema[key])
        if "anyOf" in schema:
            del made["anyOf"]
            made = self._union(schema["anyOf"]) | made
        if "default" in made and not self._fits(made["default"], made):
            del made["default"]
        return made

    def _union(self, arms: list[Schema]) -> Schema:
        found = {json.dumps(arm, sort_keys=True): arm for arm in self._flat(arms)}
        kinds: dict[str, list[Schema]] = {}
        for arm in found.values():
            kinds.setdefault(_kind(arm), []).append(arm)
        if "any" in kinds:
            return {}
        made = [
            *self._objects(kinds.get("class", []), kinds.get("object", [])),
            *self._array(kinds.get("array", [])),
            *_scalars(kinds),
        ]
        return made[0] if len(made) == 1 else {"anyOf": made} if made else {}

    def _flat(self, arms: list[Schema]) -> Iterator[Schema]:
        """The arms, those of unions inside of them and behind references, too."""
        for arm in arms:
            if "$ref" in arm and "properties" not in self.definitions[arm["$ref"]]:
                arm = self._behind(arm["$ref"])
            if inner := arm.get("anyOf") or arm.get("oneOf"):
                yield from self._flat(inner)
            else:
                yield self._arm({k: v for k, v in arm.items() if k != "description"})

    def _arm(self, arm: Schema) -> Schema:
        """An arm in order; arms of arms are asked for again and again."""
        text = json.dumps(arm, sort_keys=True)
        if text not in self.arms:
            self.arms[text] = self.settled(arm)
        return self.arms[text]

    def _behind(self, name: str) -> Schema:
        """What a named union or constant is, settled once for all who refer to it."""
        if name not in self.done:
            self.done[name] = self.settled(self.definitions[name])
        return self.done[name]

    def _objects(self, classes: list[Schema], maps: list[Schema]) -> list[Schema]:
        if len(classes) + len(maps) < 2:
            return classes + maps
        if len(classes) > MAX_ARMS:
            return [OBJECT]
        tag = "" if maps else self._tag(classes)
        if tag:
            return [{"oneOf": classes, "discriminator": {"propertyName": tag}}]
        if self.needs_tags:
            return [OBJECT]
        return classes + ([OBJECT] if len(maps) > 1 else maps)

    def _tag(self, classes: list[Schema]) -> str:
        """The property that tells them all apart by a constant text; or none."""
        parts = [self.definitions[each["$ref"]] for each in classes]
        for name in parts[0]["properties"]:
            values = [_constant(part, name) for part in parts]
            tags = {self.tags.get(each["$ref"], name) for each in classes}
            is_distinct = None not in values and len(set(values)) == len(values)
            if is_distinct and tags == {name}:
                self.tags |= {each["$ref"]: name for each in classes}
                return str(name)
        return ""

    def _array(self, arrays: list[Schema]) -> list[Schema]:
        if len(arrays) < 2:
            return arrays
        return [{"type": "array", "items": self._union([a["items"] for a in arrays])}]

    def _fits(self, value: Any, schema: Schema) -> bool:
        """Is it a default that code can say, and that belongs there?"""
        if isinstance(value, float) and not math.isfinite(value):
            return False
        if "$ref" in schema:
            target = self.definitions[schema["$ref"]]
            return "properties" not in target and self._fits(value, target)
        if "enum" in schema:
            return any(value == v and type(value) is type(v) for v in schema["enum"])
        if "anyOf" in schema:
            return any(self._fits(value, arm) for arm in schema["anyOf"])
        match schema.get("type"):
            case "integer":
                return type(value) is int
            case "number":
                return type(value) in (int, float)
            case str(kind) if kind in _PLAIN:
                return type(value) is _PLAIN[kind]
        return False


def _trimmed(schema: Schema, depth: int) -> Schema:
    if depth > MAX_NESTING:
        return {}
    made = dict(schema)
    if "properties" in schema:
        inner = schema["properties"].items()
        made["properties"] = {key: _trimmed(value, depth + 1) for key, value in inner}
    for key in ("items", "additionalProperties"):
        if key in schema:
            made[key] = _trimmed(schema[key], depth + 1)
    if "anyOf" in schema:
        made["anyOf"] = [_trimmed(arm, depth) for arm in schema["anyOf"]]
        if {} in made["anyOf"]:
            return {}
    return made


def _kind(arm: Schema) -> str:
    if "$ref" in arm or "oneOf" in arm:
        return "class"
    return "enum" if "enum" in arm else arm.get("type", "any")


def _constant(definition: Schema, name: str) -> str | None:
    values = definition["properties"].get(name, {}).get("enum", [])
    is_tag = len(values) == 1 and isinstance(values[0], str)
    return values[0] if is_tag and name in definition["required"] else None


def _scalars(kinds: Mapping[str, list[Schema]]) -> Iterator[Schema]:
    """Texts, numbers and constants; a constant beside its own type says nothing."""
    values = [value for arm in kinds.get("enum", []) for value in arm["enum"]]
    has_number = "number" in kinds or "integer" in kinds
    if "string" in kinds:
        values = [value for value in values if not isinstance(value, str)]
        yield {"type": "string"} if len(kinds["string"]) > 1 else kinds["string"][0]
    if has_number:
        values = [value for value in values if not isinstance(value, int)]
        numbers = kinds.get("number", []) + kinds.get("integer", [])
        wide = {"type": "number" if "number" in kinds else "integer"}
        yield wide if len(numbers) > 1 else numbers[0]
    if "boolean" in kinds:
        yield {"type": "boolean"}
    is_null = "null" in kinds or None in values
    values = [value for value in dict.fromkeys(values) if value is not None]
    if values:
        yield {"enum": values}
    if is_null:
        yield NULL
