"""What a comparison gives: changes, how to narrow them, and how to count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..ir import Side
from .rules import RULES, Effect

Sides: TypeAlias = frozenset[Side]
Group: TypeAlias = Literal[
    "protocol", "methods", "definitions", "capabilities", "errors", "traits"
]
Verdict: TypeAlias = Literal["both", "server", "client", "none"]

SIDES: Final[tuple[Side, ...]] = ("client", "server")
BOTH: Final[Sides] = frozenset(SIDES)
NOBODY: Final[Sides] = frozenset()
_OTHER: Final[dict[Side, Side]] = {"client": "server", "server": "client"}
GROUPS: Final[tuple[Group, ...]] = (
    *("protocol", "methods", "definitions"),
    *("capabilities", "errors", "traits"),
)
VERDICTS: Final[tuple[Verdict, ...]] = ("both", "server", "client", "none")


@dataclass(frozen=True)
class Change:
    """One difference: which rule, where, and whom it breaks."""

    rule: str
    group: Group
    subject: str
    """The method, definition, capability, error or trait that it belongs to."""
    place: str
    """Where exactly: `ListToolsResult.ttlMs`, `tools/call`."""
    before: str = ""
    after: str = ""
    breaking_for: tuple[Side, ...] = ()
    hint: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whom it breaks, in one word."""
        if not self.breaking_for:
            return "none"
        return "both" if len(self.breaking_for) > 1 else self.breaking_for[0]

    @property
    def explanation(self) -> str:
        """What the rule says."""
        return RULES[self.rule].says


def make(
    rule: str,
    group: Group,
    place: str,
    before: str = "",
    after: str = "",
    breaks: Sides = NOBODY,
    *,
    subject: str = "",
    hint: str = "",
) -> Change:
    """A change, whose subject is its place unless told."""
    ordered = tuple(side for side in SIDES if side in breaks)
    return Change(rule, group, subject or place, place, before, after, ordered, hint)


def others(sides: Iterable[Side]) -> Sides:
    """Who is at the other end."""
    return frozenset(_OTHER[side] for side in sides)


def verdict(effect: Effect, writers: Sides) -> Sides:
    """Whom a change of the allowed values breaks, by who writes them."""
    match effect:
        case "narrows":
            return writers
        case "widens":
            return others(writers)
        case "changes":
            return writers | others(writers)
    return NOBODY


def narrow(
    changes: Iterable[Change], *, breaking: bool = False, side: Side | None = None
) -> tuple[Change, ...]:
    """Only what is breaking; only what matters for a side.

    A change that breaks only the other side does not matter for this one.
    """
    return tuple(
        change
        for change in changes
        if (side is None or change.breaking_for in ((), SIDES, (side,)))
        and (change.breaking_for or not breaking)
    )


def count(changes: Iterable[Change]) -> dict[Verdict, int]:
    """How many changes there are of each verdict."""
    found = Counter(change.verdict for change in changes)
    return {verdict: found[verdict] for verdict in VERDICTS}
