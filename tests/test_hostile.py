"""Hostile schemas: text stays data, mistakes are refused, nothing is half written."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcpgen import publish as publishing
from mcpgen.catalog import Catalog
from mcpgen.diagnostics import CompileError
from mcpgen.names import MAX_NAME

from .compiling import Project, schema, tree


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, monkeypatch)
    yield made
    made.forget()


def run(arguments: list[str]) -> Any:
    from mcpgen.cli import app
    from typer.testing import CliRunner

    return CliRunner().invoke(app, arguments)


TEXTS = {
    "double": 'a"b',
    "single": "a'b",
    "triple": '""" + 1 + """',
    "triple-single": "''' + 1 + '''",
    "both": "\"'\"\"\"'''",
    "newline": "a\nimport os",
    "return": "a\rimport os",
    "separator": "a\u2028import os\u2029\x85\x0b\x0c",
    "nul": "a\0b",
    "backslash": "a\\",
    "backslashes": 'a\\\\\\"\\',
    "expression": "{{ 7*7 }}",
    "block": "{% raw %}",
    "comment": "{# a #}",
    "call": "__import__('os').system('touch pwned')",
    "break-out": '"""); import os; os.system(\'touch pwned\') #',
    "format": "{0.__class__} %s {x!r}",
    "non-ascii": "naïve 日本 🙂",
    "cyrillic": "А",
    "fullwidth": "ｅｖａｌ",
    "bidi": "\u202eabc\u2066\u200f",
    "huge": "x" * 100_000,
}


def assert_only_data(project: Project, files: dict[str, str]) -> None:
    for path, text in files.items():
        if not path.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                assert all(alias.name != "os" for alias in node.names), path
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("__import__", "eval", "exec"), path
                assert not called.startswith("os."), path
    assert not list(project.root.rglob("pwned"))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_stays_data(project: Project, text: str) -> None:
    constants = {
        "type": "object",
        "description": text,
        "properties": {
            "const": {"const": text, "description": text},
            "enum": {"enum": [text, "other", {text: [text]}]},
            "default": {"type": "string", "default": text, "title": text},
        },
        "required": ["const", "enum"],
    }
    request = {
        "type": "object",
        "properties": {"method": {"const": text}, "params": {"type": "object"}},
        "required": ["method"],
    }
    catalog = project.add(
        schema(Constants=constants, OddRequest=request, Only={"const": text})
    )
    files = project.generate(catalog)
    assert_only_data(project, files)
    types, validators = project.load("types"), project.load("validators").VALIDATORS
    for module in ("methods", "server", "client"):
        project.load(module)
    good = {"const": text, "enum": text, "default": text}
    assert not validators["Constants"](good)
    assert not validators["Constants"]({"const": text, "enum": {text: [text]}})
    assert validators["Constants"]({"const": text + "x", "enum": text})
    assert validators["Constants"]({"const": text, "enum": text + "x"})
    assert not validators["Only"](text)
    assert validators["Only"](text[:-1] + "?")
    for name, value in (
        ("Constants", good),
        ("OddRequest", {"method": text}),
        ("Only", text),
    ):
        decoded = types.codec.decode(json.dumps(value), name)
        assert json.loads(types.codec.encode(decoded)) == value


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_key_stays_data_or_is_refused(project: Project, text: str) -> None:
    thing = {
        "type": "object",
        "properties": {text: {"type": "string"}},
        "required": [text],
    }
    if len(text) > MAX_NAME:
        with pytest.raises(CompileError) as caught:
            project.add(schema(Thing=thing))
        assert caught.value.diagnostics[0].pointer.startswith("/$defs/Thing")
        return
    files = project.generate(project.add(schema(Thing=thing)))
    assert_only_data(project, files)
    validate = project.load("validators").VALIDATORS["Thing"]
    assert not validate({text: "v"})
    assert validate({text: 1})
    assert validate({text + "x": "v"})
    codec = project.load("types").codec
    assert json.loads(codec.encode(codec.decode(json.dumps({text: "v"}), "Thing"))) == {
        text: "v"
    }


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_definition_name_becomes_a_name_or_is_refused(
    project: Project, text: str
) -> None:
    thing = {"type": "object", "properties": {"a": {"const": 1}}}
    if len(text) > MAX_NAME:
        with pytest.raises(CompileError) as caught:
            project.add(schema(**{text: thing}))
        assert caught.value.diagnostics[0].pointer.startswith("/$defs/")
        assert not (project.root / "schema").exists()
        return
    catalog = project.add(schema(**{text: thing}))
    files = project.generate(catalog)
    assert_only_data(project, files)
    (definition,) = catalog.protocol("x-1")[0].definitions
    assert definition.name.isascii()
    assert definition.name.isidentifier()
    assert not project.load("validators").VALIDATORS[definition.name]({"a": 1})


PATTERNS = [
    '^a"b$',
    "^'''$",
    '^"""$',
    "^a\\\\$",
    "^\\{\\{ 7\\*7 \\}\\}$",
    "^a\nb$",
    "^А$",
    "^\u202e$",
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=ascii)
def test_a_pattern_stays_data(project: Project, pattern: str) -> None:
    match = pattern[1:-1].replace("\\\\", "\0").replace("\\", "").replace("\0", "\\")
    thing = {"type": "object", "patternProperties": {pattern: {"type": "integer"}}}
    catalog = project.add(
        schema(Text={"type": "string", "pattern": pattern}, Thing=thing)
    )
    assert_only_data(project, project.generate(catalog))
    validators = project.load("validators").VALIDATORS
    assert not validators["Text"](match)
    assert validators["Text"](match + "x")
    assert validators["Thing"]({match: "text"})
    assert not validators["Thing"]({match + "x": "text"})


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "..", "C:\\x", "", "x" * 300, "a\nb", "А", "-a"]
)
def test_a_version_name_is_no_path(project: Project, name: str) -> None:
    before = tree(project.root.parent)
    with pytest.raises(CompileError) as caught:
        project.add(schema(A={"type": "string"}), name)
    assert caught.value.diagnostics[0].code == "version-name"
    assert tree(project.root.parent) == before


def _defs(value: Any) -> bytes:
    return json.dumps(schema(A=value, Tool={"type": "string"})).encode()


BAD = {
    "malformed": (b'{"$defs": ', "not-json", None),
    "empty": (b"", "not-json", None),
    "not-utf8": (b'{"a": "\xff"}', "not-utf8", None),
    "nan": (b'{"$defs": {"A": {"const": NaN}}}', "not-json", None),
    "duplicate": (b'{"$defs": {"A": {}, "A": {}}}', "not-json", None),
    "array": (b"[]", "not-a-schema", None),
    "dialect": (
        b'{"$schema": "http://json-schema.org/draft-03/schema"}',
        "dialect-unknown",
        "/$schema",
    ),
    "no-definitions": (b"{}", "no-definitions", None),
    "deep-json": (b"[" * 10_000 + b"]" * 10_000, "too-deep", None),
    "deep-schema": (
        b'{"$defs": {"A": ' + b'{"items": ' * 100 + b"true" + b"}" * 100 + b"}}",
        "too-deep",
        "/$defs/A/items",
    ),
    "unresolved": (_defs({"$ref": "#/$defs/Tol"}), "ref-unresolved", "/$defs/A/$ref"),
    "remote": (
        _defs({"$ref": "file:///etc/passwd"}),
        "ref-unsupported",
        "/$defs/A/$ref",
    ),
    "cyclic": (_defs({"anyOf": [{"$ref": "#/$defs/A"}]}), "ref-cyclic", "/$defs/A"),
    "cyclic-two": (
        json.dumps(
            schema(A={"$ref": "#/$defs/B"}, B={"allOf": [{"$ref": "#/$defs/A"}]})
        ).encode(),
        "ref-cyclic",
        "/$defs/A",
    ),
    "deep-schema-json": (
        b'{"$defs": {"A": ' + b'{"items": ' * 10_000 + b"1" + b"}" * 10_000 + b"}}",
        "too-deep",
        None,
    ),
    "wrong-keyword": (
        _defs({"$ref": "#/definitions/Tool"}),
        "ref-unresolved",
        "/$defs/A/$ref",
    ),
    "unknown": (_defs({"tpye": "string"}), "keyword-unknown", "/$defs/A/tpye"),
    "unsupported": (_defs({"if": {}}), "keyword-unsupported", "/$defs/A/if"),
    "type": (_defs({"type": "strin"}), "keyword-malformed", "/$defs/A/type"),
    "pattern": (_defs({"pattern": "("}), "keyword-malformed", "/$defs/A/pattern"),
}


@pytest.mark.parametrize(("data", "code", "pointer"), BAD.values(), ids=BAD)
def test_a_bad_schema_is_refused(
    project: Project, data: bytes, code: str, pointer: str | None
) -> None:
    (project.root / "bad.json").write_bytes(data)
    before = tree(project.root)
    with pytest.raises(CompileError) as caught:
        project.add(data)
    found = caught.value.diagnostics[0]
    assert found.code == code
    assert found.pointer.startswith(pointer or "")
    if code == "ref-unresolved":
        assert "did you mean" in found.hint
        assert "Tool" in found.hint
    assert tree(project.root) == before


@pytest.mark.parametrize(("data", "code"), [row[:2] for row in BAD.values()], ids=BAD)
def test_the_command_refuses_a_bad_schema(
    project: Project, data: bytes, code: str
) -> None:
    (project.root / "bad.json").write_bytes(data)
    before = tree(project.root)
    result = run(["schema", "add", "bad.json", "--version", "x-1"])
    assert result.exit_code == 2, result.output
    assert code in result.output
    assert tree(project.root) == before


def test_an_edited_schema_is_refused(project: Project) -> None:
    project.add(schema(A={"type": "string"}))
    file = project.root / "schema/x-1/schema.json"
    file.write_bytes(file.read_bytes() + b"\n")
    with pytest.raises(CompileError) as caught:
        Catalog(project.config).protocol("x-1")
    assert caught.value.diagnostics[0].code == "pin-mismatch"


def test_the_command_refuses_an_edited_schema(project: Project) -> None:
    project.add(schema(A={"type": "string"}))
    (project.root / "schema/x-1/schema.json").write_bytes(b"{}")
    project.settings("x-1")
    assert run(["generate"]).exit_code == 2
    assert not project.output.exists()


@pytest.mark.parametrize("step", ["write", "replace"])
def test_an_interrupted_publish_changes_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    files = project.generate(project.add(schema(A={"type": "string"})), black=False)
    before = tree(project.root)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if step == "write":
            patch.setattr(Path, "write_bytes", interrupt)
        else:
            patch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            publishing.publish(
                {path: text + "#\n" for path, text in files.items()}, project.output
            )
    assert tree(project.root) == before


@pytest.mark.parametrize(
    "path", ["../mine.py", "a/../../mine.py", "{root}/mine.py", "link/mine.py"]
)
def test_a_manifest_cannot_delete_other_files(project: Project, path: str) -> None:
    from hashlib import sha256

    files = project.generate(project.add(schema(A={"type": "string"})), black=False)
    mine = project.root / "mine.py"
    mine.write_text("mine")
    (project.output / "link").symlink_to(project.root)
    manifest = project.output / "MANIFEST"
    content = json.loads(manifest.read_text())
    content["files"][path.format(root=project.root)] = sha256(b"mine").hexdigest()
    manifest.write_text(json.dumps(content))
    done = publishing.publish(files, project.output)
    assert not done.removed
    assert mine.read_text() == "mine"
