"""How long requests may take: one timer of the loop for all that are under way.

Nearly all are answered in time. A timer for each would be made, filed and thrown away for
nothing, and that costs more than sending the request does.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, Self

TOLERANCE = 0.001
"""A timer of the loop may ring so much early."""


class Limit(Protocol):
    """An end that can be moved: a `Deadline`, or a timeout of asyncio's."""

    def when(self) -> float | None:
        """The end on the loop's clock; None when there is none."""

    def reschedule(self, when: float | None) -> None:
        """Move the end."""


class Clock:
    """The deadlines of one session."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._running: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        """Rings at the first of the ends, or before it: ends may have been moved."""

    def deadline(self, seconds: float) -> Deadline:
        """One that begins to count now."""
        return Deadline(self, self._loop.time() + seconds)

    def add(self, deadline: Deadline) -> None:
        """Watch it."""
        self._running.add(deadline)
        self.expect(deadline.when())

    def remove(self, deadline: Deadline) -> None:
        """It is no longer of interest; the timer may ring in vain."""
        self._running.discard(deadline)

    def expect(self, when: float | None) -> None:
        """See to it that the timer rings by then."""
        if when is None or (self._timer and self._timer.when() <= when):
            return
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._loop.time() + TOLERANCE
        ends = [(end, d) for d in self._running if (end := d.when()) is not None]
        for end, deadline in ends:
            if end <= now:
                deadline.expire()
        self.expect(min((end for end, _ in ends if end > now), default=None))


class Deadline:
    """Ends what is done inside of it (`with`): there, TimeoutError is raised."""

    __slots__ = ("_before", "_clock", "_expired", "_task", "_when")

    def __init__(self, clock: Clock, when: float) -> None:
        self._clock = clock
        self._when: float | None = when
        self._task: asyncio.Task[object] | None = None
        self._before = 0
        self._expired = False

    def when(self) -> float | None:
        """The end on the loop's clock."""
        return self._when

    def reschedule(self, when: float | None) -> None:
        """Move the end, unless it has come; None: there is none for now."""
        if not self._expired:
            self._when = when
            self._clock.expect(when)

    def expire(self) -> None:
        """The end has come."""
        self._expired = True
        self._clock.remove(self)
        if self._task is not None:
            self._task.cancel()

    def __enter__(self) -> Self:
        self._task = task = asyncio.current_task()
        assert task is not None
        self._before = task.cancelling()
        self._clock.add(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        task, self._task = self._task, None
        self._clock.remove(self)
        if not self._expired or task is None:
            return
        # Somebody else may have cancelled the task, too: then that counts.
        ours = task.uncancel() <= self._before
        if ours and kind is asyncio.CancelledError:
            raise TimeoutError
