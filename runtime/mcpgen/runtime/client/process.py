"""A stdio server as a child process: started, spoken to, and ended with all its kin.

The loop watches the pipes and the process itself, without a task or a thread (except on
systems where it cannot). The child leads a process group of its own, so that what it
starts can be ended with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from subprocess import PIPE, Popen
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from ..errors import ConnectionClosed
from ..peer import log
from ..transports import Connect, lines

TAIL, WIDTH = 20, 2_000
"""How many of the last lines of stderr are kept, and how much of each."""
INHERITED = {
    *("HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "VIRTUAL_ENV"),
    *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT"),
    *("SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
}
"""What a server may see of our environment (and LC_*); the rest may be secret."""
OPTIONS: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), PIPE)
OPTIONS |= {"bufsize": 0, "start_new_session": True}
if sys.platform == "win32":
    OPTIONS["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)

_MESSAGE = Decoder(dict[str, Raw] | list[Raw])


class Process:
    """The transport of a client that starts its server itself.

    It returns when the server has ended, by itself or because the task that runs it was
    cancelled; call it again to start the server anew. `stderr` gets the lines of the
    server's stderr, which go on to our own without it. Ending takes three steps of at
    most `grace` seconds: stdin is closed, then SIGTERM and at last SIGKILL are sent to
    the whole process group.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stderr: Callable[[str], None] | None = None,
        max_line: int = 64 * 2**20,
        grace: float = 2.0,
    ) -> None:
        if isinstance(command, str) or not command:
            raise TypeError("a command is a list, such as ['python', '-m', 'weather']")
        self._command = list(command)
        self._env, self._cwd = dict(env or {}), cwd
        self.hear = stderr or (lambda line: print(line, file=sys.stderr))
        self.max_line, self.grace = max_line, grace
        self.pid: int | None = None
        """Of the child that runs."""
        self.returncode: int | None = None
        """Of the last child, once it was reaped: its exit code, or minus a signal."""
        self.stderr_tail: list[str] = []
        """The last lines that the last child wrote to stderr."""

    async def __call__(self, connect: Connect) -> None:
        """Start the server, and feed the receiver until the server has ended.

        Raises ConnectionClosed if it cannot be started, and what the receiver raises.
        """
        popen = self._spawn()
        self.pid, self.returncode, self.stderr_tail = popen.pid, None, []
        try:
            # Leaving it needs no loop: nothing stays behind, not even if that is gone.
            with popen, ExitStack() as clean:
                await _Child(self, popen, clean).serve(connect)
        finally:
            self.pid, self.returncode = None, popen.returncode

    def _spawn(self) -> Popen[bytes]:
        command = self._command.copy()
        env = {n: v for n, v in os.environ.items() if n in INHERITED or n[:3] == "LC_"}
        env |= self._env
        if sys.platform == "win32":  # it finds programs, but no scripts such as npx.cmd
            from shutil import which

            command[0] = which(command[0], path=env.get("PATH")) or command[0]
        try:
            return Popen(command, cwd=self._cwd, env=env, **OPTIONS)
        except OSError as error:
            raise ConnectionClosed(f"cannot start {command[0]!r}: {error}") from error


class _Child:
    """One run of the server; it stands between the pipes and the receiver."""

    def __init__(self, process: Process, popen: Popen[bytes], clean: ExitStack) -> None:
        self._process, self._popen, self._clean = process, popen, clean
        clean.callback(self._signal, KILL)
        self._loop = loop = asyncio.get_running_loop()
        self._over, *self._ends = (loop.create_future() for _ in range(4))
        self._exit, self._stdout_end, self._stderr_end = self._ends
        self._shut, self._skipped, self._rest = False, 0, b""

    async def serve(self, connect: Connect) -> None:
        """Connect the receiver, and stay until all has ended."""
        loop, popen, longest = self._loop, self._popen, self._process.max_line
        pipes = [pipe for pipe in (popen.stdin, popen.stdout, popen.stderr) if pipe]
        stdin, stdout, stderr = (pipe.fileno() for pipe in pipes)
        if lines.can_poll(stdin):  # or, on Windows, a write waits until there is room
            os.set_blocking(stdin, False)
        self._writer = writer = _Writer(loop, stdin, lambda _: lines.settle(self._over))
        # If both sides read no more until the other does, both wait for ever. So we go
        # on reading, unless the server makes us hoard far too many answers.
        writer.most = 4 * longest
        self._hang_up = self._clean.enter_context(ExitStack())
        self._hang_up.enter_context(pipes[0])
        self._hang_up.callback(writer.close)
        self._receiver = connect(writer)
        self.too_long = getattr(self._receiver, "too_long", lines.complain)
        self._stdout = lines.LineReader(loop, stdout, self, writer, longest, self._eof)
        self._stderr = lines.PipeReader(loop, stderr, self._take_stderr)
        self._clean.callback(self._stdout.abandon)
        for reader in (self._stdout, self._stderr):
            self._clean.callback(reader.stop)
            reader.start()
        self._watch()
        try:
            await self._over
            await self._end()
        except (Exception, asyncio.CancelledError):
            await self.closed()
            await self._end()
            raise
        await self.closed()

    def receive(self, data: bytes) -> Awaitable[None] | None:
        """Let messages through, and no garbage."""
        if self._shut:
            return None
        try:
            _MESSAGE.decode(data)
        except (DecodeError, RecursionError):
            self._skipped += 1
            if self._skipped <= TAIL:
                log.warning("the server printed what is no message: %r", data[:40])
            return None
        return self._receiver.receive(data)

    def _take_stderr(self, chunk: bytes) -> None:
        process = self._process
        # Of a line that has no end in sight, its last part will do.
        *whole, self._rest = (self._rest[-lines.CHUNK :] + chunk).split(b"\n")
        if chunk:
            self._stderr.read_on()
        else:
            whole += filter(None, [self._rest])
            lines.settle(self._stderr_end)
        for line in whole:
            text = line.decode("utf-8", "replace").rstrip("\r")
            process.stderr_tail = [*process.stderr_tail, text[:WIDTH]][-TAIL:]
            process.hear(text)

    # --- how it ends ------------------------------------------------------------------

    async def closed(self) -> None:
        """Tell the receiver, and let it say its last."""
        self._shut = True
        with suppress(TimeoutError):
            async with asyncio.timeout(self._process.grace):
                if (closing := self._receiver.closed()) is not None:
                    await closing
                await self._writer.sent()
        self._stdout.abandon()  # from now on output is read to be thrown away

    async def _end(self) -> None:
        """End the child and its kin as gently as they let us."""
        self._hang_up.close()
        for number in (signal.SIGTERM, KILL):
            _, left = await asyncio.wait(self._ends, timeout=self._process.grace)
            if not left:
                return
            self._signal(number)

    def _eof(self, error: BaseException | None) -> None:
        lines.settle(self._stdout_end)
        lines.settle(self._over, error)

    def _watch(self) -> None:
        with suppress(AttributeError, OSError):  # not Linux, or something forbids it
            pidfd = os.pidfd_open(self._popen.pid)
            self._clean.callback(os.close, pidfd)
            self._clean.callback(self._loop.remove_reader, pidfd)
            self._loop.add_reader(pidfd, self._exited, pidfd)
            return
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        self._popen.wait()
        with suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(self._exited)

    def _exited(self, pidfd: int | None = None) -> None:
        if pidfd is not None:
            self._loop.remove_reader(pidfd)
        if not self._over.done():  # it crashed; a grandchild may hold its pipes
            self._signal(signal.SIGTERM)
        lines.settle(self._exit)
        lines.settle(self._over)

    def _signal(self, number: int) -> None:
        with suppress(OSError):  # nobody is left
            # Windows has no groups that could be ended.
            getattr(os, "killpg", os.kill)(self._popen.pid, number)


class _Writer(lines.PipeWriter):
    def write(self, data: bytes) -> None:
        """Send now what is first since something came; what follows leaves together."""
        super().write(data)
        self.at_once = False
