"""Who records what was noted: a process of its own, where there can be one.

Recording takes many times as long as forwarding, and two threads of one interpreter run
in turns. Light to import: a server waits for this.
"""

from __future__ import annotations

import marshal
import os
import signal
import time
from contextlib import suppress

from .stderr import STDERR, warn

GIVING_WAY = 10
"""How nice the process is to the client and the server."""
HIGHEST = 4096
"""Descriptors from here on are not looked for; numbers are given from below."""
_LENGTH = 4

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO, NoReturn, Protocol

    Note = tuple[float, Any, int]
    """Seconds since the start, what was noted, and of how many bytes it was."""

    class Taker(Protocol):
        """Makes entries of a recording from notes."""

        def take(self, t: float, what: Any) -> None:
            """Something that was noted, and when."""

        def flush(self) -> None:
            """Nothing more is there for now."""

        def close(self) -> None:
            """That was all."""

    Make = Callable[[float], Taker]
    """Is told how many seconds ago all began. What it imports may take long."""

    class Recorder(Protocol):
        """Who records."""

        def start(self, began: float) -> None:
            """All begins now, by the clock that `time.perf_counter` shows."""

        def take(self, notes: list[Note]) -> None:
            """What has been noted; an exception means that no more is wanted."""

        def close(self) -> None:
            """That was all; returns when it is recorded."""

        def abandon(self) -> None:
            """It takes too long."""


def recorder(make: Make, file: int) -> Recorder:
    """Who records into a file."""
    return Apart(make, file) if hasattr(os, "fork") else Here(make)


class Here:
    """Records in the thread that calls."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._taker: Taker | None = None
        self._began = 0.0

    def start(self, began: float) -> None:
        """All begins now."""
        self._began = began

    def take(self, notes: list[Note]) -> None:
        """Record them."""
        if self._taker is None:
            self._taker = self._make(time.perf_counter() - self._began)
        for t, what, _ in notes:
            self._taker.take(t, what)
        self._taker.flush()

    def close(self) -> None:
        """That was all."""
        if self._taker is not None:
            self._taker.close()

    def abandon(self) -> None:
        """The thread ends with the process."""


class Apart:
    """Has it done in a process of its own.

    That ends when there are no more notes, whoever else has ended by then: also when we
    are killed, what has been handed over is written.
    """

    def __init__(self, make: Make, file: int) -> None:
        self._here, self._file = Here(make), file
        self._sink = self._pid = -1
        self._is_abandoned = False

    def start(self, began: float) -> None:
        """Fork: nothing has to be started or imported anew."""
        source, sink = os.pipe()
        self._here.start(began)
        self._pid = os.fork()
        if not self._pid:
            _record(self._here, source, self._file)
        os.close(source)
        os.close(self._file)
        self._sink = sink

    def take(self, notes: list[Note]) -> None:
        """Hand them over."""
        piece = marshal.dumps(notes)
        data = memoryview(len(piece).to_bytes(_LENGTH) + piece)
        while data:
            data = data[os.write(self._sink, data) :]

    def close(self) -> None:
        """Wait for its end."""
        os.close(self._sink)
        with suppress(ChildProcessError):  # a host may have told the system not to tell
            status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            if status and not self._is_abandoned:
                raise RuntimeError(f"the recorder ended with {status}")

    def abandon(self) -> None:
        """Kill it."""
        self._is_abandoned = True
        os.kill(self._pid, signal.SIGKILL)


def _record(here: Here, source: int, file: int) -> NoReturn:
    """What the process does, all its life."""
    try:
        _withdraw({source, file})
        with open(source, "rb") as notes:
            try:
                while piece := _next(notes):
                    here.take(marshal.loads(piece))
                here.close()
            except Exception as error:
                warn(f"the rest of the session is not recorded: {error!r}")
                while notes.read(2**20):
                    pass
    finally:
        os._exit(0)  # nothing of what we were forked from may go on


def _next(notes: BinaryIO) -> bytes:
    """A piece as it was handed over; empty if there is no more, or only a part."""
    length = int.from_bytes(notes.read(_LENGTH))
    piece = notes.read(length)
    return piece if len(piece) == length else b""


def _withdraw(needed: set[int]) -> None:
    """Hold nothing open that somebody waits for the end of, and hear no signals."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    after = STDERR + 1
    for fd in sorted(needed):
        os.closerange(after, fd)
        after = fd + 1
    os.closerange(after, HIGHEST)
    os.nice(GIVING_WAY)
