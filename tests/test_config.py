"""Settings: found from below, checked by name, never reaching outside the project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcpgen.config import find_config, parse_config, require_config
from mcpgen.diagnostics import CompileError


def write(directory: Path, text: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "pyproject.toml").write_text(text)


def test_the_nearest_project_with_settings_counts(tmp_path: Path) -> None:
    write(tmp_path, '[tool.mcpgen]\noutput = "src/out"\nversions = ["a"]\n')
    write(tmp_path / "part", '[project]\nname = "no-settings"\n')
    inner = tmp_path / "part/inner"
    inner.mkdir()
    config = find_config(inner)
    assert config is not None
    assert config.root == tmp_path
    assert config.output == tmp_path / "src/out"
    assert config.schema_dir == tmp_path / "schema"
    assert config.versions == ("a",)
    write(inner, '[tool.mcpgen]\noutput = "out"\nschema-dir = "s"\n')
    config = require_config(inner)
    assert config.root == inner
    assert config.schema_dir == inner / "s"
    assert config.versions == ()


def test_outside_of_a_project(tmp_path: Path) -> None:
    assert find_config(tmp_path) is None
    with pytest.raises(CompileError) as caught:
        require_config(tmp_path)
    (problem,) = caught.value.diagnostics
    assert problem.code == "no-project"
    assert "[tool.mcpgen]" in problem.hint


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown": ({"output": "o", "ouput": "o"}, "ouput", "config-unknown-key"),
    "missing": ({}, "output", "config-missing"),
    "number": ({"output": 1}, "output", "config-type"),
    "empty": ({"output": ""}, "output", "config-type"),
    "nul": ({"output": "a\0b"}, "output", "config-type"),
    "root": ({"output": "."}, "output", "config-path"),
    "above": ({"output": "../o"}, "output", "config-path"),
    "absolute": ({"output": "/o"}, "output", "config-path"),
    "schema-number": ({"output": "o", "schema-dir": []}, "schema-dir", "config-type"),
    "schema-above": (
        {"output": "o", "schema-dir": "a/../.."},
        "schema-dir",
        "config-path",
    ),
    "same": ({"output": "o", "schema-dir": "o"}, "output", "config-path"),
    "inside": ({"output": "o/p", "schema-dir": "o"}, "output", "config-path"),
    "around": ({"output": "o", "schema-dir": "o/p"}, "output", "config-path"),
    "versions": ({"output": "o", "versions": "a"}, "versions", "config-type"),
    "versions-numbers": ({"output": "o", "versions": [1]}, "versions", "config-type"),
    "versions-none": ({"output": "o", "versions": []}, "versions", "config-type"),
    "versions-twice": (
        {"output": "o", "versions": ["a", "a"]},
        "versions",
        "config-type",
    ),
}


@pytest.mark.parametrize(("table", "key", "code"), BAD.values(), ids=BAD)
def test_a_mistake_is_reported_by_its_key(
    tmp_path: Path, table: dict[str, Any], key: str, code: str
) -> None:
    with pytest.raises(CompileError) as caught:
        parse_config(table, tmp_path)
    (problem,) = caught.value.diagnostics
    assert problem.code == code
    assert problem.message.startswith(f"tool.mcpgen.{key} ")
    assert problem.file == "pyproject.toml"


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        parse_config({"ouput": "o", "versions": 1}, tmp_path)
    assert {d.code for d in caught.value.diagnostics} == {
        "config-missing",
        "config-type",
        "config-unknown-key",
    }
    hints = {d.code: d.hint for d in caught.value.diagnostics}
    assert hints["config-unknown-key"] == 'did you mean "output"?'


def test_a_link_does_not_lead_outside(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(tmp_path)
    with pytest.raises(CompileError) as caught:
        parse_config({"output": "link/out"}, project)
    assert caught.value.diagnostics[0].code == "config-path"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[tool.mcpgen\n", "config-syntax"),
        ("[tool]\nmcpgen = 1\n", "config-type"),
        ("tool = 1 # mcpgen\n", None),
        ("# mcpgen\n[project]\n", None),
    ],
)
def test_a_file_that_is_not_as_it_should_be(
    tmp_path: Path, text: str, code: str | None
) -> None:
    write(tmp_path, text)
    if code is None:
        assert find_config(tmp_path) is None
        return
    with pytest.raises(CompileError) as caught:
        find_config(tmp_path)
    assert caught.value.diagnostics[0].code == code
    assert caught.value.diagnostics[0].file == "pyproject.toml"


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"# mcpgen \xff\n")
    with pytest.raises(CompileError) as caught:
        find_config(tmp_path)
    assert caught.value.diagnostics[0].code == "config-syntax"
