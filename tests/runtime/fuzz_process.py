"""A real server process over stdio, with a client that never waits for ever."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from .fuzz_oracle import Judge, Key

PROGRAM = Path(__file__).with_name("fuzz_server.py")
PATIENCE = 60.0
"""Seconds for anything that the server must do."""


class Process:
    """The server's process; its stderr is kept."""

    def __init__(self, popen: asyncio.subprocess.Process) -> None:
        self.popen = popen
        self.errors = bytearray()
        self._said = asyncio.Event()
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        assert self.popen.stderr is not None
        while chunk := await self.popen.stderr.read(2**16):
            self.errors += chunk
            self._said.set()

    async def said_more(self) -> None:
        """Wait until it wrote something to stderr."""
        await self._said.wait()
        self._said.clear()

    async def ended(self) -> int:
        """The exit code, once it has ended and all it wrote was read."""
        async with asyncio.timeout(PATIENCE):
            await self._listening
            return await self.popen.wait()

    async def kill(self) -> None:
        """End it, if it has not ended."""
        if self.popen.returncode is None:
            self.popen.kill()
        await self.popen.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)


def environment() -> dict[str, str]:
    """The server finds what this process finds."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@asynccontextmanager
async def started(
    *arguments: str, stdin: int, stdout: int | None = None
) -> AsyncIterator[Process]:
    """Start the server program; it is gone afterwards."""
    popen = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", str(PROGRAM), *arguments),
        stderr=asyncio.subprocess.PIPE,
        limit=2**26,
        env=environment(),
        stdin=stdin,
        stdout=stdout,
    )
    process = Process(popen)
    try:
        yield process
    finally:
        await process.kill()


class Line:
    """A client of a stdio server that keeps the account of what is said."""

    def __init__(self, process: Process, judge: Judge) -> None:
        self.process = process
        self.judge = judge
        self.answers: dict[Key, Any] = {}
        """The frames that came with an id, the last of each."""
        self.notifications: list[Any] = []
        self.page: list[bytes] = []
        """All that was read, until somebody clears it."""
        self._changed = asyncio.Condition()
        self._failure: BaseException | None = None
        self._over = False
        self._ids = iter(range(10**9))
        self._reading = asyncio.create_task(self._read())

    # --- reading ----------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            async for line in self.lines():
                self.page.append(line)
                self.judge.received(line)
                self._note(json.loads(line))
                async with self._changed:
                    self._changed.notify_all()
        except BaseException as failure:
            self._failure = failure
        finally:
            self._over = True
            async with self._changed:
                self._changed.notify_all()

    async def lines(self) -> AsyncIterator[bytes]:
        """What the server sends, one message at a time."""
        assert self.process.popen.stdout is not None
        while line := await self.process.popen.stdout.readline():
            assert line.endswith(b"\n"), f"half a line: {line[-100:]!r}"
            yield line

    def _note(self, frame: Any) -> None:
        for one in frame if isinstance(frame, list) else [frame]:
            if "method" in one:
                if "id" not in one:
                    self.notifications.append(one)
            elif one.get("id") is not None:
                self.answers[type(one["id"]), one["id"]] = one

    async def until(self, what: Any, about: object = "") -> None:
        """Wait until `what()` is true; say `about` when it does not come true."""
        try:
            async with asyncio.timeout(PATIENCE), self._changed:
                while not what():
                    if self._failure is not None:
                        raise self._failure
                    assert not self._over, f"the server ended: {self.stderr()}"
                    await self._changed.wait()
        except TimeoutError:
            state = self.judge.problem()
            raise AssertionError(f"nothing came: {about} ({state})") from None

    def stderr(self) -> str:
        """What the server complained about."""
        return self.process.errors.decode("utf-8", "replace")

    # --- writing ----------------------------------------------------------------------

    async def write(self, data: bytes, random: Random | None = None) -> None:
        """Bytes to the server's stdin, in pieces of any size."""
        assert self.process.popen.stdin is not None
        stdin = self.process.popen.stdin
        at = 0
        while at < len(data):
            size = len(data) if random is None else random.choice((1, 7, 300, 2**20))
            stdin.write(data[at : at + size])
            at += size
            await stdin.drain()

    async def send(self, frame: Any) -> Key:
        """One good message; the key of its id."""
        await self.send_text(json.dumps(frame).encode())
        return type(frame.get("id")), frame.get("id")

    async def send_text(self, data: bytes) -> None:
        """One message, written already."""
        self.judge.sent(data)
        await self.write(data + b"\n")

    async def hold(self, frame: Any) -> Key:
        """One good request that certainly stays in flight."""
        data = json.dumps(frame).encode()
        key = self.judge.hold(data)
        await self.write(data + b"\n")
        return key

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """A request with an id of its own."""
        frame = {"jsonrpc": "2.0", "id": f"own-{next(self._ids)}", "method": method}
        return frame if params is None else frame | {"params": params}

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A call of a tool with an id of its own."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    async def ask(self, frame: Any) -> Any:
        """Send a request and wait for its result."""
        key = await self.send(frame)
        await self.until(lambda: key in self.answers, frame)
        answer = self.answers.pop(key)
        assert "result" in answer, answer
        return answer["result"]

    async def initialize(self, version: str, **capabilities: Any) -> None:
        """Open the session."""
        await self.ask(
            self.request(
                "initialize",
                {
                    "protocolVersion": version,
                    "capabilities": capabilities,
                    "clientInfo": {"name": "fuzz", "version": "1"},
                },
            )
        )
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def stop(self) -> None:
        """Read no more."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def close(self) -> None:
        """Close stdin."""
        assert self.process.popen.stdin is not None
        self.process.popen.stdin.close()

    async def end(self) -> int:
        """Close stdin and read to the end; the exit code."""
        await self.close()
        async with asyncio.timeout(PATIENCE):
            await self._reading
        if self._failure is not None:
            raise self._failure
        return await self.process.ended()


@asynccontextmanager
async def stdio(judge: Judge | None = None) -> AsyncIterator[Line]:
    """A server process and a client that talks to it over stdio."""
    pipe = asyncio.subprocess.PIPE
    async with started(stdin=pipe, stdout=pipe) as process:
        line = Line(process, judge or Judge())
        try:
            yield line
        finally:
            await line.stop()
