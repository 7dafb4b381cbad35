"""One end of a connection, for scripted exchanges over HTTP.

The client is written by hand, down to the bytes of HTTP: what a server sends is looked
at before any library has made it nicer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import re
import subprocess
import sys
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TextIO

from mcpgen.protocol import load

from .exchange import SERVERS, Client, members

ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"
START_SECONDS = 30.0
STOP_SECONDS = 10.0
JSON = "application/json"
EVENTS = "text/event-stream"


# --- a server process -----------------------------------------------------------------


@contextmanager
def serving(server: str) -> Iterator[int]:
    """A server in a process of its own: the port that it chose to listen on."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", SERVERS[server], "--port", "0"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    said: queue.SimpleQueue[str] = queue.SimpleQueue()
    listener = threading.Thread(target=_listen_to, args=(process.stderr, said))
    listener.start()
    try:
        yield _announced_port(said)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        finally:
            process.kill()  # does nothing to one that has ended
            process.wait()
            listener.join()


def _listen_to(stderr: TextIO, said: queue.SimpleQueue[str]) -> None:
    """Read to the end, so that the server never waits for a reader."""
    with stderr:
        for line in stderr:
            said.put(line)
    said.put("")


def _announced_port(said: queue.SimpleQueue[str]) -> int:
    heard = ""
    while line := said.get(timeout=START_SECONDS):
        heard += line
        if found := re.search(r" serves http://127\.0\.0\.1:(\d+)/mcp$", line.rstrip()):
            return int(found[1])
    raise RuntimeError(f"the server does not listen; it said:\n{heard}")


# --- HTTP -----------------------------------------------------------------------------


class Response:
    """The answer to one request, on a connection of its own."""

    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        reader: StreamReader,
        writer: StreamWriter,
    ) -> None:
        self.status = status
        self.headers = headers
        self._reader = reader
        self._writer = writer

    @property
    def kind(self) -> str:
        """The content type, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0]

    async def body(self) -> bytes:
        """All of the body, to its end."""
        return b"".join([piece async for piece in self._pieces()])

    async def events(self) -> AsyncIterator[tuple[str, str]]:
        """The name and the data of each event."""
        text = b""
        async for piece in self._pieces():
            text += piece
            while b"\n\n" in text:
                block, _, text = text.partition(b"\n\n")
                fields = _fields(block.decode("utf-8"))
                if fields:
                    yield fields.get("event", "message"), fields.get("data", "")
        assert not text, f"half an event: {text!r}"

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(await self._reader.readline(), 16):
                yield await self._reader.readexactly(size)
                await self._reader.readline()
        elif "content-length" in self.headers:
            yield await self._reader.readexactly(int(self.headers["content-length"]))
        else:
            yield await self._reader.read()

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def _fields(block: str) -> dict[str, str]:
    """The fields of one event; a comment has none."""
    made: dict[str, str] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and "data" in made:
            value = made["data"] + "\n" + value
        if name:
            made[name] = value
    return made


async def request(
    port: int, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> Response:
    """Ask; the answer is there as soon as its headers are."""
    reader, writer = await asyncio.open_connection(HOST, port)
    said = {"Host": f"{HOST}:{port}", "Connection": "close", **headers}
    if body or method == "POST":
        said["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in said.items())
    writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("ascii") + body)
    try:
        await writer.drain()
        return await _answer(reader, writer)
    except BaseException:
        writer.close()
        raise


async def _answer(reader: StreamReader, writer: StreamWriter) -> Response:
    status = int((await reader.readline()).split()[1])
    headers: dict[str, str] = {}
    while line := (await reader.readline()).strip().decode("latin-1"):
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Response(status, headers, reader, writer)


# --- what both kinds of HTTP client do ------------------------------------------------


class _Inbox:
    """Frames of all streams, in the order in which they came, and what went wrong."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[bytes | BaseException] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, frame: bytes) -> None:
        self._frames.put_nowait(frame)

    def start(self, running: Any) -> asyncio.Task[None]:
        """Do it beside the script; if it fails, who waits for a frame is told."""
        task: asyncio.Task[None] = asyncio.create_task(running)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._frames.put_nowait(error)

    async def get(self) -> bytes:
        frame = await self._frames.get()
        if isinstance(frame, BaseException):
            raise frame
        return frame

    async def rest(self) -> list[bytes]:
        return [await self.get() for _ in range(self._frames.qsize())]

    async def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


# --- Streamable HTTP ------------------------------------------------------------------


@asynccontextmanager
async def streamable_client(port: int) -> AsyncIterator[Client]:
    """A session over Streamable HTTP."""
    client = _StreamableClient(port)
    try:
        yield client
    finally:
        await client.close()


class _StreamableClient:
    def __init__(self, port: int) -> None:
        self.inbox = _Inbox()
        self._port = port
        self._headers: dict[str, str] = {}
        """What every request carries once a session is open."""
        self._responses: list[Response] = []
        self._posts: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None

    async def send(self, data: bytes, status: int | None) -> None:
        if self._headers and self._listening is None:
            self._listening = await self._listen()
        asks = any("method" in each and "id" in each for each in members(data))
        usual = 200 if asks else 202
        post = self.inbox.start(self._post(data, usual if status is None else status))
        self._posts.append(post)
        if not asks:
            await post  # so that what is sent next comes after it

    async def next_frame(self) -> bytes:
        return await self.inbox.get()

    async def finish(self) -> list[bytes]:
        """Every answer ends, also where none was due; then the session does."""
        await asyncio.gather(*self._posts)
        if "Mcp-Session-Id" in self._headers:
            response = await self._request("DELETE", {})
            assert response.status in (200, 204), response.status
        if self._listening is not None:
            await self._listening
        return await self.inbox.rest()

    async def close(self) -> None:
        """Hang up everywhere, however the exchange went."""
        await self.inbox.cancel()
        for response in self._responses:
            await response.close()

    async def _request(
        self, method: str, headers: dict[str, str], body: bytes = b""
    ) -> Response:
        said = {**headers, **self._headers}
        response = await request(self._port, method, "/mcp", said, body)
        self._responses.append(response)
        return response

    async def _listen(self) -> asyncio.Task[None]:
        """Open the stream for what belongs to no request."""
        response = await self._request("GET", {"Accept": EVENTS})
        assert (response.status, response.kind) == (200, EVENTS)
        return self.inbox.start(self._read(response))

    async def _post(self, data: bytes, status: int) -> None:
        accept = {"Accept": f"{JSON}, {EVENTS}", "Content-Type": JSON}
        response = await self._request("POST", accept, data)
        self._take_session(response)
        assert response.status == status, (response.status, data)
        await self._read(response)

    def _take_session(self, response: Response) -> None:
        name = response.headers.get("mcp-session-id")
        if name is not None:
            assert all("!" <= character <= "~" for character in name), name
            self._headers.setdefault("Mcp-Session-Id", name)

    async def _read(self, response: Response) -> None:
        if response.kind == EVENTS:
            async for name, data in response.events():
                # Old clients know of no other events, nor of empty ones.
                assert name == "message", name
                self._deliver(data.encode("utf-8"))
        elif body := await response.body():
            assert response.status != 202, body
            assert response.kind == JSON, response.kind
            self._deliver(body)

    def _deliver(self, data: bytes) -> None:
        frame = json.loads(data)
        result = frame.get("result") if isinstance(frame, dict) else None
        if isinstance(result, dict) and "protocolVersion" in result:
            version = result["protocolVersion"]
            if load(version).methods.TRAITS.version_header:
                self._headers["MCP-Protocol-Version"] = version
        self.inbox.put(data)


# --- HTTP+SSE -------------------------------------------------------------------------


@asynccontextmanager
async def sse_client(port: int) -> AsyncIterator[Client]:
    """A connection over HTTP+SSE: one stream to read, one address to post to."""
    response = await request(port, "GET", "/sse", {"Accept": EVENTS})
    client = _SseClient(port, response)
    try:
        assert (response.status, response.kind) == (200, EVENTS)
        await client.open()
        yield client
    finally:
        await client.inbox.cancel()
        await response.close()


class _SseClient:
    def __init__(self, port: int, response: Response) -> None:
        self.inbox = _Inbox()
        self._port = port
        self._response = response
        self._endpoint: asyncio.Future[str] = asyncio.Future()

    async def open(self) -> None:
        """Wait for the address to post to."""
        reading = self.inbox.start(self._read())
        await asyncio.wait(
            (self._endpoint, reading), return_when=asyncio.FIRST_COMPLETED
        )
        assert self._endpoint.done(), "the stream has ended"

    async def _read(self) -> None:
        async for name, data in self._response.events():
            if not self._endpoint.done():
                assert name == "endpoint", name
                self._endpoint.set_result(data)
            else:
                assert name == "message", name
                self.inbox.put(data.encode("utf-8"))

    async def send(self, data: bytes, status: int | None) -> None:
        path = self._endpoint.result()
        assert path.startswith("/messages"), path
        kind = {"Content-Type": JSON}
        response = await request(self._port, "POST", path, kind, data)
        await response.close()
        assert response.status == 202, (response.status, data)

    async def next_frame(self) -> bytes:
        return await self.inbox.get()

    async def finish(self) -> list[bytes]:
        return await self.inbox.rest()
