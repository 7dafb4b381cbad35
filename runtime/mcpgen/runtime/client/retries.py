"""When to try again: failures that pass, and requests that may be sent twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..errors import ConnectionClosed, HttpError

T = TypeVar("T")

ATTEMPTS = 5
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
OVERLOADED = (429, 503)
"""The server did not even begin."""
GATEWAY = (502, 503, 504)
"""Something between us and the server failed; it may have begun."""


async def keep_trying(
    work: Callable[[], Awaitable[T]], seconds: float, *, safe: bool = True
) -> T:
    """Do it, again after a pause where that helps, for so long at most.

    `safe`: it may be done twice. If not, only what certainly was not begun is repeated.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    attempt = 0
    while True:
        try:
            return await work()
        except (HttpError, ConnectionClosed) as problem:
            attempt += 1
            pause = _pause(problem, attempt, safe)
            if pause is None or loop.time() + pause > end:
                raise
        await asyncio.sleep(pause)


def _pause(problem: Exception, attempt: int, safe: bool) -> float | None:
    """Seconds to wait before another attempt; None: there should be none."""
    if attempt >= ATTEMPTS:
        return None
    pause = FIRST_PAUSE * 2.0**attempt * random.uniform(0.5, 1.0)
    if isinstance(problem, HttpError):
        told = problem.retry_after
        if problem.status in OVERLOADED and (told is not None or safe):
            return pause if told is None else max(pause, min(told, LONGEST_PAUSE))
        return pause if safe and problem.status in GATEWAY else None
    sent: bool | None = getattr(problem, "sent", None)
    return pause if sent is False or (sent and safe) else None
