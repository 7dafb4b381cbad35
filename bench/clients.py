"""Clients: mcpgen's and the official SDK's, each calling the same server.

What a client costs shows behind a server that costs next to nothing; behind a slower one
all are slow, so the rows with a real server of ours have no target on stdio, where its
share is the larger one. Whoever uses one SDK for both sides sees what the last rows
compare.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

from . import peer
from .http_driver import HttpServer
from .servers import AS_INSTALLED, PROGRAMS, ours, ours_http, theirs, theirs_http
from .table import Row, share, times_faster
from .timing import in_turns, take_turns

MANY = 1_000
LIMIT = 120.0


def rows(quick: bool) -> Iterator[Row]:
    """All of this part."""
    rounds, seconds = (3, 0.3) if quick else (5, 1.0)
    stdio, other = shlex.join(ours("add")), shlex.join(theirs("add"))
    yield connecting(stdio, rounds)
    with HttpServer(ours_http()) as mine, HttpServer(theirs_http(AS_INSTALLED)) as own:
        ways = {"stdio": (stdio, other), "HTTP": (_url(mine), _url(own))}
        quick = shlex.join([sys.executable, str(PROGRAMS / "quick_server.py")])
        for name, target, goal in (
            ("stdio, a server that costs nothing", quick, ">= 5"),
            ("stdio, our server", stdio, ""),
            ("HTTP, our server", _url(mine), ">= 5"),
        ):
            yield from calling_one(name, target, rounds, seconds, goal)
        yield floor(stdio, rounds, seconds)
        for name, targets in ways.items():
            what = f"client and server over {name} / both of {peer.NAME}"
            yield calling(what, targets, rounds, seconds)
    yield many_at_once(stdio)


def connecting(target: str, rounds: int) -> Row:
    """A whole script: start, connect, one call, end."""
    mine, other = take_turns(
        partial(_script, _mine, target), partial(_script, _theirs, target), rounds
    )
    what = f"client script: connect to stdio, one call / {peer.NAME}"
    return share(what, median(mine), median(other), "<= 0.3")


def calling_one(
    name: str, target: str, rounds: int, seconds: float, goal: str
) -> Iterator[Row]:
    """Calls to the same server: what they take, and what of it the client takes.

    Who calls a process waits for two switches of processes, however quick both are (the
    row "the floor"); only the rest is the client's to save.
    """
    mine, other = take_turns(
        partial(_mine, target, seconds), partial(_theirs, target, seconds), rounds
    )
    for figure, what in (
        ("per_call", f"client calls over {name} / {peer.NAME}"),
        ("cpu_per_call", f"its CPU time, {name} / {peer.NAME}"),
    ):
        pair = [median(run[figure] for run in runs) for runs in (mine, other)]
        yield times_faster(what, *pair, target=goal)


def calling(
    what: str, targets: tuple[str, str], rounds: int, seconds: float, goal: str = ""
) -> Row:
    """Calls one after another, of our client and of the peer's."""
    pair = in_turns(
        lambda: _mine(targets[0], seconds)["per_call"],
        lambda: _theirs(targets[1], seconds)["per_call"],
        rounds,
    )
    return times_faster(what, *pair, goal)


def floor(target: str, rounds: int, seconds: float) -> Row:
    """What no client on asyncio can be quicker than: no protocol, and `cat` to answer."""
    pair = in_turns(
        lambda: _run(sys.executable, "floor_client.py", "", seconds, 0)["per_call"],
        lambda: _theirs(target, seconds)["per_call"],
        rounds,
    )
    return times_faster(f"the floor: asyncio, a pipe, `cat` / {peer.NAME}", *pair)


def _url(server: HttpServer) -> str:
    return f"http://127.0.0.1:{server.port}/mcp"


def many_at_once(target: str) -> Row:
    """Memory: ten times a thousand calls at once may not take more than the first."""
    found = _mine(target, many=MANY)
    what = f"client memory: 9 x {MANY:,} more calls at once / the first {MANY:,}"
    first = max(found["growth_at_first"], 1)
    return share(what, found["growth_later"], first, "<= 0.3", unit="B")


Run = Callable[[str], object]


def _script(run: Run, target: str) -> float:
    start = time.perf_counter()
    run(target)
    return time.perf_counter() - start


def _mine(target: str, seconds: float = 0, many: int = 0) -> dict[str, float]:
    return _run(sys.executable, "our_client.py", target, seconds, many)


def _theirs(target: str, seconds: float = 0, many: int = 0) -> dict[str, float]:
    return _run(peer.python(), "official_client.py", target, seconds, many)


def _run(
    python: str, program: str, target: str, seconds: float, many: int
) -> dict[str, float]:
    command = [python, str(PROGRAMS / program), str(seconds), str(many), target]
    done = subprocess.run(command, capture_output=True, timeout=LIMIT, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"{program} failed: {said.rpartition(chr(10))[2]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found
