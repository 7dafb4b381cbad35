"""The commands: thin shells around the functions of the compiler.

Exit codes are the same everywhere: 0 fine, 1 something differs, 2 an error.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ..diff.command import diff
from ..resources import VERSION
from .bindings import generate
from .client import client
from .lint import lint
from .live import call, inspect
from .look import ir, methods
from .new import new
from .schema import app as schema_app
from .templates import app as templates_app
from .trace import trace
from .update import update
from .vendor import check, vendor
from .view import view

app = typer.Typer(
    name="mcpgen",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"mcpgen {VERSION}")
        raise typer.Exit


@app.callback()
def mcpgen(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """The compiler of the Model Context Protocol.

    The official JSON Schema of a protocol version goes in; typed Python comes out.

    \b
    Settings are in pyproject.toml:
        [tool.mcpgen]
        output = "src/weather/protocol"    where the version packages go
        versions = ["VERSION", "…"]        default: every pinned version
        schema-dir = "schema"              your own schemas
        templates = "templates"            your own templates

    \b
        [[tool.mcpgen.vendor]]             a copy that `mcpgen vendor` made
        path = "src/weather/_mcp"

    \b
        [[tool.mcpgen.client]]             a module that `mcpgen client` made
        path = "src/weather_client.py"
        from = "src/weather_client.json"   what the server said it offers

    \b
    Exit status:
        0  fine
        1  something differs
        2  an error, explained on standard error
    """


app.command("generate")(generate)
app.command("check")(check)
app.add_typer(schema_app, name="schema")
app.command("diff")(diff)
app.command("ir")(ir)
app.command("methods")(methods)
app.command("new")(new)
app.command("vendor")(vendor)
app.command("update")(update)
app.add_typer(templates_app, name="templates")
app.command("inspect")(inspect)
app.command("call")(call)
app.command("client")(client)
app.command("trace", context_settings={"allow_interspersed_args": False})(trace)
app.command("lint")(lint)
app.command("view")(view)

__all__ = ["app"]
