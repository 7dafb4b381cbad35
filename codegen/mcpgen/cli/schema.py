"""`mcpgen schema list`, `add` and `verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..catalog import Catalog, module_name
from ..config import find_config
from ..diagnostics import CompileError, Diagnostic, clip, fail
from .common import Format, FormatOption, here, reporting
from .documents import document
from .table import table

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def schema() -> None:
    """The pinned schemas: list them, add one, verify their bytes.

    \b
    Examples:
        mcpgen schema list
        mcpgen schema add schema.json --version NAME
        mcpgen schema verify
    """


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    format: FormatOption = Format.text,
) -> None:
    """List the pinned versions, each after its predecessor.

    \b
    Examples:
        mcpgen schema list
        mcpgen schema list --json
    """
    with reporting(format):
        catalog = here()
        pins = [catalog.pin(name) for name in catalog.names()]
        if as_json:
            rows = [
                {
                    "name": pin.name,
                    "kind": pin.kind,
                    "after": catalog.predecessor(pin.name),
                    "package": module_name(pin.name),
                    "file": pin.shown,
                    "sha256": pin.sha256,
                    "source": pin.source,
                }
                for pin in pins
            ]
            typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
            return
        cells = [
            (
                pin.name,
                pin.kind,
                catalog.predecessor(pin.name) or "-",
                pin.sha256[:12],
                clip(pin.source, 60),
            )
            for pin in pins
        ]
        typer.echo(table(("VERSION", "KIND", "AFTER", "SHA256", "SOURCE"), cells))


@app.command("verify")
def verify(format: FormatOption = Format.text) -> None:
    """Compare every schema file with its pinned hash, and compile it.

    \b
    Examples:
        mcpgen schema verify
    """
    with reporting(format) as notes:
        catalog = here()
        problems: list[Diagnostic] = []
        for name in catalog.names():
            try:
                notes += catalog.protocol(name)[1]
            except CompileError as error:
                problems += error.diagnostics
        if problems:
            raise CompileError(problems)
        typer.echo(f"{len(catalog.names())} schemas are as pinned, and compile")


@app.command("add")
def add(
    source: Annotated[
        str,
        typer.Argument(metavar="FILE_OR_URL", help="A file, or an http(s) address."),
    ],
    version: Annotated[
        str, typer.Option("--version", help="What the version is called on the wire.")
    ],
    after: Annotated[
        str | None,
        typer.Option(
            "--after", help="Its predecessor; default: the next older by name."
        ),
    ] = None,
    extension: Annotated[
        bool, typer.Option("--extension", help="An extension, not a protocol version.")
    ] = False,
    license: Annotated[
        str,
        typer.Option("--license", help="Its licence, written into what is generated."),
    ] = "",
    format: FormatOption = Format.text,
) -> None:
    """Pin a schema as a new version of this project.

    The schema is compiled first; only when that succeeds is it copied, unchanged, into
    the project's schema directory and its hash recorded in pins.toml. It inherits the
    corrections and facts of the version it comes after; what no longer fits is noted.

    \b
    Examples:
        mcpgen schema add draft/schema.json --version draft
        mcpgen schema add https://example.org/schema.json --version NAME
        mcpgen schema add apps.json --version apps-1.0 --extension
        mcpgen generate                    then write its bindings
    """
    with reporting(format) as notes:
        config = find_config(Path.cwd())
        if config is None:
            raise fail(
                "no-project",
                "a schema is added to a project, and this is not inside one",
                hint="run this below a pyproject.toml with a [tool.mcpgen] table; "
                "the schemas that ship with mcpgen are read-only",
            )
        catalog = Catalog(config)
        data, shown = document(source)
        compiled = catalog.add(
            data,
            version,
            source=shown,
            kind="extension" if extension else "protocol",
            after=after,
            license=license,
        )
        if compiled is None:
            typer.echo(f"{version} is pinned already, with exactly these bytes")
            return
        protocol, found = compiled
        notes += found
        typer.echo(
            f"added {version} ({protocol.era}, {len(protocol.definitions)} definitions, "
            f"{len(protocol.methods)} methods) as {catalog.pin(version).shown}"
        )
        before = catalog.predecessor(version)
        if before:
            typer.echo(f"next: mcpgen diff {before} {version}; mcpgen generate")
