"""`mcpgen new --from`: what a document becomes, and that nothing of it is lost."""

from __future__ import annotations

import ast
import asyncio
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import black
import pytest
from jsonschema import Draft202012Validator
from mcpgen.diagnostics import CompileError
from mcpgen.runtime import Client
from mcpgen.runtime.functions import ArgumentError
from mcpgen.scaffold.sources import read
from mcpgen.scaffold.sources.document import read_document

from .scaffolding import Made
from .test_hostile import PATTERNS, TEXTS

ROOT = Path(__file__).parent.parent
CASES = sorted(path.parent for path in (ROOT / "tests/sources").glob("*/input.*"))

Make = Callable[[Any], Made]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    made: list[Made] = []

    def one(document: Any) -> Made:
        made.append(Made(document, tmp_path, monkeypatch))
        return made[-1]

    monkeypatch.chdir(tmp_path)
    yield one
    for each in made:
        each.forget()


def document(case: Path) -> tuple[bytes, str]:
    (file,) = case.glob("input.*")
    return file.read_bytes(), file.name


def texts(data: bytes, shown: str, package: str, runtime: str) -> dict[str, str]:
    source = read(data, shown, package=package, runtime=runtime)
    return {**source.modules, **source.tests}


def refused(data: Any) -> Any:
    given = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(CompileError) as caught:
        read(given, "document.yaml")
    return caught.value.diagnostics[0]


# --- the text ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_document_becomes_what_is_expected(case: Path) -> None:
    """What is made of it is in `expected`, and is a decision when it changes."""
    made = texts(*document(case), case.name, "._mcp.runtime")
    expected = {
        path.name.removesuffix(".txt"): path.read_text("utf-8")
        for path in (case / "expected").iterdir()
    }
    assert made == expected
    mode = black.Mode(target_versions={black.TargetVersion.PY311})
    for text in made.values():
        assert black.format_str(text, mode=mode) == text


def test_the_text_passes_strict_type_checks(tmp_path: Path) -> None:
    from mypy import api

    for case in CASES:
        name = f"made_{case.name}"
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        made = texts(*document(case), name, "mcpgen.runtime")
        for path, text in made.items():
            (tmp_path / name / path).write_text(text, "utf-8")
    out, _, status = api.run(
        ["--config-file", str(ROOT / "pyproject.toml"), str(tmp_path)]
    )
    assert status == 0, out


# --- recognising documents --------------------------------------------------------------

TOOL = {"name": "ping", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    "document",
    [
        [TOOL],
        {"tools": [TOOL]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}},
    ],
    ids=["list", "tools", "response"],
)
def test_lists_of_tools_are_recognised(document: Any) -> None:
    source = read(json.dumps(document).encode(), "x.json")
    assert (source.kind, source.tools) == ("tools", ("ping",))
    yaml = b"# as YAML\ntools:\n- name: ping\n  inputSchema: {type: object}\n"
    assert read(yaml, "x.yaml").modules == source.modules


def test_one_page_of_a_list_is_said_to_be_one() -> None:
    page = {"tools": [TOOL], "nextCursor": "2"}
    (note,) = read(json.dumps(page).encode(), "x.json").notes
    assert (note.code, note.severity) == ("source-page", "warning")


API: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "A"}, "paths": {}}


def path(operation: Any, name: str = "/a", **more: Any) -> dict[str, Any]:
    return {**API, "paths": {name: {"get": operation}}, **more}


WRONG = {
    "nothing": (b"", "source-unknown", ""),
    "a text": (b"just words", "source-unknown", ""),
    "an object": ({"a": 1}, "source-unknown", ""),
    "swagger": ({"swagger": "2.0"}, "source-unknown", ""),
    "a version": ({**API, "openapi": "4.0.0"}, "source-version", "/openapi"),
    "no tools": ({"tools": []}, "source-empty", "/tools"),
    "no paths": (API, "source-empty", "/paths"),
    "no object": ({"tools": [1]}, "source-tool", "/tools/0"),
    "no name": ({"tools": [{**TOOL, "name": ""}]}, "source-tool", "/tools/0/name"),
    "twice": ({"tools": [TOOL, TOOL]}, "source-tool", "/tools/1/name"),
    "no schema": ({"tools": [{"name": "a"}]}, "source-tool", "/tools/0/inputSchema"),
    "hints": (
        {"tools": [{**TOOL, "annotations": {"readOnlyHint": 1}}]},
        "source-tool",
        "/tools/0/annotations/readOnlyHint",
    ),
    "external": (
        path({"parameters": [{"$ref": "other.yaml#/a"}]}),
        "ref-unsupported",
        "/paths/~1a/get/parameters/0/$ref",
    ),
    "unresolved": (
        path(
            {"requestBody": {"$ref": "#/components/schemas/Pte"}},
            components={"schemas": {"Pet": {}}},
        ),
        "ref-unresolved",
        "/paths/~1a/get/requestBody/$ref",
    ),
    "path": (path({}, "a"), "source-path", "/paths/a"),
    "placeholder": (path({}, "/{b}"), "source-path", "/paths/~1{b}/get"),
    "host": (
        path({}, servers=[{"url": "file:///etc/passwd"}]),
        "server-url",
        "/servers/0/url",
    ),
    "password": (
        path({}, servers=[{"url": "https://me:secret@api.example"}]),
        "server-url",
        "/servers/0/url",
    ),
    "deep": (b"[" * 5000, "too-deep", ""),
    "a tag": (b"a: !!python/object/apply:os.system ['touch pwned']", "not-yaml", ""),
    "a key twice": (b"a: 1\na: 2", "not-yaml", ""),
    "itself": (b"a: &a [*a]", "too-deep", ""),
    "aliases": (
        b"a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + b"".join(
            b"%c: &%c [%s]\n" % (c + 1, c + 1, b",".join([b"*%c" % c] * 10))
            for c in range(97, 106)
        ),
        "too-large",
        "",
    ),
    "merges": (
        b"a: &a {x: 1}\n"
        + b"".join(
            b"%c: &%c {<<: [%s]}\n" % (c + 1, c + 1, b",".join([b"*%c" % c] * 10))
            for c in range(97, 112)
        ),
        "not-yaml",
        "",
    ),
}


@pytest.mark.parametrize(("data", "code", "pointer"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_with_its_place(
    data: Any, code: str, pointer: str
) -> None:
    found = refused(data)
    assert (found.code, found.pointer) == (code, pointer)
    assert found.file == "document.yaml"
    if code == "source-unknown" and data != {"swagger": "2.0"}:
        assert "tools/list" in found.hint
        assert "OpenAPI" in found.hint


def test_yaml_is_read_as_json_would_be() -> None:
    data = b"a: no\nb: 2026-01-01\n200: 12:30:00\nc: ~\nd: [true, 1.5, 0x1f, .nan]"
    assert read_document(data, "x.yaml") == {
        "a": "no",
        "b": "2026-01-01",
        "200": "12:30:00",
        "c": None,
        "d": [True, 1.5, "0x1f", ".nan"],
    }
    assert read_document(b"b: &b {k: 1}\nm: {<<: *b, j: 2}", "x.yaml")["m"] == {
        "k": 1,
        "j": 2,
    }


# --- tools: the same schemas ------------------------------------------------------------


class Random:
    """Schemas, most of which a type can say, and instances that may fit them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def schema(self, depth: int = 0) -> Any:
        """Any schema."""
        pick = self.random.choice
        kinds = ["string", "integer", "number", "boolean", "null", "enum", "any"]
        kinds += ["array", "map", "object", "union", "ref"] * (depth < 3)
        kinds += ["odd"] * (self.random.random() < 0.3)
        made: dict[str, Any]
        match pick(kinds):
            case "string":
                made = {"type": "string"} | pick(
                    [{}, {"minLength": 1}, {"maxLength": 2}, {"pattern": "^a"}]
                )
            case "integer" | "number" as kind:
                made = {"type": kind} | pick(
                    [{}, {"minimum": 1}, {"exclusiveMaximum": 3}, {"multipleOf": 2}]
                )
            case "enum":
                made = pick(
                    [{"enum": ["a", "b"]}, {"const": 1}, {"enum": ["a", None, 2]}]
                    + [{"enum": [True, 1.5]}, {"type": "string", "enum": ["a", 1]}]
                )
            case "any":
                made = {}
            case "array":
                made = {"type": "array", "items": self.schema(depth + 1)} | pick(
                    [{}, {"minItems": 1}, {"maxItems": 1}, {"uniqueItems": True}]
                )
            case "map":
                made = {
                    "type": "object",
                    "additionalProperties": self.schema(depth + 1),
                } | pick([{}, {"minProperties": 1}])
            case "object":
                made = self.object(depth + 1)
            case "union":
                made = {
                    pick(["anyOf", "oneOf"]): [
                        self.schema(depth + 1) for _ in range(pick([1, 2, 2, 3]))
                    ]
                }
                if self.random.random() < 0.4:
                    made = {"type": pick([["string", "null"], ["object", "integer"]])}
            case "odd":
                made = pick(
                    [
                        {
                            "type": "object",
                            "patternProperties": {"^a": {"type": "null"}},
                        },
                        {"not": {"type": "string"}},
                        {"allOf": [self.object(depth + 1), self.object(depth + 1)]},
                        {"type": "array", "prefixItems": [{"type": "string"}]},
                    ]
                )
            case "ref":
                made = {"$ref": f"#/$defs/{pick(['Node', 'Word', 'List'])}"}
            case kind:
                made = {"type": kind}
        if self.random.random() < 0.3:
            made |= pick(
                [{"description": "Said of it."}, {"x-more": [1]}, {"title": "T"}]
            )
        return made

    def object(self, depth: int) -> dict[str, Any]:
        """An object with some keys."""
        names = self.random.sample(["a", "b", "fooBar", "list", "from", "x-y"], 2)
        if depth < 2:  # an argument that has no name in Python is another test's
            names = self.random.sample(["a", "b", "fooBar", "list", "city"], 3)
        made: dict[str, Any] = {
            "type": "object",
            "properties": {name: self.schema(depth) for name in names},
        }
        if self.random.random() < 0.6:
            made["required"] = names[:1]
        if self.random.random() < 0.5:
            made["additionalProperties"] = self.random.choice([True, False, False])
        for name in names[1:]:
            if self.random.random() < 0.3:
                default = self.random.choice([1, "a", None, [], {}, ["b"]])
                made["properties"][name]["default"] = default
        return made

    def instance(self, schema: Any, root: Any, depth: int = 0) -> Any:
        """Something that may or may not fit."""
        pick, chance = self.random.choice, self.random.random()
        if chance < 0.08 or depth > 6 or not isinstance(schema, dict):
            return pick(
                [None, True, 1, 0, 2.0, 2.5, "", "a", "abc", [], ["a"], {}, {"a": 1}]
            )
        if "$ref" in schema:
            found = root["$defs"][schema["$ref"].rpartition("/")[2]]
            return self.instance(found, root, depth + 1)
        for word in ("anyOf", "oneOf", "allOf"):
            if word in schema:
                return self.instance(pick(schema[word]), root, depth + 1)
        if "enum" in schema:
            return pick([*schema["enum"], "zzz"])
        if "const" in schema:
            return pick([schema["const"], 1.0, 2])
        kind = schema.get("type")
        match pick(kind) if isinstance(kind, list) else kind:
            case "string":
                return pick(["a", "ab", "b", "", "abc"])
            case "integer":
                return pick([0, 1, 2, 3, 4, 2.0, 1.5])
            case "number":
                return pick([0, 1, 2, 2.5, 3.5, 4])
            case "boolean":
                return pick([True, False, 1])
            case "array":
                items = schema.get("items", {})
                size = pick([0, 1, 2])
                return [self.instance(items, root, depth + 1) for _ in range(size)]
            case "object":
                properties = schema.get("properties", {})
                made = {
                    name: self.instance(inner, root, depth + 1)
                    for name, inner in properties.items()
                    if name in schema.get("required", ()) or self.random.random() < 0.6
                }
                more = schema.get("additionalProperties", {})
                if self.random.random() < 0.3:
                    made["more"] = self.instance(more, root, depth + 1)
                return made
            case _:
                return pick([None, 1, "a"])


DEFS = {
    "Node": {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/Node"}, "size": {"type": "integer"}},
        "required": ["size"],
        "additionalProperties": False,
    },
    "Word": {"type": "string", "maxLength": 2, "description": "A word."},
    "List": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
}


@pytest.mark.parametrize("seed", range(3))
def test_the_schemas_of_tools_stay_the_same(make: Make, seed: int) -> None:
    """Listed, and in what is let through: the verdicts of the document's schemas."""
    source = Random(seed)
    tools = [
        {
            "name": f"tool_{number}",
            "title": f"Tool {number}",
            "description": f"Number {number}." + "\n\nMore of it." * (number % 3),
            "annotations": {"readOnlyHint": bool(number % 2)},
            "inputSchema": source.object(1) | {"$defs": DEFS},
            "outputSchema": source.object(1) | {"$defs": DEFS},
        }
        for number in range(40)
    ]
    made = make({"tools": tools})
    entries = made.server().registry.tools
    kept = set(re.findall(r"tool_\d+", made.source.modules["schemas.py"].lower()))
    assert 10 < len(entries) - len(kept), "too few that have a signature: no test"
    accepted = checked = 0
    for tool in tools:
        entry = entries[str(tool["name"])]
        for key in ("name", "title", "description", "annotations"):
            assert entry.listed[key] == tool[key]
        for key in ("inputSchema", "outputSchema"):
            schema: Any = tool[key]
            before = Draft202012Validator(schema)
            after = Draft202012Validator(entry.listed[key])
            after.check_schema(entry.listed[key])
            for _ in range(60):
                value = source.instance(schema, schema)
                verdict = before.is_valid(value)
                assert after.is_valid(value) == verdict, (schema, value)
                accepted, checked = accepted + verdict, checked + 1
                if key == "inputSchema" and isinstance(value, dict):
                    assert _binds(entry, value) == verdict, (schema, value)
    assert 0.1 < accepted / checked < 0.9


def _binds(entry: Any, value: Any) -> bool:
    try:
        entry.signature.bind(value)
    except ArgumentError:
        return False
    return True


def test_what_schemas_merely_say_is_kept(make: Make) -> None:
    """Words, formats, defaults, and keywords that nobody knows, at every level."""
    schema = {
        "type": "object",
        "properties": {
            "when": {"type": "string", "format": "date", "description": "D.\nE."},
            "tags": {
                "type": "array",
                "items": {"type": "string", "format": "uri", "x-more": {"a": [1]}},
                "default": ["b"],
                "examples": [["a"]],
            },
            "both": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "description": "F",
                "default": None,
            },
            "odd": {"type": "string", "default": 5, "title": "Not a string"},
            "place": {"$ref": "#/$defs/Place", "description": "G"},
            "map": {"type": "object", "default": {"a": 1}, "x-more": 1},
            "region": {"type": "string", "x-mcp-header": "Region", "pattern": "["},
        },
        "additionalProperties": False,
        "$defs": {
            "Place": {
                "type": "object",
                "description": "H",
                "properties": {
                    "lat": {"type": "number", "description": "I", "default": 0.5},
                    "tags": {"type": "array", "default": ["c"]},
                },
            }
        },
    }
    listed = make([{"name": "a", "inputSchema": schema}]).listed()["a"]["inputSchema"]
    place = {**listed["$defs"]["Place"]}
    assert place.pop("title") == "Place"
    assert place.pop("required") == []
    assert {**listed, "$defs": {"Place": place}} == schema


def test_stubs_are_honest(make: Make) -> None:
    case = next(case for case in CASES if case.name == "tools")
    made = make(document(case)[0])
    server = made.server()

    async def call() -> None:
        async with Client.memory(server) as client:
            result = await client.call_tool("move-file", {"from": "a", "to": "b"})
            assert result.is_error is True
            assert "move-file is not implemented yet" in str(result.content)
            result = await client.call_tool("get_forecast", {"days": 30})
            assert "$.arguments.city" in str(result.content)
            assert "$.arguments.days" in str(result.content)

    asyncio.run(call())
