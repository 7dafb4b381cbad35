"""`mcpgen trace`: what its options mean, for who asks and for who gets them wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from ..diagnostics import fail
from .common import Format, FormatOption, reporting


def trace(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND", help="The server and its arguments, for stdio."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The recording, a new file; or a directory that gets one.",
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="URL", help="A server to stand before, as a proxy."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="Where the proxy listens; default: a free port."
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Print a line per frame on standard error.")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Keep secrets: redact nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace FILE if it is there.")
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Record a session while passing it through unchanged.

    Put it in front of the command in the configuration of a host: what client and
    server say is forwarded at once, byte by byte, and recorded with time, direction
    and, for responses, the request's method and latency; so is the server's stderr.
    Signals, the end of input and the exit status pass through, too. With --http it is a
    proxy on 127.0.0.1, which prints the URL to connect to on standard error, and is
    ended by Ctrl-C.

    The file is readable by you alone. Bearer tokens, cookies and the values of keys that
    look secret are redacted. In a directory, each session gets a file of its own.

    \b
    Examples:
        mcpgen trace -o session.jsonl -- python -m weather
        mcpgen trace -o sessions/ --live -- npx -y some-server --flag
        mcpgen trace -o session.jsonl --http https://example.com/mcp
        mcpgen trace -o session.jsonl --http http://127.0.0.1:8000/mcp --port 9000

    \b
    Exit status:
        that of the command; a signal that ended it ends this, too
        0  the proxy was ended
        2  an error before all began
    """
    with reporting(format):
        # Imported here, as all commands do it: `--help` need not wait.
        from ..trace import command as tracing

        if output is None:
            raise fail("option-missing", "where to write the recording: -o FILE")
        if bool(command) == bool(http):
            raise fail(
                "target-missing" if not command else "target-twice",
                "there is either a command after -- or an address with --http",
                hint="such as: mcpgen trace -o session.jsonl -- python -m weather",
            )
        if port is not None and not http:
            raise fail("option-pointless", "--port is for --http")
        options = tracing.Options(
            output, command or (), raw=raw, live=live, force=force
        )
        if http:
            tracing.proxy(options, http, port or 0)
        else:
            tracing.trace(options)
