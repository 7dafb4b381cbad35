"""Servers that say what a test tells them to say, frame by frame; and nothing is left.

`Line` is a server at the other end of a transport in memory, `child` the command of one
that is a process, and `Web` one that speaks HTTP, down to the bytes.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import selectors
import sys
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from mcpgen.runtime import Client
from mcpgen.runtime.transports import Connect, Receiver

T = TypeVar("T")

TIME_LIMIT = 60.0
"""Seconds after which a test has failed, whatever it waits for."""
LEAP_LIMIT = 10_000.0
ARRIVAL_SECONDS = 0.005
CLOSING_SECONDS = 10.0
"""So long may it take until what was closed is gone."""


# --- running a test -------------------------------------------------------------------


def run(
    main: Callable[[], Coroutine[Any, Any, None]],
    *,
    leap: bool = False,
    limit: float = TIME_LIMIT,
) -> None:
    """Run a test with a time limit; no task, process or open file may outlive it.

    With `leap` nobody waits: when nothing happens, the clock of the loop goes to the
    next thing that is due. A test that hangs then fails at once. It is not for what
    takes time outside of the loop: children, and sync handlers in their threads.
    """

    async def limited() -> None:
        before = _open_files() | _children()
        async with asyncio.timeout(LEAP_LIMIT if leap else limit):
            await main()
        end = asyncio.get_running_loop().time() + CLOSING_SECONDS
        while left := (_open_files() | _children()) - before | _tasks():
            # Both ends of a socket are closed in later turns of the loop.
            assert asyncio.get_running_loop().time() < end, f"left behind: {left}"
            await asyncio.sleep(0.001)

    with asyncio.Runner(loop_factory=_LeapingLoop if leap else None) as runner:
        runner.run(limited())


class _LeapingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__(_LeapingSelector())

    def time(self) -> float:
        selector: _LeapingSelector = self._selector  # type: ignore[attr-defined]
        return selector.now


class _LeapingSelector(selectors.DefaultSelector):
    now = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._end = time.monotonic() + TIME_LIMIT

    def select(self, timeout: float | None = None) -> Any:
        if time.monotonic() > self._end:
            self._end = math.inf  # so that everything can be tidied up
            raise TimeoutError("busy for ever")
        # What was sent to oneself over a socket arrives almost at once.
        wait = timeout if not timeout else min(timeout, ARRIVAL_SECONDS)
        ready = super().select(wait)
        if not ready and timeout:
            self.now += timeout
        return ready


def _open_files() -> set[str]:
    found = set()
    for fd in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(f"{fd} is {os.readlink(f'/proc/self/fd/{fd}')}")
    return {file for file in found if "/proc/" not in file}  # that of the listing


def _children() -> set[str]:
    tasks = Path("/proc/self/task").glob("*/children")
    return {f"process {pid}" for task in tasks for pid in _text(task).split()}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # a thread that ended meanwhile
        return ""


def _tasks() -> set[str]:
    return {repr(t) for t in asyncio.all_tasks() if t is not asyncio.current_task()}


@asynccontextmanager
async def during(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Let something go on beside; it must have ended when the block has."""
    task = asyncio.create_task(work)
    try:
        yield task
        await asyncio.wait([task])
    finally:
        task.cancel()
        await asyncio.wait([task])


@asynccontextmanager
async def opened(client: Client, greeting: Coroutine[Any, Any, Any]) -> Any:
    """A client that is connected while the server does its part of the greeting."""
    async with asyncio.TaskGroup() as group:
        opening = group.create_task(client.__aenter__())
        group.create_task(greeting)
    try:
        yield opening.result()
    finally:
        await client.close()


# --- frames ---------------------------------------------------------------------------


def result(id: Any, value: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": value})


def error(id: Any, code: int, message: str = "no", **more: Any) -> str:
    told = {"code": code, "message": message, **more}
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": told})


def told(method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params})


def text_of(outcome: Any) -> str:
    """The text that is the first thing in a result."""
    text: str = outcome.content[0].text
    return text


def text_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


INFO = {"name": "scripted", "version": "1"}
OFFERS: dict[str, Any] = {
    "tools": {},
    "resources": {"subscribe": True},
    "prompts": {},
    "logging": {},
}


def initialized(version: str, capabilities: Any = None) -> dict[str, Any]:
    """The result of `initialize`."""
    offers = OFFERS if capabilities is None else capabilities
    return {"protocolVersion": version, "capabilities": offers, "serverInfo": INFO}


def discovered(*versions: str, capabilities: Any = None) -> dict[str, Any]:
    """The result of `server/discover`."""
    return {
        "resultType": "complete",
        "supportedVersions": list(versions),
        "capabilities": OFFERS if capabilities is None else capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": INFO},
    }


# --- a line ---------------------------------------------------------------------------


class Line:
    """A transport whose other end is the test; every call of it is a new connection."""

    def __init__(self) -> None:
        self.connections = 0
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()
        self._receiver: Receiver
        self._over: asyncio.Future[None]

    async def __call__(self, connect: Connect) -> None:
        self.connections += 1
        self._over = asyncio.get_running_loop().create_future()
        self._receiver = connect(self)
        await self._over

    def write(self, data: bytes) -> None:
        self._frames.put_nowait(data)

    async def drain(self) -> None:
        pass

    async def heard(self) -> bytes:
        """The next frame of the client."""
        return await self._frames.get()

    async def message(self) -> Any:
        """The next frame of the client, read."""
        return json.loads(await self.heard())

    async def expect(self, *literals: str) -> None:
        """The client's next frames are these, byte for byte."""
        for literal in literals:
            assert await self.heard() == literal.encode()

    def silent(self) -> bool:
        """Has the client nothing more to say?"""
        return self._frames.empty()

    async def says(self, *frames: str | bytes) -> None:
        """Send frames, whatever they are."""
        for frame in frames:
            data = frame if isinstance(frame, bytes) else frame.encode()
            if (busy := self._receiver.receive(data)) is not None:
                await busy

    async def answers(self, value: Any) -> Any:
        """Answer the client's next request with a result; the request."""
        asked = await self.message()
        await self.says(result(asked["id"], value))
        return asked

    async def refuses(self, code: int, **more: Any) -> Any:
        """Answer the client's next request with an error; the request."""
        asked = await self.message()
        await self.says(error(asked["id"], code, **more))
        return asked

    def hangs_up(self, problem: Exception | None = None) -> None:
        if problem is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(problem)

    async def greets(self, version: str, capabilities: Any = None) -> None:
        """Open a session, or say that none is needed, as the version demands."""
        asked = await self.message()
        if asked["method"] == "server/discover":
            await self.says(
                result(asked["id"], discovered(version, capabilities=capabilities))
            )
        else:
            await self.says(result(asked["id"], initialized(version, capabilities)))
            assert (await self.message())["method"] == "notifications/initialized"


# --- a process ------------------------------------------------------------------------

CHILD = """
import os, sys, time

def log(line):
    with open(sys.argv[1], "a+b") as file:
        file.write(line)
        file.seek(0)
        return file.read()

steps = sys.argv[2:]
for _ in range(log(b"started\\n").count(b"started\\n") - 1):
    steps = steps[steps.index("again") + 1 :] if "again" in steps else steps
for step in steps:
    word, _, rest = step.partition(" ")
    if word == "again":
        break
    elif word == "hear":
        log(sys.stdin.buffer.readline())
    elif word == "say":
        os.write(1, rest.encode() + b"\\n")
    elif word == "mumble":
        os.write(1, rest.encode())
    elif word == "drip":
        for byte in rest.encode() + b"\\n":
            os.write(1, bytes([byte]))
            time.sleep(0.0002)
    elif word == "flood":
        for _ in range(int(rest)):
            sys.stdout.buffer.write(b"x" * 1_000_000)
        sys.stdout.buffer.write(b"\\n")
        sys.stdout.buffer.flush()
    elif word == "cry":
        os.write(2, rest.encode() + b"\\n")
    elif word == "exit":
        os._exit(int(rest))
    elif word == "kill":
        os.kill(os.getpid(), int(rest))
while sys.stdin.buffer.readline():
    pass
"""
"""What a child does: one step after another, and then nothing until its stdin ends.

`again` ends the steps of one life; the next time that it is started it goes on there,
and lives its last life again when there are no more.
"""


def child(log: Path, *steps: str) -> list[str]:
    """The command of a child; what it hears is in the log."""
    return [sys.executable, "-I", "-S", "-c", CHILD, str(log), *steps]


def heard_by(log: Path) -> list[list[Any]]:
    """The messages that a child has heard, in each of its lives."""
    lives = log.read_bytes().split(b"started\n")[1:]
    return [[json.loads(line) for line in life.splitlines()] for life in lives]


def session(version: str, *steps: str) -> list[str]:
    """The steps of a child that opens a session, whose first request was the first."""
    hello = f"say {result(1, initialized(version))}"
    return ["hear", hello, "hear", *steps]


# --- HTTP -----------------------------------------------------------------------------


class Exchange:
    """One request that came, and the answer that the test gives."""

    def __init__(
        self, head: list[str], body: bytes, reader: StreamReader, writer: StreamWriter
    ) -> None:
        self.method, self.path, _ = head[0].split(" ")
        self.headers: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            assert name.lower() not in self.headers, f"{name} came twice"
            self.headers[name.lower()] = value.strip()
        self.body = body
        self.over = asyncio.Event()
        self._reader = reader
        self._writer = writer

    @property
    def message(self) -> Any:
        return json.loads(self.body)

    def raw(self, data: bytes) -> None:
        """Send bytes."""
        self._writer.write(data)

    def answer(self, status: int, body: str | bytes = b"", **headers: str) -> None:
        """A whole answer; it is JSON if nothing else is said."""
        data = body if isinstance(body, bytes) else body.encode()
        kind = {"content-type": "application/json"} if data else {}
        length = {"content-length": str(len(data))}
        self.raw(self._head(status, kind | length | headers) + data)
        self.over.set()

    def result(self, value: Any, **headers: str) -> None:
        self.answer(200, result(self.message["id"], value), **headers)

    def stream(self, **headers: str) -> None:
        """Begin a stream of events, which ends when the connection does."""
        kind = {"content-type": "text/event-stream", "connection": "close"}
        self.raw(self._head(200, kind | headers))

    def event(self, data: str, *fields: str) -> None:
        lines = [*fields, *(f"data: {line}" for line in data.split("\n"))]
        self.raw("".join(f"{line}\n" for line in [*lines, ""]).encode())

    def _head(self, status: int, headers: dict[str, str]) -> bytes:
        lines = [f"HTTP/1.1 {status} OK"]
        lines += [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def cut(self) -> None:
        """Hang up."""
        self._writer.close()
        self.over.set()

    def reset(self) -> None:
        """Hang up in the rudest way."""
        self._writer.transport.abort()
        self.over.set()

    async def left(self) -> None:
        """Wait until the client hangs up."""
        with suppress(ConnectionError):
            assert await self._reader.read() == b""
        self.cut()


_numbers = count()


class Web:
    """A server on a port of its own; what comes in waits for the test to answer it."""

    def __init__(self, *, ignored: tuple[str, ...] = ("GET", "DELETE")) -> None:
        self.ignored = ignored
        """Methods that are refused without bothering the test."""
        self.connections = 0
        self._exchanges: asyncio.Queue[Exchange] = asyncio.Queue()
        self._serving: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        # Clients remember servers by their URLs, and a port may be given out again.
        self.path = f"/mcp/{next(_numbers)}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"

    async def __aenter__(self) -> Web:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()
        self._server = None
        for task in self._serving:
            task.cancel()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections += 1
        self._serving.add(task)
        try:
            # The streams of asyncio complain of a handler that was cancelled.
            with suppress(asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
                while self._server is not None and not writer.is_closing():
                    await self._one(reader, writer)
        finally:
            self._serving.discard(task)
            writer.transport.abort() if self._server is None else writer.close()

    async def _one(self, reader: StreamReader, writer: StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        exchange = Exchange(head.rstrip().split("\r\n"), b"", reader, writer)
        length = int(exchange.headers.get("content-length", "0"))
        exchange.body = await reader.readexactly(length)
        if exchange.method in self.ignored:
            exchange.answer(405)
        else:
            self._exchanges.put_nowait(exchange)
        await exchange.over.wait()

    async def asked(self, method: str = "") -> Exchange:
        """The next request; for this method, if it is one of the protocol's."""
        exchange = await self._exchanges.get()
        if method:
            assert exchange.message["method"] == method
        return exchange

    def silent(self) -> bool:
        """Has nothing more come?"""
        return self._exchanges.empty()

    async def greets(
        self, version: str, capabilities: Any = None, session: str = ""
    ) -> list[Exchange]:
        """Do a server's part of the opening; what the client sent."""
        first = await self.asked()
        if first.message["method"] == "server/discover":
            first.result(discovered(version, capabilities=capabilities))
            return [first]
        headers = {"mcp_session_id": session} if session else {}
        first.result(initialized(version, capabilities), **headers)
        second = await self.asked("notifications/initialized")
        second.answer(202)
        return [first, second]
