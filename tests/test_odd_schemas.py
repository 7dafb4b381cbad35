"""Odd but legal schemas: each gives exact verdicts, loses nothing, and can be imported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcpgen.diagnostics import CompileError

from .compiling import Project, schema
from .fidelity.compare import Bindings


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    made = Project(tmp_path, monkeypatch)
    yield made
    made.forget()


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def obj(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


INT, TEXT, BOOL = {"type": "integer"}, {"type": "string"}, {"type": "boolean"}
INTS, TEXTS = ({"type": "array", "items": t} for t in (INT, TEXT))

SCHEMAS: dict[str, dict[str, Any]] = {
    "exclusive-objects": {
        "P": obj("m", m=TEXT),
        "Q": obj("m", "id", m=TEXT, id=INT),
        "D": obj(c={"oneOf": [ref("Q"), ref("P")]}),
    },
    "recursive-and-inexact": {
        "A": obj(b=ref("B"), z={"type": "array", "uniqueItems": True}),
        "B": obj(a=ref("A")),
    },
    "recursive-with-constant": {
        "A": obj(b=ref("B"), z=ref("K")),
        "B": obj(a=ref("A")),
        "K": obj("k", k={"const": "x"}),
    },
    "pattern-on-known-key": {
        "A": {**obj("ab", ab=TEXT), "patternProperties": {"^a": {"minLength": 3}}},
    },
    "required-but-undescribed": {
        "A": {
            "type": "object",
            "required": ["a", "x1"],
            "patternProperties": {"^x": INT},
            "additionalProperties": False,
        },
        "B": {"type": "object", "required": ["a"]},
    },
    "fractional-bounds": {
        "A": obj(t={"type": "number", "minimum": 0.5}, i={**INT, "maximum": 9.5})
    },
    "recursive-arrays": {
        "Tree": {"type": "array", "items": {"anyOf": [TEXT, ref("Tree")]}},
        "Maps": {
            "type": "object",
            "additionalProperties": {"anyOf": [INT, ref("Maps")]},
        },
    },
    "constant-with-facets": {
        "Req": obj("method", "id", method={"const": "abc", "minLength": 1}, id=INT),
        "Note": obj("method", method=TEXT),
        "Both": {"type": "array", "items": {"anyOf": [ref("Req"), ref("Note")]}},
    },
    "escaped-reference": {
        "List<Foo>": obj("a", a=TEXT),
        "a b": TEXT,
        "User": obj(x={"$ref": "#/$defs/List%3CFoo%3E"}, y={"$ref": "#/$defs/a%20b"}),
    },
    "empty-key": {"A": {**obj(**{"": TEXT, "a": INT}), "additionalProperties": True}},
    "taken-names": {
        "Meta": obj(a={**TEXT, "minLength": 2}),
        "_Meta": obj(b=TEXT),
        "types": obj(c=INT),
        "__all__": obj(d=INT),
        "foo": obj(e=INT),
        "bar": obj(foo=ref("foo"), other=ref("foo")),
    },
    "nameless": {
        "Error": obj("code", code={"const": -5}),
        "Request": obj("method", method={"const": "x/a"}),
    },
}


@pytest.mark.parametrize("definitions", SCHEMAS.values(), ids=SCHEMAS)
def test_verdicts_are_exact(project: Project, definitions: dict[str, Any]) -> None:
    catalog = project.add(schema(**definitions), kind="extension")
    project.generate(catalog, black=False)
    for module in ("types", "validators", "methods", "server", "client"):
        project.load(module)
    bindings = Bindings(catalog, "x-1", package=project.package)
    wrong = [str(d) for each in definitions for d in bindings.compare(each, 60, 5)]
    assert not wrong, "\n".join(wrong[:10])


OPEN = {"type": "object", "additionalProperties": True}
KEPT = [
    ({"anyOf": [INTS, TEXTS]}, ["007", "19"]),
    ({"anyOf": [INTS, {"type": "array", "items": {"type": "number"}}]}, [0.5]),
    ({"anyOf": [INT, {"not": TEXT}]}, 885.3),
    (
        {
            "anyOf": [
                {"type": "array", "items": INTS},
                {"type": "array", "items": {"type": "object"}},
            ]
        },
        [{}],
    ),
    (
        {"anyOf": [obj(x1=TEXT), {**obj("t", t={"const": "y"}), **OPEN}]},
        {"t": "y", "a": "q"},
    ),
    (
        {
            "anyOf": [
                {"type": "object", "additionalProperties": BOOL},
                obj(k=INT),
            ]
        },
        {"zz": False},
    ),
    (
        {"anyOf": [obj("k", k={"const": "x"}), obj("k", "v", k=TEXT, v=INT)]},
        {"k": "x", "v": 1},
    ),
    ({"type": "object", "required": ["a"]}, {"a": 1, "b": 2}),
]


@pytest.mark.parametrize(("field", "value"), KEPT, ids=map(repr, range(len(KEPT))))
def test_nothing_is_lost_in_unions(project: Project, field: Any, value: Any) -> None:
    catalog = project.add(schema(Holder=obj("v", v=field)), kind="extension")
    project.generate(catalog, black=False)
    types = project.load("types")
    data = json.dumps({"v": value})
    assert json.loads(types.encode(types.decode(data, "Holder"))) == {"v": value}


@pytest.mark.parametrize(
    ("definitions", "code"),
    [
        ({"A": obj(next={**ref("A"), **obj(q=INT)})}, "ref-recursive"),
        ({"A": {"const": "\ud800"}}, "not-text"),
        ({"A": {**TEXT, "minLength": 2**70}}, "keyword-malformed"),
        (
            {
                "FooError": obj("code", code={"const": -1}),
                "fooError": obj("code", code={"const": -2}),
            },
            "name-collision",
        ),
        (
            {
                "OnFooRequest": obj("method", method={"const": "a/b"}),
                "FooNotification": obj("method", method={"const": "notifications/c"}),
            },
            "name-collision",
        ),
    ],
)
def test_what_cannot_be_emitted_is_not_pinned(
    project: Project, definitions: dict[str, Any], code: str
) -> None:
    with pytest.raises(CompileError) as caught:
        project.add(schema(**definitions), kind="extension")
    assert caught.value.diagnostics[0].code == code
    assert not (project.root / "schema").exists()


def test_a_long_chain_of_definitions(project: Project) -> None:
    chain = {f"D{i}": obj(a=ref(f"D{i + 1}")) for i in range(600)} | {"D600": TEXT}
    catalog = project.add(schema(**chain), kind="extension")
    project.generate(catalog, black=False)
    types = project.load("types")
    assert types.decode(b'{"a":{"a":{}}}', types.D0).a.a == types.D2()
