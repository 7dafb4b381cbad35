"""What ships with the compiler: its version, the templates and the official schemas.

In an installed wheel they lie in `mcpgen/_resources`; in a checkout they are the
repository's own `templates/` and `schema/`. Nothing else knows the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

VERSION: Final = "0.1.0"
"""Written into what is generated. A constant, so that no metadata lookup can vary."""

_PACKAGE = Path(__file__).resolve().parent
_NOT_COMPILER = {"runtime", "protocol", "_resources", "__pycache__"}


def templates_dir() -> Path:
    """The built-in templates."""
    return _find("templates")


def schema_dir() -> Path:
    """The official schemas with pins, errata and overlay: the read-only base."""
    return _find("schema")


def compiler_sources() -> list[tuple[str, Path]]:
    """The compiler's own modules as (name, path), the same for wheel and checkout."""
    found = []
    for path in _PACKAGE.rglob("*.py"):
        name = path.relative_to(_PACKAGE)
        if name.parts[0] not in _NOT_COMPILER:
            found.append((name.as_posix(), path))
    return sorted(found)


def _find(name: str) -> Path:
    installed = _PACKAGE / "_resources" / name
    return installed if installed.is_dir() else _PACKAGE.parent.parent / name
