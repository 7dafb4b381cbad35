"""The modern era: every request says who asks, and stands alone.

A handler that asks its client something ends the request with what it needs. The client
answers by sending the request again, and the handler runs again from the top, with the
answers so far: those it just got, and those that `requestState` carried.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from . import dispatch, versions, wire
from .asks import Client, Question, read_answer
from .context import Context
from .dispatch import Host, Json
from .errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    AnswerError,
    FrameError,
    McpError,
    MissingCapability,
    NotSupported,
)
from .legacy import severe
from .names import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    DISCOVER,
    LOG_LEVEL,
    PROTOCOL_VERSION,
    SERVER_INFO,
)
from .peer import Call, Later
from .versions import Version

if TYPE_CHECKING:
    from .state import Sealer


class InputNeeded(BaseException):
    """Leaves a handler that has to wait for answers.

    Not an Exception, so that a handler's `except Exception` does not swallow it.
    """

    def __init__(self, asks: dict[str, Question]) -> None:
        self.asks = asks


def meta_of(call: Call) -> Json:
    """The `_meta` of a request, whatever else is in it."""
    return dispatch.said_in(call.params).meta


class Stateless:
    """Serves requests of modern versions."""

    def __init__(
        self,
        host: Host,
        key: bytes | None = None,
        names: tuple[str, ...] = versions.MODERN,
    ) -> None:
        self.host = host
        self._key = key
        self.names = names
        self._versions: dict[str, Version] = {}
        self.meta = {SERVER_INFO: host.info()}
        """The `_meta` of results."""
        fields = {"result_type": "complete", "ttl_ms": 0, "cache_scope": "private"}
        self.also = wire.Defaults(fields | {"meta": self.meta})

    @cached_property
    def sealer(self) -> Sealer:
        """Signs what clients carry; few servers ever need it."""
        from .state import Sealer

        return Sealer(self._key)

    def request(self, call: Call, meta: Json, principal: Any = None) -> bytes | Later:
        """Serve one request with its `_meta`; `principal` is who was authenticated."""
        client = self._client(meta)
        version = client.version
        row = dispatch.row_for(version, call.method, self.host.capabilities(version))
        params = dispatch.read_params(version, row, call.params)
        if call.method == DISCOVER and not dispatch.has_handler(self.host, row):
            return wire.result(version, row, self._discovered(version), self.also)
        handler = dispatch.handler_of(self.host, row)
        exchange = Exchange(self, version, row, meta, principal)
        ctx = Context(call, client, meta, exchange)
        if dispatch.is_async(handler):
            return partial(exchange.run, handler, params, ctx)
        return dispatch.written(version, row, handler(params, ctx), self.also)

    def _client(self, meta: Json) -> Client:
        require(meta)
        name = meta[PROTOCOL_VERSION]
        if name not in self.names:
            raise McpError(
                self._version(self.names[-1]).errors.UNSUPPORTED_PROTOCOL_VERSION,
                f"protocol version {name!r} is not supported",
                {"supported": list(self.names), "requested": str(name)},
            )
        capabilities = meta[CLIENT_CAPABILITIES]
        if not isinstance(capabilities, dict):
            raise McpError(INVALID_PARAMS, f"{CLIENT_CAPABILITIES} must be an object")
        return Client(self._version(name), capabilities, meta.get(CLIENT_INFO, {}))

    def _version(self, name: str) -> Version:
        if name not in self._versions:
            self._versions[name] = dispatch.version_of(self.host, name)
        return self._versions[name]

    def _discovered(self, version: Version) -> Json:
        found: Json = {
            "supportedVersions": list(self.names),
            "capabilities": self.host.capabilities(version),
        }
        if self.host.instructions():
            found["instructions"] = self.host.instructions()
        return found


def require(meta: Json) -> None:
    """FrameError when a request does not say what each of this era says."""
    if PROTOCOL_VERSION not in meta or CLIENT_CAPABILITIES not in meta:
        keys = (PROTOCOL_VERSION, CLIENT_CAPABILITIES)
        missing = [key for key in keys if key not in meta]
        raise FrameError(
            INVALID_PARAMS,
            f"_meta lacks {' and '.join(missing)}",
            [{"path": f'$._meta["{key}"]', "problem": "required"} for key in missing],
        )


class Exchange:
    """One request, perhaps one of several rounds."""

    def __init__(
        self, era: Stateless, version: Version, row: Any, meta: Json, principal: Any
    ) -> None:
        self.version = version
        self.meta = meta
        self.principal = principal
        self.answers: Json = {}
        """What the handler asked for, and has got: it is kept for the next round."""
        self._given: Json = {}
        self._era = era
        self._row = row
        self._context: Context

    async def run(self, handler: Any, params: Any, ctx: Context) -> bytes:
        """Let the handler answer, or end the round with what it needs."""
        self._context = ctx
        try:
            self._resume(params)
            answer = await handler(params, ctx)
            return dispatch.written(self.version, self._row, answer, self._era.also)
        except (InputNeeded, BaseExceptionGroup) as raised:
            asks = _needed(raised)
            if not asks:
                raise
            return self._input_required(asks)
        finally:
            del self._context  # which knows us: let both go at once

    def _resume(self, params: Any) -> None:
        """Go on with what earlier rounds gave, and this one brings."""
        # The version's types say which requests can be answered in rounds.
        sealed = getattr(params, "request_state", UNSET)
        if sealed is not UNSET:
            carried = self._era.sealer.unseal(sealed, self._binding())
            self.answers, self._context.state = carried["answers"], carried["state"]
        if getattr(params, "input_responses", UNSET) is not UNSET:
            self._given = dispatch.plain_params(self._context.call)["inputResponses"]

    def _input_required(self, asks: dict[str, Question]) -> bytes:
        kind = getattr(self.version.types, "InputRequiredResult", None)
        if kind is None or kind not in self._row.results:
            message = f"{self._row.name} cannot ask its client"
            raise McpError(INTERNAL_ERROR, message) from None
        result = {
            "resultType": "input_required",
            "inputRequests": {key: _embedded(ask) for key, ask in asks.items()},
            "requestState": self.sealed(),
            "_meta": self._era.meta,
        }
        return wire.typed(self.version, kind, result)

    def sealed(self) -> str:
        """What is to be kept until the next round, as text for the client."""
        content = {"answers": self.answers, "state": self._context.state}
        return self._era.sealer.seal(content, self._binding())

    def _binding(self) -> bytes:
        """What a state belongs to: this very request, of this very client."""
        call = self._context.call
        request = dispatch.plain_params(call)
        for key in ("_meta", "inputResponses", "requestState"):
            request.pop(key, None)
        from .state import binding

        return binding(call.method, getattr(self.principal, "key", ""), request)

    # --- what the era does for a context --------------------------------------------------

    async def ask(self, ctx: Context, asks: dict[str, Question]) -> dict[str, Any]:
        """The answers if they are all here; otherwise the round ends."""
        found, missing = {}, {}
        for key, ask in asks.items():
            raw = self.answers.get(key, self._given.get(key))
            try:
                found[key] = read_answer(self.version, ask.method, raw or {})
                self.answers[key] = raw
            except AnswerError:  # none, or not one: ask again
                missing[key] = ask
        if missing:
            self.sealed()  # which fails here, inside the handler, if it does
            raise InputNeeded(missing)
        return found

    def wants(self, level: str) -> bool:
        """Only what the request asked for."""
        least = self.meta.get(LOG_LEVEL)
        return isinstance(least, str) and severe(self.version, level, least)

    def unsupported(self, message: str, needed: Json) -> NotSupported:
        """A protocol error: the client can declare the capability, and try again."""
        code = self.version.errors.MISSING_REQUIRED_CLIENT_CAPABILITY
        return MissingCapability(code, message, {"requiredCapabilities": needed})


def _embedded(ask: Question) -> Json:
    return {"method": ask.method, "params": wire.plain(ask.params or b"{}")}


def _needed(raised: BaseException) -> dict[str, Question]:
    """What the handler needs; a task group may hold several who asked."""
    if isinstance(raised, InputNeeded):
        return raised.asks
    found: dict[str, Question] = {}
    if isinstance(raised, BaseExceptionGroup):
        for inner in raised.exceptions:
            found |= _needed(inner)
    return found
