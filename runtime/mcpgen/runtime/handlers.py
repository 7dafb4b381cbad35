"""`HandlersServer`: the typed handlers of one protocol version, served as they are.

    from mcpgen.protocol.v2025_11_25 import types
    from mcpgen.protocol.v2025_11_25.server import ServerHandlers
    from mcpgen.runtime.handlers import HandlersServer

    class Handlers(ServerHandlers):
        async def list_tools(self, params, ctx):
            return types.ListToolsResult(tools=[])

    HandlersServer(Handlers(), "weather").run()

Nothing is added to what the handlers say and nothing is translated for other versions:
clients of other versions are answered as this version's rules demand.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

from msgspec import UNSET, Struct, structs

from . import wire
from .context import Context
from .errors import METHOD_NOT_FOUND, McpError
from .legacy import Session
from .modern import Exchange
from .names import INITIALIZE, SERVER_INFO
from .peer import log
from .serving import Lifespan, Serving
from .versions import Version

Json = dict[str, Any]
Handler: TypeAlias = Callable[[Any, Context], Awaitable[Any]]

_KEPT = "mcpgen/requestState"
"""Where a handler's own request state lies within what the runtime signs."""
_REMEMBERED: dict[str, Callable[[Session, Any], None]] = {
    "set_level": lambda session, params: setattr(session, "level", params.level),
    "subscribe": lambda session, params: session.subscriptions.add(params.uri),
    "unsubscribe": lambda session, params: session.subscriptions.discard(params.uri),
}
"""What a session must know for `ctx.log` and the hub, once the handler agreed to it."""


class HandlersServer(Serving):
    """Serves exactly the version whose generated `ServerHandlers` are overridden.

    What is not overridden answers "method not found", except `ping`, `initialize` and
    `server/discover`, which the runtime knows how to answer. The capabilities follow
    from what is overridden, unless they are given (as JSON, or as the version's type).

    The runtime stops a request that its client cancels: its handler sees a
    `CancelledError`. `on_cancelled` is told of requests that were not running.
    """

    def __init__(
        self,
        handlers: object,
        name: str,
        version: str = "0.0.0",
        *,
        capabilities: Any = None,
        instructions: str = "",
        in_flight: int = 256,
        state_key: bytes | None = None,
        lifespan: Lifespan | None = None,
    ) -> None:
        stubs = _stubs_of(handlers)
        self.bindings = _Bindings(sys.modules[stubs.__module__])
        """The version that is served."""
        super().__init__(
            {"name": name, "version": version},
            instructions=instructions,
            in_flight=in_flight,
            state_key=state_key,
            lifespan=lifespan,
            names=(),
        )
        spoken = (self.bindings.name,)
        if self.bindings.traits.era == "modern":
            self.modern_versions = self.stateless.names = spoken
        else:
            self.legacy_versions = spoken
        self._overridden = _Overridden(handlers, stubs)
        if capabilities is None:
            self._capabilities = _derived(self.bindings, self._overridden)
        else:
            self._capabilities = _given(self.bindings, capabilities)
        self._handlers = self._wrapped()

    # --- what the connections ask ---------------------------------------------------------

    @property
    def handlers(self) -> object:
        """A function per method that is overridden."""
        return self._handlers

    def capabilities(self, version: Version) -> Json:
        """What was given, or what follows from the methods that are overridden."""
        return self._capabilities

    # --- calling the handlers -------------------------------------------------------------

    def _wrapped(self) -> SimpleNamespace:
        found = SimpleNamespace()
        for row in _asked_by_clients(self.bindings.requests):
            if row.name == "ping":
                setattr(found, row.python_name, _still_here)
            handler = self._overridden.get(row.python_name)
            if handler is not None:
                setattr(found, row.python_name, self._answering(row, handler))
        for row in _asked_by_clients(self.bindings.notifications):
            handler = self._overridden.get(f"on_{row.python_name}")
            if handler is not None:
                setattr(found, f"on_{row.python_name}", self._noting(handler))
        return found

    def _answering(self, row: Any, handler: Handler) -> Handler:
        missing = self.bindings.method_not_found
        remember = _REMEMBERED.get(row.python_name)

        async def answer(params: Any, ctx: Context) -> Struct:
            try:
                result = await handler(_with_own_state(params, ctx), ctx)
            except missing as error:
                message = f"{error.method} is not offered here"
                raise McpError(METHOD_NOT_FOUND, message) from None
            checked = self._checked(row, _with_signed_state(result, ctx))
            if remember is not None and isinstance(ctx.era, Session):
                remember(ctx.era, params)
            return checked

        return answer

    def _checked(self, row: Any, result: Any) -> Struct:
        """The result, if it is one that the version allows: nothing else may leave."""
        types = self.bindings.types
        for kind in row.results:
            known = getattr(types, kind) if isinstance(kind, str) else kind
            if isinstance(known, type) and isinstance(result, known):
                break
        else:
            raise TypeError(f"{row.name} was answered with a {type(result).__name__}")
        plain = wire.plain(types.encode(result))
        if self.modern_versions:
            plain.setdefault("_meta", {}).setdefault(SERVER_INFO, self.info())
        elif row.name == INITIALIZE and plain["protocolVersion"] not in (
            self.legacy_versions
        ):
            raise ValueError(f"only {self.bindings.name} is spoken here")
        checked: Struct = types.convert(plain, kind)
        return checked

    def _noting(self, handler: Handler) -> Callable[[Any, Context], None]:
        async def noted(params: Any, ctx: Context) -> None:
            try:
                await handler(params, ctx)
            except Exception:
                log.exception("handling %s failed", ctx.call.method)

        def note(params: Any, ctx: Context) -> None:
            call, peer = ctx.call, ctx.call.peer
            noting = sum(other.id is None for other in peer.calls.values())
            if noting >= self.in_flight:
                log.warning("too much is in flight: %s was dropped", call.method)
                return
            # Among the calls of its peer it ends with the connection; it has no id, so
            # it stands there under a key that no client can use.
            key: Any = object()
            peer.calls[key] = call
            call.started = True
            call.task = asyncio.ensure_future(noted(params, ctx))
            call.task.add_done_callback(lambda task: peer.calls.pop(key))

        return note


async def _still_here(params: Any, ctx: Context) -> Json:
    return {}


# --- rounds of a modern request -----------------------------------------------------------


def _with_own_state(params: Any, ctx: Context) -> Any:
    """The params with the request state that the handler gave, not the signed one."""
    if not isinstance(getattr(params, "request_state", None), str):
        return params
    return structs.replace(params, request_state=ctx.state.pop(_KEPT, UNSET))


def _with_signed_state(result: Any, ctx: Context) -> Any:
    """The result with a request state that nobody but the runtime can have written."""
    if not isinstance(ctx.era, Exchange) or not hasattr(result, "request_state"):
        return result
    if isinstance(result.request_state, str):
        ctx.state[_KEPT] = result.request_state
    elif not ctx.state and not ctx.era.answers:
        return result
    return structs.replace(result, request_state=ctx.era.sealed())


# --- which version, and what of it --------------------------------------------------------


class _Bindings(Version):
    """A version as the bindings beside the handlers' stubs have it.

    They need not be those beside the runtime: a project may generate its own.
    """

    def __init__(self, stubs: ModuleType) -> None:
        package = sys.modules[stubs.__name__.rpartition(".")[0]]
        self.name = package.PROTOCOL_VERSION
        self.types = package.types
        self.requests = package.methods.REQUESTS
        self.notifications = package.methods.NOTIFICATIONS
        self.traits = package.methods.TRAITS
        self.errors = package.methods.ErrorCode
        self.method_not_found: Any = stubs.__dict__["MethodNotFound"]
        if self.traits.era not in ("legacy", "modern"):
            raise TypeError(f"{self.name} is an extension: there is nothing to serve")
        if not hasattr(self.types, "convert"):
            raise TypeError(
                f"the bindings {package.__name__} are of another flavour: the runtime "
                "needs msgspec's"
            )


def _stubs_of(handlers: object) -> type:
    """The generated class that the handlers inherit from."""
    found = [base for base in type(handlers).__mro__ if _is_generated(base)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(base.__module__ for base in found)
        raise TypeError(
            f"{type(handlers).__name__} inherits from the handlers of several versions "
            f"({names}): serve each with a server of its own"
        )
    if isinstance(handlers, type):
        raise TypeError(f"pass an instance: {handlers.__name__}()")
    raise TypeError(
        f"{type(handlers).__name__} must inherit from the generated ServerHandlers of "
        "the version to serve, for example that of mcpgen.protocol.v2025_11_25.server"
    )


def _is_generated(base: type) -> bool:
    package = sys.modules.get(base.__module__.rpartition(".")[0])
    return base.__name__ == "ServerHandlers" and hasattr(package, "PROTOCOL_VERSION")


class _Overridden:
    """The handlers' own methods, told apart from those that they inherit."""

    def __init__(self, handlers: object, stubs: type) -> None:
        self._handlers = handlers
        self._stubs = stubs

    def get(self, name: str) -> Handler | None:
        """A method that is not the generated one."""
        handler: Handler = getattr(self._handlers, name)
        own = getattr(handler, "__func__", handler) is not getattr(self._stubs, name)
        return handler if own else None


def _asked_by_clients(rows: dict[str, Any]) -> Iterator[Any]:
    for row in rows.values():
        if "client" in row.sent_by and not getattr(row, "embedded", False):
            yield row


# --- capabilities -------------------------------------------------------------------------


def _derived(version: Version, overridden: _Overridden) -> Json:
    """The capabilities without which the overridden methods could not be called."""
    found: Json = {}
    for row in _asked_by_clients(version.requests):
        path = row.server_capability
        if path is not None and overridden.get(row.python_name) is not None:
            _declare(version, found, path)
    return found


def _declare(version: Version, found: Json, path: tuple[str, ...]) -> None:
    inner = found
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    if path[-1] not in inner:
        # Some are flags and others objects: the version's type knows.
        inner[path[-1]] = {}
        try:
            _given(version, found)
        except ValueError:
            inner[path[-1]] = True


def _given(version: Version, capabilities: Any) -> Json:
    """Capabilities as JSON that the version allows; ValueError when it does not."""
    types = version.types
    if isinstance(capabilities, Struct):
        capabilities = wire.plain(types.encode(capabilities))
    types.convert(capabilities, types.ServerCapabilities)
    declared: Json = capabilities
    return declared
