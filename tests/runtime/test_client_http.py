"""The client over HTTP: headers, streams, sessions, and what is tried again."""

from __future__ import annotations

import asyncio
import json
import logging
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from mcpgen.protocol.newest import types
from mcpgen.runtime import (
    AnswerError,
    Client,
    ConnectionClosed,
    HttpError,
    RequestTimeout,
)
from mcpgen.runtime.client import events

from .scripted import (
    Exchange,
    Web,
    discovered,
    during,
    error,
    initialized,
    opened,
    result,
    run,
    text_of,
    text_result,
    told,
)

V1, V2, V3, V4, V5 = (
    *("2024-11-05", "2025-03-26", "2025-06-18"),
    *("2025-11-25", "2026-07-28"),
)
CALL = "tools/call"
BOTH = "application/json, text/event-stream"


def greeted(
    web: Web,
    version: str = V4,
    capabilities: Any = None,
    session: str = "",
    **options: Any,
) -> Any:
    """A client that is connected to the scripted server while it is entered."""
    client = Client.http(web.url, versions=[version], **options)
    return opened(client, web.greets(version, capabilities, session))


def of_mcp(exchange: Exchange) -> dict[str, str]:
    """The headers of a request that are the protocol's business."""
    return {k: v for k, v in exchange.headers.items() if k.startswith("mcp-")}


# --- what is sent ---------------------------------------------------------------------


@pytest.mark.parametrize("version", [V2, V3, V4])
def test_requests_of_a_session(version: str) -> None:
    async def main() -> None:
        async with Web(ignored=()) as web:
            client = Client.http(
                web.url, versions=[version], headers={"X-Mine": "1", "Accept": "no"}
            )
            session = {"mcp-session-id": "s-1"}
            if version >= V3:
                session["mcp-protocol-version"] = version
            async with during(web.greets(version, session="s-1")) as greeting:
                await client.__aenter__()
            first, second = greeting.result()
            assert of_mcp(first) == {}
            assert of_mcp(second) == session
            stream = await web.asked()
            assert stream.method == "GET"
            assert of_mcp(stream) == session
            assert stream.headers["accept"] == "text/event-stream"
            stream.answer(405)
            async with during(client.call_tool("t")):
                call = await web.asked("tools/call")
                call.result(text_result("x"))
            assert of_mcp(call) == session
            async with during(client.close()):
                end = await web.asked()
                end.answer(200)
            assert end.method == "DELETE"
            assert of_mcp(end) == session
            for each in (first, second, call):
                assert (each.method, each.path) == ("POST", web.path)
                assert each.headers["content-type"] == "application/json"
                assert each.headers["accept"] == BOTH
            for each in (first, second, stream, call, end):
                assert each.headers["x-mine"] == "1"
                assert each.headers["host"] == f"127.0.0.1:{web.port}"

    run(main)


def test_requests_without_a_session() -> None:
    async def main() -> None:
        async with Web(ignored=()) as web:
            client = Client.http(web.url, versions=[V5])
            async with opened(client, web.greets(V5)):
                cases = [
                    (client.call_tool("t ool"), "tools/call", "t ool"),
                    (client.call_tool("ö"), "tools/call", "=?base64?w7Y=?="),
                    (client.call_tool(" t"), "tools/call", "=?base64?IHQ=?="),
                    (client.call_tool("a\r\nb: c"), "tools/call", None),
                    (
                        *(client.call_tool("=?base64?dA==?="), "tools/call"),
                        "=?base64?PT9iYXNlNjQ/ZEE9PT89?=",
                    ),
                    (client.get_prompt("p"), "prompts/get", "p"),
                    (client.read_resource("x://ä b"), "resources/read", None),
                    (client.read_resource("x://y%20z"), "resources/read", "x://y%20z"),
                ]
                for asking, method, name in cases:
                    async with during(asking) as asked:
                        exchange = await web.asked(method)
                        exchange.answer(400, error(exchange.message["id"], -1))
                    assert isinstance(asked.exception(), AnswerError)
                    headers = of_mcp(exchange)
                    said = headers.pop("mcp-name")
                    if name is not None:
                        assert said == name
                    assert said.isascii()
                    assert headers == {
                        "mcp-protocol-version": V5,
                        "mcp-method": method,
                    }
                async with during(client.list_tools()):
                    exchange = await web.asked("tools/list")
                    exchange.result({"tools": []})
                assert "mcp-name" not in of_mcp(exchange)
            assert web.silent()  # there is no session to end

    run(main)


HEADER = "x-mcp-header"


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {
        "name": name,
        "inputSchema": {"type": "object", "properties": properties},
    }


MIRRORING = tool(
    "t",
    region={"type": "string", HEADER: "Region"},
    method={"type": "string", HEADER: "Method"},
    size={"type": "integer", HEADER: "Size"},
    dry={"type": "boolean", HEADER: "Dry"},
    query={"type": "string"},
    where={
        "type": "object",
        "properties": {"zone": {"type": "string", HEADER: "Zone"}},
    },
)
ARGUMENTS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "plain": (
        {"region": "eu west", "size": -7, "dry": True, "query": "q"},
        {"region": "eu west", "size": "-7", "dry": "true"},
    ),
    "false and nothing": (
        {"region": "", "size": 0, "dry": False},
        {"region": "", "size": "0", "dry": "false"},
    ),
    "null": ({"region": None, "size": None}, {}),
    "none": ({}, {}),
    "nested": ({"where": {"zone": "z"}}, {"zone": "z"}),
    "nested in nothing": ({"where": 7}, {}),
    "a name of ours": ({"method": "GET"}, {"method": "GET"}),
    "unicode": ({"region": "Zürich"}, {"region": "=?base64?WsO8cmljaA==?="}),
    "injected": (
        {"region": "a\r\nX-Evil: 1"},
        {"region": "=?base64?YQ0KWC1FdmlsOiAx?="},
    ),
    "padded": ({"region": " a"}, {"region": "=?base64?IGE=?="}),
    "a tab": ({"region": "a\tb"}, {"region": "=?base64?YQli?="}),
    "as if encoded": (
        {"region": "=?base64?eA==?="},
        {"region": "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
    ),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_that_are_headers_too(case: str) -> None:
    arguments, headers = ARGUMENTS[case]

    async def main() -> None:
        async with Web() as web, greeted(web, V5) as client:
            async with during(client.list_tools()):
                (await web.asked("tools/list")).result({"tools": [MIRRORING]})
            async with during(client.call_tool("t", arguments)):
                exchange = await web.asked("tools/call")
                exchange.result(text_result("x"))
            found = of_mcp(exchange)
            prefix = "mcp-param-"
            params = {k[10:]: v for k, v in found.items() if k.startswith(prefix)}
            assert params == headers
            assert exchange.message["params"]["arguments"] == arguments

    run(main)


def test_a_tool_that_is_called_without_arguments() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web, V5) as client:
            async with during(client.list_tools()):
                (await web.asked("tools/list")).result({"tools": [MIRRORING]})
            params = types.CallToolRequestParams(name="t", meta=client.meta)
            async with during(client.caller.call_tool(params)) as call:
                exchange = await web.asked("tools/call")
                exchange.result(text_result("x") | {"resultType": "complete"})
            assert text_of(call.result()) == "x"
            assert "arguments" not in exchange.message["params"]

    run(main)


def test_headers_are_looked_up_when_the_server_misses_them() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web, V5) as client:
            async with during(client.call_tool("t", region="eu")) as call:
                first = await web.asked("tools/call")
                assert "mcp-param-region" not in first.headers
                first.answer(400, error(first.message["id"], -32020))
                (await web.asked("tools/list")).result({"tools": [MIRRORING]})
                second = await web.asked("tools/call")
                assert second.headers["mcp-param-region"] == "eu"
                assert second.message["id"] != first.message["id"]
                second.result(text_result("x"))
            assert text_of(call.result()) == "x"
            # If that was not it, it is an error like any other.
            async with during(client.call_tool("t")) as call:
                third = await web.asked("tools/call")
                third.answer(400, error(third.message["id"], -32020))
            problem = call.exception()
            assert isinstance(problem, AnswerError)
            assert (problem.code, problem.status) == (-32020, 400)
            assert web.silent()

    run(main)


INVALID: dict[str, dict[str, Any]] = {
    "empty": {"a": {"type": "string", HEADER: ""}},
    "space": {"a": {"type": "string", HEADER: "a b"}},
    "colon": {"a": {"type": "string", HEADER: "a:b"}},
    "unicode": {"a": {"type": "string", HEADER: "ä"}},
    "newline": {"a": {"type": "string", HEADER: "a\nb"}},
    "no text": {"a": {"type": "string", HEADER: 7}},
    "number": {"a": {"type": "number", HEADER: "a"}},
    "object": {"a": {"type": "object", HEADER: "a"}},
    "array": {"a": {"type": "array", HEADER: "a"}},
    "null": {"a": {"type": "null", HEADER: "a"}},
    "untyped": {"a": {HEADER: "a"}},
    "twice": {
        "a": {"type": "string", HEADER: "Same"},
        "b": {"type": "string", HEADER: "same"},
    },
    "items": {"a": {"type": "array", "items": {"type": "string", HEADER: "a"}}},
}


def test_tools_with_bad_annotations_are_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        tools = [tool(name, **properties) for name, properties in INVALID.items()]
        async with Web() as web, greeted(web, V5) as client:
            async with during(client.list_tools()) as listing:
                (await web.asked("tools/list")).result({"tools": [MIRRORING, *tools]})
            assert [each.name for each in listing.result()] == ["t"]
        warned = [r for r in caplog.records if r.levelno == logging.WARNING]
        assert len(warned) == len(INVALID)
        for name, record in zip(INVALID, warned, strict=True):
            assert repr(name) in record.getMessage()
        # Where there are no such headers, there is nothing wrong with the tools.
        async with Web() as web, greeted(web, V4) as client:
            async with during(client.list_tools()) as listing:
                (await web.asked("tools/list")).result({"tools": [MIRRORING, *tools]})
            assert len(listing.result()) == 1 + len(INVALID)
            async with during(client.call_tool("t", region="eu")):
                exchange = await web.asked("tools/call")
                exchange.result(text_result("x"))
            assert "mcp-param-region" not in exchange.headers

    run(main)


def test_headers_that_cannot_be() -> None:
    async def main() -> None:
        async with Web() as web:
            for name, value in (("x", "a\r\nb: c"), ("x\r\nb", "a"), ("host", "evil")):
                client = Client.http(web.url, headers={name: value})
                with pytest.raises(ValueError, match="header"):
                    await client.__aenter__()
            assert web.silent()

    run(main)


# --- giving up ------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [False, True])
def test_a_modern_request_is_given_up_by_hanging_up(begun: bool) -> None:
    async def main() -> None:
        async with Web() as web, greeted(web, V5) as client:
            async with during(client.call_tool("t", timeout=5)) as call:
                exchange = await web.asked("tools/call")
                if begun:
                    exchange.stream()
                    exchange.event(told("notifications/message", level="info", data=1))
                await exchange.left()
            assert isinstance(call.exception(), RequestTimeout)
            await still_works(web, client)
            assert web.silent()

    run(main, leap=True)


@pytest.mark.parametrize("begun", [False, True])
def test_a_legacy_request_is_given_up_in_words(begun: bool) -> None:
    async def main() -> None:
        async with Web() as web, greeted(web, V3, session="s-1") as client:
            async with during(client.call_tool("t", timeout=5)) as call:
                exchange = await web.asked("tools/call")
                if begun:
                    exchange.stream()
                    exchange.event(told("notifications/message", level="info", data=1))
                await exchange.left()
            assert isinstance(call.exception(), RequestTimeout)
            word = await web.asked("notifications/cancelled")
            word.answer(500 if begun else 202)  # which nobody waits for
            assert word.body == (
                b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":'
                b'{"requestId":2,"reason":"timed out"}}'
            )
            assert of_mcp(word) == {"mcp-session-id": "s-1", "mcp-protocol-version": V3}
            await still_works(web, client)

    run(main, leap=True)


def test_initialize_is_never_cancelled() -> None:
    async def main() -> None:
        async with Web() as web:
            client = Client.http(web.url, versions=[V4], timeout=5)
            async with during(client.__aenter__()) as entering:
                await (await web.asked("initialize")).left()
            assert isinstance(entering.exception(), RequestTimeout)
            assert web.silent()

    run(main, leap=True)


@pytest.mark.parametrize("answer", ["none", "a stream that goes on"])
def test_openings_that_never_end(answer: str) -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        async with Web() as web:
            client = Client.http(web.url, versions=[V4], timeout=7)
            async with during(client.__aenter__()) as entering:
                (await web.asked("initialize")).result(initialized(V4))
                exchange = await web.asked("notifications/initialized")
                if answer != "none":
                    exchange.stream()
                await exchange.left()
            assert now() < 8
            if answer == "none":
                assert isinstance(entering.exception(), RequestTimeout)
            else:  # it was accepted, and that is what counts
                assert entering.result() is client
                await client.close()
        async with Web(ignored=()) as web:
            began = now()
            client = Client.sse(web.url, timeout=7)
            async with during(client.__aenter__()) as entering:
                exchange = await web.asked()
                if answer != "none":
                    exchange.stream()
                await exchange.left()
            assert now() - began < 8
            assert isinstance(entering.exception(), RequestTimeout | ConnectionClosed)

    run(main, leap=True)


async def still_works(web: Web, client: Client) -> None:
    """Whatever has happened, the client is none the worse for it."""
    async with during(client.call_tool("again")) as call:
        (await web.asked("tools/call")).result(text_result("still"))
    assert text_of(call.result()) == "still"


# --- answers that are none ------------------------------------------------------------


def wrong_type(exchange: Exchange) -> None:
    exchange.answer(200, "<html>", content_type="text/html")


def no_type(exchange: Exchange) -> None:
    exchange.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
    exchange.over.set()


def not_http(exchange: Exchange) -> None:
    exchange.raw(b"SSH-2.0-OpenSSH\r\n\r\n")
    exchange.cut()


def endless_head(exchange: Exchange) -> None:
    exchange.raw(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000)
    exchange.cut()


def dripping(exchange: Exchange) -> None:
    exchange.raw(b"HTTP/1.1 200 OK\r\ncontent-ty")


def dripping_body(exchange: Exchange) -> None:
    exchange.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
    exchange.raw(b'content-length: 99\r\n\r\n{"jsonrpc"')


def half_a_body(exchange: Exchange) -> None:
    exchange.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
    exchange.raw(b'content-length: 99\r\n\r\n{"jsonrpc"')
    exchange.cut()


def zipped(exchange: Exchange) -> None:
    exchange.answer(200, "{}", content_encoding="gzip")


def silent_stream(exchange: Exchange) -> None:
    exchange.stream()
    exchange.cut()


def cut_event(exchange: Exchange) -> None:
    exchange.stream()
    exchange.raw(b'data: {"jsonrpc":"2.0","id":2,"result":{"content":[]}}\n')
    exchange.cut()


def answer(status: int, body: str = "", **headers: str) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(status, body, **headers)


def event(data: str) -> Callable[[Exchange], None]:
    def streamed(exchange: Exchange) -> None:
        exchange.stream()
        exchange.event(data)
        exchange.cut()

    return streamed


FAULTS: dict[str, tuple[Callable[[Exchange], None], type[Exception]]] = {
    "a page": (wrong_type, HttpError),
    "no type": (no_type, HttpError),
    "nothing": (answer(200), HttpError),
    "no content": (answer(204), HttpError),
    "accepted, and no session": (answer(202), HttpError),
    "a page that says no": (
        answer(418, "<h1>tea</h1>", content_type="text/html"),
        HttpError,
    ),
    "JSON that says no": (answer(400, '{"detail":"no"}'), HttpError),
    "no JSON": (answer(200, "no"), AnswerError),
    "an answer to something else": (answer(200, result(99, {})), AnswerError),
    "an id of another type": (answer(200, result("2", {})), AnswerError),
    "a request": (
        answer(200, '{"jsonrpc":"2.0","id":2,"method":"ping"}'),
        AnswerError,
    ),
    "both": (
        answer(200, '{"jsonrpc":"2.0","id":2,"result":{},"error":{}}'),
        AnswerError,
    ),
    "an error without an id": (
        answer(400, '{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}'),
        AnswerError,
    ),
    "an error": (answer(200, error(2, -5)), AnswerError),
    "no, and a result": (answer(400, result(2, text_result("x"))), HttpError),
    "no HTTP": (not_http, ConnectionClosed),
    "headers without end": (endless_head, ConnectionClosed),
    "headers that drip": (dripping, RequestTimeout),
    "a body that drips": (dripping_body, RequestTimeout),
    "half a body": (half_a_body, ConnectionClosed),
    "what was not asked for": (zipped, ConnectionClosed),
    "a stream of nothing": (silent_stream, ConnectionClosed),
    "a stream that is cut in an event": (cut_event, ConnectionClosed),
    "a stream of something else": (event(result(99, {})), ConnectionClosed),
    "a stream of garbage": (event("no"), ConnectionClosed),
    "both in a stream": (
        event('{"jsonrpc":"2.0","id":2,"result":{},"error":{}}'),
        AnswerError,
    ),
    "a redirect to nowhere": (answer(307), HttpError),
    "a redirect of an old kind": (answer(302, location="/other"), HttpError),
    "a redirect to another server": (
        answer(307, location="http://127.0.0.1:1/mcp"),
        HttpError,
    ),
    "a redirect to another scheme": (
        answer(308, location="https://127.0.0.1/mcp"),
        HttpError,
    ),
    "a redirect to a file": (answer(308, location="file:///etc/passwd"), HttpError),
    "a redirect to no URL": (answer(307, location="http://["), HttpError),
    "a redirect to no port": (
        answer(307, location="http://127.0.0.1:99999/"),
        HttpError,
    ),
    "a redirect to another port": (answer(307, location="http://h:abc/"), HttpError),
    "an internal error": (answer(500, "x" * 100_000, content_type="a/b"), HttpError),
}
"""What is answered to the call of a tool, and the error that this is."""


@pytest.mark.parametrize("case", FAULTS)
@pytest.mark.parametrize("version", [V4, V5])
def test_faults(version: str, case: str) -> None:
    fault, kind = FAULTS[case]

    async def main() -> None:
        async with Web() as web, greeted(web, version) as client:
            async with during(client.call_tool("t", timeout=5)) as call:
                exchange = await web.asked("tools/call")
                fault(exchange)
                if not exchange.over.is_set():
                    await exchange.left()
            problem = call.exception()
            assert isinstance(problem, kind), problem
            assert len(str(problem)) < 1000
            async with during(client.call_tool("again")) as call:
                while (exchange := await web.asked()).message.get("method") != CALL:
                    assert "error" not in exchange.message
                    exchange.answer(202)  # what followed from the first call
                exchange.result(text_result("still"))
            assert text_of(call.result()) == "still"

    run(main, leap=True)


def test_a_body_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpgen.runtime.client.MAX_MESSAGE", 2**16)
    large = result(2, text_result("x" * 2**17))

    async def main() -> None:
        for fault in (
            answer(200, large),
            event(large),
            event(large.replace(",", ",\n")),
        ):
            async with Web() as web, greeted(web, V5) as client:
                async with during(client.call_tool("t")) as call:
                    fault(await web.asked("tools/call"))
                problem = call.exception()
                assert isinstance(problem, ConnectionClosed)
                assert "65536" in str(problem)
                await still_works(web, client)

    run(main)


# --- redirects, and who asks ----------------------------------------------------------


@pytest.mark.parametrize("status", [307, 308])
def test_redirects_on_the_same_server(status: int) -> None:
    async def main() -> None:
        async with (
            Web() as web,
            greeted(web, headers={"Authorization": "Bearer x"}) as c,
        ):
            async with during(c.call_tool("t")) as call:
                first = await web.asked("tools/call")
                first.answer(status, location="/elsewhere?a=b")
                second = await web.asked("tools/call")
                assert (second.method, second.path) == ("POST", "/elsewhere?a=b")
                assert second.body == first.body
                assert second.headers["authorization"] == "Bearer x"
                second.result(text_result("x"))
            assert text_of(call.result()) == "x"

    run(main)


def test_redirects_in_a_circle() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web) as client:
            async with during(client.call_tool("t")) as call:
                for _ in range(5):
                    (await web.asked("tools/call")).answer(307, location=web.url)
            assert isinstance(call.exception(), HttpError)
            await still_works(web, client)

    run(main)


def test_nothing_is_sent_to_another_server() -> None:
    async def main() -> None:
        async with (
            Web() as other,
            Web() as web,
            greeted(web, headers={"Authorization": "Bearer secret"}) as client,
        ):
            async with during(client.call_tool("t")) as call:
                (await web.asked("tools/call")).answer(
                    307, location=f"{other.url}?token=secret"
                )
            problem = call.exception()
            assert isinstance(problem, HttpError)
            assert f"http://127.0.0.1:{other.port}" in str(problem)
            assert "secret" not in str(problem)
            assert other.connections == 0

    run(main)


class Keys:
    """An `Authorization` with a new token each time that one was refused."""

    def __init__(self, tokens: int) -> None:
        self.left = tokens
        self.refusals: list[tuple[int, str, str | None]] = []

    async def header(self) -> str | None:
        return f"Bearer {len(self.refusals)}" if self.refusals else None

    async def refused(self, status: int, challenges: str, sent: str | None) -> bool:
        self.refusals.append((status, challenges, sent))
        self.left -= 1
        return self.left >= 0


def test_credentials_are_asked_for_when_they_are_needed() -> None:
    async def main() -> None:
        keys = Keys(3)
        async with Web() as web:
            client = Client.http(web.url, auth=keys)

            async def greet() -> None:
                first = await web.asked("server/discover")
                assert "authorization" not in first.headers
                first.answer(401, www_authenticate='Bearer scope="a"')
                second = await web.asked("server/discover")
                assert second.headers["authorization"] == "Bearer 1"
                second.result(discovered(V5))

            async with opened(client, greet()):
                async with during(client.call_tool("t")) as call:
                    challenge = 'Bearer error="insufficient_scope", scope="b"'
                    first = await web.asked("tools/call")
                    first.answer(403, www_authenticate=challenge)
                    second = await web.asked("tools/call")
                    assert second.headers["authorization"] == "Bearer 2"
                    second.result(text_result("x"))
                assert text_of(call.result()) == "x"
                # A plain no is no question of credentials.
                async with during(client.call_tool("t")) as call:
                    (await web.asked("tools/call")).answer(403)
                assert isinstance(call.exception(), HttpError)
                async with during(client.call_tool("t")) as call:
                    for _ in range(2):
                        (await web.asked("tools/call")).answer(401)
                problem = call.exception()
                assert isinstance(problem, HttpError)
                assert problem.status == 401
        assert keys.refusals == [
            (401, 'Bearer scope="a"', None),
            (403, challenge, "Bearer 1"),
            (401, "", "Bearer 2"),
            (401, "", "Bearer 3"),
        ]

    run(main)


def test_nobody_logs_in_to_leave() -> None:
    async def main() -> None:
        keys = Keys(3)
        async with Web(ignored=("GET",)) as web:
            client = Client.http(web.url, versions=[V4], auth=keys)
            async with during(web.greets(V4, session="s")):
                await client.__aenter__()
            async with during(client.close()):
                (await web.asked()).answer(401)
            assert keys.refusals == []
            assert web.silent()

    run(main)


def test_credentials_are_not_asked_for_again_and_again() -> None:
    async def main() -> None:
        async with Web() as web:
            client = Client.http(web.url, auth=Keys(1000))
            async with during(client.__aenter__()) as entering:
                for _ in range(5):
                    (await web.asked("server/discover")).answer(401)
            problem = entering.exception()
            assert isinstance(problem, HttpError)
            assert problem.status == 401
            assert web.silent()

    run(main)


# --- trying again ---------------------------------------------------------------------

HARMLESS = [
    tool("reads") | {"annotations": {"readOnlyHint": True}},
    tool("repeats") | {"annotations": {"idempotentHint": True}},
    tool("writes") | {"annotations": {"readOnlyHint": False}},
    tool("unknown"),
]


@pytest.mark.parametrize(
    "fault",
    [answer(502), answer(503), answer(504), answer(429), half_a_body, silent_stream],
    ids=["502", "503", "504", "429", "cut body", "cut stream"],
)
@pytest.mark.parametrize("version", [V4, V5])
def test_what_passes_is_tried_again_where_that_is_safe(
    version: str, fault: Callable[[Exchange], None]
) -> None:
    async def main() -> None:
        async with Web() as web, greeted(web, version) as client:
            async with during(client.list_tools()) as listing:
                ids = []
                for _ in range(3):
                    exchange = await web.asked("tools/list")
                    ids.append(exchange.message["id"])
                    fault(exchange)
                (await web.asked("tools/list")).result({"tools": HARMLESS})
            assert len(listing.result()) == 4
            assert len(set(ids)) == 3
            for name in ("reads", "repeats"):
                async with during(client.call_tool(name)) as call:
                    fault(await web.asked("tools/call"))
                    (await web.asked("tools/call")).result(text_result("x"))
                assert text_of(call.result()) == "x"
            for name in ("writes", "unknown"):
                async with during(client.call_tool(name)) as call:
                    fault(await web.asked("tools/call"))
                assert isinstance(call.exception(), HttpError | ConnectionClosed)
                assert web.silent()

    run(main, leap=True)


def test_it_is_not_tried_for_ever() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web) as client:
            async with during(client.list_tools()) as listing:
                for _ in range(5):
                    (await web.asked("tools/list")).answer(503)
            problem = listing.exception()
            assert isinstance(problem, HttpError)
            assert problem.status == 503
            assert web.silent()

    run(main, leap=True)


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_may_say_when_to_come_back(status: int) -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        async with Web() as web, greeted(web) as client:
            # Who says when to come back has not begun: this is safe for every tool.
            async with during(client.call_tool("writes")) as call:
                (await web.asked("tools/call")).answer(status, retry_after="7")
                began = now()
                exchange = await web.asked("tools/call")
                assert 7 <= now() - began < 8
                exchange.result(text_result("x"))
            assert text_of(call.result()) == "x"
            # Nobody waits longer than he has time.
            async with during(client.call_tool("t", timeout=5)) as call:
                (await web.asked("tools/call")).answer(status, retry_after="7")
            problem = call.exception()
            assert isinstance(problem, HttpError)
            assert (problem.status, problem.retry_after) == (status, 7)
            for odd in ("-1", "soon", "Wed, 21 Oct 2099 07:28:00 GMT", "9" * 400, "²"):
                async with during(client.list_tools()) as listing:
                    (await web.asked("tools/list")).answer(status, retry_after=odd)
                    (await web.asked("tools/list")).result({"tools": []})
                assert listing.result() == []

    run(main, leap=True)


def test_a_server_that_is_not_up_yet() -> None:
    async def main() -> None:
        web = Web()
        await web.start()
        await web.stop()  # so that its port is known
        client = Client.http(web.url, versions=[V4])
        entering = asyncio.create_task(client.__aenter__())
        await asyncio.sleep(0.15)
        assert not entering.done()
        async with web:
            await web.greets(V4)
            await entering
            await client.close()

    run(main, leap=True)


def test_a_server_that_is_never_up() -> None:
    async def main() -> None:
        web = Web()
        await web.start()
        await web.stop()
        with pytest.raises(ConnectionClosed, match=f"127.0.0.1:{web.port}"):
            await Client.http(web.url).__aenter__()

    run(main, leap=True)


@pytest.mark.parametrize("version", [V4, V5])
def test_a_server_that_comes_back(version: str) -> None:
    async def main() -> None:
        web = Web()
        await web.start()
        async with greeted(web, version) as client:
            await web.stop()
            await asyncio.sleep(1)  # until the client has noticed, too
            async with during(client.call_tool("writes")) as call:
                await asyncio.sleep(0.15)
                async with web:
                    # Nothing was sent: even this may be tried again.
                    (await web.asked("tools/call")).result(text_result("x"))
                    assert text_of(await call) == "x"
                    await client.close()

    run(main, leap=True)


def test_a_connection_that_was_closed_meanwhile() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web) as client:
            async with during(client.call_tool("t")):
                exchange = await web.asked("tools/call")
                exchange.result(text_result("x"))
            exchange.cut()
            await still_works(web, client)

    run(main)


def test_a_tool_is_not_called_twice() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web) as client:
            await still_works(web, client)
            async with during(client.call_tool("writes")) as call:
                (await web.asked("tools/call")).cut()
            assert isinstance(call.exception(), ConnectionClosed)
            await still_works(web, client)
            assert web.silent()

    run(main)


def test_a_call_has_no_more_time_than_it_was_given() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        async with Web() as web, greeted(web, session="old", timeout=60) as client:
            began = now()
            async with during(client.call_tool("t", timeout=5)) as call:
                (await web.asked("tools/call")).answer(404)
                exchange = await web.asked("initialize")
                await asyncio.wait([call])
                assert now() - began < 6
            assert isinstance(call.exception(), RequestTimeout)
            # Others may still want the session.
            exchange.result(initialized(V4), mcp_session_id="new")
            (await web.asked("notifications/initialized")).answer(202)
            await still_works(web, client)

    run(main, leap=True)


# --- sessions -------------------------------------------------------------------------


def test_a_session_that_was_forgotten() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web, session="old") as client:
            calls = [asyncio.create_task(client.call_tool("t")) for _ in range(3)]
            old = [await web.asked("tools/call") for _ in calls]
            for exchange in old:
                exchange.answer(404)
            first, second = await web.greets(V4, session="new")
            assert of_mcp(first) == {}
            assert of_mcp(second)["mcp-session-id"] == "new"
            ids = {exchange.message["id"] for exchange in (*old, first)}
            for _ in calls:
                exchange = await web.asked("tools/call")
                assert of_mcp(exchange)["mcp-session-id"] == "new"
                ids.add(exchange.message["id"])
                exchange.result(text_result("x"))
            assert len(ids) == 7
            assert {text_of(await call) for call in calls} == {"x"}
            assert web.silent()

    run(main)


def test_a_session_that_is_forgotten_bit_by_bit() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web, session="old") as client:
            calls = [asyncio.create_task(client.call_tool("t")) for _ in range(4)]
            first, second, *rest = [await web.asked("tools/call") for _ in calls]
            first.answer(404)
            await web.greets(V4, session="new")
            second.result(text_result("x"))  # it was done, and is not done again
            for exchange in rest:
                exchange.answer(404)
            for _ in range(3):
                (await web.asked("tools/call")).result(text_result("x"))
            assert [text_of(await call) for call in calls] == ["x"] * 4
            assert web.silent()

    run(main)


def test_a_session_that_is_forgotten_at_once() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web, session="old") as client:
            async with during(client.list_tools()) as listing:
                (await web.asked("tools/list")).answer(404)
                await web.greets(V4, session="new")
                (await web.asked("tools/list")).answer(404)
            problem = listing.exception()
            assert isinstance(problem, HttpError)
            assert problem.status == 404
            assert web.silent()

    run(main)


def test_without_a_session_nothing_is_forgotten() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web) as client:
            async with during(client.list_tools()) as listing:
                (await web.asked("tools/list")).answer(404)
            assert isinstance(listing.exception(), HttpError)
            assert web.silent()

    run(main)


@pytest.mark.parametrize("session", ["ö", "a\tb", "a b"])
def test_a_session_id_that_is_none(session: str) -> None:
    async def main() -> None:
        async with Web() as web:
            client = Client.http(web.url, versions=[V4])
            async with during(client.__aenter__()) as entering:
                first = await web.asked("initialize")
                first.result(initialized(V4), mcp_session_id=session)
            assert isinstance(entering.exception(), HttpError | AnswerError)
            assert web.silent()

    run(main)


@pytest.mark.parametrize("version", [V4, V5])
def test_closing_that_is_cancelled_can_be_done_again(version: str) -> None:
    async def main() -> None:
        async with Web() as web:
            for turns in range(40):
                client = Client.http(web.url, versions=[version])
                async with during(web.greets(version, session="s")):
                    await client.__aenter__()
                closing = asyncio.create_task(client.close())
                for _ in range(turns):
                    await asyncio.sleep(0)
                closing.cancel()
                await asyncio.wait([closing])
                await client.close()

    run(main)


def test_a_session_is_ended_though_nobody_answers() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        async with Web(ignored=("GET",)) as web, greeted(web, session="s") as client:
            began = now()
            async with during(client.close()):
                await (await web.asked()).left()
            assert now() - began <= 2.1

    run(main, leap=True)


# --- streams --------------------------------------------------------------------------


def test_what_comes_before_the_answer() -> None:
    async def main() -> None:
        reports: list[Any] = []
        logged: list[Any] = []
        options: dict[str, Any] = {"logging": logged.append, "sampling": sampled}
        async with Web() as web, greeted(web, session="s", **options) as client:
            calling = client.call_tool("t", progress=reports.append)
            async with during(calling) as call:
                exchange = await web.asked("tools/call")
                token = exchange.message["params"]["_meta"]["progressToken"]
                exchange.stream()
                exchange.raw(b": a comment\n\n")
                exchange.event("", "id: 1", "retry: 10")
                params = {"progressToken": token, "progress": 1}
                exchange.event(told("notifications/progress", **params), "id: 2")
                exchange.event(told("notifications/message", level="info", data="x"))
                exchange.event("ignored", "event: other")
                exchange.event(SAMPLE, "event: message")
                reply = await web.asked()
                assert reply.message["id"] == "s1"
                assert reply.message["result"]["content"]["text"] == "Me"
                assert of_mcp(reply)["mcp-session-id"] == "s"
                reply.answer(202)
                exchange.event(result(exchange.message["id"], text_result("done")))
                exchange.cut()
            assert text_of(call.result()) == "done"
            assert ([r.progress for r in reports], len(logged)) == ([1], 1)

    run(main)


SAMPLE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": "s1",
        "method": "sampling/createMessage",
        "params": {"messages": [], "maxTokens": 1},
    }
)


@pytest.mark.parametrize("version", [V2, V3, V4])
@pytest.mark.parametrize("how", ["ended", "cut in an event"])
def test_a_stream_is_resumed(version: str, how: str) -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        reports: list[Any] = []
        async with Web(ignored=("DELETE",)) as web:
            opening = greeted(web, version, session="s")
            async with opening as client:
                (await web.asked()).answer(405)
                calling = client.call_tool("t", progress=reports.append)
                async with during(calling) as call:
                    first = await web.asked("tools/call")
                    first.stream()
                    first.event("", "id: a-0", "retry: 2500")
                    params = {"progressToken": 1, "progress": 1}
                    first.event(told("notifications/progress", **params), "id: a-1")
                    if how != "ended":
                        first.raw(b'id: a-2\ndata: {"jsonrpc":"2.0","me')
                    first.cut()
                    began = now()
                    second = await web.asked()
                    assert 2.5 <= now() - began < 3
                    assert (second.method, second.path) == ("GET", web.path)
                    assert second.headers["accept"] == "text/event-stream"
                    assert of_mcp(second)["mcp-session-id"] == "s"
                    assert second.headers["last-event-id"] == "a-1"
                    second.stream()
                    params = {"progressToken": 1, "progress": 2}
                    second.event(told("notifications/progress", **params), "id: a-3")
                    second.cut()
                    third = await web.asked()
                    assert third.headers["last-event-id"] == "a-3"
                    third.stream()
                    third.event(result(first.message["id"], text_result("done")))
                    third.cut()
                assert text_of(call.result()) == "done"
                assert [r.progress for r in reports] == [1, 2]

    run(main, leap=True)


def test_a_stream_is_not_resumed_for_ever() -> None:
    async def main() -> None:
        async with Web(ignored=("DELETE",)) as web, greeted(web, session="s") as client:
            (await web.asked()).answer(405)
            async with during(client.call_tool("t", timeout=50)) as call:
                exchange = await web.asked("tools/call")
                exchange.stream()
                exchange.event("", "id: 1", "retry: 1")
                exchange.cut()
                resumed = 0
                while not call.done():
                    async with during(web.asked()) as asking:
                        await asyncio.wait(
                            [asking, call], return_when=asyncio.FIRST_COMPLETED
                        )
                        if call.done():
                            asking.cancel()
                            continue
                    resumed += 1
                    asking.result().stream()
                    asking.result().cut()
            assert isinstance(call.exception(), ConnectionClosed)
            assert 3 <= resumed <= 10

    run(main, leap=True)


def test_a_stream_that_cannot_be_resumed() -> None:
    async def main() -> None:
        async with Web(ignored=("DELETE",)) as web, greeted(web, session="s") as client:
            (await web.asked()).answer(405)
            async with during(client.call_tool("t")) as call:
                exchange = await web.asked("tools/call")
                exchange.stream()
                exchange.event("", "id: 1")
                exchange.cut()
                (await web.asked()).answer(405)
            problem = call.exception()
            assert isinstance(problem, HttpError | ConnectionClosed)
            await still_works(web, client)

    run(main, leap=True)


@pytest.mark.parametrize("id", ["ö", "\x01", "x" * 50_000])
def test_event_ids_that_are_none(id: str) -> None:
    async def main() -> None:
        async with Web(ignored=("DELETE",)) as web, greeted(web, session="s") as client:
            (await web.asked()).answer(405)
            async with during(client.call_tool("t")) as call:
                exchange = await web.asked("tools/call")
                exchange.stream()
                exchange.event("", "id: 1")
                exchange.event("", f"id: {id}")
                exchange.cut()
                again = await web.asked()
                assert again.headers["last-event-id"] == "1"
                again.stream()
                again.event(result(exchange.message["id"], text_result("x")))
                again.cut()
            assert text_of(call.result()) == "x"

    run(main, leap=True)


def test_an_answer_may_come_on_the_other_stream() -> None:
    async def main() -> None:
        async with Web(ignored=("DELETE",)) as web, greeted(web, session="s") as client:
            stream = await web.asked()
            stream.stream()
            async with during(client.call_tool("t")) as call:
                exchange = await web.asked("tools/call")
                exchange.answer(202)
                stream.event(result(exchange.message["id"], text_result("x")))
            assert text_of(call.result()) == "x"
            async with during(client.call_tool("t", timeout=5)) as call:
                (await web.asked("tools/call")).answer(202)
                (await web.asked("notifications/cancelled")).answer(202)
            assert isinstance(call.exception(), RequestTimeout)

    run(main, leap=True)


def test_modern_streams_are_not_resumed() -> None:
    async def main() -> None:
        async with Web(ignored=()) as web, greeted(web, V5) as client:
            async with during(client.call_tool("t")) as call:
                exchange = await web.asked("tools/call")
                exchange.stream()
                exchange.event("", "id: 1", "retry: 1")
                exchange.cut()
            assert isinstance(call.exception(), ConnectionClosed)
            assert web.silent()

    run(main, leap=True)


def test_the_stream_of_a_session() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        changed: asyncio.Queue[Any] = asyncio.Queue()
        async with Web(ignored=("DELETE",)) as web:
            client = Client.http(
                web.url, versions=[V4], changed=changed.put_nowait, sampling=sampled
            )

            async def greet() -> Exchange:
                await web.greets(V4, session="s")
                stream = await web.asked()
                assert "last-event-id" not in stream.headers
                stream.stream()
                return stream

            async with during(greet()) as greeting:
                await client.__aenter__()
            stream = greeting.result()
            stream.event(SAMPLE, "id: 7")
            reply = await web.asked()
            assert reply.message["id"] == "s1"
            reply.answer(202)
            stream.event("", "id: 8", "retry: 3000")
            stream.cut()
            began = now()
            stream = await web.asked()
            assert 3 <= now() - began < 4
            assert stream.headers["last-event-id"] == "8"
            stream.stream()
            stream.event(told("notifications/tools/list_changed"), "id: 9")
            assert (await changed.get()).method == "notifications/tools/list_changed"
            # A server that is away for a while is asked less and less often.
            stream.cut()
            gaps = []
            for _ in range(4):
                began = now()
                (await web.asked()).answer(503)
                gaps.append(now() - began)
            assert gaps[-1] > gaps[0]
            stream = await web.asked()
            assert stream.headers["last-event-id"] == "9"
            stream.stream()
            await client.close()
            await stream.left()

    run(main, leap=True)


async def sampled(params: Any) -> str:
    return "Me"


# --- listening ------------------------------------------------------------------------

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def change(id: Any, method: str, **params: Any) -> str:
    return told(f"notifications/{method}", **params, _meta={SUBSCRIPTION: id})


async def acknowledged(web: Web) -> Exchange:
    exchange = await web.asked("subscriptions/listen")
    exchange.stream()
    params = {"notifications": {"toolsListChanged": True}}
    exchange.event(
        change(exchange.message["id"], "subscriptions/acknowledged", **params)
    )
    return exchange


def test_listening_goes_on_when_its_stream_breaks() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web, V5) as client:
            listening = client.listen(tools=True)
            async with during(acknowledged(web)) as acknowledging:
                await listening.__aenter__()
            stream = acknowledging.result()
            ids = {stream.message["id"]}
            for _ in range(3):
                stream.event(change(stream.message["id"], "tools/list_changed"))
                assert await anext(listening)
                stream.cut()
                stream = await acknowledged(web)
                ids.add(stream.message["id"])
            assert len(ids) == 4
            await listening.__aexit__()
            await stream.left()
            assert web.silent()

    run(main, leap=True)


# --- the oldest HTTP ------------------------------------------------------------------


async def greet_oldest(web: Web) -> Exchange:
    stream = await web.asked()
    stream.stream()
    stream.event("post", "event: endpoint")
    first = await web.asked("initialize")
    first.answer(202)
    stream.event(result(first.message["id"], initialized(V1)))
    (await web.asked("notifications/initialized")).answer(202)
    return stream


def test_the_oldest_http() -> None:
    async def main() -> None:
        async with Web(ignored=()) as web:
            client = Client.sse(web.url, headers={"X-Mine": "1"})
            async with during(greet_oldest(web)) as greeting:
                await client.__aenter__()
            stream = greeting.result()
            async with during(client.call_tool("t")) as call:
                exchange = await web.asked("tools/call")
                assert exchange.path == "/mcp/post"
                assert exchange.headers["x-mine"] == "1"
                stream.event(result(exchange.message["id"], text_result("early")))
                exchange.answer(202)
            assert text_of(call.result()) == "early"
            async with during(client.call_tool("t", timeout=5)) as call:
                exchange = await web.asked("tools/call")
                exchange.answer(202)
                word = await web.asked("notifications/cancelled")
                word.answer(202)
            assert isinstance(call.exception(), RequestTimeout)
            assert word.message["params"]["requestId"] == exchange.message["id"]
            await client.close()
            await stream.left()

    run(main, leap=True)


def test_how_the_oldest_http_refuses() -> None:
    async def main() -> None:
        async with Web(ignored=()) as web:
            for status in (401, 404):
                async with during(Client.sse(web.url).__aenter__()) as entering:
                    (await web.asked()).answer(status)
                problem = entering.exception()
                assert isinstance(problem, HttpError)
                assert problem.status == status
            client = Client.sse(web.url)
            async with during(client.__aenter__()):
                (await web.asked()).answer(503)
                stream = await greet_oldest(web)
            await client.close()
            await stream.left()

    run(main, leap=True)


@pytest.mark.parametrize(
    "how", ["the stream ends", "a post is refused", "a post is cut"]
)
def test_how_the_oldest_http_breaks(how: str) -> None:
    async def main() -> None:
        async with Web(ignored=()) as web:
            client = Client.sse(web.url)
            async with during(greet_oldest(web)) as greeting:
                await client.__aenter__()
            async with during(client.call_tool("t")) as call:
                exchange = await web.asked("tools/call")
                if how == "the stream ends":
                    greeting.result().raw(b"data: {")
                    greeting.result().cut()
                    exchange.answer(202)
                elif how == "a post is refused":
                    exchange.answer(500, "so not", content_type="text/plain")
                else:
                    exchange.raw(b"HTTP/1.1 20")
                    exchange.cut()
            problem = call.exception()
            assert isinstance(problem, ConnectionClosed | HttpError)
            assert ("so not" in str(problem)) == (how == "a post is refused")
            with pytest.raises((ConnectionClosed, HttpError)):
                await client.list_tools()
            await client.close()
            greeting.result().cut()

    run(main)


# --- reading events -------------------------------------------------------------------


class Pieces:
    """A response that comes in pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.status = 200
        self.headers: Mapping[str, str] = {}
        self._pieces = pieces

    async def read(self, limit: int) -> bytes:
        return b"".join(self._pieces)

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    def close(self) -> None:
        pass


STREAM = (
    "\ufeff: comment\r\n\r\n"
    "id: 1\rretry: 20\rdata\r\r"
    "event: endpoint\ndata:no space\n\n"
    "data: ä😀\ndata:  two\r\ndata: three\nid: 2\n\n"
    "id: with\0nul\nretry: soon\nunknown: x\ndata: {}\n\n"
    "retry: %s\n\n"
    "event: nothing\n\n"
    "id: 3\ndata: cut"
) % ("9" * 5000)
READ = [
    ("endpoint", b"no space"),
    ("message", "ä😀\n two\nthree".encode()),
    ("message", b"{}"),
]


async def read(pieces: Iterable[bytes]) -> Any:
    position = events.Position()
    stream = events.read(Pieces(pieces), position, 10_000)
    found = [(each.kind, each.data) async for each in stream]
    return found, position.last_id


def test_events_come_in_any_pieces() -> None:
    async def main() -> None:
        whole = STREAM.encode()
        assert await read([whole]) == (READ, "2")
        assert await read(whole[n : n + 1] for n in range(len(whole))) == (READ, "2")
        for at in (*range(200), *range(len(whole) - 20, len(whole))):
            assert await read([whole[:at], whole[at:]]) == (READ, "2"), at

        for end in ("\r\r", "\n\n", "\r\n\r\n", "\n\r"):
            text = f"data: x{end}".encode()
            for at in range(len(text)):
                found = await read([text[:at], text[at:]])
                assert found == ([("message", b"x")], "")

    run(main)


@pytest.mark.parametrize(
    "piece", [b"data:\n", b"data: x\n", b"x", b": x\n", b"id: x\n"]
)
def test_events_without_end(piece: bytes) -> None:
    async def main() -> None:
        tracemalloc.start()
        try:
            with suppress(ConnectionClosed):
                await read(piece * 1000 for _ in range(100))
            assert tracemalloc.get_traced_memory()[1] < 300_000
        finally:
            tracemalloc.stop()

    run(main)


# --- HTTP by others -------------------------------------------------------------------


@pytest.mark.parametrize("version", [V4, V5])
def test_a_client_of_another_library(version: str) -> None:
    httpx2 = pytest.importorskip("httpx2")

    async def main() -> None:
        async with Web() as web, httpx2.AsyncClient() as http:
            async with greeted(web, version, http=http) as client:
                async with during(client.call_tool("t")) as call:
                    exchange = await web.asked("tools/call")
                    exchange.stream()
                    exchange.event(result(exchange.message["id"], text_result("x")))
                    exchange.cut()
                assert text_of(call.result()) == "x"
                async with during(client.call_tool("t", timeout=0.5)) as call:
                    await (await web.asked("tools/call")).left()
                assert isinstance(call.exception(), RequestTimeout)
                if version == V4:
                    (await web.asked("notifications/cancelled")).answer(202)
                await still_works(web, client)
            assert not http.is_closed  # it is not ours

    run(main)
