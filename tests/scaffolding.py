"""What `--from` makes of a document, as a package that can be imported."""

from __future__ import annotations

import importlib
import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime import Server
from mcpgen.scaffold.sources import Source, read

_NUMBERS = itertools.count()


class Made:
    """The modules of a source, in a package of their own.

    They stay imported: msgspec does not take it well when classes that refer to one
    another are collected.
    """

    def __init__(
        self,
        document: Any,
        root: Path,
        monkeypatch: pytest.MonkeyPatch,
        *,
        black: bool = True,
    ) -> None:
        data = (
            document if isinstance(document, bytes) else json.dumps(document).encode()
        )
        self.package = f"from_{os.getpid()}_{next(_NUMBERS)}"
        monkeypatch.setenv("MCPGEN_JOBS", "1")
        with monkeypatch.context() as patch:
            if not black:  # without, it takes a fraction of the time
                patch.setattr("mcpgen.format.format_files", dict)
            self.source: Source = read(
                data, "document.yaml", package=self.package, runtime="mcpgen.runtime"
            )
        self.home = root / self.package
        self.home.mkdir()
        (self.home / "__init__.py").touch()
        for name, text in self.source.modules.items():
            (self.home / name).write_text(text, "utf-8")
        monkeypatch.syspath_prepend(str(root))
        importlib.invalidate_caches()

    def load(self, module: str) -> Any:
        """One of its modules."""
        return importlib.import_module(f"{self.package}.{module}")

    def server(self) -> Server:
        """A server that offers its tools."""
        tools = self.load("tools")
        lifespan = getattr(tools, "lifespan", None)
        server = Server("made", lifespan=lifespan)
        tools.register(server)
        return server

    def listed(self) -> dict[str, dict[str, Any]]:
        """What the server would list, by name."""
        tools = self.server().registry.tools
        return {name: entry.listed for name, entry in tools.items()}
