"""Pipes as the event loop sees them: chunks and lines come in, batches go out."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from . import Receiver

CHUNK = 64 * 1024  # what a pipe holds; larger buffers cost more than they save
HIGH_WATER = 2**20

Stop = Callable[[BaseException | None], None]


class PipeWriter:
    """The writer of a file descriptor; many messages leave in one write."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, stop: Stop) -> None:
        self._loop = loop
        self._fd = fd
        self._stop = stop
        self._buffer = bytearray()
        self._progress = asyncio.Event()
        self._closed = False
        self._expected = False  # a flush will come
        self.at_once = True
        """Is a message likely to be the only one of this turn of the loop?"""
        self._watching = False  # it comes when the pipe has room
        self.most = HIGH_WATER
        """So much may be unsent before it is full."""

    def write(self, data: bytes) -> None:
        """Send one message at the end of this turn of the loop, or now."""
        if self._closed:
            return
        self._buffer += data
        self._buffer += b"\n"
        if self._expected:
            return
        if self.at_once:
            self.flush()
        else:
            self._expected = True
            self._loop.call_soon(self.flush)

    @property
    def full(self) -> bool:
        """Is more unsent than should be?"""
        return len(self._buffer) > self.most

    async def drain(self) -> None:
        """Wait until no more than the high-water mark is unsent."""
        await self._wait(HIGH_WATER)

    async def sent(self) -> None:
        """Wait until all is sent."""
        await self._wait(0)

    async def _wait(self, mark: int) -> None:
        if len(self._buffer) > mark:
            self.flush()
        while len(self._buffer) > mark:
            self._progress.clear()
            await self._progress.wait()

    def hold(self) -> None:
        """Write nothing before the next `flush`, which the caller promises."""
        self._expected = True

    def flush(self) -> None:
        """Write as much as the pipe takes now, and the rest when it has room."""
        try:
            while self._buffer:
                sent = os.write(self._fd, self._buffer)
                del self._buffer[:sent]
        except BlockingIOError:
            pass
        except OSError:  # the peer reads no more: an end like any other
            self.close()
            self._stop(None)
        self._expected = bool(self._buffer)
        if self._expected != self._watching:
            self._watch(self._expected)
        self._progress.set()

    def _watch(self, on: bool) -> None:
        self._watching = on
        if on:
            self._loop.add_writer(self._fd, self.flush)
        else:
            self._loop.remove_writer(self._fd)

    def close(self) -> None:
        """Drop what is unsent, and all that comes later."""
        self._closed = True
        self._buffer.clear()
        self._progress.set()
        if self._watching:
            self._watch(False)


class PipeReader:
    """Reads a file descriptor: when the loop says so, or else in a thread.

    What was read goes to `take`, which asks for more with `read_on`; nothing is the end.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, fd: int, take: Callable[[bytes], None]
    ) -> None:
        self._loop = loop
        self._fd = fd
        self._take = take
        self._polled = can_poll(fd)
        self._watching = False
        self._go_on = threading.Semaphore(0)  # lets the thread read once
        self._stopped = False

    def start(self) -> None:
        """Begin to read."""
        if not self._polled:
            # A daemon, with an fd of its own: it may be stuck in a read when all ends.
            copy = os.dup(self._fd)
            threading.Thread(target=self._read_all, args=(copy,), daemon=True).start()
        self.read_on()

    def stop(self) -> None:
        """Take nothing more."""
        self._stopped = True
        self._watch(False)
        self._go_on.release()

    def read_on(self) -> None:
        """Let more come."""
        if self._polled:
            self._watch(True)
        else:
            self._go_on.release()

    def _watch(self, on: bool) -> None:
        if on and not self._watching:
            self._loop.add_reader(self._fd, self._readable)
        elif self._watching and not on:
            self._loop.remove_reader(self._fd)
        self._watching = on

    def _readable(self) -> None:
        # The fd stays as it is, blocking or not: the flag belongs to the open file, which
        # others may share, and a pipe that is ready gives what it has.
        try:
            chunk = _read(self._fd)
        except BlockingIOError:
            return
        if not chunk:
            self._watch(False)
        self._take(chunk)

    def _read_all(self, fd: int) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile
            while self._go_on.acquire() and not self._stopped:
                self._loop.call_soon_threadsafe(self._take, _read(fd))
        os.close(fd)


class LineReader(PipeReader):
    """Cuts the input into lines and delivers them while the receiver has time."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        receiver: Receiver,
        writer: PipeWriter,
        max_line: int,
        stop: Stop,
    ) -> None:
        super().__init__(loop, fd, self._cut)
        self._receive = receiver.receive
        self._too_long: Callable[[int], Awaitable[None] | None]
        self._too_long = getattr(receiver, "too_long", complain)
        self._writer = writer
        self._max_line = max_line
        self._stop = stop
        self._eof = False
        self._partial = bytearray()
        self._skipping = False
        self._lines: Iterator[bytes | None] = iter(())
        self._busy: asyncio.Future[None] | None = None

    def abandon(self) -> None:
        """Cancel what the receiver was busy with, if it still is."""
        if self._busy is not None:
            self._busy.cancel()

    def _cut(self, chunk: bytes) -> None:
        self._eof = not chunk
        # The end of the input ends its last line.
        self._lines = self._split(chunk or b"\n")
        self._deliver()

    def _split(self, chunk: bytes) -> Iterator[bytes | None]:
        """The lines that end in this chunk; None for one that is too long."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            if self._skipping:
                self._skipping = False
                continue
            if self._partial:
                self._partial += line
                line = bytes(self._partial)
                self._partial = bytearray()
            if len(line) > self._max_line:
                yield None
            elif line := line.strip(b" \t\r"):
                yield line
        if rest and not self._skipping:
            self._partial += rest
            if len(self._partial) > self._max_line:
                self._partial = bytearray()
                self._skipping = True
                yield None

    def _deliver(self) -> None:
        """Hand over lines until there are none, or one is to be waited for."""
        if self._stopped:
            return
        writer = self._writer
        writer.hold()
        delivered = 0
        try:
            for line in self._lines:
                delivered += 1
                busy = self._receive(line) if line else self._too_long(self._max_line)
                if busy is None and writer.full:
                    busy = writer.drain()
                if busy is not None:
                    self._watch(False)
                    self._busy = asyncio.ensure_future(busy)
                    self._busy.add_done_callback(self._resume)
                    return
            if self._eof:
                self._stop(None)
            else:
                self.read_on()
        except Exception as error:
            self._stop(error)
        finally:
            # Who asks one thing waits for the answer; many leave in one write.
            writer.at_once = delivered < 2
            writer.flush()

    def _resume(self, busy: asyncio.Future[None]) -> None:
        error = None if busy.cancelled() else busy.exception()
        if error is not None:
            self._stop(error)
        else:
            self._deliver()


def settle(future: asyncio.Future[None], error: BaseException | None = None) -> None:
    """Let who waits for it go on; the first time counts."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        raise
    except OSError:  # a terminal or a socket that is gone
        return b""


def can_poll(fd: int) -> bool:
    """Can the loop watch it? Not files (epoll refuses them), and nothing on Windows."""
    mode = os.fstat(fd).st_mode
    kind = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)
    return kind and sys.platform != "win32"


def complain(limit: int) -> None:
    """Say it where the receiver does not want to know."""
    print(f"mcpgen: dropped a line of over {limit} bytes", file=sys.stderr)
