"""What the suite found: its `checks.json` files as one table."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .suite import Scenario

_FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
BAD = ("FAILURE", "WARNING")
COUNTED = ("SUCCESS", *BAD, "SKIPPED")


@dataclass(frozen=True)
class Outcome:
    """How one scenario ended."""

    scenario: Scenario
    checks: list[dict[str, Any]]
    problem: str = ""
    """What went wrong besides the checks."""

    @property
    def counts(self) -> Counter[str]:
        """How many checks ended how."""
        return Counter(check["status"] for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether it counts as passed; a scenario that checked nothing does not.

        The suite forgives a server's warnings. Where it keeps score, we do not.
        """
        counts = self.counts
        forgiven = not (self.scenario.scored and counts["WARNING"])
        well = counts["SUCCESS"] > 0 and not counts["FAILURE"] and forgiven
        return well and not self.problem

    def row(self) -> tuple[str, ...]:
        """As a row of the table."""
        of, counts = self.scenario, self.counts
        numbers = (str(counts[status]) for status in COUNTED)
        verdict = "ok" if self.passed else "FAILED"
        note = "" if of.scored else "not scored"
        return (of.leg, of.name, of.revision, *numbers, verdict, note)

    def complaints(self) -> Iterable[str]:
        """One line for each thing that did not end well."""
        where = f"{self.scenario.name} at {self.scenario.revision}"
        if not self.counts["SUCCESS"]:
            yield f"{where}: nothing was found to be right"
        if self.problem:
            yield f"{where}: {self.problem}"
        for check in self.checks:
            if check["status"] in BAD:
                said = check.get("errorMessage") or check.get("description", "")
                yield f"{where}: {check['status']} {check['id']}: {said}"


def collect(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Server scenario → its checks, from a folder that the suite wrote."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(out.glob("*/checks.json")):
        if match := _FOLDER.fullmatch(path.parent.name):
            found[match[1]] = json.loads(path.read_text("utf-8"))
    return found


def table(outcomes: Iterable[Outcome]) -> str:
    """One line for each outcome."""
    counted = ("passed", "failed", "warned", "skipped")
    head = ("", "scenario", "revision", *counted, "verdict", "")
    rows = [head, *(outcome.row() for outcome in outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (
            cell.rjust(width) if 3 <= n <= 6 else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def totals(outcomes: Iterable[Outcome]) -> str:
    """How many of those that count have passed, in one line."""
    scored = [outcome for outcome in outcomes if outcome.scenario.scored]
    of: Counter[tuple[str, str]] = Counter()
    passed: Counter[tuple[str, str]] = Counter()
    for outcome in scored:
        key = (outcome.scenario.leg, outcome.scenario.revision)
        of[key] += 1
        passed[key] += outcome.passed
    return ", ".join(
        f"{leg} {passed[leg, revision]}/{number} at {revision}"
        for (leg, revision), number in of.items()
    )
