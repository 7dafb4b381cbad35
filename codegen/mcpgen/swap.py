"""Change many files of a directory as one: all of them, or none.

There is no system call for that, so it is done as databases do it. The new files are
staged in a directory beside the target, the old ones get a second name there, and a
journal that lists every change is written before the first of them. Then:

* An exception, Ctrl-C or SIGTERM at any point puts the old files back before it goes on.
* After a sudden death (SIGKILL, or a second Ctrl-C during that) the next `exclusive` or
  `recover` finds the journal and puts the old files back. Until then old and new files
  may stand side by side.
* Removing the journal is the one step that makes the change final.
* Files that are not among the changes are never touched, nor is a file that somebody
  edited between a sudden death and the recovery.

This is about processes that end, not about power failures: nothing is forced to disk.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from .diagnostics import CompileError, fail

_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_STAGED = re.compile(r"(?:old|new)-\d+")
_JOURNAL = "journal"


def apply(root: Path, changes: Mapping[str, bytes | None]) -> None:
    """Write each path below `root`; None removes it. Call inside `exclusive`."""
    for path in changes:
        if not is_inside(path, root):
            raise fail("output-path", "a symbolic link is in the way", file=path)
    staging = _staging(root)
    try:
        staging.mkdir()
        _stage(root, staging, changes)
        for number, (path, data) in enumerate(changes.items()):
            target = root / path
            if data is None:
                target.unlink()
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(staging / f"new-{number}", target)
        (staging / _JOURNAL).unlink()
    except BaseException:
        _roll_back(root)
        raise
    with suppress(OSError, CompileError):  # it is done; the next run tidies up
        _clear(staging)


def recover(root: Path) -> None:
    """Undo what a run that died left half done, if there is such a thing."""
    if os.path.lexists(_staging(root)):
        with exclusive(root):
            pass


def is_inside(path: str, root: Path) -> bool:
    """A plain relative path that no symbolic link on its way leads elsewhere."""
    if not all(_SEGMENT.fullmatch(segment) for segment in path.split("/")):
        return False
    return (root / path).parent.resolve() == (root.resolve() / path).parent


@contextmanager
def exclusive(root: Path) -> Iterator[None]:
    """Wait until no other mcpgen changes `root`, and undo what a dead one left."""
    missing = [above for above in root.parents if not above.exists()]
    with _stoppable():
        try:
            root.parent.mkdir(parents=True, exist_ok=True)
            with _lock(root.parent):
                _roll_back(root)
                yield
        except BaseException:
            for directory in missing:
                with suppress(OSError):  # somebody uses it by now
                    directory.rmdir()
            raise


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """`exclusive`, where a refusal of the system is a diagnostic."""
    try:
        with exclusive(root):
            yield
    except OSError as error:
        raise fail(
            "output-unwritable",
            f"cannot be written: {error.strerror or error}",
            file=Path(str(error.filename or root)).name,
            hint="the output directory and the one above it must be writable",
        ) from error


# --- the steps ----------------------------------------------------------------------


def _staging(root: Path) -> Path:
    # Beside the target, so that every replace stays on one file system; under a fixed
    # name, so that the next run finds it.
    return root.parent / f".mcpgen-{root.name}"


def _stage(root: Path, staging: Path, changes: Mapping[str, bytes | None]) -> None:
    """Everything that may fail for want of space or rights, while nothing is changed."""
    for number, (path, data) in enumerate(changes.items()):
        if data is not None:
            (staging / f"new-{number}").write_bytes(data)
        if (root / path).exists():
            _second_name(root / path, staging / f"old-{number}")
    content = {
        "changes": {path: _digest(data) for path, data in changes.items()},
        "directories": _missing_directories(root, changes),
    }
    # Not complete until the last brace: a journal cut short is no journal.
    (staging / _JOURNAL).write_text(json.dumps(content, indent=1), encoding="utf-8")


def _second_name(path: Path, name: Path) -> None:
    try:
        os.link(path, name)
    except OSError:  # a file system without hard links
        shutil.copy2(path, name)


def _roll_back(root: Path) -> None:
    """Bring back what the journal says. May itself be interrupted, and run again."""
    staging = _staging(root)
    if not staging.is_dir() or staging.is_symlink():
        if os.path.lexists(staging):
            raise _occupied(staging)
        return
    journal = _read_journal(root, staging)
    failed: list[OSError] = []
    for number, (path, new) in enumerate(journal.get("changes", {}).items()):
        try:
            _undo(root / path, staging / f"old-{number}", new)
        except OSError as error:
            failed.append(error)
    if failed:
        raise failed[0]  # the journal stays, for the next attempt
    for path in reversed(journal.get("directories", [])):
        with suppress(OSError):  # in use by now, or never made
            (root / path).rmdir()
    (staging / _JOURNAL).unlink(missing_ok=True)
    _clear(staging)


def _undo(target: Path, old: Path, new: str | None) -> None:
    """Put one file back, if it is what the interrupted run made of it."""
    now = _digest(target.read_bytes() if target.is_file() else None)
    if now != new:
        return  # not changed yet, back already, or edited since
    if old.is_file() and not old.is_symlink():
        os.replace(old, target)
    elif now is not None:
        target.unlink()


def _clear(staging: Path) -> None:
    """Remove what was staged, and nothing that is not ours."""
    for entry in list(staging.iterdir()):
        if _STAGED.fullmatch(entry.name):
            entry.unlink(missing_ok=True)
    try:
        staging.rmdir()
    except OSError:
        raise _occupied(staging) from None


def _read_journal(root: Path, staging: Path) -> dict[str, Any]:
    """The journal, not trusted: it may have come with a stranger's repository."""
    try:
        content = json.loads((staging / _JOURNAL).read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    try:
        paths = [*content["changes"], *content["directories"]]
        sane = all(path == "." or is_inside(path, root) for path in paths)
        sane = sane and isinstance(content["changes"], dict)
    except (TypeError, KeyError, AttributeError):
        sane = False
    if not sane:
        raise _occupied(staging)
    return dict(content)


def _missing_directories(root: Path, changes: Mapping[str, bytes | None]) -> list[str]:
    """The directories that the changes will make, outer ones first."""
    needed = {Path(path).parent for path, data in changes.items() if data is not None}
    needed |= {above for directory in needed for above in directory.parents}
    return sorted(p.as_posix() for p in needed if not (root / p).exists())


def _digest(data: bytes | None) -> str | None:
    return None if data is None else sha256(data).hexdigest()


def _occupied(staging: Path) -> CompileError:
    return fail(
        "output-occupied",
        "something that mcpgen did not put there is in the way",
        file=staging.name,
        hint="this name beside the output is mcpgen's own; move it away",
    )


@contextmanager
def _lock(directory: Path) -> Iterator[None]:
    """Hold the directory itself, so that no lock file stays behind.

    Where the system has no such locks, the last of two writers at once wins, file by
    file; a `check` tells.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(directory, os.O_RDONLY)
    try:
        with suppress(OSError):  # not on every network file system
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM raises inside, as Ctrl-C does, instead of ending the process on the spot."""

    def stop(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    usual = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
