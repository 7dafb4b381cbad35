"""A comparison as Markdown: for a pull request, a changelog, a wiki.

Names and types come from a schema, which may be anybody's: they are code, in which
nothing is a link, a mention or a tag.
"""

from __future__ import annotations

import re
from html import escape

from .change import VERDICTS, Change
from .report import BREAKS, HEADINGS, Report, printable, summary

_PLAIN_CODE = re.compile(r"[^`|\\<>&]+")
_MARKS = re.compile(r"[\\`*_\[\]|~$@#!:]")


def as_markdown(report: Report) -> str:
    """A summary, a table per group, and what the rules mean."""
    counted = summary(report)
    lines = [
        f"# {words(report.old)} → {words(report.new)}",
        "",
        *([words(report.scope.capitalize()) + ".", ""] if report.scope else []),
        "| breaking for | changes |",
        "| --- | ---: |",
        *(f"| {BREAKS[verdict]} | {counted[verdict]} |" for verdict in VERDICTS),
        f"| **all** | **{counted['total']}** |",
    ]
    for group, changes in report.grouped():
        lines += [
            "",
            f"## {HEADINGS[group]}",
            "",
            "| breaks | where | before | after | rule |",
            "| --- | --- | --- | --- | --- |",
            *(_row(change) for change in changes),
        ]
    rules = {change.rule: change.explanation for change in report.changes}
    if rules:
        lines += ["", "## Rules", ""]
        lines += [f"- `{rule}`: {words(says)}" for rule, says in rules.items()]
    return "\n".join(lines) + "\n"


def _row(change: Change) -> str:
    who = BREAKS[change.verdict] if change.breaking_for else ""
    after = code(change.after)
    if change.hint:
        after = f"{after} {words(change.hint)}".lstrip()
    cells = (who, code(change.place), code(change.before), after, f"`{change.rule}`")
    return f"| {' | '.join(cells)} |"


def code(text: str) -> str:
    """Text as code in a line or a cell of a table, whatever it holds."""
    shown = printable(text)
    if not shown.strip():
        return ""
    if _PLAIN_CODE.fullmatch(shown):
        return f"`{shown}`"
    # Inside backticks a bar or a backtick cannot be escaped reliably.
    return f"<code>{words(shown)}</code>"


def words(text: str) -> str:
    """Text in which no character means anything to Markdown or HTML."""
    shown = escape(printable(text), quote=False)
    # Entities first made by `escape` hold none of the marks but `#`, which it omits.
    return _MARKS.sub(lambda mark: f"&#{ord(mark[0])};", shown)
