"""Several servers as one: what an agent that uses many tools needs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from ...protocol.newest import types
from ..together import together
from . import Client

SEPARATOR = "__"
_NAME = re.compile(r"[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*")


class ClientGroup(Mapping[str, Client]):
    """Clients by name; a tool's name begins with the name of its client.

        group = ClientGroup(files=Client.stdio([...]), web=Client.http(url))
        async with group:
            await group.call_tool("files__read", path="notes.txt")

    So no two are the same, and it can always be told which server a tool belongs to.
    """

    def __init__(
        self, clients: Mapping[str, Client] | None = None, **more: Client
    ) -> None:
        self._clients = {**(clients or {}), **more}
        for name in self._clients:
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r} cannot begin the name of a tool: use letters, digits, "
                    "hyphens, and single underscores between them"
                )

    def __getitem__(self, name: str) -> Client:
        return self._clients[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._clients)

    def __len__(self) -> int:
        return len(self._clients)

    async def __aenter__(self) -> ClientGroup:
        """Connect to all at once; if one cannot be had, none is kept."""
        try:
            await together(client.__aenter__() for client in self._clients.values())
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections."""
        await asyncio.gather(*(client.close() for client in self._clients.values()))

    async def list_tools(self) -> list[types.Tool]:
        """The tools of all servers, under the names that `call_tool` takes."""
        lists = await together(client.list_tools() for client in self._clients.values())
        return [
            replace(tool, name=f"{name}{SEPARATOR}{tool.name}")
            for name, tools in zip(self._clients, lists, strict=True)
            for tool in tools
        ]

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, /, **more: Any
    ) -> types.CallToolResult:
        """Call a tool of one of the servers; see `Client.call_tool`."""
        server, separator, tool = name.partition(SEPARATOR)
        if not separator or server not in self._clients:
            known = ", ".join(self._clients)
            raise ValueError(f"{name!r} names no server: {known} are connected")
        return await self._clients[server].call_tool(tool, arguments, **more)
