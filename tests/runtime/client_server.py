"""A server with something of everything, which can be made to speak one version only.

`python -m tests.runtime.client_server VERSION` serves it over stdio.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any

import uvicorn
from mcpgen.runtime import Context, Server
from mcpgen.runtime.transports.http import Http
from msgspec import Meta

PNG = b"\x89PNG\r\n"
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "colour": {"type": "string", "default": "blue"},
    },
}


def make(*versions: str) -> Server:
    """The server; it speaks these versions, or all."""
    server = Server(
        "everything",
        version="1.0",
        instructions="Try everything.",
        page_size=3,
        state_key=b"k" * 32,
    )
    if versions:
        _pin(server, versions)
    _add_tools(server)
    _add_tools_that_ask(server)
    _add_the_rest(server)
    return server


def _pin(server: Server, versions: tuple[str, ...]) -> None:
    legacy, modern = server.legacy_versions, server.modern_versions
    server.legacy_versions = tuple(name for name in legacy if name in versions)
    server.modern_versions = tuple(name for name in modern if name in versions)
    server.stateless.names = server.modern_versions


def _add_tools(server: Server) -> None:
    cancelled = asyncio.Event()

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    async def fail() -> str:
        """Fail."""
        raise RuntimeError("it broke")

    @server.tool
    async def count(*, ctx: Context) -> str:
        """Report progress."""
        for step in (1, 2, 3):
            await ctx.progress(step, 3, f"step {step}")
        return "counted"

    @server.tool
    async def log(*, ctx: Context) -> str:
        """Log a little and a lot."""
        await ctx.log("info", "a little")
        await ctx.log("error", {"how": "much"}, logger="here")
        return "logged"

    @server.tool
    async def wait(*, ctx: Context) -> str:
        """Wait for ever."""
        await ctx.progress(1)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.set()
        return "never"

    @server.tool
    async def was_cancelled() -> str:
        """Wait until `wait` was cancelled."""
        await cancelled.wait()
        return "it was"

    @server.tool
    async def touch(uri: str) -> str:
        """Change a resource, and the lists."""
        server.resource_updated(uri)
        server.tool(name="passing")(add)
        server.remove_tool("passing")
        return "touched"

    @server.tool
    async def routed(
        region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})],
    ) -> str:
        """Take an argument that HTTP clients repeat in a header."""
        return region


def _add_tools_that_ask(server: Server) -> None:
    @server.tool
    async def sample(*, ctx: Context) -> str:
        """Ask the model."""
        content = (await ctx.sample("Who?", max_tokens=5)).content
        blocks = content if isinstance(content, list) else [content]
        return " ".join(block.text for block in blocks)

    @server.tool
    async def elicit(*, ctx: Context) -> str:
        """Ask the user."""
        answer = await ctx.elicit("Who are you?", FORM)
        filled = answer.content if isinstance(answer.content, dict) else {}
        return f"{answer.action} {sorted(filled.items())}"

    @server.tool
    async def visit(*, ctx: Context) -> str:
        """Send the user to a page."""
        url = "https://example.com/"
        return str((await ctx.elicit_url("Go there", url, "1")).action)

    @server.tool
    async def roots(*, ctx: Context) -> list[str]:
        """Ask where the client works."""
        return [root.uri for root in await ctx.roots()]


def _add_the_rest(server: Server) -> None:
    @server.resource("test://text", mime_type="text/plain")
    async def text() -> str:
        return "some text"

    @server.resource("test://image", mime_type="image/png")
    async def image() -> bytes:
        return PNG

    @server.resource("test://items/{id}")
    async def item(id: str) -> str:
        return f"item {id}"

    @server.prompt
    async def greet(name: str) -> str:
        """Greet somebody."""
        return f"Say hello to {name}."

    @server.completion("greet", "name")
    async def names(value: str) -> list[str]:
        return [name for name in ("Ada", "Alan", "Grace") if name.startswith(value)]

    @server.completion("test://items/{id}", "id")
    async def ids(value: str, arguments: dict[str, str]) -> list[str]:
        return [f"{value}1", *arguments.values()]


# --- over HTTP ------------------------------------------------------------------------


class _Quiet(uvicorn.Server):
    """One that leaves the signals to others."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(server: Server, **settings: Any) -> AsyncIterator[str]:
    """Serve it over HTTP in this very process: where it is, without a path."""
    app = Http(server, **settings)
    config = uvicorn.Config(app, port=0, log_config=None, lifespan="on", ws="none")
    http = _Quiet(config)
    running = asyncio.create_task(http.serve())
    while not http.started:
        assert not running.done()
        await asyncio.sleep(0.001)
    try:
        host, port = http.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}"
    finally:
        await app.finish()
        http.should_exit = True
        await running


if __name__ == "__main__":
    make(*sys.argv[1:]).run()
