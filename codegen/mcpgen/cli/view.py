"""`mcpgen view`: the command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import splitext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from ..diagnostics import fail
from .common import Format, opened, reporting, spoken_here

if TYPE_CHECKING:
    from ..recording import Header

STDIO = "-"
PAGES = ".html"
SPOOL = 16 * 1024 * 1024
"""Bytes of a recording that cannot be read twice which are kept in memory."""
_HEAD = 4096
"""Bytes of a file that show whose it is."""


def view(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A recorded session; - is standard input."),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where the page goes; - is standard output.",
        ),
    ] = None,
    mermaid: Annotated[
        bool,
        typer.Option("--mermaid", help="A Mermaid sequence diagram, not a page."),
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="Show N entries: the first and the last. [default: 10000, or 200]",
        ),
    ] = None,
    open_it: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace a file that mcpgen view did not make."),
    ] = False,
) -> None:
    """Show a recorded session as a sequence diagram, on one page that needs no network.

    Each entry of the recording is a row: who said what, when, and how long the answer
    took. A row opens to the frame as it was sent, and what `mcpgen lint` says about it.
    The page searches and filters, and has percentiles per method.

    The page goes beside the recording, session.html beside session.jsonl, or to
    standard output when the recording comes from standard input. Nobody but you can
    read it: it holds what the recording holds. A diagram for Mermaid goes to standard
    output.

    Of a recording with more than 10000 entries (with --mermaid: 200), the first and the
    last are shown, and those between them that lint found something in; the figures are
    about all. --limit shows more.

    \b
    Examples:
        mcpgen view session.jsonl --open
        mcpgen view session.jsonl -o report.html --limit 500
        mcpgen view session.jsonl --mermaid >> notes.md
        ssh host cat session.jsonl | mcpgen view - > session.html

    \b
    Exit status:
        0  done, whatever lint found
        2  an error, explained on standard error
    """
    # Imported here: --help must not wait for what only this command needs.
    from ..onefile import write

    with reporting(Format.text):
        target = _target(file, output, mermaid)
        if target is None and open_it:
            raise fail(
                "nothing-to-open",
                "what goes to standard output cannot be opened",
                hint="name a file for the page: -o session.html",
            )
        if target and mermaid and open_it:
            raise fail(
                "nothing-to-open",
                "a browser does not draw Mermaid",
                hint="leave out --mermaid or --open",
            )
        if target:
            _refuse_strangers(target, file, force)
        with _opened(file) as recording:
            shown = "stdin" if file == STDIO else file
            text = _drawn(recording, shown, mermaid, limit)
        if target is None:
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()
            return
        write(target, text, mode=0o600)
        typer.echo(target)
        if open_it:
            _show(target)


def _target(file: str, output: str | None, mermaid: bool) -> Path | None:
    """None: standard output."""
    if output is not None:
        return None if output == STDIO else Path(output)
    if mermaid or file == STDIO:
        return None
    return Path(splitext(file)[0] + PAGES)


def _refuse_strangers(target: Path, source: str, force: bool) -> None:
    """A file that we did not make is not replaced, and the recording itself never."""
    if not target.is_file():
        return
    if source != STDIO and Path(source).exists() and target.samefile(source):
        raise fail(
            "output-occupied",
            "this is the recording itself",
            file=str(target),
            hint="choose another name with -o",
        )
    if not force and not _is_ours(target):
        raise fail(
            "output-occupied",
            "a file that mcpgen view did not make is in the way",
            file=str(target),
            hint="choose another name with -o, or replace it with --force",
        )


def _is_ours(path: Path) -> bool:
    from ..html import generator
    from ..view.mermaid import MARK

    with path.open("rb") as file:
        head = file.read(_HEAD).decode("utf-8", "replace")
    made_by = f'<meta name="generator" content="{generator("view")} '
    return not head or head.startswith(MARK) or made_by in head


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    """The recording, as something that can be read twice."""
    import shutil
    import tempfile

    if file != STDIO:
        with opened(file) as recording:
            if recording.seekable():
                yield recording
                return
            with tempfile.SpooledTemporaryFile(SPOOL) as copy:  # a pipe with a name
                shutil.copyfileobj(recording, copy)
                yield copy  # type: ignore[misc]
        return
    with tempfile.SpooledTemporaryFile(SPOOL) as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        yield copy  # type: ignore[misc]


def _drawn(recording: BinaryIO, name: str, mermaid: bool, limit: int | None) -> str:
    """Read twice: what lint finds decides what is shown."""
    from .. import view as views
    from ..lint import lint
    from ..recording import read

    recording.seek(0)
    header: Header
    header, entries = read(recording, name)
    findings = list(lint(header, entries, versions=spoken_here()))
    recording.seek(0)
    header, entries = read(recording, name)
    draw = views.mermaid if mermaid else views.page
    given = {} if limit is None else {"limit": limit}
    return draw(header, entries, findings, **given)


def _show(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        typer.echo("There is no browser to open it in.", err=True)
