"""The legacy wire: sessions that outlive their connections.

A request that takes long, or about which there is something to say, is answered with a
stream. When its connection breaks the request goes on, and the client can come back for
the rest of the stream.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from ... import jsonrpc
from ...errors import INVALID_REQUEST, FrameError, McpError
from ...jsonrpc import Id
from ...legacy import Session
from ...names import INITIALIZE
from ...peer import Call, Later, Peer
from .events import Stream
from .request import EVENTS, Refusal, Request
from .settings import Settings

if TYPE_CHECKING:
    from ...serving import Serving

STANDALONE = "0"
"""The name of the stream that belongs to no request."""
SESSION_ID = b"mcp-session-id"
MIXED = FrameError(INVALID_REQUEST, "a batch holds calls or answers, not both")


class HttpSession(Session):
    """One client: the service and the link of its peer."""

    own_streams = True

    def __init__(self, serving: Serving, principal: Any, home: Sessions) -> None:
        super().__init__(serving)
        self.id = secrets.token_urlsafe(24)
        self.principal = principal
        self.peer: Peer = Peer(self, self, in_flight=serving.in_flight)
        self.used = 0
        """How many requests and streams it is busy with."""
        self.expires = 0.0
        """When it ends if nobody uses it; nothing yet before it is open."""
        self._home = home
        self._alone = Stream(home.settings.event_buffer, STANDALONE)
        self._alone.open()
        self._kept: OrderedDict[str, Stream] = OrderedDict()
        """Streams that a client may come back for, the oldest first."""
        self._current: Stream | None = None
        """Where the answer to what is being taken goes."""
        self._posts = 0

    # --- requests -------------------------------------------------------------------------

    async def post(self, request: Request, body: bytes) -> None:
        """Take what was posted, and answer it."""
        if (busy := self.peer.room()) is not None:
            await busy
        self._posts += 1
        stream = Stream(self._home.settings.event_buffer, str(self._posts))
        if not self._take(body, stream):
            await request.respond(202)
            return
        if not stream.ended:
            await self._begun(stream, request)
        headers = []
        if self.client is not None and not self.expires:
            self._home.open(self)
            headers.append((SESSION_ID, self.id.encode("ascii")))
        status = 400 if isinstance(stream.error, FrameError) else 200
        await stream.answer_to(request, status, 202, *headers)

    def _take(self, body: bytes, stream: Stream) -> bool:
        """Give a message to the peer; True when it will be answered on the stream."""
        if jsonrpc.is_batch(body) and _mixes(body):
            id = self.unreadable_id()
            stream.finish(jsonrpc.error(id, MIXED.code, MIXED.message), MIXED)
            return True
        self._current = stream
        asked = self.peer.take(body, stream.finish)
        self._current = None
        return asked

    async def _begun(self, stream: Stream, request: Request) -> None:
        """Wait for an answer or an event; after a while, let there be a stream."""
        if not request.accepts(EVENTS):
            stream.muted = True
            return await stream.begun()
        after = self._home.settings.stream_after
        timer = self.peer.loop.call_later(after, self._make_stream, stream)
        try:
            await stream.begun()
        finally:
            timer.cancel()

    def _make_stream(self, stream: Stream) -> None:
        stream.open(self._home.settings.retry if self._is_primed() else None)
        self._keep(stream)

    def _is_primed(self) -> bool:
        """Does the client know streams that begin with nothing but an id?"""
        return self.client is not None and bool(self.client.version.traits.sse_priming)

    def _keep(self, stream: Stream) -> None:
        self._kept[stream.name] = stream
        while len(self._kept) > self._home.settings.kept_streams:
            self._kept.popitem(last=False)

    # --- streams --------------------------------------------------------------------------

    async def get(self, request: Request) -> None:
        """Open the stream of the session, or go on with one that broke."""
        name, _, number = (request.header(b"last-event-id") or "").rpartition("-")
        lost = number.isdecimal() and name != STANDALONE
        stream = self._kept.get(name) if lost else self._alone
        if stream is None:
            raise Refusal(404, "that stream is not kept any more")
        if number.isdecimal():
            stream.rewind(int(number[:20]))
        await stream.deliver(request)

    def close_stream(self, about: Id) -> None:
        """End the connection of a request's stream, which its client comes back for."""
        stream = self._stream_of(about)
        if stream is not None and self._is_primed():
            self._make_stream(stream)
            stream.hang_up()

    def _stream_of(self, about: Id | None) -> Stream | None:
        call = None if about is None else self.peer.calls.get(about)
        return None if call is None else call.stream

    # --- what the peer asks ---------------------------------------------------------------

    def request(self, call: Call) -> bytes | Later:
        """Serve a request; what is said about it goes where its answer goes."""
        call.stream = self._current
        return super().request(call)

    def send(self, data: bytes, about: Id | None) -> None:
        """Say something on the stream of a request, or on that of the session."""
        stream = self._stream_of(about)
        if stream is None or stream.muted:
            self._alone.write(data)
        else:
            stream.write(data)
            self._keep(stream)

    async def drain(self) -> None:
        """Nobody waits for a client that may never come back: its oldest events go.

        But who reports without end lets others have their turn.
        """
        await asyncio.sleep(0)

    def end(self) -> None:
        """The session is over."""
        served = [call.stream for call in self.peer.calls.values()]
        self.peer.end()
        for stream in (self._alone, *self._kept.values(), *filter(None, served)):
            stream.finish(None)


class Sessions:
    """All sessions, the one that was used longest ago first."""

    def __init__(self, serving: Serving, settings: Settings) -> None:
        self.settings = settings
        self._serving = serving
        self._all: OrderedDict[str, HttpSession] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    async def post(self, request: Request, body: bytes) -> None:
        """Take a message of a session, or open one."""
        self._check_version(request)
        if SESSION_ID in request.headers or not _is_initialize(body):
            session = self._find(request)
            await self._using(session, session.post(request, body))
        elif len(self._all) >= self.settings.max_sessions:
            raise too_many()
        else:
            new = HttpSession(self._serving, request.principal, self)
            await new.post(request, body)

    async def serve(self, request: Request) -> None:
        """Serve a stream of a session, or end the session."""
        self._check_version(request)
        session = self._find(request)
        if request.method == "DELETE":
            self._end(session)
            await request.respond(204)
        else:
            request.check_events()
            await self._using(session, session.get(request))

    def _check_version(self, request: Request) -> None:
        named, known = request.version, self._serving.legacy_versions
        if named is not None and named not in known:
            names = ", ".join(known)
            raise Refusal(400, f"version {named!r} is not supported: {names} are")

    def _find(self, request: Request) -> HttpSession:
        """The session of a request; a Refusal when there is none, or it is another's."""
        id = request.header(SESSION_ID)
        if id is None:
            raise Refusal(400, "the header Mcp-Session-Id is missing: initialize first")
        session = self._all.get(id)
        if session is None or not is_same(session.principal, request.principal):
            raise Refusal(404, "there is no such session (any more): initialize again")
        return session

    async def _using(self, session: HttpSession, serving: Awaitable[None]) -> None:
        """Meanwhile it does not expire."""
        session.used += 1
        try:
            await serving
        finally:
            session.used -= 1
            if session.id in self._all:
                self._touch(session)

    def open(self, session: HttpSession) -> None:
        """From now on its client may come back to it."""
        self._all[session.id] = session
        self._serving.hub.add(session)
        self._touch(session)
        if self._timer is None:
            self._sweep()

    def _touch(self, session: HttpSession) -> None:
        """It was used: its time begins again."""
        now = asyncio.get_running_loop().time()
        session.expires = now + self.settings.session_idle
        self._all.move_to_end(session.id)

    def _sweep(self) -> None:
        """End what has been idle for too long, and look again when the next may have."""
        loop = asyncio.get_running_loop()
        now, self._timer = loop.time(), None
        while self._all and self._timer is None:
            oldest = next(iter(self._all.values()))
            if oldest.expires >= now:
                self._timer = loop.call_at(oldest.expires, self._sweep)
            elif oldest.used or oldest.peer.calls:
                self._touch(oldest)
            else:
                self._end(oldest)

    def _end(self, session: HttpSession) -> None:
        del self._all[session.id]
        session.end()

    def tasks(self) -> list[asyncio.Task[Any]]:
        """The calls that are being served, but for those that wait for their clients."""
        return [
            call.task
            for session in self._all.values()
            for call in session.peer.calls.values()
            if call.task is not None and not call.waits
        ]

    def close(self) -> None:
        """End all."""
        for session in list(self._all.values()):
            self._end(session)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def is_same(one: Any, other: Any) -> bool:
    """Are they the same client, whatever tokens they came with?"""
    return bool(getattr(one, "key", "") == getattr(other, "key", ""))


def too_many() -> Refusal:
    """There is no room for one more."""
    return Refusal(503, "too many sessions: see max_sessions", (b"retry-after", b"60"))


def _mixes(body: bytes) -> bool:
    """Is this batch one of calls and of answers?"""
    try:
        members = [jsonrpc.decode(member) for member in jsonrpc.decode_batch(body)]
    except FrameError:
        return False  # who takes the batch says what is wrong with it
    calls = [m for m in members if m.method is not UNSET]
    answers = [m for m in members if m.result is not UNSET or m.error is not UNSET]
    return bool(calls and answers)


def _is_initialize(body: bytes) -> bool:
    """Does this message open a session?"""
    try:
        frame = jsonrpc.decode(body)
        return frame.kind() == "request" and frame.method_name() == INITIALIZE
    except McpError:
        return False
