"""A server between two pairs of pipes, every byte of which passes unchanged.

What ends on one side ends on the other. The server stays in our process group and
session, so that the terminal, and who ends the whole group, find it where it would be
without us.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress

from .carrier import Carrier, Channel

_BY_TERMINAL = 0x80
"""SI_KERNEL: what sent the signal sent it to the whole group, hence to the server."""
_MESSAGES = {signal.SIGUSR1, signal.SIGUSR2}
"""Signals that need not be an end."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from .backlog import Backlog


def run(command: Sequence[str], backlog: Backlog) -> int:
    """Run a server until it has ended; its status, or minus the signal that ended it.

    Raises OSError if it cannot be started.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a host may have it ignored
    signals = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
    signals |= _MESSAGES
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    pipes = [os.pipe() for _ in range(3)]
    (stdin, to_server), (from_server, stdout), (from_stderr, stderr) = pipes
    dup = os.POSIX_SPAWN_DUP2
    try:
        pid = os.posix_spawnp(
            command[0],
            list(command),
            _environment(),
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
    os.set_blocking(to_server, False)  # it is ours alone
    client = Channel("client", 0, to_server)
    outputs = [Channel("server", from_server, 1), Channel("stderr", from_stderr, 2)]
    carrier = Carrier([client, *outputs], backlog)
    carrier.start()
    relay = _Relay(pid, signals, carrier)
    relay.start()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    relay.pid = 0
    carrier.finish(outputs)
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


def _environment() -> dict[str, str]:
    """As it was given to us: where there is no locale, Python adds one to it."""
    environment = dict(os.environ)
    with suppress(OSError), open("/proc/self/environ", "rb") as given:
        if not any(e.startswith(b"LC_CTYPE=") for e in given.read().split(b"\0")):
            environment.pop("LC_CTYPE", None)
    return environment


class _Relay(threading.Thread):
    """Hands the signals that we get to the server."""

    def __init__(
        self, pid: int, signals: set[signal.Signals], carrier: Carrier
    ) -> None:
        super().__init__(name="signals", daemon=True)
        self.pid = pid
        self._signals, self._carrier = signals, carrier

    def run(self) -> None:
        """One after the other; who sends them does not want to wait for long."""
        while True:
            number, by_terminal = self._next()
            if number not in _MESSAGES:
                self._carrier.hurry()
            if self.pid and not by_terminal:
                with suppress(ProcessLookupError):
                    os.kill(self.pid, number)

    def _next(self) -> tuple[int, bool]:
        if hasattr(signal, "sigwaitinfo"):
            found = signal.sigwaitinfo(self._signals)
            return found.si_signo, found.si_code == _BY_TERMINAL
        return signal.sigwait(self._signals), False  # macOS
