"""`mcpgen new` run bare: the same as its options say, asked for one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from ..catalog import Catalog
from ..diagnostics import CompileError, fail
from ..scaffold.names import package_name
from .terminal import is_interactive, tell

if TYPE_CHECKING:
    from .new import Wanted


def ask(wanted: Wanted) -> Wanted:
    """What is wanted, with what was not said filled in by whoever sits there."""
    if not is_interactive():
        raise fail(
            "name",
            "NAME is missing, and there is no terminal to ask on",
            hint="say it: mcpgen new weather",
        )
    wanted = replace(wanted, name=_checked("Name", package_name))
    if wanted.source is None:
        tell("Its tools can come from a tools/list or OpenAPI document, or a server.")
        source = _text("From (Enter: begin with an example)")
        wanted = replace(wanted, source=source or None)
    if not wanted.http:
        http = typer.confirm("Is it to serve HTTP first of all?", err=True)
        wanted = replace(wanted, http=http)
    if not wanted.package and wanted.versions is None:
        copies = typer.confirm(
            "Copy the runtime into it, so that it needs no mcpgen?", True, err=True
        )
        wanted = replace(wanted, package=not copies)
    if not wanted.package and wanted.versions is None:
        tell(f"Protocol versions: {', '.join(Catalog().names())}")
        versions = _checked("Which (Enter: all of them)", _check_versions)
        wanted = replace(wanted, versions=versions or None)
    return wanted


def _check_versions(text: str) -> None:
    for name in text.split(",") if text else ():
        Catalog().pin(name.strip())


def _checked(question: str, check: Callable[[str], object]) -> str:
    """An answer that will do; of any other, say why not and ask again."""
    while True:
        answer = _text(question)
        try:
            check(answer)
        except CompileError as error:
            for problem in error.diagnostics:
                tell(f"{problem.message}; {problem.hint}".removesuffix("; "))
        else:
            return answer


def _text(question: str) -> str:
    answer: str = typer.prompt(question, default="", show_default=False, err=True)
    return answer.strip()
