"""A transport of one's own, in full: one message a line, over TCP."""

from __future__ import annotations

import asyncio

from mcpgen.runtime.transports import Connect


class Line:
    """A `Writer`: how the server sends."""

    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        self._stream.write(data + b"\n")

    async def drain(self) -> None:
        await self._stream.drain()


async def listen(connect: Connect, port: int = 0) -> asyncio.Server:
    """Serve everybody who connects: `await listen(server.attach, 8765)`."""

    async def serve(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        receiver = connect(Line(sink))
        async for line in source:
            if (busy := receiver.receive(line)) is not None:
                await busy
        if (closing := receiver.closed()) is not None:
            await closing
        sink.close()

    return await asyncio.start_server(serve, "127.0.0.1", port, limit=64 * 2**20)
