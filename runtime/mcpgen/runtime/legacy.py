"""The legacy era: a session that `initialize` opens and that remembers its client."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder

from . import dispatch, wire
from .asks import Client, Question, read_answer
from .context import Context
from .dispatch import Host
from .errors import INVALID_REQUEST, McpError, NotSupported
from .names import INITIALIZE, INITIALIZED, PING
from .peer import Call, Later, Peer
from .together import together
from .versions import Version


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
        self.opening: Call | None = None
        """The initialize that a handler of the host has not answered yet."""
        self.declared: dict[str, Any] = {}
        """The capabilities that the client was promised, whatever became of them."""
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
        if self.client is None or self.opening is not None:
            if call.method == PING:
                return b"{}"
            raise McpError(INVALID_REQUEST, "the first request must be initialize")
        version = self.client.version
        row = dispatch.row_for(version, call.method, self.declared)
        params = dispatch.read_params(version, row, call.params)
        client = self.client

        def new_context() -> Context:
            return Context(call, client, dispatch.meta_of(call, params), self)

        run = (self.host, version, row, params, new_context)
        return dispatch.run(*run, wire.NO_DEFAULTS)

    def _initialize(self, call: Call) -> bytes | Later:
        given_up = self.opening is not None and self.opening.cancelled
        if self.client is not None and not given_up:
            raise McpError(INVALID_REQUEST, "this session is initialized already")
        try:
            wanted = _WANTED.decode(call.params or b"{}").protocol_version
        except DecodeError:
            wanted = ""  # the params are bad, as will be said below
        name = wanted if wanted in self._names else self._names[-1]
        version = dispatch.version_of(self.host, name)
        row = version.requests[INITIALIZE]
        params = dispatch.read_params(version, row, call.params)
        asked = dispatch.plain_params(call)
        client = Client(version, asked["capabilities"], asked["clientInfo"])
        if dispatch.has_handler(self.host, row):
            self.client, self.peer, self.opening = client, call.peer, call
            return partial(self._open, call, client, row, params)
        result: dict[str, Any] = {
            "protocolVersion": version.name,
            "capabilities": self.host.capabilities(version),
            "serverInfo": self.host.info(),
        }
        if self.host.instructions():
            result["instructions"] = self.host.instructions()
        answer = wire.result(version, row, result, wire.NO_DEFAULTS)
        self.client = client
        self.peer = call.peer
        self.declared = result["capabilities"]
        return answer

    async def _open(self, call: Call, client: Client, row: Any, params: Any) -> bytes:
        """Let a handler of the host answer initialize; if it fails, nothing was opened."""
        ctx = Context(call, client, dispatch.meta_of(call, params), self)
        try:
            run = (self.host, client.version, row, params, lambda: ctx)
            outcome = dispatch.run(*run, wire.NO_DEFAULTS)
            answer = outcome if isinstance(outcome, bytes) else await outcome()
        except BaseException:
            if self.opening is call:  # or it was given up, and another began
                self.client, self.opening, self.ready = None, None, False
            raise
        self.opening = None
        self.declared = wire.plain(answer)["capabilities"]
        return answer

    # --- what the era does for a context --------------------------------------------------

    async def ask(self, ctx: Context, asks: dict[str, Question]) -> dict[str, Any]:
        """Send requests to the client, all at once, and wait for the answers."""
        version, peer = ctx.client.version, ctx.call.peer
        # When one fails the client hears that nobody waits for the others, before the
        # request itself is answered.
        results = await together(
            peer.request(ask.method, ask.params, about=ctx.request_id)
            for ask in asks.values()
        )
        return {
            key: read_answer(version, ask.method, raw)
            for (key, ask), raw in zip(asks.items(), results, strict=True)
        }

    def wants(self, level: str) -> bool:
        """Is a message of this level severe enough for the client?"""
        return self.client is not None and severe(
            self.client.version, level, self.level
        )

    def unsupported(self, message: str, needed: dict[str, Any]) -> NotSupported:
        """A failure of the tool that asked: its caller can read why."""
        return NotSupported(INVALID_REQUEST, message)

    # --- what a peer asks of its service --------------------------------------------------

    def notification(self, method: str, params: Raw | None, about: object) -> None:
        """Take note of what the client tells."""
        if self.client is None or self.peer is None:
            return
        if method == INITIALIZED:
            self.ready = True
        dispatch.notified(self.host, self.client, self, self.peer, method, params)

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

    def declares(self, what: str, flag: str) -> bool:
        """Was the client promised this?"""
        return declares(self.declared, what, flag)

    def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification that belongs to no request, if the version has it."""
        if self.client is None or self.peer is None:
            return
        version = self.client.version
        row = version.notifications.get(method)
        if row is not None:
            data = None if params is None else wire.typed(version, row.params, params)
            self.peer.on_loop(self.peer.notify, method, data)


def severe(version: Version, level: str, least: str) -> bool:
    """Is `level` at least as severe as `least`? Levels stand in order in the schema."""
    levels = version.types.LoggingLevel.__args__
    if level not in levels:
        raise ValueError(f"{level!r} is none of the log levels {', '.join(levels)}")
    return not least or levels.index(level) >= levels.index(least)


def declares(capabilities: dict[str, Any], what: str, flag: str) -> bool:
    """Do these capabilities promise this?"""
    return capabilities.get(what, {}).get(flag) is True
