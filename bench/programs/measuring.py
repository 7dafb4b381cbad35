"""What both clients do once they are connected; needs nothing that either brings."""

import asyncio
import json
import resource
import time
from collections.abc import Awaitable, Callable


async def figures(
    call: Callable[[], Awaitable[None]], seconds: float, many: int
) -> None:
    """One call; then calls for so long; then so many at once; printed as JSON."""
    await call()
    found = {}
    if seconds:
        found["per_call"], found["cpu_per_call"] = await _one_at_a_time(call, seconds)
    if many:
        before = _memory()
        await asyncio.gather(*(call() for _ in range(many)))
        after = _memory()
        for _ in range(9):
            await asyncio.gather(*(call() for _ in range(many)))
        found["growth_at_first"] = after - before
        found["growth_later"] = _memory() - after
    print(json.dumps(found))


async def _one_at_a_time(
    call: Callable[[], Awaitable[None]], seconds: float
) -> tuple[float, float]:
    """What a call takes: in all, and of that this process with its threads."""
    start, busy = time.perf_counter(), time.process_time()
    end = start + seconds
    calls = 0
    while time.perf_counter() < end:
        for _ in range(10):
            await call()
        calls += 10
    busy, total = time.process_time() - busy, time.perf_counter() - start
    return total / calls, busy / calls


def _memory() -> int:
    """The most that this process ever used, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
