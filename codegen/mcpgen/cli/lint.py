"""`mcpgen lint`: what is wrong in a recorded session.

The rules, and the protocol that they look at, are imported when it runs.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from ..diagnostics import CompileError, clip, did_you_mean, fail
from .common import Format, opened, reporting, spoken_here
from .table import table

if TYPE_CHECKING:
    from ..lint import Finding
    from ..lint.rule import Rule
    from ..lint.versions import Versions
    from ..recording import Entry, Header

EXCERPTS = 2_000
"""The beginnings of so many lines are kept, to be shown beside findings."""
COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


class Layout(str, Enum):
    """How findings are written."""

    text = "text"
    json = "json"
    github = "github"
    sarif = "sarif"


class Level(str, Enum):
    """How bad is a finding?"""

    error = "error"
    warning = "warning"
    note = "note"


def lint(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A recording, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            "--version",
            metavar="VERSION",
            help="FILE holds messages of this version, not a recording.",
        ),
    ] = None,
    format: Annotated[
        Layout, typer.Option("--format", help="How the findings are written.")
    ] = Layout.text,
    fail_on: Annotated[
        Level, typer.Option("--fail-on", help="Exit 1 for findings of this level on.")
    ] = Level.error,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="RULE", help="Leave a rule out. Repeatable."),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="RULE", help="Tell all about a rule."),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List all rules.")] = False,
) -> None:
    """Check a recorded session against the schema and the rules of the protocol.

    The version is the one that the session agrees on, or that its messages name. Each
    message is checked with the validators of that version, the session as a whole with
    the rules of docs/lint.md, and error responses are explained.

    With --version, FILE holds messages without a session: one JSON value a line, or one
    in all. Then only what a message says itself is checked.

    \b
    Examples:
        mcpgen lint session.jsonl
        mcpgen lint session.jsonl --format sarif --fail-on warning > lint.sarif
        mcpgen lint --version VERSION message.json
        mcpgen lint --version VERSION - < messages.jsonl
        mcpgen lint session.jsonl --ignore unanswered
        mcpgen lint --explain id-reused
        mcpgen lint --rules

    \b
    Exit status:
        0  nothing that --fail-on names
        1  findings
        2  an error: the file cannot be read to its end, no such rule
    """
    style = Format.text if format is Layout.sarif else Format(format.value)
    with reporting(style):
        if explain is not None:
            typer.echo(_explained(_rule(explain)))
            return
        if rules:
            typer.echo(_listed())
            return
        if file is None:
            raise fail(
                "file-missing",
                "there is nothing to check",
                hint="give a recording, - for standard input, --explain or --rules",
            )
        ignored = {_rule(name).id for name in ignore or ()}
        if _check(file, version, format, fail_on, ignored):
            raise typer.Exit(1)


def _check(
    file: str, version: str | None, layout: Layout, fail_on: Level, ignored: set[str]
) -> bool:
    """Write the findings; is one of them as bad as `fail_on`?"""
    from ..lint import lint
    from ..lint.formats import as_github, as_json, as_text
    from ..lint.sarif import as_sarif

    bad = set(list(Level)[: list(Level).index(fail_on) + 1])
    shown = "stdin" if file == "-" else Path(file).name
    failed = False
    with _opened(file) as stream:
        versions = spoken_here()
        header, entries = _read(stream, shown, version, versions)
        reader = Reader(entries)

        def findings() -> Iterator[Finding]:
            nonlocal failed
            for found in lint(header, reader, version=version, versions=versions):
                if found.rule not in ignored:
                    failed = failed or found.severity in bad
                    yield found

        place = PurePath(shown if file == "-" else _relative(file))
        writers: dict[Layout, Callable[[], Iterable[str]]] = {
            Layout.text: lambda: as_text(
                findings(), str(place), reader.excerpt, _painter()
            ),
            Layout.json: lambda: as_json(findings()),
            Layout.github: lambda: as_github(findings(), place.as_posix()),
            Layout.sarif: lambda: as_sarif(findings(), place),
        }
        for chunk in writers[layout]():
            typer.echo(chunk, nl=False, color=True)  # coloured only where it shows
    if reader.damage is not None:
        raise reader.damage
    return failed


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    with opened(file) as stream:
        yield stream


def _read(
    stream: BinaryIO, shown: str, version: str | None, versions: Versions
) -> tuple[Header, Iterator[tuple[int, Entry]]]:
    from .. import recording
    from ..lint import bare

    if version is None:
        try:
            return recording.read(stream, shown)
        except CompileError as error:
            (found,) = error.diagnostics
            if found.code != "not-a-recording":
                raise
            hint = f"{found.hint}; or say which --version its messages are of"
            raise fail(found.code, found.message, file=shown, hint=hint) from None
    if (spoken := versions.known(version)) is None:
        near = did_you_mean(version, versions.names)
        raise fail(
            "version-unknown",
            f'there is no version "{clip(version, 40)}"',
            hint=f"{near or 'known are ' + ', '.join(versions.names)} "
            "(a project gets one more with: mcpgen schema add)",
        )
    return bare.read(stream, shown, spoken)


def _relative(file: str) -> str:
    """The path from here, if the file is below."""
    path = Path(file).resolve()
    here = Path.cwd().resolve()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


class Reader:
    """Passes entries on, and keeps the beginnings of the last ones to be shown."""

    def __init__(self, entries: Iterator[tuple[int, Entry]]) -> None:
        self._entries = entries
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self.damage: CompileError | None = None
        """Why the rest could not be read."""

    def __iter__(self) -> Iterator[tuple[int, Entry]]:
        return self

    def __next__(self) -> tuple[int, Entry]:
        try:
            line, entry = next(self._entries)
        except CompileError as error:
            self.damage = error
            raise StopIteration from None
        kept = self._kept
        kept[line] = _beginning(entry)
        if len(kept) > EXCERPTS:
            kept.popitem(last=False)
        return line, entry

    def excerpt(self, line: int) -> str:
        """How a line begins, if that is not long ago."""
        return self._kept.get(line, b"").decode("utf-8", "replace")


def _beginning(entry: Entry) -> bytes:
    from msgspec import UNSET

    if entry.frame is not UNSET:
        return bytes(memoryview(entry.frame)[:200])
    return b"" if entry.text is UNSET else entry.text[:200].encode("utf-8", "replace")


def _painter() -> Callable[[str, str], str]:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return lambda text, _: text

    def paint(text: str, how: str) -> str:
        if how == "dim":
            return typer.style(text, dim=True)
        return typer.style(text, fg=COLOURS[how], bold=True)

    return paint


# --- the rules themselves -------------------------------------------------------------


def _rule(name: str) -> Rule:
    from ..lint.rules import RULES

    rule = RULES.get(name)
    if rule is None:
        raise fail(
            "rule-unknown",
            f'there is no rule "{clip(name, 60)}"',
            hint=did_you_mean(name, RULES) or "mcpgen lint --rules lists them",
        )
    return rule


def _explained(rule: Rule) -> str:
    from textwrap import fill

    text = f"{rule.severity}[{rule.id}] {rule.title}\n\n{fill(rule.why, 80)}\n\n"
    return text + fill(f"fix: {rule.fix}", 80)


def _listed() -> str:
    from ..lint.rules import RULES

    rows = [(rule.id, rule.severity, rule.title) for rule in RULES.values()]
    return table(("RULE", "SEVERITY", "WHAT"), rows)
