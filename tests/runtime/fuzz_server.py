"""The server that the fuzzers torment: `python fuzz_server.py [PORT]`.

Without a port it speaks stdio. Tools with a key wait for each other, never for time,
and `report` tells what the process holds.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import sys
import threading
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcpgen.runtime import Context, Server


@asynccontextmanager
async def loop_of(server: Server) -> AsyncIterator[asyncio.AbstractEventLoop]:
    """The loop, for handlers that run in threads."""
    yield asyncio.get_running_loop()


server = Server("fuzz", version="1.0.0", lifespan=loop_of)


class Expected(Exception):
    """A failure that a tool was asked for."""


EXPECTED = (Expected, asyncio.CancelledError)


class Quiet(logging.Filter):
    """Leaves out of the log what the tests provoke; a traceback is then a finding."""

    def filter(self, record: logging.LogRecord) -> bool:
        failure = record.exc_info[1] if record.exc_info else None
        return record.levelno > logging.WARNING and not isinstance(failure, EXPECTED)


class Gate:
    """Opened once; waited for by coroutines and by threads."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.thread_event = threading.Event()

    def open(self) -> None:
        self.event.set()
        self.thread_event.set()


entered: defaultdict[str, Gate] = defaultdict(Gate)
released: defaultdict[str, Gate] = defaultdict(Gate)
cancelled: defaultdict[str, Gate] = defaultdict(Gate)


# --- tools that are done at once ------------------------------------------------------


@server.tool
async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@server.tool
def sync_add(a: int, b: int) -> int:
    """Add, in a thread."""
    return a + b


@server.tool
async def mirror(value: Any = None) -> Any:
    """Give back what came."""
    return value


@server.tool
async def steps(*, ctx: Context) -> str:
    """Report progress."""
    for step in range(3):
        await ctx.progress(step, 3)
        await ctx.log("info", step)
        await asyncio.sleep(0)
    return "done"


@server.tool
async def fail() -> str:
    """Fail."""
    raise Expected("as asked")


@server.tool
async def ask(*, ctx: Context) -> str:
    """Ask the client something."""
    return f"{len(await ctx.roots())} roots"


@server.tool
async def give_up() -> str:
    """Be cancelled by nobody else."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)
    return "still here"


# --- tools that wait ------------------------------------------------------------------


@server.tool
async def hold(key: str, *, ctx: Context) -> str:
    """Wait until released."""
    entered[key].open()
    await ctx.progress(1, message="waiting")
    try:
        await released[key].event.wait()
    except asyncio.CancelledError:
        cancelled[key].open()
        raise
    return key


@server.tool
async def flood(key: str, *, ctx: Context) -> str:
    """Report progress, as much as anybody takes, until released."""
    entered[key].open()
    step = 0
    try:
        while not released[key].event.is_set():
            step += 1
            await ctx.progress(step, message="x" * 1000)
    except asyncio.CancelledError:
        cancelled[key].open()
        raise
    return key


@server.tool
def block(key: str) -> str:
    """Wait until released, in a thread."""
    server.lifespan_state.call_soon_threadsafe(entered[key].open)
    released[key].thread_event.wait()
    return key


@server.tool
async def release(key: str) -> str:
    """Let those go on who wait with this key."""
    released[key].open()
    return key


@server.tool
async def wait_entered(key: str) -> str:
    """Wait until somebody waits with this key."""
    await entered[key].event.wait()
    return key


@server.tool
async def wait_cancelled(key: str) -> str:
    """Wait until who waited with this key was cancelled."""
    await cancelled[key].event.wait()
    return key


@server.tool
async def with_child(key: str) -> str:
    """Wait for a child process that only ends when it is told to.

    It holds the file descriptors that the environment names, as a sign that it lives.
    """
    alive = [int(fd) for fd in os.environ.get("FUZZ_ALIVE", "").split()]
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "import time; time.sleep(3600)"), pass_fds=alive
    )
    entered[key].open()
    try:
        await child.wait()
    finally:
        child.kill()
        await child.wait()
    return key


# --- what the process holds -----------------------------------------------------------


@server.tool
async def report() -> dict[str, int]:
    """What is in use, after everything that could be given back was."""
    for gates in (entered, released, cancelled):
        gates.clear()
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    return {
        "tasks": len(asyncio.all_tasks()),
        "threads": threading.active_count(),
        "objects": len(gc.get_objects()),
        "fds": _count("/proc/self/fd"),
        "rss": _resident(),
    }


def _count(directory: str) -> int:
    return len(os.listdir(directory)) if os.path.isdir(directory) else 0


def _resident() -> int:
    if sys.platform != "linux":
        return 0
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# --- resources and prompts ------------------------------------------------------------


@server.resource("test://fixed")
async def fixed() -> str:
    """Always the same."""
    return "fixed"


@server.resource("test://user/{name}")
def user(name: str) -> str:
    """Everybody."""
    return name


@server.prompt
async def greet(who: str) -> str:
    """Say hello."""
    return f"Hello {who}"


@server.completion("greet", "who")
async def whom(value: str) -> list[str]:
    """Who starts like that."""
    return [value + "a"]


def main() -> None:
    """Serve, over what the command line says."""
    handler = logging.StreamHandler()
    handler.addFilter(Quiet())
    logging.basicConfig(handlers=[handler])
    if len(sys.argv) > 1:
        server.run("http", port=int(sys.argv[1]))
    else:
        server.run()


if __name__ == "__main__":
    main()
