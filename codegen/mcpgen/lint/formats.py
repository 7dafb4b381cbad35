"""Findings as text, JSON, and annotations of GitHub: written as they are found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Final

from ..diagnostics import escape_annotation, escape_property
from ..diff.report import clipped, printable
from .finding import Finding
from .rules import RULES

Paint = Callable[[str, str], str]
"""Colours a text, if there are colours: (text, severity)."""

WIDTH: Final = 160
PLURALS: Final = {"error": "errors", "warning": "warnings", "note": "notes"}
_LEVELS: Final = {"error": "error", "warning": "warning", "note": "notice"}


def line(text: str, limit: int = WIDTH) -> str:
    """Text on one line, without anything that a terminal obeys, or GitHub."""
    shown = clipped(printable(text[: 10 * limit]), limit).replace("##[", "##\\x5b")
    if shown.lstrip().startswith("::"):
        shown = shown.replace("::", "\\x3a:", 1)
    return shown


def as_text(
    findings: Iterable[Finding],
    file: str,
    excerpt: Callable[[int], str],
    paint: Paint,
) -> Iterator[str]:
    """For people: where, what, the frame, and what to do."""
    counted: Counter[str] = Counter()
    for found in findings:
        counted[found.severity] += 1
        head = paint(f"{found.severity}[{found.rule}]", found.severity)
        path = "" if found.path == "$" else f" {line(found.path)}"
        yield f"{line(file)}:{found.line}: {head}{path}\n  {line(found.message, 500)}\n"
        if shown := excerpt(found.line):
            yield f"  {paint('| ' + line(shown), 'dim')}\n"
        if found.fix:
            yield f"  fix: {line(found.fix, 1000)}\n"
    yield f"{summary(counted)}\n"


def summary(counted: Counter[str]) -> str:
    """`2 errors, 1 note`."""
    parts = [
        f"{n} {severity if n == 1 else PLURALS[severity]}"
        for severity in PLURALS
        if (n := counted[severity])
    ]
    return ", ".join(parts) or "nothing found"


def as_json(findings: Iterable[Finding]) -> Iterator[str]:
    """For machines: {findings: […], rules: {id: why}, summary: {error, warning, note}}."""
    counted: Counter[str] = Counter()
    whys: dict[str, str] = {}
    yield '{"findings": ['
    for index, found in enumerate(findings):
        counted[found.severity] += 1
        whys[found.rule] = RULES[found.rule].why
        yield ("," if index else "") + "\n  " + json.dumps(asdict(found))
    totals = {severity: counted[severity] for severity in PLURALS}
    yield f'\n], "rules": {json.dumps(whys)}, "summary": {json.dumps(totals)}}}\n'


def as_github(findings: Iterable[Finding], file: str) -> Iterator[str]:
    """For GitHub Actions: workflow commands that annotate the file."""
    for found in findings:
        text = f"{found.path} {found.message}"
        if found.fix:
            text += f" ({found.fix})"
        yield (
            f"::{_LEVELS[found.severity]} file={escape_property(file)},"
            f"line={found.line},title={escape_property(found.rule)}"
            f"::{escape_annotation(text)}\n"
        )
