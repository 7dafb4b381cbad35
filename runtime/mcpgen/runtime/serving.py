"""How a server is served: connections of any transport, stdio, HTTP.

What it serves is up to the host that inherits from this: a `Server` with its functions,
or the typed handlers of one version.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from . import versions
from .connection import Connection
from .errors import INVALID_REQUEST, FrameError
from .hub import Hub
from .jsonrpc import Id
from .modern import Stateless
from .peer import Link, Peer
from .versions import Version

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .transports import Receiver, Writer

Json = dict[str, Any]
Lifespan: TypeAlias = "Callable[[Any], AbstractAsyncContextManager[Any]]"
"""Takes the server; what it yields is the server's `lifespan_state` while it runs."""
FINISH_SECONDS = 1.0
"""So long may calls go on when the client has gone, or the server ends."""


class Serving:
    """A host, and everything that can be connected to it."""

    def __init__(
        self,
        info: Json,
        *,
        instructions: str = "",
        in_flight: int = 256,
        state_key: bytes | None = None,
        lifespan: Lifespan | None = None,
        names: tuple[str, ...] = (*versions.LEGACY, *versions.MODERN),
    ) -> None:
        self._info = info
        self._instructions = instructions
        self.hub = Hub()
        self.lifespan_state: Any = None
        """What the lifespan yielded, while the server runs."""
        self.legacy_versions = tuple(name for name in versions.LEGACY if name in names)
        self.modern_versions = tuple(name for name in versions.MODERN if name in names)
        self.stateless = Stateless(self, state_key, self.modern_versions)
        """Serves requests of modern versions, whatever they came over."""
        self.in_flight: int = in_flight
        self.has_random_key = state_key is None
        self._lifespan = lifespan

    # --- what the connections ask ---------------------------------------------------------

    @property
    def handlers(self) -> object:
        """The functions behind the methods, named as in the generated stubs."""
        raise NotImplementedError

    def capabilities(self, version: Version) -> Json:
        """What is declared to a client of this version."""
        raise NotImplementedError

    def info(self) -> Json:
        """The server's name and version."""
        return self._info

    def instructions(self) -> str:
        """How to use the server, for a model."""
        return self._instructions

    # --- serving --------------------------------------------------------------------------

    def connect(self, link: Link, principal: Any = None) -> Peer:
        """Serve one connection; feed what arrives to the peer's `receive`.

        `principal` is who was authenticated, where a transport does that.
        """
        connection = Connection(self)
        connection.session.principal = principal
        self.hub.add(connection.session)
        return Peer(link, connection, in_flight=self.in_flight)

    def attach(self, writer: Writer, principal: Any = None) -> Receiver:
        """Serve one connection of a transport: `await transport(server.attach)`.

        A transport is anything that makes a `Writer` and feeds the `Receiver` it gets.
        """
        return _Attached(self, writer, principal)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Any]:
        """While the server runs: enters and leaves its lifespan."""
        try:
            if self._lifespan is None:
                yield None
            else:
                async with self._lifespan(self) as self.lifespan_state:
                    yield self.lifespan_state
        finally:
            self.hub.close()

    def run(self, transport: str = "stdio", **settings: Any) -> None:
        """Serve until the client goes away (stdio) or a signal comes.

        `run()` is stdio; `run("http", port=8000)` is HTTP, with the settings of `Http`
        and `host`, `port`, `log_level`.
        """
        if transport == "stdio":
            asyncio.run(self._run_stdio(**settings))
        elif transport == "http":
            from .transports.http.uvicorn import run

            run(self, **settings)
        else:
            raise ValueError(f"there is no transport {transport!r}: stdio or http")

    async def _run_stdio(self, **settings: Any) -> None:
        from .transports.stdio import serve_stdio

        async with self.running():
            await serve_stdio(self.attach, **settings)

    def asgi(self, **settings: Any) -> Any:
        """The server as an ASGI application, to run or mount anywhere; see `Http`."""
        from .transports.http import Http

        return Http(self, **settings)


class _Attached:
    """Both what a transport feeds and how a peer sends."""

    own_streams = False

    def __init__(self, serving: Serving, writer: Writer, principal: Any) -> None:
        self._writer = writer
        self._hub = serving.hub
        self._peer = serving.connect(self, principal)

    def receive(self, data: bytes) -> Awaitable[None] | None:
        return self._peer.receive(data)

    def too_long(self, limit: int) -> None:
        message = f"a message of more than {limit} bytes"
        self._peer.refuse(FrameError(INVALID_REQUEST, message))

    async def closed(self) -> None:
        self._hub.close(self._peer)
        await self._peer.finish(FINISH_SECONDS)

    def send(self, data: bytes, about: Id | None) -> None:
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()
