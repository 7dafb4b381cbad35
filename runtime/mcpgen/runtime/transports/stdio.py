"""stdio: one message a line on this process's stdin and stdout, which it owns meanwhile.

No thread, task or queue stands between the pipe and the receiver: the loop says that
there is something to read, its lines are delivered on the spot, and the answers written
meanwhile leave together in one system call.
"""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from . import Connect, Receiver

CHUNK = 64 * 1024  # what a pipe holds; larger buffers cost more than they save
HIGH_WATER = 2**20

Stop = Callable[[BaseException | None], None]


async def serve_stdio(
    connect: Connect, *, max_line: int = 64 * 2**20, grace: float = 2.0
) -> None:
    """Serve one peer until it closes stdin or stdout, or SIGINT or SIGTERM comes.

    What the receiver raises ends it too, and is raised again. `grace` bounds, in seconds,
    how long `closed()` and the last output may take together.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def stop(error: BaseException | None = None) -> None:
        if over.done():
            return
        if error is None:
            over.set_result(None)
        else:
            over.set_exception(error)

    with _own_stdio() as (source, sink), _signals(loop, stop):
        writer = PipeWriter(loop, sink, stop)
        receiver = connect(writer)
        reader = _Reader(loop, source, receiver, writer, max_line, stop)
        try:
            reader.start()
            await over
        finally:
            reader.stop()
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(grace):
                        if (closing := receiver.closed()) is not None:
                            await closing
                        await writer.sent()
            finally:
                writer.close()
                await reader.abandon()


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
        return len(self._buffer) > HIGH_WATER

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


class _Reader:
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
        self._loop = loop
        self._fd = fd
        self._receive = receiver.receive
        self._too_long: Callable[[int], Awaitable[None] | None]
        self._too_long = getattr(receiver, "too_long", _complain)
        self._writer = writer
        self._max_line = max_line
        self._stop = stop
        self._polled = _can_poll(fd)
        self._watching = False
        self._go_on = threading.Semaphore(0)  # lets the thread read once
        self._stopped = False
        self._eof = False
        self._partial = bytearray()
        self._skipping = False
        self._lines: Iterator[bytes | None] = iter(())
        self._busy: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Begin to read."""
        if not self._polled:
            # A daemon, with an fd of its own: it may be stuck in a read when all ends.
            copy = os.dup(self._fd)
            threading.Thread(target=self._read_all, args=(copy,), daemon=True).start()
        self._read_on()

    def stop(self) -> None:
        """Deliver nothing more."""
        self._stopped = True
        self._watch(False)
        self._go_on.release()

    async def abandon(self) -> None:
        """Cancel what the receiver was busy with, if it still is."""
        if self._busy is not None and not self._busy.done():
            self._busy.cancel()
            await asyncio.sleep(0)

    def _read_on(self) -> None:
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
        with suppress(BlockingIOError):
            self._take(_read(self._fd))

    def _read_all(self, fd: int) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile
            while self._go_on.acquire() and not self._stopped:
                self._loop.call_soon_threadsafe(self._take, _read(fd))
        os.close(fd)

    def _take(self, chunk: bytes) -> None:
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
                self._read_on()
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


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        raise
    except OSError:  # a terminal or a socket that is gone
        return b""


def _can_poll(fd: int) -> bool:
    """Can the loop watch it? Not files (epoll refuses them), and nothing on Windows."""
    mode = os.fstat(fd).st_mode
    kind = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)
    return kind and sys.platform != "win32"


def _complain(limit: int) -> None:
    print(f"mcpgen: dropped a line of over {limit} bytes", file=sys.stderr)


@contextmanager
def _signals(loop: asyncio.AbstractEventLoop, stop: Stop) -> Iterator[None]:
    """SIGINT and SIGTERM end the server as EOF does."""
    before = {}
    # Not on Windows and not outside the main thread: there Python's own handling stays.
    with suppress(RuntimeError):
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            loop.add_signal_handler(number, stop, None)
            before[number] = handler
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


@contextmanager
def _own_stdio() -> Iterator[tuple[int, int]]:
    """Private copies of fds 0 and 1; meanwhile 0 is empty and 1 leads to stderr.

    So whatever a handler, a C library or a child process reads or prints, the messages
    stay whole.
    """
    # Fills fds that were closed, or a copy could land on one of the three numbers.
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    _flush_stdout(null)
    with suppress(AttributeError):  # a print shows at once, among the lines of stderr
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    source, sink = os.dup(0), os.dup(1)  # not inherited by children
    os.dup2(null, 0)
    os.dup2(2, 1)
    # A terminal stays blocking, as stderr and the shell share it.
    change = sys.platform != "win32" and os.get_blocking(sink) and not os.isatty(sink)
    if change:
        os.set_blocking(sink, False)
    try:
        yield source, sink
    finally:
        _flush_stdout(null)
        with suppress(Exception):  # what C holds would come out on the restored stdout
            from ctypes import CDLL

            CDLL(None).fflush(None)
        if change:
            os.set_blocking(sink, True)
        os.dup2(source, 0)
        os.dup2(sink, 1)
        for fd in (source, sink, null):
            os.close(fd)


def _flush_stdout(null: int) -> None:
    """Text that Python holds must not come out after the switch, on the wrong side."""
    with suppress(AttributeError, ValueError):  # there is none, or it is closed
        try:
            sys.stdout.flush()
        except OSError:  # nobody reads it: let it go, or Python complains at its exit
            os.dup2(null, 1)
            sys.stdout.flush()
