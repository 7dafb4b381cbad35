"""`mcpgen new`: a project for a server."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..catalog import Catalog
from ..diagnostics import fail
from .common import Format, FormatOption, reporting

if TYPE_CHECKING:
    from ..scaffold.sources import Source


@dataclass(frozen=True)
class Wanted:
    """What the command line says, or the answers to the wizard's questions."""

    name: str
    versions: str | None = None
    http: bool = False
    package: bool = False
    source: str | None = None


def new(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Of the project, and of its directory."),
    ] = None,
    versions: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Protocol versions; default: every one."),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP first of all, not stdio.")
    ] = False,
    package: Annotated[
        bool, typer.Option("--package", help="Depend on mcpgen; copy nothing of it.")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SOURCE",
            help="Begin with the tools of a document, or of a server.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="The file of a host (.mcp.json, …) that SOURCE is a name in.",
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory",
            "-d",
            metavar="DIR",
            help="Make the project here; default: ./NAME",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be written.")
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Make a project for a server: it runs, is tested, and is yours.

    It has its own copy of the runtime and needs msgspec alone, speaks every protocol
    version on stdio and HTTP, and begins with a tool, a resource and a prompt that show
    how. Without NAME, on a terminal, you are asked for all that matters.

    SOURCE is a document (a tools/list result, an OpenAPI document; a file or address
    that ends in .json, .yaml or .yml) or a server: a URL, a command line in quotes, or
    with --config a name. From a list of tools come typed stubs to fill in; from OpenAPI,
    a typed tool for every operation, which calls it.

    \b
    Examples:
        mcpgen new weather && cd weather && make test
        mcpgen new weather --http --versions VERSION,VERSION
        mcpgen new weather --from openapi.yaml
        mcpgen new weather --from "npx some-server" --dry-run
        mcpgen new    asks

    \b
    Exit status:
        0    fine
        2    an error; nothing was written
        130  Ctrl-C
    """
    with reporting(format) as notes:
        # Imported here: --help must not wait for what only this command needs.
        from ..scaffold.names import package_name
        from ..scaffold.plan import INSTALLED, VENDORED, Request, plan
        from ..scaffold.put import put, refuse_occupied

        def checked(name: str) -> tuple[str, Path]:
            module, path = package_name(name), _place(directory or Path(name))
            refuse_occupied(path)
            return module, path

        wanted = Wanted(name or "", versions, http, package, source)
        if name is None:
            from .wizard import ask

            try:
                wanted = ask(wanted, checked)
            except typer.Abort:  # Ctrl-C, or an end of input
                typer.echo(err=True)
                raise typer.Exit(130) from None
        module, path = checked(wanted.name)
        request = Request(
            wanted.name,
            versions=_versions(wanted.versions),
            http=wanted.http,
            package=wanted.package,
        )
        if data := _document(wanted.source, config):
            from ..scaffold.sources import read

            runtime = INSTALLED if wanted.package else VENDORED
            found = read(*data, package=module, runtime=runtime)
            notes += found.notes
            request = replace(request, source=found)
        files = plan(request, Catalog())
        if not dry_run:
            put(files, path)
        _tell(files, directory or Path(wanted.name), request.source, dry_run)


def _place(directory: Path) -> Path:
    """Where the project goes, with the links above it followed."""
    try:
        above = directory.absolute().parent.resolve()
    except (OSError, RuntimeError, ValueError):
        above = None
    if above is None or directory.name in ("", ".."):
        raise fail(
            "new-directory",
            "--directory does not name a new directory",
            hint="say where the project is to be: --directory code/weather",
        )
    return above / directory.name


def _versions(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    from ..vendor.request import read

    request, problems = read({"versions": [v.strip() for v in text.split(",")]})
    for problem in problems:
        raise fail("new-option", f"--{problem.key} {problem.message}")
    return request.versions


def _document(source: str | None, config: Path | None) -> tuple[bytes, str] | None:
    """What the tools are in, and what to call it: a file, or the answer of a server."""
    if source is None:
        if config is not None:
            raise fail("option-pointless", "--config is for the SOURCE of --from")
        return None
    if config is None and is_document(source):
        from .documents import document

        return document(source)
    from .listing import tools

    return tools(source, config)


def is_document(text: str) -> bool:
    """A file that is no program, or what can only be meant as one."""
    name = text.partition("?")[0]
    if name.endswith((".json", ".yaml", ".yml")) and len(text.split()) == 1:
        return True
    try:
        return Path(text).is_file() and not os.access(text, os.X_OK)
    except (OSError, ValueError):
        return False


def _tell(
    files: dict[str, str], shown: Path, source: Source | None, is_dry: bool
) -> None:
    from ..scaffold.plan import is_owned

    copied = [path for path in files if is_owned(path)]
    if is_dry:
        for path in sorted(files.keys() - set(copied)):
            typer.echo(shown / path)
    else:
        typer.echo(f"{shown}: {len(files) - len(copied)} files, which are yours")
    if copied:
        home = "/".join(copied[0].split("/")[:3])
        typer.echo(f"{shown / home}: {len(copied)} files, which mcpgen keeps")
    if source:
        what = {"tools": "to fill in", "openapi": "over the API"}[source.kind]
        count = len(source.tools)
        typer.echo(f"{count} tool{'s' * (count != 1)} {what}, in tools.py")
    if not is_dry:
        typer.echo(f"\nNow:\n\n    cd {shlex.quote(str(shown))}\n    make test")
