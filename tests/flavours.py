"""The flavours that do not ship, as packages made on the spot."""

from __future__ import annotations

import importlib
import itertools
import os
from pathlib import Path
from typing import Any

from mcpgen import resources
from mcpgen.catalog import module_name
from mcpgen.emit import pydantic, stdlib, validators
from mcpgen.ir import Protocol
from mcpgen.render import environment

ENV = environment(resources.templates_dir())
_EMITTERS = {"stdlib": stdlib.emit, "pydantic": pydantic.emit}
_NUMBERS = itertools.count()


def emitted(flavour: str, *protocols: Protocol) -> dict[str, str]:
    """The modules of some versions, unformatted: black takes longer than all the rest."""
    files = stdlib.emit_shared(protocols, ENV) | {"__init__.py": "", "py.typed": ""}
    if flavour == "pydantic":
        files |= pydantic.emit_shared(protocols, ENV)
    for protocol in protocols:
        made = _EMITTERS[flavour](protocol, ENV) | validators.emit(protocol, ENV)
        for file, text in ({"__init__.py": ""} | made).items():
            files[f"{module_name(protocol.version)}/{file}"] = text
    return files


def write(files: dict[str, str], root: Path) -> str:
    """The files as a package with a name of its own, so that imports never clash."""
    package = f"flavour_{os.getpid()}_{next(_NUMBERS)}"
    for file, text in files.items():
        path = root / package / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    importlib.invalidate_caches()
    return package


def types_of(package: str, version: str) -> Any:
    """The `types` module of a version in such a package."""
    return importlib.import_module(f"{package}.{module_name(version)}.types")
