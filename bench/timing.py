"""Taking turns: the machine may be shared, so only what ran side by side compares."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def clock(work: Callable[[], object]) -> float:
    """Seconds that the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def take_turns(
    ours: Callable[[], T], theirs: Callable[[], T], rounds: int
) -> tuple[list[T], list[T]]:
    """What both give in every round, after one warm-up of each."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def in_turns(
    ours: Callable[[], float], theirs: Callable[[], float], rounds: int
) -> tuple[float, float]:
    """The medians of two measurements."""
    mine, peer = take_turns(ours, theirs, rounds)
    return statistics.median(mine), statistics.median(peer)


def interleave(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Median seconds of two pieces of work."""
    return in_turns(lambda: clock(ours), lambda: clock(theirs), rounds)
