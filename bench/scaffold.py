"""Making projects: how long it takes, and whether what is made is as quick as it could be."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from .servers import ADD, FULL, QUICK, Effort, ours
from .stdio_driver import StdioServer
from .table import Row, share
from .timing import clock, in_turns, take_turns
from .wire import MODERN

MCPGEN = [sys.executable, "-m", "mcpgen"]
TOOL = '''

@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
'''
"""The tool of our own benchmark, put where a user would put it."""


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
    made, plain = [sys.executable, "-c", begin], ours("add")
    starts = take_turns(
        partial(_start, made), partial(_start, plain), 3 * effort.starts
    )
    mine, plain_ones = map(statistics.median, starts)
    yield share(
        "scaffolded server, start to tools/list answer / ours",
        mine,
        plain_ones,
        "<= 1.15",
    )
    request = MODERN.call("add", ADD)
    with StdioServer(made, MODERN) as mine, StdioServer(plain, MODERN) as other:
        for in_flight in (1, 64):
            pair = in_turns(
                partial(mine.time_per_call, request, in_flight, effort.duration),
                partial(other.time_per_call, request, in_flight, effort.duration),
                effort.rounds,
            )
            number = "one at a time" if in_flight == 1 else f"{in_flight} in flight"
            yield share(
                f"scaffolded server, stdio call, {number} / ours", *pair, "<= 1.1"
            )


def _start(command: list[str]) -> float:
    began = time.perf_counter()
    with StdioServer(command, MODERN) as server:
        server.time_per_call(MODERN.list_tools())
        return time.perf_counter() - began


def _run(command: list[str], directory: Path) -> None:
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
