"""Deadlines share one timer, and end what asyncio's own timeouts would end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from mcpgen.runtime.client.deadlines import Clock

LONG = 60.0


def run(main: Coroutine[Any, Any, None]) -> None:
    async def guarded() -> None:
        async with asyncio.timeout(5):
            await main

    asyncio.run(guarded())


async def forever() -> None:
    await asyncio.Event().wait()


async def some_turns() -> None:
    """After these a timer that is due has rung."""
    for _ in range(3):
        await asyncio.sleep(0)


def test_what_takes_too_long_is_ended() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError), Clock().deadline(0):
            await forever()
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()

    run(main())


def test_each_ends_at_its_own_time() -> None:
    async def main() -> None:
        clock, ended = Clock(), []

        async def wait(seconds: float) -> None:
            with pytest.raises(TimeoutError), clock.deadline(seconds):
                await forever()
            ended.append(seconds)

        stays = asyncio.ensure_future(wait(LONG))
        await asyncio.gather(*map(wait, (0.02, 0.0, 0.01)))
        assert ended == [0.0, 0.01, 0.02]
        assert not stays.done()
        stays.cancel()

    run(main())


def test_one_timer_serves_many() -> None:
    async def main() -> None:
        loop, clock = asyncio.get_running_loop(), Clock()
        timers = []
        real = loop.call_at

        def call_at(*arguments: Any, **options: Any) -> asyncio.TimerHandle:
            timers.append(arguments[0])
            return real(*arguments, **options)

        loop.call_at = call_at  # type: ignore[method-assign]
        for _ in range(100):
            with clock.deadline(LONG):
                await asyncio.sleep(0)
        assert len(timers) == 1

    run(main())


def test_an_end_can_be_moved() -> None:
    async def main() -> None:
        clock = Clock()
        with clock.deadline(0.0) as deadline:
            deadline.reschedule(None)
            assert deadline.when() is None
            await some_turns()
            deadline.reschedule(asyncio.get_running_loop().time() + LONG)
            await some_turns()

        async def hurried() -> None:
            with clock.deadline(LONG) as deadline:
                deadline.reschedule(0.0)
                await forever()

        with pytest.raises(TimeoutError):
            await hurried()

    run(main())


def test_after_the_end_it_cannot() -> None:
    async def main() -> None:
        async def late() -> None:
            with Clock().deadline(0.0) as deadline:
                try:
                    await forever()
                finally:
                    deadline.reschedule(asyncio.get_running_loop().time() + LONG)

        with pytest.raises(TimeoutError):
            await late()

    run(main())


def test_who_cancels_the_task_is_not_mistaken_for_the_clock() -> None:
    async def main() -> None:
        entered = asyncio.Event()

        async def work() -> None:
            with Clock().deadline(LONG):
                entered.set()
                await forever()

        task = asyncio.ensure_future(work())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_both_at_once_count_as_cancelled() -> None:
    async def main() -> None:
        async def work() -> None:
            with Clock().deadline(LONG) as deadline:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                deadline.expire()
                await forever()

        with pytest.raises(asyncio.CancelledError):
            await asyncio.ensure_future(work())

    run(main())


def test_what_fails_by_itself_fails_as_it_would() -> None:
    async def main() -> None:
        async def fails() -> None:
            with Clock().deadline(0.0):
                try:
                    await forever()
                except asyncio.CancelledError:
                    raise KeyError from None

        with pytest.raises(KeyError):
            await fails()

    run(main())
