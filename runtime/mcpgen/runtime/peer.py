"""One connection, seen from either side.

A `Peer` numbers what it asks and pairs the answers; it runs what it is asked, each call
once and answered once, and stops it when told to. It bounds how much is in flight in
both directions: calls beyond a limit wait their turn, and when too many wait, nothing
more is read. What a method means is the business of its `Service`, and how bytes travel
that of its `Link`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from copy import copy
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder

from . import jsonrpc
from .errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    AnswerError,
    ConnectionClosed,
    FrameError,
    McpError,
    RequestTimeout,
)
from .jsonrpc import Frame, Id
from .names import CANCELLED, INITIALIZE

if TYPE_CHECKING:
    from .client.deadlines import Deadline

log = logging.getLogger("mcpgen")

Later: TypeAlias = Callable[[], Coroutine[Any, Any, bytes]]
"""What to await for a result that takes time; nothing has been done for it yet."""
Reply: TypeAlias = Callable[[bytes | None, McpError | None], None]
"""Takes the one answer to a request, and the error that it tells of, if it does.

No answer (None) comes when the request was cancelled; a FrameError says that what came
was no message at all.
"""
Start: TypeAlias = "Callable[[Call], None]"
"""Lets a call `run`, in a task that it sets as the call's `task`."""
BACKLOG = 16
"""So many times the number of calls that run may wait their turn."""


class Link(Protocol):
    """How messages leave."""

    own_streams: bool
    """Has each request a stream of its own, whose end tells that all was said?"""

    def send(self, data: bytes, about: Id | None) -> None:
        """Queue one message; `about` is the request that it belongs to, if any."""

    async def drain(self) -> None:
        """Wait until little enough is queued; who sends much should."""


class Service(Protocol):
    """What this side offers to the other."""

    def request(self, call: Call) -> bytes | Later:
        """The result as JSON text, now or later; McpError refuses."""

    def notification(self, method: str, params: Raw | None, about: Id | None) -> None:
        """Take note of a notification; nothing is ever answered to it."""

    def takes_batches(self) -> bool:
        """May the other side send arrays of messages?"""

    def unreadable_id(self) -> UnsetType | None:
        """The id of an error that answers what could not be read: null, or none."""


class Call:
    """One request of the other side, while it is served."""

    __slots__ = (
        *("cancelled", "id", "method", "params", "peer", "reply"),
        *("later", "started", "stream", "task", "waits"),
    )

    def __init__(
        self,
        peer: Peer,
        id: Id,
        method: str,
        params: Raw | None,
        reply: Reply,
    ) -> None:
        self.peer = peer
        self.id = id
        self.method = method
        self.params = params
        self.reply = reply
        self.stream: Any = None
        """Where a transport says what is about it, if it has several such places."""
        self.later: Later
        """Makes what gives its result."""
        self.task: asyncio.Task[Any] | None = None
        """Where that is awaited; None while the call waits its turn."""
        self.started = False
        self.waits = 0
        """How many answers of the other side it waits for."""
        self.cancelled = False

    @property
    def is_open(self) -> bool:
        """May anything be said about it? Not once it was answered, or cancelled."""
        if self.id is None:  # a notification: nothing answers it
            return not self.cancelled
        return not self.cancelled and self.peer.calls.get(self.id) is self

    def cancel(self) -> None:
        """Stop it; no answer will follow."""
        self.cancelled = True
        if self.task is None:
            self.peer.forget(self)
        elif self.started:  # or it ends by itself when it does
            self.task.cancel()


class Caller(Protocol):
    """How requests of ours travel: over the link, or each in a way of its own."""

    async def ask(self, asked: Asked) -> Raw:
        """Send a request, and wait for its answer."""

    def give_up(self, asked: Asked, reason: str) -> None:
        """Nobody waits for that answer any more: tell the other side."""


class Asked(Struct, eq=False):
    """One request of ours, while it is waited for."""

    id: int
    method: str
    params: bytes | None
    about: Id | None
    headers: Mapping[str, str]
    answer: asyncio.Future[Raw]
    deadline: Deadline | None


class _Cancelled(Struct, rename="camel"):
    request_id: str | int


_CANCELLED = Decoder(_Cancelled)
_ENDLESS = contextlib.nullcontext()


class Peer:
    """Both directions of one connection."""

    closed = False
    finishing = False
    """Has the other side said its last? Then it is asked nothing more."""
    _active = 0
    _latest = 0
    _room: asyncio.Event | None = None
    _problem: ConnectionClosed | None = None
    """Why it was closed, where that is known."""

    def __init__(
        self,
        link: Link,
        service: Service,
        *,
        in_flight: int = 256,
        backlog: int | None = None,
        start: Start | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        ids: Iterator[int] | None = None,
        caller: Caller | None = None,
        answers_garbage: bool = True,
    ) -> None:
        self.link = link
        self.service = service
        self.calls: dict[Id, Call] = {}
        self.when_ended: list[Callable[[], None]] = []
        """Whom to tell when it has ended."""
        self.loop = loop or asyncio.get_running_loop()
        self._limit = in_flight
        self._backlog = BACKLOG * in_flight if backlog is None else backlog
        self._queue: deque[Call] = deque()
        self._ids = ids or count(1)
        self._pending: dict[Id, asyncio.Future[Raw]] = {}
        self._start = start or self._start_task
        self._other_caller = caller
        self._answers_garbage = answers_garbage

    @property
    def _caller(self) -> Caller:
        # Not kept: a peer that knew itself could not go when its one POST has.
        return self._other_caller or self

    # --- what comes in ------------------------------------------------------------------

    def receive(self, data: bytes) -> Awaitable[None] | None:
        """Take one message. An awaitable means: busy, read on when it is done."""
        if self.closed:
            return None
        self.take(data, None)
        return self.room()

    def room(self) -> Awaitable[None] | None:
        """None, or what to wait for while too many calls wait their turn."""
        return self._wait_for_room() if len(self._queue) >= self._backlog else None

    def take(self, data: bytes, reply: Reply | None) -> bool:
        """Take one message or batch; True when it will be answered, through `reply`."""
        if jsonrpc.is_batch(data):
            return self._batch(data, reply)
        return self._take(data, reply)

    def refuse(self, error: McpError) -> None:
        """Answer to something that could not be read as a message."""
        self.link.send(self._unreadable(error), None)

    def _take(self, data: bytes | Raw, reply: Reply | None) -> bool:
        """One message; True when it will be answered through `reply`."""
        frame = None
        try:
            frame = jsonrpc.decode(data)
            kind = frame.kind()
        except FrameError as error:
            if frame is not None and self._is_bad_answer(frame, error):
                return False
            if reply is None and not self._answers_garbage:
                log.debug("something that is no message was dropped: %s", error)
                return False
            self._answer(self._unreadable(error, frame), error, reply)
            return True
        if kind == "request":
            self._request(frame, reply)
            return True
        if kind == "notification":
            self._notification(frame)
        else:
            self._response(frame)
        return False

    def _answer(self, data: bytes, error: McpError, reply: Reply | None) -> None:
        if reply is None:
            self.link.send(data, None)
        else:
            reply(data, error)

    def _unreadable(self, error: McpError, frame: Frame | None = None) -> bytes:
        id: Id | UnsetType | None = self.service.unreadable_id()
        if frame is not None and frame.method is not UNSET:
            with contextlib.suppress(FrameError):
                named = frame.request_id()
                if named not in self.calls:  # or it would answer that one
                    id = named
        return jsonrpc.error(id, error.code, error.message)

    def _request(self, frame: Frame, reply: Reply | None) -> None:
        id = frame.id
        if id in self.calls:
            problem: McpError = FrameError(INVALID_REQUEST, f"the id {id!r} is in use")
            self._answer(self._unreadable(problem, frame), problem, reply)
            return
        params = None if frame.params is UNSET else frame.params
        call = Call(self, id, frame.method, params, reply or self._replier(id))
        try:
            if len(self.calls) >= self._limit + self._backlog:
                raise McpError(INTERNAL_ERROR, "too many requests are in flight")
            outcome = self.service.request(call)
        except McpError as error:
            call.reply(_refusal(call, error), error)
        except RecursionError:
            problem = McpError(INVALID_PARAMS, "nested too deeply")
            call.reply(_refusal(call, problem), problem)
        except BaseException as error:
            call.reply(_internal(call), None)
            if isinstance(error, KeyboardInterrupt):
                raise
        else:
            if isinstance(outcome, bytes):
                call.reply(jsonrpc.result(id, outcome), None)
            else:
                self.calls[id] = call
                call.later = outcome
                if self._active < self._limit:  # then nobody waits
                    self._active += 1
                    self._start(call)
                else:
                    self._queue.append(call)

    # --- whose turn it is ---------------------------------------------------------------

    def _start_next(self) -> None:
        while self._queue and self._active < self._limit:
            self._active += 1
            self._start(self._queue.popleft())
        if self._room is not None:
            self._room.set()

    def _start_task(self, call: Call) -> None:
        call.task = self.loop.create_task(self.run(call))

    def forget(self, call: Call) -> None:
        """Cancel a call before its turn has come."""
        self._queue.remove(call)
        del self.calls[call.id]
        self._start_next()
        call.reply(None, None)

    @contextlib.contextmanager
    def waiting(self, call: Call) -> Iterator[None]:
        """Meanwhile the call waits for the other side, and takes nobody's place.

        Otherwise calls that wait for answers could keep us from reading the answers.
        """
        call.waits += 1
        if call.waits == 1:
            self._active -= 1
            self._start_next()
        try:
            yield
        finally:
            call.waits -= 1
            if call.waits == 0:
                self._active += 1

    def _replier(self, id: Id) -> Reply:
        def reply(answer: bytes | None, error: McpError | None) -> None:
            if answer is not None:
                self.link.send(answer, id)

        return reply

    async def run(self, call: Call) -> None:
        """Answer a call, whatever happens; awaited once, when its turn has come."""
        answer = problem = None
        call.started = True
        try:
            if not call.cancelled:
                answer = jsonrpc.result(call.id, await call.later())
        except McpError as error:
            answer, problem = _refusal(call, error), error
        except asyncio.CancelledError:
            if not call.cancelled:  # by the handler itself, or by who ends the loop
                answer = _internal(call)
                if _is_being_cancelled():
                    raise
        except ConnectionClosed as error:  # nobody waits for it, and nothing is wrong
            answer = jsonrpc.error(call.id, INTERNAL_ERROR, str(error))
        except BaseException as error:
            answer = _internal(call)
            if isinstance(error, KeyboardInterrupt):
                raise
        finally:
            del call.later  # it may know the call: let both go at once
            del self.calls[call.id]
            self._active -= 1
            if self._queue:
                self._start_next()
            call.reply(None if call.cancelled else answer, problem)

    def _notification(self, frame: Frame) -> None:
        method = frame.method_name()
        params = None if frame.params is UNSET else frame.params
        if params is not None and bytes(params)[:1] != b"{":
            return  # never answered, not even a bad one
        if method == CANCELLED and params is not None:
            try:
                call = self.calls.get(_CANCELLED.decode(params).request_id)
            except (DecodeError, RecursionError):
                call = None
            if call is not None:
                call.cancel()
                return
        try:
            self.service.notification(method, params, None)
        except Exception:
            log.exception("handling %s failed", method)

    def _response(self, frame: Frame) -> None:
        try:
            future = self._pending.get(frame.request_id())
        except FrameError:
            future = None
        if future is None or future.done():
            # One that comes too late is nothing to worry about.
            late = isinstance(frame.id, int) and frame.id <= self._latest
            log.log(10 if late else 30, "an answer to no request of ours was dropped")
        elif frame.error is UNSET:
            assert frame.result is not UNSET
            future.set_result(frame.result)
        else:
            error = jsonrpc.decode_error(frame.error)
            future.set_exception(AnswerError(error.code, error.message, error.data))

    def _is_bad_answer(self, frame: Frame, problem: FrameError) -> bool:
        """Was this to answer a request of ours? Then who waits for it hears of it."""
        if frame.method is not UNSET or frame.id is UNSET:
            return False
        with contextlib.suppress(FrameError):
            future = self._pending.get(frame.request_id())
            if future is not None and not future.done():
                message = f"a malformed answer: {problem.message}"
                future.set_exception(AnswerError(problem.code, message))
                return True
        return False

    def _batch(self, data: bytes, reply: Reply | None) -> bool:
        try:
            members = jsonrpc.decode_batch(data)
            if not self.service.takes_batches():
                raise FrameError(
                    INVALID_REQUEST, "batches are not part of this version"
                )
        except FrameError as error:
            self._answer(self._unreadable(error), error, reply)
            return True
        answers: list[bytes] = []
        asked = missing = 0
        reading = True

        def collect(answer: bytes | None, error: McpError | None) -> None:
            nonlocal missing
            missing -= 1
            if answer is not None:
                answers.append(answer)
            if not reading and not missing:
                send()

        def send() -> None:
            array = b"[" + b",".join(answers) + b"]" if answers else None
            if reply is not None:
                reply(array, None)
            elif array is not None:
                self.link.send(array, None)

        for member in members:
            missing += 1
            if self._take(member, collect):
                asked += 1
            else:
                missing -= 1
        reading = False
        if asked and not missing:
            send()
        return bool(asked)

    async def _wait_for_room(self) -> None:
        while len(self._queue) >= self._backlog and not self.closed:
            self._room = asyncio.Event()
            await self._room.wait()

    # --- what goes out ------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: bytes | None = None,
        *,
        about: Id | None = None,
        deadline: Deadline | None = None,
        headers: Mapping[str, str] | None = None,
        id: int | None = None,
    ) -> Raw:
        """Ask the other side; the result is raw JSON text, an error is raised.

        `headers` go with it where the transport has such. The id is the next one, or
        one that was taken of the same row before.
        """
        if self.closed or self.finishing:
            raise self.gone()
        id = self.next_id() if id is None else id
        self._latest = max(self._latest, id)
        answer: asyncio.Future[Raw] = self.loop.create_future()
        asked = Asked(id, method, params, about, headers or {}, answer, deadline)
        self._pending[id] = answer
        call = None if about is None else self.calls.get(about)
        try:
            with deadline or _ENDLESS:
                if call is None:
                    return await self._caller.ask(asked)
                with self.waiting(call):
                    return await self._caller.ask(asked)
        except TimeoutError:
            self._caller.give_up(asked, "timed out")
            raise RequestTimeout(f"{method} was not answered in time") from None
        except asyncio.CancelledError:
            self._caller.give_up(asked, "no longer needed")
            raise
        finally:
            del self._pending[id]

    @property
    def waits_for_answers(self) -> bool:
        """Has anything been asked that is not answered yet?"""
        return bool(self._pending)

    def next_id(self) -> int:
        """An id for one request; none is used twice."""
        return next(self._ids)

    async def ask(self, asked: Asked) -> Raw:
        """Send a request over the link, and wait for its answer."""
        data = jsonrpc.request(asked.id, asked.method, asked.params)
        self.link.send(data, asked.about)
        return await asked.answer

    def give_up(self, asked: Asked, reason: str) -> None:
        """Nobody waits for that answer any more: tell the other side."""
        if not self.closed and asked.method != INITIALIZE:  # which is never cancelled
            params = b'{"requestId":%d,"reason":"%b"}' % (asked.id, reason.encode())
            self.link.send(jsonrpc.notification(CANCELLED, params), asked.about)

    def notify(
        self, method: str, params: bytes | None = None, *, about: Id | None = None
    ) -> None:
        """Tell the other side; nothing comes back."""
        if not self.closed:
            self.link.send(jsonrpc.notification(method, params), about)

    def is_here(self) -> bool:
        """Is this the loop's own thread?"""
        try:
            return asyncio.get_running_loop() is self.loop
        except RuntimeError:
            return False

    def on_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call it on the loop's thread: now, if this is it, or soon."""
        if self.is_here():
            function(*arguments)
        else:
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                self.loop.call_soon_threadsafe(function, *arguments)

    async def finish(self, seconds: float) -> None:
        """The other side says nothing more: let what runs end, for a while; then close."""
        self.finishing = True
        self._fail_pending()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while busy := [
                    call.task for call in self.calls.values() if call.task is not None
                ]:
                    await asyncio.wait(busy)
        await self.close()

    async def close(self, problem: ConnectionClosed | None = None) -> None:
        """End everything that is under way, on both sides of the connection.

        Who waits for an answer, or asks later, is told the problem.
        """
        self._problem = problem
        tasks = self.end()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)

    def end(self) -> list[asyncio.Task[Any]]:
        """The same without waiting; what is still to end is returned."""
        self.closed = True
        self._fail_pending()
        for tell in self.when_ended:
            tell()
        self.when_ended.clear()
        calls = list(self.calls.values())
        for call in reversed(calls):  # those that wait their turn first
            call.cancel()
        if self._room is not None:
            self._room.set()
        return [call.task for call in calls if call.task is not None]

    def _fail_pending(self) -> None:
        for future in self._pending.values():
            if not future.done():
                future.set_exception(self.gone())
                future.exception()  # whoever waits sees it; nobody must

    def gone(self) -> ConnectionClosed:
        """Why nothing can be asked any more."""
        if self._problem is None:
            return ConnectionClosed("the connection was closed")
        return copy(self._problem)  # each who waits raises one of his own


def _refusal(call: Call, error: McpError) -> bytes:
    try:
        return jsonrpc.error(call.id, error.code, error.message, error.data)
    except Exception:  # it has no JSON: an object, a lone surrogate
        return _internal(call)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _internal(call: Call) -> bytes:
    """An exception that nobody expected: all of it to the log, nothing to the peer."""
    log.exception("handling %s failed", call.method)
    return jsonrpc.error(call.id, INTERNAL_ERROR, "internal error")
