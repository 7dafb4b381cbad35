"""Servers that die, babble, lie or say nothing: each ends in an error of a known type.

`scripted.run` looks after every test that no task, process or open file is left.
"""

from __future__ import annotations

import asyncio
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime import (
    AnswerError,
    Client,
    ConnectionClosed,
    RequestTimeout,
    ServerCrashed,
)

from .scripted import (
    Line,
    child,
    during,
    error,
    heard_by,
    opened,
    result,
    run,
    session,
    text_of,
    text_result,
    told,
)

LEGACY, NEWER = "2025-11-25", "2026-07-28"
FINE = result(2, text_result("fine"))


def connected(log: Path, *steps: str, **options: Any) -> Client:
    """A client of a child that opens a session and then goes through the steps."""
    command = child(log, *session(LEGACY, *steps))
    return Client.stdio(
        command, versions=[LEGACY], timeout=5.0, stderr=ignore, **options
    )


def ignore(line: str) -> None:
    """What a child cries is looked at where it is kept."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


# --- children that die ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "returncode"),
    [
        (["cry went wrong", "exit 3"], 3),
        (["cry went wrong", "mumble " + FINE[:30], "exit 0"], 0),
        (["cry went wrong", "kill 9"], -9),
    ],
    ids=["mid-call", "mid-line", "killed"],
)
def test_a_server_that_dies(log: Path, steps: list[str], returncode: int) -> None:
    async def main() -> None:
        async with connected(log, "hear", *steps) as client:
            for _ in range(2):
                with pytest.raises(ServerCrashed, match="went wrong") as crash:
                    await client.call_tool("t")
                assert crash.value.returncode == returncode
                assert crash.value.stderr == ("went wrong",)
                how = "signal 9" if returncode == -9 else f"exit code {returncode}"
                assert how in str(crash.value)
        assert len(heard_by(log)) == 1

    run(main)


def test_everybody_who_waits_is_told(log: Path) -> None:
    async def main() -> None:
        async with connected(log, "hear", "hear", "hear", "exit 3") as client:
            calls = [asyncio.create_task(client.call_tool("t")) for _ in "abc"]
            await asyncio.wait(calls)
            problems = [call.exception() for call in calls]
            assert all(isinstance(each, ServerCrashed) for each in problems)
            assert len(set(map(id, problems))) == 3  # each has a traceback of its own

    run(main)


@pytest.mark.parametrize("steps", [["exit 4"], ["hear", "cry Oh no", "exit 4"]])
@pytest.mark.parametrize("versions", [[LEGACY], [NEWER], []])
def test_a_server_that_dies_before_it_greets(
    log: Path, steps: list[str], versions: list[str]
) -> None:
    async def main() -> None:
        client = Client.stdio(child(log, *steps), versions=versions, stderr=ignore)
        with pytest.raises(ServerCrashed) as crash:
            await client.__aenter__()
        assert crash.value.returncode == 4
        assert ("Oh no" in str(crash.value)) == (len(steps) > 1)
        lives = heard_by(log)
        # One that may have died of an unknown question gets another chance.
        assert len(lives) == (1 if versions else 2)
        if len(steps) > 1:
            methods = [message["method"] for (message,) in lives]
            asked = {LEGACY: ["initialize"], NEWER: ["server/discover"]}
            both = ["server/discover", "initialize"]
            assert methods == (asked[versions[0]] if versions else both)

    run(main)


def test_a_command_that_is_none() -> None:
    async def main() -> None:
        for command in (["/nowhere/at/all"], ["/"]):
            with pytest.raises(ConnectionClosed, match=command[0]):
                await Client.stdio(command).__aenter__()

    run(main)


def test_any_task_may_close_it(log: Path) -> None:
    async def main() -> None:
        async with connected(log) as client:
            calls = [asyncio.create_task(client.call_tool("t")) for _ in range(3)]
            await asyncio.sleep(0)
            await asyncio.gather(*(asyncio.create_task(client.close()) for _ in "ab"))
            await asyncio.wait(calls)
            assert all(isinstance(c.exception(), ConnectionClosed) for c in calls)

    run(main)


# --- children that are started again --------------------------------------------------


def ids_in(lives: list[list[Any]]) -> list[int]:
    return [message["id"] for life in lives for message in life if "id" in message]


def test_a_restart(log: Path) -> None:
    async def main() -> None:
        second = ["hear", f"say {result(3, greeting())}", "hear"]
        steps = ["hear", "exit 3", "again", *second, "hear", f"say {answer(4)}"]
        async with connected(log, *steps, restart=True) as client:
            # A tool may have done something before it died: it is not called again.
            with pytest.raises(ServerCrashed):
                await client.call_tool("t")
            assert (await client.call_tool("t")).content
        lives = heard_by(log)
        assert ids_in(lives) == [1, 2, 3, 4]

    run(main)


def test_what_is_harmless_is_asked_again(log: Path) -> None:
    async def main() -> None:
        second = ["hear", f"say {result(3, greeting())}", "hear"]
        listed = result(4, {"tools": []})
        steps = ["hear", "exit 3", "again", *second, "hear", f"say {listed}"]
        async with connected(log, *steps, restart=True) as client:
            assert await client.list_tools() == []
        lives = heard_by(log)
        assert [life[-1]["method"] for life in lives] == ["tools/list"] * 2
        assert ids_in(lives) == [1, 2, 3, 4]

    run(main)


def test_a_server_that_dies_while_nobody_asks(log: Path) -> None:
    async def main() -> None:
        second = ["hear", f"say {result(2, greeting())}", "hear"]
        steps = ["exit 3", "again", *second, "hear", f"say {answer(3)}"]
        async with connected(log, *steps, restart=True) as client:
            while not client.session.connection.closed:
                await asyncio.sleep(0.001)
            assert (await client.call_tool("t")).content

    run(main)


def test_a_server_that_dies_again_and_again(log: Path) -> None:
    async def main() -> None:
        async with connected(
            log, "hear", "exit 3", "again", "exit 5", restart=True
        ) as c:
            with pytest.raises(ServerCrashed) as crash:
                await c.list_tools()
            assert crash.value.returncode == 5
        assert len(heard_by(log)) <= 3

    run(main)


def test_many_who_wait_start_it_once(log: Path) -> None:
    async def main() -> None:
        client = connected(log, "hear", "exit 3", "again", "exit 5", restart=True)
        async with client:
            with pytest.raises(ServerCrashed):
                await client.call_tool("t")
            calls = [asyncio.create_task(client.call_tool("t")) for _ in range(20)]
            await asyncio.wait(calls)
            assert all(isinstance(c.exception(), ServerCrashed) for c in calls)
        assert len(heard_by(log)) <= 4

    run(main)


def greeting() -> dict[str, Any]:
    info = {"name": "scripted", "version": "2"}
    return {
        "protocolVersion": LEGACY,
        "capabilities": {"tools": {}},
        "serverInfo": info,
    }


def answer(id: int) -> str:
    return result(id, text_result("fine"))


# --- children that babble -------------------------------------------------------------

GARBAGE = [
    "Listening on port 8080",
    "",
    "{",
    '{"jsonrpc":"2.0","id":2,"result":',
    "[1, 2",
    "null",
    "7",
    '"text"',
    "\x1b[32mINFO\x1b[0m started",
    "{'jsonrpc': '2.0'}",
    '{"jsonrpc":"2.0","id":2,"result":{"content":[]}} trailing',
]


def test_garbage_on_stdout(log: Path) -> None:
    async def main() -> None:
        babble = [f"say {line}" for line in GARBAGE]
        command = child(log, *babble, *session(LEGACY, *babble, "hear", *babble))
        command += [f"say {FINE}", *babble]
        async with Client.stdio(command, versions=[LEGACY]) as client:
            assert (await client.call_tool("t")).content
        # Nothing but messages is answered.
        ((_, told, call),) = heard_by(log)
        assert told["method"] == "notifications/initialized"
        assert call["method"] == "tools/call"

    run(main)


def test_a_line_of_100_megabytes(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpgen.runtime.client.MAX_MESSAGE", 2**20)

    async def main() -> None:
        async with connected(log, "flood 100", "hear", f"say {FINE}") as client:
            tracemalloc.start()
            try:
                assert (await client.call_tool("t")).content
                assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
            finally:
                tracemalloc.stop()

    run(main)


def test_a_slow_drip(log: Path) -> None:
    async def main() -> None:
        drip = f"drip {FINE}"
        async with connected(log, "hear", drip, "hear") as client:
            assert (await client.call_tool("t")).content
            with pytest.raises(RequestTimeout):
                await client.call_tool("t", timeout=0.05)

    run(main)


def test_a_drip_that_never_ends(log: Path) -> None:
    async def main() -> None:
        steps = ["hear", "mumble " + FINE[:20]]
        async with connected(log, *steps) as client:
            with pytest.raises(RequestTimeout):
                await client.call_tool("t", timeout=0.1)

    run(main)


# --- answers that are none ------------------------------------------------------------


def frame(**fields: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", **fields})


CONTENT = text_result("wrong")
MALFORMED = {
    "both": frame(id=2, result=CONTENT, error={"code": 1, "message": "x"}),
    "neither": frame(id=2),
    "no version": json.dumps({"id": 2, "result": CONTENT}),
    "another version": json.dumps({"jsonrpc": "1.0", "id": 2, "result": CONTENT}),
}
"""Answers to request 2, which whoever asked it hears of."""
ERRORS: dict[str, tuple[Any, int]] = {
    "no object": ("no", -32600),
    "null": (None, -32600),
    "no code": ({"message": "x"}, -32600),
    "a code that is no number": ({"code": "x", "message": "x"}, -32600),
    "a message that is no text": ({"code": 5, "message": 7}, -32600),
    "more than needed": ({"code": 5, "message": "x", "data": 1, "more": 2}, 5),
}
DROPPED = {
    "an id of another type": frame(id="2", result=CONTENT),
    "a fraction": '{"jsonrpc":"2.0","id":2.0,"result":{}}',
    "no id that can be": frame(id=[2], result=CONTENT),
    "null": frame(id=None, result=CONTENT),
    "true": frame(id=True, result=CONTENT),
    "no id": frame(error={"code": -32700, "message": "what?"}),
    "null and an error": frame(id=None, error={"code": -32700, "message": "what?"}),
    "one that was never used": frame(id=99, result=CONTENT),
    "a huge number": '{"jsonrpc":"2.0","id":' + "9" * 5000 + ',"result":{}}',
    "the one before": frame(id=1, result=CONTENT),
    "bytes that are no text": '{"jsonrpc":"2.0","id":2,"result":"\xff"}',
    "depth": '{"jsonrpc":"2.0","id":2,"result":' + "[" * 9999 + "]" * 9999 + "}",
    "an empty object": "{}",
    "an empty array": "[]",
    "a notification of nothing": frame(method="notifications/made_up"),
    "a notification with odd params": frame(method="notifications/message", params=7),
    "a cancellation of what is not": told("notifications/cancelled", requestId=2),
    "a method that is no text": frame(method=7, id=2),
}
"""What does not answer request 2 and must not disturb it."""


@pytest.mark.parametrize("version", [LEGACY, NEWER])
@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_answers(case: str, version: str) -> None:
    async def main() -> None:
        line = Line()
        client = Client(line, versions=[version])
        async with opened(client, line.greets(version)):
            async with during(client.call_tool("t")) as call:
                await line.message()
                await line.says(MALFORMED[case])
            problem = call.exception()
            assert isinstance(problem, AnswerError)
            assert "malformed" in problem.message
            await still_works(line, client)

    run(main, leap=True)


@pytest.mark.parametrize("case", ERRORS)
def test_malformed_errors(case: str) -> None:
    said, code = ERRORS[case]

    async def main() -> None:
        line = Line()
        client = Client(line, versions=[LEGACY])
        async with opened(client, line.greets(LEGACY)):
            async with during(client.call_tool("t")) as call:
                await line.message()
                await line.says(frame(id=2, error=said))
            problem = call.exception()
            assert isinstance(problem, AnswerError)
            assert problem.code == code
            await still_works(line, client)

    run(main, leap=True)


@pytest.mark.parametrize("version", [LEGACY, NEWER])
@pytest.mark.parametrize("case", DROPPED)
def test_what_is_no_answer_is_dropped(case: str, version: str) -> None:
    async def main() -> None:
        line = Line()
        client = Client(line, versions=[version])
        async with opened(client, line.greets(version)):
            async with during(client.call_tool("t")) as call:
                await line.message()
                await line.says(DROPPED[case].encode("latin-1"))
                await line.says(FINE, FINE, error(2, -1))
            assert text_of(call.result()) == "fine"
            await still_works(line, client)

    run(main, leap=True)


async def still_works(line: Line, client: Client) -> None:
    """Whatever has come, the connection is none the worse for it."""
    async with during(client.call_tool("again")) as call:
        while (asked := await line.message()).get("method") != "tools/call":
            assert "error" in asked  # what could not be read was answered so
        await line.says(result(asked["id"], text_result("still")))
    assert text_of(call.result()) == "still"


def test_a_server_that_never_answers() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        line = Line()
        with pytest.raises(RequestTimeout, match="initialize"):
            await Client(line, timeout=7).__aenter__()
        assert now() == pytest.approx(5 + 7)  # for the probe, and for the opening
        methods = [(await line.message())["method"] for _ in range(3)]
        cancelled = "notifications/cancelled"
        assert methods == ["server/discover", cancelled, "initialize"]
        assert line.silent()

    run(main, leap=True)


@pytest.mark.parametrize("version", [LEGACY, NEWER])
def test_mutated_answers(version: str) -> None:
    """Whatever comes, a call ends as it should, and so does the one after it."""
    rng = random.Random(20261118)
    pieces = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\u0000", b"\xff", b"null"]

    def mutated(data: bytes) -> bytes:
        made = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(made))
            if rng.random() < 0.5:
                made[at : at + rng.randint(0, 3)] = rng.choice(pieces)
            else:
                made[at] = rng.randrange(256)
        return bytes(made)

    async def main() -> None:
        line = Line()
        client = Client(line, versions=[version], roots=[], timeout=1)
        outcomes = set()
        async with opened(client, line.greets(version)):
            for _ in range(300):
                async with during(client.call_tool("t")) as call:
                    while (asked := await line.message()).get("method") != "tools/call":
                        pass
                    value = text_result("x") | {"resultType": "complete"}
                    await line.says(mutated(result(asked["id"], value).encode()))
                problem = call.exception()
                assert isinstance(problem, AnswerError | RequestTimeout | None)
                outcomes.add(type(problem))
            assert len(outcomes) == 3
            assert len(asyncio.all_tasks()) <= 3

    run(main, leap=True)
