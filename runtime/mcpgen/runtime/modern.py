"""The modern era: every request says who asks, and stands alone.

A handler that asks its client something ends the request with what it needs. The client
answers by sending the request again, and the handler runs again from the top, with the
answers so far: those it just got, and those that `requestState` carried.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import DecodeError, Raw, Struct, ValidationError, field
from msgspec.json import Decoder

from . import context, dispatch, versions, wire
from .context import Ask, Client, Context
from .dispatch import Host, Json
from .errors import INTERNAL_ERROR, INVALID_PARAMS, FrameError, McpError
from .legacy import severe
from .peer import Call, Later
from .state import Sealer, binding
from .versions import Version

PREFIX = "io.modelcontextprotocol/"
PROTOCOL_VERSION = PREFIX + "protocolVersion"
CLIENT_CAPABILITIES = PREFIX + "clientCapabilities"
CLIENT_INFO = PREFIX + "clientInfo"
SERVER_INFO = PREFIX + "serverInfo"
LOG_LEVEL = PREFIX + "logLevel"
SUBSCRIPTION_ID = PREFIX + "subscriptionId"
DISCOVER = "server/discover"
LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class _Params(Struct):
    meta: dict[str, Any] = field(default_factory=dict, name="_meta")


_PARAMS = Decoder(_Params)


class InputNeeded(BaseException):
    """Leaves a handler that has to wait for answers.

    Not an Exception, so that a handler's `except Exception` does not swallow it.
    """

    def __init__(self, asks: dict[str, Ask]) -> None:
        self.asks = asks


def meta_of(call: Call) -> Json:
    """The `_meta` of a request, whatever else is in it."""
    return {} if call.params is None else meta_in(call.params)


def meta_in(params: Raw) -> Json:
    """The `_meta` of some params, whatever else is in them."""
    try:
        return _PARAMS.decode(params).meta
    except (ValidationError, DecodeError):
        return {}


class Stateless:
    """Serves requests of modern versions."""

    def __init__(
        self, host: Host, sealer: Sealer, names: tuple[str, ...] = versions.MODERN
    ) -> None:
        self.host = host
        self.sealer = sealer
        self.names = names

    def request(
        self,
        call: Call,
        principal: str = "",
        check: Callable[[Call, Json], None] | None = None,
    ) -> bytes | Later:
        """Serve one request; `principal` is who was authenticated.

        `check` sees the call and its `_meta` before anything is made of their content.
        """
        meta = meta_of(call)
        _require(meta)
        if check is not None:
            check(call, meta)
        client = self._client(meta)
        version = client.version
        row = dispatch.row_for(self.host, version, call.method)
        params = dispatch.read_params(version, row, call.params)
        also = {
            "result_type": "complete",
            "ttl_ms": 0,
            "cache_scope": "private",
            "meta": {SERVER_INFO: self.host.info()},
        }
        if call.method == DISCOVER:
            return wire.result(version, row, self._discovered(version), also)
        exchange = Exchange(self, call, version, params, meta, principal)
        outcome = dispatch.run(
            *(self.host, version, row, params),
            lambda: exchange.context(call, client, meta),
            also,
        )
        if isinstance(outcome, bytes):
            return outcome
        return partial(exchange.run, outcome, row, also)

    def _client(self, meta: Json) -> Client:
        name = meta[PROTOCOL_VERSION]
        if name not in self.names:
            raise McpError(
                versions.get(self.names[-1]).errors.UNSUPPORTED_PROTOCOL_VERSION,
                f"protocol version {name!r} is not supported",
                {"supported": list(self.names), "requested": str(name)},
            )
        capabilities = meta[CLIENT_CAPABILITIES]
        if not isinstance(capabilities, dict):
            raise McpError(INVALID_PARAMS, f"{CLIENT_CAPABILITIES} must be an object")
        return Client(versions.get(name), capabilities, meta.get(CLIENT_INFO, {}))

    def _discovered(self, version: Version) -> Json:
        found: Json = {
            "supportedVersions": list(self.names),
            "capabilities": self.host.capabilities(version),
        }
        if self.host.instructions():
            found["instructions"] = self.host.instructions()
        return found


def _require(meta: Json) -> None:
    missing = [
        key for key in (PROTOCOL_VERSION, CLIENT_CAPABILITIES) if key not in meta
    ]
    if missing:
        raise FrameError(
            INVALID_PARAMS,
            f"_meta lacks {' and '.join(missing)}",
            [{"path": f'$._meta["{key}"]', "problem": "required"} for key in missing],
        )


class Exchange:
    """One request, perhaps one of several rounds."""

    def __init__(
        self,
        era: Stateless,
        call: Call,
        version: Version,
        params: Any,
        meta: Json,
        principal: str,
    ) -> None:
        self.version = version
        self.meta = meta
        self.answers: Json = {}
        self.state: Json = {}
        self._sealer = era.sealer
        self._call = call
        self._principal = principal
        # The version's types say which requests can be answered in rounds.
        sealed = getattr(params, "request_state", None)
        if isinstance(sealed, str):
            carried = self._sealer.unseal(sealed, self._binding())
            self.answers, self.state = carried["answers"], carried["state"]
        if isinstance(getattr(params, "input_responses", None), dict):
            self.answers |= dispatch.plain_params(call)["inputResponses"]

    def _binding(self) -> bytes:
        """What a state belongs to: this very request, of this very client."""
        request = dispatch.plain_params(self._call)
        for key in ("_meta", "inputResponses", "requestState"):
            request.pop(key, None)
        return binding(self._call.method, self._principal, request)

    def context(self, call: Call, client: Client, meta: Json) -> Context:
        """What the handler gets."""
        self._context = Context(call, client, meta, self)
        self._context.state = self.state
        return self._context

    async def run(self, later: Later, row: Any, also: Json) -> bytes:
        """Wait for the handler, or end the round with what it needs."""
        try:
            return await later()
        except InputNeeded as needed:
            kind = getattr(self.version.types, "InputRequiredResult", None)
            if kind is None or kind not in row.results:
                raise McpError(
                    INTERNAL_ERROR, f"{row.name} cannot ask its client"
                ) from None
            result = {
                "resultType": "input_required",
                "inputRequests": {
                    key: {"method": ask.method, "params": ask.params}
                    for key, ask in needed.asks.items()
                },
                "requestState": self._sealer.seal(
                    {"answers": self.answers, "state": self._context.state},
                    self._binding(),
                ),
                "_meta": also["meta"],
            }
            return wire.typed(self.version, kind, result)

    # --- what the era does for a context --------------------------------------------------

    async def ask(self, ctx: Context, asks: dict[str, Ask]) -> dict[str, Any]:
        """The answers if they are all here; otherwise the round ends."""
        found, missing = {}, {}
        for key, ask in asks.items():
            try:
                found[key] = context.answer(self.version, ask, self.answers[key])
            except (KeyError, McpError):
                self.answers.pop(key, None)  # not an answer: ask again
                missing[key] = ask
        if missing:
            raise InputNeeded(missing)
        return found

    def wants(self, level: str) -> bool:
        """Only what the request asked for."""
        least = self.meta.get(LOG_LEVEL)
        return isinstance(least, str) and severe(self.version, level, least)

    def unsupported(self, message: str, needed: Json) -> McpError:
        """A protocol error: the client can declare the capability, and try again."""
        code = self.version.errors.MISSING_REQUIRED_CLIENT_CAPABILITY
        return McpError(code, message, {"requiredCapabilities": needed})
