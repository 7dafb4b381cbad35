"""A server under test: a process that ends with the measurement, whatever happens."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

LIMIT = 600.0
"""Seconds after which a server is ended, so that nobody waits for it for ever."""


class ServerFailed(Exception):
    """The server ended, or never began, to serve."""


class Process:
    """One server process; its errors are kept, to be shown if it fails."""

    def __init__(self, command: list[str], *, pipes: bool) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        stream = subprocess.PIPE if pipes else subprocess.DEVNULL
        self.child = subprocess.Popen(
            command, stdin=stream, stdout=stream, stderr=self._errors, bufsize=0
        )
        self._limit = threading.Timer(LIMIT, self.child.kill)
        self._limit.daemon = True
        self._limit.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, without asking."""
        self._limit.cancel()
        self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout, self._errors):
            if stream is not None:
                stream.close()

    def failed(self) -> ServerFailed:
        """What to raise when nothing comes from the server any more."""
        self.child.kill()
        self.child.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip()
        self.close()
        return ServerFailed(said.rpartition("\n")[2] or "it ended without a word")

    def memory(self) -> float | None:
        """Bytes of resident memory; None where the system does not tell."""
        try:
            status = Path(f"/proc/{self.child.pid}/status").read_text()
        except OSError:
            return None
        for line in status.splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024.0
        return None
