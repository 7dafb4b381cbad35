"""Drives a server over its stdin and stdout, with plain reads and writes."""

from __future__ import annotations

import os
import time

from .process import Process
from .wire import Request, Wire, check, new_id


class StdioServer(Process):
    """A server process that is spoken to through pipes."""

    def __init__(self, command: list[str], wire: Wire) -> None:
        super().__init__(command, pipes=True)
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self._to = self.child.stdin.fileno()
        self._from = self.child.stdout.fileno()
        if wire.opening:
            first, *others = wire.opening
            self._write(first + b"\n")
            self._read_line()
            self._write(b"".join(message + b"\n" for message in others))

    def time_per_call(
        self, request: Request, in_flight: int = 1, duration: float = 0
    ) -> float:
        """Seconds a call when so many are always under way, for so many seconds."""
        ids = [new_id() for _ in range(in_flight)]
        chunks = []
        answered = 0
        start = time.perf_counter()
        end = start + duration
        self._write(b"".join([request.text(id) + b"\n" for id in ids]))
        while answered < len(ids):
            chunk = self._read()
            chunks.append(chunk)
            done = chunk.count(b"\n")
            answered += done
            if done and time.perf_counter() < end:
                more = [new_id() for _ in range(done)]
                self._write(b"".join([request.text(id) + b"\n" for id in more]))
                ids += more
        took = time.perf_counter() - start
        check(b"".join(chunks).splitlines(), ids)
        return took / answered

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._to, data) :]
        except BrokenPipeError:
            raise self.failed() from None

    def _read(self) -> bytes:
        chunk = os.read(self._from, 1 << 20)
        if not chunk:
            raise self.failed()
        return chunk

    def _read_line(self) -> None:
        while not self._read().endswith(b"\n"):
            pass
