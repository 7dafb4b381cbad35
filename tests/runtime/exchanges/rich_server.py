"""A server with what newer versions brought: how much of it does an old client get?

The fixture server of the conformance suite has all features but few ornaments. This one
has titles, icons, annotations, structured output, links, pages, and steps that tell
what they do. `python -m tests.runtime.exchanges.rich_server [--port N]`.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import dataclass
from typing import Any

from mcpgen.runtime import (
    Audio,
    Context,
    Link,
    McpError,
    Roots,
    Sample,
    Server,
    ToolResult,
)

ICONS = [{"src": "https://example.com/icon.png", "mimeType": "image/png"}]

server = Server(
    "rich",
    version="2.0.0",
    title="A rich server",
    instructions="Ask for the forecast.",
    page_size=5,
)


@dataclass
class Forecast:
    """What the weather will be."""

    city: str
    degrees: float


# --- tools ------------------------------------------------------------------------------


@server.tool(
    title="The forecast",
    annotations={"title": "Forecast", "readOnlyHint": True},
    icons=ICONS,
    meta={"example.com/origin": "tests"},
)
async def forecast(city: str, days: int = 3) -> Forecast:
    """Forecast for a city."""
    return Forecast(city, 21.5)


@server.tool
async def count(words: list[str]) -> int:
    """Count words."""
    return len(words)


@server.tool
async def names() -> list[str]:
    """Give a list."""
    return ["Ada", "Grace"]


@server.tool
async def linked() -> list[Link | Audio]:
    """Give a link and a sound."""
    return [
        Link("file:///notes.txt", "notes", "text/plain", "What was said."),
        Audio(b"RIFF", "audio/wav"),
    ]


@server.tool
async def in_full() -> ToolResult:
    """Give everything that a result can have."""
    return ToolResult("all of it", structured={"a": [1]}, meta={"example.com/x": 1})


@server.tool
async def steps(*, ctx: Context) -> str:
    """Tell what is being done."""
    await ctx.progress(0.5, message="halfway")
    await ctx.progress(0.25, message="backwards")
    await ctx.progress(1, 1, "there")
    return "done"


@server.tool
async def wait(*, ctx: Context) -> str:
    """Begin, and never end."""
    await ctx.progress(1)
    await asyncio.Event().wait()
    return "never"


@server.tool
async def refuse() -> str:
    """Answer with a protocol error."""
    raise McpError(-32000, "not today", {"until": "tomorrow"})


@server.tool
async def ask_twice(*, ctx: Context) -> str:
    """Ask the model and for the roots, both at once."""
    answers = await ctx.ask(model=Sample("Hello?", max_tokens=10), where=Roots())
    said: Any = answers["model"].content
    return f"{said.text} from {answers['where'].roots[0].uri}"


@server.tool
async def touch(uri: str) -> str:
    """Say that a resource has changed."""
    server.hub.updated(uri)
    return "touched"


# --- resources and prompts --------------------------------------------------------------


@server.resource(
    "rich://notes",
    title="Notes",
    description="What was said.",
    mime_type="text/plain",
    icons=ICONS,
)
async def notes() -> str:
    return "Nothing."


@server.resource("rich://broken")
async def broken() -> str:
    """It cannot be read."""
    raise RuntimeError("the disk is on fire")


@server.resource("rich://users/{name}", title="Users", icons=ICONS)
async def users(name: str) -> dict[str, Any]:
    """Somebody."""
    return {"name": name}


@server.completion("rich://users/{name}", "name")
async def complete_name(value: str) -> list[str]:
    return [name for name in ("ada", "alan", "grace") if name.startswith(value)]


@server.prompt(title="A review", icons=ICONS)
async def review(code: str, tone: str = "kind") -> list[dict[str, Any]]:
    """Ask for a review."""
    return [
        {"role": "user", "content": f"Review {code}."},
        {"role": "assistant", "content": f"I will be {tone}."},
    ]


@server.prompt
async def listen() -> Audio:
    """Hand over a sound."""
    return Audio(b"RIFF", "audio/wav")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.runtime.exchanges.rich_server"
    )
    parser.add_argument("--port", type=int, help="serve HTTP here, rather than stdio")
    port = parser.parse_args().port
    if port is None:
        server.run()
    else:
        server.run("http", port=port)


if __name__ == "__main__":
    main()
