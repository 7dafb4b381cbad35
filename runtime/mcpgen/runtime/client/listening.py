"""Hearing of changes: a subscription, in whatever way the server's version has it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from ..errors import (
    METHOD_NOT_FOUND,
    ConnectionClosed,
    HttpError,
    McpError,
    NotSupported,
    RequestTimeout,
)
from ..names import (
    ACKNOWLEDGED,
    LIST_CHANGED,
    LISTEN,
    SUBSCRIPTION_ID,
    UPDATED,
)
from .retries import keep_trying
from .service import Change, Json, Service
from .sessions import Modern, Session

MOST = 10_000
"""So many changes wait for who reads them; then the oldest are dropped."""


class Listening:
    """The changes, one after another; in `async with`, which begins and ends it."""

    def __init__(
        self,
        service: Service,
        session: Session,
        ask: Callable[[str, Json], Awaitable[Any]],
        uris: tuple[str, ...],
        lists: set[str],
    ) -> None:
        self.honoured: Json | None = None
        """What a modern server agreed to tell of."""
        self._service = service
        self._session = session
        self._ask = ask
        self._uris = uris
        self._lists = lists
        self._subscribed: list[str] = []
        """Resources of which one subscription is ours."""
        self._methods = {LIST_CHANGED[what] for what in lists}
        self._changes: deque[Change] = deque(maxlen=MOST)
        self._news = asyncio.Event()
        self._id: int | None = None
        self._stream: asyncio.Task[Any] | None = None
        self._problem: BaseException | None = None
        self._ended = False
        self._acknowledged = False

    async def __aenter__(self) -> Listening:
        self._service.sinks.add(self._take)
        try:
            if isinstance(self._session, Modern):
                await self._open(self._session)
            else:
                if not self._session.connection.hears:
                    message = "the server has no stream to tell of changes"
                    raise NotSupported(METHOD_NOT_FOUND, message)
                self._session.connection.peer.when_ended.append(self._cut)
                for uri in self._uris:
                    if not self._session.subscribed[uri]:
                        await self._ask("resources/subscribe", {"uri": uri})
                    self._session.subscribed[uri] += 1
                    self._subscribed.append(uri)
        except BaseException:
            await self._unsubscribe()
            await self._close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._unsubscribe()
        await self._close()

    async def _unsubscribe(self) -> None:
        session = self._session
        for uri in self._subscribed:
            session.subscribed[uri] -= 1
            if not session.subscribed[uri] and not session.connection.closed:
                with contextlib.suppress(
                    McpError, ConnectionClosed, HttpError, RequestTimeout
                ):
                    await self._ask("resources/unsubscribe", {"uri": uri})

    def __aiter__(self) -> Listening:
        return self

    async def __anext__(self) -> Change:
        while not self._changes:
            if self._problem is not None:
                raise self._problem
            if self._ended:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._changes.popleft()

    # --- how it comes about ---------------------------------------------------------------

    async def _open(self, session: Modern) -> None:
        wanted: Json = {f"{what}ListChanged": True for what in sorted(self._lists)}
        if self._uris:
            wanted["resourceSubscriptions"] = list(self._uris)
        params = session.with_meta({"notifications": wanted})
        self._stream = asyncio.get_running_loop().create_task(
            self._stay(session, msgspec.json.encode(params))
        )
        self._stream.add_done_callback(self._over)
        try:
            async with asyncio.timeout(session.timeout):
                while self.honoured is None and not self._ended:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise RequestTimeout(f"{LISTEN} was not acknowledged in time") from None
        if self._problem is not None:
            raise self._problem

    async def _stay(self, session: Modern, params: bytes) -> None:
        """Keep the subscription: a stream that breaks is opened again."""
        connection = session.connection

        async def once() -> None:
            self._id = connection.next_id()
            await connection.request(LISTEN, params, id=self._id)

        while True:
            self._acknowledged = False
            try:
                await keep_trying(once, session.timeout)
                return
            except ConnectionClosed:
                if not self._acknowledged or connection.closed:
                    raise

    def _cut(self) -> None:
        """The connection has ended, and with it what was subscribed to."""
        self._problem = self._session.connection.peer.gone()
        self._news.set()

    def _over(self, stream: asyncio.Task[Any]) -> None:
        self._ended = True
        if not stream.cancelled():
            self._problem = stream.exception()
        self._news.set()

    def _take(self, change: Change) -> None:
        if self._id is not None:
            meta = change.params.get("_meta", {})
            if meta.get(SUBSCRIPTION_ID) != self._id:
                return
            if change.method == ACKNOWLEDGED:
                self.honoured = change.params.get("notifications", {})
                self._acknowledged = True
                self._news.set()
                return
        elif change.method == UPDATED:
            if change.params.get("uri") not in self._uris:
                return
        elif change.method not in self._methods:
            return
        self._changes.append(change)
        self._news.set()

    async def _close(self) -> None:
        self._service.sinks.discard(self._take)
        with contextlib.suppress(ValueError):
            self._session.connection.peer.when_ended.remove(self._cut)
        if self._stream is not None:
            self._stream.cancel()
            await asyncio.wait((self._stream,))
