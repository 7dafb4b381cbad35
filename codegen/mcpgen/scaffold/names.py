"""What a project may be called: its directory, its distribution and its package."""

from __future__ import annotations

import keyword
import re
import sys

from ..diagnostics import CompileError, clip, fail

LONGEST = 40
"""Hosts put the name of a server before those of its tools, and models take 64 letters."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
"""As pip knows it (PEP 508)."""
_SEPARATORS = re.compile(r"[-_.]+")
_WINDOWS = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
_STANDARD = sys.stdlib_module_names | {"test"}
"""Python itself leaves its own tests out of the list."""
_NEEDED = {
    *("hatchling", "httptools", "mcpgen", "msgspec", "mypy", "pip", "pytest"),
    *("src", "tests", "uvicorn", "uvloop"),
}
"""Packages that the project or its tests import, or are run by."""
_HINT = "use a name such as weather or my-server: ASCII letters, digits and dashes"


def package_name(name: str, needed: tuple[str, ...] = ()) -> str:
    """The package of a project called `name`; CompileError when it will not do.

    `needed` are packages that this project depends on besides the usual ones.
    """
    if not name:
        raise fail("name", "a project needs a name", hint=_HINT)
    if len(name) > LONGEST:
        raise _refused(name, f"is longer than {LONGEST} characters")
    if not _NAME.fullmatch(name):
        raise _refused(name, "is not a name that pip knows")
    package = _SEPARATORS.sub("_", name).lower()
    if package[0].isdigit():
        raise _refused(name, "begins with a digit, so that Python cannot import it")
    if package in {word.lower() for word in keyword.kwlist}:
        raise _refused(name, "is a word of Python's own")
    if package in _STANDARD:
        raise _refused(name, f'would hide "{package}" of the standard library')
    if package in _NEEDED | set(needed):
        raise _refused(name, f'would hide "{package}", which the project needs')
    if _WINDOWS.fullmatch(name.lower().partition(".")[0]):
        raise _refused(name, "is reserved on Windows")
    return package


def _refused(name: str, message: str) -> CompileError:
    return fail("name", f'"{clip(name, 64)}" {message}', hint=_HINT)
