"""Event streams: messages on their way to a client, some of them to be asked for again."""

from __future__ import annotations

import asyncio
from collections import deque

from ...errors import McpError
from .request import Headers, Request

COMMENT = b":\n\n"


class Stream:
    """The messages for one request, or for a session as a whole.

    With a `name` its events have ids and are kept, so that a client that lost its
    connection can have them again. The answer to a request that nothing was said about
    before is no event: it can be a plain JSON body.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        name: bytes = b"",
        limit: int = 1000,
        open_ended: bool = False,
    ) -> None:
        self.answer: bytes | None = None
        self.error: McpError | None = None
        self.ended = False
        self.streaming = open_ended
        """Is it a stream for good, whatever comes?"""
        self.muted = False
        """Can its client read nothing but the answer?"""
        self.name = name
        self._loop = loop
        self._limit = limit
        # What is kept for later is bounded here, what is on its way by `drain`.
        self._events: deque[bytes] = deque(maxlen=limit if name else None)
        self._count = 0
        """How many events there have been."""
        self._sent = 0
        """How many of them have been handed over."""
        self._reader = 0
        """Which reader may have them: the one that came last."""
        self._hang_ups = 0
        self._changed: asyncio.Future[None] | None = None
        self._taken: asyncio.Future[None] | None = None

    # --- the sending side -----------------------------------------------------------------

    def push(self, data: bytes) -> None:
        """One more message."""
        if b"\n" in data:  # between tokens only: JSON has none in strings
            data = data.replace(b"\n", b" ")
        self.event(b"message", data)

    def event(self, kind: bytes, data: bytes) -> None:
        """One more event of a kind."""
        self._add(b"event: %b\ndata: %b\n\n" % (kind, data))

    def open(self) -> None:
        """Be a stream, even if there is only an answer."""
        self.streaming = True
        if self.answer is not None:
            self.push(self.answer)
            self.answer = None
        self._wake()

    def prime(self, retry: int) -> None:
        """Give the client an id to come back with, before there is any message."""
        if not self.ended and not self._count:
            self._add(b"retry: %d\ndata: \n\n" % retry)

    def _add(self, event: bytes) -> None:
        self.streaming = True
        self._count += 1
        if self.name:
            event = b"id: %b-%d\n%b" % (self.name, self._count, event)
        self._events.append(event)
        self._sent = max(self._sent, self._count - len(self._events))
        self._wake()

    def finish(self, answer: bytes | None, error: McpError | None = None) -> None:
        """The answer, or that none will come: there is nothing more to say."""
        if self.ended:
            return
        if answer is not None:
            if self.streaming:
                self.push(answer)
            else:
                self.answer, self.error = answer, error
        self.ended = True
        self._wake()

    def hang_up(self) -> None:
        """Let the reader go when it has all that there is; it may come back."""
        self._hang_ups += 1
        self._wake()

    async def drain(self) -> None:
        """Wait while very much has not been handed over."""
        while self._count - self._sent >= self._limit and not self.ended:
            if self._taken is None:
                self._taken = self._loop.create_future()
            await asyncio.shield(self._taken)

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    # --- the reading side -----------------------------------------------------------------

    async def begun(self) -> None:
        """Wait for the answer, or for the first sign that it is a stream."""
        while not self.ended and not self.streaming:
            await self.changed()

    def changed(self) -> asyncio.Future[None]:
        """Done when there is something new."""
        if self._changed is None or self._changed.done():
            self._changed = self._loop.create_future()
        return self._changed

    def rewind(self, after: int) -> None:
        """Hand over again what came after that event."""
        self._sent = max(min(after, self._count), self._count - len(self._events))

    def take(self) -> bytes:
        """What has not been handed over yet."""
        new = self._count - self._sent
        if not new:
            return b""
        self._sent = self._count
        if self._taken is not None:
            self._taken.set_result(None)
            self._taken = None
        events = list(self._events)[-new:]
        if not self.name:
            self._events.clear()
        return b"".join(events)

    async def deliver(
        self,
        request: Request,
        headers: Headers | None = None,
        *,
        resumed: bool = False,
    ) -> bool:
        """Send what comes until the end; False when the client went or was let go before.

        Nothing is sent before there is something to say, as the answer may turn out to
        be no stream at all.
        """
        self._reader += 1
        self._wake()  # another one that reads it ends
        reader = self._reader
        hang_ups = self._hang_ups if resumed else 0
        gone = self._loop.create_task(request.gone())
        try:
            while not gone.done():
                events = self.take() if reader == self._reader else b""
                if self.streaming and not request.streaming:
                    await request.begin_stream(headers)
                    events = events or COMMENT  # so that the client sees a beginning
                if events:
                    await request.send_events(events)
                elif self.ended or reader != self._reader or hang_ups != self._hang_ups:
                    if request.streaming:
                        await request.send_events(b"", last=True)
                    return self.ended
                elif await self._is_silent(gone, request.settings.keep_alive):
                    self.streaming = True
                    if request.streaming:
                        await request.send_events(COMMENT)
            return False
        finally:
            gone.cancel()

    async def _is_silent(self, gone: asyncio.Future[None], seconds: float) -> bool:
        """Wait for news; True when none came for so long."""
        changed = self.changed()
        done, _ = await asyncio.wait(
            (changed, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        return not done
