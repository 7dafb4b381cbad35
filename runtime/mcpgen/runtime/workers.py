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
from queue import Empty, SimpleQueue
from typing import Any

LIMIT = 256

_jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
_idle = threading.Semaphore(0)
_threads = 0


async def run(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a function in a thread; when this is cancelled, nobody waits for it."""
    global _threads
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
        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(_settle, future, result, error)

    _jobs.put(job)
    if not _idle.acquire(blocking=False) and _threads < LIMIT:
        _threads += 1
        threading.Thread(target=_work, name="mcpgen-worker", daemon=True).start()
    return await future


def _work() -> None:
    while True:
        try:
            job = _jobs.get_nowait()
        except Empty:
            _idle.release()
            job = _jobs.get()
        job()


def _settle(
    future: asyncio.Future[Any], result: Any, error: BaseException | None
) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, StopIteration):  # asyncio cannot carry it
        future.set_exception(RuntimeError("StopIteration"))
    else:
        future.set_exception(error)
