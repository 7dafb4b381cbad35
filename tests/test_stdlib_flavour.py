"""The stdlib flavour: exact, lossless, typed, quick to import, and on its own."""

from __future__ import annotations

import ast
import json
import pickle
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcpgen.catalog import Catalog, module_name
from mcpgen.emit import stdlib
from mcpgen.format import format_files
from mcpgen.ir import Definition, Field, Object, Protocol, Ref, String

from . import flavours
from .compiling import Project, schema
from .fidelity.compare import LosslessBindings
from .flavours import ENV, emitted, write
from .test_hostile import TEXTS, assert_only_data

CATALOG = Catalog()
NEWEST = CATALOG.names()[-1]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("stdlib")
    protocols = [CATALOG.protocol(name)[0] for name in CATALOG.names()]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root))
        yield write(emitted("stdlib", *protocols), root)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, monkeypatch)
    yield made
    made.forget()


def types_of(package: str, version: str = NEWEST) -> Any:
    return flavours.types_of(package, version)


def types_from(project: Project, **definitions: Any) -> Any:
    """The types of a schema of a test."""
    catalog = project.add(schema(**definitions))
    package = write(emitted("stdlib", catalog.protocol("x-1")[0]), project.root)
    return types_of(package, "x-1")


# --- against the oracle ---------------------------------------------------------------


@pytest.mark.parametrize("version", CATALOG.names())
def test_verdicts_are_the_oracles_and_nothing_is_lost(
    package: str, version: str
) -> None:
    bindings = LosslessBindings(CATALOG, version, package)
    wrong = [
        str(disagreement)
        for name in bindings.oracle.definitions
        for disagreement in bindings.compare(name, 10, seed=11)
    ]
    assert not wrong, f"{len(wrong)} disagreements:\n" + "\n".join(wrong[:20])
    assert min(bindings.verdicts.values()) > 150


# --- types ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", CATALOG.names())
def test_typed_dicts_have_the_schemas_keys(package: str, version: str) -> None:
    types = types_of(package, version)
    for definition in CATALOG.protocol(version)[0].definitions:
        made = getattr(types, definition.name)
        assert definition.name in types.__all__
        if not isinstance(definition.type, Object) or not definition.type.fields:
            continue
        assert typing.is_typeddict(made)
        fields = definition.type.fields
        assert made.__required_keys__ == {f.wire_name for f in fields if f.required}
        assert made.__optional_keys__ == {f.wire_name for f in fields if not f.required}
        assert typing.get_type_hints(made).keys() == made.__annotations__.keys()


USAGE = """
from typing import assert_type

from .{version} import types as t
from .{version}.types import InvalidMessage, NotJson, convert, decode, encode

block: t.ContentBlock = {{"type": "text", "text": "hi"}}
result: t.CallToolResult = {{"content": [block], "resultType": "complete"}}
assert_type(decode(encode(result), t.CallToolResult), t.CallToolResult)
assert_type(convert(dict(result), t.CallToolResult), t.CallToolResult)
message: t.JSONRPCMessage = decode(b"{{}}", "JSONRPCMessage")
tool = t.Tool(name="add", inputSchema={{"type": "object", "properties": {{}}}})
schema: t.ToolInputSchema = {{"type": "object", "$schema": "x"}}
level: t.LoggingLevel = "debug"
value: t.JSONValue = {{"a": [1, 2.5, None, {{"b": "c"}}]}}


def texts(blocks: list[t.ContentBlock]) -> list[str]:
    return [block["text"] for block in blocks if block["type"] == "text"]


def refused(error: InvalidMessage) -> str:
    return error.issues[0].path if not isinstance(error, NotJson) else ""


missing: t.TextContent = {{"type": "text"}}  # type: ignore[typeddict-item]
wrong: t.TextContent = {{"type": "text", "text": 1}}  # type: ignore[typeddict-item]
other: t.LoggingLevel = "loud"  # type: ignore[assignment]
unknown: t.Root = {{"uri": "u", "x": 1}}  # type: ignore[typeddict-unknown-key]
"""

ODD = {
    # Names that the module itself needs.
    "Any": {"type": "object", "properties": {"a": True}},
    "TypedDict": {"type": "object", "properties": {"Any": {"$ref": "#/$defs/Any"}}},
    "Literal": {"enum": ["a", None, 1, True]},
    "Codec": {"type": "array", "items": {"$ref": "#/$defs/Literal"}},
    "NotJson": {"type": "object", "additionalProperties": {"type": "integer"}},
    # Keys that a class body cannot have, or should not.
    "Keys": {
        "type": "object",
        "properties": {
            key: {"type": "array", "items": {"type": "string"}}
            for key in ("class", "list", "str", "__a", "a b", "$x", "ﬁ", "None")
        },
        "required": ["class", "a b"],
    },
    "Empty": {"type": "object", "properties": {"": {"type": "string"}}},
    "Copy": {
        "type": "object",
        "properties": {
            key: {"type": "string"} for key in ("items", "keys", "get", "_a", "match")
        },
    },
    # Recursion, through classes, aliases and both.
    "Tree": {
        "type": "object",
        "properties": {
            "below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
            "forest": {"$ref": "#/$defs/Forest"},
        },
        "required": ["below"],
    },
    "Forest": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"$ref": "#/$defs/Grove"}]},
    "Grove": {"type": "array", "items": {"$ref": "#/$defs/Forest"}},
    "Alley": {"anyOf": [{"$ref": "#/$defs/Forest"}, {"type": "null"}]},
    "Before": {"type": "object", "properties": {"a": {"$ref": "#/$defs/Either"}}},
    "Either": {"anyOf": [{"$ref": "#/$defs/Before"}, {"type": "string"}]},
    # Rare keywords.
    "Nothing": {"type": "object", "additionalProperties": False},
    "Closed": {"type": "object", "properties": {"no": False}},
    "Float": {"const": 1.5},
    "Both": {"allOf": [{"type": "string"}, {"not": {"const": "x"}}]},
}


def run(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]


def test_type_checkers_are_content(project: Project) -> None:
    protocols = [CATALOG.protocol(name)[0] for name in CATALOG.names()]
    odd = project.add(schema(**ODD)).protocol("x-1")[0]
    usage = USAGE.format(version=module_name(NEWEST))
    files = emitted("stdlib", *protocols, odd) | {"usage.py": usage}
    # One run for two flavours: it takes long to start. (Models in mypy: test_vendor.)
    models = emitted("pydantic", protocols[-1], odd)
    folders = [
        str(project.root / write(made, project.root)) for made in (files, models)
    ]
    run("mypy", "--strict", folders[0])
    run("pyright", "--pythonpath", sys.executable, *folders)


def test_odd_definitions_work_at_run_time(project: Project) -> None:
    types = types_from(project, **ODD)
    for name, good, bad in (
        ("Any", {"a": 1}, 1),
        ("TypedDict", {"Any": {}}, {"Any": 1}),
        ("Literal", True, 1.5),
        ("Codec", ["a", None, 1, True], ["b"]),
        ("NotJson", {"a": 1}, {"a": "1"}),
        ("Keys", {"class": [], "a b": ["x"], "ﬁ": []}, {"class": []}),
        ("Empty", {"": "x", "y": 1}, {"": 1}),
        ("Copy", {"items": "i", "keys": "k"}, {"items": 1}),
        ("Tree", {"below": [{"below": []}]}, {"below": [{}]}),
        ("Forest", [[{"below": []}]], [[{}]]),
        ("Alley", None, 1),
        ("Before", {"a": {"a": "s"}}, {"a": {"a": 1}}),
        ("Nothing", {}, {"a": 1}),
        ("Closed", {"yes": 1}, {"no": 1}),
        ("Float", 1.5, 1),
        ("Both", "y", "x"),
    ):
        text = json.dumps(good)
        assert json.loads(types.encode(types.decode(text, name))) == good
        with pytest.raises(ValueError, match=r"^\$"):
            types.decode(json.dumps(bad), name)
    assert types.Keys.__required_keys__ == {"class", "a b"}
    assert types.Tree.__required_keys__ == {"below"}
    for made in (types.Tree, types.Before, types.TypedDict):
        assert typing.get_type_hints(made)


def test_a_long_chain_of_definitions_is_no_recursion() -> None:
    count = 3000
    chain = [
        Definition(f"D{n:04}", Object((Field("x", Ref(f"D{n + 1:04}"), True),)), "//")
        for n in range(count)
    ]
    last = Definition(f"D{count:04}", String(), "//")
    text = stdlib.emit(Protocol("x-1", "", "", "", (*chain, last)), ENV)["types.py"]
    made = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    assert [node.name for node in made] == [d.name for d in reversed(chain)]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_stays_data(project: Project, text: str) -> None:
    thing = {
        "type": "object",
        "description": text,
        "properties": {
            "const": {"const": text, "description": text},
            "odd key": {"enum": [text, {text: [text]}], "description": text},
            text[:50]: {"type": "string"},
        },
        "required": ["const"],
    }
    catalog = project.add(schema(Thing=thing, Only={"const": text}))
    files = emitted("stdlib", catalog.protocol("x-1")[0])
    assert_only_data(project, files)
    types = types_of(write(files, project.root), "x-1")
    good = {"const": text, "odd key": {text: [text]}, text[:50]: text}
    assert types.decode(types.encode(good), "Thing") == good
    assert types.Thing.__optional_keys__ == {"odd key", text[:50]}
    with pytest.raises(types.InvalidMessage):
        types.convert({"const": text + "x"}, "Thing")


def test_output_is_stable_and_can_be_formatted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPGEN_JOBS", "1")
    protocol = CATALOG.protocol(NEWEST)[0]
    first, second = stdlib.emit(protocol, ENV), stdlib.emit(protocol, ENV)
    assert first == second
    formatted = format_files(first)
    assert format_files(formatted) == formatted


# --- decode and encode ------------------------------------------------------------------


def test_a_refusal_lists_every_issue(package: str) -> None:
    types = types_of(package)
    with pytest.raises(types.InvalidMessage) as caught:
        types.decode('{"type": "image", "text": 7}', types.TextContent)
    assert [str(issue) for issue in caught.value.issues] == [
        "$.text: expected a string, got an integer",
        '$.type: expected "text", got "image"',
    ]
    assert not isinstance(caught.value, types.NotJson)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.issues == caught.value.issues


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"{} {}", b"NaN", b"[-Infinity]", b'"\xff"', b"\xef\xbb\xbf{}", "'a'"],
)
def test_what_is_not_json_is_told_apart(package: str, data: bytes | str) -> None:
    types = types_of(package)
    with pytest.raises(types.NotJson, match="not JSON") as caught:
        types.decode(data, "JSONValue")
    assert [issue.path for issue in caught.value.issues] == ["$"]


@pytest.mark.parametrize(
    "data",
    [
        "1e400",
        "-1e400",
        pytest.param("9" * 5000, id="digits"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param("[" * 900 + "]" * 900, id="deep-to-check"),
    ],
)
def test_json_that_python_cannot_hold_is_refused(package: str, data: str) -> None:
    types = types_of(package)
    with pytest.raises(types.InvalidMessage) as caught:
        types.decode(data, "JSONValue")
    assert type(caught.value) is types.InvalidMessage
    assert len(str(caught.value)) < 200


def test_what_to_decode_is_a_class_of_the_version_or_a_name(package: str) -> None:
    types, older = types_of(package), types_of(package, CATALOG.names()[0])
    assert types.decode(b'{"uri":"file:///"}', types.Root) == {"uri": "file:///"}
    with pytest.raises(TypeError, match="no definition 'Nonsense'"):
        types.decode(b"{}", "Nonsense")
    with pytest.raises(TypeError, match=r"Root is of .*2024_11_05"):
        types.decode(b"{}", older.Root)


def test_encoding_is_compact_and_utf8(package: str) -> None:
    types = types_of(package)
    assert types.encode({"a": [1, 2.5, None], "ü": "é"}) == (
        '{"a":[1,2.5,null],"ü":"é"}'.encode()
    )
    half = types.decode(r'"\ud800é"', "JSONValue")
    assert types.encode(half) == rb'"\ud800\u00e9"'
    with pytest.raises(ValueError, match="JSON compliant"):
        types.encode(float("nan"))


# --- on its own -------------------------------------------------------------------------

ALONE = """
import sys
sys.path.insert(0, {root!r})
import {package}.{version}.types as types
heavy = {{"json", "msgspec", "jsonschema", "{package}.{version}.validators"}}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert types.decode(b'{{"uri": "file:///"}}', types.Root) == {{"uri": "file:///"}}
assert "msgspec" not in sys.modules
"""


def test_it_needs_no_package_and_imports_little(package: str) -> None:
    root = str(Path(types_of(package).__file__ or "").parents[2])
    version = module_name(NEWEST)
    program = ALONE.format(root=root, package=package, version=version)
    # Without site-packages, and without anything of this process's environment.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_only_the_standard_library_is_imported() -> None:
    files = emitted("stdlib", *(CATALOG.protocol(name)[0] for name in CATALOG.names()))
    known = sys.stdlib_module_names | {"collections.abc"}
    for file in (name for name in files if name.endswith(".py")):
        for node in ast.walk(ast.parse(files[file])):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= known, file
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert node.module in known, file
