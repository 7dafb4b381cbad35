"""What people install: the wheel, in an environment of its own, without the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from mcpgen.catalog import Catalog, module_name

ROOT = Path(__file__).parent.parent
VERSIONS = Catalog().names()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    done = subprocess.run(
        [*command, "-d", str(directory)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (found,) = directory.glob("*.whl")
    return found


@dataclass
class Environment:
    """A virtual environment, entered without anything of the surrounding one."""

    bin: Path

    def run(
        self, *command: str, cwd: Path, code: int = 0
    ) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=cwd,
            env=clean,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done


def _environment(directory: Path, wheel: Path) -> tuple[Environment, Path]:
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True
    )
    bin = directory / ("Scripts" if os.name == "nt" else "bin")
    install = [sys.executable, "-m", "pip", "--python", str(bin / "python"), "install"]
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*install, *options, str(wheel)], check=True, capture_output=True)
    site = sysconfig.get_path(
        "purelib", "venv", {"base": str(directory), "platbase": str(directory)}
    )
    return Environment(bin), Path(site)


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """As after `pip install mcpgen`: msgspec, and nothing else."""
    environment, site = _environment(tmp_path_factory.mktemp("plain"), wheel)
    (package,) = msgspec.__path__
    shutil.copytree(package, site / "msgspec")
    return environment


@pytest.fixture(scope="module")
def with_cli(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """As after `pip install mcpgen[cli]`: what is installed here, but for mcpgen."""
    environment, site = _environment(tmp_path_factory.mktemp("cli"), wheel)
    # Named in a .pth, the directory serves packages; its own .pth files, the one of the
    # editable mcpgen among them, are not read.
    (site / "here.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """An empty directory that is not below the checkout."""
    assert not tmp_path.is_relative_to(ROOT)
    return tmp_path


def test_the_wheel_holds_what_it_should(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for directory in ("templates", "schema"):
        for path in (ROOT / directory).rglob("*"):
            if path.is_file():
                inside = path.relative_to(ROOT).as_posix()
                assert f"mcpgen/_resources/{inside}" in names
    for source in ("codegen", "runtime", "generated"):
        for path in (ROOT / source).rglob("*.py"):
            assert path.relative_to(ROOT / source).as_posix() in names
    assert "mcpgen/protocol/py.typed" in names
    assert "mcpgen/runtime/py.typed" in names
    assert "mcpgen/protocol/MANIFEST" in names
    assert "mcpgen/__init__.py" not in names
    licences = {name.partition("/licenses/")[2] for name in names}
    assert {"LICENSE", "NOTICE", "schema/LICENSE"} <= licences
    assert not [name for name in names if "__pycache__" in name or "tests/" in name]


def test_bindings_need_msgspec_alone(plain: Environment, away: Path) -> None:
    packages = [module_name(name) for name in VERSIONS]
    script = f"""
import importlib, json, sys
before = set(sys.modules)
for package in {packages}:
    for module in ("", ".types", ".methods", ".server", ".client", ".validators"):
        found = importlib.import_module(f"mcpgen.protocol.{{package}}{{module}}")
        assert found.__file__.startswith(sys.prefix), found.__file__
    assert found.VALIDATORS
loaded = {{name.split(".")[0] for name in set(sys.modules) - before}}
print(json.dumps(sorted(loaded - sys.stdlib_module_names)))
"""
    shown = plain.run("python", "-I", "-c", script, cwd=away).stdout
    loaded = [m for m in json.loads(shown) if not m.startswith("_")]
    assert loaded == ["mcpgen", "msgspec"]


@pytest.mark.parametrize("command", [("mcpgen",), ("python", "-m", "mcpgen")])
@pytest.mark.parametrize("arguments", [(), ("--help",), ("generate",)])
def test_the_commands_say_which_extra_they_need(
    plain: Environment, away: Path, command: tuple[str, ...], arguments: tuple[str, ...]
) -> None:
    done = plain.run(*command, *arguments, cwd=away, code=2)
    assert "pip install 'mcpgen[cli]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_the_commands_work_from_the_wheel(with_cli: Environment, away: Path) -> None:
    """In an empty project, with the templates and schemas that the wheel brings."""
    script = "import sys, mcpgen.cli, mcpgen.resources as r; print(sys.prefix)"
    script += "\nfor p in (mcpgen.cli.__file__, r.templates_dir(), r.schema_dir()):"
    script += "\n    assert str(p).startswith(sys.prefix), p"
    with_cli.run("python", "-c", script, cwd=away)
    listed = with_cli.run("mcpgen", "schema", "list", "--json", cwd=away).stdout
    assert [row["name"] for row in json.loads(listed)] == list(VERSIONS)
    version = VERSIONS[-1]
    (away / "pyproject.toml").write_text(
        f'[tool.mcpgen]\noutput = "src/bindings"\nversions = ["{version}"]\n'
    )
    with_cli.run("mcpgen", "generate", cwd=away)
    assert "up to date" in with_cli.run("mcpgen", "check", cwd=away).stdout
    script = f"import bindings.{module_name(version)} as b; print(b.Tool)"
    with_cli.run("python", "-c", script, cwd=away / "src")
    # The same compiler, so the same bytes as are committed and in the wheel.
    made = away / "src/bindings" / module_name(version)
    for path in (ROOT / "generated/mcpgen/protocol" / made.name).glob("*.py"):
        assert (made / path.name).read_bytes() == path.read_bytes()


def test_a_new_project_passes_its_tests(with_cli: Environment, away: Path) -> None:
    with_cli.run("mcpgen", "new", "weather", cwd=away)
    shown = with_cli.run("python", "-m", "pytest", "-q", cwd=away / "weather").stdout
    assert " passed" in shown
    check = with_cli.run("mcpgen", "check", cwd=away / "weather").stdout
    assert check == "src/weather/_mcp is up to date\n"
