"""`mcpgen trace` in front of a server of ours: what it adds, beside the server alone.

Two frames make a call, so what a call takes longer is halved. Short rounds and many of
them, each with the one beside it: what is looked for is small beside what a busy machine
does to both.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

from .http_driver import HttpServer
from .servers import ADD, ours, ours_http
from .stdio_driver import StdioServer
from .table import Row, share
from .timing import in_turns, take_turns
from .wire import LEGACY, MODERN, Wire

ROUNDS, DURATION = 50, 0.05
CONNECTIONS = 16


def rows(quick: bool) -> Iterator[Row]:
    """All of this part."""
    rounds = 20 if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        trace = [sys.executable, "-m", "mcpgen", "trace", "-o", place]
        yield starting(trace, rounds)
        for wire in (MODERN, LEGACY):
            yield from calls(trace, wire, rounds)
        yield large_messages(trace, rounds)
        yield calls_over_http(trace, rounds)


def starting(trace: list[str], rounds: int) -> Row:
    """From the start to the first answer: what comes on top."""
    added, direct = _added(
        partial(_start, [*trace, "--", *ours("add")]),
        partial(_start, ours("add")),
        rounds // 2,
    )
    return share("trace: added start / start to tools/list answer", added, direct)


def _added(
    traced: Callable[[], float], direct: Callable[[], float], rounds: int
) -> tuple[float, float]:
    """What one takes longer than the other beside it, and what that takes: medians."""
    longer, shorter = take_turns(traced, direct, rounds)
    differences = (a - b for a, b in zip(longer, shorter, strict=True))
    return max(median(differences), 0), median(shorter)


def _start(command: list[str]) -> float:
    began = time.perf_counter()
    with StdioServer(command, MODERN) as server:
        server.time_per_call(MODERN.list_tools())
        return time.perf_counter() - began


def calls(trace: list[str], wire: Wire, rounds: int) -> Iterator[Row]:
    """`tools/call`, one at a time and many at once."""
    request = wire.call("add", ADD)
    with (
        StdioServer(ours("add"), wire) as alone,
        StdioServer([*trace, "--", *ours("add")], wire) as behind,
    ):
        for in_flight, target in {1: "<= 0.15", 64: ""}.items():
            added, direct = _added(
                partial(behind.time_per_call, request, in_flight, DURATION),
                partial(alone.time_per_call, request, in_flight, DURATION),
                rounds,
            )
            number = "one at a time" if in_flight == 1 else f"{in_flight} in flight"
            what = f"trace: added to a frame / stdio call, {number}, {wire.name}"
            yield share(what, added / 2, direct, target)


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
