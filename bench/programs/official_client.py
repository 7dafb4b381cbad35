"""The same client made with the official SDK."""

import asyncio
import shlex
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from measuring import figures  # isort: skip


async def main() -> None:
    """Connect, call, count."""
    seconds, many, target = sys.argv[1:]
    server: Any = target
    if not target.startswith("http"):
        command, *arguments = shlex.split(target)
        server = stdio_client(StdioServerParameters(command=command, args=arguments))
    async with Client(server) as client:

        async def call() -> None:
            result = await client.call_tool("add", {"a": 1, "b": 2})
            assert not result.is_error

        await figures(call, float(seconds), int(many))


asyncio.run(main())
