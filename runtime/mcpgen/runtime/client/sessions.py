"""What was agreed on with a server, and how it is asked from then on: the two eras."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from .. import versions
from ..errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    AnswerError,
    ConnectionClosed,
    HttpError,
    McpError,
    NotSupported,
    RequestTimeout,
)
from ..names import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    DISCOVER,
    INITIALIZE,
    INITIALIZED,
    LOG_LEVEL,
    PING,
    PROTOCOL_VERSION,
    SERVER_INFO,
)
from ..together import together
from ..versions import Version
from .connections import Connection
from .deadlines import Clock
from .service import Handler, Json, Service

ROUNDS = 10
"""So often may a server ask for something before it answers."""
MOST_ASKS = 64
"""So many questions may stand in one result."""


class Profile(Struct, frozen=True, kw_only=True):
    """What a client is, and what it wants."""

    info: Json
    versions: tuple[str, ...]
    timeout: float
    max_timeout: float


class Session:
    """A server that has agreed on a version."""

    ping = PING
    """A request that only tells whether the server is there."""

    def __init__(
        self, connection: Connection, service: Service, profile: Profile
    ) -> None:
        self.connection = connection
        self.expired = False
        """Has the server forgotten it? What is under way may still end well."""
        self.version: Version
        self.server_info: Json = {}
        self.capabilities: Json = {}
        self.instructions = ""
        self.subscribed: Counter[str] = Counter()
        """How many listen to which resource, where one subscription serves them all."""
        self.offered: set[str] = set()
        """The requests that are known to be offered."""
        self.meta: Json = {}
        """What every request says beside its own params."""
        self.timeout = profile.timeout
        self._service = service
        self._profile = profile
        self._clock = Clock()

    async def request(
        self,
        method: str,
        params: Json,
        *,
        timeout: float | None = None,
        progress: Handler | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Raw:
        """Ask the server; the result is raw JSON text."""
        return await self._send(method, params, timeout, progress, headers)

    async def tell(self, method: str, params: bytes | None = None) -> None:
        """Send a notification, and wait until it has left."""
        try:
            with self._clock.deadline(self.timeout) as deadline:
                await self.connection.tell(method, params, deadline)
        except TimeoutError:
            raise RequestTimeout(f"{method} could not be sent in time") from None

    def keep_level(self, level: str) -> bool:
        """Is saying it with every request the way to choose a log level? Then do so."""
        return False

    async def _send(
        self,
        method: str,
        params: Json,
        timeout: float | None = None,
        progress: Handler | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Raw:
        seconds = self._profile.timeout if timeout is None else timeout
        deadline = self._clock.deadline(seconds)
        ask = self.connection.request
        progress = progress or self._service.handlers.progress
        if progress is None:
            data = msgspec.json.encode(params) if params else None
            return await ask(method, data, deadline=deadline, headers=headers)
        most = max(seconds, self._profile.max_timeout)
        with self._service.watching(progress, deadline, seconds, most) as token:
            meta = {**params.get("_meta", {}), "progressToken": token}
            data = msgspec.json.encode({**params, "_meta": meta})
            return await ask(method, data, deadline=deadline, headers=headers)

    def _agreed(
        self, version: Version, capabilities: Json, instructions: str, info: Json
    ) -> None:
        self.version = self._service.version = version
        self.capabilities = capabilities
        self.instructions = instructions
        self.server_info = info


class Legacy(Session):
    """A session that `initialize` has opened."""

    async def open(self, newest: Version) -> None:
        """Agree on a version, the newest if the server has it."""
        self.connection.speak(None)
        asked = {
            "protocolVersion": newest.name,
            "capabilities": self._service.handlers.declared(newest),
            "clientInfo": self._profile.info,
        }
        raw = await self._send(INITIALIZE, asked)
        try:
            found = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            message = f"a malformed answer to {INITIALIZE}: {error}"
            raise AnswerError(INVALID_REQUEST, message) from None
        name = found.get("protocolVersion") if isinstance(found, dict) else None
        if name not in self._profile.versions:
            wanted = ", ".join(self._profile.versions)
            message = f"the server speaks {name!r}, this client {wanted}"
            raise NotSupported(INVALID_REQUEST, message)
        version = versions.get(name)
        try:
            version.types.convert(found, version.requests[INITIALIZE].results[0])
        except ValueError as error:
            message = f"a malformed answer to {INITIALIZE}: {error}"
            raise AnswerError(INVALID_REQUEST, message) from None
        said = found.get("instructions", "")
        self._agreed(version, found["capabilities"], said, found["serverInfo"])
        self.connection.speak(version)
        await self.tell(INITIALIZED)
        await self.connection.settled()


class Modern(Session):
    """No session at all: every request says who asks, and what it wants."""

    ping = DISCOVER

    async def open(self, version: Version, timeout: float) -> list[str]:
        """Ask what the server is: the versions that it speaks."""
        self.meta = {
            PROTOCOL_VERSION: version.name,
            CLIENT_CAPABILITIES: self._service.handlers.declared(version),
            CLIENT_INFO: self._profile.info,
        }
        self.version = version
        self.connection.speak(version)
        raw = await self.request(DISCOVER, {}, timeout=timeout)
        try:
            found = msgspec.json.decode(raw, type=_Discovered)
        except (msgspec.DecodeError, RecursionError) as error:
            message = f"a malformed answer to {DISCOVER}: {error}"
            raise AnswerError(INVALID_REQUEST, message) from None
        info = found.meta.get(SERVER_INFO) or found.server_info
        self._agreed(version, found.capabilities, found.instructions, info)
        return found.supported_versions

    async def request(
        self,
        method: str,
        params: Json,
        *,
        timeout: float | None = None,
        progress: Handler | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Raw:
        """Ask the server, and answer what it asks back."""
        asked = self.with_meta(params)
        more: Json = {}
        left = self.timeout if timeout is None else timeout
        now = asyncio.get_running_loop().time
        for number in range(ROUNDS):
            began = now()
            try:
                said = asked | more if more else asked
                raw = await self._send(method, said, left, progress, headers)
            except (HttpError, ConnectionClosed) as problem:
                # A user who answered already is not asked again.
                problem.begun = number > 0
                raise
            head = _head(raw, method)
            if head.result_type is UNSET or head.result_type == "complete":
                return raw
            if head.result_type != "input_required" or not self._has_rounds(method):
                kind = head.result_type
                message = f"{method}: a result of unexpected type {kind!r}"
                raise AnswerError(INVALID_REQUEST, message)
            if head.input_requests is UNSET:
                await asyncio.sleep(min(0.05 * 2**number, 2))  # it wants us to wait
            left -= now() - began  # what the handlers take is not the server's fault
            if left <= 0:
                raise RequestTimeout(f"{method} was not answered in time")
            more = await self._answers(method, head)
        message = f"{method}: the server has asked for input {ROUNDS} times"
        raise AnswerError(INVALID_REQUEST, message)

    def _has_rounds(self, method: str) -> bool:
        """May the server answer this request with questions?"""
        question = getattr(self.version.types, "InputRequiredResult", None)
        return question in self.version.requests[method].results

    def with_meta(self, params: Json) -> Json:
        """The params of a request, with what every request says."""
        return {**params, "_meta": {**params.get("_meta", {}), **self.meta}}

    async def _answers(self, method: str, head: _Head) -> Json:
        """What the next round carries: answers, and the state as it came."""
        more: Json = {}
        if head.request_state is not UNSET:
            more["requestState"] = head.request_state
        if head.input_requests is UNSET:
            if head.request_state is UNSET:
                raise AnswerError(INVALID_REQUEST, f"{method}: no input is asked for")
            return more
        asks = head.input_requests
        if len(asks) > MOST_ASKS:
            message = f"{method}: the server asks {len(asks)} questions at once"
            raise AnswerError(INVALID_REQUEST, message)
        try:
            answers = await together(
                self._service.answer(self.version, ask.method, ask.params)
                for ask in asks.values()
            )
        except McpError as error:
            raise AnswerError(error.code, f"{method}: {error.message}") from error
        except Exception as error:
            message = f"{method}: the client's handler failed: {error!r}"
            raise AnswerError(INTERNAL_ERROR, message) from error
        more["inputResponses"] = dict(zip(asks, map(Raw, answers), strict=True))
        return more

    def keep_level(self, level: str) -> bool:
        """There is no request for it."""
        self.meta[LOG_LEVEL] = level
        return True


class _Info(Struct):
    """Of a server's name and version, what every server has."""

    name: str
    version: str


class _Discovered(Struct, rename="camel"):
    """What must be right in an answer; not all servers are as exact as the schema."""

    supported_versions: list[str]
    capabilities: Json
    instructions: str = ""
    server_info: Json = {}
    meta: Json = field(default_factory=dict, name="_meta")

    def __post_init__(self) -> None:
        info = self.meta.get(SERVER_INFO, self.server_info)
        if info != {}:
            msgspec.convert(info, _Info)


class _Asked(Struct):
    method: str
    params: Json = {}


class _Head(Struct, rename="camel"):
    """What tells a result from a question."""

    result_type: str | UnsetType = UNSET
    input_requests: dict[str, _Asked] | UnsetType = UNSET
    request_state: str | UnsetType = UNSET


_HEAD = msgspec.json.Decoder(_Head)


def _head(raw: Raw, method: str) -> _Head:
    try:
        return _HEAD.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        message = f"{method}: a malformed result: {error}"
        raise AnswerError(INVALID_REQUEST, message) from None
