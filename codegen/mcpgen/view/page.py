"""A recorded session as one HTML page that needs nothing else.

The head is in the page as it is; the diagram is drawn from data by the script, as far as
it is looked at. Frames are in the data as text: what was sent is shown to the digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import json, to_builtins

from ..diagnostics import Severity
from ..html import render
from ..lint.finding import Finding
from ..recording import Entry, Header
from .session import Row, Session, collect
from .timing import PERCENTILES, Latency, Scale, duration, scale

LIMIT: Final = 10_000
"""Entries that are shown when nobody says how many."""
ROOM: Final = 64 * 1024 * 1024
"""Characters of frames that a page may hold; where there are more, each is clipped."""
MARKS: Final = 5_000
"""Findings that a page may hold."""
_UNSAFE: Final = re.compile("[<>&\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")
"""What ends an element, or a line, or turns the text around it."""
_RANKS: Final[tuple[Severity, ...]] = ("error", "warning", "note")


@dataclass(frozen=True)
class Rule:
    """What was found by one rule."""

    id: str
    severity: Severity
    count: int
    example: str


def page(
    header: Header,
    entries: Iterable[tuple[int, Entry]],
    findings: Iterable[Finding] = (),
    limit: int = LIMIT,
) -> str:
    """The page of a recording: pure, and the same for the same recording."""
    found = list(findings)
    session = collect(entries, limit, {finding.line for finding in found})
    bars = scale(session.latencies)
    return render(
        "view",
        header=header,
        session=session,
        started=header.started[:19].replace("T", " "),
        took=duration(session.seconds * 1000),
        latencies=[latency for latency in session.latencies if latency.requests],
        percentiles=PERCENTILES,
        duration=duration,
        number="{:,}".format,
        strip=lambda latency: _strip(latency, bars),
        rules=_rules(found),
        severities={rank: sum(f.severity == rank for f in found) for rank in _RANKS},
        marks=MARKS,
        # In a script nothing is escaped, and nothing needs to be: see `embedded`.
        data=embedded(_data(session, found[:MARKS], bars)),
    )


def embedded(value: Any) -> str:
    """Any value as JSON that cannot end the script element which it stands in."""
    # Outside of strings, JSON has none of these characters.
    text = json.encode(value).decode()
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _data(session: Session, findings: Sequence[Finding], bars: Scale) -> dict[str, Any]:
    """What the script draws from."""
    _fit(session.rows)
    marks: dict[str, list[dict[str, str]]] = {}
    for finding in findings:
        marks.setdefault(str(finding.line), []).append(
            {
                "rule": finding.rule,
                "severity": finding.severity,
                "path": finding.path,
                "message": finding.message,
                "fix": finding.fix,
            }
        )
    return {
        "rows": session.rows,
        "findings": marks,
        "scale": to_builtins(bars),
    }


def _fit(rows: Iterable[Row]) -> None:
    """Clip the longest frames further where all of them would be too much for a page."""
    sizes = [len(row.text) for row in rows]
    most = max(sizes, default=0)
    while sum(min(size, most) for size in sizes) > ROOM:
        most //= 2
    for row in rows:
        if len(row.text) > most:
            row.size = row.size or len(row.text)
            row.text = row.text[:most]


def _rules(findings: Iterable[Finding]) -> list[Rule]:
    """The worst first, then those with the most findings."""
    found: dict[tuple[str, Severity], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.rule, finding.severity), []).append(finding)
    rules = [
        Rule(id, severity, len(of_it), of_it[0].message)
        for (id, severity), of_it in found.items()
    ]
    return sorted(rules, key=lambda r: (_RANKS.index(r.severity), -r.count, r.id))


def _strip(latency: Latency, bars: Scale) -> dict[str, str]:
    """Where the figures of a method are drawn, in percent of the strip."""
    p50, p90, p99, most = (bars.at(ms) for ms in latency.milliseconds)
    return {
        "p50": f"{p50}%",
        "p90": f"{p90}%",
        "p99": f"{p99}%",
        "most": f"{most}%",
        "width": f"{max(round(p90 - p50, 1), 0.5)}%",
    }
