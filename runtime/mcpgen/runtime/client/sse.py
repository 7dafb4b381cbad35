"""HTTP+SSE, the oldest transport over HTTP: one stream to read, an address to post to."""

from __future__ import annotations

import asyncio
from urllib.parse import urljoin

from ..errors import HttpError, RequestTimeout
from ..transports import Connect, Receiver
from . import events
from .deadlines import Limit
from .http import MOST_POSTS, POST_SECONDS
from .http1 import Response
from .web import EXCERPT, Web, media_type, origin, refusal


class Sse:
    """A transport like any other: a line of messages in each direction."""

    def __init__(self, web: Web, limit: int, timeout: float) -> None:
        self._web = web
        self._limit = limit
        self._timeout = timeout

    async def __call__(self, connect: Connect) -> None:
        """Be connected until the stream ends."""
        try:
            async with asyncio.timeout(self._timeout) as deadline:
                await self._be_connected(connect, deadline)
        except TimeoutError:
            raise RequestTimeout("the server did not say where to post to") from None
        finally:
            await self._web.close()

    async def _be_connected(self, connect: Connect, deadline: Limit) -> None:
        headers = {"accept": "text/event-stream"}
        response = await self._web.send("GET", headers, deadline=deadline)
        try:
            if response.status != 200 or media_type(response) != "text/event-stream":
                raise await refusal(response)
            await self._read(response, connect, deadline)
        finally:
            response.close()

    async def _read(
        self, response: Response, connect: Connect, deadline: Limit
    ) -> None:
        writer: _Writer | None = None
        receiver: Receiver | None = None
        try:
            async for event in events.read(response, events.Position(), self._limit):
                if event.kind == "endpoint" and receiver is None:
                    writer = _Writer(self._web, self._address(event.data))
                    receiver = connect(writer)
                    deadline.reschedule(None)
                elif event.kind == "message" and receiver is not None:
                    busy = receiver.receive(event.data)
                    if busy is not None:
                        await busy
                    if writer is not None:
                        await writer.drain(MOST_POSTS)
        except asyncio.CancelledError:
            if writer is None or writer.problem is None:
                raise
            writer.owner.uncancel()  # it was the writer who could not go on
            raise writer.problem from None
        finally:
            if writer is not None:
                writer.close()

    def _address(self, data: bytes) -> str:
        try:
            address = urljoin(self._web.url, data.decode("utf-8", "replace"))
            scheme, host, port = origin(address)
        except ValueError:
            raise HttpError(200, "the server gives an address that is none") from None
        if (scheme, host, port) != origin(self._web.url):
            message = f"the server wants its messages at {scheme}://{host}:{port}"
            raise HttpError(200, message)
        return address


class _Writer:
    """Posts every message by itself."""

    def __init__(self, web: Web, address: str) -> None:
        self._web = web
        self._address = address
        self._posts: set[asyncio.Task[None]] = set()
        self.problem: Exception | None = None
        owner = asyncio.current_task()
        assert owner is not None
        self.owner = owner
        """Who reads the stream, and is told when nothing can be sent any more."""

    def write(self, data: bytes) -> None:
        task = self.owner.get_loop().create_task(self._post(data))
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)

    async def _post(self, data: bytes) -> None:
        headers = {"content-type": "application/json", "accept": "*/*"}
        try:
            async with asyncio.timeout(POST_SECONDS) as deadline:
                response = await self._web.send(
                    "POST", headers, data, self._address, deadline
                )
                try:
                    if response.status >= 300:
                        raise await refusal(response)
                    await response.read(EXCERPT)
                finally:
                    response.close()
        except Exception as problem:
            self.problem = problem
            self.owner.cancel()

    async def drain(self, most: int = 0) -> None:
        while len(self._posts) > most:
            await asyncio.wait(self._posts, return_when="FIRST_COMPLETED")

    def close(self) -> None:
        for task in self._posts:
            task.cancel()
