"""`make demo` ends with this: a server is made, called on stdio and HTTP, and looked at.

The server is what `mcpgen new` makes, and speaks every version; here an old one and the
newest. All that is sent (→) and comes back (←) is shown as it is on the wire. Then a call
is recorded, checked and drawn, and a typed client is made.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

OLD, NEWEST = "2025-03-26", "2026-07-28"
CALL = {"name": "count", "arguments": {"text": "Hello, world"}}
META = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientCapabilities": {},
}
FRAMES: dict[str, list[dict[str, Any]]] = {
    OLD: [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": OLD,
                "capabilities": {},
                "clientInfo": {"name": "demo", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": CALL},
    ],
    NEWEST: [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {**CALL, "_meta": META},
        }
    ],
}
PYTHON = [sys.executable, "-m"]


def main() -> None:
    """Make a server, ask it, and show what is said."""
    with tempfile.TemporaryDirectory() as directory:
        typed("mcpgen new weather", directory)
        source = Path(directory, "weather/src")
        print(f"\n{block(source / 'weather/server.py', '@server.tool')}")
        for version, frames in FRAMES.items():
            print(f"\npython -m weather, asked on stdio in {version}:")
            show(over_stdio(source, frames))
        with serving(source) as url:
            for version, frames in FRAMES.items():
                print(f"\npython -m weather --http, asked on HTTP in {version}:")
                show(over_http(url, frames))
            print()
            typed(f'mcpgen call {url} count text="Hello, world"', source)
        print()
        traced = "mcpgen trace -o session.jsonl -- python -m weather"
        typed(f'mcpgen call "{traced}" count text="Hello, world"', source)
        typed("mcpgen lint session.jsonl", source)
        typed("mcpgen view session.jsonl --mermaid", source)
        print()
        typed('mcpgen client "python -m weather" -o weather_client.py', source)
        print(f"\n{block(source / 'weather_client.py', 'class WeatherClient')}")


def typed(command: str, directory: str | Path) -> None:
    """A command, and what it prints."""
    print(f"$ {command}", flush=True)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        shlex.split(command),
        cwd=directory,
        env={**os.environ, "PATH": programs},
        check=True,
        timeout=60,
    )


def block(module: Path, mark: str) -> str:
    """The part of a module that has a mark."""
    (found,) = (b for b in module.read_text().split("\n\n\n") if mark in b)
    return found


def show(exchange: Iterable[tuple[str, str]]) -> None:
    """Each message on a line, with who sends it to whom."""
    for arrow, message in exchange:
        print(f"  {arrow} {message}", flush=True)


def over_stdio(source: Path, frames: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Line by line: a request, its answer, the next request."""
    with subprocess.Popen(
        [*PYTHON, "weather"],
        cwd=source,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as server:
        assert server.stdin
        assert server.stdout
        for frame in frames:
            text = json.dumps(frame, separators=(",", ":"))
            yield "→", text
            server.stdin.write(text + "\n")
            if "id" in frame:
                yield "←", server.stdout.readline().rstrip()


def over_http(url: str, frames: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """A POST for every message; what the old version calls a session is a header."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    for frame in frames:
        text = json.dumps(frame, separators=(",", ":"))
        yield "→", text
        if "_meta" in frame.get("params", {}):
            headers["MCP-Protocol-Version"] = NEWEST
            headers["Mcp-Method"] = frame["method"]
            headers["Mcp-Name"] = frame["params"]["name"]
        with urlopen(Request(url, text.encode(), headers), timeout=60) as answer:
            if session := answer.headers["Mcp-Session-Id"]:
                headers["Mcp-Session-Id"] = session
            if body := answer.read().decode():
                yield "←", body


@contextmanager
def serving(source: Path) -> Iterator[str]:
    """The server on HTTP: its address."""
    command = [*PYTHON, "weather", "--http", "--port", "0"]
    with subprocess.Popen(
        command, cwd=source, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr
        try:
            yield server.stderr.readline().split()[-1]
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
