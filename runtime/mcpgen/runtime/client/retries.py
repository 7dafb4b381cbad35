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


class Patience:
    """How often one thing is tried, and for how long.

    `safe`: it may be done twice. If not, only what certainly was not begun is repeated.
    """

    def __init__(self, seconds: float, *, safe: bool = True) -> None:
        self.safe = safe
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + seconds
        self._attempts = 0
        self._reopened = False

    async def after(self, problem: HttpError | ConnectionClosed) -> None:
        """Wait before the next attempt; raises the problem if there should be none."""
        self._attempts += 1
        pause = self._pause(problem)
        if problem.begun or self._attempts >= ATTEMPTS:
            pause = None
        if pause is None or self._loop.time() + pause > self._end:
            raise problem
        await asyncio.sleep(pause)

    def reopen(self, problem: Exception) -> None:
        """A new session may help, but not again and again."""
        if self._reopened:
            raise problem
        self._reopened = True

    def _pause(self, problem: Exception) -> float | None:
        pause = FIRST_PAUSE * 2.0**self._attempts * random.uniform(0.5, 1.0)
        if isinstance(problem, HttpError):
            told = problem.retry_after
            if problem.status in OVERLOADED and (told is not None or self.safe):
                return pause if told is None else max(pause, min(told, LONGEST_PAUSE))
            return pause if self.safe and problem.status in GATEWAY else None
        sent: bool | None = getattr(problem, "sent", None)
        return pause if sent is False or (sent and self.safe) else None


async def keep_trying(work: Callable[[], Awaitable[T]], seconds: float) -> T:
    """Do what may be done twice, again after a pause where that helps."""
    patience = Patience(seconds)
    while True:
        try:
            return await work()
        except (HttpError, ConnectionClosed) as problem:
            await patience.after(problem)
