"""Write one file: all of it, or none."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .diagnostics import fail


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace a file: a reader sees the old one or the new one. A link stays one."""
    target = path.resolve()
    if not target.parent.is_dir():
        raise fail(
            "file-unwritable",
            "its directory does not exist",
            file=str(path),
            hint="make the directory first",
        )
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8")  # a device: nothing to replace
        return
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".mcpgen-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
