"""The modern wire: every POST stands alone, and closing it cancels what it asked."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from types import coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET, Raw, UnsetType

from ... import dispatch, modern, versions
from ...errors import INVALID_REQUEST, METHOD_NOT_FOUND, FrameError
from ...jsonrpc import Id
from ...names import LISTEN
from ...peer import Call, Later, Peer
from . import headers
from .events import Stream
from .request import EVENTS, Request

if TYPE_CHECKING:
    from ...serving import Serving

Running: TypeAlias = Coroutine[Any, Any, None]


class Exchange:
    """One POST: the service and the link of a peer that lives no longer."""

    own_streams = True

    def __init__(self, serving: Serving, request: Request, waiting: set[Call]) -> None:
        self._serving = serving
        self._request = request
        self._waiting = waiting
        """The calls of all that wait for something."""
        self._stream = Stream()

    async def serve(self, body: bytes) -> None:
        """Take the message, and answer."""
        begun: list[Call] = []
        peer = Peer(self, self, start=begun.append)
        if not peer.take(body, self._stream.finish):
            await self._request.respond(202)
            return
        if begun:
            call = begun.pop()  # which knows the peer, and the peer this list
            running = peer.run(call)
            try:
                awaited = running.send(None)
            except StopIteration:
                pass  # it is done
            else:
                await self._wait(call, running, awaited)
        if not self._request.streaming:
            # What others ask is read meanwhile, and many answers leave in one turn of the
            # loop: with 16 connections a call takes an eighth less time for it.
            await asyncio.sleep(0)
            # Who was cancelled, but not by us, has nobody who reads the answer.
            no_answer = 503 if peer.closed else 202
            await self._stream.answer_to(self._request, self._status(), no_answer)

    async def _wait(self, call: Call, running: Running, awaited: Any) -> None:
        """Let the handler go on; most never wait, and need nobody who attends to them."""
        task = call.task = asyncio.current_task()
        assert task is not None
        self._waiting.add(call)
        attending = asyncio.ensure_future(self._attend(call))
        # When the handler cancels itself, or the application is told to end, there is
        # an answer still, and nothing else to do than to send it.
        with suppress(asyncio.CancelledError):
            await _rest(running, awaited)
        while task.cancelling():
            task.uncancel()
        self._waiting.discard(call)
        await attending

    async def _attend(self, call: Call) -> None:
        """Send what the handler says, notice when nobody listens."""
        if not await self._stream.deliver(self._request) and not self._stream.ended:
            call.cancel()

    def _status(self) -> int:
        error = self._stream.error
        if error is None:
            return 200
        if error.code == METHOD_NOT_FOUND:
            return 404
        own = versions.get(versions.MODERN[-1]).errors
        if isinstance(error, FrameError) or error.code in (
            own.HEADER_MISMATCH,
            own.MISSING_REQUIRED_CLIENT_CAPABILITY,
            own.UNSUPPORTED_PROTOCOL_VERSION,
        ):
            return 400
        return 200

    # --- what the peer asks ---------------------------------------------------------------

    def request(self, call: Call) -> bytes | Later:
        """Serve one request, if its headers agree with it."""
        request, serving = self._request, self._serving
        if call.method == LISTEN and not request.accepts(EVENTS):
            message = f"{LISTEN} is answered with text/event-stream: accept that"
            raise FrameError(INVALID_REQUEST, message)
        said = dispatch.said_in(call.params)
        modern.require(said.meta)
        headers.check(request, call, said, serving)
        return serving.stateless.request(call, said.meta, request.principal)

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
            self._stream.write(data)

    async def drain(self) -> None:
        """Wait while the client is slow to read."""
        await self._stream.drain()


@coroutine
def _rest(running: Running, awaited: Any) -> Generator[Any, Any, None]:
    """Goes on with a coroutine that waits for something."""
    try:
        while True:
            try:
                value = yield awaited
            except BaseException as error:
                awaited = running.throw(error)
            else:
                awaited = running.send(value)
    except StopIteration:
        return
