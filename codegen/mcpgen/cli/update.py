"""`mcpgen update`: what mcpgen owns in a project, brought up to date."""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..catalog import Catalog
from ..config import FILE, Config, parse_config, require_config
from ..diagnostics import Diagnostic, clip, did_you_mean, fail
from .common import Format, report, reporting

if TYPE_CHECKING:
    from ..update.notes import Note
    from ..update.report import Done
    from ..update.trees import Tree


class Layout(str, Enum):
    """How the outcome is written."""

    text = "text"
    json = "json"


def update(
    add: Annotated[
        list[str] | None,
        typer.Option(metavar="VERSION", help="Take this version, too; repeatable."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="VERSION", help="Do without this one; repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show it as a diff; write nothing.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace edited files; yours become NAME.orig."),
    ] = False,
    format: Annotated[
        Layout, typer.Option("--format", help="How the outcome is written.")
    ] = Layout.text,
) -> None:
    """Bring the bindings and vendored copies of this project up to date.

    Everything that [tool.mcpgen] records is made again, as this mcpgen makes it, and
    what changes for your code is told: your Python files are read (and never run) for
    the types, methods and calls of the runtime that they use, and compared as
    `mcpgen diff` does. Nothing of yours is touched. A file of ours that you have edited
    is told, and then nothing at all is written; with --force it is replaced, and your
    text stays beside it as NAME.orig.

    --add and --drop change the lists of versions in pyproject.toml, and nothing else
    there. Where there are none, every pinned version is taken: those that a newer
    mcpgen brings, too.

    \b
    Examples:
        mcpgen update --dry-run
        mcpgen update
        mcpgen update --add VERSION
        mcpgen update --drop VERSION --format json

    \b
    Exit status:
        0  up to date now; with --dry-run: could be
        1  something was edited by hand, so nothing was written
        2  an error, explained on standard error
    """
    # Imported here: --help must not wait for what only this command needs.
    from ..publish import unified
    from ..update.notes import affected
    from ..update.report import Done, Report, as_json, as_text
    from ..update.trees import trees
    from ..vendor.record import refuse_link

    with reporting(Format(format.value)) as messages:
        config = require_config(Path.cwd())
        file = config.root / FILE
        old = file.read_bytes().decode()
        new = _adopted(old, config, tuple(add or ()), tuple(drop or ()))
        if new != old:
            refuse_link(file, "change its lists of versions yourself")
        config = _parsed(new, config.root)
        catalog = Catalog(config)
        planned = trees(config, catalog)
        if not planned:
            raise fail(
                "update-nothing",
                "records neither bindings nor copies",
                file=FILE,
                hint="mcpgen vendor src/package/_mcp --record makes a first copy",
            )
        edited = tuple(path for tree in planned for path in tree.edited())
        stale = [tree for tree in planned if tree.files is not None]
        notes: tuple[Note, ...] = ()
        if stale:
            notes, unread = affected(config.root, planned, catalog)
            messages += unread
        write_it = not dry_run and (force or not edited)
        for tree in planned:
            tree.refuse_obstacles()
        if write_it:
            done = _written(planned, file, old, new)
        else:
            done = tuple(Done(tree, None) for tree in planned)
        if dry_run and format is Layout.text:
            for line in itertools.chain(
                _settings_diff(old, new),
                *(unified(tree.differences()) for tree in stale),
            ):
                typer.echo(line)
        outcome = Report(
            done,
            edited,
            notes,
            settings=new != old,
            read=bool(stale),
            untaken=_untaken(planned, catalog),
        )
        text = as_json(outcome) if format is Layout.json else as_text(outcome)
        typer.echo(text, nl=False)
        if edited and not force:
            report([_in_the_way(path) for path in edited], Format(format.value))
    if edited and not force:
        raise typer.Exit(1)


def _written(
    planned: tuple[Tree, ...], file: Path, old: str, new: str
) -> tuple[Done, ...]:
    """Write the settings, then the trees: if that is cut off, the next update goes on."""
    from ..update.report import Done
    from ..vendor.record import write

    done: list[Done] = []
    if new != old:
        write(file, new)
    try:
        for tree in planned:
            done.append(Done(tree, tree.write()))
    except BaseException:
        if new != old and not done:
            write(file, old)
        raise
    return tuple(done)


def _adopted(
    text: str, config: Config, add: tuple[str, ...], drop: tuple[str, ...]
) -> str:
    """The settings with other versions, all of which are known."""
    from ..update.adopt import listed, with_versions

    if not add and not drop:
        return text
    catalog = Catalog(config)
    for version in add:
        catalog.pin(version)
    known = listed(text)
    for version in drop:
        if version not in known:
            raise fail(
                "update-version",
                f'no list of versions names "{clip(version, 64)}"',
                file=FILE,
                hint=did_you_mean(version, known)
                or "without a list every pinned version is taken: list those you want",
            )
        if version in add:
            raise fail("update-version", f"{version} cannot both come and go")
    return with_versions(text, add, drop)


def _parsed(text: str, root: Path) -> Config:
    return parse_config(
        tomllib.loads(text.removeprefix("\ufeff"))["tool"]["mcpgen"], root
    )


def _untaken(planned: tuple[Tree, ...], catalog: Catalog) -> tuple[str, ...]:
    """What a project that lists its versions could take, and does not."""
    names = [n for n in catalog.names() if catalog.pin(n).kind == "protocol"]
    taken = {n for tree in planned for n in tree.schemas if n in names}
    newest = max((names.index(name) for name in taken), default=len(names))
    return tuple(names[newest + 1 :])


def _settings_diff(old: str, new: str) -> Iterator[str]:
    before, after = old.splitlines(), new.splitlines()
    return difflib.unified_diff(before, after, FILE, FILE, lineterm="")


def _in_the_way(path: str) -> Diagnostic:
    return Diagnostic(
        "update-edited",
        "was edited by hand; nothing was written",
        path,
        hint="move your change to a file of yours; or --force, which keeps it as .orig",
    )
