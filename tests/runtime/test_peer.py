"""One connection: exactly one answer each, in any order, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from typing import Any

import pytest
from mcpgen.runtime.client.deadlines import Clock
from mcpgen.runtime.errors import ConnectionClosed, McpError, RequestTimeout
from mcpgen.runtime.peer import Call, Later, Peer
from msgspec import UNSET, Raw, UnsetType

CANCEL = """
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}
"""


class Wire:
    """A link that keeps what was sent, and lets a test wait for it."""

    own_streams = False

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.changed = asyncio.Event()

    def send(self, data: bytes, about: Any) -> None:
        self.sent.append(json.loads(data))
        self.changed.set()

    async def drain(self) -> None:
        pass

    async def until(self, count: int) -> list[Any]:
        async with asyncio.timeout(5):
            while len(self.sent) < count:
                self.changed.clear()
                await self.changed.wait()
        return self.sent


class Echo:
    """A service: `now` answers at once, `wait` when told, `fail` not well."""

    def __init__(self) -> None:
        self.batches = False
        self.null_id = False
        self.notes: list[str] = []
        self.raises: dict[str, BaseException] = {}
        self.go = asyncio.Event()
        self.started = 0
        self.stopped = asyncio.Event()

    def request(self, call: Call) -> bytes | Later:
        if call.method == "now":
            return bytes(call.params or b"{}")
        if call.method == "refuse":
            raise McpError(-32601, "no", {"a": 1})
        if call.method == "crash":
            raise RuntimeError("secret")
        if call.method == "exit":
            raise SystemExit(3)
        return lambda: self._later(call)

    async def _later(self, call: Call) -> bytes:
        self.started += 1
        if call.method == "ask":
            return bytes(await call.peer.request("question", about=call.id))
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        if call.method == "fail":
            raise RuntimeError("secret")
        if call.method in self.raises:
            raise self.raises[call.method]
        return b'{"late":true}'

    def notification(self, method: str, params: Raw | None, about: object) -> None:
        self.notes.append(method)
        if method == "bad":
            raise RuntimeError

    def takes_batches(self) -> bool:
        return self.batches

    def unreadable_id(self) -> UnsetType | None:
        return None if self.null_id else UNSET


class Setup:
    def __init__(self, **limits: Any) -> None:
        self.wire, self.echo = Wire(), Echo()
        self.peer = Peer(self.wire, self.echo, **limits)

    def feed(self, *frames: str | bytes) -> Any:
        result = None
        for frame in frames:
            data = frame if isinstance(frame, bytes) else frame.encode()
            result = self.peer.receive(data)
        return result


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 10))


def request(id: Any, method: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method})


def test_the_id_comes_back_as_it_was() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "now"), request("1", "now"))
        assert at.wire.sent == [
            {"jsonrpc": "2.0", "id": 1, "result": {}},
            {"jsonrpc": "2.0", "id": "1", "result": {}},
        ]

    run(main())


def test_answers_come_in_any_order() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "wait"), request(2, "now"))
        assert [m["id"] for m in at.wire.sent] == [2]
        at.echo.go.set()
        assert [m["id"] for m in await at.wire.until(2)] == [2, 1]
        assert not at.peer.calls

    run(main())


@pytest.mark.parametrize(
    ("frame", "answer"),
    [
        ("{", {"code": -32700, "message": "not JSON"}),
        ("7", {"code": -32600, "message": "a message is a JSON object"}),
        ("[7]", {"code": -32600, "message": "batches are not part of this version"}),
        ("[7,", {"code": -32700, "message": "not JSON"}),
        ('{"method":"now"}', {"code": -32600, "message": 'jsonrpc must be "2.0"'}),
    ],
)
@pytest.mark.parametrize("null_id", [False, True])
def test_what_cannot_be_read_is_refused_once(
    frame: str, answer: Any, null_id: bool
) -> None:
    async def main() -> None:
        at = Setup()
        at.echo.null_id = null_id
        at.feed(frame)
        expected = {"jsonrpc": "2.0", "error": answer}
        assert at.wire.sent == [expected | ({"id": None} if null_id else {})]

    run(main())


def test_a_bad_envelope_with_a_readable_id_echoes_it() -> None:
    async def main() -> None:
        at = Setup()
        at.feed('{"jsonrpc":"1.0","id":5,"method":"now"}')
        assert at.wire.sent[0]["id"] == 5

    run(main())


def test_a_duplicate_id_does_not_answer_the_first_request() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "wait"), request(1, "now"))
        assert "id" not in at.wire.sent[0]
        assert at.wire.sent[0]["error"]["code"] == -32600
        at.echo.go.set()
        assert (await at.wire.until(2))[1]["result"] == {"late": True}
        at.feed(request(1, "now"))
        assert at.wire.sent[2]["id"] == 1

    run(main())


@pytest.mark.parametrize("method", ["crash", "fail"])
def test_an_exception_tells_the_peer_nothing(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        at = Setup()
        at.echo.go.set()
        at.feed(request(1, method))
        (answer,) = await at.wire.until(1)
        assert answer["error"] == {"code": -32603, "message": "internal error"}

    run(main())
    assert "secret" in caplog.text


@pytest.mark.parametrize(
    "raised",
    [
        asyncio.CancelledError(),
        SystemExit(3),
        BaseException("odd"),
        BaseExceptionGroup("several", [GeneratorExit()]),
        McpError(-32000, "no JSON", object()),
        McpError(-32000, "no UTF-8: \ud800"),
    ],
)
def test_every_call_is_answered_whatever_its_handler_raises(
    raised: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    # The log would hold the surrogate, which pytest-xdist cannot pass on.
    caplog.set_level(logging.CRITICAL, "mcpgen")

    async def main() -> None:
        at = Setup()
        at.echo.raises["odd"] = raised
        at.echo.go.set()
        at.feed(request(1, "odd"))
        (answer,) = await at.wire.until(1)
        assert answer["id"] == 1
        assert answer["error"] == {"code": -32603, "message": "internal error"}
        assert not at.peer.calls
        at.feed(request(1, "wait"))
        assert (await at.wire.until(2))[1]["result"] == {"late": True}

    run(main())


def test_a_handler_that_answers_at_once_cannot_exit_either() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "exit"))
        assert at.wire.sent[0]["error"]["code"] == -32603

    run(main())


def test_awaiting_what_was_cancelled_is_no_cancellation() -> None:
    async def main() -> None:
        at = Setup()
        other = asyncio.ensure_future(asyncio.Event().wait())
        other.cancel()

        async def later() -> bytes:
            await other
            return b"{}"

        at.echo.request = lambda call: later  # type: ignore[method-assign]
        at.feed(request(1, "any"))
        assert (await at.wire.until(1))[0]["error"]["code"] == -32603

    run(main())


def test_who_ends_the_loop_ends_its_calls_and_they_are_answered() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "wait"))
        while not at.echo.started:
            await asyncio.sleep(0)
        task = at.peer.calls[1].task
        assert task is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (answer,) = at.wire.sent
        assert answer["error"]["code"] == -32603

    run(main())


def test_a_keyboard_interrupt_leaves_a_call() -> None:
    async def main() -> None:
        at = Setup()
        at.echo.go.set()
        at.echo.raises["odd"] = KeyboardInterrupt()
        runs: list[Call] = []
        at.peer = Peer(at.wire, at.echo, start=runs.append)
        at.feed(request(1, "odd"))
        with pytest.raises(KeyboardInterrupt):
            await at.peer.run(runs[0])
        assert len(at.wire.sent) == 1
        assert not at.peer.calls

    run(main())


def test_a_refusal_carries_its_data() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "refuse"))
        error = {"code": -32601, "message": "no", "data": {"a": 1}}
        assert at.wire.sent == [{"jsonrpc": "2.0", "id": 1, "error": error}]

    run(main())


def test_notifications_are_never_answered() -> None:
    async def main() -> None:
        at = Setup()
        at.feed('{"jsonrpc":"2.0","method":"bad"}', '{"jsonrpc":"2.0","method":"x"}')
        assert at.echo.notes == ["bad", "x"]
        assert at.wire.sent == []

    run(main())


def test_cancelling_stops_the_handler_and_nothing_follows() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "wait"))
        while not at.echo.started:
            await asyncio.sleep(0)
        at.feed(CANCEL % 99, CANCEL % 1)
        await at.echo.stopped.wait()
        while at.peer.calls:
            await asyncio.sleep(0)
        assert at.wire.sent == []

    run(main())


def test_too_much_in_flight_holds_the_reader() -> None:
    async def main() -> None:
        at = Setup(in_flight=2, backlog=2)
        for id in (1, 2, 3):
            assert at.feed(request(id, "wait")) is None
        waiting = at.feed(request(4, "wait"))
        assert waiting is not None
        held = asyncio.ensure_future(waiting)
        await asyncio.sleep(0)
        assert not held.done()
        assert at.echo.started == 2
        at.echo.go.set()
        await held
        assert [f["id"] for f in await at.wire.until(4)] == [1, 2, 3, 4]

    run(main())


def test_a_call_is_cancelled_before_its_turn() -> None:
    async def main() -> None:
        at = Setup(in_flight=1, backlog=1)
        at.feed(request(1, "wait"))
        waiting = at.feed(request(2, "wait"))
        assert waiting is not None
        at.feed(CANCEL % 2, CANCEL % 3)
        assert list(at.peer.calls) == [1]
        await waiting
        at.echo.go.set()
        assert [f["id"] for f in await at.wire.until(1)] == [1]
        assert at.echo.started == 1
        assert not at.peer.calls

    run(main())


def test_calls_that_wait_for_answers_keep_nobody_from_reading_them() -> None:
    async def main() -> None:
        at = Setup(in_flight=2)
        for id in range(100, 110):
            assert at.feed(request(id, "ask")) is None
            await at.wire.until(id - 99)
        for asked in list(at.wire.sent):
            at.feed(f'{{"jsonrpc":"2.0","id":{asked["id"]},"result":{{}}}}')
        answers = (await at.wire.until(20))[10:]
        assert {f["id"] for f in answers} == set(range(100, 110))
        assert not at.peer.calls

    run(main())


def test_a_crowd_is_refused() -> None:
    async def main() -> None:
        at = Setup(in_flight=1, backlog=15)
        for id in range(17):
            at.feed(request(id, "ask"))
            await at.wire.until(id + 1)
        assert at.wire.sent[16]["id"] == 16
        assert at.wire.sent[16]["error"]["code"] == -32603
        await at.peer.close()

    run(main())


def test_what_runs_may_end_when_the_other_side_has_gone() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "wait"))
        at.feed(request(2, "ask"))
        await at.wire.until(1)
        finishing = asyncio.ensure_future(at.peer.finish(5))
        await asyncio.sleep(0)
        at.echo.go.set()
        await finishing
        answers = {f["id"]: f for f in at.wire.sent[1:]}
        assert answers[1]["result"] == {"late": True}
        assert answers[2]["error"]["code"] == -32603

    run(main())


def test_who_says_nothing_more_is_asked_nothing_more() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "wait"))
        while not at.echo.started:
            await asyncio.sleep(0)
        finishing = asyncio.ensure_future(at.peer.finish(5))
        await asyncio.sleep(0)
        with pytest.raises(ConnectionClosed):
            await at.peer.request("question")
        at.echo.go.set()
        await finishing
        assert [f["id"] for f in at.wire.sent] == [1]

    run(main())


def test_a_call_may_say_something_until_it_is_answered_or_cancelled() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "wait"), request(2, "wait"))
        one, two = at.peer.calls.values()
        assert one.is_open
        assert two.is_open
        at.feed(CANCEL % 2)
        assert not two.is_open
        at.echo.go.set()
        await at.wire.until(1)
        assert not one.is_open
        at.echo.go.clear()
        at.feed(request(1, "wait"))  # another of the same id
        assert not one.is_open
        await at.peer.close()

    run(main())


def test_a_batch_is_answered_as_one() -> None:
    async def main() -> None:
        at = Setup()
        at.echo.batches = True
        at.echo.go.set()
        members = [request(1, "wait"), '{"jsonrpc":"2.0","method":"x"}', "7"]
        at.feed(f"[{','.join(members)}]")
        (answers,) = await at.wire.until(1)
        assert {a.get("id"): "result" in a for a in answers} == {1: True, None: False}
        at.feed('[{"jsonrpc":"2.0","method":"x"}]')
        at.feed("[]")
        assert at.wire.sent[1]["error"]["code"] == -32600
        assert len(at.wire.sent) == 2

    run(main())


def test_our_requests_are_paired_with_their_answers() -> None:
    async def main() -> None:
        at = Setup()
        one = asyncio.ensure_future(at.peer.request("a", b"{}"))
        two = asyncio.ensure_future(at.peer.request("b"))
        await at.wire.until(2)
        assert at.wire.sent[0] == {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "a",
            "params": {},
        }
        at.feed('{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}')
        at.feed('{"jsonrpc":"2.0","id":9,"result":{}}')
        at.feed('{"jsonrpc":"2.0","id":1,"result":{"x":1}}')
        assert bytes(await one) == b'{"x":1}'
        with pytest.raises(McpError, match="no") as caught:
            await two
        assert caught.value.code == -1

    run(main())


def test_a_timeout_tells_the_peer() -> None:
    async def main() -> None:
        at = Setup()
        with pytest.raises(RequestTimeout):
            await at.peer.request("a", deadline=Clock().deadline(0.01))
        assert at.wire.sent[1]["method"] == "notifications/cancelled"
        assert at.wire.sent[1]["params"]["requestId"] == 1
        at.feed('{"jsonrpc":"2.0","id":1,"result":{}}')  # late: dropped

    run(main())


def test_closing_leaves_nothing() -> None:
    async def main() -> None:
        at = Setup()
        at.feed(request(1, "wait"))
        asked = asyncio.ensure_future(at.peer.request("a"))
        await at.wire.until(1)
        await at.peer.close()
        with pytest.raises(ConnectionClosed):
            await asked
        assert not at.peer.calls
        assert at.feed(request(2, "now")) is None
        assert len(at.wire.sent) == 1
        assert len(asyncio.all_tasks()) == 1 + 1  # this test, and its guard

    run(main())
