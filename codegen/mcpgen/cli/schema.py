"""`mcpgen schema list`, `add` and `verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..catalog import Catalog, module_name
from ..config import find_config
from ..diagnostics import CompileError, Diagnostic, clip, fail
from ..load import MAX_BYTES
from .common import Format, FormatOption, here, reporting
from .table import table

TIMEOUT = 30
"""Seconds without a byte after which a download is given up."""

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
        remote = "://" in source
        compiled = catalog.add(
            _download(source) if remote else _read(source),
            version,
            source=_public(source) if remote else Path(source).name,
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


def _read(source: str) -> bytes:
    path = Path(source)
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)  # one more, so that `load` can refuse it
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise fail("file-unreadable", reason, file=path.name) from None


def _public(url: str) -> str:
    """The address without a password or token that it may carry."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise fail("url-malformed", f'"{clip(url)}": {error}') from None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _download(url: str) -> bytes:
    """The bytes behind an address; http and https only, bounded in size and time."""
    import urllib.request as request
    from http.client import HTTPException, IncompleteRead
    from urllib.error import HTTPError, URLError

    shown = clip(_public(url))
    if not url.lower().startswith(("https://", "http://")):
        raise fail(
            "url-scheme",
            f'"{shown}" is neither http nor https',
            hint="download the file and give its name",
        )
    # Put together by hand: the usual opener would follow a redirect to ftp.
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPRedirectHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPErrorProcessor,
        request.UnknownHandler,
    ):
        opener.add_handler(handler())
    try:
        with opener.open(url, timeout=TIMEOUT) as response:
            data: bytes = response.read(MAX_BYTES + 1)
            # A bounded read takes a connection that ends early for the end.
            if response.length and len(data) <= MAX_BYTES:
                raise IncompleteRead(data, response.length)
            return data
    except (URLError, HTTPException, OSError, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()
        raise fail(
            "url-unreachable",
            f"could not download {shown}: {clip(str(error))}",
            hint="check the address, or download the file and give its name",
        ) from None
