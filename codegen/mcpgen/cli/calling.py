"""One call of a tool, with everything that happens meanwhile."""

from __future__ import annotations

import os
import shutil
import sys
from collections import deque
from contextlib import suppress
from typing import Any

from msgspec import UNSET

from ..diagnostics import did_you_mean, fail
from ..protocol.newest import types
from ..runtime.client import Client
from ..runtime.client.results import read
from ..runtime.errors import McpError, RequestTimeout
from .answers import Answer
from .connecting import Access
from .parameters import Arguments, Schema
from .questions import Deadline, Questions
from .terminal import compact, line, tell

CALL = "tools/call"
LONGEST = 24 * 60 * 60.0
"""Seconds after which the client gives up; how long is too long is decided here."""
LOGGING = "logging"
MANY = 50
"""So many names of tools are told to who asks for none of them."""


class Reports:
    """What a tool reports while it runs, on standard error."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._is_shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._is_drawn = False

    def progress(self, said: Any) -> None:
        """One line that is written again and again; on a terminal only."""
        self._deadline.again()
        if self._is_shown and not self._deadline.is_paused:
            total = "" if said.total is UNSET else f"/{said.total:g}"
            text = f"{said.progress:g}{total}"
            if said.message is not UNSET:
                text += f" {said.message}"
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{line(text, width)}", end="", file=sys.stderr, flush=True)
            self._is_drawn = True

    def log(self, said: Any) -> None:
        """A line for each message."""
        self.clear()
        text = said.data if isinstance(said.data, str) else compact(said.data)
        name = "" if said.logger is UNSET else f" {line(said.logger, 64)}:"
        tell(f"[{said.level}]{name} {line(text, 2000)}")

    def clear(self) -> None:
        """Make room for something else."""
        if self._is_drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._is_drawn = False


async def call(
    access: Access,
    said: deque[str],
    tool: str,
    arguments: Arguments,
    level: str,
) -> Answer:
    """Call a tool with what was typed; nothing is sent that it does not take."""
    deadline = Deadline(access.timeout)
    reports = Reports(deadline)
    questions = Questions(deadline, reports.clear)
    client = access.client(
        said,
        elicitation=questions.form,
        open_url=questions.page,
        logging=reports.log,
    )
    async with client:
        found = await _find(client, tool, access.target.shown)
        given = arguments.fit(tool, Schema(found.input_schema))
        if LOGGING in client.capabilities:
            with suppress(McpError):  # a server that cannot may still have the tool
                await client.set_level(level)
        params = {"name": tool, "arguments": given}
        try:
            async with deadline.running():
                raw = await client.request(
                    CALL, params, timeout=LONGEST, progress=reports.progress
                )
        except TimeoutError:
            raise RequestTimeout(f"{line(tool)} gave no sign in time") from None
        finally:
            reports.clear()
    return Answer(tool, read(raw, types.CallToolResult, CALL), raw)


async def _find(client: Client, name: str, server: str) -> types.Tool:
    names = []
    async for tool in client.tools():
        if tool.name == name:
            return tool
        names.append(tool.name)
    known = ", ".join(line(known, 64) for known in names[:MANY]) or "none"
    known += ", …" if len(names) > MANY else ""
    raise fail(
        "tool-unknown",
        f'there is no tool "{line(name, 64)}"; there are: {known}',
        file=line(server),
        hint=line(did_you_mean(name, names)),
    )
