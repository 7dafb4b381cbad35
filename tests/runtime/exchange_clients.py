"""One end of a connection, for scripted exchanges in memory and over pipes."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

from mcpgen.runtime.transports import Receiver, Writer
from mcpgen.runtime.transports.memory import join

from .exchange import SERVERS, Client

ROOT = Path(__file__).parents[2]
LONGEST_LINE = 2**20


# --- memory ---------------------------------------------------------------------------


@asynccontextmanager
async def memory_client(server: str) -> AsyncIterator[Client]:
    """A connection to a server inside this process."""
    client = _MemoryClient()
    connection = join(import_module(SERVERS[server]).server.attach, client.connect)
    try:
        yield client
    finally:
        await connection.close()


class _MemoryClient:
    def __init__(self) -> None:
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()

    def connect(self, writer: Writer) -> Receiver:
        self._writer = writer
        return self

    def receive(self, data: bytes) -> None:
        self._frames.put_nowait(data)

    def closed(self) -> None:
        pass

    async def send(self, data: bytes, status: int | None) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def next_frame(self) -> bytes:
        return await self._frames.get()

    async def finish(self) -> list[bytes]:
        return [self._frames.get_nowait() for _ in range(self._frames.qsize())]


# --- stdio ----------------------------------------------------------------------------


@asynccontextmanager
async def stdio_client(server: str) -> AsyncIterator[Client]:
    """A connection to a server that is started for it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", SERVERS[server]),
        cwd=ROOT,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        limit=LONGEST_LINE,
    )
    assert process.stderr is not None
    complaints = asyncio.create_task(process.stderr.read())
    try:
        yield _StdioClient(process)
    except BaseException as error:
        if process.returncode is None:
            process.kill()
        error.add_note((await complaints).decode(errors="replace"))
        raise
    finally:
        await asyncio.gather(process.wait(), complaints)


class _StdioClient:
    def __init__(self, process: Process) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    async def send(self, data: bytes, status: int | None) -> None:
        self._in.write(data + b"\n")
        await self._in.drain()

    async def next_frame(self) -> bytes:
        line = await self._out.readline()
        assert line.endswith(b"\n"), f"the server has ended; last it wrote {line!r}"
        return line

    async def finish(self) -> list[bytes]:
        """Hang up as clients do; the server ends by itself, and well."""
        self._in.close()
        left = (await self._out.read()).splitlines()
        assert await self._process.wait() == 0
        return left
