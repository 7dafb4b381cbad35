"""`mcpgen diff`: the command."""

from __future__ import annotations

import sys
from enum import Enum
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..catalog import Catalog
from ..cli.common import Format, here, reporting, warnings
from ..onefile import write

if TYPE_CHECKING:
    from ..ir import Protocol
    from .report import Report


class Layout(str, Enum):
    """How the changes are written."""

    text = "text"
    markdown = "markdown"
    json = "json"
    html = "html"


class For(str, Enum):
    """Whose changes are wanted."""

    server = "server"
    client = "client"


def diff(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="A pinned version: mcpgen schema list.")
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Another one.")],
    breaking: Annotated[
        bool,
        typer.Option(
            "--breaking", help="Only what is breaking; exit 1 if there is any."
        ),
    ] = False,
    side: Annotated[
        For | None,
        typer.Option("--for", help="Leave out what breaks only the other side."),
    ] = None,
    format: Annotated[
        Layout, typer.Option("--format", help="How the changes are written.")
    ] = Layout.text,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file."),
    ] = None,
) -> None:
    """Show what changed between two versions, and whom it breaks.

    Every change of methods, definitions, capabilities, error codes and behaviour, each
    under the id of its rule. A change is breaking for a side if an unchanged server (or
    client) of OLD, facing a peer of NEW, sends what the peer must refuse, receives what
    it cannot read, or relies on a method that is gone.

    \b
    Formats:
        text      tables for a terminal; a line per change in a pipe
        markdown  for a pull request or a changelog
        json      {from, to, summary, changes}; summary counts the changes that break
                  both, server (only), client (only), none, and the total; a change
                  has rule, group, subject, place, before, after, breaking_for,
                  verdict (both, server, client, none), explanation and hint
        html      one page without any dependency, to look at in a browser

    \b
    Examples:
        mcpgen diff OLD NEW
        mcpgen diff OLD NEW --breaking --for server    does my server have to change?
        mcpgen diff OLD NEW --format html -o changes.html
        mcpgen diff OLD NEW --format json | jq .summary

    \b
    Exit status:
        0  done; with --breaking: nothing is breaking
        1  with --breaking: something is
        2  an error, explained on standard error
    """
    # Imported here: --help must not wait for what only this command needs.
    from .change import narrow
    from .compare import compare
    from .report import Report

    with reporting(Format.text) as notes:
        catalog = here()
        before, after = catalog.protocol(old), catalog.protocol(new)
        notes += warnings({*before[1], *after[1]})
        changes = narrow(
            compare(before[0], after[0]),
            breaking=breaking,
            side=side.value if side else None,
        )
        report = Report(old, new, changes, _scope(breaking, side))
        text = _written(report, format, catalog, output is None)
        if output is None:
            # Colour was decided by who reads; it must not be stripped again.
            typer.echo(text, nl=False, color=True)
        else:
            write(output, text)
    if breaking and changes:
        raise typer.Exit(1)


def _scope(breaking: bool, side: For | None) -> str:
    if side is None:
        return "breaking changes only" if breaking else ""
    return f"{'breaking ' if breaking else ''}changes for {side.value}s"


def _written(report: Report, layout: Layout, catalog: Catalog, shown: bool) -> str:
    if layout is Layout.json:
        from .report import as_json

        return as_json(report)
    if layout is Layout.markdown:
        from .markdown import as_markdown

        return as_markdown(report)
    if layout is Layout.html:
        from .page import as_html

        return as_html(report, _history(report, catalog))
    from .text import as_text

    return as_text(report, sys.stdout if shown else StringIO())


def _history(report: Report, catalog: Catalog) -> list[Protocol]:
    """Every protocol version, and the two that are compared, whatever they are."""
    return [
        catalog.protocol(name)[0]
        for name in catalog.names()
        if catalog.pin(name).kind == "protocol" or name in (report.old, report.new)
    ]
