"""The least that one does with the official Python SDK: connect, list, call.

    small_python.py stdio COMMAND...
    small_python.py http URL

What the server answered is printed as one JSON object.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

SECONDS = 45
MAJOR = int(importlib.metadata.version("mcp").split(".")[0])


@asynccontextmanager
async def connected(streams: Any) -> AsyncIterator[Any]:
    """A client, or a session of 1.x."""
    if MAJOR > 1:
        async with mcp.Client(streams) as client:
            yield client
        return
    async with streams as (read, write, *_), mcp.ClientSession(read, write) as session:
        await session.initialize()
        yield session


async def main(kind: str, target: str, *arguments: str) -> dict[str, Any]:
    """Ask once."""
    if kind == "stdio":
        parameters = StdioServerParameters(command=target, args=list(arguments))
        streams: Any = stdio_client(parameters)
    else:
        streams = streamable_http_client(target)
    async with asyncio.timeout(SECONDS), connected(streams) as client:
        listed = await client.list_tools()
        called = await client.call_tool("count", {"text": "Hello, world"})
        return {
            "tools": [tool.name for tool in listed.tools],
            "count": called.model_dump(mode="json", by_alias=True)["structuredContent"],
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
