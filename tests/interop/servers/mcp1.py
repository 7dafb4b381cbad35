"""A server written with `mcp` 1.x and its class FastMCP: `mcp1.py stdio|http|sse`."""

import asyncio
import sys

from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.server.fastmcp.prompts.base import AssistantMessage, Message, UserMessage
from mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

PIXEL = b"\x89PNG\r\n\x1a\n\x00\xff"
server = FastMCP("foreign", instructions="Call add to add.", port=0)
cancelled = asyncio.Event()


class Sum(BaseModel):
    total: int
    terms: list[int]


class Person(BaseModel):
    name: str
    age: int = 36


@server.tool()
async def add(a: int, b: int = 1) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b, terms=[a, b])


@server.tool()
async def divide(a: int, b: int) -> float:
    """Divide, which fails when b is 0."""
    return a / b


@server.tool()
async def draw() -> Image:
    """A picture."""
    return Image(data=PIXEL, format="png")


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Report progress for each number."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"at {number}")
    return f"counted to {to}"


@server.tool()
async def chat(ctx: Context) -> str:
    """Log at two levels."""
    await ctx.debug("only for the curious", logger_name="chat")
    await ctx.warning("heard by most", logger_name="chat")
    return "logged"


@server.tool()
async def ask_model(question: str, ctx: Context) -> str:
    """Have the client's model answer."""
    text = TextContent(type="text", text=question)
    result = await ctx.session.create_message(
        [SamplingMessage(role="user", content=text)],
        max_tokens=20,
        related_request_id=ctx.request_id,
    )
    return f"{result.model} says: {result.content.text}"


@server.tool()
async def ask_user(ctx: Context) -> str:
    """Have the client's user fill in a form."""
    result = await ctx.elicit("Who are you?", Person)
    if result.action != "accept":
        return result.action
    return f"{result.action} {result.data.model_dump_json(exclude_unset=True)}"


@server.tool()
async def ask_roots(ctx: Context) -> str:
    """Have the client say where it works."""
    return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)


@server.tool()
async def learn(ctx: Context) -> str:
    """Offer one tool more, and say so."""
    server.add_tool(draw, name="learned")
    await ctx.session.send_tool_list_changed()
    return "learned"


@server.tool()
async def wait_forever(ctx: Context) -> str:
    """Say that it has begun; then end only by being cancelled."""
    await ctx.report_progress(1)
    try:
        await asyncio.Event().wait()
    finally:
        cancelled.set()
    return "never"


@server.tool()
async def wait_for_cancellation() -> str:
    """Wait until `wait_forever` has been cancelled."""
    async with asyncio.timeout(10):
        await cancelled.wait()
    return "it was cancelled"


@server.resource("note://today", mime_type="text/plain")
async def today() -> str:
    """A text."""
    return "It rained – a little."


@server.resource("note://pixel", mime_type="image/png")
async def pixel() -> bytes:
    """A binary."""
    return PIXEL


@server.resource("note://of/{person}/{topic}", mime_type="text/plain")
async def note_of(person: str, topic: str) -> str:
    """A note of a person."""
    return f"{person} on {topic}"


@server.prompt()
async def review(code: str, language: str = "Python") -> list[Message]:
    """Ask for a review."""
    asked = UserMessage(f"Review this {language}: {code}")
    return [asked, AssistantMessage("Gladly.")]


@server.completion()
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion:
    known = ["Pascal", "Python"] if argument.name == "language" else ["ada", "alan"]
    return Completion(values=[v for v in known if v.startswith(argument.value)])


if __name__ == "__main__":
    server.run({"http": "streamable-http"}.get(sys.argv[1], sys.argv[1]))
