"""A server made with mcpgen."""

import sys
from typing import Any

from mcpgen.runtime import Server

server = Server("bench", version="1.0.0")


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def add_sync(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def echo(text: str) -> str:
    """Say the same."""
    return text


TOOLS: dict[str, Any] = {"add": add, "add_sync": add_sync, "echo": echo}

tool, copies, *port = sys.argv[1:]
function = TOOLS[tool]
server.tool(function)
for number in range(1, int(copies)):
    server.tool(name=f"{tool}_{number}")(function)
if port:
    server.run("http", port=int(port[0]))
else:
    server.run()
