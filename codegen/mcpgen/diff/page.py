"""A comparison as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..html import render
from ..ir import Protocol
from .change import VERDICTS, Change, Verdict, count
from .history import matrix
from .report import BREAKS, HEADINGS, Report, summary

_TOLD_BY_SUBJECT = ("methods", "definitions")
_COME_AND_GONE = ("DEFINITION_ADDED", "DEFINITION_REMOVED")


@dataclass(frozen=True)
class Card:
    """What is folded together: a method, a definition, or one rule's changes."""

    title: str
    changes: tuple[Change, ...]

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many of its changes have which verdict."""
        return {v: n for v, n in count(self.changes).items() if n}


def as_html(report: Report, protocols: Sequence[Protocol]) -> str:
    """The page; `protocols` are the columns of the matrix, oldest first."""
    return render(
        "diff",
        report=report,
        summary=summary(report),
        breaks=BREAKS,
        verdicts=VERDICTS,
        groups=[
            (HEADINGS[group], len(changes), list(_cards(group, changes)))
            for group, changes in report.grouped()
        ],
        versions=[protocol.version for protocol in protocols],
        matrix=matrix(protocols),
    )


def _cards(group: str, changes: Sequence[Change]) -> Iterator[Card]:
    """By subject, the breaking ones first; what comes in numbers, by its rule."""
    found: dict[str, list[Change]] = {}
    for change in changes:
        by_subject = group in _TOLD_BY_SUBJECT and change.rule not in _COME_AND_GONE
        found.setdefault(change.subject if by_subject else change.rule, []).append(
            change
        )
    by_weight = sorted(
        found.items(),
        key=lambda item: (
            item[1][0].rule in _COME_AND_GONE,
            not any(change.breaking_for for change in item[1]),
        ),
    )
    for title, members in by_weight:
        yield Card(title, tuple(members))
