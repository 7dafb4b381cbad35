"""What the suite found: its `checks.json` files as one table."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
BAD = ("FAILURE", "WARNING")


@dataclass(frozen=True)
class Outcome:
    """One scenario at one revision."""

    scenario: str
    revision: str
    scored: bool
    checks: list[dict[str, Any]]

    @property
    def counts(self) -> Counter[str]:
        """How many checks ended how."""
        return Counter(check["status"] for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether it counts as passed; a scenario that checked nothing does not.

        The suite forgives warnings. Where it keeps score, nobody else should.
        """
        counts = self.counts
        forgiven = not (self.scored and counts["WARNING"])
        return counts["SUCCESS"] > 0 and not counts["FAILURE"] and forgiven

    def row(self) -> tuple[str, ...]:
        """As a row of the table."""
        counts = self.counts
        numbers = (str(counts[s]) for s in ("SUCCESS", "FAILURE", "WARNING"))
        verdict = "ok" if self.passed else "FAILED"
        note = "" if self.scored else "not scored"
        return (self.scenario, self.revision, *numbers, verdict, note)

    def complaints(self) -> Iterable[str]:
        """One line for each check that did not end well."""
        if not self.checks:
            yield f"{self.scenario} at {self.revision}: nothing was checked"
        for check in self.checks:
            if check["status"] in BAD:
                said = check.get("errorMessage") or check.get("description", "")
                where = f"{self.scenario} at {self.revision}"
                yield f"{where}: {check['status']} {check['id']}: {said}"


def collect(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Scenario → its checks, from a folder that the suite wrote."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(out.glob("*/checks.json")):
        if match := _FOLDER.fullmatch(path.parent.name):
            found[match[1]] = json.loads(path.read_text("utf-8"))
    return found


def table(outcomes: Iterable[Outcome]) -> str:
    """One line for each outcome."""
    head = ("scenario", "revision", "passed", "failed", "warned", "verdict", "")
    rows = [head, *(outcome.row() for outcome in outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (
            cell.rjust(width) if 2 <= n <= 4 else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
