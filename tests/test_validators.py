"""The generated validators: messages, paths, and verdicts on unusual schemas."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mcpgen.emit import validators
from mcpgen.ir import Protocol
from mcpgen.load import load
from mcpgen.lower import lower
from mcpgen.names import resolve_names
from mcpgen.render import environment

from tests.fidelity.instances import cases
from tests.fidelity.oracle import Oracle

TEMPLATES = Path(__file__).parents[1] / "templates"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

Build = Callable[[dict[str, Any]], ModuleType]


@pytest.fixture
def build() -> Iterator[Build]:
    """Compiles definitions to a live `validators` module."""
    env = environment(TEMPLATES)
    numbers, made = count(), list[str]()

    def module(name: str, text: str) -> ModuleType:
        made.append(name)
        sys.modules[name] = new = ModuleType(name)
        new.__package__ = name.rpartition(".")[0]
        exec(compile(text, name, "exec"), new.__dict__)
        return new

    def compile_(definitions: dict[str, Any]) -> ModuleType:
        root = f"generated_for_tests_{next(numbers)}"
        document = load(
            json.dumps({"$schema": DIALECT, "$defs": definitions}).encode(),
            version="test",
            file="schema.json",
        )
        named = resolve_names(lower(document))
        protocol = Protocol("test", "", "extension", document.dialect, named)
        text = validators.emit(protocol, env)["validators.py"]
        for package in (root, f"{root}.test"):
            module(package, "").__path__ = []
        module(f"{root}._issues", env.get_template("shared/issues.py.jinja").render())
        return module(f"{root}.test.validators", text)

    yield compile_
    for name in made:
        del sys.modules[name]


TOOLS: dict[str, Any] = {
    "Call": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "arguments": {"type": "object"},
            "odd key": {"type": "integer", "minimum": 0},
            "list": {"type": "array", "items": {"$ref": "#/$defs/Block"}},
            "mode": {"enum": ["fast", "slow"]},
        },
        "required": ["name"],
    },
    "Block": {"anyOf": [{"$ref": "#/$defs/Text"}, {"$ref": "#/$defs/Image"}]},
    "Text": {
        "type": "object",
        "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
        "required": ["type", "text"],
    },
    "Image": {
        "type": "object",
        "properties": {"type": {"const": "image"}, "data": {"type": "string"}},
        "required": ["type", "data"],
    },
    "Either": {
        "anyOf": [
            {"$ref": "#/$defs/Call"},
            {"type": "array", "items": {"type": "string"}},
        ]
    },
}


@pytest.mark.parametrize(
    ("name", "value", "issues"),
    [
        ("Call", {"name": "x"}, []),
        ("Call", 1, ["$: expected an object, got an integer"]),
        ("Call", {}, ["$.name: required, but missing"]),
        ("Call", {"name": None}, ["$.name: expected a string, got null"]),
        (
            "Call",
            {"name": 1, "arguments": []},
            [
                "$.name: expected a string, got an integer",
                "$.arguments: expected an object, got an array",
            ],
        ),
        (
            "Call",
            {"name": "x", "odd key": -1},
            ['$["odd key"]: expected an integer of at least 0, got -1'],
        ),
        (
            "Call",
            {"name": "x", "mode": "\n"},
            ['$.mode: expected "fast" or "slow", got "\\n"'],
        ),
        (
            "Call",
            {"name": "x", "list": [{"type": "text", "text": ""}, {"type": "image"}]},
            ["$.list[1].data: required, but missing"],
        ),
        ("Block", {"type": "x"}, ['$.type: expected "text" or "image", got "x"']),
        (
            "Block",
            {"type": []},
            ['$.type: expected "text" or "image", got an array of 0'],
        ),
        (
            "Either",
            ["x", 1],
            [
                "$: fits none of Call, strings; the closest is strings",
                "$[1]: expected a string, got an integer",
            ],
        ),
    ],
)
def test_issues_say_where_and_what(
    build: Build, name: str, value: object, issues: list[str]
) -> None:
    module = build(TOOLS)
    assert list(map(str, module.VALIDATORS[name](value, "$"))) == issues
    assert list(map(str, getattr(module, f"validate_{name}")(value))) == issues


def test_every_definition_has_a_validator(build: Build) -> None:
    module = build(TOOLS)
    assert module.VALIDATORS.keys() == TOOLS.keys()


def test_shown_values_are_clipped(build: Build) -> None:
    module = build({"A": {"const": "x"}})
    (issue,) = module.validate_A("y" * 10_000)
    assert len(str(issue)) < 120
    (issue,) = module.validate_A(10**9999)
    assert issue.message == 'expected "x", got a very large integer'


def test_a_union_with_a_constant_tries_one_arm_only(build: Build) -> None:
    """Otherwise nested unions would take exponential time."""
    node = {
        "type": "object",
        "properties": {
            "kind": {"const": "a"},
            "next": {"$ref": "#/$defs/Node"},
        },
        "required": ["kind", "next"],
    }
    other = node | {"properties": node["properties"] | {"kind": {"const": "b"}}}  # type: ignore[operator]
    module = build(
        {
            "A": node,
            "B": other,
            "Node": {"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]},
        }
    )
    value: dict[str, Any] = {"kind": "a"}
    for _ in range(100):
        value = {"kind": "b", "next": value}
    (issue,) = module.validate_Node(value)
    assert issue.path == "$" + 101 * ".next"


MIXED = [True, 0, 1.0, None, "1", [1, {"a": False}], {"a": [0]}]
HOSTILE = [
    *('"', "'", '"""', "\\", "\\'", "\n", "\r\n", "\0", "{path}", "{{ x }}", "{% x %}"),
    *('"); import os; ("', "日本", "\u2028", "class", "__class__", ""),
]

ODD: dict[str, Any] = {
    "OneOf": {
        "oneOf": [
            {"type": "integer"},
            {"minimum": 2},
            {"type": "object", "required": ["a"]},
        ]
    },
    "OneOfScalars": {
        "oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]
    },
    "Not": {"not": {"type": ["string", "null"]}},
    "NotObject": {"not": {"type": "object", "required": ["a"]}},
    "NotNever": {"not": {"not": {"minimum": 1}}},
    "Pattern": {"type": "string", "pattern": "^a['\"\\\\]?\\d*$", "maxLength": 3},
    "PatternProperties": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "x": True},
        "patternProperties": {"^a": {"minimum": 0}, "b$": {"type": "string"}},
        "additionalProperties": {"type": "boolean"},
    },
    "PropertyNames": {
        "type": "object",
        "propertyNames": {"maxLength": 1, "not": {"const": "x"}},
    },
    "Closed": {
        "type": "object",
        "properties": {"a": True},
        "additionalProperties": False,
    },
    "ClosedEmpty": {"additionalProperties": False},
    "Untyped": {
        "minimum": 1,
        "minLength": 2,
        "maxItems": 1,
        "required": ["a"],
        "minProperties": 2,
    },
    "Multiple": {"type": "number", "multipleOf": 2},
    "MultipleOfFraction": {"multipleOf": 0.5},
    "Unique": {"type": "array", "uniqueItems": True, "minItems": 1},
    "UniqueNumbers": {
        "type": "array",
        "items": {"type": "number"},
        "uniqueItems": True,
        "maxItems": 2,
    },
    "Exclusive": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 2},
    "ExclusiveInteger": {"type": "integer", "exclusiveMinimum": -0.5, "maximum": 1.5},
    "Mixed": {"enum": MIXED},
    "MixedField": {
        "properties": {"a": {"enum": MIXED}, "b": {"const": 1}},
        "required": ["a", "b"],
    },
    "ConstFalse": {"const": False},
    "ConstNull": {"properties": {"a": {"const": None}}, "required": ["a"]},
    "Undescribed": {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["b"],
    },
    "UndescribedTyped": {
        "required": ["b"],
        "additionalProperties": {"type": "integer"},
    },
    "Never": {"type": "object", "properties": {"a": False, "b": True}},
    "NeverRequired": {"type": "object", "properties": {"a": False}, "required": ["a"]},
    "NeverItems": {"type": "array", "items": False},
    "Sized": {"type": "object", "minProperties": 1, "maxProperties": 2},
    "SizedFields": {
        "properties": {"a": {}},
        "type": "object",
        "minProperties": 1,
        "maxProperties": 2,
    },
    "Values": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"enum": [1, "a"]}},
    },
    "AllOf": {
        "allOf": [
            {"$ref": "#/$defs/Closed"},
            {"minProperties": 1},
            {"not": {"required": ["b"]}},
        ]
    },
    "AllOfScalars": {
        "type": "integer",
        "allOf": [{"minimum": 0}, {"maximum": 9}, {"not": {"const": 3}}],
    },
    "AnyOfArrays": {
        "anyOf": [
            {"type": "array", "items": {"type": "string"}},
            {"type": "array", "items": {"type": "integer"}},
            {"type": ["null", "boolean"]},
        ]
    },
    "Length": {"type": "string", "minLength": 2, "maxLength": 2},
    "Recursive": {
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"$ref": "#/$defs/Recursive"}},
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/Recursive"}},
                "required": ["a"],
            },
        ]
    },
    "NullableKey": {
        "properties": {"a": {"type": ["null", "integer"]}},
        "required": ["a"],
        "type": "object",
    },
}

POOL: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        1.0,
        2,
        3,
        -1,
        0.5,
        1.5,
        2.0,
        2**70,
        1e300,
        "",
        "a",
        "ab",
    ),
    *(
        "1",
        "a1",
        "a'",
        'a"',
        "a\\",
        "abc",
        "a1\n",
        "😀",
        "😀😀",
        [],
        {},
        [1],
        [True],
        [1, 1.0],
    ),
    *(
        [1, True],
        [0, False],
        [[1], [1.0]],
        [[1], [True]],
        ["a", "a"],
        ["a", 1],
        [{}, {}],
    ),
    *(
        {"a": v}
        for v in (None, True, 1, 1.0, 0, -1, "x", False, [0], [False], {}, {"a": "x"})
    ),
    *({"b": v} for v in (None, True, 1, "x")),
    *(
        {"a": v, "b": 1}
        for v in (None, True, 1, 1.0, "x", "1", {"a": [False]}, {"a": [0.0]})
    ),
    *(
        {"a": 1, "b": True},
        {"a": 1, "b": 1.0, "c": True},
        {"x": 1},
        {"ab": 1},
        {"ab": "x"},
    ),
    *(
        {"c": True},
        {"c": 1},
        {"cb": "x"},
        {"long": 1},
        {"": 1},
        {"c": [1, "a"]},
        {"c": [True]},
    ),
    *([1, {"a": False}], [1.0, {"a": False}], [1, {"a": 0}], {"a": [0]}, {"a": [0.0]}),
]


def test_verdicts_on_unusual_keywords(build: Build) -> None:
    module = build(ODD)
    document = {"$schema": DIALECT, "$defs": ODD}
    oracle = Oracle(document)
    wrong = [
        (name, value, expected)
        for name in ODD
        for value, expected in [
            *((value, oracle.is_valid(name, value)) for value in POOL),
            *cases(document, name, 60, 7, oracle=oracle),
        ]
        if (module.VALIDATORS[name](value, "$") == []) is not expected
    ]
    assert wrong == []


@pytest.mark.parametrize("odd", HOSTILE)
def test_hostile_text_stays_text(build: Build, odd: str) -> None:
    """Keys, constants and patterns from a schema are data in the generated code."""
    definitions = {
        "A": {
            "type": "object",
            "properties": {
                odd: {"const": odd},
                f"more {odd}": {"type": "array", "items": {"enum": [odd, 1]}},
            },
            "required": [odd],
            "additionalProperties": False,
        }
    }
    module = build(definitions)
    assert module.validate_A({odd: odd, f"more {odd}": [1, odd]}) == []
    for value in (
        {},
        {odd: "other"},
        {odd: 1},
        {odd: odd, f"more {odd}": [0]},
        {odd: odd, "z": 1},
    ):
        (issue,) = module.validate_A(value)
        assert str(issue).isprintable()
        assert str(issue).isascii()


@pytest.mark.parametrize("pattern", ['"', "'", '"""', "\\\\", "\n", "日本", "\\\\'"])
def test_hostile_patterns(build: Build, pattern: str) -> None:
    module = build({"A": {"type": "string", "pattern": pattern}})
    assert module.validate_A(pattern.replace("\\\\", "\\")) == []
    (issue,) = module.validate_A("x")
    assert str(issue).isprintable()


def test_only_what_is_needed_is_imported(build: Build) -> None:
    assert not hasattr(build({"A": {"type": "string"}}), "re")
    assert hasattr(build({"A": {"type": "string", "pattern": "x"}}), "re")
