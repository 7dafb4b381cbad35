"""`mcpgen generate` and `mcpgen check`."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from ..catalog import Catalog, module_name
from ..config import Config, require_config
from ..diagnostics import Diagnostic
from .common import (
    Format,
    FormatOption,
    TemplatesOption,
    chosen_templates,
    report,
    reporting,
    unrecorded,
    warnings,
)

MAX_DIFF_LINES = 200


def generate(
    templates: TemplatesOption = None, format: FormatOption = Format.text
) -> None:
    """Write the bindings of this project.

    Compiles the versions that [tool.mcpgen] names into its output directory: one
    package per version, and a MANIFEST of all files with their hashes. Files that are
    as they should be are not touched; files that an earlier run made and this one does
    not are removed; anything else in the directory is left alone. Should something go
    wrong on the way, the directory stays as it was.

    \b
    Examples:
        mcpgen generate
        mcpgen generate --templates my/templates
        mcpgen generate --format github    in a workflow
    """
    # Imported here: --help must not wait for what only this command needs.
    from ..pipeline import MANIFEST, generate, versions
    from ..publish import publish

    with reporting(format) as notes:
        config = require_config(Path.cwd())
        catalog = Catalog(config, chosen_templates(config, templates))
        files = generate(config, catalog)
        done = publish(files, config.output)
        names = versions(config, catalog)
        for name in names:
            notes += warnings(catalog.protocol(name)[1])
        notes += [_edited(path) for path in done.kept]
        notes += unrecorded(config, catalog.templates)
        inside = Counter(path.split("/")[0] for path in files)
        written = Counter(path.split("/")[0] for path in done.written)
        shown = _shown(config)
        for name in names:
            package = module_name(name)
            typer.echo(
                f"{name}  {shown}/{package}  {inside[package]} files, "
                f"{written[package]} written"
            )
        total = sum(path != MANIFEST for path in files)
        typer.echo(
            f"{total} files in {shown}: {len(done.written)} written, "
            f"{total - len(done.written)} unchanged, {len(done.removed)} removed"
        )


def check(
    full: Annotated[
        bool,
        typer.Option("--full", help="Generate anew even when nothing has changed."),
    ] = False,
    templates: TemplatesOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Tell whether the bindings are up to date.

    Generates in memory and compares. Ends with status 1, and a diff from what is there
    to what would be generated, when a file is stale, missing, edited by hand, or put
    among the generated ones. Writes nothing and needs no network.

    When the MANIFEST was made from the same inputs, comparing hashes is enough and
    takes a moment; --full does not rely on that.

    \b
    Examples:
        mcpgen check
        mcpgen check --format github    annotates the files in a workflow
    """
    from ..pipeline import generate, inputs_digest
    from ..publish import compare, is_current, unified
    from ..swap import recover

    with reporting(format):
        config = require_config(Path.cwd())
        recover(config.output)  # nothing to do, unless a `generate` was killed
        catalog = Catalog(config, chosen_templates(config, templates))
        if not full and is_current(config.output, inputs_digest(config, catalog)):
            typer.echo(f"{_shown(config)} is up to date")
            return
        differences = compare(generate(config, catalog), config.output)
        if not differences:
            typer.echo(f"{_shown(config)} is up to date")
            return
        lines = list(itertools.islice(unified(differences), MAX_DIFF_LINES + 1))
        for line in lines[:MAX_DIFF_LINES]:
            typer.echo(line)
        if len(lines) > MAX_DIFF_LINES:
            typer.echo(f"… only the first {MAX_DIFF_LINES} lines are shown")
        verb = {
            "changed": "differs",
            "missing": "is missing",
            "extra": "is not generated",
        }
        report(
            [
                Diagnostic(
                    "stale",
                    f"{verb[d.kind]}",
                    f"{_shown(config)}/{d.path}",
                    hint=(
                        "remove it, or keep it outside of the generated packages"
                        if d.kind == "extra"
                        else "run: mcpgen generate"
                    ),
                )
                for d in differences
            ],
            format,
        )
        raise typer.Exit(1)


def _edited(path: str) -> Diagnostic:
    return Diagnostic(
        "stale-edited",
        "is no longer generated, but was edited by hand: it stays",
        path,
        hint="remove it when you no longer need it",
        severity="warning",
    )


def _shown(config: Config) -> str:
    return config.output.relative_to(config.root).as_posix()
