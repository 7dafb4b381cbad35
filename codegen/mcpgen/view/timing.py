"""How long answers took: percentiles per method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, log10

from ..lint.words import LISTEN
from ..recording import Source

PERCENTILES = (50, 90, 99)


@dataclass(frozen=True)
class Latency:
    """The requests of one method, by one side."""

    method: str
    source: Source
    """Who asked."""
    requests: int
    answers: int
    errors: int
    """Answers that say that it failed."""
    milliseconds: tuple[float, ...] = ()
    """Of the answers: the percentiles, then the longest. Empty without any."""

    @property
    def unanswered(self) -> int:
        """Requests that nobody answered before the recording ended.

        A subscription lasts until one side has enough of it: it need not be answered.
        """
        return 0 if self.method == LISTEN else max(self.requests - self.answers, 0)


@dataclass
class Tally:
    """What is counted of one method while a recording is read."""

    requests: int = 0
    answers: int = 0
    errors: int = 0
    milliseconds: list[float] = field(default_factory=list)

    def latency(self, method: str, source: Source) -> Latency:
        """The sum of it."""
        took = sorted(self.milliseconds)
        figures = [percentile(took, p) for p in PERCENTILES] + took[-1:] if took else []
        return Latency(
            method, source, self.requests, self.answers, self.errors, tuple(figures)
        )


def percentile(ordered: Sequence[float], percent: int) -> float:
    """The smallest value that `percent` of all do not exceed (the nearest rank)."""
    return ordered[max(ceil(len(ordered) * percent / 100) - 1, 0)]


@dataclass(frozen=True)
class Scale:
    """Milliseconds → percent of a bar. Logarithmic: 1 ms and 1 s are both to be seen."""

    least: float
    most: float

    def at(self, ms: float) -> float:
        """Where a duration is, from 0 to 100."""
        low, high = log10(self.least), log10(self.most)
        place = (log10(max(ms, self.least)) - low) / (high - low)
        return round(min(place, 1) * 100, 1)


def scale(latencies: Iterable[Latency]) -> Scale:
    """From the power of ten below the shortest median to the one above the longest."""
    figures = [f for latency in latencies for f in latency.milliseconds if f > 0]
    least = 10.0 ** (ceil(log10(min(figures, default=1))) - 1)
    most = 10.0 ** ceil(log10(max(figures, default=1)))
    return Scale(least, max(most, least * 10))


def duration(ms: float) -> str:
    """For people: three digits say enough."""
    if ms < 1000:
        return f"{ms:.{0 if ms >= 100 else 1 if ms >= 10 else 2}f} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
