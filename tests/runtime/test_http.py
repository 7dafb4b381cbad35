"""HTTP: whose rules hold, sessions, streams, resumption, headers, and who may call."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from mcpgen.runtime import Context, Server
from mcpgen.runtime.auth.bearer import Bearer, Principal
from mcpgen.runtime.peer import Peer
from msgspec import Meta
from starlette.applications import Starlette
from starlette.routing import Mount

from .asgi import Http, Response, living

NEWEST_LEGACY = "2025-11-25"
MODERN = "2026-07-28"
P = "io.modelcontextprotocol/"


class Gate:
    """What a tool of the server below waits for, and what it has seen."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.go = asyncio.Event()
        self.cancelled = asyncio.Event()


def make(gate: Gate) -> Server:
    server = Server("here", version="1.0", state_key=b"k" * 32)

    @server.tool
    async def now(text: str = "x") -> str:
        """Answer at once."""
        return text

    @server.tool
    async def steps(*, ctx: Context) -> str:
        """Say something before and after waiting."""
        await ctx.progress(1, 3)
        gate.entered.set()
        try:
            await gate.go.wait()
        except asyncio.CancelledError:
            gate.cancelled.set()
            raise
        await ctx.progress(2, 3)
        return "done"

    @server.tool
    async def quiet() -> str:
        """Wait and say nothing."""
        gate.entered.set()
        try:
            await gate.go.wait()
        except asyncio.CancelledError:
            gate.cancelled.set()
            raise
        return "done"

    @server.tool
    async def poll(*, ctx: Context) -> str:
        """Hang up before the answer."""
        ctx.close_stream()
        await gate.go.wait()
        return "done"

    @server.tool
    async def ask(*, ctx: Context) -> str:
        """Ask the user."""
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        return str((await ctx.elicit("?", schema)).action)

    @server.tool
    async def routed(
        region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})] = "",
        size: Annotated[int, Meta(extra_json_schema={"x-mcp-header": "Size"})] = 0,
    ) -> str:
        """Two of its arguments are repeated in headers."""
        return region

    return server


def run(main: Callable[[Gate, Server], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(20):
            gate = Gate()
            await main(gate, make(gate))

    asyncio.run(limited())


def request(method: str, id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(tool: str, id: Any = 1, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", id, name=tool, arguments=arguments)


def initialize(version: str = NEWEST_LEGACY, **capabilities: Any) -> dict[str, Any]:
    info = {"name": "c", "version": "1"}
    return request(
        "initialize",
        0,
        protocolVersion=version,
        capabilities=capabilities,
        clientInfo=info,
    )


def modern(message: dict[str, Any], **meta: Any) -> dict[str, Any]:
    said = {P + "protocolVersion": MODERN, P + "clientCapabilities": {}} | meta
    return message | {"params": message["params"] | {"_meta": said}}


def mirrored(message: dict[str, Any]) -> dict[str, str]:
    """The headers that go with a modern message."""
    headers = {"mcp-protocol-version": MODERN, "mcp-method": message["method"]}
    if "name" in message["params"]:
        headers["mcp-name"] = message["params"]["name"]
    return headers


async def session(server: Server, version: str = NEWEST_LEGACY, **options: Any) -> Http:
    """A client that has opened a session."""
    http = Http(server.asgi(**options))
    answer = await http.post(initialize(version, elicitation={}))
    assert answer.status == 200
    http.headers = {
        "mcp-session-id": answer.headers["mcp-session-id"],
        "mcp-protocol-version": version,
    }
    told = await http.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (told.status, told.text) == (202, "")
    return http


async def ask(http: Http, message: dict[str, Any], **headers: str | None) -> Response:
    """A modern request with its headers."""
    body = modern(message)
    return await http.post(body, **(mirrored(body) | headers))


# --- before any message is looked at ----------------------------------------------------


@pytest.mark.parametrize(
    ("options", "headers", "status", "names"),
    [
        ({}, {"host": "localhost:99"}, 200, ""),
        ({}, {"host": "[::1]:99"}, 200, ""),
        ({}, {"host": "evil.example"}, 421, "allowed_hosts"),
        ({}, {"host": "localhost.evil.example:80"}, 421, "allowed_hosts"),
        ({}, {"host": None}, 421, "allowed_hosts"),
        ({"allowed_hosts": ["a.example"]}, {"host": "A.example:80"}, 200, ""),
        ({"allowed_hosts": ["a.example:80"]}, {"host": "a.example:81"}, 421, ""),
        ({"allowed_hosts": ["*"]}, {"host": "b.example"}, 200, ""),
        ({}, {"origin": "http://localhost:1"}, 200, ""),
        ({}, {"origin": "https://evil.example"}, 403, "allowed_origins"),
        ({}, {"origin": "null"}, 403, "allowed_origins"),
        (
            {"allowed_origins": ["https://a.example"]},
            {"origin": "https://a.example"},
            200,
            "",
        ),
        (
            {"allowed_origins": ["https://a.example"]},
            {"origin": "http://a.example"},
            403,
            "",
        ),
        ({}, {"content-type": "text/plain"}, 415, "Content-Type"),
        ({}, {"content-type": None}, 415, "Content-Type"),
        ({}, {"content-type": "Application/JSON; charset=utf-8"}, 200, ""),
        ({}, {"accept": "text/html"}, 406, "Accept"),
        ({}, {"accept": "*/*"}, 200, ""),
        ({}, {"accept": None}, 200, ""),
        ({}, {"accept": "application/json;q=0"}, 406, ""),
        ({"max_body": 10}, {}, 413, "max_body"),
        ({}, {"content-length": "999999999"}, 413, "max_body"),
    ],
)
def test_what_is_refused_at_the_door(
    options: Any, headers: dict[str, Any], status: int, names: str
) -> None:
    async def main(gate: Gate, server: Server) -> None:
        answer = await Http(server.asgi(**options)).post(initialize(), **headers)
        assert answer.status == status
        assert names in answer.text
        if status != 200:
            assert "id" not in answer.json()

    run(main)


def test_a_body_in_pieces_is_bounded_too() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi(max_body=1000))
        whole = json.dumps(initialize()).encode()
        pieces = tuple(whole[i : i + 10] for i in range(0, len(whole), 10))
        assert (await http.post(pieces)).status == 200
        assert (await http.post((b" " * 600,) * 2)).status == 413

    run(main)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/mcp", 405),
        ("DELETE", "/mcp", 405),
        ("PUT", "/mcp", 405),
        ("OPTIONS", "/mcp", 405),
        ("POST", "/", 404),
        ("POST", "/sse", 405),
        ("GET", "/messages", 405),
    ],
)
def test_where_nothing_is(method: str, path: str, status: int) -> None:
    async def main(gate: Gate, server: Server) -> None:
        answer = await Http(server.asgi()).send(method, path)
        assert answer.status == status
        assert ("allow" in answer.headers) == (status == 405)

    run(main)


# --- whose rules hold -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "headers", "status", "code"),
    [
        (initialize(), {}, 200, None),
        (initialize("2025-03-26"), {"mcp-protocol-version": "2025-03-26"}, 200, None),
        (initialize(), {"mcp-protocol-version": "1999-01-01"}, 400, -32600),
        (initialize(), {"mcp-session-id": "nobody"}, 404, -32600),
        (request("tools/list"), {}, 400, -32600),
        (request("tools/list"), {"mcp-protocol-version": "2025-06-18"}, 400, -32600),
        # A modern version, wherever it is named, makes a request modern.
        (request("tools/list"), {"mcp-protocol-version": MODERN}, 400, -32602),
        (modern(request("tools/list")), {}, 400, -32020),
        (
            modern(request("tools/list")),
            {"mcp-protocol-version": "2025-06-18"},
            400,
            -32020,
        ),
        (modern(initialize()), mirrored(initialize()), 404, -32601),
        (modern(request("nope")), mirrored(request("nope")), 404, -32601),
        (
            modern(request("tools/list"), **{P + "protocolVersion": "v9"}),
            {"mcp-protocol-version": "v9", "mcp-method": "tools/list"},
            400,
            -32022,
        ),
        (
            modern(request("tools/list"), **{P + "protocolVersion": "v9"}),
            {"mcp-protocol-version": MODERN, "mcp-method": "tools/list"},
            400,
            -32020,
        ),
        # A tool's argument is not the version of a request.
        (call("now", text=P + "protocolVersion"), {}, 400, -32600),
    ],
)
def test_whose_rules_hold(
    message: dict[str, Any], headers: dict[str, Any], status: int, code: int | None
) -> None:
    async def main(gate: Gate, server: Server) -> None:
        answer = await Http(server.asgi()).post(message, **headers)
        assert answer.status == status
        assert answer.json().get("error", {}).get("code") == code
        if code in (-32602, -32020, -32022, -32601):
            assert answer.json()["id"] == message["id"]

    run(main)


# --- sessions ---------------------------------------------------------------------------


def test_a_session_from_its_beginning_to_its_end() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server)
        id = http.headers["mcp-session-id"]
        assert len(id) >= 32
        assert all(0x21 <= ord(c) <= 0x7E for c in id)
        answer = await http.post(call("now", text="hello"))
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["result"]["content"][0]["text"] == "hello"
        again = await http.post(initialize())
        assert again.json()["error"]["code"] == -32600
        assert (await http.post(call("now"), mcp_session_id=None)).status == 400
        assert (await http.post(call("now"), mcp_protocol_version="x")).status == 400
        assert (await http.send("DELETE")).status == 204
        for method in ("POST", "GET", "DELETE"):
            gone = await http.send(method, "/mcp", call("now"))
            assert gone.status == 404

    run(main)


def test_a_session_that_was_refused_is_none() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi())
        answer = await http.post(request("initialize"))
        assert answer.json()["error"]["code"] == -32602
        assert "mcp-session-id" not in answer.headers

    run(main)


def test_sessions_are_bounded_and_expire() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi(max_sessions=2, session_idle=0.01))
        first = await http.post(initialize())
        id = first.headers["mcp-session-id"]
        busy = http.open("GET", "/mcp", mcp_session_id=id)
        await busy.started()
        assert (await http.post(initialize())).status == 200
        full = await http.post(initialize())
        assert full.status == 503
        assert "max_sessions" in full.text
        # The one that nobody uses goes; the other has a reader.
        while (await http.post(initialize())).status == 503:
            await asyncio.sleep(0)
        assert (await http.post(request("ping"), mcp_session_id=id)).status == 200
        await busy.drop()

    run(main)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ({"jsonrpc": "2.0", "method": "notifications/x"}, 202),
        ({"jsonrpc": "2.0", "id": 99, "result": {}}, 202),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, 400),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], 400),
        (b"{", 400),
        (b"\xff", 400),
    ],
)
def test_what_is_no_request(message: Any, status: int) -> None:
    async def main(gate: Gate, server: Server) -> None:
        answer = await (await session(server)).post(message)
        assert answer.status == status
        assert bool(answer.text) == (status == 400)

    run(main)


def test_a_batch_is_answered_as_one() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server, "2025-03-26")
        answer = await http.post([call("now", 1), call("now", 2)])
        assert {member["id"] for member in answer.json()} == {1, 2}
        told = [{"jsonrpc": "2.0", "method": "notifications/x"}]
        assert (await http.post(told)).status == 202
        assert (await http.post([])).status == 400
        mixed = [request("ping"), {"jsonrpc": "2.0", "id": 1, "result": {}}]
        assert (await http.post(mixed)).status == 400

    run(main)


def test_a_header_that_is_there_twice() -> None:
    async def main(gate: Gate, server: Server) -> None:
        app = server.asgi()

        async def doubled(scope: Any, receive: Any, send: Any) -> None:
            scope["headers"].append((b"mcp-method", b"tools/list"))
            await app(scope, receive, send)

        answer = await ask(Http(doubled), call("now"))
        assert answer.status == 400
        assert "mcp-method" in answer.text

    run(main)


# --- streams of the legacy era ----------------------------------------------------------


def test_progress_makes_a_stream() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server)
        body = call("steps")
        body["params"]["_meta"] = {"progressToken": "t"}
        answer = http.open("POST", "/mcp", body)
        assert (await answer.message())["params"]["progress"] == 1
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["x-accel-buffering"] == "no"
        gate.go.set()
        await answer.done()
        assert [m.get("id") for m in answer.messages()] == [None, None, 1]
        ids = [event["id"] for event in answer.events()]
        assert len(set(ids)) == len(ids)

    run(main)


def test_who_reads_json_only_gets_the_answer_only() -> None:
    async def main(gate: Gate, server: Server) -> None:
        gate.go.set()
        http = await session(server)
        body = call("steps")
        body["params"]["_meta"] = {"progressToken": "t"}
        answer = await http.post(body, accept="application/json")
        assert answer.json()["result"]["content"][0]["text"] == "done"

    run(main)


def test_who_reads_events_only_gets_events() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server)
        answer = await http.post(call("now"), accept="text/event-stream")
        assert answer.messages()[0]["result"]["content"][0]["text"] == "x"
        answer = await ask(Http(server.asgi()), call("now"), accept="text/event-stream")
        assert answer.messages()[0]["result"]["content"][0]["text"] == "x"

    run(main)


@pytest.mark.parametrize("version", ["2025-06-18", NEWEST_LEGACY])
def test_a_broken_stream_can_be_resumed(version: str) -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server, version)
        body = call("steps")
        body["params"]["_meta"] = {"progressToken": "t"}
        answer = http.open("POST", "/mcp", body)
        first = await answer.event()
        await answer.drop()
        assert not gate.cancelled.is_set()
        gate.go.set()
        rest = await http.send("GET", "/mcp", last_event_id=first["id"])
        assert [m.get("id") for m in rest.messages()] == [None, 1]
        again = await http.send("GET", "/mcp", last_event_id=first["id"])
        assert again.messages() == rest.messages()
        lost = await http.send("GET", "/mcp", last_event_id="77-1")
        assert lost.status == 404

    run(main)


@pytest.mark.parametrize("id", ["0-²", "0-" + "9" * 5000, "-", "x", "0-99"])
def test_odd_ids_to_come_back_with(id: str) -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server)
        stream = await http.open("GET", "/mcp", last_event_id=id).started()
        assert stream.status == 200
        server.remove_tool("poll")
        await stream.message()
        await stream.drop()

    run(main)


def test_a_silent_request_becomes_a_stream_to_come_back_for() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server, stream_after=0.001, retry=77)
        answer = http.open("POST", "/mcp", call("quiet"))
        primed = await answer.event()
        assert primed["data"] == ""
        assert primed["retry"] == "77"
        await answer.drop()
        gate.go.set()
        rest = await http.send("GET", "/mcp", last_event_id=primed["id"])
        assert rest.messages()[0]["result"]["content"][0]["text"] == "done"

    run(main)


def test_older_clients_get_no_empty_event() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server, "2025-06-18", stream_after=0.001)
        answer = await http.open("POST", "/mcp", call("quiet")).started()
        gate.go.set()
        await answer.done()
        assert [bool(event["data"]) for event in answer.events()] == [True]

    run(main)


def test_a_tool_hangs_up_and_its_client_polls() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server)
        answer = await http.open("POST", "/mcp", call("poll")).done()
        (primed,) = answer.events()
        assert primed["data"] == ""
        polling = http.open("GET", "/mcp", last_event_id=primed["id"])
        await polling.started()
        gate.go.set()
        assert (await polling.message())["id"] == 1
        await polling.done()

    run(main)


def test_a_question_travels_on_the_stream_of_its_request() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server)
        alone = await http.open("GET", "/mcp").started()
        answer = http.open("POST", "/mcp", call("ask"))
        question = await answer.message()
        assert question["method"] == "elicitation/create"
        reply = {
            "jsonrpc": "2.0",
            "id": question["id"],
            "result": {"action": "decline"},
        }
        assert (await http.post(reply)).status == 202
        assert (await answer.message())["result"]["content"][0]["text"] == "decline"
        await answer.done()
        assert alone.events() == []
        await alone.drop()

    run(main)


def test_cancelled_by_word_not_by_silence() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server, stream_after=0.001)
        answer = http.open("POST", "/mcp", call("quiet", 5))
        await answer.started()
        told = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        await http.post(told | {"params": {"requestId": 5}})
        await answer.done()
        assert answer.messages() == []
        assert gate.cancelled.is_set()

    run(main)


def test_changes_go_to_one_stream_of_each_session() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server)
        first = await http.open("GET", "/mcp").started()
        second = await http.open("GET", "/mcp").started()
        await first.done()  # the newer one took over
        server.remove_tool("poll")
        told = await second.message()
        assert told["method"] == "notifications/tools/list_changed"
        assert first.messages() == []
        await second.drop()
        server.remove_tool("quiet")  # while nobody listens
        third = http.open("GET", "/mcp", last_event_id=second.events()[-1]["id"])
        assert (await third.message())["method"] == told["method"]
        await third.drop()

    run(main)


def test_silence_is_kept_alive() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = await session(server, keep_alive=0.001, stream_after=60)
        answer = http.open("GET", "/mcp")
        while answer.text.count(":\n\n") < 3:
            await asyncio.sleep(0)
        await answer.drop()
        body = modern(call("quiet"))
        answer = http.open("POST", "/mcp", body, **mirrored(body))
        while answer.text.count(":\n\n") < 3:
            await asyncio.sleep(0)
        gate.go.set()
        await answer.done()
        assert answer.messages()[0]["result"]["content"][0]["text"] == "done"

    run(main)


# --- the modern era ---------------------------------------------------------------------


def test_a_modern_request_stands_alone() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi())
        answer = await ask(http, call("now"), mcp_session_id="whatever")
        assert answer.status == 200
        assert answer.json()["result"]["resultType"] == "complete"
        assert "mcp-session-id" not in answer.headers
        told = {"jsonrpc": "2.0", "method": "notifications/x", "params": {}}
        assert (await http.post(told, **mirrored(told))).status == 202
        for method in ("GET", "DELETE"):
            found = await http.send(method, mcp_protocol_version=MODERN)
            assert found.status == 405

    run(main)


REGION = {"mcp-param-region": "eu"}


@pytest.mark.parametrize(
    ("message", "headers", "status"),
    [
        (call("now"), {}, 200),
        (call("now"), {"mcp-method": None}, 400),
        (call("now"), {"mcp-method": "Tools/Call"}, 400),
        (call("now"), {"mcp-name": None}, 400),
        (call("now"), {"mcp-name": "other"}, 400),
        (call("now"), {"mcp-name": "  now "}, 200),
        (call("now"), {"mcp-name": "=?base64?bm93?="}, 200),
        (call("now"), {"mcp-name": "=?base64?bm93"}, 400),
        (call("now"), {"mcp-protocol-version": None}, 400),
        (call("now"), REGION, 200),
        (call("routed"), {}, 200),
        (call("routed", region=None), {}, 200),
        (call("routed", region="eu"), {}, 400),
        (call("routed", region="eu"), REGION, 200),
        (call("routed", region="us"), REGION, 400),
        (call("routed"), REGION, 400),
        (call("routed", region="é"), {"mcp-param-region": "=?base64?w6k=?="}, 200),
        (call("routed", region="é"), {"mcp-param-region": "é"}, 400),
        (call("routed", region="é"), {"mcp-param-region": "=?base64?w6k?="}, 400),
        (call("routed", size=42), {"mcp-param-size": "42.0"}, 200),
        (call("routed", size=42), {"mcp-param-size": "43"}, 400),
        (call("routed", size=42), {"mcp-param-size": "x"}, 400),
    ],
)
def test_headers_say_what_the_body_says(
    message: dict[str, Any], headers: dict[str, Any], status: int
) -> None:
    async def main(gate: Gate, server: Server) -> None:
        answer = await ask(Http(server.asgi()), message, **headers)
        assert answer.status == status
        if status == 400:
            assert answer.json()["error"]["code"] == -32020
            assert answer.json()["id"] == 1

    run(main)


def test_an_argument_that_no_number_can_hold_is_no_mismatch() -> None:
    async def main(gate: Gate, server: Server) -> None:
        body = json.dumps(modern(call("routed", size=1))).replace(
            '"size": 1', '"size": 1e999'
        )
        answer = await Http(server.asgi()).post(
            body.encode(), **mirrored(call("routed")), mcp_param_size="1"
        )
        assert (answer.status, answer.json()["error"]["code"]) == (200, -32602)

    run(main)


def test_what_was_served_goes_without_the_garbage_collector() -> None:
    """Otherwise each request costs a tenth more."""

    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi())
        gate.go.set()
        gc.collect()
        gc.disable()
        try:
            before = sum(isinstance(each, Peer) for each in gc.get_objects())
            for tool in ("now", "quiet", "steps"):
                await ask(http, call(tool))
            after = sum(isinstance(each, Peer) for each in gc.get_objects())
        finally:
            gc.enable()
        assert after == before

    run(main)


@pytest.mark.parametrize("tool", ["quiet", "steps"])
def test_closing_a_modern_stream_cancels(tool: str) -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi())
        body = modern(call(tool), progressToken=1)
        answer = http.open("POST", "/mcp", body, **mirrored(body))
        await gate.entered.wait()
        await answer.drop()
        assert gate.cancelled.is_set()
        assert len(asyncio.all_tasks()) == 1

    run(main)


def test_a_modern_stream_of_progress() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi())
        body = modern(call("steps"), progressToken=1)
        answer = http.open("POST", "/mcp", body, **mirrored(body))
        assert (await answer.message())["params"]["progress"] == 1
        gate.go.set()
        await answer.done()
        assert [m.get("id") for m in answer.messages()] == [None, None, 1]
        assert all("id" not in event for event in answer.events())

    run(main)


def test_the_same_id_twice_is_two_requests() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi())
        body = modern(call("quiet"))
        first = http.open("POST", "/mcp", body, **mirrored(body))
        await gate.entered.wait()
        second = http.open("POST", "/mcp", body, **mirrored(body))
        told = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        await http.post(told | {"params": {"requestId": 1}}, **mirrored(body))
        await second.drop()
        gate.go.set()
        await first.done()
        assert first.json()["result"]["content"][0]["text"] == "done"

    run(main)


def test_listening_until_the_server_ends_it() -> None:
    async def main(gate: Gate, server: Server) -> None:
        app = server.asgi()
        http = Http(app)
        wanted = {"toolsListChanged": True}
        body = modern(request("subscriptions/listen", 7, notifications=wanted))
        answer = http.open("POST", "/mcp", body, **mirrored(body))
        acknowledged = await answer.message()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        server.remove_tool("poll")
        told = await answer.message()
        assert told["method"] == "notifications/tools/list_changed"
        assert told["params"]["_meta"][P + "subscriptionId"] == 7
        await app.finish()
        assert (await answer.message())["id"] == 7
        await answer.done()
        refused = await http.post(body, accept="application/json", **mirrored(body))
        assert refused.status == 400

    run(main)


def test_a_state_belongs_to_who_got_it() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi(auth=BEARER))
        body = modern(call("ask"), **{P + "clientCapabilities": {"elicitation": {}}})
        headers = mirrored(body)
        asked = await http.post(body, **headers, authorization="Bearer ann")
        result = asked.json()["result"]
        body["params"]["requestState"] = result["requestState"]
        (key,) = result["inputRequests"]
        body["params"]["inputResponses"] = {key: {"action": "cancel"}}
        other = await http.post(body, **headers, authorization="Bearer bob")
        assert other.json()["error"]["code"] == -32602
        same = await http.post(body, **headers, authorization="Bearer ann")
        assert same.json()["result"]["content"][0]["text"] == "cancel"

    run(main)


# --- who may call -----------------------------------------------------------------------


def verify(token: str) -> Principal | None:
    return Principal(token) if token in ("ann", "bob") else None


BEARER = Bearer(
    verify,
    resource="http://127.0.0.1:8000/mcp",
    authorization_servers=["https://issuer.example"],
)


def test_only_who_has_a_token() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi(auth=BEARER))
        refused = await http.post(initialize())
        assert refused.status == 401
        where = "http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{where}"' in refused.headers["www-authenticate"]
        found = await http.send("GET", "/.well-known/oauth-protected-resource/mcp")
        assert found.json()["resource"] == "http://127.0.0.1:8000/mcp"
        assert (await http.post(initialize(), authorization="Bearer eve")).status == 401
        opened = await http.post(initialize(), authorization="Bearer ann")
        id = opened.headers["mcp-session-id"]
        for name, status in (("ann", 200), ("bob", 404)):
            answer = await http.post(
                request("ping"), authorization=f"Bearer {name}", mcp_session_id=id
            )
            assert answer.status == status
        assert (await http.send("GET", "/sse")).status == 401

    run(main)


# --- HTTP+SSE of the oldest version -----------------------------------------------------


def test_the_oldest_transport() -> None:
    async def main(gate: Gate, server: Server) -> None:
        http = Http(server.asgi(), root_path="/below")
        stream = http.open("GET", "/sse")
        first = await stream.event()
        assert first["event"] == "endpoint"
        endpoint = first["data"].removeprefix("/below")
        assert endpoint.startswith("/messages?session_id=")
        posted = await http.send("POST", endpoint, initialize("2024-11-05"))
        assert posted.status == 202
        answer = await stream.message()
        assert answer["result"]["protocolVersion"] == "2024-11-05"
        await http.send("POST", endpoint, call("quiet", 2))
        await gate.entered.wait()
        await stream.drop()
        assert gate.cancelled.is_set()
        assert (await http.send("POST", endpoint, call("now"))).status == 404
        assert (await http.send("POST", "/messages", call("now"))).status == 404

    run(main)


# --- the life of the application --------------------------------------------------------


def test_a_lifespan_and_what_it_made() -> None:
    seen = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[str]:
        seen.append("up")
        yield "state"
        seen.append("down")

    async def main() -> None:
        server = Server("here", lifespan=lifespan)

        @server.tool
        async def state() -> str:
            return str(server.lifespan_state)

        app = server.asgi()
        async with living(app):
            answer = await ask(Http(app), call("state"))
            assert answer.json()["result"]["content"][0]["text"] == "state"
        assert seen == ["up", "down"]

    asyncio.run(main())


def test_a_lifespan_that_fails_says_so() -> None:
    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        raise ValueError("no database")
        yield

    async def main() -> None:
        with pytest.raises(RuntimeError, match="no database"):
            async with living(Server("here", lifespan=lifespan).asgi()):
                pass

    asyncio.run(main())


def test_several_workers_need_a_key(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", "4")

    async def main() -> None:
        for key, warned in ((b"k" * 32, False), (None, True)):
            async with living(Server("here", state_key=key).asgi()):
                pass
            assert ("state_key" in caplog.text) == warned

    asyncio.run(main())


def test_mounted_in_another_application() -> None:
    async def main(gate: Gate, server: Server) -> None:
        app = Starlette(routes=[Mount("/tools", app=server.asgi(path="/mcp"))])
        answer = await Http(app).send("POST", "/tools/mcp", initialize())
        assert answer.status == 200
        assert answer.json()["result"]["serverInfo"]["name"] == "here"

    run(main)


PROGRAM = """
from mcpgen.runtime import Server
server = Server("real", version="1.0")

@server.tool
async def now() -> str:
    return "x"

server.run("http", port=0)
"""


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_real_server_starts_and_ends(end: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith("real serves http://127.0.0.1:")
        port = int(said.rsplit(":", 1)[1].partition("/")[0])
        asyncio.run(_listen_until_ended(port, process, end))
        assert process.wait(10) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


async def _listen_until_ended(
    port: int, process: subprocess.Popen[str], end: signal.Signals
) -> None:
    """Read a stream of the server that stays open until it is told to end."""
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"
        )
        await reader.readuntil(b"event: endpoint")
        process.send_signal(end)
        await reader.read()
        writer.close()
        await writer.wait_closed()
