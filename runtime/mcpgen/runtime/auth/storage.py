"""Where tokens and registrations are kept."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec

from ..errors import AuthError
from ..peer import log

Kept: TypeAlias = dict[str, Any] | None
"""A JSON object."""


class TokenStorage(Protocol):
    """Keeps secrets, each under a key."""

    async def load(self, key: str) -> Kept:
        """What was saved last, if anything."""

    async def save(self, key: str, value: Kept) -> None:
        """Keep it from now on; None forgets it."""


class MemoryStorage:
    """Keeps them until the program ends."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

    async def load(self, key: str) -> Kept:
        """What was saved last, if anything."""
        return self._kept.get(key)

    async def save(self, key: str, value: Kept) -> None:
        """Keep it from now on; None forgets it."""
        self._kept[key] = value


class FileStorage:
    """Keeps them in a file that only its owner may read; programs may share it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).expanduser()

    async def load(self, key: str) -> Kept:
        """What was saved last, if anything."""
        with self._explained():
            return self._read().get(key)

    async def save(self, key: str, value: Kept) -> None:
        """Keep it from now on; None forgets it."""
        # Another program may hold the lock: the loop does not wait for it.
        await asyncio.to_thread(self._save, key, value)

    def _save(self, key: str, value: Kept) -> None:
        with self._explained(), self._locked():
            data = msgspec.json.encode(self._read() | {key: value})
            # Written beside it and then moved: nobody ever reads half a file.
            beside = f"{self._path}.new"
            with suppress(FileNotFoundError):
                os.unlink(beside)
            with open(beside, "xb", opener=_careful) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._path)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise AuthError(f"{self._path}: {error.strerror}") from error

    def _read(self) -> dict[str, Kept]:
        try:
            with open(self._path, "rb", opener=_careful) as file:
                mode = os.fstat(file.fileno()).st_mode
                # On Windows these bits say nothing.
                if os.name == "posix" and (mode & 0o077 or not stat.S_ISREG(mode)):
                    raise AuthError(f"{self._path} must be a file with mode 0600")
                return msgspec.json.decode(file.read(), type=dict[str, Kept])
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):
            log.warning("%s is damaged: nothing in it is used", self._path)
            return {}

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else saves between our reading and our writing."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(f"{self._path}.lock", "ab", opener=_careful) as file:
            with suppress(ImportError):  # on Windows the last one wins
                from fcntl import LOCK_EX, flock

                flock(file, LOCK_EX)
            yield


def _careful(path: str, flags: int) -> int:
    """Open what is no symbolic link, for nobody else, without waiting for a pipe."""
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags, 0o600)
