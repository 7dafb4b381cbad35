"""Clients: mcpgen's and the official SDK's, each calling the same server of ours.

A server that answers at once shows what a client costs; behind a slow one all are slow.
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
from .servers import PROGRAMS, ours, ours_http
from .table import Row, share, times_faster
from .timing import in_turns, take_turns

MANY = 1_000
LIMIT = 120.0


def rows(quick: bool) -> Iterator[Row]:
    """All of this part."""
    rounds, seconds = (3, 0.3) if quick else (5, 1.0)
    stdio = shlex.join(ours("add"))
    yield connecting(stdio, rounds)
    yield calling("stdio", stdio, rounds, seconds)
    with HttpServer(ours_http()) as server:
        yield calling("HTTP", f"http://127.0.0.1:{server.port}/mcp", rounds, seconds)
    yield many_at_once(stdio)


def connecting(target: str, rounds: int) -> Row:
    """A whole script: start, connect, one call, end."""
    mine, other = take_turns(
        partial(_script, _mine, target), partial(_script, _theirs, target), rounds
    )
    what = f"client script: connect to stdio, one call / {peer.NAME}"
    return share(what, median(mine), median(other), "<= 0.3")


def calling(name: str, target: str, rounds: int, seconds: float) -> Row:
    """Calls one after another."""
    pair = in_turns(
        lambda: _mine(target, seconds)["per_call"],
        lambda: _theirs(target, seconds)["per_call"],
        rounds,
    )
    return times_faster(f"client calls over {name} / {peer.NAME}", *pair, ">= 5")


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
