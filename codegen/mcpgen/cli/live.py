"""`mcpgen call` and `mcpgen inspect`: the commands that talk to a server.

Everything that they need is imported when they run: `--help` must not wait for it.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..diagnostics import CompileError
from .common import Format, FormatOption, reporting

if TYPE_CHECKING:
    from .connecting import Access


class Level(str, Enum):
    """How severe must be what is logged?"""

    debug = "debug"
    info = "info"
    notice = "notice"
    warning = "warning"
    error = "error"
    critical = "critical"
    alert = "alert"
    emergency = "emergency"


TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET", help="A command line in quotes, a URL, or a name in --config."
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The file of a host (.mcp.json, mcp.json, …) that TARGET is a name in.",
    ),
]
EnvOption = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME[=VALUE]",
        help="Set a variable for the server, or pass ours on. Repeatable.",
    ),
]
HeaderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--header", metavar="'NAME: VALUE'", help="Send an HTTP header. Repeatable."
    ),
]
BearerOption = Annotated[
    str | None,
    typer.Option(
        "--bearer-env", metavar="NAME", help="The variable that holds a bearer token."
    ),
]
OAuthOption = Annotated[
    bool,
    typer.Option("--oauth", help="Log in with the browser if the server wants it."),
]
VersionOption = Annotated[
    str | None,
    typer.Option(
        "--version", metavar="VERSION", help="Speak this protocol version only."
    ),
]
TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0.001,
        metavar="SECONDS",
        help="How long to wait for an answer.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def call(
    target: TargetArgument,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The name of a tool.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE",
            help="Arguments: name=value, name:=JSON, name=@FILE.",
        ),
    ] = None,
    arguments: Annotated[
        str | None,
        typer.Option(
            "--arguments",
            metavar="JSON",
            help="Arguments as a JSON object, @FILE, or - for standard input.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Save images, audio and blobs here."
        ),
    ] = None,
    as_json: JsonOption = False,
    log_level: Annotated[
        Level, typer.Option("--log-level", help="What the server should log.")
    ] = Level.info,
    config: ConfigOption = None,
    env: EnvOption = None,
    header: HeaderOption = None,
    bearer_env: BearerOption = None,
    oauth: OAuthOption = False,
    version: VersionOption = None,
    timeout: TimeoutOption = 60.0,
    format: FormatOption = Format.text,
) -> None:
    """Call a tool of a server.

    An argument gets the type that the tool's schema gives it: days=3 is a number where
    a number is expected, and text where text is. Nothing is sent when an argument is
    unknown or missing. Text is printed as it is, structured content as JSON; what else
    there is, is named, and saved with --output. Progress, logs and questions of the
    server go to standard error; without a terminal to ask on, questions are declined.

    \b
    Examples:
        mcpgen call "python -m weather" forecast city=Oslo days=3
        mcpgen call https://example.com/mcp search query=@question.txt tags:='["a"]'
        mcpgen call weather forecast city=Oslo --config .mcp.json
        mcpgen call https://example.com/mcp me --bearer-env TOKEN --json

    \b
    Exit status:
        0    the tool did it
        1    the tool says that it failed
        2    an error: no such server, no such tool, a refusal
        130  Ctrl-C
    """
    from .terminal import tell

    with reporting(format):
        access = access_to(
            target, config, env, header, bearer_env, oauth, version, timeout
        )
        from .calling import call
        from .connecting import explaining, last_words, run
        from .parameters import Arguments

        given = Arguments(words or (), arguments)

        with explaining(access.target) as said:
            answer = run(lambda: call(access, said, tool, given, log_level.value))
        saved = {} if output is None else answer.save(output)
        if as_json:
            for path in saved.values():
                tell(f"saved as {path}")
        text = answer.as_json() if as_json else answer.as_text(saved)
        typer.echo(text, color=True)  # text in a pipe stays as the tool gave it
        if answer.is_error:
            if more := last_words(said):
                tell(more)
            raise typer.Exit(1)


def inspect(
    target: TargetArgument,
    as_json: JsonOption = False,
    full: Annotated[
        bool, typer.Option("--full", help="Show long texts and lists to their end.")
    ] = False,
    config: ConfigOption = None,
    env: EnvOption = None,
    header: HeaderOption = None,
    bearer_env: BearerOption = None,
    oauth: OAuthOption = False,
    version: VersionOption = None,
    timeout: TimeoutOption = 60.0,
    format: FormatOption = Format.text,
) -> None:
    """Show what a server is and offers.

    Its name, version and instructions, the protocol version that is spoken with it, and
    its tools, resources, resource templates and prompts with their parameters. What a
    terminal would obey in any of it is made visible.

    --json prints {protocolVersion, otherVersions, serverInfo, instructions,
    capabilities, tools, resources, resourceTemplates, prompts}; a list that cannot be
    read is null.

    \b
    Examples:
        mcpgen inspect "python -m weather"
        mcpgen inspect https://example.com/mcp --oauth
        mcpgen inspect weather --config .mcp.json --json | jq '.tools[].name'

    \b
    Exit status:
        0    fine
        2    an error; what could be read is shown all the same
        130  Ctrl-C
    """
    with reporting(format):
        access = access_to(
            target, config, env, header, bearer_env, oauth, version, timeout
        )
        from .connecting import explaining, run
        from .page import look, show

        with explaining(access.target) as said:
            found = run(lambda: look(access, said))
        if as_json:
            typer.echo(found.as_json())
        else:
            show(found, full)
        if found.problems:
            raise CompileError(found.problems)


def access_to(
    target: str,
    config: Path | None,
    env: list[str] | None,
    header: list[str] | None,
    bearer_env: str | None,
    oauth: bool,
    version: str | None,
    timeout: float,
) -> Access:
    """What the options of a command say of a server and the way to it."""
    from .connecting import Access
    from .targets import find_target

    found = find_target(target, config)
    found = found.with_env(env or ()).with_headers(header or (), bearer_env)
    return Access(found, version, timeout, oauth)
