"""The file of a recording: new, and only for the eyes of who records."""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..diagnostics import CompileError


def create(path: str, *, force: bool) -> tuple[int, str]:
    """A descriptor of a new file that only we may read, and its path.

    In a directory the file gets a name of its own, as a host starts a server again and
    again with the same command. No link is followed, and nothing is overwritten unless
    `force` says so; even then the old file is not written to, but replaced.
    """
    _fill_standard_streams()
    if path.endswith("/"):
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
        except OSError as error:
            raise _unwritable(path.rstrip("/"), error) from None
    if os.path.isdir(path):
        began = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = os.path.join(path, f"{began}-{os.getpid()}.jsonl")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        if force and _is_file(path):
            os.unlink(path)
        return os.open(path, flags, 0o600), path
    except FileExistsError:
        raise _refused(path, force) from None
    except OSError as error:
        raise _unwritable(path, error) from None


def _fill_standard_streams() -> None:
    """If one of them is closed, neither the file nor a pipe may get its number."""
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(null)


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _refused(path: str, force: bool) -> CompileError:
    if force:
        return _problem(
            "output-occupied", path, "it is no file, but a link or the like"
        )
    hint = (
        "replace it with --force, or name a directory: every session gets a file there"
    )
    return _problem("output-occupied", path, "there is a file of that name", hint)


def _unwritable(path: str, error: OSError) -> CompileError:
    return _problem("output-unwritable", path, error.strerror or str(error))


def _problem(code: str, path: str, message: str, hint: str = "") -> CompileError:
    from ..diagnostics import fail

    return fail(code, message, file=os.path.basename(path), hint=hint)
