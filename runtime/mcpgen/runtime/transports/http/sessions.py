"""The legacy wire: sessions that outlive their connections.

A request that takes long, or about which there is something to say, is answered with a
stream. When its connection breaks the request goes on, and the client can come back for
the rest of the stream.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Raw, UnsetType

from ... import jsonrpc
from ...errors import INVALID_REQUEST, FrameError, McpError
from ...jsonrpc import Id
from ...legacy import Session
from ...peer import Call, Later, Peer
from .events import Stream
from .request import EVENTS, JSON, Refusal, Request
from .settings import Settings

if TYPE_CHECKING:
    from ...serving import Serving

STANDALONE = b"0"
"""The name of the stream that belongs to no request."""
SESSION_ID = b"mcp-session-id"


class HttpSession:
    """One client: the service and the link of its peer."""

    own_streams = True

    def __init__(
        self,
        serving: Serving,
        settings: Settings,
        principal: Any,
        opened: Callable[[HttpSession], None],
    ) -> None:
        self.id = secrets.token_urlsafe(24)
        self.session = Session(serving)
        self.session.principal = principal
        self.used = 0
        """How many requests and streams it is busy with."""
        self._settings = settings
        self._opened = opened
        self._is_open = False
        self._loop = asyncio.get_running_loop()
        self.peer = Peer(self, self, in_flight=serving.in_flight, loop=self._loop)
        self._alone = self._new_stream(STANDALONE, open_ended=True)
        self._streams: dict[Id, Stream] = {}
        """The requests that are not answered yet."""
        self._kept: OrderedDict[bytes, Stream] = OrderedDict()
        """Streams that a client may come back for, the oldest first."""
        self._current: tuple[Stream, list[Id]] | None = None
        """Where the answer to what is being taken goes, and the requests in it."""
        self._names = 0

    def _new_stream(self, name: bytes, *, open_ended: bool = False) -> Stream:
        limit = self._settings.event_buffer
        return Stream(self._loop, name=name, limit=limit, open_ended=open_ended)

    # --- requests -------------------------------------------------------------------------

    async def post(self, request: Request, body: bytes) -> None:
        """Take what was posted, and answer it."""
        if (busy := self.peer.room()) is not None:
            await busy
        stream = self._take(body)
        if stream is None:
            await request.respond(202)
            return
        if not stream.ended and request.accepts(EVENTS):
            await self._begun(stream)
        elif not stream.ended:
            stream.muted = True
            await stream.begun()
        headers = None
        if self.session.client is not None and not self._is_open:
            self._is_open = True
            self._opened(self)
            headers = [(SESSION_ID, self.id.encode("ascii"))]
        if not stream.streaming and request.accepts(JSON):
            if stream.answer is None:  # cancelled
                await request.respond(202, headers=headers)
            else:
                status = 400 if isinstance(stream.error, FrameError) else 200
                await request.respond(status, stream.answer, headers)
        else:
            stream.open()
            await stream.deliver(request, headers)

    def _take(self, body: bytes) -> Stream | None:
        """Give a message to the peer; None when it needs no answer."""
        self._names += 1
        stream = self._new_stream(b"%d" % self._names)
        requests: list[Id] = []

        def reply(answer: bytes | None, error: McpError | None) -> None:
            for id in requests:
                del self._streams[id]
            stream.finish(answer, error)

        if jsonrpc.is_batch(body) and _mixes(body):
            error = FrameError(
                INVALID_REQUEST, "a batch holds calls or answers, not both"
            )
            id = self.unreadable_id()
            stream.finish(jsonrpc.error(id, error.code, error.message), error)
            return stream
        self._current = (stream, requests)
        asked = self.peer.take(body, reply)
        self._current = None
        return stream if asked else None

    async def _begun(self, stream: Stream) -> None:
        """Wait for an answer or an event; after a while, let there be a stream."""
        settings = self._settings
        timer = self._loop.call_later(settings.stream_after, self._open, stream)
        try:
            await stream.begun()
        finally:
            timer.cancel()

    def _open(self, stream: Stream) -> None:
        version = None if self.session.client is None else self.session.client.version
        if version is not None and version.traits.sse_priming:
            stream.prime(self._settings.retry)
        else:
            stream.open()
        self._keep(stream)

    def _keep(self, stream: Stream) -> None:
        self._kept[stream.name] = stream
        while len(self._kept) > self._settings.kept_streams:
            self._kept.popitem(last=False)

    # --- streams --------------------------------------------------------------------------

    async def get(self, request: Request) -> None:
        """Open the stream of the session, or go on with one that broke."""
        stream = self._alone
        name, _, number = (request.header(b"last-event-id") or "").rpartition("-")
        if number.isdigit():
            found = self._kept.get(name.encode("latin-1"))
            if found is None and name.encode("latin-1") != STANDALONE:
                raise Refusal(404, "that stream is not kept any more")
            stream = found or stream
            stream.rewind(int(number))
        await stream.deliver(request, resumed=True)

    def close_stream(self, about: Id) -> None:
        """End the connection of a request's stream, which its client comes back for."""
        stream = self._streams.get(about)
        client = self.session.client
        if stream is None or client is None or not client.version.traits.sse_priming:
            return
        self._open(stream)
        stream.hang_up()

    # --- what the peer asks ---------------------------------------------------------------

    def request(self, call: Call) -> bytes | Later:
        """Serve a request; what is said about it goes where its answer goes."""
        outcome = self.session.request(call)
        if self._current is not None and not isinstance(outcome, bytes):
            stream, requests = self._current
            requests.append(call.id)
            self._streams[call.id] = stream
        return outcome

    def notification(self, method: str, params: Raw | None, about: object) -> None:
        """Take note of what the client tells."""
        self.session.notification(method, params, about)

    def takes_batches(self) -> bool:
        """As was agreed."""
        return self.session.takes_batches()

    def unreadable_id(self) -> UnsetType | None:
        """As was agreed."""
        return self.session.unreadable_id()

    def send(self, data: bytes, about: Id | None) -> None:
        """Say something on the stream of a request, or on that of the session."""
        stream = None if about is None else self._streams.get(about)
        if stream is None or stream.muted:
            self._alone.push(data)
        else:
            stream.push(data)
            self._keep(stream)

    async def drain(self) -> None:
        """Nobody waits for a client that may never come back: its oldest events go.

        But who reports without end lets others have their turn.
        """
        await asyncio.sleep(0)

    def dropped(self, about: Id) -> None:
        """Never: answers go to streams."""

    def end(self) -> None:
        """The session is over."""
        self.peer.end()
        for stream in (self._alone, *self._kept.values(), *self._streams.values()):
            stream.finish(None)


class Sessions:
    """All sessions, the one that was used longest ago first."""

    def __init__(self, serving: Serving, settings: Settings) -> None:
        self._serving = serving
        self._settings = settings
        self._all: OrderedDict[str, HttpSession] = OrderedDict()
        self._expiry: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._all)

    def new(self, principal: Any) -> HttpSession:
        """A session that is not known to anybody before it is initialized."""
        if len(self._all) >= self._settings.max_sessions:
            raise Refusal(
                503,
                "there are too many sessions: see the setting max_sessions",
                [(b"retry-after", b"60")],
            )
        return HttpSession(self._serving, self._settings, principal, self._add)

    def _add(self, session: HttpSession) -> None:
        self._all[session.id] = session
        self._serving.hub.add(session.session)
        self.touch(session)

    def get(self, id: str | None, principal: Any) -> HttpSession:
        """The session of a request; a Refusal when there is none, or it is another's."""
        if id is None:
            raise Refusal(400, "the header Mcp-Session-Id is missing: initialize first")
        session = self._all.get(id)
        if session is None or key_of(session.session.principal) != key_of(principal):
            raise Refusal(404, "there is no such session (any more): initialize again")
        return session

    @contextmanager
    def using(self, session: HttpSession) -> Iterator[None]:
        """Meanwhile it does not expire."""
        session.used += 1
        try:
            yield
        finally:
            session.used -= 1
            self.touch(session)

    def touch(self, session: HttpSession) -> None:
        """It was used: its time begins again."""
        if session.id not in self._all:
            return
        loop = asyncio.get_running_loop()
        self._expiry[session.id] = loop.time() + self._settings.session_idle
        self._all.move_to_end(session.id)
        if self._timer is None:
            self._timer = loop.call_later(self._settings.session_idle, self._sweep)

    def end(self, session: HttpSession) -> None:
        """End one."""
        self._all.pop(session.id, None)
        self._expiry.pop(session.id, None)
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
            self.end(session)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self) -> None:
        """End what has been idle for too long."""
        loop = asyncio.get_running_loop()
        self._timer = None
        for session in list(self._all.values()):
            if session.used or session.peer.calls:
                self.touch(session)
                continue
            left = self._expiry[session.id] - loop.time()
            if left > 0:
                self._timer = self._timer or loop.call_later(left, self._sweep)
                return
            self.end(session)


def key_of(principal: Any) -> str:
    """Who somebody is, whatever token they came with."""
    return getattr(principal, "key", "")


def _mixes(body: bytes) -> bool:
    """Is this batch one of calls and of answers?"""
    try:
        members = [jsonrpc.decode(member) for member in jsonrpc.decode_batch(body)]
    except FrameError:
        return False  # who takes the batch says what is wrong with it
    calls = any(member.method is not UNSET for member in members)
    return calls and any(
        member.result is not UNSET or member.error is not UNSET for member in members
    )


def is_initialize(body: bytes) -> bool:
    """Does this message open a session?"""
    try:
        frame = jsonrpc.decode(body)
        return frame.kind() == "request" and frame.method_name() == "initialize"
    except McpError:
        return False
