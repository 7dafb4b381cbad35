"""What all commands share: where they run, and how they report."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from ..catalog import Catalog
from ..config import FILE, Config, find_config, templates_path
from ..diagnostics import FORMATS, CompileError, Diagnostic, fail, sort
from ..templates import Templates

if TYPE_CHECKING:
    from ..lint.versions import Versions


class Format(str, Enum):
    """How diagnostics are written on standard error."""

    text = "text"
    json = "json"
    github = "github"


FormatOption = Annotated[
    Format,
    typer.Option(
        "--format", help="How problems are printed: for people, machines, or GitHub."
    ),
]


TemplatesOption = Annotated[
    str | None,
    typer.Option(
        "--templates",
        metavar="DIR",
        help="Your own templates; default: those that pyproject.toml names.",
    ),
]


@contextmanager
def reporting(style: Format) -> Iterator[list[Diagnostic]]:
    """Print every diagnostic once, at the end; an error ends with status 2.

    Yields a list for the warnings and notes that do not stop the command.
    """
    notes: list[Diagnostic] = []
    try:
        yield notes
    except CompileError as error:
        report([*error.diagnostics, *notes], style)
        raise typer.Exit(2) from None
    except RecursionError:
        problem = Diagnostic(
            "too-deep",
            "the definitions refer to one another too deeply to be compiled",
            hint="a chain of some hundred definitions is too long",
        )
        report([problem, *notes], style)
        raise typer.Exit(2) from None
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except OSError as error:
        name = Path(str(error.filename)).name if error.filename else ""
        problem = Diagnostic("system", error.strerror or str(error), name)
        report([problem, *notes], style)
        raise typer.Exit(2) from None
    report(notes, style)


def opened(recording: str) -> BinaryIO:
    """The file of a recorded session."""
    try:
        return open(recording, "rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "name one of the files in it" if Path(recording).is_dir() else ""
        name = Path(recording).name
        raise fail("file-unreadable", reason, file=name, hint=hint) from None


def report(diagnostics: Iterable[Diagnostic], style: Format) -> None:
    """Print diagnostics on standard error, sorted, each once."""
    found = sort(diagnostics)
    if found:
        typer.echo(FORMATS[style.value](found), err=True)


def warnings(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """What is worth saying every time; notes are for `schema add` and `verify`."""
    return [diagnostic for diagnostic in found if diagnostic.severity != "note"]


def chosen_templates(config: Config, given: str | None) -> Templates:
    """Those of the option, else those that the settings name."""
    if given is None:
        return Templates.of(config)
    path = templates_path(config, Path.cwd(), given)
    return Templates(path, path.relative_to(config.root).as_posix())


def unrecorded(config: Config, templates: Templates) -> list[Diagnostic]:
    """A note where `mcpgen check` would render with other templates."""
    if templates.directory == config.templates:
        return []
    return [
        Diagnostic(
            "templates-unrecorded",
            f"{FILE} does not name these templates, so that a check uses others",
            templates.label,
            hint=f'in [tool.mcpgen]: templates = "{templates.label}"',
            severity="note",
        )
    ]


def spoken_here() -> Versions:
    """The versions that a recording may speak: those installed, and the project's."""
    from ..lint import project

    return project.versions(here())


def here() -> Catalog:
    """The catalog that holds in the current directory: the base, and the project's."""
    return Catalog(find_config(Path.cwd()))
