"""Where a copy may go: a new package inside the project, that Python can import."""

from __future__ import annotations

import keyword
import re
import unicodedata
from pathlib import Path, PurePath

from ..diagnostics import CompileError, clip, fail

_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def destination(root: Path, start: Path, value: str) -> Path:
    """`value`, seen from `start`, as a path inside `root`; CompileError otherwise."""
    shown = clip(value)
    if not value or "\0" in value:
        raise _refused(shown, "is not the name of a directory")
    if ".." in PurePath(value).parts:
        raise _refused(shown, 'holds ".."', "say it without going up")
    named = start / value
    _check_name(shown, named.name)
    try:
        path = named.resolve()
    except (OSError, RuntimeError):
        raise _refused(shown, "is a symbolic link to itself") from None
    root = root.resolve()
    if path == root or not path.is_relative_to(root):
        raise _refused(
            shown,
            "lies outside of the project",
            "run this in the project, and name a directory below it; "
            "symbolic links are followed",
        )
    _check_name(shown, path.name)
    return path


def _check_name(shown: str, name: str) -> None:
    """The last name is the package's: it stands in import statements."""
    hint = "use a name such as _mcp: letters, digits and underscores"
    if not name.isidentifier():
        raise _refused(shown, "cannot be imported: its last part is no name", hint)
    if keyword.iskeyword(name):
        raise _refused(shown, f'cannot be imported: "{name}" is a keyword', hint)
    if _RESERVED.fullmatch(name):
        raise _refused(shown, f'"{name}" is reserved on Windows', hint)
    if unicodedata.normalize("NFKC", name) != name:
        # An import statement asks for the normal form, which is another directory.
        raise _refused(shown, "cannot be imported: it is not in normal form", hint)


def _refused(shown: str, message: str, hint: str = "") -> CompileError:
    return fail("vendor-path", message, file=shown, hint=hint)
