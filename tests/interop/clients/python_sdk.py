"""A client made with the official Python SDK, 1.x or 2.x: whichever is installed.

    python_sdk.py MODE stdio COMMAND...
    python_sdk.py MODE http|sse URL

MODE is `legacy` or, with 2.x, also `auto` or `modern`. What the server answered is
printed as one JSON object, in the words of the wire.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import mcp
from mcp import types
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl, BaseModel

SECONDS = 45
"""For everything."""
MAJOR = int(importlib.metadata.version("mcp").split(".")[0])
ServerError: type[Any] = mcp.McpError if MAJOR == 1 else mcp.MCPError

Json = dict[str, Any]


# --- how the client answers -----------------------------------------------------------


async def sample(context: Any, params: Any) -> types.CreateMessageResult:
    heard = params.messages[-1].content.text
    return types.CreateMessageResult.model_validate(
        {
            "role": "assistant",
            "model": "parrot",
            "content": {"type": "text", "text": heard.upper()},
        }
    )


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada", "age": 36})


async def roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///ada"}]})


class Heard:
    """Notifications, as they come."""

    def __init__(self) -> None:
        self.progress: list[Json] = []
        self.logs: list[Json] = []
        self.changes: list[str] = []
        self._came = asyncio.Condition()

    async def on_progress(
        self, progress: float, total: float | None, message: str | None
    ) -> None:
        found = {"progress": progress, "total": total, "message": message}
        await self._add(self.progress, found)

    async def on_log(self, params: Any) -> None:
        await self._add(self.logs, plain(params))

    async def on_message(self, message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        # What 1.x wraps, 2.x does not.
        method = getattr(getattr(message, "root", message), "method", None)
        if isinstance(method, str) and method.endswith("/list_changed"):
            await self._add(self.changes, method)

    async def _add(self, to: list[Any], what: Any) -> None:
        async with self._came:
            to.append(what)
            self._came.notify_all()

    async def until(self, what: list[Any], number: int) -> None:
        """Wait until there are that many: a callback may run after the answer came."""
        async with asyncio.timeout(30), self._came:
            await self._came.wait_for(lambda: len(what) >= number)


# --- connecting -----------------------------------------------------------------------


def transport(kind: str, target: list[str]) -> AbstractAsyncContextManager[Any]:
    if kind == "stdio":
        command, *arguments = target
        return stdio_client(StdioServerParameters(command=command, args=arguments))
    return sse_client(*target) if kind == "sse" else streamable_http_client(*target)


@asynccontextmanager
async def connect_1(
    mode: str, streams: AbstractAsyncContextManager[Any], heard: Heard
) -> AsyncIterator[tuple[Any, Json]]:
    assert mode == "legacy", f"1.x has no mode {mode}"
    async with (
        streams as (read, write, *_),
        mcp.ClientSession(
            read,
            write,
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=roots,
            logging_callback=heard.on_log,
            message_handler=heard.on_message,
        ) as session,
    ):
        yield session, plain(await session.initialize())


@asynccontextmanager
async def connect_2(
    mode: str, streams: AbstractAsyncContextManager[Any], heard: Heard
) -> AsyncIterator[tuple[Any, Json]]:
    async with mcp.Client(
        streams,
        mode="2026-07-28" if mode == "modern" else mode,
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=roots,
        logging_callback=heard.on_log,
        log_level="info",
        message_handler=heard.on_message,
    ) as client:
        info = client.server_info
        yield (
            client,
            {
                "protocolVersion": client.protocol_version,
                "serverInfo": info and plain(info),
                "capabilities": plain(client.server_capabilities),
                "instructions": client.instructions,
            },
        )


# --- what is tried --------------------------------------------------------------------


def plain(value: BaseModel) -> Json:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def tried(call: Awaitable[BaseModel]) -> Json:
    """The result, or the error that the server answered with."""
    try:
        return plain(await call)
    except ServerError as error:
        return {"error": plain(error.error)}


async def features(client: Any) -> AsyncIterator[tuple[str, Json]]:
    """Everything that needs one request and one answer."""
    call = client.call_tool
    yield "tools", await tried(client.list_tools())
    yield "add", await tried(call("add", {"a": 2, "b": 3}))
    yield "primes", await tried(call("primes", {"below": 12}))
    yield "draw", await tried(call("draw"))
    yield "fail", await tried(call("divide", {"a": 1, "b": 0}))
    yield "badArguments", await tried(call("add", {"a": "two"}))
    yield "unknownTool", await tried(call("subtract", {}))
    yield "askModel", await tried(call("ask_model", {"question": "why?"}))
    yield "askUser", await tried(call("ask_user"))
    yield "askRoots", await tried(call("ask_roots"))

    uri = AnyUrl if MAJOR == 1 else str
    read = client.read_resource
    yield "resources", await tried(client.list_resources())
    yield "templates", await tried(client.list_resource_templates())
    yield "text", await tried(read(uri("note://today")))
    yield "blob", await tried(read(uri("note://pixel")))
    yield "fromTemplate", await tried(read(uri("note://of/ada/engines")))
    yield "unknownResource", await tried(read(uri("note://tomorrow")))

    given = {"code": "x = 1", "language": "Rust"}
    yield "prompts", await tried(client.list_prompts())
    yield "prompt", await tried(client.get_prompt("review", given))
    yield "badPrompt", await tried(client.get_prompt("review", {}))

    prompt = types.PromptReference(type="ref/prompt", name="review")
    template = types.ResourceTemplateReference(
        type="ref/resource", uri="note://of/{person}/{topic}"
    )
    language = {"name": "language", "value": "Py"}
    yield "completion", await tried(client.complete(prompt, language))
    person = {"name": "person", "value": "a"}
    yield "templateCompletion", await tried(client.complete(template, person))


async def progress(client: Any, heard: Heard) -> list[Json]:
    """The reports of a call that ends only after they were heard."""
    call = client.call_tool("count", {"to": 3}, progress_callback=heard.on_progress)
    async with asyncio.TaskGroup() as group:
        group.create_task(call)
        await heard.until(heard.progress, 3)
        await client.call_tool("go_on")
    return heard.progress


async def logs(client: Any, heard: Heard, modern: bool) -> list[Json]:
    if not modern:  # a modern client says with every request what it wants
        await client.set_logging_level("info")
    await client.call_tool("chat")
    await heard.until(heard.logs, 1)
    return heard.logs


async def at_once(client: Any) -> list[Any]:
    """Many calls in flight; the answers must not be mixed up."""
    calls = [client.call_tool("add", {"a": n, "b": n}) for n in range(20)]
    return [
        plain(result)["structuredContent"] for result in await asyncio.gather(*calls)
    ]


async def cancellation(client: Any) -> Json:
    """Give up on a call, and ask whether the server noticed."""
    begun = asyncio.Event()

    async def on_progress(*_: object) -> None:
        begun.set()

    call = client.call_tool("wait_forever", progress_callback=on_progress)
    task = asyncio.create_task(call)
    async with asyncio.timeout(10):
        await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    return await tried(client.call_tool("wait_for_cancellation"))


async def change(client: Any, heard: Heard, modern: bool) -> str:
    """What the client is told when the tools change."""
    if not modern:
        await client.call_tool("learn")
        await heard.until(heard.changes, 1)
        return heard.changes[0]
    async with client.listen(tools_list_changed=True) as changes, asyncio.timeout(10):
        await client.call_tool("learn")
        return type(await anext(aiter(changes))).__name__


async def main(mode: str, kind: str, *target: str) -> Json:
    connect = connect_1 if MAJOR == 1 else connect_2
    heard = Heard()
    streams = transport(kind, list(target))
    async with asyncio.timeout(SECONDS), connect(mode, streams, heard) as both:
        client, report = both
        modern = report["protocolVersion"] > "2025-11-25"
        if not modern:
            report["ping"] = plain(await client.send_ping())
        async for name, result in features(client):
            report[name] = result
        report["progress"] = await progress(client, heard)
        report["logs"] = await logs(client, heard, modern)
        report["atOnce"] = await at_once(client)
        if MAJOR > 1:  # 1.x tells nobody that it gave up
            report["cancellation"] = await cancellation(client)
        report["change"] = await change(client, heard, modern)
        report["toolsAfterwards"] = plain(await client.list_tools())
    return report


if __name__ == "__main__":
    if MAJOR > 1:
        # What only older versions have is deprecated there, and used on purpose here.
        warnings.simplefilter("ignore", mcp.MCPDeprecationWarning)
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
