"""From a TARGET to a client of it; and from what can go wrong to what is said of it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer
from msgspec import UNSET

from ..diagnostics import Diagnostic, did_you_mean, fail
from ..protocol import ERAS
from ..resources import VERSION
from ..runtime.client import Client
from ..runtime.errors import (
    AuthError,
    ConnectionClosed,
    HttpError,
    McpError,
    RequestTimeout,
    ServerCrashed,
)
from .targets import FORMS, Target
from .terminal import block, clipped, compact, line, tell

PROBLEMS = (AuthError, ConnectionClosed, HttpError, McpError, RequestTimeout)
TAIL = 20
"""So many lines of a server's stderr are kept."""
INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM

T = TypeVar("T")


@dataclass(frozen=True)
class Access:
    """A server, and how to speak to it."""

    target: Target
    version: str | None
    timeout: float
    oauth: bool

    def __post_init__(self) -> None:
        if self.version is not None and self.version not in ERAS:
            raise fail(
                "version-unknown",
                f'"{line(self.version, 64)}" is no protocol version that is spoken here',
                hint=did_you_mean(self.version, ERAS) or f"known: {', '.join(ERAS)}",
            )
        if self.oauth and not self.target.url:
            raise fail("option-pointless", "--oauth is for URLs")

    def client(self, said: deque[str], **options: Any) -> Client:
        """A client that is not connected yet; `said` gets what a child says on stderr."""
        options |= {"name": "mcpgen", "version": VERSION, "timeout": self.timeout}
        if self.version is not None:
            options["versions"] = [self.version]
        target = self.target
        if target.command:
            return Client.stdio(
                target.command,
                env=target.env,
                cwd=target.cwd,
                stderr=said.append,
                **options,
            )
        options["auth"] = _oauth(target.url) if self.oauth else None
        connect = Client.sse if target.is_sse else Client.http
        return connect(target.url, headers=target.headers, **options)


def _oauth(url: str) -> Any:
    """A login in the browser; what it brings is kept for the next time."""
    from ..runtime.auth import FileStorage, OAuth

    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return OAuth(url, storage=FileStorage(Path(home) / "mcpgen" / "tokens.json"))


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run it to its end, or until Ctrl-C or a signal: then, too, everything is closed."""

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        with suppress(NotImplementedError, AttributeError):  # Windows
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await work()

    try:
        return asyncio.run(main())
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except asyncio.CancelledError:
        raise typer.Exit(TERMINATED) from None


@contextmanager
def explaining(target: Target) -> Iterator[deque[str]]:
    """Turn what goes wrong with a server into diagnostics.

    Yields where the lines of its stderr are to be put: they are part of the explanation.
    """
    said: deque[str] = deque(maxlen=TAIL)
    try:
        with _telling():
            yield said
    except PROBLEMS as problem:
        found = diagnosed(problem, target)
        # Only the last try counts: a server that ends at once is started twice.
        more = last_words(getattr(problem, "stderr", said))
        message = f"{found.message}\n  {more}" if more else found.message
        raise fail(found.code, message, file=found.file, hint=found.hint) from None
    except (ImportError, ValueError) as error:  # an extra; a header that cannot be sent
        message = line(str(error), 500)
        raise fail("target-unusable", message, file=target.shown) from None


def diagnosed(problem: Exception, target: Target) -> Diagnostic:
    """What went wrong, and what to do about it."""
    code, message, hint = "server-error", str(problem), ""
    if isinstance(problem, McpError):
        message = f"{problem.message} (error {problem.code})"
        if problem.data is not UNSET and problem.data is not None:
            message += f" {compact(problem.data)}"
    elif isinstance(problem, RequestTimeout):
        code, hint = "timeout", "give it more time: --timeout SECONDS"
    elif isinstance(problem, AuthError):
        code = "not-authorized"
    elif isinstance(problem, HttpError):
        code, hint = "http", _http_hint(problem.status)
    elif isinstance(problem, ServerCrashed):
        code, message = "server-ended", message.partition(";")[0]
    else:
        code, hint = "unreachable", "" if target.url else FORMS
    return Diagnostic(code, line(message, 1000), line(target.shown), hint=hint)


def _http_hint(status: int) -> str:
    if status in (401, 403):
        return (
            "log in with --oauth, or name a variable that holds a token: --bearer-env"
        )
    return "is the path right? Often it is /mcp" if status in (404, 405) else ""


def last_words(said: Iterable[str]) -> str:
    """What a server wrote to its stderr, for a message."""
    lines = [f"    {clipped(block(text), 300)}" for text in said if text.strip()]
    return "\n".join(["the server wrote to stderr:", *lines]) if lines else ""


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        tell(f"warning: {line(record.getMessage(), 500)}")


@contextmanager
def _telling() -> Iterator[None]:
    """Say on stderr what the runtime warns of; by itself it would not make it safe."""
    log, handler = logging.getLogger("mcpgen"), _Handler(logging.WARNING)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
