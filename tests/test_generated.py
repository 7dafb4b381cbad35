"""The committed bindings: current, formatted, importable, typed, and on their own."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from mcpgen import pipeline, protocol
from mcpgen.catalog import Catalog, module_name
from mcpgen.config import require_config
from mcpgen.publish import compare

ROOT = Path(__file__).parent.parent
GENERATED = ROOT / "generated"
OUTPUT = require_config(ROOT).output
MODULES = sorted(OUTPUT.rglob("*.py"))


def run(*command: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]


def test_the_tree_is_what_would_be_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPGEN_JOBS", "1")  # the other core is testing, too
    config = require_config(ROOT)
    files = pipeline.generate(config, Catalog(config))
    different = [(d.path, d.kind) for d in compare(files, OUTPUT)]
    assert different == [], "run: mcpgen generate"
    packages = {path.split("/")[0] for path in files if "/" in path}
    assert packages == {module_name(name) for name in Catalog().names()}


def test_black_would_change_nothing(tmp_path: Path) -> None:
    target = ("--target-version", "py311")
    run("black", "--check", *target, str(GENERATED), BLACK_CACHE_DIR=str(tmp_path))


def test_every_module_can_be_imported() -> None:
    names = [
        found.name
        for found in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}.")
    ]
    assert len(names) + 1 == len(MODULES)
    for name in names:
        importlib.import_module(name)


@pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: path.relative_to(OUTPUT).as_posix()
)
def test_a_module_imports_only_its_own_and_msgspec(path: Path) -> None:
    allowed = {*sys.stdlib_module_names, "msgspec"}
    depth = len(path.relative_to(OUTPUT).parts)
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= allowed
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            assert (node.module or "").split(".")[0] in allowed
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= depth, "reaches above the bindings"


def test_mypy_is_content() -> None:
    run("mypy", "--strict", str(GENERATED))


def test_pyright_is_content() -> None:
    run("pyright", "--pythonpath", sys.executable, str(GENERATED))
