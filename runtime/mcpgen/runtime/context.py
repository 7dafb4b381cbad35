"""What a handler may know and do while it serves one request.

The calls are the same in both eras. In the legacy era `sample`, `elicit`, `roots` and
`ask` are requests to the client. In the modern one the client is not asked: the request
ends with what is needed, the client sends it again with the answers, and the handler
**runs again from the top**; what was answered before is answered at once. So code
before an ask may run more than once. Keep what must not in `state`.

A sync function calls `ctx.wait(ctx.elicit(...))` where an async one writes `await`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from .asks import (
    Ask,
    Client,
    Elicit,
    ElicitUrl,
    Question,
    Roots,
    Sample,
    question,
)
from .errors import ConnectionClosed, NotSupported
from .jsonrpc import Id
from .names import MESSAGE, PROGRESS
from .peer import Call

if TYPE_CHECKING:
    from ..protocol._methods import Notification, Request

T = TypeVar("T")


class Era(Protocol):
    """What differs between the two eras, for one request."""

    principal: Any
    """Who was authenticated, if anybody was."""

    async def ask(self, ctx: Context, asks: dict[str, Question]) -> dict[str, Any]:
        """Get answers, each as the version's type."""

    def wants(self, level: str) -> bool:
        """Does the client want log messages of this level?"""

    def unsupported(self, message: str, needed: dict[str, Any]) -> NotSupported:
        """The error for asking what the client did not offer."""


class Context:
    """One request, from its handler's side."""

    _progress: float | None = None
    _asked: frozenset[str] = frozenset()

    def __init__(
        self, call: Call, client: Client, meta: dict[str, Any], era: Era
    ) -> None:
        self.client = client
        """Who is asking: version, capabilities, name."""
        self.meta = meta
        """The `_meta` of the request."""
        self.state: dict[str, Any] = {}
        """Small JSON values that survive when the handler runs again."""
        self.call = call
        self.era = era

    @property
    def request_id(self) -> Id:
        """The id of the request."""
        return self.call.id

    @property
    def version(self) -> str:
        """The protocol version that is spoken."""
        return self.client.version.name

    @property
    def principal(self) -> Any:
        """Who was authenticated, if anybody was."""
        return self.era.principal

    async def progress(
        self, progress: float, total: float | None = None, message: str = ""
    ) -> None:
        """Tell how far it is, if the client asked to know. Only ever forwards."""
        if not math.isfinite(progress) or not math.isfinite(total or 0):
            raise ValueError("progress and total must be finite numbers")
        token = self.meta.get("progressToken")
        if token is None or (self._progress is not None and progress <= self._progress):
            return
        self._progress = progress
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        self.tell(PROGRESS, params)
        await self.call.peer.link.drain()

    async def log(self, level: str, data: Any, *, logger: str = "") -> None:
        """Send a log message to the client, if it wants messages of this level."""
        if self.era.wants(level):
            params = {"level": level, "data": data}
            self.tell(MESSAGE, params | ({"logger": logger} if logger else {}))
            await self.call.peer.link.drain()

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that belongs to this request, while it is served."""
        version = self.client.version
        row = version.notifications.get(method)
        if row is None or not self.call.is_open:
            return  # this version has no such thing, or the client has its answer
        types = version.types
        data = types.encode(types.convert(params, row.params))
        self.call.peer.notify(method, data, about=self.call.id)

    def close_stream(self) -> None:
        """Let the client fetch the rest later, where the transport has such a thing.

        The request goes on. Over HTTP it spares a long one its open connection; where
        there is nothing to close, nothing happens.
        """
        close = getattr(self.call.peer.link, "close_stream", None)
        if close is not None:
            close(self.call.id)

    async def sample(self, messages: Any, **options: Any) -> Any:
        """Ask the client's model; see `Sample`."""
        return await self._one(Sample(messages, **options))

    async def elicit(self, message: str, schema: dict[str, Any], **options: Any) -> Any:
        """Ask the user; see `Elicit`."""
        return await self._one(Elicit(message, schema, **options))

    async def elicit_url(self, message: str, url: str, elicitation_id: str) -> Any:
        """Send the user to a page; see `ElicitUrl`."""
        return await self._one(ElicitUrl(message, url, elicitation_id))

    async def roots(self) -> Any:
        """Ask which directories the client works in."""
        return (await self._one(Roots())).roots

    async def ask(self, **asks: Ask) -> dict[str, Any]:
        """Ask several things at once, each under a name of yours, used only once."""
        questions = {
            key: question(ask, self.client, self.era) for key, ask in asks.items()
        }
        if used := self._asked & questions.keys():
            raise ValueError(f"asked twice under one name: {', '.join(sorted(used))}")
        self._asked |= questions.keys()
        if not self.call.is_open:
            raise ConnectionClosed("the request that could ask this is over")
        return await self.era.ask(self, questions)

    async def _one(self, ask: Ask) -> Any:
        # Named by its place in the handler, which runs the same way every time.
        key = f"{ask.method.split('/')[0]}-{len(self._asked) + 1}"
        return (await self.ask(**{key: ask}))[key]

    # --- for sync functions, and for generated callers ------------------------------------

    def wait(self, awaitable: Awaitable[T]) -> T:
        """Await something from a sync function: `answer = ctx.wait(ctx.elicit(...))`."""
        peer = self.call.peer
        if peer.is_here():
            if isinstance(awaitable, Coroutine):
                awaitable.close()
            raise RuntimeError("this is the event loop's own thread: use await")
        waiting = asyncio.run_coroutine_threadsafe(self._awaited(awaitable), peer.loop)
        return waiting.result()

    async def _awaited(self, awaitable: Awaitable[T]) -> T:
        """Its result; given up when the request is, as nobody else would tell it."""
        waiting = asyncio.ensure_future(awaitable)

        def give_up(_: object) -> None:
            waiting.cancel()

        if self.call.task is None:
            return await waiting
        self.call.task.add_done_callback(give_up)
        try:
            return await waiting
        finally:
            self.call.task.remove_done_callback(give_up)

    async def request(self, method: Request, params: Any) -> Any:
        """Ask what a row of the method table says; so `ClientCaller(ctx)` can be used."""
        return await self._one(Ask(method.name, self._plain(params)))

    async def notify(self, method: Notification, params: Any) -> None:
        """Send a notification of the method table."""
        self.tell(method.name, self._plain(params))

    def _plain(self, params: Any) -> dict[str, Any]:
        types = self.client.version.types
        plain: dict[str, Any] = (
            {} if params is None else msgspec.json.decode(types.encode(params))
        )
        return plain
