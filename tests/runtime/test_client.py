"""The client: what its calls send, what its handlers are asked, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import tracemalloc
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcpgen.protocol.newest import types
from mcpgen.runtime import (
    AnswerError,
    Client,
    ClientGroup,
    ConnectionClosed,
    McpError,
    NotSupported,
    RequestTimeout,
    Server,
)
from mcpgen.runtime.client import results
from mcpgen.runtime.transports import Connect

from . import client_server, tcp
from .scripted import (
    Line,
    discovered,
    during,
    opened,
    result,
    run,
    text_of,
    text_result,
    told,
)

ROOT = Path(__file__).parents[2]
LEGACY, OLDER, NEWER = "2025-11-25", "2025-06-18", "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": NEWER,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "mcpgen", "version": "0"},
}


def greeted(
    version: str = LEGACY, capabilities: Any = None, **options: Any
) -> tuple[Line, Any]:
    """A scripted server, and a client that is connected to it while it is entered."""
    line = Line()
    client = Client(line, versions=[version], **options)
    return line, opened(client, line.greets(version, capabilities))


def ask(id: Any, method: str, **params: Any) -> str:
    frame = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return json.dumps(frame)


# --- ways to a server -----------------------------------------------------------------


def test_targets() -> None:
    async def main() -> None:
        async with client_server.serving(client_server.make()) as base:
            program = f"{sys.executable} -m {client_server.__name__}"
            listening = await tcp.listen(client_server.make().attach)
            port = listening.sockets[0].getsockname()[1]
            targets = [
                client_server.make(),
                f"{base}/mcp",
                program,
                program.split(),
                lambda connect: over_tcp(port, connect),
            ]
            for target in targets:
                options = {"cwd": ROOT} if target in (program, program.split()) else {}
                async with Client.connect(target, **options) as client:
                    assert (await client.call_tool("add", a=1, b=2)).content
                    assert client.server_info["name"] == "everything"
            listening.close()
            await listening.wait_closed()

    run(main)


async def over_tcp(port: int, connect: Connect) -> None:
    """A transport of one's own, in full: one message a line."""
    source, sink = await asyncio.open_connection("127.0.0.1", port, limit=2**26)
    try:
        receiver = connect(tcp.Line(sink))
        async for line in source:
            if (busy := receiver.receive(line)) is not None:
                await busy
        receiver.closed()
    finally:
        sink.close()


def test_what_is_no_url() -> None:
    for url in ("ftp://example.com/", "example.com", "http://user:secret@host/"):
        with pytest.raises(ValueError, match="http") as problem:
            Client.http(url)
        assert "secret" not in str(problem.value)


def test_a_client_is_used_in_a_block() -> None:
    async def main() -> None:
        client = Client(Line())
        with pytest.raises(RuntimeError, match="async with"):
            await client.list_tools()
        with pytest.raises(RuntimeError, match="async with"):
            _ = client.version

    run(main)


# --- requests -------------------------------------------------------------------------


def test_all_pages_are_listed_and_no_more() -> None:
    async def main() -> None:
        line, opening = greeted()
        async with opening as client:
            async with during(client.list_prompts()) as listing:
                first = await line.answers(
                    {"prompts": [{"name": "a"}], "nextCursor": ""}
                )
                second = await line.answers(
                    {"prompts": [{"name": "b"}], "nextCursor": "é"}
                )
                third = await line.answers({"prompts": [{"name": "c"}]})
            assert [prompt.name for prompt in listing.result()] == ["a", "b", "c"]
            asked = [each.get("params") for each in (first, second, third)]
            assert asked == [None, {"cursor": ""}, {"cursor": "é"}]
            # Who wants only the first asks for no second page.
            prompts = client.prompts()
            async with during(anext(prompts)) as one:
                await line.answers({"prompts": [{"name": "a"}], "nextCursor": "1"})
            assert one.result().name == "a"
            await prompts.aclose()
            assert line.silent()
            async with during(client.list_prompts()) as listing:
                for cursor in "xyx":
                    await line.answers({"prompts": [], "nextCursor": cursor})
            problem = listing.exception()
            assert isinstance(problem, AnswerError)
            assert "'x' came twice" in problem.message

    run(main)


def test_pages_that_never_end() -> None:
    async def main() -> None:
        line, opening = greeted()

        async def serve() -> None:
            for number in count():
                await line.answers({"prompts": [], "nextCursor": str(number)})

        async with opening as client:
            server = asyncio.create_task(serve())
            with pytest.raises(AnswerError, match="never end"):
                await client.list_prompts()
            server.cancel()

    run(main)


def test_what_a_server_does_not_offer() -> None:
    async def main() -> None:
        line, opening = greeted(capabilities={})
        async with opening as client:
            assert not client.offers("tools/call")
            assert await client.list_tools() == []
            assert await client.list_resources() == []
            assert await client.list_resource_templates() == []
            assert await client.list_prompts() == []
            for asking in (
                client.call_tool("t"),
                client.read_resource("x://y"),
                client.get_prompt("p"),
                client.complete("a", "b", prompt="p"),
                client.request("resources/subscribe", {"uri": "x://y"}),
            ):
                with pytest.raises(NotSupported, match="does not offer"):
                    await asking
            assert line.silent()

    run(main)


def test_errors_are_raised_as_they_came() -> None:
    async def main() -> None:
        line, opening = greeted()
        async with opening as client:
            async with during(client.call_tool("t")) as call:
                await line.refuses(-32099, message="so not", data={"why": [1]})
            problem = call.exception()
            assert isinstance(problem, AnswerError)
            told = (problem.code, problem.message, problem.data)
            assert told == (-32099, "so not", {"why": [1]})

    run(main)


@pytest.mark.parametrize(
    "value",
    [None, [], "x", {}, {"content": 1}, {"content": [{"type": "text"}]}],
)
def test_results_that_are_none(value: Any) -> None:
    async def main() -> None:
        for version in (LEGACY, NEWER):
            line, opening = greeted(version, cache=True)
            async with opening as client:
                async with during(client.call_tool("t")) as call:
                    await line.answers(value)
                assert isinstance(call.exception(), AnswerError)
                async with during(client.call_tool("t")) as call:
                    await line.answers(text_result("fine"))
                assert call.result().content

    run(main)


def test_ids_are_never_used_again() -> None:
    async def main() -> None:
        line, opening = greeted(restart=True)
        async with opening as client:
            async with during(client.call_tool("t")) as call:
                assert (await line.message())["id"] == 2
                line.hangs_up()
            assert isinstance(call.exception(), ConnectionClosed)
            async with during(client.list_tools()) as listing:
                await line.greets(LEGACY)  # which has taken the id 3
                await line.says(result(2, text_result("of an earlier life")))
                assert (await line.answers({"tools": []}))["id"] == 4
            assert listing.result() == []
            assert line.connections == 2

    run(main)


def test_without_restart_the_end_is_the_end() -> None:
    async def main() -> None:
        line, opening = greeted()
        async with opening as client:
            line.hangs_up(OSError("pulled out"))
            for _ in range(2):
                with pytest.raises(ConnectionClosed, match="pulled out"):
                    await client.list_tools()
            assert line.connections == 1

    run(main)


def test_what_cannot_be_sent() -> None:
    async def main() -> None:
        line, opening = greeted()
        async with opening as client:
            for wrong in (object(), {1: {2}, "a": print}):
                with pytest.raises(TypeError):
                    await client.call_tool("t", x=wrong)
            assert line.silent()
            async with during(client.call_tool("t")):
                await line.answers(text_result("x"))

    run(main)


# --- time -----------------------------------------------------------------------------


def test_who_no_longer_waits_cancels() -> None:
    async def main() -> None:
        line, opening = greeted()
        async with opening as client:
            call = asyncio.create_task(client.call_tool("t"))
            await line.message()
            call.cancel()
            await asyncio.wait([call])
            assert call.cancelled()
            await line.expect(
                '{"jsonrpc":"2.0","method":"notifications/cancelled","params":'
                '{"requestId":2,"reason":"no longer needed"}}'
            )

    run(main)


@pytest.mark.parametrize("version", [LEGACY, NEWER])
def test_progress_gives_more_time(version: str) -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        line, opening = greeted(version, timeout=10.0, max_timeout=35.0)
        reports: list[Any] = []
        async with opening as client:
            # Reported every 8 seconds: 24 seconds are fine…
            async with during(client.call_tool("t", progress=reports.append)) as call:
                asked = await line.message()
                token = asked["params"]["_meta"]["progressToken"]
                for step in (1, 2, 3):
                    await asyncio.sleep(8)
                    await report(line, token, step)
                await line.says(result(asked["id"], text_result("done")))
            assert [r.progress for r in call.result() and reports] == [1, 2, 3]
            # …without an answer it ends 10 seconds after the last report…
            began = now()
            async with during(client.call_tool("t", progress=reports.append)) as call:
                asked = await line.message()
                token = asked["params"]["_meta"]["progressToken"]
                await asyncio.sleep(8)
                await report(line, token, 1)
            assert isinstance(call.exception(), RequestTimeout)
            assert now() - began == pytest.approx(18)
            assert (await line.message())["method"] == "notifications/cancelled"
            # …and in any case after 35 seconds.
            began = now()
            async with during(client.call_tool("t", progress=reports.append)) as call:
                asked = await line.message()
                token = asked["params"]["_meta"]["progressToken"]
                for step in range(1, 5):
                    await asyncio.sleep(8)
                    await report(line, token, step)
            assert isinstance(call.exception(), RequestTimeout)
            assert now() - began == pytest.approx(35)

    run(main, leap=True)


async def report(line: Line, token: Any, progress: float) -> None:
    params = {"progressToken": token, "progress": progress}
    await line.says(told("notifications/progress", **params))


def test_progress_of_nothing_is_nothing() -> None:
    async def main() -> None:
        reports: list[Any] = []
        line, opening = greeted(timeout=10.0, progress=reports.append)
        async with opening as client:
            now = asyncio.get_running_loop().time
            began = now()
            async with during(client.call_tool("t")) as call:
                asked = await line.message()
                token = asked["params"]["_meta"]["progressToken"]
                await asyncio.sleep(8)
                await report(line, "1", 1)
                await report(line, token + 1, 1)
                await line.says(told("notifications/progress", progressToken=token))
                await line.says(told("notifications/progress", progress=1))
                await line.says(told("notifications/progress"))
                await line.says('{"jsonrpc":"2.0","method":"notifications/progress"}')
            assert isinstance(call.exception(), RequestTimeout)
            assert now() - began == pytest.approx(10)
            await report(line, token, 1)  # of what is over
            assert reports == []

    run(main, leap=True)


def test_a_call_has_the_time_that_it_is_given() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        _, opening = greeted()
        async with opening as client:
            for seconds in (5, None, 100):
                began = now()
                with pytest.raises(RequestTimeout, match="tools/call"):
                    await client.call_tool("t", timeout=seconds)
                assert now() - began == pytest.approx(seconds or 60)

    run(main, leap=True)


# --- what a server asks ---------------------------------------------------------------

SAMPLING = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Who?"}}],
    "maxTokens": 5,
}
FORM = {
    "message": "Fill in",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "default": 30},
            "sure": {"type": "boolean", "default": False},
        },
    },
}
URL = {
    "mode": "url",
    "message": "Go",
    "url": "https://example.com/",
    "elicitationId": "1",
}
SAMPLED = {
    "role": "assistant",
    "content": {"type": "text", "text": "Me"},
    "model": "m",
}


def failing(params: Any) -> Any:
    raise RuntimeError("secret")


def refusing(params: Any) -> Any:
    raise McpError(-7, "not today")


async def sampled_later(params: Any) -> str:
    await asyncio.sleep(0)
    return "Me"


def typed_sample(params: Any) -> Any:
    content = types.TextContent(text="Me")
    return types.CreateMessageResult(role="assistant", content=content, model="m")


DEFAULTS = {"age": 30, "sure": False}
ASKED: dict[str, tuple[str, Any, Callable[..., Any], Any]] = {
    "a text": ("sampling", SAMPLING, lambda p: "Me", SAMPLED | {"model": "unknown"}),
    "a coroutine": (
        *("sampling", SAMPLING, sampled_later),
        SAMPLED | {"model": "unknown"},
    ),
    "a dict": ("sampling", SAMPLING, lambda p: SAMPLED, SAMPLED),
    "a type": ("sampling", SAMPLING, typed_sample, SAMPLED),
    "no": ("sampling", SAMPLING, lambda p: None, -1),
    "an error": ("sampling", SAMPLING, refusing, -7),
    "a bug": ("sampling", SAMPLING, failing, -32603),
    "nonsense": ("sampling", SAMPLING, lambda p: {"x": 1}, -32603),
    "a number": ("sampling", SAMPLING, lambda p: 7, -32603),
    "bad params": ("sampling", {"messages": 1}, lambda p: "Me", -32602),
    "no params": ("sampling", {}, lambda p: "Me", -32602),
    "a filled form": (
        *("elicitation", FORM, lambda p: {"name": "Ada", "sure": True}),
        {"action": "accept", "content": {"name": "Ada", "age": 30, "sure": True}},
    ),
    "an empty form": (
        *("elicitation", FORM, lambda p: {}),
        {"action": "accept", "content": DEFAULTS},
    ),
    "declined": ("elicitation", FORM, lambda p: "decline", {"action": "decline"}),
    "cancelled": ("elicitation", FORM, lambda p: "cancel", {"action": "cancel"}),
    "closed": ("elicitation", FORM, lambda p: None, {"action": "cancel"}),
    "a word": ("elicitation", FORM, lambda p: "perhaps", -32603),
    "a typed answer": (
        *("elicitation", FORM, lambda p: types.ElicitResult(action="decline")),
        {"action": "decline"},
    ),
    "visited": ("open_url", URL, lambda p: True, {"action": "accept"}),
    "not visited": ("open_url", URL, lambda p: False, {"action": "decline"}),
    "no pages": ("elicitation", URL, lambda p: {}, -32602),
    "no forms": ("open_url", FORM, lambda p: True, -32602),
    "roots": (
        *("roots", {}, lambda: ["file:///a", {"uri": "file:///b", "name": "B"}]),
        {"roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "B"}]},
    ),
    "bad roots": ("roots", {}, lambda: [{"name": "B"}], -32603),
}
"""An option, what the server asks, the handler, and the result or the error's code."""


@pytest.mark.parametrize("case", ASKED)
@pytest.mark.parametrize("version", [LEGACY, NEWER])
def test_what_a_server_asks(version: str, case: str) -> None:
    option, params, handler, expected = ASKED[case]
    methods = {"sampling": "sampling/createMessage", "roots": "roots/list"}
    method = methods.get(option, "elicitation/create")

    async def main() -> None:
        line, opening = greeted(version, **{option: handler})
        async with opening as client:
            if version == LEGACY:
                await line.says(ask("s1", method, **params))
                answer = await line.message()
                assert answer["id"] == "s1"
                if isinstance(expected, int):
                    assert answer["error"]["code"] == expected
                    assert "secret" not in answer["error"]["message"]
                else:
                    assert answer["result"] == expected
                return
            async with during(client.call_tool("t")) as call:
                await line.answers(
                    {
                        "resultType": "input_required",
                        "inputRequests": {"k": {"method": method, "params": params}},
                    }
                )
                if not isinstance(expected, int):
                    asked = await line.answers(text_result("done"))
                    assert asked["params"]["inputResponses"] == {"k": expected}
            if isinstance(expected, int):
                problem = call.exception()
                assert isinstance(problem, AnswerError)
                assert problem.code == expected
                if case == "a bug":  # which is best seen where it was made
                    assert isinstance(problem.__cause__, RuntimeError)
                assert line.silent()

    run(main)


@pytest.mark.parametrize("version", [LEGACY, OLDER, "2024-11-05"])
def test_what_was_not_offered_is_not_done(version: str) -> None:
    async def main() -> None:
        line, opening = greeted(version)
        async with opening:
            for method, params in (
                ("sampling/createMessage", SAMPLING),
                ("elicitation/create", FORM),
                ("roots/list", {}),
                ("tools/list", {}),
                ("nonsense", {}),
            ):
                await line.says(ask(method, method, **params))
                answer = await line.message()
                assert (answer["id"], answer["error"]["code"]) == (method, -32601)
            await line.says(ask(0, "ping"))
            assert await line.message() == {"jsonrpc": "2.0", "id": 0, "result": {}}

    run(main)


def test_a_ping_is_answered_before_anything_is_agreed() -> None:
    async def main() -> None:
        line = Line()

        async def greet() -> None:
            hello = await line.message()
            await line.says(ask("p", "ping"), ask("r", "roots/list"))
            assert (await line.message())["result"] == {}
            assert (await line.message())["error"]["code"] == -32601
            params = {"protocolVersion": LEGACY, "capabilities": {}}
            params["serverInfo"] = {"name": "s", "version": "1"}
            await line.says(result(hello["id"], params))

        async with opened(Client(line, versions=[LEGACY], roots=[]), greet()):
            pass

    run(main)


def test_a_server_may_withdraw_its_question() -> None:
    async def main() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def sampling(params: Any) -> str:
            begun.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                ended.set()
            return "never"

        line, opening = greeted(sampling=sampling)
        async with opening:
            await line.says(ask(1, "sampling/createMessage", **SAMPLING))
            await begun.wait()
            await line.says(told("notifications/cancelled", requestId=1))
            await ended.wait()
            await line.says(ask(2, "ping"))
            assert (await line.message())["id"] == 2

    run(main)


def test_handlers_that_fail_break_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def failing_later(said: Any) -> None:
        raise RuntimeError("later")

    async def main() -> None:
        line, opening = greeted(
            logging=failing_later, progress=failing, changed=failing
        )
        async with opening as client:
            async with during(client.call_tool("t")) as call:
                asked = await line.message()
                token = asked["params"]["_meta"]["progressToken"]
                await report(line, token, 1)
                await line.says(
                    told("notifications/message", level="info", data=1),
                    told("notifications/message", level="loud"),
                    told("notifications/tools/list_changed"),
                    told("notifications/made_up", x=1),
                    '{"jsonrpc":"2.0","method":"notifications/message","params":[]}',
                )
                await line.says(result(asked["id"], text_result("fine")))
            assert call.result().content
        failures = [r for r in caplog.records if r.levelno >= logging.ERROR]
        assert len(failures) >= 3

    run(main)


def test_handlers_that_take_time_do_so_one_after_another() -> None:
    async def main() -> None:
        said: list[int] = []

        async def logging(message: Any) -> None:
            await asyncio.sleep(0 if message.data % 2 else 0.01)
            said.append(message.data)

        line, opening = greeted(logging=logging)
        async with opening:
            for number in range(1000):
                params = {"level": "info", "data": number}
                await line.says(told("notifications/message", **params))
            await asyncio.sleep(1)
            assert said == list(range(len(said)))
            assert said
            assert len(asyncio.all_tasks()) < 10

    run(main, leap=True)


def test_roots_may_change() -> None:
    async def main() -> None:
        line, opening = greeted(roots=[])
        async with opening as client:
            await client.roots_changed()
            await line.expect(
                '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
            )
        line, opening = greeted(NEWER, roots=[])
        async with opening as client:
            await client.roots_changed()
            assert line.silent()

    run(main)


# --- rounds ---------------------------------------------------------------------------

STATE = '{"a": "ö\\u0000\ud83d\ude00",  "b":1}=='.encode(
    "utf-16", "surrogatepass"
).decode("utf-16")


def required(state: str | None = None, **asks: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"resultType": "input_required"}
    if state is not None:
        made["requestState"] = state
    if asks:
        made["inputRequests"] = asks
    return made


FORM_ASK = {"method": "elicitation/create", "params": FORM}
ROOTS_ASK = {"method": "roots/list"}


@pytest.mark.parametrize(
    ("method", "params", "asking", "final"),
    [
        (
            *("tools/call", {"name": "t", "arguments": {"a": 1}}),
            *(lambda c: c.call_tool("t", a=1), text_result("done")),
        ),
        (
            *("prompts/get", {"name": "p", "arguments": {"a": "1"}}),
            *(lambda c: c.get_prompt("p", a="1"), {"messages": []}),
        ),
        (
            *("resources/read", {"uri": "x://y"}),
            *(lambda c: c.read_resource("x://y"), {"contents": []}),
        ),
    ],
)
def test_rounds(method: str, params: Any, asking: Any, final: Any) -> None:
    async def main() -> None:
        async def elicitation(params: Any) -> dict[str, str]:
            return {"name": "Ada"}

        line, opening = greeted(NEWER, elicitation=elicitation, roots=["file:///r"])
        async with opening as client:
            async with during(asking(client)) as call:
                first = await line.answers(required(STATE, one=FORM_ASK, two=ROOTS_ASK))
                second = await line.answers(required(None, three=ROOTS_ASK))
                third = await line.answers(required("x"))
                fourth = await line.answers(final)
            assert call.result() is not None
            rounds = [first, second, third, fourth]
            assert len({each["id"] for each in rounds}) == 4
            assert {each["method"] for each in rounds} == {method}
            more = []
            for each in rounds:
                meta = each["params"].pop("_meta")
                assert meta == first["params"].get("_meta", meta)
                more.append({k: each["params"].pop(k, None) for k in RETRIED})
                assert each["params"] == params
            roots = {"roots": [{"uri": "file:///r"}]}
            filled = {"action": "accept", "content": {"name": "Ada"} | DEFAULTS}
            assert more == [
                {"requestState": None, "inputResponses": None},
                {
                    "requestState": STATE,
                    "inputResponses": {"one": filled, "two": roots},
                },
                {"requestState": None, "inputResponses": {"three": roots}},
                {"requestState": "x", "inputResponses": None},
            ]
            # Nothing of this goes with what is asked next.
            async with during(client.call_tool("other")):
                asked = await line.answers(text_result(""))
            assert not asked["params"].keys() & RETRIED

    run(main, leap=True)


RETRIED = {"requestState", "inputResponses"}


def test_rounds_end() -> None:
    async def main() -> None:
        line, opening = greeted(NEWER, roots=[])
        async with opening as client:
            async with during(client.call_tool("t")) as call:
                ids = [
                    (await line.answers(required(str(n), k=ROOTS_ASK)))["id"]
                    for n in range(10)
                ]
            assert len(set(ids)) == 10
            problem = call.exception()
            assert isinstance(problem, AnswerError)
            assert "10 times" in problem.message
            assert line.silent()

    run(main)


@pytest.mark.parametrize(
    "value",
    [
        required(),
        {"resultType": "made_up"},
        {"resultType": 1},
        {"resultType": None},
        required(k={"method": "sampling/createMessage", "params": SAMPLING}),
        required(k={"method": "tools/list", "params": {}}),
        required(k={"method": "ping"}),
        required(k={"params": {}}),
        {"resultType": "input_required", "inputRequests": []},
        {"resultType": "input_required", "requestState": 1},
    ],
)
def test_rounds_that_cannot_be(value: Any) -> None:
    async def main() -> None:
        line, opening = greeted(NEWER, roots=[])
        async with opening as client:
            async with during(client.call_tool("t")) as call:
                await line.answers(value)
            assert isinstance(call.exception(), AnswerError)
            assert line.silent()

    run(main)


def test_the_questions_of_a_round_end_together() -> None:
    async def main() -> None:
        ended = asyncio.Event()

        async def elicitation(params: Any) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                ended.set()

        async def sampling(params: Any) -> None:
            raise McpError(-7, "not today")

        options = {"elicitation": elicitation, "sampling": sampling}
        line, opening = greeted(NEWER, **options)
        async with opening as client:
            async with during(client.call_tool("t")) as call:
                sample = {"method": "sampling/createMessage", "params": SAMPLING}
                await line.answers(required(None, one=FORM_ASK, two=sample))
            problem = call.exception()
            assert isinstance(problem, AnswerError)
            assert problem.code == -7
            await ended.wait()

    run(main, leap=True)


@pytest.mark.parametrize("method", ["tools/list", "completion/complete"])
def test_only_some_requests_have_rounds(method: str) -> None:
    async def main() -> None:
        line, opening = greeted(
            NEWER, {"tools": {}, "completions": {}}, roots=["file:///private"]
        )
        async with opening as client:
            params = {
                "tools/list": {},
                "completion/complete": {
                    "ref": {"type": "ref/prompt", "name": "p"},
                    "argument": {"name": "a", "value": ""},
                },
            }[method]
            async with during(client.request(method, params)) as call:
                await line.answers(required("x", k=ROOTS_ASK))
            assert isinstance(call.exception(), AnswerError)
            assert line.silent()

    run(main)


def test_a_result_without_a_type_is_complete() -> None:
    async def main() -> None:
        line, opening = greeted(NEWER)
        async with opening as client:
            async with during(client.call_tool("t")) as call:
                await line.answers(text_result("x"))
            assert call.result().result_type == "complete"

    run(main)


# --- the log, and pings ---------------------------------------------------------------


def test_levels_and_pings() -> None:
    async def main() -> None:
        line, opening = greeted()
        async with opening as client:
            async with during(client.set_level("error")):
                await line.expect(
                    '{"jsonrpc":"2.0","id":2,"method":"logging/setLevel",'
                    '"params":{"level":"error"}}'
                )
                await line.says(result(2, {}))
            async with during(client.ping()):
                await line.expect('{"jsonrpc":"2.0","id":3,"method":"ping"}')
                await line.says(result(3, {}))
        line, opening = greeted(NEWER)
        async with opening as client:
            await client.set_level("error")
            assert line.silent()
            async with during(client.ping()):
                asked = await line.answers(discovered(NEWER))
            assert asked["method"] == "server/discover"
            level = {"io.modelcontextprotocol/logLevel": "error"}
            assert asked["params"]["_meta"] == META | level

    run(main)


def test_a_level_outlives_a_restart() -> None:
    async def main() -> None:
        for version in (LEGACY, NEWER):
            line, opening = greeted(version, restart=True)
            async with opening as client:
                async with during(client.set_level("error")):
                    if version == LEGACY:
                        await line.answers({})
                line.hangs_up()
                async with during(client.list_tools()):
                    await line.greets(version)
                    if version == LEGACY:
                        asked = await line.answers({})
                        assert asked["params"] == {"level": "error"}
                    asked = await line.answers({"tools": []})
                    assert asked["method"] == "tools/list"
                    level = asked.get("params", {}).get("_meta", {})
                    key = "io.modelcontextprotocol/logLevel"
                    assert level.get(key) == (None if version == LEGACY else "error")

    run(main)


def test_a_level_that_cannot_be_set_again_leaves_nothing_open() -> None:
    async def main() -> None:
        line, opening = greeted(restart=True)
        async with opening as client:
            async with during(client.set_level("error")):
                await line.answers({})
            line.hangs_up()
            async with during(client.list_tools()) as listing:
                await line.greets(LEGACY)
                assert (await line.refuses(-32603))["method"] == "logging/setLevel"
                if (await _next_or_none(line)) is not None:  # it is not so important
                    await line.says(result(5, {"tools": []}))
            assert isinstance(listing.exception(), AnswerError | None)

    run(main, leap=True)


# --- changes --------------------------------------------------------------------------


SUBSCRIBE = (
    '{"jsonrpc":"2.0","id":ID,"method":"resources/subscribe","params":{"uri":"URI"}}'
)


def test_listening_to_a_legacy_server() -> None:
    async def main() -> None:
        line, opening = greeted()
        async with opening as client:
            listening = client.listen("x://a", "x://b", prompts=True)
            async with during(listening.__aenter__()):
                for id, uri in (("2", "x://a"), ("3", "x://b")):
                    await line.expect(SUBSCRIBE.replace("ID", id).replace("URI", uri))
                    await line.says(result(int(id), {}))
            await line.says(
                told("notifications/tools/list_changed"),
                told("notifications/resources/updated", uri="x://other"),
                told("notifications/resources/updated", uri="x://b"),
                '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}',
            )
            found = [await anext(listening) for _ in range(2)]
            assert [(each.method, each.params) for each in found] == [
                ("notifications/resources/updated", {"uri": "x://b"}),
                ("notifications/prompts/list_changed", {}),
            ]
            async with during(listening.__aexit__()):
                for uri in ("x://a", "x://b"):
                    asked = await line.refuses(-32603)
                    assert asked["method"] == "resources/unsubscribe"
                    assert asked["params"] == {"uri": uri}

    run(main)


def test_two_who_listen_to_the_same() -> None:
    async def main() -> None:
        line, opening = greeted()
        async with opening as client:
            one, two = client.listen("x://a"), client.listen("x://a")
            async with during(one.__aenter__()):
                await line.answers({})
            async with during(two.__aenter__()):
                if (await _next_or_none(line)) is not None:
                    await line.says(result(3, {}))
            await one.__aexit__()
            assert line.silent()
            await line.says(told("notifications/resources/updated", uri="x://a"))
            assert (await anext(two)).params == {"uri": "x://a"}
            async with during(two.__aexit__()):
                assert (await line.answers({}))["method"] == "resources/unsubscribe"

    run(main, leap=True)


async def _next_or_none(line: Line) -> Any:
    """The next message, if there is to be one."""
    try:
        async with asyncio.timeout(1):
            return await line.message()
    except TimeoutError:
        return None


def test_who_was_refused_may_try_again() -> None:
    async def main() -> None:
        line, opening = greeted()
        async with opening as client:
            async with during(client.listen("x://a").__aenter__()) as refused:
                await line.refuses(-32603)
            assert isinstance(refused.exception(), AnswerError)
            listening = client.listen("x://a")
            async with during(listening.__aenter__()):
                assert (await line.answers({}))["method"] == "resources/subscribe"
            async with during(listening.__aexit__()):
                assert (await line.answers({}))["method"] == "resources/unsubscribe"

    run(main, leap=True)


def test_listening_to_a_legacy_server_that_cannot() -> None:
    async def main() -> None:
        line, opening = greeted(capabilities={"resources": {}})
        async with opening as client:
            with pytest.raises(NotSupported):
                await client.listen("x://a").__aenter__()
            assert line.silent()

    run(main)


SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def change(id: Any, method: str, **params: Any) -> str:
    return told(f"notifications/{method}", **params, _meta={SUBSCRIPTION: id})


async def acknowledge(line: Line, **honoured: Any) -> Any:
    asked = await line.message()
    assert asked["method"] == "subscriptions/listen"
    method = "subscriptions/acknowledged"
    await line.says(change(asked["id"], method, notifications=honoured))
    return asked


def test_listening_to_a_modern_server() -> None:
    async def main() -> None:
        line, opening = greeted(NEWER)
        async with opening as client:
            listening = client.listen("x://a", tools=True)
            async with during(listening.__aenter__()):
                asked = await acknowledge(line, toolsListChanged=True)
            assert asked["params"]["notifications"] == {
                "toolsListChanged": True,
                "resourceSubscriptions": ["x://a"],
            }
            assert listening.honoured == {"toolsListChanged": True}
            id = asked["id"]
            await line.says(
                change(id + 1, "tools/list_changed"),
                told("notifications/tools/list_changed"),
                change(str(id), "tools/list_changed"),
                change(id, "tools/list_changed"),
            )
            assert (await anext(listening)).method == "notifications/tools/list_changed"
            # The server ends it, and says so twice.
            await line.says(
                told("notifications/cancelled", requestId=id),
                result(id, {"resultType": "complete", "_meta": {SUBSCRIPTION: id}}),
            )
            with pytest.raises(StopAsyncIteration):
                await anext(listening)
            await listening.__aexit__()
            assert line.silent()

    run(main)


def test_who_stops_listening_says_so() -> None:
    async def main() -> None:
        line, opening = greeted(NEWER)
        async with opening as client:
            listening = client.listen(resources=True)
            async with during(listening.__aenter__()):
                asked = await acknowledge(line, resourcesListChanged=True)
            await listening.__aexit__()
            cancelled = await line.message()
            assert cancelled["method"] == "notifications/cancelled"
            assert cancelled["params"]["requestId"] == asked["id"]

    run(main)


def test_listening_that_does_not_come_about() -> None:
    async def main() -> None:
        line, opening = greeted(NEWER)
        async with opening as client:
            async with during(client.listen(tools=True).__aenter__()) as refused:
                await line.refuses(-32601)
            assert isinstance(refused.exception(), AnswerError)
            with pytest.raises(RequestTimeout):
                await client.listen(tools=True).__aenter__()
            asked, cancelled = await line.message(), await line.message()
            assert cancelled["params"]["requestId"] == asked["id"]

    run(main, leap=True)


@pytest.mark.parametrize("version", [LEGACY, NEWER])
def test_who_listens_hears_of_the_end(version: str) -> None:
    async def main() -> None:
        line, opening = greeted(version)
        async with opening as client:
            listening = client.listen(tools=True)
            async with during(listening.__aenter__()):
                if version == NEWER:
                    await acknowledge(line, toolsListChanged=True)
            async with during(anext(listening)) as waiting:
                line.hangs_up()
            assert isinstance(waiting.exception(), ConnectionClosed)
            await listening.__aexit__()

    run(main)


# --- results that may be kept ---------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=1000.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(results, "time", clock)
    return clock


def kept(ttl: Any, **fields: Any) -> dict[str, Any]:
    return {"resultType": "complete", "ttlMs": ttl, "cacheScope": "private", **fields}


def test_results_are_kept_for_as_long_as_they_may_be(clock: SimpleNamespace) -> None:
    async def main() -> None:
        line, opening = greeted(NEWER, cache=True)
        async with opening as client:
            tools = [{"name": "t", "inputSchema": {"type": "object"}}]
            async with during(client.list_tools()):
                await line.answers(kept(5000, tools=tools, nextCursor="2"))
                await line.answers(kept(9000, tools=[]))
            clock.now += 4.9
            assert [tool.name for tool in await client.list_tools()] == ["t"]
            clock.now += 0.2
            async with during(client.list_tools()):
                asked = await line.answers(kept(0, tools=tools, nextCursor="2"))
                assert "cursor" not in asked["params"]
            async with during(client.list_tools()):
                await line.answers(kept(5000, tools=[]))
            await line.says(told("notifications/prompts/list_changed"))
            assert await client.list_tools() == []
            await line.says(told("notifications/tools/list_changed"))
            async with during(client.list_tools()):
                await line.answers(kept(5000, tools=[]))
            for uri in ("x://a", "x://b"):
                async with during(client.read_resource(uri)):
                    await line.answers(kept(5000, contents=[]))
            await line.says(told("notifications/resources/updated", uri="x://a"))
            await client.read_resource("x://b")
            async with during(client.read_resource("x://a")):
                await line.answers(kept(5000, contents=[]))
            # What is called is called.
            for _ in range(2):
                async with during(client.call_tool("t")):
                    await line.answers(text_result("x") | {"ttlMs": 5000})

    run(main)


def test_nothing_is_kept_unasked(clock: SimpleNamespace) -> None:
    async def main() -> None:
        for version, options in ((NEWER, {}), (LEGACY, {"cache": True})):
            line, opening = greeted(version, **options)
            async with opening as client:
                for _ in range(2):
                    page = kept(5000, tools=[]) if version == NEWER else {"tools": []}
                    async with during(client.list_tools()):
                        await line.answers(page)

    run(main)


@pytest.mark.parametrize("ttl", ["soon", -1, None, {}, 1e999])
def test_times_that_are_none(ttl: Any, clock: SimpleNamespace) -> None:
    async def main() -> None:
        line, opening = greeted(NEWER, cache=True)
        async with opening as client:
            for _ in range(2):
                async with during(client.list_tools()) as listing:
                    text = json.dumps(kept(ttl, tools=[])).replace("Infinity", "1e999")
                    asked = await line.message()
                    await line.says(result(asked["id"], "HERE").replace('"HERE"', text))
                assert isinstance(listing.exception(), AnswerError | None)

    run(main)


# --- completions ----------------------------------------------------------------------


def test_completions() -> None:
    async def main() -> None:
        line, opening = greeted(capabilities={"completions": {}})
        async with opening as client:
            for wrong in ({}, {"prompt": "p", "resource": "x://{y}"}):
                with pytest.raises(ValueError, match="prompt=… or of a resource=…"):
                    await client.complete("a", "b", **wrong)
            completing = client.complete("a", "b", prompt="p", arguments={"c": "d"})
            async with during(completing) as completion:
                await line.expect(
                    '{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":'
                    '{"ref":{"type":"ref/prompt","name":"p"},'
                    '"argument":{"name":"a","value":"b"},'
                    '"context":{"arguments":{"c":"d"}}}}'
                )
                await line.says(result(2, {"completion": {"values": ["bc"]}}))
            assert completion.result() == ["bc"]

    run(main)


# --- the end --------------------------------------------------------------------------


@pytest.mark.parametrize("version", [LEGACY, NEWER])
def test_any_task_may_close(version: str) -> None:
    async def main() -> None:
        line, opening = greeted(version, sampling=lambda p: "x")
        async with opening as client:
            calls = [asyncio.create_task(client.call_tool("t")) for _ in range(5)]
            for _ in calls:
                await line.message()
            await asyncio.gather(*(asyncio.create_task(client.close()) for _ in "abc"))
            await asyncio.wait(calls)
            for call in calls:
                assert isinstance(call.exception(), ConnectionClosed)
            with pytest.raises(ConnectionClosed):
                await client.list_tools()
            assert line.silent()  # nobody is there to be told
        await client.close()

    run(main)


def test_closing_while_it_opens() -> None:
    async def main() -> None:
        line = Line()
        client = Client(line, versions=[LEGACY])
        async with during(client.__aenter__()) as entering:
            await line.message()
            await client.close()
        assert isinstance(entering.exception(), ConnectionClosed)

    run(main)


def test_two_who_open_it() -> None:
    async def main() -> None:
        line = Line()
        client = Client(line, versions=[LEGACY])
        entering = [asyncio.create_task(client.__aenter__()) for _ in "ab"]
        await line.greets(LEGACY)
        await asyncio.wait(entering)
        assert line.connections == 1
        await client.close()

    run(main, leap=True)


def test_closing_the_moment_it_is_open() -> None:
    async def main() -> None:
        for version in (LEGACY, NEWER):
            line = Line()
            client = Client(line, versions=[version])
            async with during(client.__aenter__()):
                await line.greets(version)
                await client.close()
            with pytest.raises(ConnectionClosed):
                await client.list_tools()

    run(main, leap=True)


def test_a_transport_that_never_connects() -> None:
    async def transport(connect: Connect) -> None:
        await asyncio.get_running_loop().create_future()

    async def main() -> None:
        now = asyncio.get_running_loop().time
        with pytest.raises((RequestTimeout, ConnectionClosed)):
            await Client(transport, timeout=7).__aenter__()
        assert now() == pytest.approx(7)

    run(main, leap=True)


def test_cancelling_while_it_opens() -> None:
    async def main() -> None:
        for versions in ([LEGACY], [NEWER], []):
            line = Line()
            entering = asyncio.create_task(Client(line, versions=versions).__aenter__())
            await line.message()
            entering.cancel()
            await asyncio.wait([entering])
            assert entering.cancelled()

    run(main)


def test_a_client_in_a_task_group_ends_with_it() -> None:
    async def work() -> None:
        line, opening = greeted()
        async with asyncio.TaskGroup() as group, opening as client:
            group.create_task(client.call_tool("t"))
            await line.message()
            raise LookupError("a bug of the user's")

    async def main() -> None:
        with pytest.raises(ExceptionGroup) as raised:
            await work()
        kinds = {type(each) for each in raised.value.exceptions}
        assert kinds <= {LookupError, ConnectionClosed}

    run(main)


# --- several servers ------------------------------------------------------------------


def named_server(name: str) -> Server:
    server = Server(name)

    @server.tool
    async def say(word: str) -> str:
        return f"{name} says {word}"

    return server


def test_a_group_keeps_names_apart() -> None:
    async def main() -> None:
        group = ClientGroup(
            {"a-1": Client.memory(named_server("one"))},
            b_2=Client.memory(client_server.make("2025-03-26")),
            c=Client.memory(named_server("three"), versions=[LEGACY]),
        )
        async with group:
            names = [tool.name for tool in await group.list_tools()]
            assert names[:2] == ["a-1__say", "b_2__add"]
            assert names[-1] == "c__say"
            assert len(names) == len(set(names)) == 14
            for name, who in (("a-1__say", "one"), ("c__say", "three")):
                outcome = await group.call_tool(name, {"word": "hi"})
                assert text_of(outcome) == f"{who} says hi"
            assert (await group.call_tool("b_2__add", a=1, b=2)).content
            versions = {name: client.version for name, client in group.items()}
            assert len(group) == 3
            assert versions == {"a-1": NEWER, "b_2": "2025-03-26", "c": LEGACY}
            for wrong in ("say", "d__say", "__say", "a-1_say"):
                with pytest.raises(ValueError, match="names no server"):
                    await group.call_tool(wrong)

    run(main)


@pytest.mark.parametrize("name", ["", "a__b", "_a", "a_", "a b", "ä", "a.b"])
def test_names_that_a_group_cannot_have(name: str) -> None:
    with pytest.raises(ValueError, match="name of a tool"):
        ClientGroup({name: Client(Line())})


def test_a_group_is_whole_or_not_at_all() -> None:
    async def main() -> None:
        dead = Client.stdio(["/nowhere/to/be/found"])
        group = ClientGroup(fine=Client.memory(named_server("one")), dead=dead)
        with pytest.raises(ConnectionClosed, match="/nowhere/to/be/found"):
            await group.__aenter__()
        with pytest.raises(ConnectionClosed):
            await group["fine"].list_tools()

    run(main)


def test_a_group_that_is_not_wanted_any_more() -> None:
    async def main() -> None:
        fine, silent = Line(), Line()
        clients = {"a": Client(fine, versions=[LEGACY]), "b": Client(silent)}
        entering = asyncio.create_task(ClientGroup(clients).__aenter__())
        await fine.greets(LEGACY)
        entering.cancel()
        await asyncio.wait([entering])
        assert entering.cancelled()

    run(main, leap=True)


# --- much at once ---------------------------------------------------------------------

MANY = 1000


@pytest.mark.parametrize("transport", ["memory", "stdio", "http"])
def test_many_calls_at_once_in_flat_memory(transport: str) -> None:
    async def rounds(client: Client) -> None:
        async def call(n: int) -> None:
            outcome = await client.call_tool("add", a=n, b=1)
            assert text_of(outcome) == str(n + 1)

        async def one_round() -> int:
            await asyncio.gather(*(call(n) for n in range(MANY)))
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        await one_round()
        tracemalloc.start()
        try:
            sizes = [await one_round() for _ in range(4)]
        finally:
            tracemalloc.stop()
        # What leaks grows every time, and not only when some table needs more room.
        assert min(after - before for before, after in pairwise(sizes)) < 20_000

    async def main() -> None:
        server = client_server.make()
        if transport == "memory":
            async with Client.memory(server) as client:
                await rounds(client)
        elif transport == "stdio":
            command = [sys.executable, "-m", client_server.__name__]
            async with Client.stdio(command, cwd=ROOT) as client:
                await rounds(client)
        else:
            async with (
                client_server.serving(server) as base,
                Client.http(f"{base}/mcp") as client,
            ):
                await rounds(client)

    run(main, limit=60)
