"""An HTTP client of an ASGI application, in the same process and without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

BOTH = "application/json, text/event-stream"


class Response:
    """One answer, while it comes."""

    def __init__(self, app: Any, scope: dict[str, Any], body: list[bytes]) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.ended = False
        self._chunks: list[bytes] = []
        self._changed = asyncio.Event()
        self._gone = asyncio.Event()
        self._body = list(body)
        self._seen = 0
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._body:
            chunk = self._body.pop(0)
            more = bool(self._body)
            return {"type": "http.request", "body": chunk, "more_body": more}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if self._gone.is_set():
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            self._chunks.append(message.get("body", b""))
            self.ended = not message.get("more_body")
        self._changed.set()

    async def _until(self, condition: Any) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def started(self) -> Response:
        """Wait for the status."""
        await self._until(lambda: self.status)
        return self

    async def done(self) -> Response:
        """Wait for the end."""
        await self._until(lambda: self.ended)
        async with asyncio.timeout(10):
            await self.task
        return self

    @property
    def text(self) -> str:
        return b"".join(self._chunks).decode()

    def json(self) -> Any:
        return json.loads(self.text)

    def events(self) -> list[dict[str, str]]:
        """The events so far, without comments."""
        found = []
        for block in self.text.split("\n\n")[:-1]:
            lines = [line for line in block.split("\n") if not line.startswith(":")]
            if lines:
                found.append(dict(line.split(": ", 1) for line in lines))
        return found

    def messages(self) -> list[Any]:
        """The messages in the events so far."""
        return [json.loads(e["data"]) for e in self.events() if e["data"]]

    async def event(self) -> dict[str, str]:
        """The next event that nobody has asked for yet."""
        self._seen += 1
        await self._until(lambda: len(self.events()) >= self._seen)
        return self.events()[self._seen - 1]

    async def message(self) -> Any:
        """The next message that nobody has asked for yet."""
        while not (event := await self.event())["data"]:
            pass
        return json.loads(event["data"])

    async def drop(self) -> None:
        """Go away without a word; the application may end when it notices."""
        self._gone.set()
        async with asyncio.timeout(10):
            await self.task


class Http:
    """A client."""

    def __init__(self, app: Any, *, root_path: str = "") -> None:
        self.app = app
        self.root_path = root_path
        self.headers: dict[str, str] = {}

    def open(
        self,
        method: str = "POST",
        path: str = "/mcp",
        body: Any = b"",
        **headers: str | None,
    ) -> Response:
        """Send a request; its answer is still to come."""
        if not isinstance(body, bytes | tuple):
            body = json.dumps(body).encode()
        said: dict[str, str | None] = {"host": "127.0.0.1:8000", "accept": BOTH}
        if method == "POST":
            said["content-type"] = "application/json"
        said |= self.headers
        said |= {key.replace("_", "-"): value for key, value in headers.items()}
        plain, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": self.root_path + plain,
            "root_path": self.root_path,
            "query_string": query.encode(),
            "headers": [
                (k.lower().encode(), v.encode("latin-1"))
                for k, v in said.items()
                if v is not None
            ],
        }
        parts = list(body) if isinstance(body, tuple) else [body]
        return Response(self.app, scope, parts)

    async def send(self, *args: Any, **headers: str | None) -> Response:
        """Send a request and wait for all of its answer."""
        return await self.open(*args, **headers).done()

    async def post(self, body: Any, **headers: str | None) -> Response:
        """Post a message and wait for all of the answer."""
        return await self.send("POST", "/mcp", body, **headers)


@asynccontextmanager
async def living(app: Any) -> AsyncIterator[None]:
    """Between the start and the shutdown of an application."""
    inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    outbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan"}, inbox.get, outbox.put))
    async with asyncio.timeout(20):
        await inbox.put({"type": "lifespan.startup"})
        said = await outbox.get()
        if said["type"] != "lifespan.startup.complete":
            raise RuntimeError(said["message"])
        yield
        await inbox.put({"type": "lifespan.shutdown"})
        assert (await outbox.get())["type"] == "lifespan.shutdown.complete"
        await task
