"""stdio: one message a line on this process's stdin and stdout, which it owns meanwhile.

No thread, task or queue stands between the pipe and the receiver: the loop says that
there is something to read, its lines are delivered on the spot, and the answers written
meanwhile leave together in one system call.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from . import Connect
from .lines import LineReader, PipeWriter, Stop, settle


async def serve_stdio(
    connect: Connect, *, max_line: int = 64 * 2**20, grace: float = 2.0
) -> None:
    """Serve one peer until it closes stdin or stdout, or SIGINT or SIGTERM comes.

    What the receiver raises ends it too, and is raised again. `grace` bounds, in seconds,
    how long `closed()` and the last output may take together.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    stop = partial(settle, over)
    with _own_stdio() as (source, sink), _signals(loop, stop):
        writer = PipeWriter(loop, sink, stop)
        receiver = connect(writer)
        reader = LineReader(loop, source, receiver, writer, max_line, stop)
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
                reader.abandon()
                await asyncio.sleep(0)  # lets the cancelled task end


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
