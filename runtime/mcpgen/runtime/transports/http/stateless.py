"""The modern wire: every POST stands alone, and closing it cancels what it asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Generator
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Raw, UnsetType

from ... import modern, versions
from ...errors import INVALID_REQUEST, METHOD_NOT_FOUND, FrameError, McpError
from ...jsonrpc import Id
from ...names import LISTEN, PROTOCOL_VERSION
from ...peer import Call, Later, Peer
from . import headers
from .events import Stream
from .request import EVENTS, JSON, Request

if TYPE_CHECKING:
    from ...serving import Serving


class Exchange:
    """One POST: the service and the link of a peer that lives no longer."""

    own_streams = True

    def __init__(self, serving: Serving, request: Request, mirrors: Any) -> None:
        self._serving = serving
        self._request = request
        self._mirrors = mirrors
        self._loop = asyncio.get_running_loop()
        self._stream = Stream(self._loop)
        self._call: Call | None = None
        self._ended = False
        task = asyncio.current_task()
        assert task is not None
        self.task: asyncio.Task[Any] = task
        """Where it is served."""

    async def serve(self, body: bytes) -> None:
        """Take the message, and answer."""
        peer = Peer(self, self, start=self._start, loop=self._loop)
        request, stream = self._request, self._stream
        if not peer.take(body, stream.finish):
            await request.respond(202)
            return
        if self._call is not None:
            await self._run(peer, self._call)
        if request.streaming:
            return
        if stream.streaming or not request.accepts(JSON):
            # Everything was said before anything could be sent.
            stream.open()
            await request.begin_stream()
            await request.send_events(stream.take(), last=True)
        elif stream.answer is None:  # cancelled: if not by us, nobody reads it
            await request.respond(503 if self._ended else 202)
        else:
            # What others ask is read meanwhile, and many answers leave in one turn of the
            # loop: with 16 connections a call takes an eighth less time for it.
            await asyncio.sleep(0)
            await request.respond(status_of(stream.error), stream.answer)

    async def _run(self, peer: Peer, call: Call) -> None:
        attending: list[asyncio.Task[None]] = []

        def suspended() -> None:
            attending.append(self._loop.create_task(self._attend(call)))

        try:
            await _Observed(peer.run(call), suspended)
        except asyncio.CancelledError:
            # The handler cancelled itself, or the application is told to end: in both
            # cases there is an answer, and nothing else to do than to send it.
            self.task.uncancel()
        if call.cancelled:
            self.task.uncancel()
        for task in attending:
            await task

    async def _attend(self, call: Call) -> None:
        """While the handler waits: send what it says, notice when nobody listens."""
        if not await self._stream.deliver(self._request) and not self._stream.ended:
            call.cancel()

    def end(self) -> None:
        """Stop it: the server ends."""
        if self._call is not None and not self._stream.ended:
            self._ended = True
            self._call.cancel()

    def _start(self, call: Call) -> None:
        # The request has a task already: the one that serves it.
        self._call = call
        call.task = self.task

    # --- what the peer asks ---------------------------------------------------------------

    def request(self, call: Call) -> bytes | Later:
        """Serve one request, if its headers agree with it."""
        if call.method == LISTEN and not self._request.accepts(EVENTS):
            message = f"{LISTEN} is answered with text/event-stream: accept that"
            raise FrameError(INVALID_REQUEST, message)
        principal = self._request.principal
        meta = modern.meta_of(call)
        return self._serving.stateless.request(call, meta, principal, self._check)

    def _check(self, call: Call, meta: dict[str, Any]) -> None:
        named = meta[PROTOCOL_VERSION]
        request = self._request
        try:
            value = request.header(b"mcp-protocol-version")
            if value != named:
                raise headers.Mismatch(
                    f"MCP-Protocol-Version is {value!r}, the body says {named!r}"
                )
            headers.check(request, call, self._mirrors)
        except headers.Mismatch as problem:
            code = versions.get(versions.MODERN[-1]).errors.HEADER_MISMATCH
            raise headers.mismatch(code, problem) from None

    def notification(self, method: str, params: Raw | None, about: object) -> None:
        """There is none that would mean anything here."""

    def takes_batches(self) -> bool:
        """No version of this wire has them."""
        return False

    def unreadable_id(self) -> UnsetType | None:
        """None at all."""
        return UNSET

    def send(self, data: bytes, about: Id | None) -> None:
        """Say something before the answer, to who can read it."""
        if self._request.accepts(EVENTS):
            self._stream.push(data)

    async def drain(self) -> None:
        """Wait while the client is slow to read."""
        await self._stream.drain()

    def dropped(self, about: Id) -> None:
        """Never: the answer goes to the stream."""


def status_of(error: McpError | None) -> int:
    """The HTTP status of an answer."""
    if error is None:
        return 200
    if isinstance(error, FrameError):
        return 400
    if error.code == METHOD_NOT_FOUND:
        return 404
    return 400 if error.code in _own_codes() else 200


def _own_codes() -> frozenset[int]:
    """The codes that this era has of its own."""
    known = versions.get(versions.MODERN[-1]).errors
    return frozenset(
        (
            known.HEADER_MISMATCH,
            known.MISSING_REQUIRED_CLIENT_CAPABILITY,
            known.UNSUPPORTED_PROTOCOL_VERSION,
        )
    )


class _Observed(Awaitable[None]):
    """Awaits a coroutine, and says so when it has to wait for something.

    Most handlers never do: they need no second task that watches their connection.
    """

    def __init__(self, running: Coroutine[Any, Any, None], suspended: Any) -> None:
        self._running = running
        self._suspended = suspended

    def __await__(self) -> Generator[Any, Any, None]:
        running = self._running
        step, value = running.send, None
        first = True
        try:
            while True:
                awaited = step(value)
                if first:
                    first = False
                    self._suspended()
                try:
                    value = yield awaited
                    step = running.send
                except BaseException as error:
                    step, value = running.throw, error
        except StopIteration:
            return
