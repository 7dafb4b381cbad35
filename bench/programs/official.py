"""The same server made with the official SDK, as its documentation writes one."""

import sys
from typing import Any

from mcp.server.mcpserver import MCPServer

# Quiet, or its web server would write a line for every request.
server = MCPServer("bench", version="1.0.0", log_level="WARNING")


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

tool, copies, *http = sys.argv[1:]
function = TOOLS[tool]
server.add_tool(function)
for number in range(1, int(copies)):
    server.add_tool(function, name=f"{tool}_{number}")
if http:
    import uvicorn

    # What `server.run("streamable-http", json_response=True)` does (its default, event
    # streams, takes twice the time), but that the parts of uvicorn can be chosen.
    port, parser, loop = http
    app = server.streamable_http_app(json_response=True)
    uvicorn.run(app, port=int(port), http=parser, loop=loop, log_level="warning")
else:
    server.run()
