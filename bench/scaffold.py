"""Making projects: how long it takes, and whether what is made is as quick as it could be."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from .http_driver import HttpServer
from .servers import ADD, CONNECTIONS, FULL, QUICK, Effort, ours, ours_http
from .stdio_driver import StdioServer
from .table import Row, share
from .timing import clock, in_turns
from .wire import MODERN

MCPGEN = [sys.executable, "-m", "mcpgen"]
TOOL = '''

@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
'''
"""The tool of our own benchmark, put where a user would put it."""
CALL = MODERN.call("add", ADD)


def rows(quick: bool) -> Iterator[Row]:
    """All of this part."""
    with tempfile.TemporaryDirectory() as directory:
        yield from making(Path(directory), rounds=3 if quick else 9)
    with tempfile.TemporaryDirectory() as directory:
        yield from running(Path(directory), QUICK if quick else FULL)


def making(directory: Path, rounds: int) -> Iterator[Row]:
    """The commands that write ready text, against one that writes nothing."""
    commands = {
        "new": lambda name: ["new", name],
        "new --http --versions VERSION": lambda name: [
            *("new", name, "--http", "--versions", "2025-11-25")
        ],
        "vendor --runtime": lambda name: ["vendor", name, "--runtime"],
        "vendor --types --versions VERSION": lambda name: [
            *("vendor", name, "--types", "--versions", "2025-11-25")
        ],
    }
    for what, command in commands.items():
        pair = in_turns(
            _numbered(command, directory),
            lambda: clock(lambda: _run([*MCPGEN, "--help"], directory)),
            rounds,
        )
        yield share(f"{what} / --help", *pair, "<= 3")


def _numbered(
    command: Callable[[str], list[str]], directory: Path
) -> Callable[[], float]:
    """A run that has a new name every time."""

    def run() -> float:
        name = f"made_{len(list(directory.iterdir()))}"
        return clock(lambda: _run([*MCPGEN, *command(name)], directory))

    return run


def running(directory: Path, effort: Effort) -> Iterator[Row]:
    """A server as `mcpgen new` makes it, against the program of our own benchmark."""
    _run([*MCPGEN, "new", "made"], directory)
    source = directory / "made/src"
    with (source / "made/server.py").open("a") as file:
        file.write(TOOL)
    _run([sys.executable, "-m", "compileall", "-q", str(source)], directory)
    begin = f"import sys; sys.path[0] = {str(source)!r}; from made.__main__ import main; main()"
    made = [sys.executable, "-c", begin]
    yield starting(effort, made)
    yield from calls_over_stdio(effort, made)
    yield calls_over_http(effort, [*made, "--http", "--port", "{port}"])


def starting(effort: Effort, made: list[str]) -> Row:
    """From the start of the process to its first answer."""
    pair = in_turns(
        lambda: _start(made), lambda: _start(ours("add")), 3 * effort.starts
    )
    return share(
        "scaffolded server, start to tools/list answer / ours", *pair, "<= 1.15"
    )


def calls_over_stdio(effort: Effort, made: list[str]) -> Iterator[Row]:
    """`tools/call`, one at a time and many at once.

    Each round has processes of its own: one may be quicker than another of its kind.
    """
    for in_flight in (1, 64):
        pair = in_turns(
            partial(_time_per_call, made, in_flight, effort.duration),
            partial(_time_per_call, ours("add"), in_flight, effort.duration),
            3 * effort.rounds,
        )
        number = "one at a time" if in_flight == 1 else f"{in_flight} in flight"
        what = f"scaffolded server, stdio call, {number} / ours"
        yield share(what, *pair, "<= 1.1")


def _time_per_call(command: list[str], in_flight: int, duration: float) -> float:
    with StdioServer(command, MODERN) as server:
        server.time_per_call(CALL)  # so that all is imported
        return server.time_per_call(CALL, in_flight, duration)


def calls_over_http(effort: Effort, made: list[str]) -> Row:
    """`tools/call` on keep-alive connections."""
    with HttpServer(made) as mine, HttpServer(ours_http()) as other:
        pair = in_turns(_calling(mine, effort), _calling(other, effort), effort.rounds)
    what = f"scaffolded server, HTTP call, {CONNECTIONS} connections / ours"
    return share(what, *pair, "<= 1.1")


def _calling(server: HttpServer, effort: Effort) -> Callable[[], float]:
    sessions = server.open_sessions(MODERN, CONNECTIONS)
    return partial(server.time_per_call, MODERN, CALL, sessions, effort.duration)


def _start(command: list[str]) -> float:
    began = time.perf_counter()
    with StdioServer(command, MODERN) as server:
        server.time_per_call(MODERN.list_tools())
        return time.perf_counter() - began


def _run(command: list[str], directory: Path) -> None:
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
