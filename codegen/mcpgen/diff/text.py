"""A comparison as coloured tables for a terminal, and as plain lines for a pipe."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from .change import VERDICTS, Change
from .report import BREAKS, HEADINGS, Report, clipped, printable, summary

if TYPE_CHECKING:
    from typing import IO

    from rich.console import Console
    from rich.text import Text

_STYLES: Final = {"both": "red", "server": "magenta", "client": "blue", "none": "dim"}
_CLIP: Final = 100
"""Per line in a pipe, where nothing is wrapped; json holds every character."""


def as_text(report: Report, file: IO[str]) -> str:
    """For people: the counts, then a table per group, its rows under their rule.

    Coloured and wrapped if `file` is a terminal; otherwise a line per change.
    """
    # Imported here: the other formats must not wait for it.
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(
            file=file, width=_longest(report), color_system=None, force_terminal=False
        )
    with console.capture() as captured:
        scope = f", {report.scope}" if report.scope else ""
        console.print(
            Text(f"{printable(report.old)} → {printable(report.new)}{scope}", "bold")
        )
        console.print(_counts(report))
        for group, changes in report.grouped():
            console.print()
            console.print(Text(f"{HEADINGS[group]} ({len(changes)})", "bold underline"))
            for rule, rows in groupby(changes, key=lambda change: change.rule):
                _rule(console, rule, list(rows), changes)
    text = captured.get()
    if console.is_terminal:
        return text
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _counts(report: Report) -> Text:
    from rich.text import Text

    counted = summary(report)
    line = Text(f"{counted['total']} changes: breaking for ")
    for number, verdict in enumerate(VERDICTS):
        line.append(", " if number else "")
        line.append(f"{BREAKS[verdict]} {counted[verdict]}", _STYLES[verdict])
    return line


def _rule(console: Console, rule: str, rows: list[Change], group: list[Change]) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console.print()
    console.print(Text.assemble((rule, "bold"), "  ", (rows[0].explanation, "dim")))
    table = Table.grid(padding=(0, 2, 0, 0))
    # The same widths for the whole group, so that its columns are in line.
    place = max(len(printable(change.place)) for change in group)
    wide = min(place, console.width // 2) if console.is_terminal else place
    table.add_column(width=max(map(len, BREAKS.values())))
    table.add_column(width=wide, overflow="fold")
    table.add_column(overflow="fold")
    for change in rows:
        what = _what(change)
        if not console.is_terminal:
            what = Text(clipped(what.plain, _CLIP))
        table.add_row(
            Text(BREAKS[change.verdict], _STYLES[change.verdict]),
            printable(change.place),
            what,
        )
    console.print(Padding(table, (0, 0, 0, 2)))


def _what(change: Change) -> Text:
    from rich.text import Text

    text = Text()
    if change.before:
        text.append(printable(change.before), "red" if not change.after else "")
        text.append(" → " if change.after else " → gone")
    if change.after:
        text.append("" if change.before else "+ ")
        text.append(printable(change.after), "green" if not change.before else "")
    if change.hint:
        text.append(f"; {printable(change.hint)}", "italic")
    return text


def _longest(report: Report) -> int:
    """A width in which no line is wrapped."""
    places = [len(printable(change.place)) for change in report.changes]
    says = [len(change.rule + change.explanation) for change in report.changes]
    return 80 + max([_CLIP, *says]) + max(places, default=0)
