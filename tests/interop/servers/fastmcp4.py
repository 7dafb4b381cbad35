"""A server written with `fastmcp`: `fastmcp4.py stdio|http|sse`.

In the newest version a tool asks its client by what it returns; before, by a request.
"""

import asyncio
import sys
import warnings

from fastmcp import Context, FastMCP
from fastmcp.prompts import Message
from fastmcp.utilities.types import Image
from mcp_types import (
    CompletionArgument,
    CompletionContext,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
    ToolListChangedNotification,
)
from pydantic import BaseModel

warnings.simplefilter("ignore")  # of what the newest version deprecates

PIXEL = b"\x89PNG\r\n\x1a\n\x00\xff"
server = FastMCP("foreign", version="2.0", instructions="Call add to add.")
cancelled = asyncio.Event()


class Sum(BaseModel):
    total: int
    terms: list[int]


class Person(BaseModel):
    name: str
    age: int = 36


@server.tool
async def add(a: int, b: int = 1) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b, terms=[a, b])


@server.tool
async def divide(a: int, b: int) -> float:
    """Divide, which fails when b is 0."""
    return a / b


@server.tool
async def draw() -> Image:
    """A picture."""
    return Image(data=PIXEL, format="png")


@server.tool
async def count(to: int, ctx: Context) -> str:
    """Report progress for each number."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"at {number}")
    return f"counted to {to}"


@server.tool
async def chat(ctx: Context) -> str:
    """Log at two levels."""
    await ctx.debug("only for the curious", logger_name="chat")
    await ctx.warning("heard by most", logger_name="chat")
    return "logged"


def is_modern(ctx: Context) -> bool:
    return ctx.request_context.protocol_version >= "2026-07-28"


def asking(request: InputRequest) -> InputRequiredResult:
    return InputRequiredResult(input_requests={"it": request}, request_state="asked")


@server.tool
async def ask_model(question: str, ctx: Context) -> str | InputRequiredResult:
    """Have the client's model answer."""
    text = TextContent(text=question)
    messages = [SamplingMessage(role="user", content=text)]
    if not is_modern(ctx):
        answer = await ctx.session.create_message(
            messages, max_tokens=20, related_request_id=ctx.request_id
        )
    elif ctx.input_responses is None:
        params = CreateMessageRequestParams(messages=messages, max_tokens=20)
        return asking(CreateMessageRequest(params=params))
    else:
        answer = ctx.input_responses["it"]
    return f"{answer.model} says: {answer.content.text}"


@server.tool
async def ask_user(ctx: Context) -> str | InputRequiredResult:
    """Have the client's user fill in a form."""
    if not is_modern(ctx):
        answer = await ctx.elicit("Who are you?", Person)
        person = getattr(answer, "data", None)
    elif ctx.input_responses is None:
        schema = Person.model_json_schema()
        params = ElicitRequestFormParams(
            message="Who are you?", requested_schema=schema
        )
        return asking(ElicitRequest(params=params))
    else:
        answer = ctx.input_responses["it"]
        person = answer.content and Person(**answer.content)
    if not person:
        return answer.action
    return f"{answer.action} {person.model_dump_json(exclude_unset=True)}"


@server.tool
async def ask_roots(ctx: Context) -> str | InputRequiredResult:
    """Have the client say where it works."""
    if not is_modern(ctx):
        answer = await ctx.session.list_roots()
    elif ctx.input_responses is None:
        return asking(ListRootsRequest())
    else:
        answer = ctx.input_responses["it"]
    return ", ".join(str(root.uri) for root in answer.roots)


@server.tool
async def learn(ctx: Context) -> str:
    """Offer one tool more, and say so."""
    server.tool(draw, name="learned")
    await ctx.send_notification(ToolListChangedNotification())
    return "learned"


@server.tool
async def wait_forever(ctx: Context) -> str:
    """Say that it has begun; then end only by being cancelled."""
    await ctx.report_progress(1)
    try:
        await asyncio.Event().wait()
    finally:
        cancelled.set()
    return "never"


@server.tool
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


@server.prompt
async def review(code: str, language: str = "Python") -> list[Message]:
    """Ask for a review."""
    asked = Message(f"Review this {language}: {code}")
    return [asked, Message("Gladly.", role="assistant")]


@server.completion
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> list[str]:
    known = ["Pascal", "Python"] if argument.name == "language" else ["ada", "alan"]
    return [value for value in known if value.startswith(argument.value)]


if __name__ == "__main__":
    where = {} if sys.argv[1] == "stdio" else {"host": "127.0.0.1", "port": 0}
    server.run(sys.argv[1], show_banner=False, **where)
