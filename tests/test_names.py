"""Names come from paths; what would clash is told apart or refused, never numbered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcpgen.diagnostics import CompileError
from mcpgen.load import load
from mcpgen.lower import lower
from mcpgen.names import NameOverride, class_name, field_name, resolve_names, snake_case


def names(*overrides: NameOverride, **definitions: Any) -> list[str]:
    data = json.dumps({"$defs": definitions}).encode()
    document = load(data, version="x", file="x.json")
    return [d.name for d in resolve_names(lower(document), overrides, file="x.json")]


def obj(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("wire", "python"),
    [
        ("mimeType", "mime_type"),
        ("_meta", "meta"),
        ("io.modelcontextprotocol/clientInfo", "client_info"),
        ("class", "class_"),
        ("$ref", "ref"),
        ("2fa", "field_2_fa"),
        ("", "field_"),
    ],
)
def test_keys_become_attributes(wire: str, python: str) -> None:
    assert field_name(wire) == python


def test_acronyms_stay_words() -> None:
    assert snake_case("URLElicitationRequiredError") == "url_elicitation_required_error"


def test_definitions_keep_their_names_where_python_allows() -> None:
    assert class_name("Tool") == "Tool"
    assert class_name("None") == "None_"
    assert class_name("a tool") == "ATool"
    # Look-alikes of letters would become the same identifier.
    assert class_name("Тool") != class_name("Tool")


def test_inline_objects_are_named_by_their_path() -> None:
    tool = obj(inputSchema=obj(type=TEXT), many={"type": "array", "items": obj(a=TEXT)})
    assert names(Tool=tool) == ["Tool", "ToolInputSchema", "ToolManyItem"]


def test_an_inline_object_that_spells_a_definition_is_told_apart() -> None:
    found = names(Call=obj(params=obj(a=TEXT)), CallParams=obj(b=TEXT))
    assert found == ["Call", "CallParams", "CallParamsObject"]


def test_arms_are_told_apart_by_constants_then_by_keys() -> None:
    arms = [
        obj("kind", kind={"const": "text"}, text=TEXT),
        obj("kind", "one", kind={"const": "list"}, one=TEXT),
        obj("kind", "two", kind={"const": "list"}, two=TEXT),
    ]
    assert names(Either={"anyOf": arms}) == [
        "Either",
        "EitherListWithOne",
        "EitherListWithTwo",
        "EitherText",
    ]


def test_arms_are_told_apart_by_what_they_need_and_by_what_is_inside() -> None:
    needs = [obj("a", a=TEXT, b=TEXT), obj("b", a=TEXT, b=TEXT)]
    assert names(Needs={"anyOf": needs}) == ["Needs", "NeedsWithA", "NeedsWithB"]
    inside = [obj("in", **{"in": obj(key, **{key: TEXT})}) for key in ("x", "y")]
    assert names(Inside={"anyOf": inside}) == [
        "Inside",
        "InsideWithInX",
        "InsideWithInXIn",
        "InsideWithInY",
        "InsideWithInYIn",
    ]


def test_an_override_is_shared_by_equals_only() -> None:
    override = NameOverride("/$defs/*/properties/_meta", "Meta")
    found = names(
        override,
        A=obj(_meta=obj(token=TEXT)),
        B=obj(_meta=obj(token=TEXT)),
        C=obj(_meta=obj(other=TEXT)),
    )
    assert found == ["A", "B", "C", "CMeta", "Meta"]


@pytest.mark.parametrize(
    "definitions",
    [
        {"A": {"anyOf": [obj(a=TEXT), obj(a={"type": "integer"})]}},
        {"a b": obj(a=TEXT), "aB": obj(a=TEXT), "A b": obj(a=TEXT)},
        {"A": obj(mimeType=TEXT, mime_type=TEXT)},
    ],
)
def test_what_cannot_be_told_apart_is_refused(definitions: dict[str, Any]) -> None:
    with pytest.raises(CompileError) as caught:
        names(**definitions)
    found, *_ = caught.value.diagnostics
    assert found.code == "name-collision"
    assert found.pointer.startswith("/$defs/")
    assert "in overlay.toml, with at = " in found.hint


def test_overrides_settle_what_would_collide() -> None:
    field = NameOverride("/$defs/A/properties/mime_type", "old_mime_type", "field")
    data = {"A": obj(mimeType=TEXT, mime_type=TEXT)}
    assert names(field, **data) == ["A"]
    two = {"a b": obj(a=TEXT), "aB": obj(a=TEXT), "AB": obj(a=TEXT)}
    renamed = NameOverride("/$defs/a b", "Spaced")
    assert names(renamed, **two) == ["AB", "Spaced", "aB"]
