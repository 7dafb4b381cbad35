"""The server that foreign clients talk to: one of everything, with the public API only.

`python -m tests.interop.server` serves stdio; with `--port N`, HTTP on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import dataclass
from typing import Any

from mcpgen.runtime import Context, Image, Server, Text

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63fccff0ff1f00050402"
    "0217c8f1d2000000004945"
    "4e44ae426082"
)
"""Bytes that are not text; nobody looks at the picture."""

SECONDS = 10
"""How long a tool waits for its client to do something."""

server = Server(
    "interop",
    version="1.2.3",
    title="Interoperability",
    instructions="Call add to add.",
)


@dataclass
class Sum:
    """What `add` gives."""

    total: int
    terms: list[int]


@server.tool
async def add(a: int, b: int = 1) -> Sum:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return Sum(a + b, [a, b])


@server.tool
def primes(below: int) -> list[int]:
    """Prime numbers: structured content that is not an object, from a sync function."""
    return [n for n in range(2, below) if all(n % m for m in range(2, n))]


@server.tool
async def divide(a: int, b: int) -> float:
    """Divide, which fails when b is 0."""
    return a / b


@server.tool
async def draw() -> list[Text | Image]:
    """A picture, and a word about it."""
    return [Text("one pixel"), Image(PIXEL, "image/png")]


heard = asyncio.Event()


@server.tool
async def count(to: int, *, ctx: Context) -> str:
    """Count aloud: a report of progress for each number, all before the result.

    Some clients forget reports that they have not looked at when the result comes; and
    a transport must not hold them back until then. So the client says that it heard.
    """
    for number in range(1, to + 1):
        await ctx.progress(number, to, f"at {number}")
    async with asyncio.timeout(SECONDS):
        await heard.wait()
    return f"counted to {to}"


@server.tool
async def go_on() -> str:
    """Let `count` end."""
    heard.set()
    return "so be it"


@server.tool
async def chat(*, ctx: Context) -> str:
    """Log at two levels."""
    await ctx.log("debug", "only for the curious", logger="chat")
    await ctx.log("warning", {"heard": "by most"}, logger="chat")
    return "logged"


@server.tool
async def ask_model(question: str, *, ctx: Context) -> str:
    """Have the client's model answer."""
    result = await ctx.sample(question, max_tokens=20)
    blocks = result.content if isinstance(result.content, list) else [result.content]
    return f"{result.model} says: {' '.join(block.text for block in blocks)}"


@server.tool
async def ask_user(*, ctx: Context) -> str:
    """Have the client's user fill in a form."""
    form = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name"],
    }
    result = await ctx.elicit("Who are you?", form)
    return f"{result.action} {json.dumps(result.content, sort_keys=True)}"


@server.tool
async def ask_roots(*, ctx: Context) -> str:
    """Have the client say where it works."""
    return ", ".join(root.uri for root in await ctx.roots())


@server.tool
async def learn() -> str:
    """Offer one tool more, and let everybody know."""
    server.tool(name="learned", description="Was not there before.")(draw)
    return "learned"


cancelled = asyncio.Event()


@server.tool
async def wait_forever(*, ctx: Context) -> str:
    """Say that it has begun; then end only by being cancelled."""
    await ctx.progress(1)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        cancelled.set()
        raise
    return "never"


@server.tool
async def wait_for_cancellation() -> str:
    """Wait until `wait_forever` has been cancelled."""
    async with asyncio.timeout(SECONDS):
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


@server.resource("note://of/{person}/{topic}", mime_type="application/json")
async def note_of(person: str, topic: str) -> dict[str, Any]:
    """A note of a person."""
    return {"person": person, "topic": topic}


@server.completion("note://of/{person}/{topic}", "person")
async def complete_person(value: str) -> list[str]:
    return [name for name in ("ada", "alan", "grace") if name.startswith(value)]


@server.prompt
async def review(code: str, language: str = "Python") -> list[dict[str, Any]]:
    """Ask for a review.

    Args:
        code: What to look at.
        language: What it is written in.
    """
    return [
        {"role": "user", "content": Text(f"Review this {language}: {code}")},
        {"role": "assistant", "content": Text("Gladly.")},
    ]


@server.completion("review", "language")
async def complete_language(value: str) -> list[str]:
    known = ("Pascal", "Perl", "Prolog", "Python", "Rust")
    return [name for name in known if name.startswith(value)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.server")
    parser.add_argument("--port", type=int, help="serve HTTP here, rather than stdio")
    port = parser.parse_args().port
    if port is None:
        server.run()
    else:
        server.run("http", port=port)


if __name__ == "__main__":
    main()
