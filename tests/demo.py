"""`make demo` ends with this: a server, asked in two versions, and by a client.

Everything that is sent (→) and comes back (←) is shown as it is on the wire.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys

from mcpgen.runtime import Client

SERVER = '''
from mcpgen.runtime import Server

server = Server("weather", version="1.0.0")

@server.tool
async def forecast(city: str, days: int = 3) -> list[str]:
    """Forecast for a city."""
    return [f"Sunny in {city}"] * days

server.run()
'''
OLDEST = """
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","days":2}}}
"""
NEWEST = """
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","days":2},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
"""


def main() -> None:
    """Ask, and show."""
    print(SERVER.strip())
    for name, frames in (("2024-11-05", OLDEST), ("2026-07-28", NEWEST)):
        frames = frames.lstrip()
        print(f"\nasked in {name}:")
        print("".join(f"  → {line}\n" for line in frames.splitlines()), end="")
        answers = subprocess.run(
            [sys.executable, "-c", SERVER],
            input=frames,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        print("".join(f"  ← {line}\n" for line in answers.splitlines()), end="")
    print("\nasked by our own client, which finds the version itself:")
    asyncio.run(ask())


async def ask() -> None:
    """The same call in one line."""
    async with Client.stdio([sys.executable, "-c", SERVER]) as client:
        result = await client.call_tool("forecast", city="Oslo", days=2)
        print(f"  {client.version}: {result.structured_content}")


if __name__ == "__main__":
    main()
