"""`mcpgen vendor`, and the part of `mcpgen check` that looks at copies."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ..catalog import Catalog
from ..config import FILE, Config, Copy, find_config, require_config
from ..diagnostics import CompileError, Diagnostic, fail
from ..vendor.place import destination
from ..vendor.request import Request, read
from .bindings import MAX_DIFF_LINES
from .bindings import check as check_bindings
from .client import is_current as is_current_client
from .common import (
    Format,
    FormatOption,
    TemplatesOption,
    chosen_templates,
    report,
    reporting,
    unrecorded,
)


def vendor(
    dest: Annotated[
        str | None,
        typer.Argument(metavar="DEST", help="A new package of yours: src/weather/_mcp"),
    ] = None,
    types: Annotated[
        bool, typer.Option("--types", help="The message classes, with validators.")
    ] = False,
    validators: Annotated[
        bool, typer.Option("--validators", help="The validators: no dependency.")
    ] = False,
    stubs: Annotated[
        bool, typer.Option("--stubs", help="Typed handlers and callers, with types.")
    ] = False,
    runtime: Annotated[
        bool, typer.Option("--runtime", help="Server and client, and all they need.")
    ] = False,
    versions: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Protocol versions; default: every one."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="These definitions, and what they need."),
    ] = None,
    flavour: Annotated[
        str | None,
        typer.Option(help="What the types are made of: msgspec, stdlib, pydantic."),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Write it down in pyproject.toml.")
    ] = False,
    templates: TemplatesOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Copy types, validators, stubs or the runtime into your project.

    The copy needs no mcpgen: relative imports only, under any package name, with
    licences, a MANIFEST of its files and PROVENANCE.json. It has a directory of its
    own, inside the project; nothing else there is touched. Without options a copy is
    made again as pyproject.toml says (or, failing that, as it was made); without DEST,
    every recorded one is. Types and validators are the default.

    \b
    Examples:
        mcpgen vendor src/weather/_mcp --runtime --record
        mcpgen vendor src/weather/_mcp --types --versions VERSION
        mcpgen vendor app/_mcp --only Tool,CallToolRequest --flavour stdlib
        mcpgen vendor app/_mcp --types --flavour pydantic
        mcpgen vendor _mcp --types --templates my/templates
        mcpgen vendor    every copy that pyproject.toml records, anew
    """
    given = (types, validators, stubs, runtime)
    names = ("types", "validators", "stubs", "runtime")
    table: dict[str, object] = {
        key: [name.strip() for name in value.split(",")]
        for key, value in (("versions", versions), ("only", only))
        if value is not None
    }
    table |= {"flavour": flavour} if flavour is not None else {}
    if any(given):
        table["parts"] = [n for n, wanted in zip(names, given, strict=True) if wanted]
    with reporting(format) as notes:
        if dest is None:
            notes += _repeat(table, record, templates)
        else:
            notes += _vendor(dest, table, record, templates)


def check(
    full: Annotated[
        bool,
        typer.Option("--full", help="Generate anew even when nothing has changed."),
    ] = False,
    templates: TemplatesOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Tell whether the bindings, vendored copies and typed clients are up to date.

    Makes in memory what [tool.mcpgen] records, and compares. Ends with status 1, and a
    diff from what is there to what would be made, when a file is stale, missing, edited
    by hand, or put among the generated ones. Writes nothing and needs no network.

    When a MANIFEST was made from the same inputs, comparing hashes is enough and takes
    a moment; --full does not rely on that.

    \b
    Examples:
        mcpgen check
        mcpgen check --format github    annotates the files in a workflow
    """
    differs = False
    with reporting(format):
        config = require_config(Path.cwd())
    if config.bindings or not (config.copies or config.clients):
        try:
            check_bindings(full, templates, format)
        except typer.Exit as end:
            if end.exit_code != 1:
                raise
            differs = True
    with reporting(format):
        catalog = Catalog(config, chosen_templates(config, templates))
        for copy in config.copies:
            differs |= not _is_current(copy, config, catalog, full, format)
        for client in config.clients:
            differs |= not is_current_client(client, config, format)
    if differs:
        raise typer.Exit(1)


# --- vendor ---------------------------------------------------------------------------


def _repeat(
    table: dict[str, object], record: bool, templates: str | None
) -> list[Diagnostic]:
    """Every recorded copy anew."""
    if table or record:
        raise fail(
            "vendor-path",
            "options say what to copy, but not where to",
            hint="name the destination: mcpgen vendor src/package/_mcp …",
        )
    config = find_config(Path.cwd())
    if config is None or not config.copies:
        raise fail(
            "vendor-nothing",
            f"no [[tool.mcpgen.vendor]] in {FILE} says what to copy",
            hint="mcpgen vendor src/package/_mcp --types --record makes a first one",
        )
    chosen = chosen_templates(config, templates)
    notes = _make(config.copies, config.root, Catalog(config, chosen))
    return notes + unrecorded(config, chosen)


def _vendor(
    dest: str, table: dict[str, object], record: bool, templates: str | None
) -> list[Diagnostic]:
    """One copy, as the options say, or the settings, or the copy that is there."""
    from ..vendor.record import as_toml, project_root, with_copy, write

    config = find_config(Path.cwd())
    root = project_root(Path.cwd())
    path = destination(root, Path.cwd(), dest)
    shown = path.relative_to(root).as_posix()
    _refuse_overlap(path, config)
    copies = config.copies if config else ()
    recorded = next((copy.request for copy in copies if copy.path == path), None)
    request = _asked(table, recorded, path, shown)
    # Made beforehand: a pyproject.toml that cannot take it is no reason to begin.
    text = with_copy(root / FILE, shown, request) if record and not recorded else ""
    copy = Copy(path, request)
    settings = config or Config(root, None, root / "schema")
    chosen = chosen_templates(replace(settings, copies=(copy, *copies)), templates)
    notes = _make((copy,), root, Catalog(config, chosen))
    if text:
        write(root / FILE, text)
        typer.echo(f"recorded in {FILE}")
    elif not recorded:
        typer.echo(f"\nFor `mcpgen check`, add to {FILE} (or use --record):\n")
        typer.echo(as_toml(shown, request), nl=False)
    return notes + unrecorded(settings, chosen)


def copy_runtime(path: Path, record: bool) -> list[Diagnostic]:
    """The runtime as a copy in `path`, for a module beside it; notes on that."""
    return _vendor(str(path), {"parts": ["runtime"]}, record, None)


def _asked(
    table: dict[str, object], recorded: Request | None, path: Path, shown: str
) -> Request:
    from ..vendor.put import made_from

    if not table:
        return recorded or made_from(path) or Request()
    request, problems = read(table)
    if problems:
        raise CompileError(
            Diagnostic("vendor-option", f"--{p.key} {p.message}", hint=p.hint)
            for p in problems
        )
    if recorded and recorded != request:
        raise fail(
            "vendor-recorded",
            f"{FILE} records something else for this destination",
            file=shown,
            hint="change it there, and run: mcpgen vendor",
        )
    return request


def _refuse_overlap(path: Path, config: Config | None) -> None:
    """A copy inside of what has another owner would be theirs to remove."""
    if config is None:
        return
    others = [config.schema_dir, *(c.path for c in config.copies if c.path != path)]
    others += [p for p in (config.bindings, config.templates) if p]
    for other in others:
        if path.is_relative_to(other) or other.is_relative_to(path):
            raise fail(
                "vendor-path",
                "has another use",
                file=path.relative_to(config.root).as_posix(),
                hint=f"{other.relative_to(config.root).as_posix()} is in {FILE}",
            )


def _make(copies: tuple[Copy, ...], root: Path, catalog: Catalog) -> list[Diagnostic]:
    """Plan all copies, then write them: a mistake in one leaves all as they were."""
    # Imported here: --help must not wait for what only this command needs.
    from ..vendor.plan import plan
    from ..vendor.put import put, refuse_occupied

    shown = {copy.path: copy.path.relative_to(root).as_posix() for copy in copies}
    planned = [(copy.path, plan(copy.request, catalog)) for copy in copies]
    for path in shown:
        refuse_occupied(path, shown[path])
    notes = []
    for path, files in planned:
        done = put(files, path, shown[path])
        total = len(files) - 1  # the MANIFEST is not one of them
        typer.echo(
            f"{total} files in {shown[path]}: {len(done.written)} written, "
            f"{total - len(done.written)} unchanged, {len(done.removed)} removed"
        )
        notes += [_kept(f"{shown[path]}/{name}") for name in done.kept]
    return notes


def _kept(path: str) -> Diagnostic:
    return Diagnostic(
        "stale-edited",
        "is no longer part of the copy, but was edited by hand: it stays",
        path,
        hint="remove it when you no longer need it",
        severity="warning",
    )


# --- check ----------------------------------------------------------------------------


def _is_current(
    copy: Copy, config: Config, catalog: Catalog, full: bool, format: Format
) -> bool:
    from ..publish import compare, is_current, unified
    from ..swap import recover
    from ..vendor.plan import digest, is_shipped, plan

    shown = copy.path.relative_to(config.root).as_posix()
    recover(copy.path)
    # What ships is at hand, so it is compared; what is compiled takes a second or more.
    quick = not full and not is_shipped(copy.request, catalog)
    if quick and is_current(copy.path, digest(copy.request, catalog)):
        differences = []
    else:
        differences = compare(plan(copy.request, catalog), copy.path)
    if not differences:
        typer.echo(f"{shown} is up to date")
        return True
    lines = list(itertools.islice(unified(differences), MAX_DIFF_LINES + 1))
    for line in lines[:MAX_DIFF_LINES]:
        typer.echo(line)
    if len(lines) > MAX_DIFF_LINES:
        typer.echo(f"… only the first {MAX_DIFF_LINES} lines are shown")
    verb = {"changed": "differs", "missing": "is missing", "extra": "is not a part"}
    report(
        [
            Diagnostic(
                "stale",
                verb[d.kind],
                f"{shown}/{d.path}",
                hint=(
                    "remove it, or keep it outside of the copy"
                    if d.kind == "extra"
                    else "run: mcpgen vendor"
                ),
            )
            for d in differences
        ],
        format,
    )
    return False
