"""Event streams: messages on their way to a client, some of them to be asked for again."""

from __future__ import annotations

import asyncio
from collections import deque

from ...errors import McpError
from .request import JSON, Header, Request

COMMENT = b":\n\n"


class Stream:
    """The messages for one request, or for a session as a whole.

    With a `name` its events have ids and are kept, so that a client that lost its
    connection can have them again. The answer to a request that nothing was said about
    before is no event: it can be a plain JSON body.
    """

    answer: bytes | None = None
    error: McpError | None = None
    ended = False
    streaming = False
    """Is it a stream for good, whatever comes?"""
    muted = False
    """Can its client read nothing but the answer?"""
    _count = 0
    """How many events there have been."""
    _sent = 0
    """How many of them have been handed over."""
    _reader: object = None
    """Who may have them: who came last."""
    _hung_up = False
    _changed: asyncio.Future[None] | None = None

    def __init__(self, limit: int = 1000, name: str = "") -> None:
        self.name = name
        self._limit = limit
        # What is kept for later is bounded here, what is on its way by `drain`.
        self._events: deque[bytes] = deque(maxlen=limit if name else None)

    # --- the sending side -----------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """One more message, unless all has been said."""
        if not self.ended:
            self.event(b"message", data)

    def event(self, kind: bytes, data: bytes) -> None:
        """One more event of a kind."""
        # A newline stands between tokens only: JSON has none in strings.
        self._add(b"event: %b\ndata: %b\n\n" % (kind, data.replace(b"\n", b" ")))

    def open(self, retry: int | None = None) -> None:
        """Be a stream, even if there is only an answer.

        `retry` gives the client an id to come back with, before there is any message.
        """
        self.streaming = True
        if self.answer is not None:
            self.event(b"message", self.answer)
            self.answer = None
        elif retry is not None and not self.ended and not self._count:
            self._add(b"retry: %d\ndata: \n\n" % retry)
        self._wake()

    def _add(self, event: bytes) -> None:
        self.streaming = True
        self._count += 1
        if self.name:
            event = b"id: %b-%d\n%b" % (self.name.encode(), self._count, event)
        self._events.append(event)
        self._sent = max(self._sent, self._count - len(self._events))
        self._wake()

    def finish(self, answer: bytes | None, error: McpError | None = None) -> None:
        """The answer, or that none will come: there is nothing more to say."""
        if self.ended:
            return
        if answer is not None and self.streaming:
            self.write(answer)
        else:
            self.answer, self.error = answer, error
        self.ended = True
        self._wake()

    def hang_up(self) -> None:
        """Let the reader go when it has all that there is; it may come back."""
        self._hung_up = True
        self._wake()

    async def drain(self) -> None:
        """Wait while very much has not been handed over."""
        while self._count - self._sent >= self._limit and not self.ended:
            await self._changes()

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    # --- the reading side -----------------------------------------------------------------

    async def begun(self) -> None:
        """Wait for the answer, or for the first sign that it is a stream."""
        while not self.ended and not self.streaming:
            await self._change()

    def _change(self) -> asyncio.Future[None]:
        """Done with the next thing that happens."""
        if self._changed is None or self._changed.done():
            self._changed = asyncio.get_running_loop().create_future()
        return self._changed

    def rewind(self, after: int) -> None:
        """A reader came back: hand over again what came after that event."""
        self._hung_up = False
        self._sent = max(min(after, self._count), self._count - len(self._events))

    def _take(self) -> bytes:
        """What has not been handed over yet."""
        new = self._count - self._sent
        if not new:
            return b""
        self._sent = self._count
        self._wake()
        events = list(self._events)[-new:]
        if not self.name:
            self._events.clear()
        return b"".join(events)

    async def answer_to(
        self, request: Request, status: int, no_answer: int, *headers: Header
    ) -> None:
        """Answer with plain JSON if nothing was said before, and the client reads it."""
        if self.streaming or not request.accepts(JSON):
            self.open()
            await self.deliver(request, *headers)
        elif self.answer is None:
            await request.respond(no_answer, b"", *headers)
        else:
            await request.respond(status, self.answer, *headers)

    async def deliver(self, request: Request, *headers: Header) -> bool:
        """Send what comes until the end; False when the client went or was let go before.

        Nothing is sent before there is something to say, as the answer may turn out to
        be no stream at all.
        """
        reader = self._reader = object()
        self._wake()  # another one that reads it ends
        gone = asyncio.ensure_future(request.gone())
        gone.add_done_callback(lambda _: self._wake())
        try:
            while not gone.done():
                events = self._take() if reader is self._reader else b""
                if self.streaming and not request.streaming:
                    await request.begin_stream(*headers)
                    events = events or COMMENT  # so that the client sees a beginning
                if events:
                    await request.send_events(events)
                elif self.ended or self._hung_up or reader is not self._reader:
                    if request.streaming:
                        await request.send_events(b"", last=True)
                    return self.ended
                elif not await self._changes(request.settings.keep_alive):
                    self.streaming = True
                    if request.streaming:
                        await request.send_events(COMMENT)
            return False
        finally:
            gone.cancel()

    async def _changes(self, seconds: float | None = None) -> bool:
        """Wait for news; False when none came for so long."""
        done, _ = await asyncio.wait((self._change(),), timeout=seconds)
        return bool(done)
