"""`mcpgen trace`, from its options to its end.

A host waits for this before its server starts, so nothing heavy is imported before that:
no typer, no msgspec, no dataclass.
"""

from __future__ import annotations

import os
import sys

from .backlog import Backlog
from .output import create
from .recorder import recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from .book import Book
    from .recorder import Make, Taker

SWITCH = 1e-4
"""Seconds after which a thread that records must let one that forwards go on."""
_FLAGS = ("--raw", "--live", "--force")


class Options:
    """What to record, and how."""

    def __init__(
        self,
        output: str,
        command: Sequence[str] = (),
        *,
        raw: bool = False,
        live: bool = False,
        force: bool = False,
    ) -> None:
        self.output, self.command = output, tuple(command)
        self.raw, self.live, self.force = raw, live, force


def plain(words: Sequence[str]) -> Options | None:
    """What `mcpgen trace` is called with, if it has the plain form that hosts use.

    `-o FILE`, flags, `--` and a command; everything else takes the longer way, where a
    library looks at it and there are help and errors.
    """
    if "--" not in words:
        return None
    at = list(words).index("--")
    before, command = list(words[:at]), words[at + 1 :]
    output, flags = "", {}
    while before:
        word = before.pop(0)
        if word in ("-o", "--output") and before and not output:
            output = before.pop(0)
        elif word in _FLAGS:
            flags[word[2:]] = True
        else:
            return None
    if not output or output.startswith("-") or not command:
        return None
    return Options(output, command, **flags)


def quickly(words: Sequence[str]) -> None:
    """Do it and end, if the words have the plain form; else nothing."""
    if (options := plain(words)) is None:
        return
    try:
        trace(options)
    except Exception as error:
        from ..diagnostics import CompileError, as_text

        if not isinstance(error, CompileError):
            raise
        print(as_text(error.diagnostics), file=sys.stderr)
        sys.exit(2)


def trace(options: Options) -> NoReturn:
    """Run the command, record what is said, and end as the command does."""
    if not hasattr(os, "posix_spawnp"):
        from ..diagnostics import fail

        raise fail(
            "not-here",
            "a command can be traced on Linux and macOS only",
            hint="a server on HTTP can be traced everywhere: --http URL",
        )
    from .stdio import end_like, run

    file, path = create(options.output, force=options.force)
    backlog = Backlog(recorder(_session(options, file), file))
    sys.setswitchinterval(SWITCH)
    try:
        status = run(options.command, backlog)
    except OSError as error:
        from ..diagnostics import fail

        os.unlink(path)
        what = os.path.basename(options.command[0])
        raise fail(
            "command-unusable",
            f"it cannot be started: {error.strerror or error}",
            file=what,
            hint="what follows -- is a program and its arguments, not one text in quotes",
        ) from None
    backlog.close()
    end_like(status)


def proxy(options: Options, url: str, port: int) -> None:
    """Pass on what comes to a port of ours, and record it, until a signal ends it."""
    import asyncio
    import signal
    from contextlib import suppress
    from urllib.parse import urlsplit

    from ..diagnostics import fail
    from ..runtime.client.http1 import locate
    from .proxy import Proxy, Upstream
    from .stderr import warn

    try:
        origin, authority, host, upstream_port, _ = locate(url)
        if upstream_port > 65535:
            raise ValueError("a URL with a port above 65535")
    except ValueError as error:
        raise fail("target-malformed", f"it is {error}", file="--http") from None
    shown = urlsplit(url)
    file, path = create(options.output, force=options.force)
    backlog = Backlog(recorder(exchanges(options, file, url), file))
    sys.setswitchinterval(SWITCH)

    def ready(port: int) -> None:
        backlog.start()
        rest = "?…" if shown.query else ""
        warn(f"connect to http://127.0.0.1:{port}{shown.path or '/'}{rest}")

    async def main() -> None:
        over = asyncio.Event()
        with suppress(NotImplementedError, AttributeError):  # Windows: only Ctrl-C
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, over.set)
        upstream = Upstream(origin, authority, host, upstream_port)
        await Proxy(upstream, backlog).serve(port, ready, over)

    try:
        asyncio.run(main())
    except KeyboardInterrupt:  # Windows
        pass
    except OSError as error:
        os.unlink(path)
        raise fail(
            "port-unusable",
            f"cannot listen on 127.0.0.1:{port}: {error.strerror}",
            hint="without --port there is always a free one",
        ) from None
    backlog.close()


def _opened(
    options: Options, file: int, transport: str, target: str, since: float
) -> Book:
    """The book of a session, with its header."""
    from .book import Book
    from .redaction import Nothing, Redaction

    redaction = Nothing() if options.raw else Redaction()
    show = None
    if options.live:
        from .live import printer

        show = printer()
    book = Book(file, redaction, show)
    shown = (
        redaction.command(options.command)
        if options.command
        else redaction.text(target)
    )
    book.begin(transport, shown, options.raw, since)
    return book


def exchanges(options: Options, file: int, url: str) -> Make:
    """Makes the one who records what a proxy notes."""

    def make(since: float) -> Taker:
        from .exchanges import Exchanges

        return Exchanges(_opened(options, file, "http", url, since))

    return make


def _session(options: Options, file: int) -> Make:
    """Makes the one who records what the pipes of a server carry."""

    def make(since: float) -> Taker:
        from .session import Session

        return Session(_opened(options, file, "stdio", "", since))

    return make
