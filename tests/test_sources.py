"""`mcpgen new --from`: what a document becomes, and that nothing of it is lost."""

from __future__ import annotations

import ast
import asyncio
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import black
import pytest
from black.mode import TargetVersion
from jsonschema import Draft202012Validator, SchemaError
from mcpgen.diagnostics import CompileError
from mcpgen.runtime import Client
from mcpgen.runtime.functions import ArgumentError
from mcpgen.scaffold.sources import read
from mcpgen.scaffold.sources.document import read_document

from .scaffolding import Made
from .test_hostile import PATTERNS, TEXTS

ROOT = Path(__file__).parent.parent
CASES = sorted(path.parent for path in (ROOT / "tests/sources").glob("*/input.*"))

Make = Callable[..., Made]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.chdir(tmp_path)

    def made(document: Any, *, black: bool = False) -> Made:
        return Made(document, tmp_path, monkeypatch, black=black)

    return made


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
    mode = black.Mode(target_versions={TargetVersion.PY311})
    for text in made.values():
        assert black.format_str(text, mode=mode) == text


def test_the_text_passes_strict_type_checks(tmp_path: Path) -> None:
    for case in CASES:
        name = f"made_{case.name}"
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        made = texts(*document(case), name, "mcpgen.runtime")
        for path, text in made.items():
            (tmp_path / name / path).write_text(text, "utf-8")
    # In a process of its own: what mypy does to the collector is not for others.
    command = [sys.executable, "-m", "mypy"]
    command += ["--config-file", str(ROOT / "pyproject.toml"), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("runtime", ["._mcp.runtime", "mcpgen.runtime"])
@pytest.mark.parametrize("closed", [False, True])
def test_imports_that_are_not_needed_leave_no_gap(runtime: str, closed: bool) -> None:
    schema = {"type": "object", "additionalProperties": not closed}
    api: dict[str, Any] = {
        "openapi": "3.1.0",
        "servers": [{"url": "https://a.example"}],
    }
    api |= {"paths": {"/a": {"get": {"responses": {"200": {"description": ""}}}}}}
    for source in ([{"name": "a", "inputSchema": schema}], api):
        made = texts(json.dumps(source).encode(), "a.json", "a", runtime)["tools.py"]
        imports = made.partition("async def")[0].rstrip()
        assert "Server" in imports
        assert "\n\n\n" not in imports


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


@pytest.mark.parametrize("shown", ["x.json", "x.yaml"])
@pytest.mark.parametrize("number", ["1e999", "-1e999", "1.5e400"])
def test_a_number_beyond_all_bounds_is_refused(shown: str, number: str) -> None:
    """As `inf`, it would be a name in what is generated."""
    data = f'{{"tools": [{{"name": "a", "x": {number}}}]}}'
    if shown == "x.yaml":
        data = f"tools:\n  - {{name: a, x: {number}}}"
    with pytest.raises(CompileError, match="too large"):
        read_document(data.encode(), shown)


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
                few: list[Any] = [{"enum": ["a", "b"]}, {"const": 1}]
                few += [{"enum": ["a", None, 2]}, {"enum": [True, 1.5]}]
                made = pick([*few, {"type": "string", "enum": ["a", 1]}])
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
                default: Any = self.random.choice([1, "a", None, [], {}, ["b"]])
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


@pytest.mark.parametrize("seed", range(2))
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
        for number in range(30)
    ]
    made = make({"tools": tools})
    entries = made.server().registry.tools
    kept = set(re.findall(r"tool_\d+", made.source.modules["schemas.py"].lower()))
    assert len(entries) - len(kept) > 8, "too few that have a signature: no test"
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
            for _ in range(40):
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


JUNK: list[Any] = [
    *(None, 0, 1.5, "", "string", [], [1], {"$ref": 5}, {"type": [[]]}, {"type": {}}),
    *({"enum": {}}, {"allOf": [{"properties": []}]}, {"anyOf": []}, {"anyOf": [7]}),
    *({"required": [[]]}, {"required": "a"}, {"properties": {"a": 1}}, {"type": "x"}),
    *({"type": "string", "minLength": -1}, {"type": "string", "pattern": 1}),
    *({"type": "object", "additionalProperties": 1}, {"type": ["null", "null"]}),
]


@pytest.mark.parametrize("junk", JUNK, ids=str)
def test_what_is_no_schema_is_refused(junk: Any) -> None:
    """And what the official meta-schema refuses is no schema."""
    with pytest.raises(SchemaError):
        Draft202012Validator.check_schema({"properties": {"a": junk}})
    schema = {"type": "object", "properties": {"a": junk}}
    for key in ("inputSchema", "outputSchema"):
        found = refused([{**TOOL, key: schema}])
        assert found.code == "source-tool"
        assert found.pointer.startswith(f"/0/{key}/properties/a")


def test_an_api_that_is_described_badly_is_no_reason_to_give_up(make: Make) -> None:
    """What cannot be read of it is left open, and checked by the API."""
    schemas: dict[str, Any] = {f"Junk{n}": junk for n, junk in enumerate(JUNK)}
    schemas |= {
        "Loop": {"allOf": [{"$ref": "#/components/schemas/Loop"}, {"type": "object"}]},
        "Odd": {"type": "object", "properties": {"a": {}}, "additionalProperties": {}},
        "Shut": {"type": "object", "unevaluatedProperties": False},
    }
    refs = {name: {"$ref": f"#/components/schemas/{name}"} for name in schemas}
    body = {"type": "object", "properties": refs}
    content = {"application/json": {"schema": body}}
    operation = {
        "operationId": "go",
        "requestBody": {"content": content},
        "responses": {"200": {"content": content}},
    }
    made = make(path(operation, components={"schemas": schemas}))
    ((name, tool),) = made.listed().items()
    assert name == "go"
    listed = tool["inputSchema"]["$defs"]["GoBody"]["properties"]
    assert len(listed) == len(schemas)
    assert listed["Shut"]["unevaluatedProperties"] is False


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "unevaluatedProperties": False},
        {"type": "array", "contains": False},
        {"allOf": [{"$ref": "#/$defs/A"}, {"allOf": [{"$ref": "#/$defs/B"}]}]},
        {"allOf": [{"$ref": "#/$defs/A"}, {"minProperties": 1}]},
        {"oneOf": [{"type": "integer"}, {"type": "number"}]},
        {"type": "number", "multipleOf": 0.1},
        {"$ref": "#/$defs/A", "required": ["z"]},
        {"const": True},
        {"enum": [1.5, "a"]},
        {"type": "integer", "maximum": 2**70},
    ],
    ids=str,
)
def test_the_verdicts_of_odd_schemas_stay(make: Make, schema: Any) -> None:
    defs = {
        "A": {"type": "object", "properties": {"a": {"type": "string"}}},
        "B": {"type": "object", "properties": {"b": {"type": "string"}}},
    }
    whole = {"type": "object", "properties": {"v": schema}, "$defs": defs}
    made = make([{"name": "t", "inputSchema": whole}])
    entry = made.server().registry.tools["t"]
    before = Draft202012Validator(whole)
    values: list[Any] = [None, True, 1, 1.0, 1.5, 0.3, "a", [], [1], {}, {"z": 1}]
    values += [{"a": 1}, {"b": 1}, {"a": "x", "b": "y"}, {"b": "x"}, 2**71]
    for value in values:
        verdict = before.is_valid({"v": value})
        after = Draft202012Validator(entry.listed["inputSchema"])
        assert after.is_valid({"v": value}) == verdict, value
        assert _binds(entry, {"v": value}) == verdict, value


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


# --- OpenAPI: what is sent, and what comes back -----------------------------------------


class Api:
    """A small HTTP server on loopback that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answer: tuple[int, str, bytes] = (200, "application/json", b"[]")
        self.stays_silent = False

    async def __aenter__(self) -> Api:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().strip().split("\r\n")
                method, where, _ = first.split(" ")
                headers = {
                    name.lower(): value.strip()
                    for name, _, value in (line.partition(":") for line in lines)
                }
                size = int(headers.get("content-length", 0))
                body = await reader.readexactly(size)
                self.asked.append((method, where, headers, body))
                if not self.stays_silent:
                    status, kind, content = self.answer
                    writer.write(
                        f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n"
                        f"Location: /elsewhere\r\nContent-Length: {len(content)}\r\n"
                        "\r\n".encode() + content
                    )
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


SECRETS = {
    "PET_STORE_API_KEY": "key",
    "PET_STORE_BASIC": "me:secret",
    "PET_STORE_TOKEN": "token",
}


def calls(
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    play: Callable[[Client, Api, Any], Any],
    data: Any = None,
) -> None:
    """Play with the server of a document, whose API is ours."""
    made = make(data or document(ROOT / "tests/sources/pets")[0])

    async def run() -> None:
        async with Api() as api:
            monkeypatch.setenv(
                f"{made.load('api').__name__ and 'PET_STORE'}_URL", api.url
            )
            server = made.server()
            async with server.running(), Client.memory(server) as client:
                assert made.load("api").client is not None
                await play(client, api, made)
            assert made.load("api").client is None

    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    asyncio.run(run())


def test_parameters_go_where_they_belong(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(client: Client, api: Api, made: Made) -> None:
        result = await client.call_tool(
            "listPets",
            {
                "limit": 5,
                "tags": ["a b", "c&d"],
                "kinds": ["cat", "dog"],
                "colours": ["red", "blue"],
                "filter": {"age": 3, "isTame": True},
                "x_request_id": "r-1",
                "session": "s;1",
            },
        )
        assert not result.is_error, result.content
        ((method, where, headers, body),) = api.asked
        assert (method, body) == ("GET", b"")
        assert where == (
            "/v1/pets?limit=5&tags=a%20b&tags=c%26d&kinds=cat%2Cdog"
            "&colours=red%7Cblue&filter%5Bage%5D=3&filter%5BisTame%5D=true"
        )
        assert headers["x-request-id"] == "r-1"
        assert headers["cookie"] == "session=s%3B1"
        assert headers["x-api-key"] == "key"
        assert "authorization" not in headers
        await client.call_tool("listPets")
        assert api.asked[1][1] == "/v1/pets?limit=20"
        assert "cookie" not in api.asked[1][2]
        for text in ("a\r\nX-Evil: 1", "日本"):
            result = await client.call_tool("listPets", {"x_request_id": text})
            assert result.is_error is True
        assert len(api.asked) == 2

    calls(make, monkeypatch, play)


def test_a_part_of_the_path_stays_one(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(client: Client, api: Api, made: Made) -> None:
        api.answer = (200, "application/json", b'{"name": "Rex", "id": 1}')
        for value, sent in (
            ("a/b", "a%2Fb"),
            ("../x?y#z", "..%2Fx%3Fy%23z"),
            ("{petId}", "%7BpetId%7D"),
            ("日本", "%E6%97%A5%E6%9C%AC"),
        ):
            await client.call_tool("getPet", {"pet_id": value})
            assert api.asked[-1][1] == f"/v1/pets/{sent}"
        asked = len(api.asked)
        for value in ("", ".", ".."):
            result = await client.call_tool("getPet", {"pet_id": value})
            assert result.is_error is True
        assert len(api.asked) == asked
        assert "x-api-key" not in api.asked[-1][2]

    calls(make, monkeypatch, play)


def test_bodies_and_answers_are_typed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(client: Client, api: Api, made: Made) -> None:
        pet = {"name": "Rex", "nickName": None, "id": 7, "owner": {"name": "Ann"}}
        api.answer = (201, "application/json", json.dumps(pet | {"new": 1}).encode())
        body = {"name": "Rex", "nickName": None, "treat": {"bones": 2}}
        result = await client.call_tool("post_pets", {"body": body})
        assert result.structured_content == pet
        method, where, headers, sent = api.asked[0]
        assert (method, where) == ("POST", "/v1/pets")
        assert headers["content-type"] == "application/json"
        assert json.loads(sent) == body
        result = await client.call_tool("post_pets", {"body": {"name": ""}})
        assert "$.arguments.body.name" in str(result.content)
        assert len(api.asked) == 1
        api.answer = (200, "text/plain", b"Welcome")
        form = {"user": "a&b", "scope": ["x", "y"]}
        result = await client.call_tool("login", {"body": form})
        assert "Welcome" in str(result.content)
        assert api.asked[1][2]["content-type"] == "application/x-www-form-urlencoded"
        assert api.asked[1][3] == b"user=a%26b&scope=x&scope=y"

    calls(make, monkeypatch, play)


def test_what_the_api_refuses_is_readable(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(client: Client, api: Api, made: Made) -> None:
        async def told(tool: str = "listPets", **arguments: Any) -> str:
            result = await client.call_tool(tool, arguments)
            assert result.is_error is True
            (content,) = result.content
            return str(getattr(content, "text", ""))

        api.answer = (404, "application/json", b'{"title": "Gone", "detail": "No pet"}')
        assert await told() == "the API answered 404 Not Found: Gone: No pet"
        api.answer = (503, "text/html", b"<h1>" + b"x" * 5000)
        assert (await told()).startswith(
            "the API answered 503 Service Unavailable: <h1>"
        )
        assert len(await told()) < 1200
        api.answer = (302, "text/plain", b"")
        assert await told() == "the API answered 302 Found"
        assert {where for _, where, *_ in api.asked} == {"/v1/pets?limit=20"}
        api.answer = (200, "application/json", b'[{"name": 5}]')
        assert "$[0]" in await told()
        api.answer = (200, "text/html", b"<html>")
        assert "text/html" in await told()
        settings = made.load("api")
        monkeypatch.setattr(settings, "MAX_BYTES", 10)
        api.answer = (200, "text/plain", b"x" * 11)
        assert "more than 10 bytes" in await told()
        monkeypatch.setattr(settings, "SECONDS", 0.05)
        api.stays_silent = True
        settings.client.timeout = settings.SECONDS
        assert "0.05 seconds" in await told()
        monkeypatch.setenv("PET_STORE_URL", "http://127.0.0.1:1")
        assert "cannot be called" in await told()

    calls(make, monkeypatch, play)


def test_credentials_come_from_the_environment(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(client: Client, api: Api, made: Made) -> None:
        api.answer = (204, "text/plain", b"")
        gone = await client.call_tool("delete-pet", {"pet_id": "1"})
        assert "204 No Content" in str(gone.content)
        assert api.asked[-1][2]["authorization"] == "Basic bWU6c2VjcmV0"
        monkeypatch.delenv("PET_STORE_BASIC")
        await client.call_tool("delete-pet", {"pet_id": "1"})
        assert api.asked[-1][2]["authorization"] == "Bearer token"
        assert api.asked[-1][2]["x-api-key"] == "key"
        monkeypatch.delenv("PET_STORE_TOKEN")
        asked = len(api.asked)
        result = await client.call_tool("delete-pet", {"pet_id": "1"})
        wanted = "set PET_STORE_BASIC or PET_STORE_TOKEN and PET_STORE_API_KEY"
        assert wanted in str(result.content)
        assert len(api.asked) == asked
        for text in made.source.modules.values():
            assert not any(secret in text for secret in ("me:secret", "bWU6"))

    calls(make, monkeypatch, play)


def test_operations_are_tools_that_say_what_they_do(make: Make) -> None:
    made = make(document(ROOT / "tests/sources/pets")[0])
    listed = made.listed()
    assert list(listed) == ["listPets", "post_pets", "getPet", "delete-pet", "login"]
    assert listed["listPets"]["title"] == "List pets"
    assert listed["listPets"]["annotations"] == {"readOnlyHint": True}
    assert listed["listPets"]["_meta"] == {"openapi": {"tags": ["pets"]}}
    assert listed["delete-pet"]["annotations"]["destructiveHint"] is True
    assert listed["delete-pet"]["description"].startswith("Deprecated.")
    properties = listed["listPets"]["inputSchema"]["properties"]
    assert properties["limit"]["description"] == "How many at most."
    pet = listed["post_pets"]["inputSchema"]["$defs"]["NewPet"]["properties"]
    assert pet["nickName"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert pet["treat"]["oneOf"][0]["properties"] == {"bones": {"type": "integer"}}
    (note,) = made.source.notes
    assert note.code == "operation-left-out"
    assert "image/png" in note.message


@pytest.mark.parametrize("version", ["3.0.0", "3.1.0"])
def test_null_is_said_in_two_ways(make: Make, version: str) -> None:
    kinds: dict[str, Any] = {"type": ["string", "null"]}
    if version == "3.0.0":
        kinds = {"type": "string", "nullable": True}
    limit = {"type": "integer", "minimum": 1, "exclusiveMinimum": True}
    if version == "3.1.0":
        limit = {"type": "integer", "exclusiveMinimum": 1}
    parameters = [
        {"name": "a", "in": "query", "schema": kinds},
        {"name": "b", "in": "query", "schema": limit},
    ]
    made = make({**path({"parameters": parameters}), "openapi": version})
    found = made.listed()["get_a"]["inputSchema"]["properties"]
    assert found == {
        "a": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "b": {"type": "integer", "exclusiveMinimum": 1},
    }


def test_an_api_without_a_tool_says_why() -> None:
    upload: Any = {"content": {"image/png": {}}}
    data = json.dumps(path({"requestBody": upload})).encode()
    with pytest.raises(CompileError) as caught:
        read(data, "x.json")
    codes = [diagnostic.code for diagnostic in caught.value.diagnostics]
    assert codes == ["source-empty", "operation-left-out"]


def test_names_come_from_ids_and_else_from_paths() -> None:
    pet = {"name": "petId", "in": "path", "schema": {"type": "integer"}}
    paths: dict[str, Any] = {
        "/pets/{petId}": {
            "parameters": [pet],
            "get": {"operationId": "get"},
            "delete": {},
        },
        "/pets": {"get": {"operationId": "get"}, "post": {"operationId": "make a/pet"}},
        "/" + "long/" * 30: {"get": {}},
    }
    tools = read(json.dumps({**API, "paths": paths}).encode(), "x").tools
    assert tools[:4] == (
        "get_pets_by_pet_id",
        "delete_pets_by_pet_id",
        "get_pets",
        "make_a_pet",
    )
    assert len(tools[4]) == 64
    backwards = {**API, "paths": dict(reversed(paths.items()))}
    assert {*read(json.dumps(backwards).encode(), "x").tools} == {*tools}
    both: Any = {"/a-b": {"get": {}}, "/a_b": {"get": {}}}
    assert refused({**API, "paths": both}).code == "name-collision"


# --- hostile documents ------------------------------------------------------------------


def assert_only_data(made: Made) -> None:
    for name, text in made.source.modules.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import) and name != "api.py":
                pytest.fail(f"{name} imports {node.names[0].name}")
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("__import__", "eval", "exec", "os.system"), name
    assert not list(made.home.parent.rglob("pwned"))


def test_text_of_tools_stays_data(make: Make) -> None:
    tools: list[Any] = []
    for key, text in TEXTS.items():
        inner = {"type": "object", "properties": {text: {"type": "string"}}}
        said = {"description": text, "title": text}
        schema = {
            "type": "object",
            "properties": {
                "a": {"type": "string", "default": text, **said},
                "b": {"enum": [text, "other"], "x-more": {text: text}},
                "c": {"$ref": f"#/$defs/{text}"} if len(text) < 99 else {},
            },
            "required": ["b"],
            "$defs": {text: inner | {"description": text}},
        }
        odd = {
            "type": "object",
            "properties": {text: {"const": text}},
            "required": [text],
        }
        tools += [
            {"name": f"plain_{key}", **said, "inputSchema": schema},
            {"name": f"odd_{key}", "inputSchema": odd, "_meta": {text: text}},
        ]
        if len(text) < 99:
            tools.append({"name": text, "inputSchema": schema, "outputSchema": odd})
        else:
            found = refused([{"name": text, "inputSchema": schema}])
            assert found.code == "name-collision"
    made = make(tools)
    assert_only_data(made)
    listed = made.listed()
    assert list(listed) == [tool["name"] for tool in tools]
    for key, text in TEXTS.items():
        plain, other = listed[f"plain_{key}"], listed[f"odd_{key}"]
        assert plain["title"] == plain["description"] == text
        assert other["_meta"] == {text: text}
        properties = plain["inputSchema"]["properties"]
        said = {"description": text, "title": text}
        assert properties["a"] == {"type": "string", "default": text, **said}
        assert sorted(properties["b"]["enum"]) == sorted([text, "other"])
        assert properties["b"]["x-more"] == {text: text}
        check = Draft202012Validator(other["inputSchema"])
        assert check.is_valid({text: text})
        assert not check.is_valid({text: text + "x"})


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_of_an_api_stays_data(make: Make, text: str) -> None:
    schema = {
        "type": "object",
        "properties": {text: {"enum": [text]}},
        "description": text,
    }
    parameters = [
        {"name": text, "in": "query", "description": text, "schema": {"default": text}},
        {"name": text, "in": "cookie", "schema": {"type": "string", "default": text}},
    ]
    operation = {
        "operationId": text,
        "summary": text,
        "description": text,
        "tags": [text],
        "parameters": parameters if len(text) < 99 else [],
        "security": [{text: []}],
        "requestBody": {"content": {f"application/json; x={text}": {"schema": schema}}},
        "responses": {"200": {"content": {"application/json": {"schema": schema}}}},
    }
    made = make(
        {
            "openapi": "3.1.0",
            "info": {"title": text},
            "paths": {f"/{text.replace('{', '(')}": {"get": operation}},
            "components": {
                "schemas": {text: schema},
                "securitySchemes": {
                    text: {"type": "apiKey", "in": "query", "name": text}
                },
            },
        }
    )
    assert_only_data(made)
    (listed,) = made.listed().values()
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", listed["name"])
    assert listed["description"] == text.strip()
    assert listed["_meta"] == {"openapi": {"tags": [text]}}
    compile(made.source.tests["test_tools.py"], "test_tools.py", "exec")


@pytest.mark.parametrize("pattern", PATTERNS, ids=ascii)
def test_a_pattern_of_a_tool_stays_data(make: Make, pattern: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": pattern}},
    }
    made = make([{"name": "a", "inputSchema": schema}])
    assert_only_data(made)
    found = made.listed()["a"]["inputSchema"]["properties"]
    assert found == schema["properties"]


def test_a_pattern_cannot_keep_us_busy(make: Make) -> None:
    """With backtracking, this one takes for ever on its own default."""
    slow = {"type": "string", "pattern": "^(a+)+$", "default": "a" * 64 + "!"}
    schema = {"type": "object", "properties": {"a": slow}}
    made = make([{"name": "a", "inputSchema": schema}])
    assert "async def a(a: " in made.source.modules["tools.py"]


def test_models_that_recur_are_told_apart_by_where_they_are(make: Make) -> None:
    """Never by a number: two of one name and shape are one, others say whose they are."""
    first = {"Place": {"type": "object", "properties": {"a": {"type": "string"}}}}
    second = {"Place": {"type": "object", "properties": {"b": {"type": "string"}}}}

    def tool(name: str, defs: Any) -> Any:
        place = {"properties": {"place": {"$ref": "#/$defs/Place"}}, "$defs": defs}
        return {"name": name, "inputSchema": {"type": "object", **place}}

    made = make([tool("go", first), tool("stay", second), tool("run", first)])
    names = re.findall(r"^class (\w+)", made.source.modules["models.py"], re.M)
    assert names == ["Place", "StayPlace"]
    places = {
        n: t["inputSchema"]["properties"]["place"] for n, t in made.listed().items()
    }
    assert places["go"] == places["run"] == {"$ref": "#/$defs/Place"}
    assert places["stay"] == {"$ref": "#/$defs/StayPlace"}
