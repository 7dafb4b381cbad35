"""A server written with `mcp` 2.x and its class MCPServer: `mcp2.py stdio|http|sse`.

What a tool asks of its client is a parameter of it: the SDK asks as the era demands.
"""

import asyncio
import sys
import warnings
from typing import Annotated

from mcp.server.mcpserver import (
    AcceptedElicitation,
    AssistantMessage,
    Context,
    Elicit,
    ElicitationResult,
    Image,
    ListRoots,
    MCPServer,
    Message,
    Resolve,
    Sample,
    UserMessage,
)
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    CreateMessageResult,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

warnings.simplefilter("ignore")  # of what the newest version deprecates

PIXEL = b"\x89PNG\r\n\x1a\n\x00\xff"
server = MCPServer("foreign", version="2.0", instructions="Call add to add.")
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


async def the_model(question: str) -> Sample:
    text = TextContent(text=question)
    return Sample([SamplingMessage(role="user", content=text)], max_tokens=20)


@server.tool()
async def ask_model(
    question: str, answer: Annotated[CreateMessageResult, Resolve(the_model)]
) -> str:
    """Have the client's model answer."""
    return f"{answer.model} says: {answer.content.text}"


async def the_user() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


@server.tool()
async def ask_user(
    answer: Annotated[ElicitationResult[Person], Resolve(the_user)],
) -> str:
    """Have the client's user fill in a form."""
    if not isinstance(answer, AcceptedElicitation):
        return answer.action
    return f"{answer.action} {answer.data.model_dump_json(exclude_unset=True)}"


async def the_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def ask_roots(answer: Annotated[ListRootsResult, Resolve(the_roots)]) -> str:
    """Have the client say where it works."""
    return ", ".join(str(root.uri) for root in answer.roots)


@server.tool()
async def learn(ctx: Context) -> str:
    """Offer one tool more, and say so to clients of both eras."""
    server.add_tool(draw, name="learned")
    await ctx.notify_tools_changed()
    if ctx.protocol_version < "2026-07-28":
        await ctx.session.send_tool_list_changed()
    return "learned"


@server.tool()
async def rewrite(ctx: Context) -> str:
    """Say that a resource has changed, to who listens."""
    await ctx.notify_resource_updated("note://today")
    return "rewritten"


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
    if sys.argv[1] == "stdio":
        server.run()
    else:
        server.run({"http": "streamable-http"}.get(sys.argv[1], sys.argv[1]), port=0)
