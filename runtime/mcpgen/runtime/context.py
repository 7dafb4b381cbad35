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
from msgspec import Struct

from . import versions
from .errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    AnswerError,
    ConnectionClosed,
    NotSupported,
)
from .jsonrpc import Id
from .peer import Call
from .versions import Version

if TYPE_CHECKING:
    from ..protocol._methods import Notification, Request

T = TypeVar("T")

PROGRESS = "notifications/progress"
MESSAGE = "notifications/message"
SAMPLING = "sampling/createMessage"
ELICITATION = "elicitation/create"

URL = ("elicitation", "url")
FORM = ("elicitation", "form")
NEEDS: dict[str, dict[str, tuple[str, ...]]] = {
    SAMPLING: {
        "tools": ("sampling", "tools"),
        "toolChoice": ("sampling", "tools"),
        "task": ("tasks", "requests", "sampling", "createMessage"),
    },
    ELICITATION: {
        "url": URL,
        "requestedSchema": FORM,
        "task": ("tasks", "requests", "elicitation", "create"),
    },
}
"""What a client must have declared for a parameter, beside what the method needs."""


class Ask(Struct, frozen=True):
    """Something to ask of the client: a method, and its params."""

    method: str
    params: dict[str, Any]


def Sample(messages: Any, *, max_tokens: int = 1024, **options: Any) -> Ask:
    """Ask the client's model. `messages` may be a text, or messages of the protocol."""
    if isinstance(messages, str):
        content = {"type": "text", "text": messages}
        messages = [{"role": "user", "content": content}]
    params = {"messages": messages, "maxTokens": max_tokens, **options}
    return Ask(SAMPLING, params)


def Elicit(message: str, schema: dict[str, Any], **options: Any) -> Ask:
    """Ask the user; `schema` is a flat JSON Schema of what is wanted."""
    params = {"message": message, "requestedSchema": schema, **options}
    return Ask(ELICITATION, params)


def ElicitUrl(message: str, url: str, elicitation_id: str, **options: Any) -> Ask:
    """Send the user to a page, for what the client must not see.

    The id is yours to choose, once per question; not every version transmits it.
    """
    params = {"mode": "url", "message": message, "url": url, **options}
    return Ask(ELICITATION, params | {"elicitationId": elicitation_id})


def Roots() -> Ask:
    """Ask which directories the client works in."""
    return Ask("roots/list", {})


class Client(Struct, frozen=True):
    """Who is asking."""

    version: Version
    capabilities: dict[str, Any]
    info: dict[str, Any]

    def can(self, path: tuple[str, ...]) -> bool:
        """Did the client declare this capability?"""
        found: Any = self.capabilities
        for key in path:
            if not isinstance(found, dict) or key not in found or found[key] is False:
                return False
            found = found[key]
        return True


class Question(Struct, frozen=True):
    """An ask as the client's version writes it."""

    method: str
    params: bytes | None


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
        self._progress: float | None = None
        self._asked: frozenset[str] = frozenset()

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
        questions = {key: self._question(ask) for key, ask in asks.items()}
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

    def _question(self, ask: Ask) -> Question:
        version, client = self.client.version, self.client
        row = version.requests.get(ask.method)
        if row is None or "server" not in row.sent_by:
            raise NotSupported(
                INVALID_REQUEST, f"protocol version {version.name} has no {ask.method}"
            )
        params = _params(version, row, ask)
        lacking = [path for path in _needs(row, ask, client) if not client.can(path)]
        if lacking:
            names = ", ".join(".".join(path) for path in lacking)
            message = f"the client did not declare the capability {names}"
            raise self.era.unsupported(message, _nested(lacking))
        return Question(ask.method, params)

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


def answer(version: Version, method: str, raw: Any) -> Any:
    """An answer of the client as one of the version's types; AnswerError if it is none."""
    read = version.types.convert if isinstance(raw, dict) else version.types.decode
    problem: Exception | None = None
    for kind in version.requests[method].results:
        try:
            return read(raw, kind)
        except (ValueError, RecursionError) as error:
            problem = problem or error  # the usual result comes first
    raise AnswerError(INTERNAL_ERROR, f"a bad answer to {method}: {problem}")


def _params(version: Version, row: Any, ask: Ask) -> bytes | None:
    """The params as the version writes them; NotSupported when it cannot say it all."""
    if not ask.params and not row.params_required:
        return None
    try:
        typed = version.types.convert(ask.params, row.params)
    except ValueError as error:
        if _is_known_elsewhere(ask):
            message = f"protocol version {version.name} cannot ask it so: {error}"
            raise NotSupported(INVALID_REQUEST, message) from None
        raise ValueError(f"{ask.method} cannot be asked so: {error}") from None
    text: bytes = version.types.encode(typed)
    lost = ask.params.keys() - msgspec.json.decode(text).keys()
    lost -= {"elicitationId"}  # some versions do without, and nothing is missed
    if ask.params.get("mode") == "form":  # what older versions mean anyway
        lost -= {"mode"}
    if lost:
        names = ", ".join(sorted(lost))
        message = f"{ask.method} has no {names} in protocol version {version.name}"
        raise NotSupported(INVALID_REQUEST, message)
    return text


def _is_known_elsewhere(ask: Ask) -> bool:
    """Could a client of another version be asked this?"""
    for name in (*versions.LEGACY, *versions.MODERN):
        version = versions.get(name)
        if ask.method in version.requests:
            try:
                version.types.convert(ask.params, version.requests[ask.method].params)
                return True
            except ValueError:
                pass
    return False


def _needs(row: Any, ask: Ask, client: Client) -> list[tuple[str, ...]]:
    """The capabilities that a question takes, those of its parameters included."""
    needs = [row.client_capability] if row.client_capability else []
    for param, path in NEEDS.get(ask.method, {}).items():
        # Who declares `elicitation` and no mode at all can show forms.
        if param in ask.params and (path != FORM or client.can(URL)):
            needs.append(path)
    return needs


def _nested(paths: list[tuple[str, ...]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for path in paths:
        inner = made
        for key in path:
            inner = inner.setdefault(key, {})
    return made
