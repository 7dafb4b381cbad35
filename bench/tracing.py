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
from statistics import median

from .http_driver import HttpServer
from .servers import ADD, ours, ours_http
from .stdio_driver import StdioServer
from .table import Row, share
from .timing import in_turns
from .wire import LEGACY, MODERN, Wire

ROUNDS, DURATION = 30, 0.2
SETTLE = 0.15
"""Seconds after which all is recorded, so that nobody else is measured meanwhile."""
CONNECTIONS = 16


def rows(quick: bool) -> Iterator[Row]:
    """All of this part."""
    rounds = 10 if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        trace = [sys.executable, "-m", "mcpgen", "trace", "-o", place]
        yield starting(trace, rounds)
        for wire in (MODERN, LEGACY):
            yield from calls(trace, wire, rounds)
        yield large_messages(trace, rounds)
        yield calls_over_http(trace, rounds)


def starting(trace: list[str], rounds: int) -> Row:
    """From the start to the first answer: what comes on top."""
    ways = (ours("add"), [*trace, "--", *ours("add")])
    (added,), direct = _added([partial(_start, way) for way in ways], rounds // 2)
    return share("trace: added start / start to tools/list answer", added, direct)


def _start(command: list[str]) -> float:
    began = time.perf_counter()
    with StdioServer(command, MODERN) as server:
        server.time_per_call(MODERN.list_tools())
        return time.perf_counter() - began


def calls(trace: list[str], wire: Wire, rounds: int) -> Iterator[Row]:
    """`tools/call`, one at a time and many at once."""
    request = wire.call("add", ADD)
    ways = (ours("add"), _cat(ours("add")), [*trace, "--", *ours("add")])
    with ExitStack() as stack:
        servers = [stack.enter_context(StdioServer(way, wire)) for way in ways]
        for in_flight, target in {1: "<= 0.15", 64: ""}.items():
            (by_cat, by_us), direct = _added(
                [
                    partial(server.time_per_call, request, in_flight, DURATION)
                    for server in servers
                ],
                rounds,
            )
            number = "one at a time" if in_flight == 1 else f"{in_flight} in flight"
            what = f"added to a frame / stdio call, {number}, {wire.name}"
            yield share(f"trace: {what}", by_us / 2, direct, target)
            yield share(f"cat: {what}", by_cat / 2, direct)


def _cat(command: list[str]) -> list[str]:
    """Between two programs that only pass bytes on."""
    return ["sh", "-c", f"cat | {shlex.join(command)} | cat"]


def _added(
    ways: Sequence[Callable[[], float]], rounds: int
) -> tuple[list[float], float]:
    """What each takes longer than the first one beside it, and what that takes."""
    seconds: list[list[float]] = [[] for _ in ways]
    for way in ways:
        way()  # to warm up
    for _ in range(rounds):
        time.sleep(SETTLE)
        for found, way in zip(seconds, ways, strict=True):
            found.append(way())
    first, *others = seconds
    added = [
        max(median(b - a for a, b in zip(first, other, strict=True)), 0)
        for other in others
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
