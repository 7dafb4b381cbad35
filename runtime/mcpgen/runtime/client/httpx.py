"""What `http1` does, with an `httpx2.AsyncClient`: the user's own, or for a proxy."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .http1 import Body, Headers, HttpBroken, header_lines, locate

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

# By name, so that a client of httpx will do as well.
UNSENT = {"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"}


class Httpx:
    """A `Requester`; it closes the client only if it made it."""

    def __init__(self, client: AsyncClient | None = None) -> None:
        self._owned = client is None
        self._client = client or _make()
        self._closing: set[asyncio.Task[None]] = set()

    async def send(
        self, method: str, url: str, headers: Headers, body: bytes | None = None
    ) -> Answer:
        """Send a request, and wait for the status and the headers of its answer."""
        locate(url)
        header_lines(headers)  # both know what is not safe
        client, asked = self._client, {**headers, "accept-encoding": "identity"}
        # All timeouts but that of the connection are the caller's.
        timeout = type(client.timeout)(None, connect=client.timeout.connect)
        request = client.build_request(
            method, url, content=body, headers=asked, timeout=timeout
        )
        try:
            response = await client.send(request, stream=True, follow_redirects=False)
        except Exception as error:
            raise _broken(error) from error
        answer = Answer(response, self._closing)
        if answer.headers.get("content-encoding", "identity") != "identity":
            answer.close()
            raise HttpBroken("the answer has an encoding that was not offered")
        return answer

    async def close(self) -> None:
        """Close all connections, those in use too, if the client is ours."""
        await asyncio.gather(*self._closing, return_exceptions=True)
        if self._owned:
            await self._client.aclose()


class Answer(Body):
    """A `Response`."""

    def __init__(self, response: Response, closing: set[asyncio.Task[None]]) -> None:
        self.status = response.status_code
        self.headers: Headers = dict(response.headers.items())
        self._response = response
        self._parts = response.aiter_bytes()
        self._closing = closing

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._parts)
        except StopAsyncIteration:
            raise
        except Exception as error:
            raise _broken(error) from error

    def close(self) -> None:
        """Be done with it, and with the connection if the body has not ended."""
        task = asyncio.create_task(self._response.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _broken(error: Exception) -> HttpBroken:
    name = type(error).__name__
    return HttpBroken(f"{name}: {error}", sent=name not in UNSENT)


def _make() -> AsyncClient:
    try:
        from httpx2 import AsyncClient
    except ImportError:
        raise ImportError(
            "a proxy needs httpx2: pip install 'mcpgen[client]'"
        ) from None
    return AsyncClient()
