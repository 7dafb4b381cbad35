"""The schema that the IR writes back allows what the corrected official one allows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcpgen.catalog import Catalog
from mcpgen.emit.schema import schema
from mcpgen.ir import Object, Protocol

from .compiling import Project
from .compiling import schema as of
from .fidelity.instances import cases
from .fidelity.oracle import Oracle

CATALOG = Catalog()


def differences(catalog: Catalog, version: str, count: int, seed: int) -> list[str]:
    """The instances on which the corrected schema and the one written back differ."""
    document, (protocol, _) = catalog.corrected(version), catalog.protocol(version)
    theirs, ours = Oracle(document.root), Oracle(schema(protocol))
    names = {d.schema_name: d.name for d in protocol.definitions if d.schema_name}
    return [
        f"{name}: {verdict} for {json.dumps(instance)}"
        for name in theirs.definitions
        for instance, verdict in cases(document.root, name, count, seed, oracle=theirs)
        if ours.is_valid(names[name], instance) != verdict
    ]


@pytest.mark.parametrize("version", CATALOG.names())
def test_it_gives_the_verdicts_of_the_corrected_schema(version: str) -> None:
    wrong = differences(CATALOG, version, 6, seed=3)
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:20])


def inline_objects(value: Any) -> int:
    if isinstance(value, dict):
        return ("properties" in value) + sum(map(inline_objects, value.values()))
    return sum(map(inline_objects, value)) if isinstance(value, list) else 0


@pytest.mark.parametrize("version", CATALOG.names())
def test_every_object_has_a_name(version: str) -> None:
    protocol = CATALOG.protocol(version)[0]
    definitions = schema(protocol)["$defs"]
    assert list(definitions) == [d.name for d in protocol.definitions]
    for definition in protocol.definitions:
        made = definitions[definition.name]
        known = isinstance(definition.type, Object) and bool(definition.type.fields)
        parts = made.get("properties", {})
        assert ("properties" in made) == known
        # A key of that name (of a JSON Schema's) is no keyword.
        assert not sum(inline_objects(part) for part in parts.values())


ODD: dict[str, Any] = {
    "Bounds": {
        "type": "object",
        "properties": {
            "n": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
            "i": {"type": "integer", "minimum": 1, "maximum": 3, "default": 2},
            "s": {"type": "string", "minLength": 1, "maxLength": 2, "pattern": "^a"},
            "a": {"type": "array", "minItems": 1, "uniqueItems": True},
            "m": {"type": "object", "minProperties": 1, "maxProperties": 2},
        },
        "required": ["n", "undescribed"],
    },
    "Keys": {
        "type": "object",
        "patternProperties": {"^x": {"type": "integer"}},
        "propertyNames": {"maxLength": 3},
        "additionalProperties": False,
    },
    "One": {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 0}]},
    "Not": {"type": "string", "not": {"enum": ["a", "b"]}},
    "Both": {"allOf": [{"$ref": "#/$defs/One"}, {"$ref": "#/$defs/Not"}]},
    "Also": {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}]},
    "Tree": {"type": "object", "properties": {"sub": {"$ref": "#/$defs/Tree"}}},
    "Nothing": False,
    "Anything": True,
    "Consts": {"enum": [None, 1.5, {"a": [1]}, "x", True]},
}


def test_rare_keywords_are_written_back(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = Project(tmp_path, monkeypatch).add(of(**ODD))
    assert differences(catalog, "x-1", 60, seed=5) == []


def test_what_tells_arms_apart_is_said() -> None:
    def discriminator(protocol: Protocol, name: str) -> str | None:
        found = schema(protocol)["$defs"][name].get("discriminator", {})
        return found.get("propertyName")  # type: ignore[no-any-return]

    newest = CATALOG.protocol(CATALOG.names()[-1])[0]
    assert discriminator(newest, "ContentBlock") == "type"
    assert discriminator(newest, "ClientRequest") == "method"
    # Several string schemas have one type, and results have no constants.
    assert discriminator(newest, "PrimitiveSchemaDefinition") is None
    assert discriminator(newest, "ServerResult") is None
