"""From a method's name to its handler: what both eras do the same way.

The generated method table decides everything: who may send a method, which capability
it needs, how its params and results are typed.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import CO_COROUTINE, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec
from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import Decoder

from . import versions, wire
from .asks import Client
from .context import Context, Era
from .errors import INVALID_PARAMS, METHOD_NOT_FOUND, McpError
from .jsonrpc import Id
from .peer import Call, Later, Peer
from .versions import Version
from .wire import Defaults

if TYPE_CHECKING:
    from .modern import Stateless

Json = dict[str, Any]


class Host(Protocol):
    """What a connection serves: a `Server`, or the handlers of one version."""

    legacy_versions: tuple[str, ...]
    modern_versions: tuple[str, ...]
    stateless: Stateless

    @property
    def handlers(self) -> object:
        """Has a function per method, named as in the generated stubs."""

    def info(self) -> Json:
        """The server's name and version."""

    def capabilities(self, version: Version) -> Json:
        """What the server declares to a client of this version."""

    def instructions(self) -> str:
        """How to use the server, for a model; may be empty."""


def version_of(host: Host, name: str) -> Version:
    """A version by its name; of a host with bindings of its own, always those."""
    own: Version | None = getattr(host, "bindings", None)
    return versions.get(name) if own is None else own


def has_handler(host: Host, row: Any) -> bool:
    """Does the host itself answer this method?"""
    return hasattr(host.handlers, row.python_name)


def row_for(version: Version, method: str, capabilities: Json) -> Any:
    """The table's row for a request that a client may send; McpError otherwise.

    `capabilities` are those that the client was promised.
    """
    row = version.requests.get(method)
    if row is None:
        raise McpError(METHOD_NOT_FOUND, f"{method} is not a method of {version.name}")
    if "client" not in row.sent_by or row.embedded:
        raise McpError(METHOD_NOT_FOUND, f"{method} is not for a client to send")
    path = row.server_capability
    if path is not None and not versions.declared(capabilities, path):
        needed = ".".join(path)
        raise McpError(METHOD_NOT_FOUND, f"{method} needs {needed}, not offered here")
    return row


def read_params(version: Version, row: Any, raw: Raw | None) -> Any:
    """The params of a request as the version's type; McpError says what is wrong."""
    if raw is None:
        if row.params_required:
            issue = {"path": "$", "problem": "required, but missing"}
            raise McpError(INVALID_PARAMS, f"{row.name} needs params", [issue])
        return None
    if row.params is None:
        return None
    try:
        return version.types.decode(raw, row.params)
    except ValueError as error:
        issues = [
            {"path": issue.path, "problem": issue.message}
            for issue in getattr(error, "issues", ())
        ]
        raise McpError(INVALID_PARAMS, f"invalid params: {error}", issues) from None


def run(
    host: Host,
    version: Version,
    row: Any,
    params: Any,
    context: Callable[[], Context],
    also: Defaults,
) -> bytes | Later:
    """Call the handler; its result as JSON text, now or later."""
    handler = handler_of(host, row)
    if is_async(handler):

        async def later() -> bytes:
            return written(version, row, await handler(params, context()), also)

        return later
    return written(version, row, handler(params, context()), also)


def handler_of(host: Host, row: Any) -> Any:
    """What answers this method; McpError when nothing does."""
    handler = getattr(host.handlers, row.python_name, None)
    if handler is None:
        raise McpError(METHOD_NOT_FOUND, f"{row.name} is not offered here")
    return handler


def notified(
    host: Host, client: Client, era: Era, peer: Peer, method: str, raw: Raw | None
) -> None:
    """Hand a notification to the host, if it wants to know; nothing is ever answered."""
    row = client.version.notifications.get(method)
    if row is None or "client" not in row.sent_by:
        return
    handler = getattr(host.handlers, f"on_{row.python_name}", None)
    if handler is not None:
        params = read_params(client.version, row, raw)
        call = Call(peer, cast(Id, None), method, raw, lambda answer, error: None)
        handler(params, Context(call, client, meta_of(call, params), era))


def is_async(handler: Any) -> bool:
    """Must what it gives be awaited?"""
    code = getattr(handler, "__code__", None)  # what the standard library asks last
    if code is None:
        return iscoroutinefunction(handler)
    return bool(code.co_flags & CO_COROUTINE)


def written(version: Version, row: Any, outcome: Any, also: Defaults) -> bytes:
    """What a handler gave, as JSON text."""
    if isinstance(outcome, Struct):
        encoded: bytes = version.types.encode(outcome)
        return encoded
    return wire.result(version, row, outcome, also)


def meta_of(call: Call, params: Any) -> Json:
    """The `_meta` of a request as plain JSON."""
    meta = getattr(params, "meta", None)
    if isinstance(meta, dict):
        return meta
    return said_in(call.params).meta if isinstance(meta, Struct) else {}


def plain_params(call: Call) -> Json:
    """The params of a request as the client wrote them, already known to be valid."""
    found: Json = {} if call.params is None else msgspec.json.decode(call.params)
    return found


class Said(Struct):
    """What params say about themselves, whatever else is in them."""

    meta: Json = field(default_factory=dict, name="_meta")
    name: Any = None
    uri: Any = None


_SAID = Decoder(Said)


def said_in(params: Raw | None) -> Said:
    """The same of some params; nothing when it cannot be read."""
    try:
        return Said() if params is None else _SAID.decode(params)
    except (DecodeError, RecursionError):
        return Said()
