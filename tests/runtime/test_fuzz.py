"""Never hangs, never lies: whatever comes in, the account of what goes out balances.

Ten thousand messages over stdio and as many over HTTP, most of them wrong in some way,
against real processes. `fuzz_oracle` decides what each obliges the server to send.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from random import Random
from typing import Any

import pytest

from .fuzz_frames import Frames, modern_meta
from .fuzz_oracle import Judge, written
from .fuzz_process import PATIENCE, Line, stdio

if sys.platform == "win32":
    pytest.skip("pipes and signals of POSIX", allow_module_level=True)

LIMIT = 180.0
"""Seconds for one test."""
WINDOW = 25
"""Messages between two balances."""

SESSIONS: dict[str, dict[str, Any]] = {
    "": {},
    "2024-11-05": {"null_ids": True},
    "2025-03-26": {"null_ids": True, "batches": True},
    "2025-06-18": {"null_ids": True},
    "2025-11-25": {},
}
"""Version → what its session demands of the account; none: nobody initializes."""
MESSAGES = 2_000
"""On each of them."""
GROWTH = {"tasks": 0, "threads": 8, "fds": 0, "objects": 900, "rss": 6 * 2**20}
"""What a server may hold more after all messages than after the first half.

A leak would leave an object for each of the thousand messages, and of memory the
twelve megabytes that they make up. Threads are kept for the next calls, as many as were
busy at once. Only Linux tells of memory and file descriptors; elsewhere both are 0.
"""


ONCE_MISREAD = (
    b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    b'{"jsonrpc":"2.0","method":"\xff"}',
    b'{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":"\xff"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\xff"',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
    b'"params":{"requestId":"\xff"}}',
    b'{"jsonrpc":"2.0","id":3,"method":"initialize",'
    b'"params":{"protocolVersion":"\xff"}}',
    b'{"jsonrpc":"2.0","method":"no/such","params":[]}',
    b'{"jsonrpc":"2\\u002e0","id":4,"method":"ping"}',
    b"[1,",
    b"12 x",
    b'"a',
)
DEEP = (
    b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"_meta":{"a":%b}}}',
    b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"a":%b}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%b}}',
    b'{"jsonrpc":"2.0","id":%b,"method":"ping"}',
)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, LIMIT))


class Fuzzer:
    """Sends messages by the window, and waits until each window balances."""

    def __init__(self, line: Line, frames: Frames, modern: bool) -> None:
        self.line = line
        self.frames = frames
        self.judge = line.judge
        self.modern = modern

    async def run(self, messages: int) -> None:
        await self.exchange(self.warm_up())
        sent = 0
        while sent < messages:
            sent += await self.window()

    async def window(self) -> int:
        random = self.frames.random
        messages = [self.frames.message() for _ in range(WINDOW)]
        for sure in (self.in_flight(), self.in_flight(), [self.certain()]):
            places = sorted(random.choices(range(len(messages) + 1), k=len(sure)))
            for place, message in reversed(list(zip(places, sure, strict=True))):
                messages.insert(place, message)
        await self.exchange(messages, random)
        return len(messages)

    async def exchange(
        self, messages: list[bytes], random: Random | None = None
    ) -> None:
        try:
            for message in messages:
                self.account(message)
            await self.line.write(b"".join(m + b"\n" for m in messages), random)
            await self.settle()
        except AssertionError as failure:
            raise AssertionError(
                f"{failure}\n{shown('sent', messages)}\n"
                f"{shown('received', self.line.page)}"
            ) from failure
        self.line.page.clear()

    def warm_up(self) -> list[bytes]:
        """Makes the server import what it imports only when it is needed."""
        frames = (
            self.line.call("add", aa=1),
            self.line.request("resources/read", {"uri": "test://user/%41"}),
        )
        return [json.dumps(self.sound(frame)).encode() for frame in frames]

    def account(self, message: bytes) -> None:
        """Tell the judge, and what only the sender knows."""
        if b'"hold"' in message and b'"sure ' in message:
            key = self.judge.hold(message)
            self.judge.expect(key, key[1])
            return
        if b'"release"' in message and b'"sure ' in message:
            self.judge.let_go((str, json.loads(message)["params"]["arguments"]["key"]))
        for one in message.split(b"\n"):
            if stripped := one.strip(b" \t\r"):
                self.judge.sent(stripped)

    def certain(self) -> bytes:
        """A request whose answer is known."""
        frame = self.line.call("mirror", value=f"said {self.frames.fresh_id()}")
        self.judge.expect((str, frame["id"]), frame["params"]["arguments"]["value"])
        return json.dumps(self.sound(frame)).encode()

    def in_flight(self) -> list[bytes]:
        """A call that waits, what others do with its id meanwhile, and its end."""
        random, id = self.frames.random, f"sure {self.frames.fresh_id()}"
        call = self.sound(self.line.call("hold", key=id) | {"id": id})
        meddling: list[Any] = [
            self.sound(self.line.request("ping") | {"id": id}),
            self.line.call("add", a=1, b=1) | {"id": id},
            self.line.request("tools/list") | {"id": id, "jsonrpc": "1.0"},
            self.line.request("tools/list", [1]) | {"id": id},
            self.line.request("tools/list") | {"id": id, "method": None},
            {"jsonrpc": "2.0", "id": id},
            {"jsonrpc": "2.0", "id": id, "result": {}},
            cancel([id]),
            cancel(id + " "),
            cancel(0),
        ]
        if self.judge.batches:
            meddling.append([self.line.request("ping") | {"id": id}])
        release = self.sound(self.line.call("release", key=id))
        end = random.choice((cancel(id), release))
        between = random.sample(meddling, k=random.randrange(5))
        return [json.dumps(frame).encode() for frame in (call, *between, end)]

    async def settle(self) -> None:
        for key in list(self.judge.lasting):
            await self.line.send_text(
                b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
                b'"params":{"requestId":%b}}' % written(key)
            )
        await self.line.ask(self.sound(self.line.request("tools/list")))
        while True:
            await self.line.until(lambda: self.judge.asked or not self.judge.problem())
            if not self.judge.asked:
                break
            question = self.judge.asked.pop()
            await self.line.send(
                {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}
            )
        self.judge.close()

    async def check_service(self) -> None:
        """After all that it is as good as new."""
        if self.modern:
            self.modern = False
            await self.line.initialize("2025-11-25")
        await self.line.ask(self.line.request("ping"))
        result = await self.line.ask(self.line.call("add", a=1, b=2))
        assert result["content"][0]["text"] == "3"

    def sound(self, frame: dict[str, Any]) -> dict[str, Any]:
        """A request that is served here."""
        if self.modern:
            frame.setdefault("params", {})["_meta"] = modern_meta()
        return frame

    async def report(self) -> dict[str, int]:
        result = await self.line.ask(self.sound(self.line.call("report")))
        report: dict[str, int] = json.loads(result["content"][0]["text"])
        return report


def shown(title: str, lines: list[bytes]) -> str:
    return "\n".join([f"--- {title}", *(repr(line[:300]) for line in lines)])


def cancel(id: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": id},
    }


async def check_report(
    before: dict[str, int], report: Callable[[], Awaitable[dict[str, int]]]
) -> None:
    """Nothing may be left behind; what ends in the background may take its time."""
    deadline = time.monotonic() + PATIENCE
    while grown := grown_from(before, after := await report()):
        assert time.monotonic() < deadline, f"{grown} grew: {before} became {after}"


def grown_from(before: dict[str, int], after: dict[str, int]) -> list[str]:
    return [what for what in GROWTH if after[what] > before[what] + GROWTH[what]]


def test_messages_that_were_once_misread() -> None:
    """Each alone, so that the one to blame is named."""

    async def test() -> None:
        async with stdio() as line:
            fuzzer = Fuzzer(line, Frames(0, modern=0), modern=True)
            for message in ONCE_MISREAD:
                await fuzzer.exchange([message])
            for depth in range(900, 1000, 3):
                nested = b"[" * depth + b"]" * depth
                await fuzzer.exchange([message % nested for message in DEEP])
            assert await line.end() == 0
            assert "Traceback" not in line.stderr(), line.stderr()

    run(test())


@pytest.mark.parametrize("version", SESSIONS)
def test_stdio(version: str) -> None:
    async def test() -> None:
        modern = 0.3 if version else 0.8
        seed = 1000 + list(SESSIONS).index(version)
        settings = SESSIONS[version]
        frames = Frames(seed, modern=modern, batches="batches" in settings)
        judge = Judge()
        async with stdio(judge) as line:
            if version:
                await line.initialize(version, roots={})
                judge.null_ids = settings.get("null_ids", False)
                judge.batches = settings.get("batches", False)
            fuzzer = Fuzzer(line, frames, modern=not version)
            await fuzzer.run(MESSAGES // 2)
            before = await fuzzer.report()
            await fuzzer.run(MESSAGES // 2)
            await check_report(before, fuzzer.report)
            await fuzzer.check_service()
            assert await line.end() == 0
            assert "Traceback" not in line.stderr(), line.stderr()

    run(test())
