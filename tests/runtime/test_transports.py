"""Transports that are not a process or HTTP: memory, and one of one's own over TCP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcpgen.runtime import Context, Server
from mcpgen.runtime.transports import Writer, memory

from . import tcp

HELLO = (
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":'
    '"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
)


def make() -> Server:
    server = Server("here", version="1.0")

    @server.tool
    async def echo(text: str, *, ctx: Context) -> str:
        """Say it again."""
        await ctx.progress(1, 2)
        return text

    return server


def call(id: int, text: str) -> str:
    params = {
        "name": "echo",
        "arguments": {"text": text},
        "_meta": {"progressToken": id},
    }
    frame = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    return json.dumps(frame)


class End:
    """The client's end of a connection in memory."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[Any] = asyncio.Queue()
        self.gone = asyncio.Event()
        self.writer: Writer

    def connect(self, writer: Writer) -> End:
        self.writer = writer
        return self

    def receive(self, data: bytes) -> None:
        self.received.put_nowait(json.loads(data))

    def closed(self) -> None:
        self.gone.set()


def test_a_server_and_its_client_in_one_process() -> None:
    async def main() -> None:
        async with asyncio.timeout(10):
            client = End()
            connection = memory.join(make().attach, client.connect)
            client.writer.write(HELLO.encode())
            hello = await client.received.get()
            assert hello["result"]["protocolVersion"] == "2025-06-18"
            for id in range(1, 300):
                client.writer.write(call(id, f"text {id}").encode())
            seen: dict[int, list[str]] = {}
            for _ in range(2 * 299):
                frame = await client.received.get()
                id = frame.get("id") or frame["params"]["progressToken"]
                seen.setdefault(id, []).append(frame.get("method", "answer"))
            assert set(map(tuple, seen.values())) == {
                ("notifications/progress", "answer")
            }
            await connection.close()
            assert client.gone.is_set()
            client.writer.write(HELLO.encode())  # nobody there, and nothing happens
            assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_transport_of_ones_own() -> None:
    async def main() -> None:
        async with asyncio.timeout(10):
            listening = await tcp.listen(make().attach)
            port = listening.sockets[0].getsockname()[1]
            clients = [await asyncio.open_connection("127.0.0.1", port) for _ in "ab"]
            for name, (_, sink) in zip("ab", clients, strict=True):
                sink.write(f"{HELLO}\n{call(1, name)}\n".encode())
            for name, (source, sink) in zip("ab", clients, strict=True):
                frames = [json.loads(await source.readline()) for _ in range(3)]
                assert frames[1]["method"] == "notifications/progress"
                assert frames[2]["result"]["content"][0]["text"] == name
                sink.write_eof()
                assert await source.read() == b""
                sink.close()
            listening.close()
            await listening.wait_closed()

    asyncio.run(main())
