"""`mcpgen lint` on long recordings, against `json.loads` of the same lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

from .table import Row, share
from .timing import interleave

PYTHON = sys.executable
FRAMES = 100_000
LOADS = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"


def rows(quick: bool) -> Iterator[Row]:
    """All of this part."""
    frames = FRAMES // 10 if quick else FRAMES
    rounds = 1 if quick else 3
    with tempfile.TemporaryDirectory() as directory:
        for name, frames_of in (("a session", legacy), ("stateless", modern)):
            file = Path(directory, "session.jsonl")
            write(file, frames_of(), frames)
            yield from linting(f"lint {frames:,} frames, {name}", file, rounds)
        file, short = Path(directory, "long.jsonl"), Path(directory, "short.jsonl")
        write(file, legacy(), frames)
        write(short, legacy(), frames // 10)
        yield memory(file, short)


def linting(what: str, file: Path, rounds: int) -> Iterator[Row]:
    """In this process; and the command, from its start to its end."""
    from mcpgen.lint import lint
    from mcpgen.recording import read

    def ours() -> None:
        with file.open("rb") as stream:
            found = {finding.rule for finding in lint(*read(stream, file.name))}
            assert found <= {"unanswered"}, "the end may cut off an answer"

    def theirs() -> None:
        with file.open("rb") as stream:
            for line in stream:
                json.loads(line)

    yield share(f"{what} / json.loads", *interleave(ours, theirs, rounds), "<= 5")
    command = [PYTHON, "-m", "mcpgen", "lint", str(file)]
    loads = [PYTHON, "-c", LOADS, str(file)]
    mine, peer = interleave(lambda: _run(command), lambda: _run(loads), rounds)
    yield share(f"{what}: the command / json.loads", mine, peer, "<= 5")


def memory(long: Path, short: Path) -> Row:
    """The most that the command takes, for a recording ten times as long."""
    mine, peer = (
        _peak([PYTHON, "-m", "mcpgen", "lint", str(f)]) for f in (long, short)
    )
    what = "lint: memory for a recording / for a tenth of it"
    return share(what, mine, peer, "<= 1.1", unit="B")


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _peak(command: list[str]) -> int:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


# --- recordings -----------------------------------------------------------------------


def write(file: Path, frames: Iterator[tuple[str, dict[str, Any]]], lines: int) -> None:
    """A recording of that many frames."""
    header = {
        **{"recording": 1, "mcpgen": "0", "transport": "stdio"},
        **{"target": "python -m weather", "started": "2026-11-18T18:39:00.000Z"},
    }
    with file.open("w") as out:
        out.write(_text(header))
        for number, (side, frame) in enumerate(islice(frames, lines)):
            entry: dict[str, Any] = {"t": number / 1000, "from": side}
            entry["frame"] = {"jsonrpc": "2.0", **frame}
            if "result" in frame:
                entry |= {"method": "tools/call", "ms": 1.27}
            out.write(_text(entry))


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


INFO = {"name": "weather", "version": "1"}
ARGUMENTS = {"name": "forecast", "arguments": {"city": "Oslo", "days": 3}}
BLOCKS = [{"type": "text", "text": "Sunny, and 21 degrees in the afternoon."}]


def legacy() -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls with progress, in a session that was opened by initialize."""
    version = "2025-11-25"
    offered = {"protocolVersion": version, "capabilities": {}, "clientInfo": INFO}
    yield "client", {"id": 0, "method": "initialize", "params": offered}
    given = {"capabilities": {"tools": {}}, "serverInfo": INFO}
    yield "server", {"id": 0, "result": {"protocolVersion": version, **given}}
    yield "client", {"method": "notifications/initialized"}
    for id in count(1):
        params = {**ARGUMENTS, "_meta": {"progressToken": id}}
        yield "client", {"id": id, "method": "tools/call", "params": params}
        if id % 4 == 0:
            told = {"progressToken": id, "progress": 1, "total": 2, "message": "half"}
            yield "server", {"method": "notifications/progress", "params": told}
        yield "server", {"id": id, "result": {"content": BLOCKS, "isError": False}}


def modern() -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that say for themselves what a session would have agreed on."""
    prefix = "io.modelcontextprotocol"
    for id in count(1):
        meta = {
            f"{prefix}/protocolVersion": "2026-07-28",
            f"{prefix}/clientCapabilities": {},
            f"{prefix}/clientInfo": INFO,
        }
        params = {**ARGUMENTS, "_meta": meta}
        yield "client", {"id": id, "method": "tools/call", "params": params}
        result = {"resultType": "complete", "content": BLOCKS, "isError": False}
        yield "server", {"id": id, "result": result}
