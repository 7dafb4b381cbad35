"""Threads for sync handlers, so that one that blocks stops nobody else.

They are daemons, and not asyncio's own: a handler that never returns must not keep the
process from ending, and six of them must not be all that run at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

LIMIT = 256

_jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
_lock = threading.Lock()  # of the two counts
_unfinished = 0  # jobs that wait or run
_threads = 0  # as many as jobs were ever unfinished at once: none waits behind another

_NOT_CARRIED = (StopIteration, asyncio.CancelledError, SystemExit, KeyboardInterrupt)
"""What means something else to the loop than that a function has failed."""


async def run(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a function in a thread; when this is cancelled, nobody waits for it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def job() -> None:
        result = error = None
        if not future.cancelled():
            try:
                result = context.run(function, **arguments)
            except BaseException as raised:
                error = raised
        _finished()  # before the next job can come of it
        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(_settle, future, result, error)

    _start(job)
    return await future


def _start(job: Callable[[], None]) -> None:
    global _unfinished, _threads
    with _lock:
        if _unfinished >= _threads and _threads < LIMIT:
            threading.Thread(target=_work, name="mcpgen-worker", daemon=True).start()
            _threads += 1
        _unfinished += 1
    _jobs.put(job)


def _finished() -> None:
    global _unfinished
    with _lock:
        _unfinished -= 1


def _work() -> None:
    while True:
        _jobs.get()()


def _settle(
    future: asyncio.Future[Any], result: Any, error: BaseException | None
) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, _NOT_CARRIED):
        failed = RuntimeError(f"the function raised {type(error).__name__}")
        failed.__cause__ = error
        future.set_exception(failed)
    else:
        future.set_exception(error)
