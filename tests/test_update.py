"""`mcpgen update`: what mcpgen owns is brought up to date; what is yours is told about."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcpgen import resources, swap
from mcpgen.catalog import Catalog, module_name
from mcpgen.cli import app
from mcpgen.config import parse_config
from mcpgen.diagnostics import CompileError
from mcpgen.diff.rules import SPELLING
from mcpgen.update.adopt import with_versions
from mcpgen.update.calls import ASKS, CALLS
from mcpgen.update.notes import affected
from mcpgen.update.trees import Tree, trees
from mcpgen.vendor import shipped
from typer.testing import CliRunner, Result

from .compiling import schema, tree

VERSIONS = Catalog().names()
OLD, MIDDLE, NEWEST = VERSIONS[2], VERSIONS[3], VERSIONS[4]
PACKAGE = f"w/_mcp/protocol/{module_name(MIDDLE)}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / "w").mkdir(parents=True)
    monkeypatch.chdir(root)
    monkeypatch.setenv("MCPGEN_JOBS", "1")
    for module in ("pipeline", "vendor.compiled"):  # how it looks is tested elsewhere
        monkeypatch.setattr(f"mcpgen.{module}.format_files", dict)
    return root


def settings(root: Path, *copies: dict[str, Any], **more: Any) -> None:
    lines = ["[tool.mcpgen]", *(f"{k} = {json.dumps(v)}" for k, v in more.items())]
    for copy in copies:
        lines.append("[[tool.mcpgen.vendor]]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in copy.items()]
    (root / "pyproject.toml").write_text("\n".join(lines) + "\n")


def vendored(root: Path, *versions: str, part: str = "stubs", **more: Any) -> None:
    """A project with one copy."""
    table = {"path": "w/_mcp", "parts": [part], **more}
    settings(root, table | ({"versions": versions} if versions else {}))
    run("vendor")


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def told(*arguments: str, code: int = 0) -> Any:
    return json.loads(run("update", *arguments, "--format", "json", code=code).stdout)


def refused(root: Path, *arguments: str, code: int = 2) -> str:
    before = everything(root)
    result = run(*arguments, code=code)
    assert everything(root) == before
    assert str(root) not in result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


def everything(root: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }


def edit(path: Path, text: str = "# mine\n") -> None:
    path.write_text(path.read_text() + text)


@contextmanager
def older(tmp_path: Path) -> Iterator[None]:
    """An mcpgen that came before the newest version."""
    schemas = tmp_path / "older"
    if not schemas.exists():
        shutil.copytree(resources.schema_dir(), schemas)
        pins = (schemas / "pins.toml").read_text()
        start = pins.index(f'name = "{NEWEST}"')
        start = pins.rindex("[[version]]", 0, start)
        end = pins.find("[[version]]", start + 1)
        (schemas / "pins.toml").write_text(
            pins[:start] + (pins[end:] if end > 0 else "")
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resources, "schema_dir", lambda: schemas)
        patch.setattr(resources, "VERSION", "0.0.9")
        assert NEWEST not in Catalog().names()
        yield


# --- what is written ------------------------------------------------------------------


def test_what_is_up_to_date_is_not_touched(project: Path) -> None:
    vendored(project, MIDDLE)
    times = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    shown = run("update").stdout
    assert shown.startswith("w/_mcp is up to date\n")
    assert f"mcpgen update --add {NEWEST}" in shown
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == times
    assert told()["current"] is True


def test_a_newer_mcpgen_brings_the_version_that_it_pins(
    project: Path, tmp_path: Path
) -> None:
    with older(tmp_path):
        vendored(project)
    assert json.loads((project / "w/_mcp/MANIFEST").read_text())["mcpgen"] == "0.0.9"
    (project / "w/mine.py").write_text("mine = 1\n")
    (project / "w/_mcp/mine.txt").write_text("mine")
    shown = run("update").stdout
    assert f"w/_mcp: mcpgen 0.0.9 → {resources.VERSION}\n" in shown
    assert f"  + {NEWEST}  (new; no list of versions" in shown
    assert "nothing that you use has changed" in shown
    found = tree(project)
    assert f"w/_mcp/protocol/{module_name(NEWEST)}/server.py" in found
    assert found["w/mine.py"] == b"mine = 1\n"
    assert found.pop("w/_mcp/mine.txt") == b"mine"
    shutil.rmtree(project / "w/_mcp")
    run("vendor")
    assert tree(project) == found  # the same as made anew
    assert "up to date" in run("check").stdout


def test_a_scaffolded_project_follows(project: Path) -> None:
    run("new", "weather", "--versions", f"{OLD},{MIDDLE}")
    os.chdir(project / "weather")
    edit(project / "weather/src/weather/server.py")
    before = tree(project / "weather")
    shown = run("update", "--add", NEWEST).stdout
    assert "nothing that you use has changed" in shown
    after = tree(project / "weather")
    changed = {p for p in after if after[p] != before.get(p)}
    assert {p for p in changed if "/_mcp/" not in p} == {"pyproject.toml"}
    assert not before.keys() - after.keys()
    assert "up to date" in run("check").stdout


def test_adding_a_version_changes_the_list_and_nothing_else(project: Path) -> None:
    vendored(project, OLD, MIDDLE)
    edit(project / "pyproject.toml", "# mine\n\n[tool.else]\na = [  1 ]\n")
    text = (project / "pyproject.toml").read_text()
    done = told("--add", NEWEST)
    (copy,) = done["trees"]
    assert copy["added"] == [NEWEST]
    assert copy["mcpgen"] == resources.VERSION
    assert f"protocol/{module_name(NEWEST)}/types.py" in copy["written"]
    assert f"protocol/{module_name(MIDDLE)}/types.py" not in copy["written"]
    old = json.dumps([OLD, MIDDLE])
    assert (project / "pyproject.toml").read_text() == text.replace(
        old, json.dumps([OLD, MIDDLE, NEWEST])
    )
    assert "up to date" in run("check").stdout
    assert told("--add", NEWEST)["current"]
    (copy,) = told("--drop", OLD)["trees"]
    assert copy["dropped"] == [OLD]
    assert f"protocol/{module_name(OLD)}/types.py" in copy["removed"]
    assert not (project / "w/_mcp/protocol" / module_name(OLD)).exists()


def test_a_dry_run_writes_nothing_and_shows_it_all(project: Path) -> None:
    vendored(project, MIDDLE, part="validators")
    before = everything(project)
    shown = run("update", "--add", NEWEST, "--dry-run").stdout
    assert everything(project) == before
    lines = shown.splitlines()
    assert f'+versions = ["{MIDDLE}", "{NEWEST}"]' in lines
    assert f"+++ w/_mcp/protocol/{module_name(NEWEST)}/validators.py" in lines
    assert f'+PROTOCOL_VERSION = "{NEWEST}"' in lines
    assert "MANIFEST" not in shown
    (copy,) = told("--add", NEWEST, "--dry-run")["trees"]
    assert copy["written"] == []
    assert copy["pending"] == {
        line.removeprefix("+++ "): (
            "missing" if module_name(NEWEST) in line else "changed"
        )
        for line in lines
        if line.startswith("+++ w/")
    }
    run("update", "--add", NEWEST)
    run("update", "--drop", NEWEST)
    assert everything(project) == before


def test_bindings_and_copies_together(project: Path) -> None:
    settings(project, output="out", versions=["x-1"])
    (project / "s.json").write_text(json.dumps(schema(A={"type": "string"})))
    for version in ("x-1", "x-2"):
        run("schema", "add", "s.json", "--version", version, "--extension")
    copy = {"path": "w/_mcp", "parts": ["validators"], "versions": ["x-1"]}
    settings(project, copy, output="out", versions=["x-1"])
    first, second = told()["trees"]  # nothing is there yet
    assert (first["path"], second["path"]) == ("out", "w/_mcp")
    assert first["added"] == second["added"] == ["x-1"]
    assert run("check").stdout.count("up to date") == 2
    edit(project / "out/vx_1/types.py")
    (edited,) = told("--add", "x-2", code=1)["edited"]
    assert edited == "out/vx_1/types.py"
    first, second = told("--add", "x-2", "--force")["trees"]
    assert first["saved"] == {"vx_1/types.py": "vx_1/types.py.orig"}
    assert "vx_2/types.py" in first["written"]
    assert "protocol/vx_2/validators.py" in second["written"]
    (project / "out/vx_1/types.py.orig").unlink()
    assert run("check").stdout.count("up to date") == 2
    # One that cannot be planned, or is in the way, leaves the other as it was.
    edit(project / "out/vx_1/types.py")
    (project / "w/_mcp/protocol/_issues.py").unlink()
    (project / "w/_mcp/protocol/_issues.py").mkdir()
    assert "w/_mcp/protocol/_issues.py" in refused(project, "update", "--force")


# --- what was edited by hand ----------------------------------------------------------


def test_an_edited_file_stops_it_all(project: Path) -> None:
    vendored(project, OLD, MIDDLE)
    edit(project / PACKAGE / "types.py")
    assert "\n  1 file differs\n" in run("update", "--dry-run", code=1).stdout
    edit(project / "w/_mcp/protocol" / module_name(OLD) / "types.py")
    (project / PACKAGE / "server.py").unlink()
    shown = refused(project, "update", "--drop", OLD, code=1)
    assert f"error[update-edited] {PACKAGE}/types.py" in shown
    assert f"w/_mcp/protocol/{module_name(OLD)}/types.py" in shown
    assert "server.py" not in shown  # gone: made again
    refused(project, "update", "--drop", OLD, "--dry-run", code=1)
    mine = (project / PACKAGE / "types.py").read_bytes()
    (project / PACKAGE / "types.py.orig").write_text("another")
    shown = run("update", "--drop", OLD, "--force").stdout
    name = PACKAGE.removeprefix("w/_mcp/")
    assert f"your edits of {name}/types.py are kept in {name}/types.py.orig1" in shown
    assert (project / PACKAGE / "types.py.orig1").read_bytes() == mine
    assert (project / PACKAGE / "types.py.orig").read_text() == "another"
    left = project / "w/_mcp/protocol" / module_name(OLD)
    assert [path.name for path in left.iterdir()] == ["types.py.orig"]
    assert (project / PACKAGE / "server.py").exists()
    assert told()["current"]


def test_what_was_edited_to_what_it_should_be_is_no_edit(project: Path) -> None:
    vendored(project, MIDDLE, NEWEST)
    made = tree(project / "w/_mcp")
    run("update", "--drop", NEWEST)
    (project / "w/_mcp/protocol/__init__.py").write_bytes(made["protocol/__init__.py"])
    assert told("--add", NEWEST)["trees"][0]["saved"] == {}


def test_an_edit_that_no_manifest_remembers(project: Path) -> None:
    settings(project, output="out", versions=["x-1"])
    (project / "s.json").write_text(json.dumps(schema(A={"type": "string"})))
    run("schema", "add", "s.json", "--version", "x-1", "--extension")
    run("generate")
    edit(project / "out/vx_1/types.py")
    edit(project / "out/MANIFEST", "<<<<<<<\n")
    assert "out/vx_1/types.py" in refused(project, "update", code=1)
    run("update", "--force")
    assert (project / "out/vx_1/types.py.orig").read_text().endswith("# mine\n")


# --- what it says about your code -----------------------------------------------------

CODE: dict[str, tuple[str, list[tuple[str, int, str]]]] = {
    "name": (
        "from w._mcp.protocol.{v} import Tool\nx = Tool\n",
        [("Tool", 1, "Tool"), ("Tool", 2, "Tool")],
    ),
    "relative": (
        "from ._mcp.protocol.{v} import types as t\nt.ListToolsResult\n",
        [("ListToolsResult", 2, "t.ListToolsResult")],
    ),
    "module": (
        "import w._mcp.protocol.{v}.types\nw._mcp.protocol.{v}.types.Tool\n",
        [("Tool", 2, "w._mcp.protocol.{v}.types.Tool")],
    ),
    "package": (
        "from . import _mcp\n_mcp.protocol.{v}.Tool\n",
        [("Tool", 2, "_mcp.protocol.{v}.Tool")],
    ),
    "load": (
        "from w._mcp import protocol\np = protocol.load('{n}')\np.types.Tool\n",
        [("Tool", 3, "p.types.Tool")],
    ),
    "newest": (
        "from w._mcp.protocol.newest import types\ndef f(x: types.Tool): ...\n",
        [("Tool", 2, "types.Tool")],
    ),
    "star": (
        "from w._mcp.protocol.{v}.types import *\nx: Tool\n",
        [("Tool", 2, "Tool")],
    ),
    "validator": (
        "from w._mcp.protocol.{v}.validators import validate_Tool\n",
        [("Tool", 1, "validate_Tool")],
    ),
    "constant": (
        "from w._mcp.protocol.{v} import methods\nmethods.SET_LEVEL\n",
        [("logging/setLevel", 2, "methods.SET_LEVEL")],
    ),
    "handlers": (
        "from w._mcp.protocol.{v}.server import ServerHandlers as H\n"
        "class Mine(H):\n"
        "    async def ping(self, params, ctx): ...\n"
        "    async def on_initialized(self, params, ctx): ...\n"
        "    async def helper(self): ...\n",
        [
            ("notifications/initialized", 4, "Mine.on_initialized"),
            ("ping", 3, "Mine.ping"),
        ],
    ),
    "caller": (
        "from w._mcp.protocol.{v} import server\n"
        "async def f(c: 'server.ClientCaller | None'):\n    await c.list_roots()\n",
        [("roots/list", 3, "c.list_roots")],
    ),
    "string": (
        "x = 'logging/setLevel'\n",
        [("logging/setLevel", 1, '"logging/setLevel"')],
    ),
    "word": ("x = 'ping'\n", []),
    "word-beside": (
        "from w._mcp import protocol\nx = 'ping'\n",
        [("ping", 2, '"ping"')],
    ),
    "context": (
        "from w._mcp.runtime import Context\n"
        "async def f(*, ctx: Context | None = None):\n"
        "    await ctx.sample('x')\n    await ctx.progress(1)\n",
        [("sampling/createMessage", 3, "ctx.sample")],
    ),
    "ask": (
        "import w._mcp.runtime as mcp\nx = mcp.Roots()\n",
        [("roots/list", 2, "mcp.Roots")],
    ),
    "client": (
        "from w._mcp.runtime import Client\nasync def f():\n"
        "    async with Client.connect('x') as client:\n"
        "        await client.ping(); await client.call_tool('x')\n",
        [("ping", 4, "client.ping")],
    ),
    "server": (
        "from w._mcp.runtime import Server\ns = Server('x')\n@s.tool\ndef f(): ...\n",
        [],
    ),
    "installed": (
        "from mcpgen.protocol.{v} import Tool\nfrom mcpgen.runtime import Sample\n",
        [("Tool", 1, "Tool"), ("sampling/createMessage", 2, "Sample")],
    ),
    "others": ("from other.protocol.{v} import Tool\nTool.x\nctx.sample()\n", []),
    "unused": ("from w._mcp.protocol.{v} import types\ntypes.Role\n", []),
}


Planned = tuple[Path, tuple[Tree, ...], Catalog]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """A copy of the runtime that is about to get the newest version."""
    root = tmp_path_factory.mktemp("planned")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        vendored(root, MIDDLE, part="runtime")
    table = {"path": "w/_mcp", "parts": ["runtime"], "versions": [MIDDLE, NEWEST]}
    config = parse_config({"vendor": [table]}, root)
    catalog = Catalog(config)
    return root, trees(config, catalog), catalog


@pytest.mark.parametrize(("code", "expected"), CODE.values(), ids=CODE)
def test_what_you_use_is_found(
    planned: Planned, code: str, expected: list[tuple[str, int, str]]
) -> None:
    names = {"{v}": module_name(MIDDLE), "{n}": MIDDLE}
    for mark, name in names.items():
        code = code.replace(mark, name)
    (planned[0] / "w/use.py").write_text(code)
    notes, unread = affected(*planned)
    assert not unread
    found = [(note.subject, p.line, p.text) for note in notes for p in note.places]
    for mark, name in names.items():
        expected = [(s, n, text.replace(mark, name)) for s, n, text in expected]
    # The import of a module is none of a definition; its uses are.
    assert found == expected
    assert all((n.kind, n.old, n.new) == ("changed", MIDDLE, NEWEST) for n in notes)
    assert all(place.file == "w/use.py" for n in notes for place in n.places)


def test_what_changes_is_what_diff_tells(project: Path) -> None:
    vendored(project, MIDDLE)
    (project / "w/use.py").write_text(
        f"from w._mcp.protocol.{module_name(MIDDLE)} import ListToolsResult\n"
    )
    (note,) = told("--add", NEWEST, "--dry-run")["notes"]
    shown = run("diff", MIDDLE, NEWEST, "--format", "json").stdout
    expected = {
        (change["rule"], change["place"], tuple(change["breaking_for"]))
        for change in json.loads(shown)["changes"]
        if change["subject"] == "ListToolsResult" and change["rule"] not in SPELLING
    }
    assert expected == {
        (change["rule"], change["place"], tuple(change["breaking_for"]))
        for change in note["changes"]
    }
    assert note["through"]["Tool"] == 1
    text = run("update", "--add", NEWEST).stdout
    assert f"What you use of {MIDDLE} is different in {NEWEST}:" in text
    assert "    w/use.py:1  ListToolsResult\n" in text
    assert "FIELD_NOW_REQUIRED [breaks servers]  ListToolsResult.ttlMs" in text
    assert "changes in what it leads to: Tool (1)" in text


def test_a_version_that_goes_is_told_where_it_is_named(project: Path) -> None:
    vendored(project, OLD, NEWEST)
    (project / "w/use.py").write_text(
        f"from w._mcp.protocol import load\nload('{OLD}')\n"
        f"from w._mcp.protocol.{module_name(NEWEST)} import Tool\n"
    )
    first, *rest = told("--drop", OLD)["notes"]
    assert (first["kind"], first["subject"]) == ("dropped", OLD)
    assert [place["line"] for place in first["places"]] == [2]
    assert not rest


def test_a_name_that_goes_is_told_where_it_is_imported(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = shipped.runtime()
    then = {**now, "old.py": "def helper() -> None: ...\n"}
    then["errors.py"] = now["errors.py"] + "\n\nclass OldError(Exception): ...\n"
    then["__init__.py"] = now["__init__.py"].replace(
        "if TYPE_CHECKING:\n", "if TYPE_CHECKING:\n    from .errors import OldError\n"
    )
    with monkeypatch.context() as patch:
        patch.setattr(shipped, "runtime", lambda: then)
        patch.setattr(resources, "VERSION", "0.0.9")
        vendored(project, MIDDLE, part="runtime")
    (project / "w/use.py").write_text(
        "from w._mcp.runtime import McpError, OldError, Server\n"
        "from w._mcp.runtime.old import helper\n"
        "import w._mcp.runtime.errors as errors\n\nerrors.OldError\nerrors.made_up\n"
    )
    shown = run("update").stdout
    assert "No longer there:" in shown
    assert "\n  runtime.OldError\n    w/use.py:1  OldError\n" in shown
    assert "\n  runtime.old.helper\n    w/use.py:2  helper\n" in shown
    assert "\n  runtime.errors.OldError\n    w/use.py:5  errors.OldError\n" in shown
    assert "made_up" not in shown
    assert "McpError" not in shown
    assert not (project / "w/_mcp/runtime/old.py").exists()


def test_a_version_from_another_schema_is_told(project: Path) -> None:
    settings(project, output="out", versions=["x-1"])
    for kind in ("string", "integer"):
        shutil.rmtree(project / "schema", ignore_errors=True)
        (project / "s.json").write_text(json.dumps(schema(A={"type": kind})))
        run("schema", "add", "s.json", "--version", "x-1", "--extension")
        if kind == "string":
            run("generate")
    (project / "use.py").write_text("from out.vx_1 import A\n")
    done = told()
    assert done["trees"][0]["repinned"] == ["x-1"]
    (note,) = done["notes"]
    assert (note["kind"], note["subject"]) == ("repinned", "x-1")
    assert note["places"] == [{"file": "use.py", "line": 1, "text": "A"}]


HOSTILE: dict[str, bytes] = {
    "syntax": b"def (:\n",
    "nul": b"x = 1\0\n",
    "encoding": b"\xff\xfe\n",
    "cookie": b"# -*- coding: nonsense -*-\n",
    "deep": b"x = " + b"(" * 5000 + b")" * 5000 + b"\n",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_python_is_told_and_passed_over(project: Path, data: bytes) -> None:
    vendored(project, MIDDLE, part="validators")
    (project / "bad.py").write_bytes(data)
    (project / "fine.py").write_text(r'x = "\d"' + "\n")  # only its author is warned
    result = run("update", "--add", NEWEST)
    assert "warning[update-unread] bad.py" in result.stderr
    assert "fine.py" not in result.stderr


def test_names_that_are_no_text(project: Path) -> None:
    vendored(project, MIDDLE, part="validators")
    for name in (b"\xff.py", b"\x1b[31m.py"):
        Path(os.fsdecode(name)).write_text("def (:\n'logging/setLevel'\n")
        Path(os.fsdecode(b"a" + name)).write_text("x = 'logging/setLevel'\n")
    result = run("update", "--add", NEWEST)
    assert "\\udcff.py" in result.stderr
    assert "a\\udcff.py:1" in result.stdout
    assert "\x1b" not in result.output


def test_only_your_own_files_are_read(project: Path, tmp_path: Path) -> None:
    vendored(project, MIDDLE, part="validators")
    places = [".hidden/a.py", "env/lib/a.py", "node_modules/a.py", "w/_mcp/a.py"]
    for place in places:
        (project / place).parent.mkdir(parents=True, exist_ok=True)
        (project / place).write_text("x = 'logging/setLevel'\n")
    (project / "env/pyvenv.cfg").touch()
    (project / "made.py").write_text(
        "# Generated by mcpgen 0.\nx = 'logging/setLevel'\n"
    )
    (tmp_path / "outside.py").write_text("x = 'logging/setLevel'\n")
    (project / "link.py").symlink_to(tmp_path / "outside.py")
    (project / "dir").symlink_to(tmp_path)
    assert told("--add", NEWEST, "--dry-run")["notes"] == []


def test_nothing_of_yours_is_run(project: Path) -> None:
    vendored(project, MIDDLE, part="validators")
    (project / "w/__init__.py").write_text("raise SystemExit('run')\n")
    (project / "conftest.py").write_text("open('ran', 'w')\n")
    run("update", "--add", NEWEST)
    assert not (project / "ran").exists()
    assert "w" not in sys.modules


def test_the_calls_of_the_runtime_are_what_there_is() -> None:
    runtime = importlib.import_module("mcpgen.runtime")
    protocols = [Catalog().protocol(version)[0] for version in VERSIONS]
    methods = {method.name for p in protocols for method in p.methods}
    for owner, calls in CALLS.items():
        for name, behind in calls.items():
            assert hasattr(getattr(runtime, owner), name)
            assert set(behind) <= methods
    assert all(hasattr(runtime, name) for name in ASKS)
    assert set(ASKS.values()) <= methods


# --- pyproject.toml -------------------------------------------------------------------

TOML = {
    "one-line": ('versions = ["a", "b"] # x\n', 'versions = ["a", "b", "c"] # x\n'),
    "lines": (
        'versions = [\n    "a",  # one\n    "b", # two\n    ]\n',
        'versions = [\n    "a",  # one\n    "b", # two\n    "c",\n    ]\n',
    ),
    "single": ("versions = ['a', 'b']\n", "versions = ['a', 'b', \"c\"]\n"),
    "windows": ('versions = ["a", "b"]\r\n', 'versions = ["a", "b", "c"]\r\n'),
}
TOPS = {
    "plain": '[project]\nname =  "x"\n\n[tool.mcpgen]\noutput = "out"   # here\n',
    "split": '[tool.a]\nx=1\n[project]\n[tool.mcpgen]\noutput = "out"\n',
    "bom": '\ufeff[tool.mcpgen]\noutput = "out"\n',
}


@pytest.mark.parametrize("top", TOPS.values(), ids=TOPS)
@pytest.mark.parametrize(("before", "after"), TOML.values(), ids=TOML)
def test_a_list_grows_and_shrinks_where_it_is(
    top: str, before: str, after: str
) -> None:
    rest = '\n# more\n[[tool.mcpgen.vendor]]\npath = "p"\n  only=["A"]\n[tool.z]\n'
    text = top + before + rest + before
    grown = with_versions(text, ("c",), ())
    assert grown == top + after + rest + before
    assert tomllib.loads(with_versions(grown, (), ("c",)).removeprefix("\ufeff")) == (
        tomllib.loads(text.removeprefix("\ufeff"))
    )


def test_every_list_is_changed_and_no_list_is_made() -> None:
    text = (
        '[tool.mcpgen]\noutput = "o"\n\n[[tool.mcpgen.vendor]]\npath = "p"\n'
        'versions = ["a"]\n\n[[tool.mcpgen.vendor]]\npath = "q"\nversions = ["b"]\n'
    )
    assert with_versions(text, ("b",), ("a",)) == (
        text.replace('path = "p"\nversions = ["a"]', 'path = "p"\nversions = ["b"]')
    )
    with pytest.raises(CompileError, match="would be empty"):
        with_versions(text, (), ("a",))


def test_dotted_settings_are_changed_or_left() -> None:
    text = 'tool.mcpgen = {output = "o", versions = ["a"]}\n'
    assert with_versions(text, ("b",), ()) == text.replace('["a"]', '["a", "b"]')


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--add", "2025-11-26"), 'did you mean "2025-11-25"?'),
        (("--drop", NEWEST), "no list of versions names"),
        (("--drop", MIDDLE), "would be empty"),
        (("--add", MIDDLE, "--drop", MIDDLE), "cannot both come and go"),
    ],
)
def test_versions_that_will_not_do(
    project: Path, arguments: tuple[str, ...], words: str
) -> None:
    vendored(project, MIDDLE, part="validators")
    assert words in refused(project, "update", *arguments)


def test_outside_of_a_project(project: Path) -> None:
    assert "no-project" in refused(project, "update")


# --- interruptions, links, rights, names ----------------------------------------------


@pytest.mark.parametrize(
    ("after", "error"),
    [
        (1, KeyboardInterrupt()),
        (9, KeyboardInterrupt()),
        (9, PermissionError(13, "denied")),
    ],
)
def test_an_interruption_leaves_each_tree_whole(
    project: Path, after: int, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = [
        {"path": f"w/{name}", "parts": ["validators"], "versions": [MIDDLE]}
        for name in ("a", "b")
    ]
    settings(project, *copies)
    run("vendor")
    edit(project / "w/a/protocol/_issues.py")
    before = tree(project)
    replace, count = os.replace, iter(range(after))

    def failing(source: Any, target: Any) -> None:
        if Path(source).name.startswith("new-") and next(count, None) is None:
            raise error
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(swap.os, "replace", failing)
        arguments = ["update", "--add", NEWEST, "--force"]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code != 0
        assert isinstance(error, KeyboardInterrupt) or (
            "cannot be written: denied" in result.stderr
        )
    now = tree(project)
    for name in ("a", "b"):
        same = _below(now, f"w/{name}/") == _below(before, f"w/{name}/")
        assert same or (project / f"w/{name}/protocol" / module_name(NEWEST)).exists()
    begun = (project / "w/a/protocol" / module_name(NEWEST)).exists()
    assert (now["pyproject.toml"] != before["pyproject.toml"]) == begun
    # The same again ends what was begun; so does less, once the settings say it.
    run(*(["update", "--force"] if begun else arguments))
    (project / "w/a/protocol/_issues.py.orig").unlink()
    assert run("check").stdout.count("up to date") == 2


def _below(files: dict[str, bytes], start: str) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path.startswith(start)}


def _link_file(project: Path, outside: Path) -> None:
    (outside / "types.py").write_text("theirs")
    (project / PACKAGE / "types.py").unlink()
    (project / PACKAGE / "types.py").symlink_to(outside / "types.py")


def _link_directory(project: Path, outside: Path) -> None:
    shutil.rmtree(project / PACKAGE)
    (project / PACKAGE).symlink_to(outside)


def _file_for_directory(project: Path, outside: Path) -> None:
    shutil.rmtree(project / PACKAGE)
    (project / PACKAGE).write_text("mine")


OBSTACLES = [_link_file, _link_directory, _file_for_directory]


@pytest.mark.parametrize("put", OBSTACLES, ids=lambda put: put.__name__)
def test_what_is_in_the_way_stops_it_before_anything_is_written(
    project: Path, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    vendored(project, MIDDLE)
    put(project, outside)
    before = everything(tmp_path)
    shown = refused(project, "update", "--add", NEWEST, "--force")
    assert (
        f"error[output-{'occupied' if put is _file_for_directory else 'path'}]" in shown
    )
    assert f"{PACKAGE}/" in shown
    assert everything(tmp_path) == before


def test_settings_outside_of_the_project_are_not_changed(
    project: Path, tmp_path: Path
) -> None:
    vendored(project, MIDDLE, part="validators")
    (project / "pyproject.toml").rename(tmp_path / "shared.toml")
    (project / "pyproject.toml").symlink_to(tmp_path / "shared.toml")
    before = everything(tmp_path)
    assert "config-link" in refused(project, "update", "--add", NEWEST)
    assert everything(tmp_path) == before
    assert told()["current"]


def test_a_manifest_cannot_make_it_remove_what_lies_elsewhere(
    project: Path, tmp_path: Path
) -> None:
    vendored(project, MIDDLE, part="validators")
    manifest = project / "w/_mcp/MANIFEST"
    content = json.loads(manifest.read_text())
    (project / "mine.py").write_text("mine")
    digest = "0" * 64
    content["files"] |= {"../../mine.py": digest, "/etc/passwd": digest}
    manifest.write_text(json.dumps(content))
    run("update", "--force", "--add", NEWEST)
    assert (project / "mine.py").read_text() == "mine"
    assert not list(project.glob("*.orig"))


@pytest.mark.parametrize("path", ["my code/größe/_mcp", "a.b/c-d/class_"])
def test_odd_names(project: Path, path: str) -> None:
    settings(project, {"path": path, "parts": ["validators"], "versions": [MIDDLE]})
    run("vendor")
    name = path.rpartition("/")[2]
    use = (project / path).parent / "odd name.py"
    use.write_text(
        f"from .{name}.protocol.{module_name(MIDDLE)} import validators as v\n"
        "v.validate_ListToolsResult({})\n"
    )
    edit(project / path / "protocol/_issues.py")
    done = told("--add", NEWEST, "--force")
    assert done["trees"][0]["path"] == path
    ((place,),) = [note["places"] for note in done["notes"]]
    assert place["file"] == use.relative_to(project).as_posix()
    assert (project / path / "protocol/_issues.py.orig").is_file()
