"""What a server can not make a client do: wait for ever, hurry, ask its user again."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest
from mcpgen.runtime import AnswerError, Client, HttpError, RequestTimeout
from mcpgen.runtime.client.http1 import HttpBroken

from tests.runtime.scripted import Web, during, opened, run, text_of, text_result

LEGACY, MODERN = "2025-11-25", "2026-07-28"
FORM = {
    "method": "elicitation/create",
    "params": {
        "message": "?",
        "requestedSchema": {"type": "object", "properties": {}},
    },
}


def greeted(web: Web, version: str, session: str = "", **options: Any) -> Any:
    client = Client.http(web.url, versions=[version], **options)
    return opened(client, web.greets(version, None, session))


def test_a_call_is_not_repeated_because_its_stream_cannot_be_resumed() -> None:
    async def main() -> None:
        async with (
            Web(ignored=("DELETE",)) as web,
            greeted(web, LEGACY, session="s") as client,
        ):
            (await web.asked()).answer(405)
            async with during(client.call_tool("writes")) as call:
                first = await web.asked("tools/call")
                first.stream()
                first.event("", "id: 1", "retry: 10")
                first.cut()
                for _ in range(6):
                    again = await web.asked()
                    assert again.method == "GET"
                    again.answer(503, retry_after="0")
            assert isinstance(call.exception(), HttpBroken)
            assert web.silent()

    run(main, leap=True)


def test_a_stream_that_brings_nothing_is_opened_ever_more_seldom() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        async with (
            Web(ignored=("DELETE",)) as web,
            greeted(web, LEGACY, session="s"),
        ):
            times = []
            for _ in range(8):
                again = await web.asked()
                times.append(now())
                again.stream()
                again.event("", "retry: 0")
                again.cut()
            pauses = [b - a for a, b in itertools.pairwise(times)]
            assert pauses[0] >= 0.05
            assert pauses[-1] > 10 * pauses[0]

    run(main, leap=True)


def test_who_has_answered_is_not_asked_again() -> None:
    async def main() -> None:
        asked: list[Any] = []

        async def answer(params: Any) -> dict[str, Any]:
            asked.append(params)
            return {}

        async with Web() as web, greeted(web, MODERN, elicitation=answer) as client:
            async with during(client.call_tool("t")) as call:
                question = {
                    "resultType": "input_required",
                    "inputRequests": {"k": FORM},
                }
                (await web.asked("tools/call")).result(question)
                again = await web.asked("tools/call")
                assert again.message["params"]["inputResponses"]
                again.answer(503, retry_after="1")
            problem = call.exception()
            assert isinstance(problem, HttpError)
            assert problem.status == 503
            assert len(asked) == 1
            assert web.silent()

    run(main, leap=True)


def test_rounds_are_no_way_around_a_timeout() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        async with Web() as web, greeted(web, MODERN) as client:
            began = now()
            async with during(client.call_tool("t", timeout=0.3)) as call:
                while not call.done():
                    asking = asyncio.ensure_future(web.asked("tools/call"))
                    await asyncio.wait((asking, call), return_when="FIRST_COMPLETED")
                    if asking.done():
                        wait = {"resultType": "input_required", "requestState": "x"}
                        asking.result().result(wait)
                    asking.cancel()
            assert isinstance(call.exception(), RequestTimeout)
            assert now() - began < 1

    run(main, leap=True)


def test_a_result_may_not_ask_hundreds_of_questions() -> None:
    async def main() -> None:
        asked: list[Any] = []
        async with (
            Web() as web,
            greeted(web, MODERN, elicitation=asked.append) as client,
        ):
            async with during(client.call_tool("t")) as call:
                many = {str(number): FORM for number in range(100)}
                question = {"resultType": "input_required", "inputRequests": many}
                (await web.asked("tools/call")).result(question)
            assert isinstance(call.exception(), AnswerError)
            assert not asked

    run(main)


def test_a_flood_of_questions_takes_no_more_than_its_share() -> None:
    async def main() -> None:
        async with Web() as web, greeted(web, LEGACY) as client:
            async with during(client.call_tool("t")) as call:
                exchange = await web.asked("tools/call")
                exchange.stream()
                for number in range(1000):
                    ping = {"jsonrpc": "2.0", "id": number, "method": "ping"}
                    exchange.event(json.dumps(ping))
                ours = exchange.message["id"]
                answer = {"jsonrpc": "2.0", "id": ours, "result": text_result("x")}
                exchange.event(json.dumps(answer))
                most = 0
                for _ in range(1000):
                    (await web.asked()).answer(202)
                    most = max(most, len(asyncio.all_tasks()))
                exchange.cut()
            assert text_of(call.result()) == "x"
            assert most < 250  # of both sides

    run(main)


def test_tokens_of_one_server_are_not_for_another() -> None:
    from mcpgen.runtime.auth import OAuth

    auth = OAuth("https://one.example/mcp")
    Client.http("https://one.example/mcp", auth=auth)
    for url in ("https://two.example/mcp", "http://one.example/mcp"):
        with pytest.raises(ValueError, match="not for another"):
            Client.http(url, auth=auth)
