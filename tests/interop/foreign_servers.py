"""Servers that nobody here wrote, and our client connected to them."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import pytest
from mcpgen.runtime import Client
from mcpgen.runtime.client.process import Process

from .installed import fastmcp, node_server, python_sdk

T = TypeVar("T")

SERVERS = Path(__file__).parent / "servers"
START_SECONDS = 30
SECONDS = 20
"""For anything that a test does."""
MODERN = "2026-07-28"
LEGACY = "2025-11-25"


@dataclass(frozen=True)
class Case:
    """A server, over what it is reached, and the one version to speak, if it is told."""

    server: str
    transport: str
    told: str = ""

    def __str__(self) -> str:
        told = f"-{self.told}" if self.told else ""
        return f"{self.server}-{self.transport}{told}"

    @property
    def version(self) -> str:
        """What is to be agreed on."""
        modern = self.server in ("mcp2", "fastmcp4") and self.transport != "sse"
        return self.told or (MODERN if modern else LEGACY)

    @property
    def modern(self) -> bool:
        """Has the version no sessions?"""
        return self.version >= MODERN

    def command(self) -> list[str]:
        """What starts the server."""
        if self.server == "everything":
            node, script = node_server(self.server)
            how = {"http": "streamableHttp"}.get(self.transport, self.transport)
            return [node, "--import", str(SERVERS / "loopback.mjs"), script, how]
        pythons = {"mcp1": lambda: python_sdk(1), "mcp2": lambda: python_sdk(2)}
        python = pythons.get(self.server, fastmcp)()
        return [str(python), str(SERVERS / f"{self.server}.py"), self.transport]


@dataclass
class Live:
    """Our client, connected for as long as the tests of a case last."""

    runner: asyncio.Runner
    client: Any = field(init=False)
    """A `Client`; tests know what they look for in its results, type checkers do not."""
    person: Any = field(default_factory=lambda: {"name": "Ada"})
    """What our user answers."""
    model_answer: str | None = "WHY?"
    asked: list[Any] = field(default_factory=list)
    """What our user and our model were asked."""
    logs: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    opens_urls: bool = True

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Let the client do something, for a limited time."""
        return self.runner.run(_in_time(work))

    def options(self) -> dict[str, Any]:
        """A client that can do whatever a server may ask of it."""
        return {
            "sampling": self._sampled,
            "elicitation": self._elicited,
            "open_url": self._opened,
            "roots": ["file:///ada"],
            "logging": self.logs.put_nowait,
        }

    async def _sampled(self, params: Any) -> Any:
        self.asked.append(params)
        if self.model_answer is None:
            return None
        content = {"type": "text", "text": self.model_answer}
        return {"role": "assistant", "model": "parrot", "content": content}

    async def _elicited(self, params: Any) -> Any:
        self.asked.append(params)
        return self.person

    async def _opened(self, params: Any) -> bool:
        self.asked.append(params)
        return self.opens_urls


async def _in_time(work: Coroutine[Any, Any, T]) -> T:
    async with asyncio.timeout(SECONDS):
        return await work


@contextmanager
def connected(case: Case) -> Iterator[Live]:
    """Our client, connected to the server of a case; nothing is left afterwards."""
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="interop-"))
        command = case.command()
        versions = [case.told] if case.told else []
        if case.transport != "stdio":
            url = stack.enter_context(serving(command, home))
        live = Live(stack.enter_context(asyncio.Runner()))
        options = live.options()
        if versions:
            options["versions"] = versions
        if case.transport == "stdio":
            said: list[str] = []
            env = {"HOME": home}
            client = Client.stdio(command, env=env, stderr=said.append, **options)
        elif case.transport == "http":
            client = Client.http(f"{url}/mcp", **options)
        else:
            client = Client.sse(f"{url}/sse", **options)
        live.client = live.run(client.__aenter__())
        try:
            yield live
        finally:
            live.run(client.close())
            left = live.run(_other_tasks())
        assert not left, f"tasks are left: {left}"


@asynccontextmanager
async def started(
    command: list[str], *, env: dict[str, str] | None = None, **options: Any
) -> AsyncIterator[Any]:
    """A server over stdio; it ends by itself when its client has, with all its kin."""
    process = Process(command, env=env, stderr=lambda line: None)
    async with asyncio.timeout(SECONDS), Client(process, **options) as client:
        pid = process.pid
        yield client
    assert process.returncode == 0
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.killpg(pid, 0)


async def _other_tasks() -> list[str]:
    await asyncio.sleep(0)  # who ended just now has its callbacks to run
    mine = asyncio.current_task()
    return [str(task) for task in asyncio.all_tasks() if task is not mine]


# --- servers over HTTP ----------------------------------------------------------------


class Failed(Exception):
    """A server did not start; the message has what it said."""


@contextmanager
def serving(command: list[str], home: str) -> Iterator[str]:
    """A server that says where it listens: its address."""
    process = subprocess.Popen(
        command,
        env={"PATH": os.environ["PATH"], "HOME": home},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    address: Future[str] = Future()
    reader = Thread(target=_read, args=(process, address), daemon=True)
    reader.start()
    try:
        yield address.result(START_SECONDS)
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # how it ends is not our business
        process.wait()
        reader.join(SECONDS)


def _read(process: subprocess.Popen[str], address: Future[str]) -> None:
    """Read all that it says, so that it never waits for a reader."""
    said = []
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            said.append(line)
            found = re.search(r"running on (http://127\.0\.0\.1:[1-9]\d*)", line)
            if found and not address.done():
                address.set_result(found[1])
    if not address.done():
        address.set_exception(Failed("".join(said)))
