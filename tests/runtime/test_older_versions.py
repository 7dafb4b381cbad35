"""Older versions are real: the same exchanges over every transport that they have.

The scripts are in `exchanges/`; `exchange.py` says how to read them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from .exchange import EXCHANGES, TRANSPORTS, Client, Script, ScriptError, load, play
from .exchange_clients import memory_client, stdio_client
from .exchange_http import serving, sse_client, streamable_client

TIME_LIMIT = 120.0

SCRIPTS = [
    load(path)
    for path in sorted(EXCHANGES.glob("*/*.txt"))
    if not path.name.startswith("_")
]
Ports: TypeAlias = Callable[[str], int]


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    """Where a server listens: each is started once, when it is first asked for."""
    with ExitStack() as running:

        @cache
        def port(server: str) -> int:
            return running.enter_context(serving(server))

        yield port


def connected(
    script: Script, transport: str, ports: Ports
) -> AbstractAsyncContextManager[Client]:
    if transport == "memory":
        return memory_client(script.server)
    if transport == "stdio":
        return stdio_client(script.server)
    client = streamable_client if transport == "http" else sse_client
    return client(ports(script.server))


@pytest.mark.parametrize(
    ("script", "transport"),
    [
        pytest.param(script, transport, id=f"{script}-{transport}")
        for script in SCRIPTS
        for transport in script.transports
    ],
)
def test_exchange(script: Script, transport: str, ports: Ports) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(TIME_LIMIT),
            connected(script, transport, ports) as client,
        ):
            await play(script, client)

    asyncio.run(main())


def test_every_version_has_every_topic() -> None:
    topics = {
        version: {script.name for script in SCRIPTS if script.version == version}
        for version in TRANSPORTS
    }
    common = set.intersection(*topics.values())
    assert len(common) > 20
    assert {version: names - common for version, names in topics.items()} == {
        "2024-11-05": {"no_batches"},
        "2025-03-26": {
            "batched_questions",
            "batches",
            "batches_over_http",
            "without_session",
        },
        "2025-06-18": {"elicitation", "no_batches", "without_session"},
    }


# --- the scripts are taken at their word ----------------------------------------------


class Canned:
    """A client whose server says what it was told to say."""

    def __init__(self, *frames: str) -> None:
        self.frames = deque(frame.encode() for frame in frames)

    async def send(self, data: bytes, status: int | None) -> None:
        pass

    async def next_frame(self) -> bytes:
        return self.frames.popleft()

    async def finish(self) -> list[bytes]:
        return list(self.frames)


ASK = '-> {"jsonrpc":"2.0","id":1,"method":"METHOD"}\n'
PONG = '{"jsonrpc":"2.0","id":1,"result":{}}'
UPDATED = '{"jsonrpc":"2.0","method":"notifications/resources/updated"}'
UNREADABLE = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}'


def script(folder: Path, text: str, version: str = "2025-03-26") -> Script:
    path = folder / version / "topic.txt"
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    return load(path)


@pytest.mark.parametrize(
    ("method", "pinned", "frames"),
    [
        ("ping", [PONG], [PONG]),
        ("ping", [PONG], ['{"id":1, "result":{}, "jsonrpc":"2.0"}']),
        ("ping", [UNREADABLE, PONG], [UNREADABLE, PONG]),
    ],
)
def test_what_a_script_lets_pass(
    tmp_path: Path, method: str, pinned: list[str], frames: list[str]
) -> None:
    text = ASK.replace("METHOD", method) + "".join(f"<- {frame}\n" for frame in pinned)
    asyncio.run(play(script(tmp_path, text), Canned(*frames)))


@pytest.mark.parametrize(
    ("method", "pinned", "frames", "complaint"),
    [
        ("ping", [PONG], [PONG.replace("1", "1.0")], "expected"),
        ("ping", [PONG], [PONG.replace("1", '"1"')], "expected"),
        ("ping", [PONG], [PONG, PONG], "nobody expected"),
        ("ping", [PONG, PONG], [PONG, PONG], "nobody waits for"),
        ("tools/list", [PONG], [PONG], "not a valid ListToolsResult"),
        ("ping", [UPDATED], [UPDATED], "not a valid ServerNotification"),
        ("ping", [f"[{PONG}]"], [f"[{PONG}]"], "a batch"),
    ],
)
def test_what_a_script_finds(
    tmp_path: Path, method: str, pinned: list[str], frames: list[str], complaint: str
) -> None:
    # Only one version has batches; here they are wrong, too.
    version = "2025-06-18" if pinned[0].startswith("[") else "2025-03-26"
    text = ASK.replace("METHOD", method) + "".join(f"<- {frame}\n" for frame in pinned)
    with pytest.raises(AssertionError, match=complaint):
        asyncio.run(play(script(tmp_path, text, version), Canned(*frames)))


@pytest.mark.parametrize(
    "text", ["what?", "<- {", '<- {"a":1,"a":2}', "any order", "end", "server none"]
)
def test_scripts_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    with pytest.raises(ScriptError):
        script(tmp_path, text)
