"""`mcpgen ir` and `mcpgen methods`: look at a version."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ..diagnostics import clip, did_you_mean, fail
from ..ir import Method, to_json
from .common import Format, FormatOption, here, reporting, warnings
from .table import table

VersionArgument = Annotated[
    str, typer.Argument(metavar="VERSION", help="A pinned version: mcpgen schema list.")
]


def ir(
    version: VersionArgument,
    definition: Annotated[
        str | None, typer.Option("--definition", help="Only this definition.")
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """Print what a version compiles to, as JSON.

    Everything the templates see: definitions, methods, capabilities, error codes and
    traits. Fields that say nothing are left out. Build your own generators on it.

    \b
    Examples:
        mcpgen ir VERSION > ir.json
        mcpgen ir VERSION --definition Tool
    """
    with reporting(format) as notes:
        protocol, found = here().protocol(version)
        notes += warnings(found)
        content: object = protocol
        if definition is not None:
            try:
                content = protocol.definition(definition)
            except KeyError:
                known = [d.name for d in protocol.definitions]
                raise fail(
                    "definition-unknown",
                    f'{version} has no definition "{clip(definition, 64)}"',
                    hint=did_you_mean(definition, known),
                ) from None
        typer.echo(json.dumps(to_json(content), indent=2))


def methods(
    version: VersionArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Print the method table of a version.

    Every request and notification: who sends it, its params and results, the capability
    it needs, and whether it is deprecated.

    \b
    Examples:
        mcpgen methods VERSION
        mcpgen methods VERSION --json
    """
    with reporting(format) as notes:
        protocol, found = here().protocol(version)
        notes += warnings(found)
        ordered = sorted(protocol.methods, key=lambda m: (m.kind != "request", m.name))
        if as_json:
            typer.echo(json.dumps([to_json(m) for m in ordered], indent=2))
            return
        head = (
            *("METHOD", "KIND", "SENT BY", "PARAMS", "RESULTS"),
            *("CAPABILITY", "DEPRECATED"),
        )
        typer.echo(table(head, [_row(method) for method in ordered]))


def _row(method: Method) -> tuple[str, ...]:
    capabilities = [
        f"{owner}:{'.'.join(path)}"
        for owner, path in (
            ("client", method.client_capability),
            ("server", method.server_capability),
        )
        if path is not None
    ]
    optional = "" if method.params_required or method.params is None else "?"
    return (
        clip(method.name, 60),
        method.kind + (" (embedded)" if method.embedded else ""),
        ", ".join(method.sent_by) or "-",
        f"{method.params}{optional}" if method.params else "-",
        " | ".join(method.results) or "-",
        ", ".join(capabilities) or "-",
        "yes" if method.deprecated else "-",
    )
