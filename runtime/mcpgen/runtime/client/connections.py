"""Connections to a server: a peer, and how its messages travel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import Raw

from ..errors import (
    AuthError,
    ConnectionClosed,
    HttpError,
    RequestTimeout,
    ServerCrashed,
)
from ..jsonrpc import Id
from ..peer import Peer, Service
from ..transports import Connect, Receiver, Writer
from ..versions import Version
from .deadlines import Deadline, Limit

Transport: TypeAlias = Callable[[Connect], Awaitable[None]]


class Connection(Protocol):
    """What an era needs of it."""

    peer: Peer
    hears: bool
    """Can the server tell something that belongs to no request?"""

    @property
    def closed(self) -> bool:
        """Has it ended?"""

    def next_id(self) -> int:
        """An id for one request."""

    async def request(
        self,
        method: str,
        params: bytes | None,
        *,
        deadline: Deadline | None = None,
        headers: Mapping[str, str] | None = None,
        id: int | None = None,
    ) -> Raw:
        """Ask the server."""

    async def tell(self, method: str, params: bytes | None, deadline: Limit) -> None:
        """Send a notification, and wait until it has left, under the caller's deadline."""

    def speak(self, version: Version | None) -> None:
        """Messages are of this version from now on; None: none is agreed on yet."""

    async def settled(self) -> None:
        """A session is open: do what is to be done then."""

    async def close(self) -> None:
        """End it, and everything that waits for it."""


class Line:
    """A connection over a transport that carries messages in both directions.

    The transport runs in a task of its own, so that any task may close the client.
    """

    own_streams = False
    hears = True

    def __init__(
        self, transport: Transport, service: Service, ids: Iterator[int]
    ) -> None:
        self.peer = Peer(self, service, ids=ids, answers_garbage=False)
        self.request, self.next_id = self.peer.request, self.peer.next_id
        loop = self.peer.loop
        self._writer: Writer
        self._connected: asyncio.Future[None] = loop.create_future()
        self._transport = transport
        self._closing = False
        self._refused: Exception | None = None
        """Why it could not even be opened, where that is an error of its own."""
        self._task = loop.create_task(self._run())

    @property
    def closed(self) -> bool:
        """Has it ended?"""
        return self.peer.closed

    async def open(self) -> None:
        """Wait until something can be sent."""
        await asyncio.wait(
            (self._connected, self._task), return_when=asyncio.FIRST_COMPLETED
        )
        if not self._connected.done():
            raise self._refused or self.peer.gone()

    async def _run(self) -> None:
        problem: ConnectionClosed | None = None
        try:
            await self._transport(self._connect)
            problem = _ending(self._transport)
        except ConnectionClosed as raised:
            problem = raised
        except Exception as raised:  # of whatever the transport stands on
            if isinstance(raised, HttpError | AuthError | RequestTimeout):
                self._refused = raised
            problem = ConnectionClosed(f"the connection failed: {raised}")
            problem.__cause__ = raised
        finally:
            await self.peer.close(problem)

    def _connect(self, writer: Writer) -> Receiver:
        self._writer = writer
        self._connected.set_result(None)
        return _Feed(self.peer)

    async def tell(self, method: str, params: bytes | None, deadline: Limit) -> None:
        """Send a notification, and wait until it has left."""
        self.peer.notify(method, params)
        await self._writer.drain()

    def speak(self, version: Version | None) -> None:
        """Nothing on a line depends on the version."""

    async def settled(self) -> None:
        """A line is as it was."""

    async def close(self) -> None:
        """Tell the transport to end, and wait until it has."""
        if not self._closing:
            self._closing = True
            self._task.cancel()
        await asyncio.wait((self._task,))

    # --- the link of the peer -------------------------------------------------------------

    def send(self, data: bytes, about: Id | None) -> None:
        """One message."""
        self._writer.write(data)

    async def drain(self) -> None:
        """Wait while much is unsent."""
        await self._writer.drain()


class _Feed:
    """What the transport feeds."""

    def __init__(self, peer: Peer) -> None:
        self.receive = peer.receive

    def closed(self) -> None:
        """The transport returns when it has tidied up: then it is known why."""


def _ending(transport: Any) -> ConnectionClosed:
    """Why a transport came to its end by itself."""
    returncode = getattr(transport, "returncode", None)
    if returncode is None:
        return ConnectionClosed("the server closed the connection")
    said = tuple(transport.stderr_tail)
    how = f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
    last = "".join(f"\n    {line}" for line in said)
    crashed = ServerCrashed(
        f"the server ended ({how})" + (f"; it said last:{last}" if last else "")
    )
    crashed.returncode, crashed.stderr = returncode, said
    return crashed
