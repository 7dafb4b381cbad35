"""The table: what was measured, the ratio, and what the ratio is meant to be."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 70
_HOLDS = {">=": operator.ge, "<=": operator.le, "<": operator.lt}


@dataclass(frozen=True)
class Row:
    """One measurement of ours beside one of a peer's."""

    what: str
    ours: float | None
    peer: float | None
    ratio: float | None
    target: str = ""
    """Such as `>= 8`, about the ratio; empty when the row only informs."""
    unit: str = "s"
    """`s` (seconds) or `B` (bytes)."""

    @property
    def missed(self) -> bool:
        """Was there a target, and was it not reached?"""
        if not self.target or self.ratio is None:
            return False
        sign, number = self.target.split()
        return not _HOLDS[sign](self.ratio, float(number))


def times_faster(what: str, ours: float, peer: float, target: str = "") -> Row:
    """More is better: how many times quicker ours is."""
    return Row(what, ours, peer, peer / ours, target)


def share(
    what: str, ours: float, peer: float, target: str = "", unit: str = "s"
) -> Row:
    """Less is better: what part of the other's time or memory ours takes."""
    return Row(what, ours, peer, ours / peer, target, unit)


def unavailable(what: str, target: str = "") -> Row:
    """A row for what could not be measured."""
    return Row(what, None, None, None, target)


def show(rows: Iterable[Row]) -> None:
    """Print each row when it is there, and in the end how many targets were missed."""
    print(f"{'what':<{WIDTH}}{'ours':>10}{'peer':>10}{'ratio':>8}  target", flush=True)
    seen = []
    for row in rows:
        print(_line(row), flush=True)
        seen.append(row)
    judged = [row for row in seen if row.target and row.ratio is not None]
    missed = sum(row.missed for row in judged)
    print(f"{len(judged) - missed} of {len(judged)} targets reached")


def _line(row: Row) -> str:
    if row.ratio is None:
        return f"{row.what:<{WIDTH}}{'not available':>28}  {row.target}"
    cells = f"{_amount(row.ours, row.unit):>10}{_amount(row.peer, row.unit):>10}"
    mark = "  MISSED" if row.missed else ""
    ratio = f"{row.ratio:.2f}" if row.ratio >= 1 else f"{row.ratio:.3f}"
    return f"{row.what:<{WIDTH}}{cells}{ratio:>8}  {row.target}{mark}"


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "B":
        return f"{value / 1e6:.1f} MB" if value >= 1e6 else f"{value / 1e3:.1f} kB"
    return f"{value * 1e6:.1f} µs" if value < 1e-3 else f"{value * 1e3:.1f} ms"
