"""One client, five versions: every feature over every transport that a version has."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcpgen.catalog import Catalog
from mcpgen.protocol import load
from mcpgen.protocol.newest import types
from mcpgen.runtime import (
    AnswerError,
    Change,
    Client,
    ConnectionClosed,
    HttpError,
    NotSupported,
    RequestTimeout,
)
from mcpgen.runtime.client import results
from msgspec import UNSET, Raw

from tests.fidelity.instances import valid_instances
from tests.fidelity.oracle import Oracle

from . import client_server
from .scripted import (
    Exchange,
    Line,
    Web,
    child,
    discovered,
    during,
    error,
    heard_by,
    initialized,
    opened,
    result,
    run,
    session,
    text_of,
    text_result,
    told,
)

ROOT = Path(__file__).parents[2]
V1, V2, V3, V4, V5 = VERSIONS = (
    *("2024-11-05", "2025-03-26", "2025-06-18"),
    *("2025-11-25", "2026-07-28"),
)
LEGACY = VERSIONS[:-1]


class Heard:
    """What a server asked, or told, and the options of a client that hears it."""

    def __init__(self) -> None:
        self.logged: list[Any] = []
        self.changed: asyncio.Queue[Change] = asyncio.Queue()
        self.options: dict[str, Any] = {
            "sampling": lambda params: f"{params.messages[0].content.text} Me.",
            "elicitation": self.elicited,
            "open_url": lambda params: params.url == "https://example.com/",
            "roots": ["file:///one", {"uri": "file:///two", "name": "Two"}],
            "logging": self.logged.append,
            "changed": self.changed.put_nowait,
        }

    async def elicited(self, params: Any) -> dict[str, str]:
        assert params.message == "Who are you?"
        return {"name": "Ada"}


@asynccontextmanager
async def connected(
    version: str, transport: str, **options: Any
) -> AsyncIterator[Client]:
    """A client of a server that speaks this version only."""
    if transport == "memory":
        async with Client.memory(client_server.make(version), **options) as client:
            yield client
    elif transport == "stdio":
        command = [sys.executable, "-m", client_server.__name__, version]
        async with Client.stdio(command, cwd=ROOT, **options) as client:
            yield client
    else:
        async with client_server.serving(client_server.make(version)) as base:
            path = {"http": "/mcp", "sse": "/sse"}[transport]
            async with Client.http(base + path, **options) as client:
                yield client


# --- features -------------------------------------------------------------------------


async def knows_who_is_there(client: Client, version: str, heard: Heard) -> None:
    assert client.version == version
    assert client.server_info["name"] == "everything"
    assert client.capabilities["tools"] == {"listChanged": True}
    assert client.instructions == "Try everything."
    assert client.offers("tools/list")
    assert client.offers("ping") == (version != V5)
    with pytest.raises(NotSupported, match="nonsense"):
        await client.request("nonsense")


async def lists(client: Client, version: str, heard: Heard) -> None:
    tools = {tool.name: tool for tool in await client.list_tools()}
    assert len(tools) == 12  # of four pages
    assert tools["add"].input_schema["required"] == ["a", "b"]
    assert (tools["add"].output_schema is UNSET) == (version < V3)
    assert [tool.name async for tool in client.tools()] == list(tools)
    resources = [resource.uri async for resource in client.resources()]
    assert resources == ["test://text", "test://image"]
    (template,) = await client.list_resource_templates()
    assert template.uri_template == "test://items/{id}"
    (prompt,) = await client.list_prompts()
    assert prompt.name == "greet"
    assert prompt.arguments is not UNSET
    assert prompt.arguments[0].name == "name"


async def calls(client: Client, version: str, heard: Heard) -> None:
    outcome = await client.call_tool("add", {"a": 1}, b=2)
    assert text_of(outcome) == "3"
    assert outcome.is_error in (UNSET, False)
    structured = {V1: UNSET, V2: UNSET, V5: 3}.get(version, {"result": 3})
    assert outcome.structured_content == structured
    failed = await client.call_tool("fail")
    assert failed.is_error is True
    assert "it broke" in text_of(failed)
    with pytest.raises(AnswerError) as unknown:
        await client.call_tool("nothing")
    assert unknown.value.code == -32602
    if version < V4:
        with pytest.raises(AnswerError) as bad:
            await client.call_tool("add", a="one", b=2)
        assert bad.value.code == -32602
    else:
        assert (await client.call_tool("add", a="one", b=2)).is_error is True
    assert text_of(await client.call_tool("routed", region="ö west")) == "ö west"


async def reads(client: Client, version: str, heard: Heard) -> None:
    text: Any
    (text,) = (await client.read_resource("test://text")).contents
    assert text.text == "some text"
    image: Any
    (image,) = (await client.read_resource("test://image")).contents
    assert image.blob == "iVBORw0K"
    item: Any
    (item,) = (await client.read_resource("test://items/7")).contents
    assert (item.uri, item.text) == ("test://items/7", "item 7")
    with pytest.raises(AnswerError) as missing:
        await client.read_resource("test://nowhere")
    assert missing.value.code == (-32602 if version == V5 else -32002)
    assert missing.value.data["uri"] == "test://nowhere"


async def prompts(client: Client, version: str, heard: Heard) -> None:
    message: Any
    (message,) = (await client.get_prompt("greet", name="Bo")).messages
    assert (message.role, message.content.text) == ("user", "Say hello to Bo.")
    with pytest.raises(AnswerError) as missing:
        await client.get_prompt("greet")
    assert missing.value.code == -32602


async def completes(client: Client, version: str, heard: Heard) -> None:
    assert await client.complete("name", "A", prompt="greet") == ["Ada", "Alan"]
    template = "test://items/{id}"
    known = {"of": "x"}
    found = await client.complete("id", "4", resource=template, arguments=known)
    assert found == (["41"] if version < V3 else ["41", "x"])  # who knows no context


async def hears_of_progress(client: Client, version: str, heard: Heard) -> None:
    reports: list[Any] = []
    assert text_of(await client.call_tool("count", progress=reports.append))
    assert [(r.progress, r.total) for r in reports] == [(1, 3), (2, 3), (3, 3)]
    assert (reports[0].message is UNSET) == (version == V1)


async def hears_the_log(client: Client, version: str, heard: Heard) -> None:
    await client.set_level("warning")
    await client.call_tool("log")
    ((level, logger, data),) = [(m.level, m.logger, m.data) for m in heard.logged]
    assert (level, logger, data) == ("error", "here", {"how": "much"})


async def is_asked(client: Client, version: str, heard: Heard) -> None:
    assert text_of(await client.call_tool("sample")) == "Who? Me."
    elicited = await client.call_tool("elicit")
    visited = await client.call_tool("visit")
    if version < V3:
        assert elicited.is_error is True
    else:
        # The form's own default fills what the user left open.
        filled = "[('colour', 'blue'), ('name', 'Ada')]"
        assert text_of(elicited) == f"accept {filled}"
    if version < V4:
        assert visited.is_error is True
    else:
        assert text_of(visited) == "accept"
    outcome = await client.call_tool("roots")
    assert "file:///one" in text_of(outcome)
    assert "file:///two" in repr(outcome.content)
    await client.roots_changed()


async def listens(client: Client, version: str, heard: Heard) -> None:
    async with client.listen("test://text", tools=True) as changes:
        await client.call_tool("touch", uri="test://image")
        await client.call_tool("touch", uri="test://text")
        found = [await anext(changes) for _ in range(5)]
    told = [(change.method, change.params.get("uri")) for change in found]
    tools = ("notifications/tools/list_changed", None)
    updated = ("notifications/resources/updated", "test://text")
    assert sorted(told, key=str) == sorted([*[tools] * 4, updated], key=str)
    if version == V5:
        honoured = {"toolsListChanged": True, "resourceSubscriptions": ["test://text"]}
        assert changes.honoured == honoured
    while (await heard.changed.get()).method != "notifications/resources/updated":
        pass


async def gives_up(client: Client, version: str, heard: Heard) -> None:
    begun: list[Any] = []
    seconds = 0.05
    while not begun:  # or there would be nothing to cancel
        with pytest.raises(RequestTimeout):
            await client.call_tool("wait", timeout=seconds, progress=begun.append)
        seconds *= 2
    assert text_of(await client.call_tool("was_cancelled")) == "it was"
    await client.ping()


async def has_typed_calls(client: Client, version: str, heard: Heard) -> None:
    spoken = load(version).types
    asked = None
    if version == V5:  # whose types insist on what every request says
        asked = spoken.PaginatedRequestParams(meta=client.meta)
    found = await client.caller.list_tools(asked)
    assert isinstance(found, spoken.ListToolsResult)
    assert len(found.tools) == 3
    if version != V5:
        await client.caller.roots_list_changed(None)


FEATURES: list[Callable[[Client, str, Heard], Awaitable[None]]] = [
    *(knows_who_is_there, lists, calls, reads, prompts, completes, hears_of_progress),
    *(hears_the_log, is_asked, listens, gives_up, has_typed_calls),
]


@pytest.mark.parametrize(
    ("version", "transport"),
    [
        (version, transport)
        for version in VERSIONS
        for transport in ("memory", "stdio", "sse" if version == V1 else "http")
    ],
)
def test_every_feature(version: str, transport: str) -> None:
    async def main() -> None:
        heard = Heard()
        async with connected(version, transport, **heard.options) as client:
            for feature in FEATURES:
                try:
                    async with asyncio.timeout(5):
                        await feature(client, version, heard)
                except BaseException as error:
                    error.add_note(f"when the client {feature.__name__}")
                    raise

    run(main)


# --- frames ---------------------------------------------------------------------------

OPENED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
CALL = (
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":'
    '{"name":"t","arguments":{"x":"ö"}}}'
)
CANCEL = (
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":'
    '{"requestId":2,"reason":"timed out"}}'
)
META = (
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientCapabilities":'
    '{"sampling":{},"roots":{},"elicitation":{"form":{},"url":{}}},'
    '"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}'
)
FRAMES = {
    "2024-11-05": (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
        '{"protocolVersion":"2024-11-05","capabilities":'
        '{"sampling":{},"roots":{"listChanged":true}},'
        '"clientInfo":{"name":"c","version":"1"}}}',
        *(OPENED, CALL, CANCEL),
    ),
    "2025-03-26": (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
        '{"protocolVersion":"2025-03-26","capabilities":'
        '{"sampling":{},"roots":{"listChanged":true}},'
        '"clientInfo":{"name":"c","version":"1"}}}',
        *(OPENED, CALL, CANCEL),
    ),
    "2025-06-18": (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
        '{"protocolVersion":"2025-06-18","capabilities":'
        '{"sampling":{},"roots":{"listChanged":true},"elicitation":{}},'
        '"clientInfo":{"name":"c","version":"1"}}}',
        *(OPENED, CALL, CANCEL),
    ),
    "2025-11-25": (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
        '{"protocolVersion":"2025-11-25","capabilities":'
        '{"sampling":{},"roots":{"listChanged":true},'
        '"elicitation":{"form":{},"url":{}}},'
        '"clientInfo":{"name":"c","version":"1"}}}',
        *(OPENED, CALL, CANCEL),
    ),
    "2026-07-28": (
        '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{' + META + "}}",
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":'
        '{"name":"t","arguments":{"x":"ö"},' + META + "}}",
        CANCEL,
    ),
}
"""What a client sends that connects, calls a tool, and is not answered in time."""


@pytest.mark.parametrize("version", VERSIONS)
def test_frames(version: str) -> None:
    async def main() -> None:
        line = Line()
        client = Client(
            line,
            versions=[version],
            name="c",
            version="1",
            sampling=print,
            elicitation=print,
            open_url=print,
            roots=[],
        )
        hello, *rest = FRAMES[version]
        greeting = initialized(version) if version in LEGACY else discovered(version)

        async def greet() -> None:
            await line.expect(hello)
            await line.says(result(1, greeting))

        async with opened(client, greet()):
            with pytest.raises(RequestTimeout):
                await client.call_tool("t", x="ö", timeout=5)
            await line.expect(*rest)
            await line.says(result(2, text_result("too late")))
            async with during(client.list_tools()) as listing:
                asked = await line.answers({"tools": []})
            assert (asked["id"], listing.result()) == (3, [])

    run(main, leap=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_opening_is_given_up_as_the_version_demands(version: str) -> None:
    async def main() -> None:
        line = Line()
        client = Client(line, versions=[version], timeout=5)
        with pytest.raises(RequestTimeout):
            await client.__aenter__()
        asked = await line.message()
        if version in LEGACY:
            assert line.silent()  # initialize is never cancelled
        else:
            told_off = await line.message()
            assert told_off["method"] == "notifications/cancelled"
            assert told_off["params"]["requestId"] == asked["id"]

    run(main, leap=True)


# --- batches --------------------------------------------------------------------------


def test_batches_of_the_version_that_has_them() -> None:
    async def main() -> None:
        line = Line()
        reports: list[Any] = []
        logged: list[Any] = []
        client = Client(line, versions=[V2], logging=logged.append, roots=["file:///r"])
        async with opened(client, line.greets(V2)):
            one = asyncio.create_task(client.call_tool("a", progress=reports.append))
            two = asyncio.create_task(client.call_tool("b"))
            first, second = await line.message(), await line.message()
            token = first["params"]["_meta"]["progressToken"]
            batch = (
                told("notifications/progress", progressToken=token, progress=1),
                result(second["id"], text_result("b")),
                '{"jsonrpc":"2.0","id":"s1","method":"roots/list"}',
                told("notifications/message", level="info", data="said"),
                result(first["id"], text_result("a")),
                '{"jsonrpc":"2.0","id":"s2","method":"ping"}',
                result(99, {}),
            )
            await line.says(f"[{','.join(batch)}]")
            assert [text_of(await one), text_of(await two)] == ["a", "b"]
            assert [report.progress for report in reports] == [1]
            assert [message.data for message in logged] == ["said"]
            answers = {each["id"]: each["result"] for each in await line.message()}
            assert answers == {"s1": {"roots": [{"uri": "file:///r"}]}, "s2": {}}

    run(main)


@pytest.mark.parametrize("streamed", [False, True])
def test_batches_over_http(streamed: bool) -> None:
    async def main() -> None:
        async with Web() as web:
            reports: list[Any] = []
            client = Client.http(web.url, versions=[V2])
            async with opened(client, web.greets(V2)):
                calling = client.call_tool("a", progress=reports.append)
                async with during(calling) as call:
                    asked = await web.asked("tools/call")
                    batch = (
                        told("notifications/progress", progressToken=1, progress=1),
                        result(asked.message["id"], text_result("a")),
                    )
                    if streamed:
                        asked.stream()
                        asked.event(f"[{','.join(batch)}]")
                        asked.cut()
                    else:
                        asked.answer(200, f"[{','.join(batch)}]")
                assert text_of(call.result()) == "a"
                assert [report.progress for report in reports] == [1]

    run(main)


@pytest.mark.parametrize("version", [V1, V3, V4, V5])
def test_other_versions_have_no_batches(version: str) -> None:
    async def main() -> None:
        line = Line()
        client = Client(line, versions=[version])
        async with opened(client, line.greets(version)):
            async with during(client.call_tool("a", timeout=5)) as call:
                asked = await line.message()
                await line.says(f"[{result(asked['id'], text_result('a'))}]")
                refusal = await line.message()
                assert refusal["error"]["code"] == -32600
            assert isinstance(call.exception(), RequestTimeout)

    run(main, leap=True)


# --- which era? -----------------------------------------------------------------------

MODERN_CODES = (-32020, -32021, -32022)


def refused(code: int, *supported: str) -> Callable[[Any], str]:
    more: dict[str, Any] = {"data": {"supported": list(supported)}} if supported else {}
    return lambda asked: error(asked["id"], code, **more)


def found(*versions: str) -> Callable[[Any], str]:
    return lambda asked: result(asked["id"], discovered(*versions))


def untyped(asked: Any) -> str:
    plain = {k: v for k, v in discovered(V5).items() if k != "resultType"}
    return result(asked["id"], plain)


def nothing(asked: Any) -> str:
    return ""


Answer = Callable[[Any], str]
LINES: dict[str, tuple[list[Answer], str]] = {
    "what it is": ([found(V5)], V5),
    "what it is, without a type": ([untyped], V5),
    "what it is, of both eras": ([found(V4, V5)], V5),
    "another version, and then this": ([refused(-32022, V5), found(V5)], V5),
    "a version of the old era": ([refused(-32022, V4)], V4),
    "to have only versions of the old era": ([found(V3, V4)], V4),
    "no such method": ([refused(-32601)], V4),
    "bad params": ([refused(-32602)], V4),
    "initialize first": ([refused(-32600)], V4),
    "an internal error": ([refused(-32603)], V4),
    "a code of its own": ([refused(-1)], V4),
    "an empty result": ([lambda asked: result(asked["id"], {})], V4),
    "a result that is none": ([lambda asked: result(asked["id"], [])], V4),
    "nothing at all": ([nothing], V4),
}
"""What a server answers to the probe, one time after another; and what it speaks."""


@pytest.mark.parametrize("says", LINES)
def test_the_era_of_a_line(says: str) -> None:
    answers, version = LINES[says]

    async def main() -> None:
        line = Line()
        client = Client(line)
        ids = []

        async def greet() -> None:
            for answer in answers:
                asked = await line.message()
                assert asked["method"] == "server/discover"
                ids.append(asked["id"])
                if frame := answer(asked):
                    await line.says(frame)
                else:
                    given_up = await line.message()
                    assert given_up["method"] == "notifications/cancelled"
            if version in LEGACY:
                asked = await line.answers(initialized(version))
                assert asked["method"] == "initialize"
                assert asked["params"]["protocolVersion"] == V4
                ids.append(asked["id"])
                await line.expect(OPENED)

        async with opened(client, greet()):
            assert client.version == version
            assert len(set(ids)) == len(ids)
            assert line.connections == 1
            assert line.silent()

    run(main, leap=True)


@pytest.mark.parametrize("code", MODERN_CODES[:2])
def test_what_only_a_modern_server_says_is_no_reason_to_initialize(code: int) -> None:
    async def main() -> None:
        line = Line()
        async with during(Client(line).__aenter__()) as entering:
            await line.refuses(code, message="so not")
        problem = entering.exception()
        assert isinstance(problem, AnswerError)
        assert (problem.code, problem.message) == (code, "so not")
        assert line.silent()

    run(main)


def test_a_server_that_dies_of_the_probe_is_started_again() -> None:
    async def main() -> None:
        line = Line()

        async def greet() -> None:
            assert (await line.message())["method"] == "server/discover"
            line.hangs_up()
            asked = await line.answers(initialized(V4))
            assert (asked["id"], asked["method"]) == (2, "initialize")

        async with opened(Client(line), greet()) as client:
            assert (client.version, line.connections) == (V4, 2)

    run(main)


def test_a_modern_server_that_takes_long_to_start() -> None:
    async def main() -> None:
        line = Line()

        async def greet() -> None:
            asked = [await line.message() for _ in range(2)]
            assert asked[0]["method"] == "server/discover"
            assert (await line.refuses(-32601))["method"] == "initialize"
            await line.greets(V5)

        async with opened(Client(line), greet()) as client:
            assert client.version == V5

    run(main, leap=True)


GREETINGS: list[Any] = [
    {},
    [],
    None,
    initialized(V4) | {"serverInfo": {}},
    initialized(V4) | {"serverInfo": None},
    initialized(V4) | {"capabilities": []},
    initialized(V4) | {"capabilities": {"tools": 7}},
    initialized(V4) | {"instructions": 7},
    {"protocolVersion": V4},
]


@pytest.mark.parametrize("greeting", GREETINGS)
def test_greetings_that_are_none(greeting: Any) -> None:
    async def main() -> None:
        line = Line()
        async with during(Client(line, versions=[V4]).__aenter__()) as entering:
            await line.answers(greeting)
        assert isinstance(entering.exception(), AnswerError | NotSupported)
        assert line.silent()

    run(main)


@pytest.mark.parametrize("oddity", ["1e999", "9" * 5000, "[" * 5000 + "]" * 5000])
@pytest.mark.parametrize("version", [V4, V5])
def test_greetings_that_are_hard_to_read(version: str, oddity: str) -> None:
    async def main() -> None:
        line = Line()
        client = Client(line, versions=[version], timeout=1)
        async with during(client.__aenter__()) as entering:
            hello = await line.message()
            greeting = initialized(V4) if version == V4 else discovered(V5)
            frame = result(hello["id"], greeting | {"x": "ODDITY"})
            await line.says(frame.replace('"ODDITY"', oddity))
        problem = entering.exception()
        assert isinstance(problem, AnswerError | RequestTimeout | None)
        await client.close()

    run(main, leap=True)


@pytest.mark.parametrize(
    "greeting",
    [
        {},
        [],
        None,
        {"supportedVersions": [V5]},
        discovered(V5) | {"capabilities": []},
        discovered(V5) | {"supportedVersions": V5},
        discovered(V5) | {"instructions": 7},
        discovered(V5) | {"_meta": []},
        discovered(V5) | {"_meta": {"io.modelcontextprotocol/serverInfo": 7}},
        discovered(V5) | {"resultType": "made_up"},
    ],
)
def test_discoveries_that_are_none(greeting: Any) -> None:
    async def main() -> None:
        line = Line()
        client = Client(line, versions=[V5])
        async with during(client.__aenter__()) as entering:
            await line.answers(greeting)
        if entering.exception() is None:  # nothing of importance was wrong
            assert isinstance(client.server_info, dict)
            assert isinstance(client.instructions, str)
            await client.close()
        else:
            assert isinstance(entering.exception(), AnswerError | NotSupported)

    run(main)


def http_answer(status: int, frame: Answer | str = "") -> Callable[[Exchange], None]:
    def answer(exchange: Exchange) -> None:
        body = frame if isinstance(frame, str) else frame(exchange.message)
        exchange.answer(status, body)

    return answer


def streams(exchange: Exchange) -> None:
    exchange.stream()
    exchange.event(result(exchange.message["id"], discovered(V5)))
    exchange.cut()


def page(exchange: Exchange) -> None:
    exchange.answer(404, "<h1>Not here</h1>", content_type="text/html")


def anonymous(exchange: Exchange) -> None:
    refusal = {"jsonrpc": "2.0", "error": {"code": -32022, "message": "no"}}
    refusal["error"]["data"] = {"supported": [V5]}  # type: ignore[index]
    exchange.answer(400, json.dumps(refusal))


WEB: dict[str, tuple[list[Callable[[Exchange], None]], str]] = {
    "what it is": ([http_answer(200, found(V5))], V5),
    "what it is, in a stream": ([streams], V5),
    "400, another version, and then this": (
        [http_answer(400, refused(-32022, V5)), http_answer(200, found(V5))],
        V5,
    ),
    "the same, without an id": ([anonymous, http_answer(200, found(V5))], V5),
    "400, a version of the old era": ([http_answer(400, refused(-32022, V3))], V3),
    "400, no session": ([http_answer(400, refused(-32000))], V4),
    "400, bad params": ([http_answer(400, refused(-32602))], V4),
    "400, no such method": ([http_answer(400, refused(-32601))], V4),
    "400, and no more": ([http_answer(400)], V4),
    "400, JSON of its own": ([http_answer(400, '{"detail":"bad"}')], V4),
    "404, and no more": ([http_answer(404)], V4),
    "404, a page": ([page], V4),
    "405": ([http_answer(405)], V4),
    "406": ([http_answer(406)], V4),
    "415": ([http_answer(415)], V4),
    "422": ([http_answer(422, '{"detail":[]}')], V4),
    "200, no such method": ([http_answer(200, refused(-32601))], V4),
    "200, initialize first": ([http_answer(200, refused(-32600))], V4),
    "202": ([http_answer(202)], V4),
}
"""What a server answers to the first requests over HTTP; and what it speaks."""


@pytest.mark.parametrize("says", WEB)
def test_the_era_of_an_http_server(says: str) -> None:
    answers, version = WEB[says]

    async def main() -> None:
        async with Web() as web:
            client = Client.http(web.url)

            async def greet() -> None:
                for answer in answers:
                    exchange = await web.asked("server/discover")
                    assert exchange.headers["mcp-protocol-version"] == V5
                    assert exchange.headers["mcp-method"] == "server/discover"
                    answer(exchange)
                if version in LEGACY:
                    first, second = await web.greets(version)
                    assert first.message["params"]["protocolVersion"] == V4
                    assert "mcp-protocol-version" not in first.headers
                    named = second.headers.get("mcp-protocol-version")
                    assert named == (version if version >= V3 else None)

            async with opened(client, greet()):
                assert client.version == version
                assert web.silent()

    run(main)


@pytest.mark.parametrize(
    ("status", "code"), [(400, -32020), (400, -32021), (404, -32601)]
)
def test_a_modern_refusal_is_no_reason_to_initialize(status: int, code: int) -> None:
    async def main() -> None:
        async with Web() as web:
            async with during(Client.http(web.url).__aenter__()) as entering:
                http_answer(status, refused(code))(await web.asked("server/discover"))
            problem = entering.exception()
            assert isinstance(problem, AnswerError)
            assert (problem.code, problem.status) == (code, status)
            assert web.silent()

    run(main)


@pytest.mark.parametrize("status", [401, 403, 500])
def test_statuses_that_tell_nothing_of_the_era(status: int) -> None:
    async def main() -> None:
        async with Web() as web:
            async with during(Client.http(web.url).__aenter__()) as entering:
                (await web.asked("server/discover")).answer(status)
            problem = entering.exception()
            assert isinstance(problem, HttpError)
            assert problem.status == status
            assert web.silent()

    run(main)


def test_the_oldest_http_is_found_last() -> None:
    async def main() -> None:
        async with Web(ignored=("DELETE",)) as web:

            async def greet() -> Exchange:
                for method in ("server/discover", "initialize"):
                    (await web.asked(method)).answer(405)
                stream = await web.asked()
                assert (stream.method, stream.path) == ("GET", web.path)
                assert stream.headers["accept"] == "text/event-stream"
                stream.stream()
                stream.event("/post?id=1", "event: endpoint")
                for method in ("initialize", "notifications/initialized"):
                    exchange = await web.asked(method)
                    assert exchange.path == "/post?id=1"
                    exchange.answer(202)
                    if method == "initialize":
                        id = exchange.message["id"]
                        stream.event(result(id, initialized(V1)))
                return stream

            client = Client.http(web.url)
            async with during(greet()) as greeting:
                await client.__aenter__()
            assert client.version == V1
            await client.close()
            await greeting.result().left()

    run(main)


def test_an_address_for_messages_must_be_on_the_same_server() -> None:
    async def main() -> None:
        async with Web(ignored=()) as web:
            async with during(Client.sse(web.url).__aenter__()) as entering:
                stream = await web.asked()
                stream.stream()
                stream.event("http://127.0.0.1:1/post", "event: endpoint")
                await stream.left()
            problem = entering.exception()
            assert isinstance(problem, HttpError | ConnectionClosed)
            assert "127.0.0.1:1" in str(problem)

    run(main)


def test_what_the_first_answer_said_is_what_helps() -> None:
    async def main() -> None:
        async with Web(ignored=()) as web:
            async with during(Client.http(web.url).__aenter__()) as entering:
                (await web.asked("server/discover")).answer(405)
                refusal = "only on weekdays"
                (await web.asked("initialize")).answer(
                    400, refusal, content_type="text/plain"
                )
                (await web.asked()).answer(405)
            problem = entering.exception()
            assert isinstance(problem, HttpError)
            assert problem.status == 400
            assert "only on weekdays" in str(problem)

    run(main)


def test_the_era_of_a_command_is_remembered(tmp_path: Path) -> None:
    async def main() -> None:
        log = tmp_path / "log"
        refusal = f"say {error(1, -32601)}"
        greeting = [f"say {result(2, initialized(V3))}", "hear"]
        first = ["hear", refusal, "hear", *greeting]
        command = child(log, *first, "again", *session(V3))
        for _ in range(2):
            async with Client.stdio(command) as client:
                assert client.version == V3
        methods = [[m["method"] for m in life] for life in heard_by(log)]
        legacy = ["initialize", "notifications/initialized"]
        assert methods == [["server/discover", *legacy], legacy]

    run(main)


def test_the_era_is_remembered() -> None:
    async def main() -> None:
        async with Web() as web:
            # A legacy server is asked once what it is, and a modern one every time.
            async with opened(Client.http(web.url), _legacy_after_a_probe(web)):
                pass
            async with opened(Client.http(web.url), web.greets(V3)) as client:
                assert client.version == V3
            narrowed = Client.http(web.url, versions=[V5])
            async with during(narrowed.__aenter__()) as entering:
                (await web.asked("server/discover")).answer(405)
            assert isinstance(entering.exception(), HttpError)

    run(main)


def test_what_is_remembered_may_change() -> None:
    async def main() -> None:
        async with Web() as web:
            async with opened(Client.http(web.url), _legacy_after_a_probe(web)):
                pass

            async def greet() -> None:
                refusal = refused(-32022, V5)
                http_answer(400, refusal)(await web.asked("initialize"))
                (await web.asked("server/discover")).result(discovered(V5))

            async with opened(Client.http(web.url), greet()) as client:
                assert client.version == V5

    run(main)


async def _legacy_after_a_probe(web: Web) -> None:
    (await web.asked("server/discover")).answer(405)
    await web.greets(V4)


# --- fewer versions -------------------------------------------------------------------


def test_the_newest_of_the_wanted_versions_is_asked_for() -> None:
    async def main() -> None:
        line = Line()
        client = Client(line, versions=[V3, V1])

        async def greet() -> None:
            asked = await line.answers(initialized(V1))
            assert asked["params"]["protocolVersion"] == V3

        async with opened(client, greet()):
            assert client.version == V1

    run(main)


@pytest.mark.parametrize("theirs", [V4, "2023-01-01", None, 7])
def test_no_common_version_of_the_old_era(theirs: Any) -> None:
    async def main() -> None:
        line = Line()
        async with during(Client(line, versions=[V1, V3]).__aenter__()) as entering:
            await line.answers(initialized(theirs))
        problem = entering.exception()
        assert isinstance(problem, NotSupported)
        for name in (str(theirs), V1, V3):
            assert name in problem.message
        assert line.silent()

    run(main)


@pytest.mark.parametrize(
    "answer", [refused(-32022, "2031-01-01", V4), found("2031-01-01", V4)]
)
def test_no_common_version_of_the_new_era(answer: Answer) -> None:
    async def main() -> None:
        line = Line()
        async with during(Client(line, versions=[V5]).__aenter__()) as entering:
            await line.says(answer(await line.message()))
        problem = entering.exception()
        assert isinstance(problem, NotSupported)
        for name in ("2031-01-01", V4, V5):
            assert name in problem.message

    run(main)


def test_unknown_versions_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"2031-01-01.*2026-07-28 are known"):
        Client(Line(), versions=["2031-01-01"])


# --- results of older versions --------------------------------------------------------

KINDS = (
    *("CallToolResult", "ListToolsResult", "ListResourcesResult", "CompleteResult"),
    *("ListResourceTemplatesResult", "ReadResourceResult", "ListPromptsResult"),
    "GetPromptResult",
)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_valid_in_its_version_can_be_read(version: str) -> None:
    document = Catalog().corrected(version).root
    oracle = Oracle(document)
    for name in KINDS:
        kind = getattr(types, name)
        for instance in valid_instances(document, name, 100, seed=4, oracle=oracle):
            assert oracle.is_valid(name, instance)
            read = results.read(Raw(json.dumps(instance).encode()), kind, name)
            assert isinstance(read, kind)
