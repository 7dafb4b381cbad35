"""A comparison ready to be written: what all formats share, and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .change import GROUPS, SIDES, Change, Group, count

HEADINGS: dict[Group, str] = {group: group.capitalize() for group in GROUPS}
BREAKS = {"both": "both", "server": "servers", "client": "clients", "none": "neither"}
"""How a verdict is called: whom a change breaks."""


@dataclass(frozen=True)
class Report:
    """The changes from one version to another, as far as they were asked for."""

    old: str
    new: str
    changes: tuple[Change, ...]
    scope: str = ""
    """What was left out, for people: `breaking changes only`."""

    def grouped(self) -> Iterator[tuple[Group, list[Change]]]:
        """Every group that has changes, with them."""
        for group in GROUPS:
            found = [change for change in self.changes if change.group == group]
            if found:
                yield group, found


def as_json(report: Report) -> str:
    """For machines. `mcpgen diff --help` describes the shape: keep it stable."""
    content = {
        "from": report.old,
        "to": report.new,
        "summary": summary(report),
        "changes": [_change(change) for change in report.changes],
    }
    return json.dumps(content, indent=2) + "\n"


def summary(report: Report) -> dict[str, int]:
    """How many changes break whom, and how many there are."""
    counted: dict[str, int] = dict(count(report.changes).items())
    return counted | {"total": len(report.changes)}


def _change(change: Change) -> dict[str, Any]:
    return {
        **asdict(change),
        "breaking_for": [side for side in SIDES if side in change.breaking_for],
        "verdict": change.verdict,
        "explanation": change.explanation,
    }


def printable(text: str) -> str:
    """Text from a schema on one line, without anything that a terminal obeys."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def clipped(text: str, limit: int) -> str:
    """At most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
