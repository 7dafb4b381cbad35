"""`mcpgen trace` in front of a server of ours: what it adds, beside the server alone.

Two frames make a call, so what a call takes longer is halved. Many rounds, each compared
with those beside it: what is looked for is small beside what a busy machine does to all.

The other peer is `cat | server | cat`: two programs in C that read and write and do
nothing else. Less than what they add, nobody can add who stands in between.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

from .http_driver import HttpServer
from .servers import ADD, ours, ours_http
from .stdio_driver import StdioServer
from .table import Row, share
from .timing import in_turns
from .wire import LEGACY, MODERN, Wire

ROUNDS, DURATION = 24, 0.2
STREAK = 3.0
"""Seconds of calls without a pause: recording cannot wait for one."""
SETTLE = 0.15
"""Seconds in which a recording grows, if there is more to record."""
CONNECTIONS = 16


def rows(quick: bool) -> Iterator[Row]:
    """All of this part."""
    rounds = 10 if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        trace = [sys.executable, "-m", "mcpgen", "trace", "-o", place]
        yield starting(trace, rounds, Path(place))
        for wire in (MODERN, LEGACY):
            yield from calls(trace, wire, rounds, Path(place))
        yield large_messages(trace, rounds)
        yield calls_over_http(trace, rounds)


def starting(trace: list[str], rounds: int, place: Path) -> Row:
    """From the start to the first answer: what comes on top."""
    ways = (ours("add"), [*trace, "--", *ours("add")])
    starts = [partial(_start, way) for way in ways]
    (added,), direct = _added(starts, rounds // 2, place)
    return share("trace: added start / start to tools/list answer", added, direct)


def _start(command: list[str]) -> float:
    began = time.perf_counter()
    with StdioServer(command, MODERN) as server:
        server.time_per_call(MODERN.list_tools())
        return time.perf_counter() - began


def calls(trace: list[str], wire: Wire, rounds: int, place: Path) -> Iterator[Row]:
    """`tools/call`: one at a time, many at once, and without a pause for seconds."""
    request = wire.call("add", ADD)
    ways = (ours("add"), _cat(ours("add")), [*trace, "--", *ours("add")])
    loads = (
        ("one at a time", 1, DURATION, rounds, "<= 0.15"),
        ("64 in flight", 64, DURATION, rounds, ""),
        (f"one at a time for {STREAK:.0f} s", 1, STREAK, rounds // 4, ""),
    )
    with ExitStack() as stack:
        servers = [stack.enter_context(StdioServer(way, wire)) for way in ways]
        for load, in_flight, duration, times, target in loads:
            (by_cat, by_us), direct = _added(
                [
                    partial(server.time_per_call, request, in_flight, duration)
                    for server in servers
                ],
                times,
                place,
            )
            what = f"added to a frame / stdio call, {load}, {wire.name}"
            yield share(f"trace: {what}", by_us / 2, direct, target)
            yield share(f"cat: {what}", by_cat / 2, direct)


def _cat(command: list[str]) -> list[str]:
    """Between two programs that only pass bytes on."""
    return ["sh", "-c", f"cat | {shlex.join(command)} | cat"]


def _settle(place: Path) -> None:
    """Wait until all is recorded, so that nobody else is measured meanwhile."""

    def size() -> int:
        return sum(file.stat().st_size for file in place.iterdir())

    before = -1
    while before != (before := size()):
        time.sleep(SETTLE)


def _added(
    ways: Sequence[Callable[[], float]], rounds: int, place: Path
) -> tuple[list[float], float]:
    """What each takes longer than the first one in the same round, and what that takes.

    Who comes after another finds the machine awake: all of them come after a pause, and
    everybody comes first in turn. Less than nothing is no mistake: who stays awake between
    client and server keeps their processors awake, too.
    """
    seconds: list[list[float]] = [[] for _ in ways]
    for way in ways:
        way()  # to warm up
    for turn in range(rounds):
        for at in range(turn, turn + len(ways)):
            _settle(place)
            seconds[at % len(ways)].append(ways[at % len(ways)]())
    first, *others = seconds
    added = [
        median(b - a for a, b in zip(first, other, strict=True)) for other in others
    ]
    return added, median(first)


def large_messages(trace: list[str], rounds: int) -> Row:
    """A megabyte there and back again."""
    request = MODERN.call("echo", {"text": "x" * 2**20})
    with (
        StdioServer(ours("echo"), MODERN) as alone,
        StdioServer([*trace, "--", *ours("echo")], MODERN) as behind,
    ):
        direct, traced = in_turns(
            partial(alone.time_per_call, request, 1, DURATION),
            partial(behind.time_per_call, request, 1, DURATION),
            rounds,
        )
    return share("trace: 1 MB echoed / without it", traced, direct)


def calls_over_http(trace: list[str], rounds: int) -> Row:
    """The proxy, on keep-alive connections."""
    request = MODERN.call("add", ADD)
    with HttpServer(ours_http()) as alone:
        url = f"http://127.0.0.1:{alone.port}/mcp"
        with HttpServer([*trace, "--http", url, "--port", "{port}"]) as behind:
            sessions = alone.open_sessions(MODERN, CONNECTIONS)
            direct, traced = in_turns(
                partial(alone.time_per_call, MODERN, request, sessions, DURATION),
                partial(behind.time_per_call, MODERN, request, sessions, DURATION),
                rounds,
            )
    return share(
        f"trace: HTTP call, {CONNECTIONS} connections / without it", traced, direct
    )
