"""A client made with mcpgen: `our_client.py SECONDS MANY TARGET`, and prints figures."""

import asyncio
import sys

from mcpgen.runtime import Client

from measuring import figures  # isort: skip


async def main() -> None:
    """Connect, call, count."""
    seconds, many, target = sys.argv[1:]
    async with Client.connect(target) as client:

        async def call() -> None:
            result = await client.call_tool("add", a=1, b=2)
            assert not result.is_error

        await figures(call, float(seconds), int(many))


asyncio.run(main())
