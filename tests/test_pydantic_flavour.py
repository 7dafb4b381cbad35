"""The pydantic flavour: exact, lossless, strict models that read as if written by hand."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcpgen.catalog import Catalog, module_name
from mcpgen.datamodel import Models
from mcpgen.diagnostics import CompileError
from mcpgen.emit import pydantic
from mcpgen.ir import Definition, Field, Object, Protocol, Ref, String
from pydantic import BaseModel, ValidationError

from .compiling import Project, schema
from .fidelity.compare import LosslessBindings
from .flavours import ENV, emitted, types_of, write
from .test_hostile import TEXTS, assert_only_data
from .test_odd_schemas import KEPT, SCHEMAS
from .test_stdlib_flavour import ODD

CATALOG = Catalog()
NEWEST = CATALOG.names()[-1]


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Made once: the generator takes half a second for a version."""
    protocols = [CATALOG.protocol(name)[0] for name in CATALOG.names()]
    return emitted("pydantic", *protocols)


@pytest.fixture(scope="module")
def package(
    files: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    root = tmp_path_factory.mktemp("pydantic")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root))
        yield write(files, root)


@pytest.fixture(scope="module")
def types(package: str) -> Any:
    return types_of(package, NEWEST)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, monkeypatch)
    yield made
    made.forget()


def types_from(project: Project, **definitions: Any) -> Any:
    """The types of a schema of a test."""
    protocol = project.add(schema(**definitions)).protocol("x-1")[0]
    return types_of(write(emitted("pydantic", protocol), project.root), "x-1")


# --- against the oracle ---------------------------------------------------------------


@pytest.mark.parametrize("version", CATALOG.names())
def test_verdicts_are_the_oracles_and_nothing_is_lost(
    package: str, version: str
) -> None:
    bindings = LosslessBindings(CATALOG, version, package)
    wrong = [
        str(disagreement)
        for name in bindings.oracle.definitions
        for disagreement in bindings.compare(name, 6, seed=13)
    ]
    assert not wrong, f"{len(wrong)} disagreements:\n" + "\n".join(wrong[:20])
    assert min(bindings.verdicts.values()) > 150


# --- how it reads ---------------------------------------------------------------------


@pytest.mark.parametrize("version", CATALOG.names())
def test_classes_and_keys_are_those_of_the_ir(package: str, version: str) -> None:
    types = types_of(package, version)
    for definition in CATALOG.protocol(version)[0].definitions:
        made = getattr(types, definition.name)
        assert definition.name in types.__all__
        if isinstance(definition.type, Object) and definition.type.fields:
            assert issubclass(made, BaseModel)
            made.model_rebuild()
            keys = {f.wire_name: f for f in definition.type.fields}
            assert {i.serialization_alias for i in made.model_fields.values()} == {
                *keys
            }
            for name, info in made.model_fields.items():
                field = keys[str(info.serialization_alias)]
                assert info.validation_alias == field.wire_name
                assert name.rstrip("_") == field.python_name.rstrip("_")


def test_it_reads_as_written_by_hand(files: dict[str, str]) -> None:
    """No class per alias, none with a number, no name of a helper of the generator."""
    for version in CATALOG.names():
        text = files[f"{module_name(version)}/types.py"]
        assert not re.search(r"RootModel|TypeAliasType|Union\[|Optional\[", text)
        names = {d.name for d in CATALOG.protocol(version)[0].definitions}
        made = [
            *re.findall(r"^class (\w+)", text, re.MULTILINE),
            *re.findall(r"^ *(\w+): _?TypeAlias =", text, re.MULTILINE),
        ]
        assert sorted(made) == sorted(names)
    newest = files[f"{module_name(NEWEST)}/types.py"]
    assert '    type: Literal["text"] = "text"\n    text: str\n' in newest
    assert "    mime_type: str | MISSING = MISSING\n" in newest


def test_only_pydantic_is_imported(files: dict[str, str]) -> None:
    allowed = sys.stdlib_module_names | {"pydantic", "pydantic_core"}
    for file in (name for name in files if name.endswith(".py")):
        for node in ast.walk(ast.parse(files[file])):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= allowed, file
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert str(node.module).split(".")[0] in allowed, file


def test_output_is_stable() -> None:
    protocol = CATALOG.protocol(CATALOG.names()[1])[0]
    assert pydantic.emit(protocol, ENV) == pydantic.emit(protocol, ENV)


# --- what it does ---------------------------------------------------------------------


def test_messages_become_models_and_messages_again(types: Any) -> None:
    wire = {
        "resultType": "complete",
        "content": [
            {"type": "text", "text": "hi", "_meta": {"a.b/c": [1, 2.5]}},
            {"type": "image", "data": "AA==", "mimeType": "image/png", "mime_type": 1},
        ],
        "structuredContent": None,
        "x": {"y": 1},
    }
    result = types.decode(json.dumps(wire), types.CallToolResult)
    text, image = result.content
    assert isinstance(text, types.TextContent)
    assert (text.text, text.meta, text.annotations) == (
        "hi",
        {"a.b/c": [1, 2.5]},
        types.MISSING,
    )
    # A key that looks like a Python name is a key like any other.
    assert (image.mime_type, image.model_extra) == ("image/png", {"mime_type": 1})
    assert (result.is_error, result.structured_content) == (types.MISSING, None)
    assert json.loads(types.encode(result)) == wire


def test_messages_are_built_with_python_names(types: Any) -> None:
    made = types.CallToolResult(
        content=[types.ImageContent(data="AA==", mime_type="image/png")], meta={"a": 1}
    )
    assert types.encode(made) == (
        b'{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}],'
        b'"resultType":"complete","_meta":{"a":1}}'
    )
    assert types.encode([made.content[0], {"a": made.content}]).count(b"image/png") == 2


def test_nothing_is_coerced(types: Any) -> None:
    for name, keys in (
        ("TextContent", {"text": 1}),
        ("CallToolResult", {"content": [], "is_error": "true"}),
        ("CallToolResult", {"content": (), "is_error": 1}),
        ("Root", {"uri": b"file:///"}),
        ("Root", {"uri": None}),
    ):
        with pytest.raises(ValidationError):
            getattr(types, name)(**keys)


def test_the_arm_that_is_meant_is_found(types: Any) -> None:
    request = {"method": "ping", "params": {"_meta": {}}}
    for name, wire, expected in (
        (
            "CallToolResultResponse",
            {"resultType": "input_required", "requestState": "s"},
            "InputRequiredResult",
        ),
        (
            "CallToolResultResponse",
            {"resultType": "complete", "content": []},
            "CallToolResult",
        ),
    ):
        frame = {"jsonrpc": "2.0", "id": 1, "result": wire}
        made = types.convert(frame, name)
        assert type(made.result).__name__ == expected
    for wire, expected in (
        ({"jsonrpc": "2.0", "id": 1, **request}, "JSONRPCRequest"),
        ({"jsonrpc": "2.0", **request}, "JSONRPCNotification"),
        (
            {"jsonrpc": "2.0", "error": {"code": 1, "message": ""}},
            "JSONRPCErrorResponse",
        ),
    ):
        assert type(types.convert(wire, "JSONRPCMessage")).__name__ == expected
    found = types.convert({"uri": "u", "text": "t"}, types.TextResourceContents)
    assert isinstance(found, types.TextResourceContents)


def test_a_whole_float_is_an_integer_to_the_schema(types: Any) -> None:
    wire = {"values": [], "total": 3.0}
    made = types.convert(wire, types.CompleteResultCompletion)
    assert (made.total, type(made.total)) == (3, int)
    with pytest.raises(types.InvalidMessage, match=r"^\$\.total: expected an integer"):
        types.convert({"values": [], "total": 3.5}, types.CompleteResultCompletion)
    # Where fractions are welcome, both stay what they are.
    for number in (1, 0.5, 1.0):
        made = types.convert({"priority": number}, types.Annotations)
        assert type(made.priority) is type(number)


def test_refusals_say_where_and_why(types: Any) -> None:
    with pytest.raises(types.InvalidMessage) as caught:
        types.decode('{"type": "image", "text": 7}', types.TextContent)
    assert [issue.path for issue in caught.value.issues] == ["$.text", "$.type"]
    with pytest.raises(types.NotJson):
        types.decode("{", types.TextContent)
    with pytest.raises(types.InvalidMessage, match="nested too deeply"):
        types.decode("[" * 100_000, "JSONValue")
    with pytest.raises(TypeError, match="no definition 'Nonsense'"):
        types.decode("{}", "Nonsense")


def test_half_a_surrogate_pair_is_kept(types: Any) -> None:
    wire = rb'{"type":"text","text":"\ud800"}'
    assert types.encode(types.decode(wire, types.TextContent)) == wire


def test_what_is_not_json_is_not_encoded(types: Any) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        types.encode({"a": float("nan")})


# --- odd and hostile schemas ----------------------------------------------------------


def test_odd_definitions_work(project: Project) -> None:
    names = {"Model": "BaseModel", "MISSING": "D1", "Annotated": "t2", "Field": "x"}
    inherited = ("schema", "copy", "model_config", "modelFields", "model_dump", "meta")
    own = {
        name: {
            "type": "object",
            "properties": {key: {"const": value} for key in ("a", *inherited)},
            "required": ["a"],
        }
        for name, value in names.items()
    }
    bounds = {
        "type": "object",
        "properties": {
            "some": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "integer", "minimum": 3},
            },
            "part": {"type": "number", "exclusiveMinimum": 0, "maximum": 2.5},
            "code": {"enum": [-1, 2]},
            "whole": {"type": "integer", "exclusiveMinimum": 0, "maximum": 5},
        },
    }
    loops = {
        "Ping": {"anyOf": [{"$ref": "#/$defs/Pong"}, {"type": "null"}]},
        "Pong": {"type": "array", "items": {"$ref": "#/$defs/Ping"}},
    }
    types = types_from(project, **ODD, **own, **loops, Bounds=bounds)
    for name, good, bad in (
        ("Any", {"a": 1}, 1),
        ("Literal", True, 1.5),
        ("Codec", ["a", None, 1, True], ["b"]),
        ("NotJson", {"a": 1}, {"a": "1"}),
        ("Keys", {"class": [], "a b": ["x"], "ﬁ": [], "__a": []}, {"class": []}),
        ("Empty", {"": "x", "y": 1}, {"": 1}),
        ("Copy", {"items": "i", "keys": "k", "_a": ""}, {"items": 1}),
        ("Tree", {"below": [{"below": []}]}, {"below": [{}]}),
        ("Forest", [[{"below": []}]], [[{}]]),
        ("Alley", None, 1),
        ("Before", {"a": {"a": "s"}}, {"a": {"a": 1}}),
        ("Nothing", {}, {"a": 1}),
        ("Closed", {"yes": 1}, {"no": 1}),
        ("Float", 1.5, 1),
        ("Both", "y", "x"),
        ("Model", {"a": "BaseModel", "schema": "BaseModel"}, {"a": "D1"}),
        ("MISSING", dict.fromkeys(("a", *inherited), "D1"), {"a": None}),
        ("Field", {"a": "x", "modelFields": "x", "model_fields": 1}, {}),
        ("Annotated", {"a": "t2", "meta": "t2", "_meta": 1}, {"a": "t2", "meta": 1}),
        ("Bounds", {"some": [3], "part": 2.5, "code": 2.0}, {"some": [2]}),
        ("Bounds", {"some": [3.0], "whole": 5}, {"whole": 0}),
        ("Pong", [None, [[], None]], [1]),
    ):
        text = json.dumps(good)
        back = types.encode(types.decode(text, name))
        assert json.loads(back) == json.loads(text), name
        with pytest.raises(ValueError, match=r"^\$"):
            types.decode(json.dumps(bad), name)
    for depth in (50, 240, 1000, 100_000):
        nested = '{"below":[' * depth + "]}" * depth
        try:
            assert types.encode(types.decode(nested, "Tree")) == nested.encode()
        except types.InvalidMessage:
            assert depth > 50
    with pytest.raises(ValidationError):
        types.Nothing(a=1)
    with pytest.raises(ValidationError):
        types.Bounds(whole=6)
    assert types.Bounds(part=2.5, some=[3]).part == 2.5


@pytest.mark.parametrize("definitions", SCHEMAS.values(), ids=SCHEMAS)
def test_odd_schemas_get_exact_verdicts(
    project: Project, definitions: dict[str, Any]
) -> None:
    catalog = project.add(schema(**definitions), kind="extension")
    protocol = catalog.protocol("x-1")[0]
    package = write(emitted("pydantic", protocol), project.root)
    bindings = LosslessBindings(catalog, "x-1", package)
    wrong = [str(d) for each in definitions for d in bindings.compare(each, 30, 5)]
    assert not wrong, "\n".join(wrong[:10])


def test_nothing_is_lost_in_unions(project: Project) -> None:
    holders = {
        f"Holder{number}": {"type": "object", "properties": {"v": field}}
        for number, (field, _) in enumerate(KEPT)
    }
    types = types_from(project, **holders)
    for number, (_, value) in enumerate(KEPT):
        made = types.convert({"v": value}, f"Holder{number}")
        assert json.loads(types.encode(made)) == {"v": value}


def test_a_long_chain_of_definitions_is_no_recursion() -> None:
    def link(n: int) -> Field:
        return Field("x", Ref(f"D{n + 1:03}"), required=True, python_name="x")

    chain = [Definition(f"D{n:03}", Object((link(n),)), "//") for n in range(300)]
    last = Definition("D300", String(), "//")
    text = pydantic.emit(Protocol("x-1", "", "", "", (*chain, last)), ENV)["types.py"]
    made = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    assert [node.name for node in made] == [d.name for d in chain]


def test_text_stays_data(project: Project) -> None:
    things = {
        f"Thing{number}": {
            "type": "object",
            "description": text,
            "properties": {
                "const": {"const": text, "description": text},
                "odd key": {"enum": [text, {text: [text]}], "description": text},
                text[:50]: {"type": "string", "default": text},
            },
            "required": ["const", text[:50]],
        }
        for number, text in enumerate(TEXTS.values())
    }
    only = {f"Only{n}": {"const": text} for n, text in enumerate(TEXTS.values())}
    protocol = project.add(schema(**things, **only)).protocol("x-1")[0]
    made = emitted("pydantic", protocol)
    assert_only_data(project, made)
    types = types_of(write(made, project.root), "x-1")
    for number, text in enumerate(TEXTS.values()):
        good = {"const": text, "odd key": {text: [text]}, text[:50]: text}
        back = types.encode(types.convert(good, f"Thing{number}"))
        assert json.loads(back) == good
        with pytest.raises(types.InvalidMessage):
            types.convert({"const": text + "x", text[:50]: ""}, f"Thing{number}")
        assert types.convert(text, f"Only{number}") == text


def test_the_generator_sees_no_text_of_a_schema(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def models(definitions: Any, *arguments: Any, **options: Any) -> Models:
        asked.append(definitions)
        return real(definitions, *arguments, **options)

    real = pydantic.models
    monkeypatch.setattr(pydantic, "models", models)
    secret = {
        "type": "object",
        "description": "secret",
        "properties": {
            "secret": {"const": "secret", "default": "secret"},
            "other": {"type": "string", "pattern": "secret", "format": "secret"},
        },
    }
    types_from(project, Secret=secret, Other={"enum": ["secret", "b"]})
    assert "secret" not in json.dumps(asked).lower()
    assert len(json.dumps(asked)) > 100


def test_only_known_terms_are_taken_from_the_generator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    protocol = Protocol("x-1", "", "", "", (Definition("A", String(), "//"),))
    for answer in (
        "import os\n",
        "D0 = os.system('x')\n",
        "D0 = TypeAliasType('D0', open)\n",
        "D0 = TypeAliasType('D0', Annotated[str, Field(open())])\n",
        "D0 = TypeAliasType('D0', [x for x in y])\n",
        "",
    ):
        made = Models(answer, {}, {})
        monkeypatch.setattr(pydantic, "models", lambda *_, made=made, **__: made)
        with pytest.raises(CompileError) as caught:
            pydantic.emit(protocol, ENV)
        assert caught.value.diagnostics[0].code == "internal-models"
