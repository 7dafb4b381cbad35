"""Put a copy in its place, all of it or nothing, and read what an earlier one was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from ..diagnostics import CompileError, Diagnostic, fail
from ..publish import Published, publish, read_manifest
from ..swap import recover
from .request import Request, read

PROVENANCE = "PROVENANCE.json"
"""In every copy, and in nothing else that mcpgen makes."""

_UNNOTICED = {"__pycache__", "py.typed"}


def put(
    files: dict[str, str], path: Path, shown: str, *, save_edited: bool = False
) -> Published:
    """Make `path` hold the copy; what others put there stays as it is."""
    refuse_occupied(path, shown)
    try:
        return publish(files, path, save_edited=save_edited)
    except CompileError as error:
        hint = "the copy needs a directory of its own: move this away"
        raise CompileError(
            replace(
                d,
                file=located(d, shown),
                hint=hint if d.code == "output-occupied" else d.hint,
            )
            for d in error.diagnostics
        ) from error


def located(found: Diagnostic, shown: str) -> str:
    """Where it is, seen from the project; `publish` only knows its output."""
    above, _, name = shown.rpartition("/")
    if found.code == "output-unwritable" or found.file in ("", name):
        return shown
    if found.file == f".mcpgen-{name}":
        return f"{above}/{found.file}".lstrip("/")
    return f"{shown}/{found.file}"


def refuse_occupied(path: Path, shown: str) -> None:
    """A directory with somebody's files does not become a copy."""
    recover(path)  # nothing to do, unless a run was killed here
    if not path.is_dir() or PROVENANCE in read_manifest(path):
        return
    for entry in path.iterdir():
        empty = entry.name == "__init__.py" and entry.lstat().st_size == 0
        if not empty and entry.name not in _UNNOTICED:
            raise fail(
                "vendor-occupied",
                "holds files that `mcpgen vendor` did not make",
                file=shown,
                hint="name a directory that is not there yet, or is empty",
            )


def made_from(path: Path) -> Request | None:
    """What the copy in `path` was made from; None when there is none to be read."""
    try:
        table = json.loads((path / PROVENANCE).read_bytes())["request"]
        request, problems = read(table)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return None if problems else request
