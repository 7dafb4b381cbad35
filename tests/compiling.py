"""A throw-away project for tests of the compiler: add a schema, generate, import."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcpgen import pipeline
from mcpgen.catalog import Catalog, module_name
from mcpgen.config import Config, require_config
from mcpgen.publish import publish

_NUMBERS = itertools.count()
D2020 = "https://json-schema.org/draft/2020-12/schema"


class Project:
    """A project whose output is a package of its own, so that imports never clash."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.package = f"out_{os.getpid()}_{next(_NUMBERS)}"
        self.monkeypatch = monkeypatch
        monkeypatch.setenv("MCPGEN_JOBS", "1")
        monkeypatch.syspath_prepend(str(root))
        self.settings()

    def settings(self, *versions: str) -> None:
        lines = ["[tool.mcpgen]", f'output = "{self.package}"']
        if versions:
            lines.append(f"versions = {json.dumps(versions)}")
        (self.root / "pyproject.toml").write_text("\n".join(lines) + "\n")

    @property
    def config(self) -> Config:
        return require_config(self.root)

    @property
    def output(self) -> Path:
        return self.root / self.package

    def add(self, schema: Any, name: str = "x-1", **options: Any) -> Catalog:
        data = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
        catalog = Catalog(self.config)
        catalog.add(data, name, source="a test", **options)
        return catalog

    def generate(
        self, catalog: Catalog, name: str = "x-1", *, black: bool = True
    ) -> dict[str, str]:
        """Write the bindings of one version; without black it takes a tenth."""
        self.settings(name)
        with self.monkeypatch.context() as patch:
            if not black:
                patch.setattr(pipeline, "format_files", _as_it_is)
            files = pipeline.generate(self.config, catalog)
        publish(files, self.output)
        return files

    def load(self, module: str, name: str = "x-1") -> Any:
        importlib.invalidate_caches()
        return importlib.import_module(f"{self.package}.{module_name(name)}.{module}")

    def forget(self) -> None:
        for module in [m for m in sys.modules if m.split(".")[0] == self.package]:
            del sys.modules[module]


def _as_it_is(raw: dict[str, str]) -> dict[str, str]:
    return dict(sorted(raw.items()))


def schema(**definitions: Any) -> dict[str, Any]:
    return {"$schema": D2020, "$defs": definitions}


def tree(root: Path) -> dict[str, bytes]:
    return {
        p.relative_to(root).as_posix(): p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_file() and "__pycache__" not in p.parts
    }
