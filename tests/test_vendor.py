"""`mcpgen vendor`: copies that stand on their own, and leave everything else alone."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcpgen import swap
from mcpgen.catalog import Catalog, module_name
from mcpgen.cli import app
from mcpgen.config import parse_config
from mcpgen.diagnostics import CompileError
from mcpgen.ir import refs
from mcpgen.vendor import record
from mcpgen.vendor.plan import plan
from mcpgen.vendor.request import Request
from typer.testing import CliRunner, Result

from .compiling import schema, tree

ROOT = Path(__file__).parent.parent
SHIPPED = ROOT / "generated/mcpgen/protocol"
RUNTIME = ROOT / "runtime/mcpgen/runtime"
VERSIONS = Catalog().names()
MIDDLE, NEWEST = VERSIONS[3], VERSIONS[-1]
OWN = {"LICENSE", "MANIFEST", "NOTICE", "PROVENANCE.json", "__init__.py"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that has not heard of mcpgen, with the current directory in it."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("MCPGEN_JOBS", "1")
    (root / "pyproject.toml").write_text('[project]\nname = "weather"  # mine\n')
    return root


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def everything(root: Path) -> dict[str, bytes | None]:
    """Every file with its bytes, and every directory: nothing may be left behind."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }


def refused(root: Path, *arguments: str) -> str:
    """Ends with 2, leaves all as it was, and says why without a trace."""
    before = everything(root)
    result = run(*arguments, code=2)
    assert everything(root) == before
    assert "Traceback" not in result.stderr
    assert str(root) not in result.stderr
    return result.stderr


def python(script: str, cwd: Path, *options: str) -> str:
    """Run a script with nothing of mcpgen to be found, and give what it prints."""
    guard = "import sys; sys.modules['mcpgen'] = None\n"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, *options, "-c", guard + script],
        cwd=cwd,
        env=environment | {"PYTHONPATH": str(cwd)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- what is copied -------------------------------------------------------------------


def without_header(text: str) -> str:
    return text.partition("\n\n")[2] if text.startswith("# ") else text


def test_everything_is_the_text_that_ships() -> None:
    files = plan(Request(parts=("runtime",)), Catalog())
    shipped = {f"protocol/{path}": data for path, data in tree(SHIPPED).items()}
    del shipped["protocol/MANIFEST"]
    for path, data in shipped.items():
        old, new = b"`mcpgen generate`", b"`mcpgen vendor`"
        assert files[path].encode() == data.replace(old, new, 1)
    for path, data in tree(RUNTIME).items():
        copied = files[f"runtime/{path}"]
        assert copied.endswith(data.decode())
        if path.endswith(".py"):
            assert copied.startswith("# Vendored from mcpgen ")
            assert "MIT (LICENSE)" in copied.splitlines()[0]
            assert ast.get_docstring(ast.parse(copied))
    runtime = {f"runtime/{path}" for path in tree(RUNTIME)}
    assert files.keys() == shipped.keys() | runtime | OWN | {"schema/LICENSE"}


def test_licences_and_provenance() -> None:
    files = plan(Request(versions=(MIDDLE,)), Catalog())
    assert files["LICENSE"] == (ROOT / "LICENSE").read_text("utf-8")
    assert files["NOTICE"] == (ROOT / "NOTICE").read_text("utf-8")
    assert files["schema/LICENSE"] == (ROOT / "schema/LICENSE").read_text("utf-8")
    told = json.loads(files["PROVENANCE.json"])
    assert told["schemas"] == {MIDDLE: Catalog().pin(MIDDLE).sha256}
    assert told["request"] == {"parts": ["types", "validators"], "versions": [MIDDLE]}
    owned = json.loads(files["MANIFEST"])["files"]
    assert owned == {
        path: sha256(text.encode()).hexdigest()
        for path, text in files.items()
        if path != "MANIFEST"
    }


PARTS = {
    "types": ({"types", "validators"}, {"_codec", "_issues"}),
    "validators": ({"validators"}, {"_issues"}),
    "stubs": (
        {"client", "methods", "server", "types", "validators"},
        {"_codec", "_issues", "_methods", "_stubs"},
    ),
    "runtime": (
        {"client", "methods", "server", "types", "validators"},
        {"_codec", "_issues", "_methods", "_stubs", "newest"},
    ),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_brings_what_it_needs_and_nothing_else(part: str) -> None:
    inside, beside = PARTS[part]
    files = plan(Request(parts=(part,), versions=(MIDDLE,)), Catalog())
    package = f"protocol/{module_name(MIDDLE)}"
    expected = {f"{package}/{name}.py" for name in inside | {"__init__"}}
    expected |= {f"protocol/{name}.py" for name in beside | {"__init__"}}
    expected |= {"protocol/py.typed", "schema/LICENSE"} | OWN
    found = {path for path in files if not path.startswith("runtime/")}
    assert found == expected
    assert any(path.startswith("runtime/") for path in files) == (part == "runtime")


NEEDS = {
    "msgspec": {"msgspec"},
    "stdlib": set[str](),
    "pydantic": {"pydantic", "pydantic_core"},
}


@pytest.mark.parametrize("flavour", NEEDS)
@pytest.mark.parametrize("part", PARTS)
def test_imports_are_relative_or_declared(part: str, flavour: str) -> None:
    if flavour != "msgspec" and part in ("stubs", "runtime"):
        return
    # Compiling all takes long, and is looked at in the tests of the flavours.
    only = () if flavour == "msgspec" else ("Tool",)
    request = Request((part,), (MIDDLE,), only, flavour)
    allowed = sys.stdlib_module_names | NEEDS[flavour]
    files = plan(request, Catalog())
    for path, text in files.items():
        if not path.endswith(".py"):
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import):
                assert {a.name.split(".")[0] for a in node.names} <= allowed
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert str(node.module).split(".")[0] in allowed
            elif isinstance(node, ast.ImportFrom):
                # Never above the copy itself.
                assert node.level <= path.count("/") + 1
    assert not any("import msgspec" in files[p] for p in files if part == "validators")


def test_the_runtime_needs_a_version_to_speak(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.mcpgen]\noutput = "out"\n')
    (project / "own.json").write_text(json.dumps(schema(Own={"type": "string"})))
    run("schema", "add", "own.json", "--version", "x-1", "--extension")
    told = refused(project, "vendor", "_mcp", "--runtime", "--versions", "x-1")
    assert "needs a protocol version" in told


def test_the_newest_of_some_versions_is_one_of_them() -> None:
    some = VERSIONS[1:3]
    files = plan(Request(parts=("runtime",), versions=some), Catalog())
    packages = {path.split("/")[1] for path in files if path.startswith("protocol/v")}
    assert packages == {module_name(name) for name in some}
    assert f"from .{module_name(some[-1])} import" in files["protocol/newest.py"]
    scope: dict[str, Any] = {}
    exec(files["protocol/__init__.py"], scope)
    assert list(scope["PACKAGES"]) == list(scope["ERAS"]) == list(some)
    for name in VERSIONS:
        for path in ("protocol/__init__.py", "protocol/_codec.py"):
            assert (name in files[path]) == (name in some)


@pytest.mark.parametrize("flavour", NEEDS)
def test_only_some_definitions(project: Path, flavour: str) -> None:
    run(
        *("vendor", "pkg/_mcp", "--only", "Tool, CallToolRequest", "--types"),
        *("--versions", MIDDLE, "--flavour", flavour),
    )
    protocol, _ = Catalog().protocol(MIDDLE)
    needed: set[str] = set()
    waiting = ["Tool", "CallToolRequest"]
    while waiting:
        name = waiting.pop()
        waiting += set(refs(protocol.definition(name).type)) - needed
        needed.add(name)
    script = f"""
import inspect, json
from pkg._mcp.protocol.{module_name(MIDDLE)} import types, validators
tool = b'{{"name":"a","inputSchema":{{"type":"object"}}}}'
assert json.loads(types.encode(types.decode(tool, types.Tool))) == json.loads(tool)
try:
    types.decode(b'{{"name":1}}', types.Tool)
except ValueError as error:
    assert "$.name" in str(error), error
else:
    raise AssertionError
print(json.dumps([sorted(types.__all__), sorted(validators.VALIDATORS)]))
"""
    names, checked = json.loads(python(script, project))
    assert {name for name in names if name[0].isupper()} - {
        "InvalidMessage",
        "MISSING",
        "NotJson",
    } == needed
    assert set(checked) == needed


def test_stubs_of_some_definitions_have_their_results() -> None:
    request = Request(("stubs",), (MIDDLE,), ("CallToolRequest",))
    files = plan(request, Catalog())
    package = f"protocol/{module_name(MIDDLE)}"
    assert "class CallToolResult(" in files[f"{package}/types.py"]
    assert "async def call_tool(" in files[f"{package}/server.py"]
    assert "list_prompts" not in files[f"{package}/server.py"]


def test_the_same_request_gives_the_same_bytes() -> None:
    request = Request(("types",), (MIDDLE, NEWEST), ("Tool",))
    assert plan(request, Catalog()) == plan(request, Catalog())
    assert list(plan(request, Catalog())) == sorted(plan(request, Catalog()))


def test_own_schemas_are_compiled(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.mcpgen]\noutput = "out"\n')
    data = json.dumps(schema(Own={"type": "string"})).encode()
    (project / "own.json").write_bytes(data)
    run("schema", "add", "own.json", "--version", "x-1")
    run("vendor", "pkg/_mcp", "--types", "--versions", "x-1")
    script = "from pkg._mcp.protocol.vx_1 import types; print(types.Own)"
    assert python(script, project) == "<class 'str'>\n"


# --- what can be done with it ---------------------------------------------------------

SERVE = """
import asyncio
from {package}.runtime import Client, Server

server = Server("adder", version="1")

@server.tool
async def add(a: int, b: int) -> int:
    return a + b

async def main():
    async with Client.memory(server) as client:
        assert [tool.name for tool in await client.list_tools()] == ["add"]
        result = await client.call_tool("add", a=1, b=2)
        print(result.content[0].text)

asyncio.run(main())
"""
LAYOUTS = {
    "src": ("src/weather/_mcp", "src", "weather._mcp", True),
    "flat": ("_mcp", ".", "_mcp", False),
    "namespace": ("libs/company/weather/mcp", "libs", "company.weather.mcp", False),
    "unicode": ("src/größe/протокол", "src", "größe.протокол", True),
    "spaces-above": ("my code/weather/_mcp", "my code", "weather._mcp", True),
}


@pytest.mark.parametrize(
    ("dest", "path", "package", "init"), LAYOUTS.values(), ids=LAYOUTS
)
def test_it_runs_wherever_it_lands(
    project: Path, dest: str, path: str, package: str, init: bool
) -> None:
    run("vendor", dest, "--runtime", "--versions", f"{MIDDLE},{NEWEST}")
    if init:
        (project / dest).parent.joinpath("__init__.py").touch()
    assert python(SERVE.format(package=package), project / path) == "3\n"


def test_copies_live_side_by_side(project: Path) -> None:
    for version in (VERSIONS[1], NEWEST):
        name = module_name(version)
        run("vendor", f"{name}_copy", "--runtime", "--versions", version)
        assert python(SERVE.format(package=f"{name}_copy"), project) == "3\n"
    first, second = (f"{module_name(v)}_copy.runtime" for v in (VERSIONS[1], NEWEST))
    script = f"import {first} as a, {second} as b; print(a.Server is b.Server)"
    assert python(script, project) == "False\n"


def test_validators_need_nothing_installed(project: Path) -> None:
    run("vendor", "_mcp", "--validators", "--versions", NEWEST)
    script = f"""
from _mcp.protocol.{module_name(NEWEST)} import validators, PROTOCOL_VERSION
import _mcp.protocol.{module_name(NEWEST)} as package
assert package.validators.validate_Tool(1) and not hasattr(package, "Tool")
assert "msgspec" not in sys.modules
print(PROTOCOL_VERSION)
"""
    # -S: no site-packages at all.
    assert python(script, project, "-S").strip() == NEWEST


MODELS = """
import sys
from {package}.protocol.{version} import types

tool = types.Tool(name="add", input_schema=types.ToolInputSchema())
data = types.encode(tool)
assert types.decode(data, types.Tool) == tool
assert data == b'{{"inputSchema":{{"type":"object"}},"name":"add"}}', data
assert not {{"msgspec", "black", "datamodel_code_generator"}} & sys.modules.keys()
print(types.__name__)
"""


@pytest.mark.parametrize("layout", ["src", "flat", "namespace"])
def test_models_work_wherever_they_land(project: Path, layout: str) -> None:
    dest, path, package, init = LAYOUTS[layout]
    only = ("--only", "Tool", "--versions", MIDDLE, "--flavour", "pydantic")
    run("vendor", dest, "--types", *only)
    if init:
        (project / dest).parent.joinpath("__init__.py").touch()
    version = module_name(MIDDLE)
    printed = python(MODELS.format(package=package, version=version), project / path)
    assert printed == f"{package}.protocol.{version}.types\n"


BESIDE = """
from typing import assert_type

from pydantic import BaseModel

from app._mcp.protocol.{middle} import types as old
from app.newer.protocol.{newest} import types as new
from app.plain.protocol.{newest} import Tool as PlainTool


class Settings(BaseModel):
    tool: new.Tool
    level: old.LoggingLevel = "debug"


tool = new.Tool(name="a", input_schema=new.ToolInputSchema(), meta={{"x": 1}})
settings = Settings(tool=tool)
assert_type(settings.tool.title, str | new.MISSING)
assert_type(new.decode(new.encode(tool), new.Tool), new.Tool)
blocks: list[old.ContentBlock] = [old.TextContent(text="hi")]
result = old.CallToolResult(content=blocks, is_error=False)
for block in result.content:
    if block.type == "text":
        print(block.text, settings.level)
if tool.title is not new.MISSING:
    print(tool.title.upper())
params = old.SetLevelRequestParams(level="loud")  # type: ignore[arg-type]
wrong = new.Tool(name="a")  # type: ignore[call-arg]
"""


def test_models_beside_other_copies_in_a_project_that_has_pydantic(
    project: Path,
) -> None:
    """Two versions as models, one as structs, and models of the project's own."""
    models = ("--types", "--flavour", "pydantic")
    some = "CallToolResult,SetLevelRequestParams,Tool"
    old = ("--versions", MIDDLE, "--only", some)
    run("vendor", "src/app/_mcp", *models, *old, "--record")
    run("vendor", "src/app/newer", *models, "--versions", NEWEST, "--only", "Tool")
    plain = ("--types", "--versions", NEWEST, "--only", "Tool")
    run("vendor", "src/app/plain", *plain)
    assert "src/app/_mcp is up to date" in run("check").stdout
    names = {"middle": module_name(MIDDLE), "newest": module_name(NEWEST)}
    script = BESIDE.format(**names)
    (project / "src/app/__init__.py").touch()
    (project / "src/app/use.py").write_text(script)
    valid = script[: script.index("params = ")]
    checks = """
copies = (old.Tool, new.Tool, PlainTool)
assert len(set(copies)) == 3
wire = b'{"name":"a","inputSchema":{"type":"object"},"x":1}'
print(old.decode(wire, old.Tool).model_extra, new.decode(wire, new.Tool).model_extra)
print(Settings.model_validate({"tool": {"name": "a", "inputSchema": {"type": "object"}}}))
print(sorted(Settings.model_json_schema()["$defs"])[:2])
"""
    printed = python(valid + checks, project / "src").splitlines()
    assert printed[:2] == ["hi debug", "{'x': 1} {'x': 1}"]
    assert "input_schema=ToolInputSchema(type='object'" in printed[2]
    command = [sys.executable, "-m", "mypy", "--strict"]
    done = subprocess.run(
        [*command, "src/app"],
        cwd=project,
        env=os.environ | {"MYPYPATH": "src"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_strict_type_checks_pass_where_it_lands(project: Path) -> None:
    run("vendor", "src/weather/_mcp", "--runtime", "--versions", f"{MIDDLE},{NEWEST}")
    run("vendor", "src/weather/checks", "--validators", "--versions", MIDDLE)
    run("vendor", "src/weather/few", "--only", "Tool", "--versions", NEWEST)
    (project / "src/weather/__init__.py").touch()
    module = module_name(NEWEST)
    (project / "src/weather/use.py").write_text(
        f"from weather._mcp.protocol.{module} import Tool\n"
        "from weather._mcp.runtime import Server\n"
        f"from weather.checks.protocol.{module_name(MIDDLE)} import validators\n"
        f"from weather.few.protocol.{module} import types\n\n\n"
        "def names(tool: Tool, other: types.Tool) -> tuple[str, str]:\n"
        "    assert not validators.validate_Tool({})\n"
        "    return tool.name, other.name\n\n\n"
        'server: Server = Server("a")\n'
    )
    command = [sys.executable, "-m", "mypy", "--strict"]
    done = subprocess.run(
        [*command, "--python-executable", str(bare(project)), "src/weather"],
        cwd=project,
        env=os.environ | {"MYPYPATH": "src"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def bare(project: Path) -> Path:
    """The Python of a project that has msgspec installed, and none of the extras."""
    directory = project / ".venv"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True
    )
    base = {"base": str(directory), "platbase": str(directory)}
    site = Path(sysconfig.get_path("purelib", "venv", base))
    (package,) = msgspec.__path__
    shutil.copytree(package, site / "msgspec")
    return directory / ("Scripts" if os.name == "nt" else "bin") / "python"


def test_what_ships_takes_no_formatter(project: Path) -> None:
    script = """
import sys
from mcpgen.cli import app
try:
    app(["vendor", "_mcp", "--runtime"])
except SystemExit as end:
    assert not end.code
print({"black", "datamodel_code_generator", "mcpgen.runtime"} & sys.modules.keys())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.endswith("set()\n"), done.stdout + done.stderr


def test_the_wheel_brings_all_that_it_takes(project: Path) -> None:
    wheel = project.parent / "wheel"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]
    subprocess.run([*build, str(wheel)], cwd=ROOT, check=True, capture_output=True)
    (found,) = wheel.glob("*.whl")
    shutil.unpack_archive(found, wheel, "zip")
    done = subprocess.run(
        [sys.executable, "-m", "mcpgen", "vendor", "_mcp", "--runtime"],
        env=os.environ | {"PYTHONPATH": str(wheel)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    expected = plan(Request(parts=("runtime",)), Catalog())
    assert tree(project / "_mcp") == {p: t.encode() for p, t in expected.items()}


# --- settings, repetition, check ------------------------------------------------------


def test_recorded_repeated_and_checked(project: Path) -> None:
    shown = run(
        *("vendor", "src/w/_mcp", "--types", "--versions", MIDDLE, "--record")
    ).stdout
    assert "recorded in pyproject.toml" in shown
    text = (project / "pyproject.toml").read_text()
    assert text.startswith('[project]\nname = "weather"  # mine\n')
    (table,) = tomllib.loads(text)["tool"]["mcpgen"]["vendor"]
    assert table == {"path": "src/w/_mcp", "parts": ["types"], "versions": [MIDDLE]}
    assert "up to date" in run("check").stdout
    made = everything(project / "src")
    shutil.rmtree(project / "src")
    assert "is missing" in run("check", code=1).stderr
    assert ", 0 unchanged" in run("vendor").stdout
    assert everything(project / "src") == made
    assert ": 0 written" in run("vendor", "src/w/_mcp").stdout
    # Said again, it is not recorded again; said otherwise, it has to be said there.
    run("vendor", "src/w/_mcp", "--types", "--versions", MIDDLE, "--record")
    assert (project / "pyproject.toml").read_text() == text
    assert "vendor-recorded" in refused(project, "vendor", "src/w/_mcp", "--stubs")


def test_without_record_the_lines_are_shown(project: Path) -> None:
    shown = run("vendor", "src/w/_mcp", "--only", "Tool", "--versions", MIDDLE).stdout
    lines = shown[shown.index("[[tool") :]
    before = (project / "pyproject.toml").read_text()
    assert "tool.mcpgen" not in before
    (project / "pyproject.toml").write_text(f"{before}\n{lines}")
    assert "up to date" in run("check").stdout
    assert "up to date" in run("check", "--full").stdout
    # Without options or settings, a copy is repeated as it was made.
    (project / "pyproject.toml").write_text(before)
    assert ": 0 written" in run("vendor", "src/w/_mcp").stdout


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "# mine\n")


CHANGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "edited": ("differs", edit),
    "removed": ("is missing", Path.unlink),
    "added": ("is not a part", lambda path: path.with_name("mine.py").touch()),
}


@pytest.mark.parametrize("only", [(), ("--only", "Tool")], ids=["shipped", "compiled"])
@pytest.mark.parametrize(("word", "change"), CHANGES.values(), ids=CHANGES)
def test_check_tells_what_a_hand_has_done(
    project: Path, word: str, change: Callable[[Path], object], only: tuple[str, ...]
) -> None:
    run("vendor", "w/_mcp", "--versions", MIDDLE, "--record", *only)
    change(project / f"w/_mcp/protocol/{module_name(MIDDLE)}/types.py")
    found = run("check", code=1).stderr
    assert word in found
    assert f"w/_mcp/protocol/{module_name(MIDDLE)}/" in found


def test_check_looks_at_bindings_and_copies(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        f'[tool.mcpgen]\noutput = "out"\nversions = ["{MIDDLE}"]\n'
    )
    run("generate")
    run("vendor", "w/_mcp", "--validators", "--versions", MIDDLE, "--record")
    assert run("check").stdout.count("up to date") == 2
    edit(project / "w/_mcp/protocol/_issues.py")
    assert "w/_mcp/protocol/_issues.py" in run("check", code=1).stderr
    edit(project / f"out/{module_name(MIDDLE)}/types.py")
    both = run("check", code=1).stderr
    assert "out/" in both
    assert "w/_mcp/" in both


def test_fewer_parts_remove_what_is_no_longer_wanted(project: Path) -> None:
    run("vendor", "_mcp", "--runtime", "--versions", f"{MIDDLE},{NEWEST}")
    kept = project / "_mcp/runtime/server.py"
    edit(kept)
    done = run("vendor", "_mcp", "--validators", "--versions", MIDDLE)
    assert "stale-edited" in done.stderr
    left = [path for path in (project / "_mcp/runtime").rglob("*") if path.is_file()]
    assert left == [kept]
    assert not (project / f"_mcp/protocol/{module_name(NEWEST)}").exists()


BAD_SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"path": "a", "part": []}, "vendor.part"),
    "no-path": ({"parts": ["types"]}, "vendor.path"),
    "number": ({"path": 1}, "vendor.path"),
    "above": ({"path": "../a"}, "vendor.path"),
    "schemas": ({"path": "schema/a"}, "vendor.path"),
    "bindings": ({"path": "out"}, "vendor.path"),
    "parts": ({"path": "a", "parts": ["typos"]}, "vendor.parts"),
    "parts-none": ({"path": "a", "parts": []}, "vendor.parts"),
    "versions": ({"path": "a", "versions": "x"}, "vendor.versions"),
    "only-twice": ({"path": "a", "only": ["x", "x"]}, "vendor.only"),
    "flavour": ({"path": "a", "flavour": "attrs"}, "vendor.flavour"),
    "pydantic": (
        {"path": "a", "parts": ["stubs"], "flavour": "pydantic"},
        "vendor.flavour",
    ),
}


@pytest.mark.parametrize(("table", "key"), BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_mistakes_in_settings_are_named(
    tmp_path: Path, table: dict[str, Any], key: str
) -> None:
    with pytest.raises(CompileError) as caught:
        parse_config({"output": "out", "vendor": [table]}, tmp_path)
    (problem,) = caught.value.diagnostics
    assert problem.message.startswith(f"tool.mcpgen.{key} ")


def test_copies_do_not_lie_inside_each_other(tmp_path: Path) -> None:
    tables = [{"path": "a"}, {"path": "a/b"}]
    with pytest.raises(CompileError, match=r"vendor\.path"):
        parse_config({"vendor": tables}, tmp_path)
    with pytest.raises(CompileError, match="must be tables"):
        parse_config({"vendor": {"path": "a"}}, tmp_path)


def test_a_project_that_only_vendors_has_no_bindings(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        f'[tool.mcpgen]\nversions = ["{MIDDLE}"]\n'
        f'[[tool.mcpgen.vendor]]\npath = "_mcp"\nversions = ["{MIDDLE}"]\n'
    )
    run("vendor")
    assert run("check").stdout == "_mcp is up to date\n"
    assert "tool.mcpgen.output is missing" in refused(project, "generate")


@pytest.mark.parametrize(
    "text",
    [b'tool = {mcpgen = {output = "o"}}\n', b"\xff\n", b"[tool.x]\na = 1\na = 2\n"],
)
def test_a_pyproject_that_takes_no_table_is_left_alone(
    project: Path, text: bytes
) -> None:
    (project / "pyproject.toml").write_bytes(text)
    refused(project, "vendor", "_mcp", "--validators", "--record")


def test_copies_on_one_line_are_to_be_written_as_tables(project: Path) -> None:
    copy = f'{{path = "_a", parts = ["validators"], versions = ["{MIDDLE}"]}}'
    (project / "pyproject.toml").write_text(f"[tool.mcpgen]\nvendor = [{copy}]\n")
    shown = refused(project, "vendor", "_mcp", "--validators", "--record")
    assert "write it with a table for each: [tool.mcpgen], [[tool.mcpgen.ven" in shown


def test_recording_needs_a_project(project: Path) -> None:
    (project / "pyproject.toml").unlink()
    assert "no-project" in refused(project, "vendor", "_mcp", "--types", "--record")
    assert "vendor-nothing" in refused(project, "vendor")
    assert "vendor-path" in refused(project, "vendor", "--types")


# --- options and places that will not do ----------------------------------------------

BAD_OPTIONS = {
    "pydantic": (("--stubs", "--flavour", "pydantic"), "does not go with the stubs"),
    "models": (("--runtime", "--flavour", "pydantic"), "does not go with the runtime"),
    "flavour": (("--flavour", "msgspek"), 'did you mean "msgspec"?'),
    "stubs": (("--stubs", "--flavour", "stdlib"), "does not go with the stubs"),
    "runtime": (("--runtime", "--flavour", "stdlib"), "does not go with the runtime"),
    "only": (("--runtime", "--only", "Tool"), "does not go with the runtime"),
    "version": (("--versions", "2025-11-26"), 'did you mean "2025-11-25"?'),
    "definition": (("--only", "Tol", "--versions", MIDDLE), 'did you mean "Tool"?'),
    "elsewhere": (("--only", "Task"), "has none of the chosen definitions"),
    "nothing": (("--only", ""), "--only holds an empty name"),
    "twice": (("--versions", f"{MIDDLE},{MIDDLE}"), "names something twice"),
}


@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_options_that_do_not_go_together(
    project: Path, options: tuple[str, ...], words: str
) -> None:
    assert words in refused(project, "vendor", "pkg/_mcp", *options)


BAD_NAMES = {
    "up": "../_mcp",
    "up-and-down": "pkg/../_mcp",
    "itself": "../project",
    "absolute": "/_mcp_that_is_nowhere",
    "space": "pkg/my mcp",
    "dash": "pkg/my-mcp",
    "keyword": "pkg/class",
    "constant": "pkg/None",
    "digit": "pkg/1mcp",
    "windows": "pkg/aux",
    "not-normal": "pkg/ﬁt",
    "decomposed": "pkg/cafe\u0301",
    "empty": "",
    "dot": ".",
    "nul": "pkg/a\0b",
    "newline": "pkg/a\nb",
}


@pytest.mark.parametrize("dest", BAD_NAMES.values(), ids=BAD_NAMES)
def test_names_that_will_not_do(project: Path, dest: str) -> None:
    assert "vendor-path" in refused(project.parent, "vendor", dest, "--validators")


def test_links_do_not_lead_outside(project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (project / "link").symlink_to(outside)
    (project / "loop").symlink_to("loop")
    (project / "dangling").symlink_to(project.parent / "nowhere")
    for dest in ("link", "link/_mcp", "loop", "loop/_mcp", "dangling"):
        refused(project.parent, "vendor", dest, "--validators")
    run("vendor", "pkg/_mcp", "--validators", "--versions", MIDDLE)
    (project / "pkg/_mcp/runtime").symlink_to(outside)
    told = refused(project.parent, "vendor", "pkg/_mcp", "--runtime")
    assert "a symbolic link is in the way" in told
    shutil.rmtree(project / "pkg/_mcp/protocol")
    (project / "pkg/_mcp/protocol").symlink_to(outside)
    refused(project.parent, "vendor", "pkg/_mcp", "--validators")


def test_files_of_others_stay(project: Path) -> None:
    package = project / "weather"
    package.mkdir()
    (package / "forecast.py").write_text("mine = 1\n")
    told = refused(project, "vendor", "weather", "--validators")
    assert "vendor-occupied" in told
    (project / "taken").write_text("a file")
    refused(project, "vendor", "taken", "--validators")
    refused(project, "vendor", "taken/_mcp", "--validators")
    run("vendor", "weather/_mcp", "--validators", "--versions", MIDDLE)
    mine = package / "_mcp/runtime/server.py"
    mine.parent.mkdir()
    mine.write_text("mine = 2\n")
    assert "weather/_mcp/runtime/server.py" in refused(
        project, "vendor", "weather/_mcp", "--runtime"
    )


def test_an_empty_package_becomes_a_copy(project: Path) -> None:
    (project / "_mcp").mkdir()
    (project / "_mcp/__init__.py").touch()
    run("vendor", "_mcp", "--validators", "--versions", MIDDLE)
    assert (project / "_mcp/__init__.py").read_text().startswith("# Generated by")


def test_the_output_of_generate_is_not_a_destination(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        f'[tool.mcpgen]\noutput = "out"\nversions = ["{MIDDLE}"]\n'
    )
    run("generate")
    for dest in ("out", "out/_mcp", "schema"):
        assert "has another use" in refused(project, "vendor", dest, "--types")
    (project / "pyproject.toml").unlink()
    assert "vendor-occupied" in refused(project, "vendor", "out", "--types")


@contextmanager
def without_rights(*directories: Path) -> Iterator[None]:
    """Directories that may be looked at, and nothing more; root is somebody else."""
    if os.geteuid() == 0:  # whom no mode keeps out
        os.setegid(65534)
        os.seteuid(65534)
    else:
        for directory in directories:
            directory.chmod(0o555)
    try:
        yield
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
            os.setegid(0)
        for directory in directories:
            directory.chmod(0o755)


@pytest.fixture
def visible_project(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project that others may look at; pytest's own directories are private."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        root = Path(folder, "project")
        root.mkdir(mode=0o755)
        (root / "pyproject.toml").write_text('[project]\nname = "weather"\n')
        monkeypatch.chdir(root)
        yield root


@pytest.mark.parametrize("target", ["pkg", "pkg/_mcp"])
def test_read_only_targets(visible_project: Path, target: str) -> None:
    run("vendor", "pkg/_mcp", "--types", "--versions", MIDDLE)
    run("vendor", "pkg/_mcp", "--validators", "--versions", MIDDLE)
    with without_rights(visible_project / target):
        told = refused(visible_project, "vendor", "pkg/_mcp", "--types")
    assert "cannot be written" in told
    if target == "pkg":
        with without_rights(visible_project / target):
            told = refused(visible_project, "vendor", "pkg/new", "--validators")
        assert "cannot be written" in told


def test_a_project_that_cannot_take_the_record(visible_project: Path) -> None:
    run("vendor", "pkg/_mcp", "--validators", "--versions", MIDDLE)
    before = everything(visible_project)
    with without_rights(visible_project):
        again = ("vendor", "pkg/_mcp", "--validators", "--versions", MIDDLE)
        told = run(*again, "--record", code=2).stderr
    assert "error[" in told
    assert "Traceback" not in told
    assert everything(visible_project) == before


@pytest.mark.parametrize("after", [0, 1, 7])
@pytest.mark.parametrize("first", [True, False], ids=["new", "again"])
def test_an_interruption_leaves_nothing_half_done(
    project: Path, after: int, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not first:
        run("vendor", "pkg/_mcp", "--validators", "--versions", MIDDLE)
    before = everything(project)
    replace, count = os.replace, iter(range(after))

    def interrupted(source: Any, target: Any) -> None:
        if Path(source).name.startswith("new-") and next(count, None) is None:
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(swap.os, "replace", interrupted)
        result = CliRunner().invoke(app, ["vendor", "pkg/_mcp", "--runtime"])
    assert result.exit_code != 0
    assert everything(project) == before
    run("vendor", "pkg/_mcp", "--runtime", "--versions", MIDDLE)


KILLED = """
import os, signal, sys
from mcpgen import swap
from mcpgen.cli import app

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
replace, count = os.replace, 0

def counted(source, target):
    global count
    count += 1
    if count == 3:
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    replace(source, target)

swap.os.replace = counted
app(["vendor", "pkg/_mcp", *sys.argv[2:]])
"""


@pytest.mark.parametrize("first", [True, False], ids=["new", "again"])
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_process_that_is_ended_leaves_nothing_half_done(
    project: Path, name: str, first: bool
) -> None:
    if not first:
        run("vendor", "pkg/_mcp", "--validators", "--versions", MIDDLE)
    before = everything(project)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, name, "--types", "--versions", NEWEST],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode != 0
    if name != "SIGKILL":
        assert everything(project) == before
    # Whatever was left behind, the next run starts from what was there before.
    run("vendor", "pkg/_mcp", "--types", "--versions", NEWEST)
    expected = plan(Request(("types",), (NEWEST,)), Catalog())
    assert tree(project / "pkg") == {
        f"_mcp/{path}": text.encode() for path, text in expected.items()
    }


# --- the record -----------------------------------------------------------------------


def test_an_interrupted_record_leaves_the_project_as_it_was(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("vendor", "_mcp", "--validators", "--versions", MIDDLE)
    before = everything(project)

    def interrupted(source: Any, target: Any) -> None:
        raise KeyboardInterrupt

    options = ("--validators", "--versions", MIDDLE, "--record")
    with monkeypatch.context() as patch:
        patch.setattr(record.os, "replace", interrupted)
        result = CliRunner().invoke(app, ["vendor", "_mcp", *options])
    assert result.exit_code != 0
    assert everything(project) == before
    run("vendor", "_mcp", *options)
    assert "up to date" in run("check").stdout


def test_the_record_does_not_follow_links_outside(project: Path) -> None:
    outside = project.parent / "outside.toml"
    outside.write_text('[project]\nname = "theirs"\n')
    options = ("--validators", "--versions", MIDDLE, "--record")
    # Where the new text is first written, somebody put a link.
    (project / ".pyproject.toml.mcpgen").symlink_to(outside)
    run("vendor", "_mcp", *options)
    assert "theirs" in outside.read_text()
    assert not (project / "pyproject.toml").is_symlink()
    assert "up to date" in run("check").stdout
    (project / "pyproject.toml").unlink()
    (project / "pyproject.toml").symlink_to(outside)
    assert "leads outside" in refused(project, "vendor", "other", *options)
    assert outside.read_text() == '[project]\nname = "theirs"\n'
    # Inside the project a link is as good as the file.
    (project / "pyproject.toml").unlink()
    (project / "conf.toml").write_text('[project]\nname = "mine"\n')
    (project / "pyproject.toml").symlink_to("conf.toml")
    run("vendor", "other", *options)
    assert "tool.mcpgen.vendor" in (project / "conf.toml").read_text()
    assert (project / "pyproject.toml").is_symlink()


@pytest.mark.parametrize("layout", ["unicode", "spaces-above", "namespace"])
def test_any_place_can_be_recorded_and_repeated(project: Path, layout: str) -> None:
    dest = LAYOUTS[layout][0]
    run("vendor", dest, "--validators", "--versions", MIDDLE, "--record")
    made = everything(project / dest)
    shutil.rmtree(project / dest)
    run("vendor")
    assert everything(project / dest) == made
    assert f"{dest} is up to date" in run("check").stdout


def test_a_manifest_that_names_files_of_others_is_not_believed(project: Path) -> None:
    run("vendor", "pkg/_mcp", "--types", "--versions", MIDDLE)
    mine = project / "pkg/mine.py"
    mine.write_text("mine = 1\n")
    manifest = project / "pkg/_mcp/MANIFEST"
    content = json.loads(manifest.read_text())
    digest = sha256(mine.read_bytes()).hexdigest()
    content["files"] |= {"../mine.py": digest, str(mine): digest}
    manifest.write_text(json.dumps(content))
    run("vendor", "pkg/_mcp", "--validators", "--versions", MIDDLE)
    assert mine.read_text() == "mine = 1\n"


ODD_NAMES = ("class", "größe", "a b", "List<Foo>", "../up", "CON", "__init__", "types")


@pytest.mark.parametrize("flavour", NEEDS)
def test_definitions_of_any_name_can_be_copied(project: Path, flavour: str) -> None:
    keys = {key: {"type": "string"} for key in ODD_NAMES}
    thing = {"type": "object", "properties": keys, "required": ["class"]}
    (project / "pyproject.toml").write_text('[tool.mcpgen]\noutput = "out"\n')
    own = schema(**dict.fromkeys(ODD_NAMES, thing))
    (project / "own.json").write_text(json.dumps(own))
    run("schema", "add", "own.json", "--version", "x-1", "--extension")
    run("vendor", "pkg/_mcp", "--types", "--versions", "x-1", "--flavour", flavour)
    script = f"""
import json
from pkg._mcp.protocol.vx_1 import types
data = {dict.fromkeys(ODD_NAMES, "x")!r}
found = [n for n in types.__all__ if n not in
         ("convert", "decode", "encode", "InvalidMessage", "NotJson", "MISSING")]
for name in found:
    assert json.loads(types.encode(types.decode(json.dumps(data), name))) == data
print(len(found))
"""
    assert python(script, project) == f"{len(ODD_NAMES)}\n"
    inside = set(tree(project / "pkg/_mcp/protocol/vx_1"))
    assert inside == {"__init__.py", "types.py", "validators.py"}
