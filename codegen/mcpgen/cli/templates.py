"""`mcpgen templates`: the built-in templates, to look at and to override."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..config import Config, find_config, templates_path
from ..diagnostics import CompileError, Diagnostic, did_you_mean
from .common import Format, FormatOption, reporting

app = typer.Typer(no_args_is_help=True)
_DEFAULT = "templates"


@app.callback()
def templates() -> None:
    """The templates that everything is rendered with; yours stand for ours.

    A template of yours overrides the built-in one of the same name. One in extra/ emits
    a file of its own for each version. docs/templates.md tells what they are given.

    \b
    Examples:
        mcpgen templates list
        mcpgen templates export templates stubs/side.py.jinja
    """


@app.command("list")
def list_templates(format: FormatOption = Format.text) -> None:
    """Print the name of every template, and which of them this project overrides.

    \b
    Examples:
        mcpgen templates list
    """
    from ..templates import Templates, built_in

    with reporting(format):
        own = Templates.of(find_config(Path.cwd()))
        known = built_in()
        for name in sorted(known.keys() | own.own.keys()):
            marks = {True: "overridden", False: "built-in"}
            mark = marks[name in own.own] if name in known else "yours"
            typer.echo(f"{mark:<10}  {name}")


@app.command("export")
def export(
    dest: Annotated[
        str | None,
        typer.Argument(
            metavar="DIR", help="Where to; default: tool.mcpgen.templates, or templates"
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...", help="Templates, or folders of them; default: all."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that differ.")
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Copy built-in templates into a directory of yours, to change them there.

    A file that is there and differs is never overwritten without --force; in that case
    nothing is written. Keep what you change, and remove the rest: a template that is not
    yours follows mcpgen when it is brought up to date.

    \b
    Examples:
        mcpgen templates export my/templates stubs/side.py.jinja
        mcpgen templates export my/templates stubs types    whole folders
        mcpgen templates export    all of them
    """
    from ..templates import built_in
    from ..templates import export as export_to
    from ..vendor.record import project_root

    with reporting(format):
        config = find_config(Path.cwd())
        root = project_root(Path.cwd())
        settings = config or Config(root, None, root / "schema")
        if dest is None and config is not None and config.templates is not None:
            path = config.templates
        else:
            path = templates_path(settings, Path.cwd(), dest or _DEFAULT)
        shown = path.relative_to(root).as_posix()
        texts = _chosen(built_in(), names or [])
        written = export_to(texts, path, shown, force=force)
        typer.echo(
            f"{len(texts)} templates in {shown}: {len(written)} written, "
            f"{len(texts) - len(written)} unchanged"
        )
        if config is None or config.templates != path:
            typer.echo(f'To render with them, in [tool.mcpgen]: templates = "{shown}"')


def _chosen(known: dict[str, str], names: list[str]) -> dict[str, str]:
    """The templates of these names, or in folders of these names."""
    if not names:
        return known
    folders = {name.split("/")[0] for name in known}
    wanted = [name.rstrip("/") for name in names]
    unknown = [name for name in wanted if name not in known and name not in folders]
    if unknown:
        raise CompileError(
            Diagnostic(
                "template-unknown",
                "is not a template of mcpgen, nor a folder of them",
                name,
                hint=did_you_mean(name, [*known, *folders])
                or "mcpgen templates list has the names",
            )
            for name in unknown
        )
    return {
        name: text
        for name, text in known.items()
        if name in wanted or name.split("/")[0] in wanted
    }
