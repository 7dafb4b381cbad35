"""What a client does for its server: answer its questions, hear what it tells.

The questions are the same in both eras. In the legacy one they come as requests, in the
modern one inside a result that says what is needed to go on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from inspect import iscoroutinefunction
from itertools import count
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ...protocol.newest import types
from .. import workers
from ..errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, McpError
from ..names import (
    ELICITATION,
    MESSAGE,
    PING,
    PROGRESS,
    ROOTS,
    ROOTS_CHANGED,
    SAMPLING,
)
from ..peer import Call, Later, log
from ..versions import Version
from .deadlines import Limit

Json: TypeAlias = dict[str, Any]
Handler: TypeAlias = Callable[..., Any]
MOST_TOLD = 10_000
"""So much waits for a slow handler; then the oldest is dropped."""
DECLINED = -1
"""The code for a user who does not want his model to be asked."""


class Handlers(Struct, kw_only=True):
    """What the user of a client wants to do himself; all of it optional."""

    sampling: Handler | None = None
    elicitation: Handler | None = None
    open_url: Handler | None = None
    roots: Sequence[str | Json] | Handler | None = None
    logging: Handler | None = None
    progress: Handler | None = None
    changed: Handler | None = None
    capabilities: Json = {}
    """What is declared besides what the handlers say."""

    def declared(self, version: Version) -> Json:
        """The capabilities of a client with these handlers, in the version's words."""
        found: Json = {}
        if self.sampling is not None:
            found["sampling"] = {}
        if self.roots is not None:
            changes = ROOTS_CHANGED in version.notifications
            found["roots"] = {"listChanged": True} if changes else {}
        if version.knows("ClientCapabilities", "elicitation"):
            modes: Json = {}
            if self.elicitation is not None:
                found["elicitation"] = modes
                modes["form"] = {}
            if self.open_url is not None and version.knows("ElicitRequestURLParams"):
                found["elicitation"] = modes
                modes["url"] = {}
            if not version.knows("ElicitRequestURLParams"):
                modes.clear()  # forms are all that there is
        return found | self.capabilities


class Change(Struct, frozen=True):
    """Something on the server is not as it was: a list, or a resource."""

    method: str
    params: Json


class _Watched(Struct, eq=False):
    """A request whose progress is reported."""

    handler: Handler
    deadline: Limit
    seconds: float
    """Each report gives it so much more time…"""
    until: float
    """…but not beyond this."""


class _ProgressToken(Struct, rename="camel"):
    progress_token: str | int


class Service:
    """The service of a client's peer."""

    def __init__(self, handlers: Handlers) -> None:
        self.handlers = handlers
        self.version: Version | None = None
        """What has been agreed on; nothing can be asked before."""
        self.sinks: set[Callable[[Change], None]] = set()
        """Who wants to hear of changes."""
        self._watched: dict[int | str, _Watched] = {}
        self._tokens = count(1)
        self._told: deque[Coroutine[Any, Any, None]] = deque()
        self._telling: asyncio.Task[None] | None = None

    # --- questions ------------------------------------------------------------------------

    def request(self, call: Call) -> bytes | Later:
        """Serve one request of the server."""
        if call.method == PING:
            return b"{}"
        version = self.version
        row = None if version is None else version.requests.get(call.method)
        if version is None or row is None or row.embedded or not self._can(row):
            raise McpError(METHOD_NOT_FOUND, f"{call.method} is not offered here")
        params: Json = {} if call.params is None else msgspec.json.decode(call.params)
        return lambda: self.answer(version, call.method, params)

    def _can(self, row: Any) -> bool:
        return "server" in row.sent_by and self._handler(row.name) is not None

    def _handler(self, method: str) -> Any:
        handlers = self.handlers
        if method == SAMPLING:
            return handlers.sampling
        if method == ELICITATION:
            return handlers.elicitation or handlers.open_url
        return handlers.roots if method == ROOTS else None

    async def answer(self, version: Version, method: str, params: Json) -> bytes:
        """The result of one question, as JSON text; McpError refuses."""
        row = version.requests.get(method)
        if row is None or not self._can(row):
            raise McpError(METHOD_NOT_FOUND, f"{method} was not offered to the server")
        try:
            typed = (
                None
                if row.params is None
                else version.types.convert(params, row.params)
            )
        except ValueError as error:
            raise McpError(INVALID_PARAMS, f"invalid params: {error}") from None
        if method == SAMPLING:
            result = _sampled(await _called(self.handlers.sampling, typed))
        elif method == ELICITATION:
            result = await self._elicited(typed, params)
        else:
            result = await self._roots()
        if isinstance(result, Struct):
            encoded: bytes = version.types.encode(result)
            return encoded
        try:
            version.types.convert(result, row.results[0])
        except ValueError as error:
            log.error("the handler of %s returned no result: %s", method, error)
            raise McpError(INTERNAL_ERROR, "the client's handler failed") from None
        return msgspec.json.encode(result)

    async def _elicited(self, typed: Any, params: Json) -> Any:
        by_url = params.get("mode") == "url"
        handlers = self.handlers
        handler = handlers.open_url if by_url else handlers.elicitation
        if handler is None:
            mode = "url" if by_url else "form"
            raise McpError(INVALID_PARAMS, f"elicitation of mode {mode} is not offered")
        answer = await _called(handler, typed)
        if by_url and isinstance(answer, bool):
            return {"action": "accept" if answer else "decline"}
        if answer is None or isinstance(answer, str):
            return {"action": answer or "cancel"}
        if isinstance(answer, dict):
            return {"action": "accept", "content": _with_defaults(params, answer)}
        return answer

    async def _roots(self) -> Any:
        found: Any = self.handlers.roots
        if callable(found):
            found = await _called(found)
        if isinstance(found, Struct):
            return found
        return {"roots": [{"uri": r} if isinstance(r, str) else r for r in found]}

    # --- what it tells --------------------------------------------------------------------

    def notification(self, method: str, params: Raw | None, about: object) -> None:
        """Take note of what the server tells."""
        if method == PROGRESS:
            self._progressed(params)
        elif self.version is None or method not in self.version.notifications:
            log.debug("the server told something unknown: %s", method)
        elif method == MESSAGE:
            if self.handlers.logging is not None:
                kind = types.LoggingMessageNotificationParams
                self._tell(self.handlers.logging, types.decode(params or b"{}", kind))
        else:
            told: Json = {} if params is None else msgspec.json.decode(params)
            change = Change(method, told)
            for sink in list(self.sinks):
                sink(change)
            if self.handlers.changed is not None:
                self._tell(self.handlers.changed, change)

    @contextlib.contextmanager
    def watching(
        self, handler: Handler, deadline: Limit, seconds: float, most: float
    ) -> Iterator[int]:
        """Hear of a request's progress while it runs: the token to send with it."""
        token = next(self._tokens)
        until = asyncio.get_running_loop().time() + most
        self._watched[token] = _Watched(handler, deadline, seconds, until)
        try:
            yield token
        finally:
            del self._watched[token]

    def _progressed(self, params: Raw | None) -> None:
        token = msgspec.json.decode(params or b"{}", type=_ProgressToken)
        watched = self._watched.get(token.progress_token)
        if watched is None:
            return  # it has ended meanwhile
        said = types.decode(params or b"{}", types.ProgressNotificationParams)
        now = asyncio.get_running_loop().time()
        watched.deadline.reschedule(min(now + watched.seconds, watched.until))
        self._tell(watched.handler, said)

    def _tell(self, handler: Handler, said: Any) -> None:
        """Call a handler that returns nothing; coroutines run one after another."""
        outcome = handler(said)
        if asyncio.iscoroutine(outcome):
            if len(self._told) >= MOST_TOLD:
                self._told.popleft().close()
            self._told.append(outcome)
            if self._telling is None:
                self._telling = asyncio.get_running_loop().create_task(self._run_told())

    async def _run_told(self) -> None:
        try:
            while self._told:
                try:
                    await self._told.popleft()
                except Exception:
                    log.exception("a handler failed")
        finally:
            self._telling = None

    async def close(self) -> None:
        """End what the handlers still do, unless it is they who close the client."""
        while self._told:
            self._told.popleft().close()
        telling = self._telling
        if telling is not None and telling is not asyncio.current_task():
            telling.cancel()
            await asyncio.wait((telling,))

    # --- what a peer asks of its service --------------------------------------------------

    def takes_batches(self) -> bool:
        """Only one version has them."""
        return self.version is not None and bool(self.version.traits.batch)

    def unreadable_id(self) -> UnsetType | None:
        """As the version wants it."""
        null = self.version is not None and self.version.traits.unreadable_id == "null"
        return None if null else UNSET


async def _called(handler: Any, *arguments: Any) -> Any:
    """The outcome of a handler; one that may block runs in a thread."""
    if iscoroutinefunction(handler):
        return await handler(*arguments)
    outcome = await workers.run(lambda: handler(*arguments), {})
    return await outcome if isinstance(outcome, Awaitable) else outcome


def _sampled(answer: Any) -> Any:
    if answer is None:
        raise McpError(DECLINED, "the user declined")
    if isinstance(answer, str):
        content = {"type": "text", "text": answer}
        return {"role": "assistant", "content": content, "model": "unknown"}
    return answer


def _with_defaults(params: Json, answer: Json) -> Json:
    """The answer to a form, and the form's defaults for what it leaves open."""
    properties = params.get("requestedSchema", {}).get("properties", {})
    defaults = {
        name: schema["default"]
        for name, schema in properties.items()
        if isinstance(schema, dict) and "default" in schema
    }
    return defaults | answer
