"""What `mcpgen new` makes, on a fresh machine and in the hands of others.

The wheel is built and installed with pip into an environment of its own; a project is
made with it, installs itself, and runs its own tests; then clients that nobody here wrote
start its server in its own directory, and come to it over HTTP.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .installed import node_packages, python_sdk
from .observing import CLIENTS, ROOT, run, serving

pytestmark = pytest.mark.interop

INSTALL_SECONDS = 600
NAME = "my-hello"
PYTHONS = {"python1": 1, "python2": 2}
TYPESCRIPTS = {"typescript1": "1", "typescript2": "2"}
ASKED = {"tools": ["count"], "count": {"words": 2, "characters": 12}}


def done(*command: str | Path, cwd: Path) -> str:
    """Run to the end, with nothing of this environment around it."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    clean.pop("VIRTUAL_ENV", None)
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def mcpgen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, as pip installs it from the wheel."""
    place = tmp_path_factory.mktemp("installed")
    done(
        sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place, cwd=ROOT
    )
    (wheel,) = place.glob("*.whl")
    done(sys.executable, "-m", "venv", place / "venv", cwd=place)
    python = place / "venv/bin/python"
    done(python, "-m", "pip", "install", "--quiet", f"{wheel}[cli]", cwd=place)
    return place / "venv/bin/mcpgen"


@pytest.fixture(scope="module")
def project(mcpgen: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which `make test` was the first thing to be done, and passed."""
    away = tmp_path_factory.mktemp("some where")
    done(mcpgen, "new", NAME, cwd=away)
    shown = done("make", "test", f"PYTHON={sys.executable}", cwd=away / NAME)
    assert " passed" in shown
    return away / NAME


@pytest.fixture(scope="module")
def url(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its server over HTTP, from its own directory."""
    log = tmp_path_factory.mktemp("log") / "server.log"
    with serving(log, [f"{project}/.venv/bin/{NAME}", "--http"], project) as at:
        yield f"{at}/mcp"


def test_it_needs_nothing_of_mcpgen(project: Path) -> None:
    names = done(project / ".venv/bin/pip", "list", "--format", "json", cwd=project)
    installed = {entry["name"] for entry in json.loads(names)}
    assert {NAME, "msgspec"} <= installed
    assert not {"mcpgen", "mcp", "pydantic"} & installed


def test_its_types_are_strict(project: Path) -> None:
    """In its own environment, the copy of the runtime included."""
    assert "Success" in done(project / ".venv/bin/mypy", cwd=project)


def test_it_is_up_to_date(mcpgen: Path, project: Path) -> None:
    shown = done(mcpgen, "check", cwd=project)
    assert shown == "src/my_hello/_mcp is up to date\n"


def test_the_entry_for_hosts_works(mcpgen: Path, project: Path) -> None:
    call = [*("call", NAME, "--config", ".mcp.json"), "count", "text=Hello, world"]
    assert json.loads(done(mcpgen, *call, cwd=project)) == ASKED["count"]


@pytest.mark.parametrize("kind", ["stdio", "http"])
@pytest.mark.parametrize("client", [*PYTHONS, *TYPESCRIPTS])
def test_an_official_sdk_lists_and_calls(
    request: pytest.FixtureRequest, project: Path, client: str, kind: str
) -> None:
    if client in PYTHONS:
        script = CLIENTS / "small_python.py"
        program = [str(python_sdk(PYTHONS[client])), str(script)]
    else:
        script, packages = CLIENTS / "small_typescript.mjs", node_packages()
        program = [str(packages.node), str(script), str(packages.home)]
        program.append(TYPESCRIPTS[client])
    target = f".venv/bin/{NAME}" if kind == "stdio" else request.getfixturevalue("url")
    code, out, said = run([*program, kind, target], project)
    assert code == 0, said
    assert json.loads(out) == ASKED


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_the_inspector_lists_and_calls(
    request: pytest.FixtureRequest, project: Path, kind: str, era: str
) -> None:
    packages = node_packages()
    program = [str(packages.node), str(packages.inspector), "--cli"]
    program += ["--format", "json", "--protocol-era", era]
    where = ["--", f".venv/bin/{NAME}"]
    if kind == "http":
        url = request.getfixturevalue("url")
        where = ["--transport", "http", "--server-url", url]
    call = ["tools/call", "--tool-name", "count", "--tool-arg", "text=Hello, world"]
    results = []
    for method in (["tools/list", "--strict"], call):
        code, out, said = run([*program, "--method", *method, *where], project)
        assert code == 0, said
        results.append(json.loads(out)["result"])
    listed, called = results
    assert [tool["name"] for tool in listed["tools"]] == ASKED["tools"]
    assert called["structuredContent"] == ASKED["count"]
