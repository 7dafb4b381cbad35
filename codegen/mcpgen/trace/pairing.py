"""Which request a response answers."""

from __future__ import annotations

from collections import deque
from typing import Literal, NamedTuple

Side = Literal["client", "server"]
MOST = 10_000
"""Ids that wait for an answer; the oldest are forgotten first."""
ALIKE = 100
"""Requests with the same id (over HTTP every client has its own)."""


class Place(NamedTuple):
    """Where something was said; ids of two places may be the same."""

    exchange: int = 0
    session: str = ""


class Asked(NamedTuple):
    """A request that waits for its answer."""

    t: float
    method: str
    place: Place


class Pairing:
    """The requests of both sides that are not answered yet."""

    def __init__(self) -> None:
        self._open: dict[tuple[Side, str | float], deque[Asked]] = {}

    def ask(self, side: Side, id: object, asked: Asked) -> None:
        """A side has sent a request."""
        if isinstance(id, str | int | float):
            key = (side, id)
            if key not in self._open and len(self._open) >= MOST:
                del self._open[next(iter(self._open))]
            self._open.setdefault(key, deque(maxlen=ALIKE)).append(asked)

    def answer(self, side: Side, id: object, place: Place) -> Asked | None:
        """A side has sent a response: to what?"""
        if not isinstance(id, str | int | float):
            return None
        key: tuple[Side, str | float] = ("server" if side == "client" else "client", id)
        if (waiting := self._open.get(key)) is None:
            return None
        best = max(waiting, key=lambda asked: _likeness(asked.place, place))
        waiting.remove(best)
        if not waiting:
            del self._open[key]
        return best


def _likeness(asked: Place, answered: Place) -> tuple[bool, bool]:
    """An answer comes where the question was, or else in the same session."""
    return asked.exchange == answered.exchange, asked.session == answered.session
