"""Streamable HTTP, both eras of it: every message is a POST of its own.

A server answers with JSON or with a stream of events. Legacy servers have sessions, a
stream for what belongs to no request, and streams that can be resumed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from .. import jsonrpc
from ..errors import (
    INVALID_REQUEST,
    AnswerError,
    AuthError,
    ConnectionClosed,
    FrameError,
    HttpError,
    SessionExpired,
)
from ..jsonrpc import Id
from ..mirrors import value_at
from ..names import INITIALIZE, MCP_NAME
from ..peer import Asked, Peer, Service, log
from ..versions import Version
from . import events
from .deadlines import Limit
from .http1 import HttpBroken, Response, TooLarge
from .web import EXCERPT, Web, excerpt, media_type, refusal

JSON = "application/json"
EVENTS = "text/event-stream"
_SESSION_ID = re.compile(r"[!-~]{0,4096}")
POSTED = {"content-type": JSON, "accept": f"{JSON}, {EVENTS}"}
RESUMPTIONS = 5
"""So often in a row may a stream break without having brought anything new."""
SETTLE_SECONDS = 1.0
"""So long is a stream waited for that may never open, or never end."""
POST_SECONDS = 60.0
MOST_POSTS = 50
"""So much of what nobody waits for is sent at once; there are 100 connections."""
CLOSE_SECONDS = 2.0
TRANSIENT = (429, 502, 503, 504)
"""Who answers so need not be the server itself."""


class HttpConnection:
    """A peer whose messages are POSTs, and how they are sent."""

    own_streams = True
    hears = True

    def __init__(
        self,
        web: Web,
        service: Service,
        ids: Iterator[int],
        *,
        limit: int,
        listens: bool,
    ) -> None:
        self.peer = Peer(self, service, ids=ids, caller=self, answers_garbage=False)
        self.request, self.next_id = self.peer.request, self.peer.next_id
        self._web = web
        self._limit = limit
        self._listens = listens
        """May the server ask us something while we ask it nothing?"""
        self._version: Version | None = None
        self._session = ""
        self._background: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None

    @property
    def closed(self) -> bool:
        """Has it ended?"""
        return self.peer.closed

    def speak(self, version: Version | None) -> None:
        """Use the headers of this version."""
        self._version = version

    async def settled(self) -> None:
        """Open the stream for what belongs to no request."""
        opened = asyncio.Event()
        staying = self._start(self._stay(opened))
        staying.add_done_callback(lambda _: opened.set())
        if self._listens:  # or an early question would be lost
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_SECONDS):
                    await opened.wait()

    # --- requests -------------------------------------------------------------------------

    async def ask(self, asked: Asked) -> Raw:
        """Post a request; its answer is the body, or an event of a stream."""
        data = jsonrpc.request(asked.id, asked.method, asked.params)
        headers, deadline = self._headers(asked), asked.deadline
        response = await self._web.send("POST", headers, data, deadline=deadline)
        if asked.method == INITIALIZE:
            self._session = _session_id(response)
        kind = media_type(response)
        try:
            if response.status < 300 and kind == EVENTS:
                await self._follow(asked.answer, response)
            else:
                await self._read(asked.answer, response, kind)
            return await asked.answer
        except AnswerError as error:
            error.status = response.status
            raise

    async def _read(
        self, answer: asyncio.Future[Raw], response: Response, kind: str
    ) -> None:
        """Take an answer that is no stream."""
        try:
            if response.status >= 300:
                raise await self._refusal(response, kind)
            if kind == JSON:
                body = await response.read(self._limit)
                self.peer.take(body, lambda answer, error: None)
                if not answer.done():
                    message = f"no answer to this request: {excerpt(body)}"
                    raise AnswerError(INVALID_REQUEST, message)
            elif response.status != 202 or not self._session:
                message = f"an answer of type {kind or 'unknown'!r}, not JSON or events"
                raise HttpError(response.status, message)
            # or it was accepted, and the answer comes on the other stream
        finally:
            response.close()

    async def _refusal(self, response: Response, kind: str) -> Exception:
        """What an answer with an error status says."""
        if response.status == 404 and self._session:
            return SessionExpired(404, "the server does not know the session")
        if kind != JSON or response.status in TRANSIENT:
            return await refusal(response)
        try:
            body = await response.read(EXCERPT)
        except ConnectionClosed as problem:
            return HttpError(response.status, str(problem))
        error = _error_in(body)
        if error is not None:
            return error  # whatever id it has: it is about this request
        return HttpError(response.status, excerpt(body))

    async def _follow(self, answer: asyncio.Future[Raw], response: Response) -> None:
        """Read a stream until the answer came, resuming it when it breaks."""
        position = events.Position()
        failures = 0
        while True:
            seen = position.last_id
            stream = events.read(response, position, self._limit)
            try:
                await self._feed(stream, answer)
                problem = HttpBroken("the stream ended without an answer", sent=True)
            except HttpBroken as broken:
                problem = broken
            except BaseException:
                response.close()
                raise
            if answer.done():
                self._start(self._finish(stream, response))
                return
            response.close()
            failures = 0 if position.last_id != seen else failures + 1
            response = await self._rest(position, problem, failures)

    async def _rest(
        self, position: events.Position, problem: HttpBroken, failures: int
    ) -> Response:
        """The rest of a stream that broke; raises the problem if it cannot be had.

        Never what went wrong with the rest: the request itself has been begun.
        """
        if self._version is None or not self._version.traits.resumable:
            raise problem
        while position.last_id and failures <= RESUMPTIONS:
            await asyncio.sleep(position.pause(failures))
            try:
                return await self._resumed(position)
            except HttpError as refused:
                if refused.status < 500 and refused.status != 429:
                    break
            except HttpBroken:
                pass
            failures += 1
        raise problem

    async def _feed(
        self,
        stream: AsyncIterator[events.Event],
        answer: asyncio.Future[Raw] | None = None,
    ) -> int:
        """Take what a stream brings, until it ends or has brought the answer."""
        count = 0
        async for event in stream:
            count += 1
            if event.kind == "message":
                busy = self.peer.receive(event.data)
                if busy is not None:
                    await busy
                while len(self._background) > MOST_POSTS:  # what it asked is on its way
                    await asyncio.wait(self._background, return_when="FIRST_COMPLETED")
            if answer is not None and answer.done():
                break
        return count

    async def _finish(
        self, stream: AsyncIterator[events.Event], response: Response
    ) -> None:
        """Let a stream end by itself, so that its connection can be used again."""
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(SETTLE_SECONDS):
                await self._feed(stream)
        response.close()

    async def _resumed(self, position: events.Position) -> Response:
        """A stream for what has not come yet."""
        headers = self._own_headers(accept=EVENTS)
        if position.last_id:
            headers["last-event-id"] = position.last_id
        response = await self._web.send("GET", headers)
        if response.status != 200 or media_type(response) != EVENTS:
            try:
                raise await refusal(response)
            finally:
                response.close()
        return response

    def give_up(self, asked: Asked, reason: str) -> None:
        """Closing the stream has cancelled it; older servers want to be told."""
        if self._version is None or not self._version.traits.closing_cancels:
            self.peer.give_up(asked, reason)

    # --- headers --------------------------------------------------------------------------

    def _own_headers(self, **more: str) -> dict[str, str]:
        headers = dict(more)
        if self._session:
            headers["mcp-session-id"] = self._session
        if self._version is not None and self._version.traits.version_header:
            headers["mcp-protocol-version"] = self._version.name
        return headers

    def _headers(self, asked: Asked) -> dict[str, str]:
        headers = {**POSTED, **self._own_headers()}
        if self._version is not None and self._version.traits.method_headers:
            headers["mcp-method"] = asked.method
            headers.update(asked.headers)
        return headers

    # --- everything else ------------------------------------------------------------------

    async def _stay(self, opened: asyncio.Event) -> None:
        """Hear what belongs to no request, for as long as the server offers that."""
        position = events.Position()
        failures = 0
        while not self.closed:
            try:
                response = await self._resumed(position)
            except HttpError as error:
                if error.status < 500 and error.status != 429:
                    self._hears_no_more()
                    return
                failures += 1
            except ConnectionClosed:
                failures += 1
            else:
                opened.set()
                news = 0
                try:
                    news = await self._feed(
                        events.read(response, position, self._limit)
                    )
                except ConnectionClosed as problem:
                    log.debug("the stream of the server broke: %s", problem)
                finally:
                    response.close()
                failures = 0 if news else failures + 1
            await asyncio.sleep(position.pause(failures))

    def _hears_no_more(self) -> None:
        """The server has no such stream, or no such session: who listens is told."""
        self.hears = False
        while self.peer.when_ended:
            self.peer.when_ended.pop()()

    async def tell(self, method: str, params: bytes | None, deadline: Limit) -> None:
        """Post a notification, and wait until the server has it."""
        await self._post(jsonrpc.notification(method, params), deadline)

    def send(self, data: bytes, about: Id | None) -> None:
        """Post something that nobody waits for: an answer of ours, a notification."""
        self._start(self._post_quietly(data))

    async def _post_quietly(self, data: bytes) -> None:
        try:
            async with asyncio.timeout(POST_SECONDS) as deadline:
                await self._post(data, deadline)
        except (HttpError, AuthError, ConnectionClosed, TimeoutError) as problem:
            log.warning("a message did not reach the server: %s", problem)

    async def _post(self, data: bytes, deadline: Limit) -> None:
        headers = {**POSTED, **self._own_headers()}
        response = await self._web.send("POST", headers, data, deadline=deadline)
        try:
            if response.status >= 300:
                raise await refusal(response)
            if media_type(response) != EVENTS:  # which need not end
                with contextlib.suppress(TooLarge):
                    await response.read(EXCERPT)
        finally:
            response.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.peer.loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def drain(self) -> None:
        """Nothing is queued here."""

    async def close(self) -> None:
        """End the session, and whatever waits; who is cancelled meanwhile stops nothing."""
        if self._closing is None:
            self._closing = self.peer.loop.create_task(self._close())
        await asyncio.wait((self._closing,))

    async def _close(self) -> None:
        await self.peer.close()
        for task in self._background:
            task.cancel()
        if self._background:
            await asyncio.wait(self._background)
        with contextlib.suppress(TimeoutError, HttpError, ConnectionClosed):
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._session:
                    headers = self._own_headers()
                    (await self._web.send("DELETE", headers, renew=False)).close()
        await self._web.close()


def _session_id(response: Response) -> str:
    id = response.headers.get("mcp-session-id", "")
    if not _SESSION_ID.fullmatch(id):
        response.close()
        raise HttpError(response.status, "a malformed session id")
    return id


def _error_in(body: bytes) -> AnswerError | None:
    """The JSON-RPC error that a body holds."""
    try:
        frame = jsonrpc.decode(body)
    except FrameError:
        return None
    if frame.error is UNSET:
        return None
    error = jsonrpc.decode_error(frame.error)
    return AnswerError(error.code, error.message, error.data)


def mcp_name(method: str, params: dict[str, Any]) -> dict[str, str]:
    """The header that names what a request is about, where there is one."""
    key = MCP_NAME.get(method)
    value = params.get(key) if key else None
    return {"mcp-name": header_value(value)} if isinstance(value, str) else {}


def argument_headers(
    mirrored: dict[str, tuple[str, ...]], arguments: Any
) -> dict[str, str]:
    """The headers that repeat arguments, of those that are there."""
    headers = {}
    for header, path in mirrored.items():
        value = value_at(path, arguments)
        if value is not None:
            headers[header] = header_value(value)
    return headers


def header_value(value: Any) -> str:
    """A JSON value as a header says it: plain where it can be, base64 where not."""
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode("ascii")
    encoded = value.startswith("=?base64?") and value.endswith("?=")  # or so it seems
    plain = value.isascii() and value.isprintable() and value == value.strip()
    if plain and not encoded:
        return value
    from base64 import b64encode

    return f"=?base64?{b64encode(value.encode()).decode('ascii')}?="
