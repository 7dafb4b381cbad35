"""What a handler may know and do while it serves one request.

The calls are the same in both eras. In the legacy era `sample`, `elicit`, `roots` and
`ask` are requests to the client. In the modern one the client is not asked: the request
ends with what is needed, the client sends it again with the answers, and the handler
**runs again from the top**; what was answered before is answered at once. So code
before an ask may run more than once. Keep what must not in `state`.
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from .errors import McpError
from .jsonrpc import Id
from .peer import Call
from .versions import Version

PROGRESS = "notifications/progress"
MESSAGE = "notifications/message"


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
    return Ask("sampling/createMessage", params)


def Elicit(message: str, schema: dict[str, Any], **options: Any) -> Ask:
    """Ask the user; `schema` is a flat JSON Schema of what is wanted."""
    params = {"message": message, "requestedSchema": schema, **options}
    return Ask("elicitation/create", params)


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


class Era(Protocol):
    """What differs between the two eras, for one request."""

    async def ask(self, context: Context, asks: dict[str, Ask]) -> dict[str, Any]:
        """Get answers, each as the version's type."""

    def wants(self, level: str) -> bool:
        """Does the client want log messages of this level?"""

    def unsupported(self, message: str, needed: dict[str, Any]) -> McpError:
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
        self._asked = 0

    @property
    def request_id(self) -> Id:
        """The id of the request."""
        return self.call.id

    @property
    def version(self) -> str:
        """The protocol version that is spoken."""
        return self.client.version.name

    async def progress(
        self, progress: float, total: float | None = None, message: str = ""
    ) -> None:
        """Tell how far it is, if the client asked to know. Only ever forwards."""
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
        """Send a notification that belongs to this request."""
        version = self.client.version
        row = version.notifications.get(method)
        if row is None:
            return  # this version has no such thing: there is nobody to tell
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

    async def roots(self) -> Any:
        """Ask which directories the client works in."""
        return (await self._one(Roots())).roots

    async def ask(self, **asks: Ask) -> dict[str, Any]:
        """Ask several things at once, each under a name of yours."""
        for ask in asks.values():
            self._require(ask)
        return await self.era.ask(self, asks)

    async def _one(self, ask: Ask) -> Any:
        self._require(ask)
        # Named by its place in the handler, which runs the same way every time.
        self._asked += 1
        key = f"{ask.method.split('/')[0]}-{self._asked}"
        return (await self.era.ask(self, {key: ask}))[key]

    def _require(self, ask: Ask) -> None:
        version = self.client.version
        row = version.requests.get(ask.method)
        if row is None or "server" not in row.sent_by:
            raise self.era.unsupported(
                f"protocol version {version.name} has no {ask.method}", {}
            )
        needed = row.client_capability
        if needed is not None and not self.client.can(needed):
            message = f"the client did not declare the capability {'.'.join(needed)}"
            raise self.era.unsupported(message, _nested(needed))


def answer(version: Version, ask: Ask, raw: Any) -> Any:
    """An answer of the client as the version's type; McpError when it is none."""
    kind = version.requests[ask.method].results[0]
    try:
        if isinstance(raw, dict):
            return version.types.convert(raw, kind)
        return version.types.decode(raw, kind)
    except ValueError as error:
        raise McpError(-32602, f"a bad answer to {ask.method}: {error}") from None


def params(version: Version, ask: Ask) -> bytes | None:
    """The params of a question as JSON text of the version."""
    row = version.requests[ask.method]
    if not ask.params and not row.params_required:
        return None
    encoded: bytes = version.types.encode(version.types.convert(ask.params, row.params))
    return encoded


def _nested(path: tuple[str, ...]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key in reversed(path):
        made = {key: made}
    return made
