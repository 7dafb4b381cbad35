"""The text that ships with mcpgen: bindings, runtime and licences, read and not imported.

In an installed wheel they lie beside the compiler; in a checkout in roots of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from .. import resources
from ..diagnostics import fail

_PACKAGE = Path(resources.__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent


def protocol() -> dict[str, str]:
    """Path below `protocol/` → text, for all versions that ship."""
    return dict(_texts(_root("protocol", "generated")))


def runtime() -> dict[str, str]:
    """Path below `runtime/` → text."""
    return dict(_texts(_root("runtime", "runtime")))


@cache
def eras() -> dict[str, str]:
    """Every version that ships → its era, oldest first."""
    path = _root("protocol", "generated") / "__init__.py"
    found: dict[str, str] = constant(path, "ERAS")
    return found


def sha256(package: str) -> str:
    """Of the schema that the bindings of a version were made from."""
    path = _root("protocol", "generated") / package / "__init__.py"
    return str(constant(path, "SCHEMA_SHA256"))


def licences() -> dict[str, str]:
    """The licence of mcpgen and that of the schemas, where the headers say they are."""
    schemas = resources.schema_dir() / "LICENSE"
    return {
        "LICENSE": _licence("LICENSE"),
        "NOTICE": _licence("NOTICE"),
        "schema/LICENSE": schemas.read_text("utf-8"),
    }


def _root(name: str, source: str) -> Path:
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _CHECKOUT / source / "mcpgen" / name


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(root.rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.relative_to(root).as_posix(), path.read_text("utf-8")


def _licence(name: str) -> str:
    if (_PACKAGE / "_resources").is_dir():
        try:
            text = distribution("mcpgen").read_text(f"licenses/{name}")
        except PackageNotFoundError:
            text = None
        if text is None:
            raise fail(
                "install-broken",
                "this file of the installed mcpgen is missing",
                file=name,
                hint="install mcpgen again",
            )
        return text
    return (_CHECKOUT / name).read_text("utf-8")


def constant(path: Path, name: str) -> Any:
    """The value of a constant in a generated module; nothing is run for it."""
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise KeyError(name)
