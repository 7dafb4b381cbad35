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
        found["per_call"] = await _one_at_a_time(call, seconds)
    if many:
        before = _memory()
        await asyncio.gather(*(call() for _ in range(many)))
        after = _memory()
        for _ in range(9):
            await asyncio.gather(*(call() for _ in range(many)))
        found["growth_at_first"] = after - before
        found["growth_later"] = _memory() - after
    print(json.dumps(found))


async def _one_at_a_time(call: Callable[[], Awaitable[None]], seconds: float) -> float:
    start = time.perf_counter()
    end = start + seconds
    calls = 0
    while time.perf_counter() < end:
        for _ in range(10):
            await call()
        calls += 10
    return (time.perf_counter() - start) / calls


def _memory() -> int:
    """The most that this process ever used, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
