"""Clients that vanish, handlers that block, signals that come in between.

Real processes over stdio and HTTP. Nothing here waits for time to pass: tools tell when
they are reached and when they were cancelled.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import pytest

from .fuzz_frames import MODERN, modern_meta
from .fuzz_http import Connection, Response, Site, http, modern
from .fuzz_process import PATIENCE, PROGRAM, Line, environment, stdio
from .test_fuzz import cancel, run

if sys.platform == "win32":
    pytest.skip("pipes and signals of POSIX", allow_module_level=True)

GRACE = 2.0
"""Seconds that a server may take to end."""
MARGIN = 20.0
"""Seconds for a busy machine to start and end an interpreter."""
BLOCKED = 64
RESUMABLE = ("2025-03-26", "2025-06-18", "2025-11-25")


def call(tool: str, id: Any = 1, token: Any = None, **arguments: Any) -> dict[str, Any]:
    """A modern call of a tool."""
    meta = modern_meta() | ({} if token is None else {"progressToken": token})
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def legacy(tool: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool in a session."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def text_of(result: Any) -> str:
    text: str = result["content"][0]["text"]
    return text


async def begin(
    site: Site,
    connection: Connection,
    frame: Any,
    headers: dict[str, str] | None = None,
) -> None:
    """Send a request and leave the response to come."""
    data = json.dumps(frame).encode()
    await connection.write(site.bytes_of(data, headers or modern(frame)))


async def first_event(connection: Connection) -> Response:
    """A response that is an event stream, up to its first event."""
    response = await connection.head()
    assert response is not None
    while not response.events():
        assert await connection.more(response), response
    return response


# --- clients that vanish --------------------------------------------------------------

CLIENT = """
import json, subprocess, sys
alive, program, tool = int(sys.argv[1]), sys.argv[2], sys.argv[3]
server = subprocess.Popen(
    [sys.executable, "-W", "error", program],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[alive], bufsize=0,
)
for line in sys.stdin:
    server.stdin.write(line.encode())
while line := server.stdout.readline():
    print(line.decode(), end="", flush=True)
"""


@pytest.mark.parametrize("tool", ["hold", "block", "with_child"])
def test_a_killed_client_leaves_no_process(tool: str) -> None:
    alive, held = os.pipe()
    frames = [
        call(tool, id="stays", key="k"),
        call("wait_entered", id="there", key="k"),
    ]
    try:
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(held), str(PROGRAM), tool],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[held],
            env=environment() | {"FUZZ_ALIVE": str(held)},
        ) as client:
            os.close(held)
            held = -1
            assert client.stdin is not None
            assert client.stdout is not None
            assert client.stderr is not None
            client.stdin.write(b"".join(json.dumps(f).encode() + b"\n" for f in frames))
            client.stdin.close()
            assert b'"there"' in client.stdout.readline()
            client.kill()
            # Whoever is left holds the pipe open, and the server's stderr is ours.
            assert ends(alive)
            assert b"Traceback" not in client.stderr.read()
    finally:
        for fd in (alive, held):
            if fd >= 0:
                os.close(fd)


def ends(fd: int) -> bool:
    """Is the other end of a pipe closed by all who had it, in time?"""
    os.set_blocking(fd, False)

    async def wait() -> bool:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(fd, readable.set)
        try:
            async with asyncio.timeout(PATIENCE):
                await readable.wait()
        finally:
            loop.remove_reader(fd)
        return os.read(fd, 1) == b""

    return asyncio.run(wait())


@pytest.mark.parametrize("token", [None, "t"], ids=["silent", "streaming"])
def test_closing_a_modern_response_cancels(token: str | None) -> None:
    async def test() -> None:
        async with http() as site:
            async with site.connection() as connection:
                await begin(site, connection, call("hold", token=token, key="k"))
                if token is not None:
                    await first_event(connection)
                await site.ask(call("wait_entered", key="k"))
                connection.drop()
            assert text_of(await site.ask(call("wait_cancelled", key="k"))) == "k"

    run(test())


@pytest.mark.parametrize("version", RESUMABLE)
def test_a_legacy_request_survives_its_connection(version: str) -> None:
    async def test() -> None:
        async with http() as site:
            session = await site.open_session(version)
            async with site.connection() as connection:
                frame = call("hold", id="lost", token="t", key="k")
                del frame["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
                await begin(site, connection, frame, session)
                response = await first_event(connection)
                connection.drop()
            last = response.events()[-1][0]
            assert last
            await site.ask(call("release", key="k"))
            answers = await resumed(site, session, last)
            assert [a["id"] for a in answers if "result" in a] == ["lost"]
            # Nobody has to hurry: it is there again.
            assert answers == await resumed(site, session, last)
            await site.send(b"", session, method="DELETE")
            again = session | {"Last-Event-ID": last}
            assert (await site.send(b"", again, method="GET")).status == 404

    run(test())


async def resumed(site: Site, session: dict[str, str], last: str) -> list[Any]:
    response = await site.send(b"", session | {"Last-Event-ID": last}, method="GET")
    assert response.status == 200, response
    return [json.loads(message) for message in response.messages()]


def test_modern_clients_with_the_same_ids_are_strangers() -> None:
    async def test() -> None:
        async with http() as site, asyncio.TaskGroup() as group:
            keys = [f"k{number}" for number in range(16)]
            waiting = [
                group.create_task(site.ask(call("hold", key=key))) for key in keys
            ]
            for key in keys:
                await site.ask(call("wait_entered", key=key))
            # One of them is cancelled by its own client, and by everybody else's word.
            async with site.connection() as connection:
                await begin(site, connection, call("hold", key="mine"))
                await site.ask(call("wait_entered", key="mine"))
                frame = cancel(1)
                frame["params"]["_meta"] = modern_meta()
                told = await site.send(json.dumps(frame).encode(), modern(frame))
                assert told.status == 202, told
                connection.drop()
            await site.ask(call("wait_cancelled", key="mine"))
            for key in keys:
                await site.ask(call("release", key=key))
            assert [text_of(await task) for task in waiting] == keys

    run(test())


def test_an_id_in_flight_belongs_to_one_request_of_a_session() -> None:
    async def test() -> None:
        async with http() as site, asyncio.TaskGroup() as group:
            one, other = [await site.open_session("2025-06-18") for _ in range(2)]
            first = group.create_task(site.ask(legacy("hold", key="first"), one))
            stranger = group.create_task(
                site.ask(legacy("hold", key="stranger"), other)
            )
            for key in ("first", "stranger"):
                await site.ask(call("wait_entered", key=key))
            second = json.dumps(legacy("add", a=1, b=2)).encode()
            refused = await site.send(second, one)
            assert refused.status == 400, refused
            assert json.loads(refused.body)["id"] is None
            for key in ("first", "stranger"):
                await site.ask(call("release", key=key))
            assert text_of(await first) == "first"
            assert text_of(await stranger) == "stranger"

    run(test())


def test_a_cancelled_request_of_a_session_is_not_answered() -> None:
    async def test() -> None:
        async with http() as site, asyncio.TaskGroup() as group:
            one, other = [await site.open_session("2025-06-18") for _ in range(2)]
            body = json.dumps(legacy("hold", key="k")).encode()
            waiting = group.create_task(site.send(body, one))
            await site.ask(call("wait_entered", key="k"))
            told = [await site.send(json.dumps(cancel(1)).encode(), other)]
            told += [await site.send(json.dumps(cancel("1")).encode(), one)]
            assert not waiting.done()
            told += [await site.send(json.dumps(cancel(1)).encode(), one)]
            assert [response.status for response in told] == [202, 202, 202]
            await site.ask(call("wait_cancelled", key="k"))
            assert (await waiting).messages() == []

    run(test())


def test_calls_end_when_stdin_does() -> None:
    async def test() -> None:
        async with stdio() as line:
            quick = [await line.send(call("add", id=n, a=n, b=1)) for n in range(50)]
            quick += [
                await line.send(call("sync_add", id=f"s{n}", a=n, b=1))
                for n in range(9)
            ]
            slow = await line.hold(call("hold", id="slow", key="k"))
            deaf = await line.hold(call("block", id="deaf", key="k"))
            started = time.monotonic()
            code = await line.end()
            assert time.monotonic() - started < GRACE + MARGIN
            assert set(quick) <= set(line.answers)
            assert not {slow, deaf} & {
                k for k in line.answers if "result" in line.answers[k]
            }
            check_end(line, code)

    run(test())


# --- handlers that block --------------------------------------------------------------


def test_a_handler_that_cancels_itself_is_answered() -> None:
    async def test() -> None:
        async with http() as site:
            session = await site.open_session("2025-11-25")
            for frame, headers in (
                (call("give_up"), modern(call("give_up"))),
                (legacy("give_up"), session),
            ):
                response = await site.send(json.dumps(frame).encode(), headers)
                answers = [json.loads(message) for message in response.messages()]
                assert [answer.get("id") for answer in answers] == [1], response

    run(test())


def test_blocked_handlers_stop_nobody_on_stdio() -> None:
    async def test() -> None:
        async with stdio() as line:
            await line.initialize("2025-11-25")
            keys = [f"k{number}" for number in range(BLOCKED)]
            for key in keys:
                await line.send(call("block", id=key, key=key))
            for key in keys:  # all of them, at once
                await line.ask(line.call("wait_entered", key=key))
            await line.ask(line.request("ping"))
            assert text_of(await line.ask(line.call("add", a=1, b=2))) == "3"
            assert text_of(await line.ask(line.call("sync_add", a=1, b=2))) == "3"
            for key in keys:
                await line.ask(line.call("release", key=key))
            await line.until(lambda: {(str, key) for key in keys} <= set(line.answers))
            check_end(line, await line.end())

    run(test())


def test_blocked_handlers_stop_nobody_on_http() -> None:
    async def test() -> None:
        async with http() as site, asyncio.TaskGroup() as group:
            keys = [f"k{number}" for number in range(BLOCKED)]
            waiting = [
                group.create_task(site.ask(call("block", key=key))) for key in keys
            ]
            for key in keys:
                await site.ask(call("wait_entered", key=key))
            session = await site.open_session("2025-11-25")
            await site.ask({"jsonrpc": "2.0", "id": 1, "method": "ping"}, session)
            assert text_of(await site.ask(call("sync_add", a=1, b=2))) == "3"
            for key in keys:
                await site.ask(call("release", key=key))
            assert [text_of(await task) for task in waiting] == keys

    run(test())


def test_calls_that_ask_leave_room_for_the_answers() -> None:
    """More than may be in flight, each waiting for its client."""

    async def test() -> None:
        async with stdio() as line:
            await line.initialize("2025-11-25", roots={})
            keys = [await line.send(line.call("ask")) for _ in range(300)]
            for number in range(300):
                await line.until(lambda n=number: len(line.judge.asked) > n)
                question = line.judge.asked[number]
                await line.send(
                    {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}
                )
            await line.until(lambda: set(keys) <= set(line.answers))
            check_end(line, await line.end())

    run(test())


def test_full_of_calls_and_still_listening() -> None:
    """Cancellations and pings get through when no more calls can be started."""

    async def test() -> None:
        async with stdio() as line:
            await line.initialize("2025-11-25")
            keys = [await line.hold(line.call("hold", key="k")) for _ in range(300)]
            await line.ask(line.request("ping"))
            for _, id in keys:
                await line.send(cancel(id))
            assert text_of(await line.ask(line.call("add", a=1, b=2))) == "3"
            check_end(line, await line.end())

    run(test())


@pytest.mark.parametrize("version", [*RESUMABLE, MODERN])
def test_reports_without_end_stop_nobody(version: str) -> None:
    """A handler that tells more than its client reads, or than anybody could."""

    async def test() -> None:
        async with http() as site:
            frame, session = call("flood", token="t", key="k"), None
            if version != MODERN:
                session = await site.open_session(version)
                frame["params"]["_meta"] = {"progressToken": "t"}
            async with site.connection() as connection:
                await begin(site, connection, frame, session)
                await first_event(connection)
                await site.ask(call("release", key="k"))

    run(test())


def test_reports_without_end_stop_nobody_on_stdio() -> None:
    async def test() -> None:
        async with stdio() as line:
            key = await line.hold(call("flood", id="f", token="t", key="k"))
            await line.until(lambda: len(line.notifications) > 3)
            line.judge.let_go(key)
            await line.ask(call("release", id="r", key="k"))
            await line.until(lambda: key in line.answers)
            check_end(line, await line.end())

    run(test())


# --- signals --------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_busy_stdio_server(number: signal.Signals) -> None:
    async def test() -> None:
        async with stdio() as line:
            await line.initialize("2025-11-25", roots={})
            for tool in ("hold", "block", "with_child"):
                await line.hold(line.call(tool, key=tool))
                await line.ask(line.call("wait_entered", key=tool))
            await line.hold(line.call("ask"))
            await line.until(lambda: line.judge.asked)
            await line.send(listen())
            await line.until(lambda: line.notifications)
            started = time.monotonic()
            line.process.popen.send_signal(number)
            code = await line.process.ended()
            assert time.monotonic() - started < GRACE + MARGIN
            check_end(line, code)

    run(test())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_busy_http_server(number: signal.Signals) -> None:
    async def test() -> None:
        async with http() as site, asyncio.TaskGroup() as group:
            session = await site.open_session("2025-11-25")
            for tool in ("hold", "block", "with_child"):
                for headers in (session, None):
                    frame = call(tool, id=tool, key=tool)
                    if headers is not None:
                        del frame["params"]["_meta"]
                    group.create_task(abandoned(site, frame, headers))
                await site.ask(call("wait_entered", key=tool))
            async with site.connection() as connection:
                await begin(site, connection, listen())
                await first_event(connection)
                started = time.monotonic()
                site.process.popen.send_signal(number)
                code = await site.process.ended()
                assert time.monotonic() - started < GRACE + MARGIN
            assert b"Traceback" not in site.process.errors, bytes(site.process.errors)
            assert code == 0

    run(test())


async def abandoned(site: Site, frame: Any, headers: dict[str, str] | None) -> None:
    """A request that the end of the server may leave without an answer."""
    async with site.connection() as connection:
        await begin(site, connection, frame, headers)
        with suppress(asyncio.IncompleteReadError):
            await connection.response()


def listen() -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": "listening",
        "method": "subscriptions/listen",
        "params": {
            "notifications": {"toolsListChanged": True},
            "_meta": modern_meta(),
        },
    }


def check_end(line: Line, code: int) -> None:
    assert "Traceback" not in line.stderr(), line.stderr()
    assert "Warning" not in line.stderr(), line.stderr()
    assert code == 0, line.stderr()
