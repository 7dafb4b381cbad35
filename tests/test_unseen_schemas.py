"""Schemas nobody has seen yet: each is a new version, added without a change of code."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcpgen.catalog import Catalog

from .compiling import Project, schema
from .fidelity.compare import Bindings

OFFICIAL = Catalog()
NEW = "2027-01-01"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    made = Project(tmp_path, monkeypatch)
    yield made
    made.forget()


def official(version: str) -> tuple[dict[str, Any], dict[str, Any]]:
    root = json.loads(OFFICIAL.data(version))
    return root, root["$defs" if "$defs" in root else "definitions"]


def agrees(
    project: Project, catalog: Catalog, name: str, definitions: list[str]
) -> None:
    project.generate(catalog, name, black=False)
    for module in ("types", "validators", "methods", "server", "client"):
        project.load(module, name)
    bindings = Bindings(catalog, name, package=project.package)
    wrong = [str(d) for each in definitions for d in bindings.compare(each, 15, seed=3)]
    assert not wrong, "\n".join(wrong[:10])


def swap(root: dict[str, Any]) -> dict[str, Any]:
    modern = "$defs" in root
    old, new = ("$defs", "definitions") if modern else ("definitions", "$defs")
    text = (
        json.dumps(root)
        .replace(f"#/{old}/", f"#/{new}/")
        .replace(f'"{old}": {{', f'"{new}": {{', 1)
    )
    swapped = json.loads(text)
    swapped["$schema"] = (
        "http://json-schema.org/draft-07/schema#"
        if modern
        else "https://json-schema.org/draft/2020-12/schema"
    )
    return swapped


@pytest.mark.parametrize("version", OFFICIAL.names())
def test_the_other_definitions_keyword(project: Project, version: str) -> None:
    root, _ = official(version)
    catalog = project.add(swap(root), NEW, after=version)
    was, now = OFFICIAL.protocol(version)[0], catalog.protocol(NEW)[0]
    assert now.era == was.era
    assert now.traits == was.traits
    assert {m.name for m in now.methods} == {m.name for m in was.methods}
    assert not [d for d in catalog.protocol(NEW)[1] if d.severity == "error"]
    agrees(project, catalog, NEW, ["Tool", "CallToolRequest", "ListToolsResult"])


@pytest.mark.parametrize(
    "union", ["ServerNotification", "ClientRequest", "ClientNotification"]
)
@pytest.mark.parametrize("version", ["2024-11-05", "2026-07-28"])
def test_a_direction_union_is_gone(project: Project, version: str, union: str) -> None:
    root, definitions = official(version)
    if union not in definitions:
        union = "ServerResult"
    definitions.pop(union)
    catalog = project.add(root, NEW, after=version)
    protocol, notes = catalog.protocol(NEW)
    assert protocol.era == OFFICIAL.protocol(version)[0].era
    assert {n.severity for n in notes} <= {"note", "warning"}
    if (version, union) != (
        "2026-07-28",
        "ClientNotification",
    ) and union != "ServerResult":
        assert "direction-unknown" in {n.code for n in notes}
    agrees(project, catalog, NEW, ["Tool"])


def test_errata_that_do_not_apply_are_notes(project: Project) -> None:
    root, definitions = official("2025-11-25")
    definitions["ElicitResult"] = {
        "type": "object",
        "properties": {"action": {"type": "string"}},
    }
    catalog = project.add(root, NEW, after="2025-11-25")
    found = [d for d in catalog.protocol(NEW)[1] if d.code == "erratum-mismatch"]
    assert found
    assert {d.severity for d in found} == {"note"}
    agrees(project, catalog, NEW, ["ElicitResult"])


PYTHON = [
    "class",
    "list",
    "None",
    "Any",
    "Struct",
    "Literal",
    "str",
    "type",
    "Annotated",
    "AnyOf",
    "Codec",
    "codec",
    "typing",
    "decode",
    "Issue",
    "Method",
    "ErrorCode",
    "ServerHandlers",
    "TYPE_CHECKING",
]


@pytest.mark.parametrize("name", PYTHON)
def test_definitions_named_as_python(project: Project, name: str) -> None:
    item = {
        "type": "object",
        "properties": {"a": {"type": "string", "minLength": 2}},
        "required": ["a"],
    }
    user = {
        "type": "object",
        "properties": {
            "one": {"$ref": f"#/$defs/{name}"},
            "many": {"type": "array", "items": {"$ref": f"#/$defs/{name}"}},
            "free": {},
            "either": {"anyOf": [{"$ref": f"#/$defs/{name}"}, {"$ref": "#/$defs/B"}]},
            "kind": {"enum": ["a", "b"]},
            "size": {"type": "integer", "minimum": 1},
        },
        "required": ["one"],
    }
    other = {"type": "object", "properties": {"b": {"const": 1}}, "required": ["b"]}
    definitions = {name: item, "B": other, "User": user}
    catalog = project.add(schema(**definitions), "x-1", kind="extension")
    agrees(project, catalog, "x-1", [name, "User"])


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


KEYS = [
    "class",
    "list",
    "self",
    "extra",
    "field",
    "import",
    "a-b",
    "$x",
    "str",
    "typing",
]
DEEP: dict[str, Any] = {"type": "integer"}
for _level in range(12):
    DEEP = {"type": "object", "properties": {"in": DEEP}, "required": ["in"]}

SHAPES: dict[str, dict[str, Any]] = {
    "keys": {
        **_object(**{k: {"type": "string"} for k in KEYS}),
        "required": ["class", "a-b"],
    },
    "open-keys": {
        **_object(**{k: {"type": "string"} for k in KEYS}),
        "additionalProperties": {},
    },
    "deep": DEEP,
    "one-of": {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]},
    "one-of-objects": {
        "oneOf": [
            {**_object(a={"type": "string"}), "required": ["a"]},
            {**_object(b={"type": "integer"}), "required": ["b"]},
        ]
    },
    "not": {"type": "string", "not": {"enum": ["", "a"]}},
    "pattern": {"type": "string", "pattern": "^[a-z]+$"},
    "closed": {**_object(a={"type": "string"}), "additionalProperties": False},
    "names": {"type": "object", "propertyNames": {"maxLength": 3}},
    "patterns": {
        **_object(a={"type": "string"}),
        "patternProperties": {"^x": {"type": "integer"}},
    },
    "patterns-closed": {
        "type": "object",
        "patternProperties": {"^x": {"type": "integer"}},
        "additionalProperties": False,
    },
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("version", ["2025-11-25"])
def test_new_shapes(project: Project, version: str, shape: dict[str, Any]) -> None:
    thing = copy.deepcopy(shape)
    holder = _object(thing={"$ref": "#/$defs/Thing"}, inline=thing)
    catalog = project.add(schema(Thing=thing, Holder=holder), "x-1", after=version)
    agrees(project, catalog, "x-1", ["Thing", "Holder"])


def test_an_extension_without_methods(project: Project) -> None:
    three = schema(
        Color={"enum": ["red", "green"]},
        Point=_object(x={"type": "number"}, y={"type": "number"}),
        Shape=_object(color={"$ref": "#/$defs/Color"}, at={"$ref": "#/$defs/Point"}),
    )
    catalog = project.add(three, "shapes-1.0", kind="extension")
    protocol = catalog.protocol("shapes-1.0")[0]
    assert protocol.era == "extension"
    assert not protocol.methods
    agrees(project, catalog, "shapes-1.0", ["Color", "Point", "Shape"])


def test_a_dict_beside_a_struct_in_a_union(project: Project) -> None:
    thing = {**_object(a={"type": "integer"}), "required": ["a"]}
    counts = {"type": "object", "additionalProperties": {"type": "string"}}
    either = {"anyOf": [{"$ref": "#/$defs/Thing"}, counts]}
    definitions = schema(Thing=thing, Holder=_object(either=either))
    catalog = project.add(definitions, "x-1", kind="extension")
    agrees(project, catalog, "x-1", ["Thing", "Holder"])


def test_a_choice_among_objects_that_msgspec_cannot_judge(project: Project) -> None:
    odd = {**_object(k={"type": "string", "not": {"const": "a"}}), "required": ["k"]}
    even = {**_object(k={"enum": ["a", "b"]}), "required": ["k"]}
    either = {"anyOf": [{"$ref": "#/$defs/Odd"}, {"$ref": "#/$defs/Even"}]}
    definitions = schema(Odd=odd, Even=even, Holder=_object(either=either))
    catalog = project.add(definitions, "x-1", kind="extension")
    agrees(project, catalog, "x-1", ["Odd", "Even", "Holder"])


def test_a_method_in_two_definitions_is_the_listed_one(project: Project) -> None:
    def message(**more: Any) -> dict[str, Any]:
        made = _object(method={"const": "elicitation/create"}, **more)
        return {**made, "required": ["method"]}

    definitions = schema(
        AskInputRequest=message(),
        ElicitRequest=message(id={"type": "integer"}),
        ServerRequest={"anyOf": [{"$ref": "#/$defs/ElicitRequest"}]},
    )
    catalog = project.add(definitions, "x-1", after="2025-11-25")
    protocol, notes = catalog.protocol("x-1")
    (method,) = protocol.methods
    assert method.definition == "ElicitRequest"
    assert method.sent_by == ("server",)
    assert "method-twice" in {note.code for note in notes}
    agrees(project, catalog, "x-1", ["AskInputRequest", "ElicitRequest"])


def test_untyped_params_are_any_object(project: Project) -> None:
    request = {
        **_object(method={"const": "x/run"}, params={"type": "object"}),
        "required": ["method", "params"],
    }
    catalog = project.add(schema(RunRequest=request), "x-1", kind="extension")
    project.generate(catalog, "x-1", black=False)
    assert project.load("methods").RUN.params is dict
    for module in ("server", "client"):
        project.load(module)
