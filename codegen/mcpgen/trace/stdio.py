"""A server between two pairs of pipes, every byte of which passes unchanged.

A thread for each pipe reads what there is and writes it on: two system calls, with
nothing between them but a note for the one who records. What ends on one side ends on
the other. The server stays in our process group and session, so that the terminal, and
who ends the whole group, find it where it would be without us.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from contextlib import suppress

from .backlog import Backlog

SIZE = 64 * 1024
"""Bytes: what a pipe holds."""
GRACE = 0.5
"""Seconds without a byte, after which nobody waits for those who inherited the pipes."""
_BY_TERMINAL = 0x80
"""SI_KERNEL: what sent the signal sent it to the whole group, hence to the server."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


class Pump(threading.Thread):
    """Carries bytes from one end to another, until either is gone."""

    def __init__(self, name: str, source: int, sink: int, backlog: Backlog) -> None:
        super().__init__(name=name, daemon=True)
        self._source, self._sink, self._backlog = source, sink, backlog
        self.carried = 0
        self.is_busy = False
        """Is there something that has been read, and is not written yet?"""

    def run(self) -> None:
        """Carry all of it."""
        name, note = self.name, self._backlog.note
        source, sink = self._source, self._sink
        with suppress(OSError):  # nobody reads it, or a terminal is gone
            while chunk := _read(source):
                self.is_busy = True
                # Noted first: what answers it is noted later, however quick it is.
                note((name, chunk), len(chunk))
                _write(sink, chunk)
                self.is_busy = False
                self.carried += 1
        self.is_busy = False
        note((name, b""), 0)
        _hang_up(source)
        _hang_up(sink)


def run(command: Sequence[str], backlog: Backlog) -> int:
    """Run a server until it has ended; its status, or minus the signal that ended it.

    Raises OSError if it cannot be started.
    """
    _fill_standard_streams()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a host may have it ignored
    signals = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
    signals |= {signal.SIGUSR1, signal.SIGUSR2}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    pipes = [os.pipe() for _ in range(3)]
    (stdin, to_server), (from_server, stdout), (from_stderr, stderr) = pipes
    dup = os.POSIX_SPAWN_DUP2
    try:
        pid = os.posix_spawnp(
            command[0],
            list(command),
            os.environ,
            file_actions=[(dup, stdin, 0), (dup, stdout, 1), (dup, stderr, 2)],
            setsigmask=before,
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),  # which Python ignores
        )
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for pipe in pipes:
            os.close(pipe[0])
            os.close(pipe[1])
        raise
    for end in (stdin, stdout, stderr):
        os.close(end)
    backlog.start()
    outputs = [
        Pump("server", from_server, 1, backlog),
        Pump("stderr", from_stderr, 2, backlog),
    ]
    for pump in (Pump("client", 0, to_server, backlog), *outputs):
        pump.start()
    relay = _Relay(pid, signals)
    relay.start()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    relay.pid = 0
    for pump in outputs:
        _finish(pump)
    backlog.note(status, 0)
    return status


def end_like(status: int) -> NoReturn:
    """End as the server did: with its status, or by the same signal."""
    if status < 0:
        with suppress(OSError, ValueError):  # some cannot be set, and need not be
            signal.signal(-status, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-status})
        os.kill(os.getpid(), -status)
        status = 128 - status  # a signal that does not end us
    sys.exit(status)


class _Relay(threading.Thread):
    """Hands the signals that we get to the server."""

    def __init__(self, pid: int, signals: set[signal.Signals]) -> None:
        super().__init__(name="signals", daemon=True)
        self.pid = pid
        self._signals = signals

    def run(self) -> None:
        """One after the other; when there is no server, they are for us."""
        while True:
            number, by_terminal = self._next()
            if not self.pid:
                os._exit(128 + number)
            if not by_terminal:
                with suppress(ProcessLookupError):
                    os.kill(self.pid, number)

    def _next(self) -> tuple[int, bool]:
        if hasattr(signal, "sigwaitinfo"):
            found = signal.sigwaitinfo(self._signals)
            return found.si_signo, found.si_code == _BY_TERMINAL
        return signal.sigwait(self._signals), False  # macOS


def _finish(pump: Pump) -> None:
    """Wait for the last bytes, but not for what a server left running behind it."""
    while pump.is_alive():
        carried = pump.carried
        pump.join(GRACE)
        if pump.carried == carried and not pump.is_busy:
            return


def _read(fd: int) -> bytes:
    while True:
        try:
            return os.read(fd, SIZE)
        except BlockingIOError:  # who shares the file may have made it so
            select.select([fd], [], [])


def _write(fd: int, data: bytes) -> None:
    while True:
        try:
            sent = os.write(fd, data)
        except BlockingIOError:
            select.select([], [fd], [])
            continue
        if sent == len(data):
            return
        data = data[sent:]


def _hang_up(fd: int) -> None:
    """Let the other end know; but the number of a standard stream stays taken."""
    if fd > 2:
        os.close(fd)
    elif fd < 2:  # we may still have something to say on stderr
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, fd)
        os.close(null)


def _fill_standard_streams() -> None:
    """If one of them is closed, no pipe may get its number."""
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(null)
