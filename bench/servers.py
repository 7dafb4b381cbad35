"""Servers: the same tool behind mcpgen's runtime and behind the official SDK.

Ratios are to the SDK's high-level server, on the same machine in the same run, both
driven by the same code. Times are per call, from the driver's side.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from . import peer
from .http_driver import HttpServer
from .process import ServerFailed
from .stdio_driver import StdioServer
from .table import Row, share, times_faster, unavailable
from .timing import in_turns, take_turns
from .wire import LEGACY, MODERN, Request, Wire

PROGRAMS = Path(__file__).parent / "programs"
ADD = {"a": 1, "b": 2}
CONNECTIONS = 16
MANY = 1_000
AS_INSTALLED = ("h11", "asyncio")  # the parts of uvicorn that `pip install mcp` brings
SAME_STACK = ("httptools", "uvloop")  # those that ours runs on


@dataclass(frozen=True)
class Effort:
    """How long to look."""

    rounds: int
    starts: int
    duration: float
    """Seconds a round."""
    sessions: int
    peer_sessions: int


FULL = Effort(rounds=5, starts=5, duration=0.5, sessions=10_000, peer_sessions=1_000)
QUICK = Effort(rounds=3, starts=3, duration=0.2, sessions=1_000, peer_sessions=200)


def rows(quick: bool) -> Iterator[Row]:
    """All of this part."""
    effort = QUICK if quick else FULL
    for wire in (MODERN, LEGACY):
        yield from starting(effort, wire)
    for wire in (MODERN, LEGACY):
        yield from calls_over_stdio(effort, wire, "add")
    yield from calls_over_stdio(effort, MODERN, "add_sync")
    for wire in (MODERN, LEGACY):
        yield from calls_over_http(effort, wire)
    yield from many_tools(effort)
    yield from large_messages(effort)
    yield from idle_sessions(effort)


# --- the commands ---------------------------------------------------------------------


def ours(tool: str, *, copies: int = 1) -> list[str]:
    """Our server."""
    return [sys.executable, str(PROGRAMS / "ours.py"), tool, str(copies)]


def theirs(tool: str, *, copies: int = 1) -> list[str]:
    """The peer's."""
    return [peer.python(), str(PROGRAMS / "official.py"), tool, str(copies)]


def ours_http() -> list[str]:
    """Our server on HTTP; the driver fills in the port."""
    return [*ours("add"), "{port}"]


def theirs_http(stack: tuple[str, str]) -> list[str]:
    """The peer's on HTTP, with an HTTP parser and an event loop."""
    return [*theirs("add"), "{port}", *stack]


# --- how quick ------------------------------------------------------------------------


class Start(NamedTuple):
    """What it took to begin."""

    seconds: float
    memory: float | None


def starting(effort: Effort, wire: Wire) -> Iterator[Row]:
    """From the start of the process to its first answer, and its memory then."""
    mine, other = take_turns(
        lambda: _start(ours("add"), wire),
        lambda: _start(theirs("add"), wire),
        effort.starts,
    )
    what = f"start to tools/list answer, {wire.name} / {peer.NAME}"
    seconds = [median(s.seconds for s in starts) for starts in (mine, other)]
    yield share(what, seconds[0], seconds[1], "<= 0.15")
    memory = [
        [s.memory for s in starts if s.memory is not None] for starts in (mine, other)
    ]
    if all(memory):
        what = f"memory then, {wire.name} / {peer.NAME}"
        yield share(what, median(memory[0]), median(memory[1]), "<= 0.45", unit="B")


def _start(command: list[str], wire: Wire) -> Start:
    began = time.perf_counter()
    with StdioServer(command, wire) as server:
        server.time_per_call(wire.list_tools())
        return Start(time.perf_counter() - began, server.memory())


def calls_over_stdio(effort: Effort, wire: Wire, tool: str) -> Iterator[Row]:
    """`tools/call`, one at a time and many at once."""
    request = wire.call(tool, ADD)
    kind = "sync" if tool == "add_sync" else "async"
    targets = {1: ">= 8", 64: ">= 25"} if kind == "async" else {1: "", 64: ""}
    with (
        StdioServer(ours(tool), wire) as mine,
        StdioServer(theirs(tool), wire) as other,
    ):
        for in_flight, target in targets.items():
            pair = in_turns(
                partial(mine.time_per_call, request, in_flight, effort.duration),
                partial(other.time_per_call, request, in_flight, effort.duration),
                effort.rounds,
            )
            number = "one at a time" if in_flight == 1 else f"{in_flight} in flight"
            what = f"stdio {kind} call, {number}, {wire.name} / {peer.NAME}"
            yield times_faster(what, *pair, target)


def calls_over_http(effort: Effort, wire: Wire) -> Iterator[Row]:
    """`tools/call` on keep-alive connections, each with a session of its own."""
    what = f"HTTP call, {CONNECTIONS} connections, {wire.name} / {peer.NAME}"
    request = wire.call("add", ADD)
    for stack, target in ((AS_INSTALLED, ">= 6"), (SAME_STACK, "")):
        title = what if stack is AS_INSTALLED else f"{what}, same stack"
        with ExitStack() as running:
            mine = _on_http(running)
            if mine is None:
                yield unavailable(title, target)
                continue
            other = running.enter_context(HttpServer(theirs_http(stack)))
            pair = in_turns(
                _calling(mine, effort, wire, request),
                _calling(other, effort, wire, request),
                effort.rounds,
            )
            yield times_faster(title, *pair, target)


def _on_http(running: ExitStack) -> HttpServer | None:
    try:
        return running.enter_context(HttpServer(ours_http()))
    except ServerFailed as error:
        print(f"our server did not start: {error}", file=sys.stderr)
        return None


def _calling(
    server: HttpServer, effort: Effort, wire: Wire, request: Request
) -> Callable[[], float]:
    sessions = server.open_sessions(wire, CONNECTIONS)
    return partial(server.time_per_call, wire, request, sessions, effort.duration)


# --- how cost grows -------------------------------------------------------------------


def many_tools(effort: Effort) -> Iterator[Row]:
    """A long list of tools: telling it, and finding one in it."""
    call, listing = MODERN.call("add", ADD), MODERN.list_tools()
    with (
        StdioServer(ours("add"), MODERN) as one,
        StdioServer(ours("add", copies=MANY), MODERN) as many,
        StdioServer(theirs("add", copies=MANY), MODERN) as other,
    ):
        pair = in_turns(
            partial(many.time_per_call, listing, 1, effort.duration),
            partial(other.time_per_call, listing, 1, effort.duration),
            effort.rounds,
        )
        yield times_faster(f"tools/list of {MANY:,} tools / {peer.NAME}", *pair)
        pair = in_turns(
            partial(many.time_per_call, listing, 1, effort.duration),
            partial(one.time_per_call, listing, 1, effort.duration),
            effort.rounds,
        )
        yield share(f"tools/list of {MANY:,} tools / of 1, ours", *pair)
        pair = in_turns(
            partial(many.time_per_call, call, 1, effort.duration),
            partial(one.time_per_call, call, 1, effort.duration),
            effort.rounds,
        )
        yield share(f"stdio call with {MANY:,} tools / with 1, ours", *pair)


def large_messages(effort: Effort) -> Iterator[Row]:
    """A megabyte there and back again."""
    small, large = (MODERN.call("echo", {"text": "x" * size}) for size in (1, 2**20))
    with (
        StdioServer(ours("echo"), MODERN) as mine,
        StdioServer(theirs("echo"), MODERN) as other,
    ):
        pair = in_turns(
            partial(mine.time_per_call, large, 1, effort.duration),
            partial(other.time_per_call, large, 1, effort.duration),
            effort.rounds,
        )
        yield times_faster(f"stdio call, 1 MB echoed / {peer.NAME}", *pair)
        pair = in_turns(
            partial(mine.time_per_call, large, 1, effort.duration),
            partial(mine.time_per_call, small, 1, effort.duration),
            effort.rounds,
        )
        yield share("stdio call, 1 MB echoed / 1 byte echoed, ours", *pair)


def idle_sessions(effort: Effort) -> Iterator[Row]:
    """Sessions that nobody uses: what they take, and whom they slow down."""
    # With those that are used, no more than servers allow.
    number, fewer = effort.sessions - CONNECTIONS, effort.peer_sessions
    what = f"{effort.sessions:,} idle sessions, memory of each / {peer.NAME}"
    slower = f"HTTP call with {effort.sessions:,} idle sessions / with none, ours"
    request = LEGACY.call("add", ADD)
    with ExitStack() as running:
        busy, calm = _on_http(running), _on_http(running)
        if busy is None or calm is None:
            yield from map(unavailable, (what, slower))
            return
        mine = _memory_per_session(busy, number)
        other = running.enter_context(HttpServer(theirs_http(SAME_STACK)))
        theirs_too = _memory_per_session(other, fewer)
        if mine is not None and theirs_too is not None:
            yield share(what, mine, theirs_too, unit="B")
        pair = in_turns(
            _calling(busy, effort, LEGACY, request),
            _calling(calm, effort, LEGACY, request),
            effort.rounds,
        )
        yield share(slower, *pair)


def _memory_per_session(server: HttpServer, number: int) -> float | None:
    server.open_sessions(LEGACY, CONNECTIONS)  # so that all is imported
    before = server.memory()
    server.open_sessions(LEGACY, number - CONNECTIONS)
    after = server.memory()
    if before is None or after is None:
        return None
    return (after - before) / (number - CONNECTIONS)
