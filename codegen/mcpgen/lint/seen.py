"""Which ids there were, of however many, in little memory."""

from __future__ import annotations

from bisect import bisect_right
from hashlib import blake2b
from typing import Final, TypeAlias

Id: TypeAlias = str | int

LIMIT: Final = 10_000
"""That many ranges of integers, and that many strings, are remembered; then the oldest
are forgotten. Counting clients need one range.
"""
LENGTH: Final = 200
"""Longer strings are remembered by their digest."""


def compact(id: str) -> str:
    """The same string, or what stands for it: ids of a megabyte are not kept."""
    return id if len(id) <= LENGTH else "#" + blake2b(id.encode()).hexdigest()


def usable(id: object) -> Id | None:
    """By what an id or a token is remembered; None for what can be neither."""
    if type(id) is int:
        return id
    return compact(id) if isinstance(id, str) else None


class Seen:
    """A set of ids that only grows: integers are kept as ranges."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        """Of each range, without the end itself; both ascend."""
        self._words: dict[str, None] = {}

    def __contains__(self, id: Id) -> bool:
        if isinstance(id, str):
            return compact(id) in self._words
        at = bisect_right(self._starts, id) - 1
        return at >= 0 and id < self._ends[at]

    def add(self, id: Id) -> None:
        """Remember one more."""
        if isinstance(id, str):
            self._words[compact(id)] = None
            if len(self._words) > LIMIT:
                del self._words[next(iter(self._words))]
            return
        starts, ends = self._starts, self._ends
        if ends and ends[-1] == id:  # the next one, of a client that counts
            ends[-1] = id + 1
            return
        at = bisect_right(starts, id)
        if at and id < ends[at - 1]:
            return
        joins_left = at > 0 and ends[at - 1] == id
        joins_right = at < len(starts) and starts[at] == id + 1
        if joins_left and joins_right:
            ends[at - 1] = ends[at]
            del starts[at], ends[at]
        elif joins_left:
            ends[at - 1] = id + 1
        elif joins_right:
            starts[at] = id
        else:
            starts.insert(at, id)
            ends.insert(at, id + 1)
            if len(starts) > LIMIT:
                del starts[0], ends[0]
