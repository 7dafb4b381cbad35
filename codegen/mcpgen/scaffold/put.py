"""Put a new project in its place: all of it in one step, or nothing.

It is written into a directory beside its place and then renamed, so that there never is
half a project, not even after a sudden death. What such a death leaves behind, under a
fixed name, is removed by the next attempt.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from .. import swap
from ..diagnostics import CompileError, clip, fail

_WHOLE = "project"


def refuse_occupied(path: Path) -> None:
    """A project goes where nothing is, in a directory that is there."""
    if os.path.lexists(path):
        raise fail(
            "new-occupied",
            "is there already",
            file=clip(path.name),
            hint="choose another name, or say where: --directory DIR",
        )
    if not path.parent.is_dir():
        raise fail(
            "new-directory",
            "there is no such directory",
            file=clip(path.parent.name),
            hint="make it first, or choose another with --directory DIR",
        )


def put(files: Mapping[str, str], path: Path) -> None:
    """Make the project `path` of `files`: path below it → text."""
    refuse_occupied(path)
    try:
        with swap.exclusive(path):
            _put(files, path)
    except OSError as error:
        raise fail(
            "new-unwritable",
            f"cannot be written: {error.strerror or error}",
            file=clip(path.name),
            hint="the directory above it must be writable, and have room",
        ) from error


def _put(files: Mapping[str, str], path: Path) -> None:
    staging = path.with_name(f".mcpgen-new-{path.name}")
    whole = staging / _WHOLE
    _remove_remains(staging)
    try:
        whole.mkdir(parents=True)
        for name, text in files.items():
            target = whole / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())
        refuse_occupied(path)  # somebody else may have been quicker
        whole.rename(path)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _remove_remains(staging: Path) -> None:
    """What an attempt left that was killed; `exclusive` says that none is under way."""
    if not os.path.lexists(staging):
        return
    names = [] if staging.is_symlink() or not staging.is_dir() else os.listdir(staging)
    if staging.is_symlink() or not staging.is_dir() or set(names) - {_WHOLE}:
        raise _occupied(staging)
    shutil.rmtree(staging)


def _occupied(staging: Path) -> CompileError:
    return fail(
        "new-occupied",
        "something that mcpgen did not put there is in the way",
        file=clip(staging.name),
        hint="this name beside the project is mcpgen's own; move it away",
    )
