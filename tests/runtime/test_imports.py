"""What a server imports: start-up time, and what can be vendored, depend on it."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, sys
from mcpgen.runtime import Server

server = Server("small")

@server.tool
async def add(a: int, b: int) -> int:
    return a + b

server.run()
print(json.dumps(sorted(sys.modules)))
"""
ASK = (
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{'
    '"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientCapabilities":{}}}}\n'
)


def test_a_stdio_server_imports_no_more_than_it_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=ASK,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answer, modules = map(json.loads, done.stdout.splitlines())
    assert answer["result"]["tools"][0]["name"] == "add"
    ours = {name for name in modules if name.startswith("mcpgen.")}
    unneeded = {
        "mcpgen.runtime.auth",
        "mcpgen.runtime.handlers",
        "mcpgen.runtime.schemas",
        "mcpgen.runtime.state",
        "mcpgen.runtime.transports.http",
        "mcpgen.runtime.transports.memory",
        "mcpgen.runtime.uritemplate",
    }
    assert not ours & unneeded
    spoken = {name for name in ours if name.startswith("mcpgen.protocol.v")}
    assert {name.split(".")[2] for name in spoken} == {"v2026_07_28"}
    foreign = {"uvicorn", "uvloop", "httptools", "jsonschema", "pydantic", "starlette"}
    assert not foreign & set(modules)
    assert not {"http.client", "urllib.request", "json.tool"} & set(modules)


CLIENT = f"""
import asyncio, json, sys
from mcpgen.runtime import Client

async def main():
    async with Client.stdio([sys.executable, "-c", {PROGRAM!r}]) as client:
        print(json.dumps((await client.call_tool("add", a=1, b=2)).structured_content))
    print(json.dumps(sorted(sys.modules)))

asyncio.run(main())
"""


def test_a_stdio_client_imports_no_more_than_it_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLIENT],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    result, modules = map(json.loads, done.stdout.splitlines())
    assert result == 3
    ours = {name for name in modules if name.startswith("mcpgen.")}
    unneeded = {
        "mcpgen.runtime.auth",
        "mcpgen.runtime.client.group",
        "mcpgen.runtime.client.http",
        "mcpgen.runtime.client.http1",
        "mcpgen.runtime.client.sse",
        "mcpgen.runtime.dispatch",
        "mcpgen.runtime.server",
        "mcpgen.runtime.transports.http",
    }
    assert not ours & unneeded
    spoken = {name for name in ours if name.startswith("mcpgen.protocol.v")}
    assert {name.split(".")[2] for name in spoken} == {"v2026_07_28"}
    assert not {"httpx2", "joserfc", "urllib.request"} & set(modules)
