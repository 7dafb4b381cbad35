"""The legacy era: a session that `initialize` opens and that remembers its client."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder

from . import context, dispatch, versions, wire
from .context import Ask, Client, Context
from .dispatch import Host
from .errors import INVALID_PARAMS, INVALID_REQUEST, McpError, NotSupported
from .peer import Call, Later, Peer
from .versions import Version

INITIALIZE = "initialize"
INITIALIZED = "notifications/initialized"
PING = "ping"


class _Wanted(Struct, rename="camel"):
    protocol_version: str


_WANTED = Decoder(_Wanted)


class Session:
    """What is remembered of one client between its requests."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.client: Client | None = None
        self.principal: Any = None
        """Who was authenticated, if anybody was."""
        self.ready = False
        """Has the client said that it is initialized?"""
        self.level = ""
        """The least severe log level that the client asked for."""
        self.subscriptions: set[str] = set()
        self.peer: Peer | None = None
        self._names = host.legacy_versions

    # --- requests -------------------------------------------------------------------------

    def request(self, call: Call) -> bytes | Later:
        """Serve one request of the session."""
        if call.method == INITIALIZE:
            return self._initialize(call)
        if self.client is None:
            if call.method == PING:
                return b"{}"
            raise McpError(INVALID_REQUEST, "the first request must be initialize")
        version = self.client.version
        row = dispatch.row_for(self.host, version, call.method)
        params = dispatch.read_params(version, row, call.params)
        client = self.client

        def new_context() -> Context:
            return Context(call, client, dispatch.meta_of(call, params), self)

        return dispatch.run(self.host, version, row, params, new_context, {})

    def _initialize(self, call: Call) -> bytes:
        if self.client is not None:
            raise McpError(INVALID_REQUEST, "this session is initialized already")
        if call.params is None:
            raise McpError(INVALID_PARAMS, "initialize needs params")
        try:
            wanted = _WANTED.decode(call.params).protocol_version
        except DecodeError as error:
            raise McpError(INVALID_PARAMS, f"invalid params: {error}") from None
        version = versions.get(wanted if wanted in self._names else self._names[-1])
        row = version.requests[INITIALIZE]
        dispatch.read_params(version, row, call.params)
        asked = dispatch.plain_params(call)
        result = {
            "protocolVersion": version.name,
            "capabilities": self.host.capabilities(version),
            "serverInfo": self.host.info(),
        }
        if self.host.instructions():
            result["instructions"] = self.host.instructions()
        answer = wire.result(version, row, result, {})
        self.client = Client(version, asked["capabilities"], asked["clientInfo"])
        self.peer = call.peer
        return answer

    # --- what the era does for a context --------------------------------------------------

    async def ask(self, ctx: Context, asks: dict[str, Ask]) -> dict[str, Any]:
        """Send requests to the client, all at once, and wait for the answers."""
        version = ctx.client.version
        texts = [context.params(version, ask) for ask in asks.values()]
        tasks = [
            asyncio.ensure_future(
                ctx.call.peer.request(ask.method, text, about=ctx.request_id)
            )
            for ask, text in zip(asks.values(), texts, strict=True)
        ]
        try:
            results = await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # when one failed, nobody waits for the others
                task.cancel()
        return {
            key: context.answer(version, ask, raw)
            for (key, ask), raw in zip(asks.items(), results, strict=True)
        }

    def wants(self, level: str) -> bool:
        """Is a message of this level severe enough for the client?"""
        return self.client is not None and severe(
            self.client.version, level, self.level
        )

    def unsupported(self, message: str, needed: dict[str, Any]) -> McpError:
        """A failure of the tool that asked: its caller can read why."""
        return NotSupported(INVALID_REQUEST, message)

    # --- what a peer asks of its service --------------------------------------------------

    def notification(self, method: str, params: Raw | None, about: object) -> None:
        """Take note of what the client tells."""
        if method == INITIALIZED and self.client is not None:
            self.ready = True

    def takes_batches(self) -> bool:
        """Only one version has them."""
        return self.client is not None and bool(self.client.version.traits.batch)

    def unreadable_id(self) -> UnsetType | None:
        """As the version wants it; before one is agreed on, as the newest does."""
        if self.client is None:
            return UNSET
        null = self.client.version.traits.unreadable_id == "null"
        return None if null else UNSET

    # --- telling the client ---------------------------------------------------------------

    def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification that belongs to no request, if the version has it."""
        if self.client is None or self.peer is None:
            return
        version = self.client.version
        row = version.notifications.get(method)
        if row is not None:
            data = None if params is None else wire.typed(version, row.params, params)
            self.peer.notify(method, data)


def severe(version: Version, level: str, least: str) -> bool:
    """Is `level` at least as severe as `least`? Levels stand in order in the schema."""
    levels = version.types.LoggingLevel.__args__
    if level not in levels:
        raise ValueError(f"{level!r} is none of the log levels {', '.join(levels)}")
    return not least or levels.index(level) >= levels.index(least)
