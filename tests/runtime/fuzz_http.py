"""A client of HTTP servers that can be as wrong as a socket allows."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from .fuzz_oracle import Judge
from .fuzz_process import PATIENCE, Line, Process, started

JSON = "application/json"
EVENTS = "text/event-stream"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass
class Response:
    """What came back; the body may be read while it still grows."""

    status: int
    headers: dict[str, str]
    body: bytearray = field(default_factory=bytearray)

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]

    def events(self) -> list[tuple[str, bytes]]:
        """The (id, data) of every event that is complete."""
        *blocks, _ = re.split(rb"\r?\n\r?\n", bytes(self.body))
        found = []
        for block in blocks:
            fields = [line.partition(b":") for line in block.splitlines()]
            data = [
                value.removeprefix(b" ") for name, _, value in fields if name == b"data"
            ]
            ids = [value.strip().decode() for name, _, value in fields if name == b"id"]
            if data:
                found.append((ids[-1] if ids else "", b"\n".join(data)))
        return found

    def messages(self) -> list[bytes]:
        """The JSON-RPC messages in it."""
        if self.kind == EVENTS:
            return [data for _, data in self.events() if data]
        return [bytes(self.body)] if self.kind == JSON else []


class Connection:
    """One TCP connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer

    async def write(self, data: bytes) -> None:
        with suppress(ConnectionError):  # it may have refused us already
            self._writer.write(data)
            await self._writer.drain()

    async def head(self) -> Response | None:
        """Status and headers; None when the server just hangs up."""
        try:
            while True:
                head = await self._reader.readuntil(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")[:-2]
                status = int(first.split()[1])
                if status != 100:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        pairs = (line.partition(":") for line in lines)
        return Response(
            status, {name.lower(): value.strip() for name, _, value in pairs}
        )

    async def more(self, response: Response) -> bool:
        """Read a part of the body; False at its end."""
        if response.headers.get("transfer-encoding") == "chunked":
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            response.body += (await self._reader.readexactly(size + 2))[:-2]
            return size > 0
        left = int(response.headers.get("content-length", "0")) - len(response.body)
        response.body += await self._reader.readexactly(left)
        return False

    async def response(self) -> Response | None:
        """All of the next response."""
        response = await self.head()
        if response is not None:
            while await self.more(response):
                pass
        return response

    def end_of_input(self) -> None:
        """Nothing more will be sent; what comes is still read."""
        if self._writer.can_write_eof() and not self._writer.is_closing():
            with suppress(OSError):  # the other end may have gone, unnoticed yet
                self._writer.write_eof()

    def drop(self) -> None:
        """Be gone, without a word."""
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


class Site:
    """A server process that speaks HTTP."""

    def __init__(self, process: Process, port: int) -> None:
        self.process = process
        self.port = port

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, limit=2**26
        )
        connection = Connection(reader, writer)
        try:
            yield connection
        finally:
            await connection.close()

    def bytes_of(
        self,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        method: str = "POST",
        path: str = "/mcp",
    ) -> bytes:
        """A request as it should be, but for what `headers` say; empty ones go."""
        said = {
            "Host": f"127.0.0.1:{self.port}",
            "Content-Type": JSON,
            "Accept": f"{JSON}, {EVENTS}",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }
        lines = [f"{name}: {value}" for name, value in said.items() if value]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        return head.encode("latin-1") + body

    async def send(
        self, body: bytes = b"", headers: Mapping[str, str] | None = None, **how: str
    ) -> Response:
        """One request on a connection of its own, and all of its response."""
        async with asyncio.timeout(PATIENCE), self.connection() as connection:
            await connection.write(self.bytes_of(body, headers, **how))
            response = await connection.response()
        assert response is not None, "no response"
        return response

    async def ask(self, frame: Any, headers: Mapping[str, str] | None = None) -> Any:
        """One good request; its result."""
        response = await self.send(json.dumps(frame).encode(), headers or modern(frame))
        answer = json.loads(response.messages()[-1])
        assert "result" in answer, answer
        return answer["result"]

    async def open_session(self, version: str, **capabilities: Any) -> dict[str, str]:
        """Initialize; the headers that all further requests need."""
        params = {
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "fuzz", "version": "1"},
        }
        frame = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        response = await self.send(json.dumps(frame).encode())
        assert response.status == 200, response
        session = {"Mcp-Session-Id": response.headers["mcp-session-id"]}
        session["MCP-Protocol-Version"] = version
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        response = await self.send(json.dumps(done).encode(), session)
        assert response.status == 202, response
        return session


def modern(frame: Any, version: str = "2026-07-28") -> dict[str, str]:
    """The headers that repeat what a modern request says."""
    headers = {"MCP-Protocol-Version": version}
    if not isinstance(frame, dict):
        return headers
    method, params = frame.get("method"), frame.get("params")
    if isinstance(method, str):
        headers["Mcp-Method"] = encoded(method)
        name = params.get(NAMES.get(method)) if isinstance(params, dict) else None
        if isinstance(name, str):
            headers["Mcp-Name"] = encoded(name)
    return headers


def encoded(value: str) -> str:
    """As the value of a header."""
    if re.fullmatch(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?", value):
        return value
    return f"=?base64?{b64encode(value.encode('utf-8', 'replace')).decode()}?="


@asynccontextmanager
async def http() -> AsyncIterator[Site]:
    """A server process that listens on a port of its choice."""
    async with started("0", stdin=asyncio.subprocess.DEVNULL) as process:
        found = None
        async with asyncio.timeout(PATIENCE):
            while found is None:
                await process.said_more()
                found = re.search(rb"http://127\.0\.0\.1:(\d+)", process.errors)
        yield Site(process, int(found[1]))


class SseLine(Line):
    """The client of a 2024-11-05 server: reads one stream, and posts each message."""

    def __init__(
        self, site: Site, stream: Connection, response: Response, judge: Judge
    ) -> None:
        self._site = site
        self._stream = stream
        self._response = response
        _, endpoint = response.events()[0]
        self._endpoint = endpoint.decode()
        super().__init__(site.process, judge)

    async def lines(self) -> AsyncIterator[bytes]:
        self._response.body.clear()
        while await self._stream.more(self._response):
            for _, message in self._response.events():
                yield message
            _, _, rest = bytes(self._response.body).rpartition(b"\n\n")
            self._response.body[:] = rest

    async def write(self, data: bytes, random: Random | None = None) -> None:
        async with asyncio.timeout(PATIENCE), self._site.connection() as connection:
            for line in filter(
                None, (line.strip(b" \t\r") for line in data.split(b"\n"))
            ):
                await connection.write(self._site.bytes_of(line, path=self._endpoint))
                response = await connection.response()
                assert response is not None
                assert response.status in (202, 400), response


@asynccontextmanager
async def sse(site: Site, judge: Judge) -> AsyncIterator[SseLine]:
    """A connection by HTTP+SSE."""
    async with site.connection() as stream:
        await stream.write(site.bytes_of(b"", method="GET", path="/sse"))
        response = await stream.head()
        assert response is not None
        assert response.status == 200
        while not response.events():
            await stream.more(response)
        line = SseLine(site, stream, response, judge)
        try:
            yield line
        finally:
            await line.stop()
