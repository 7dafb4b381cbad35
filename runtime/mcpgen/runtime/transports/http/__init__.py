"""Streamable HTTP as an ASGI application, for every version that has it, at once.

    app = server.asgi()          # uvicorn module:app, or mount it in another application

Each request is served by the rules of its own version: `sessions` for the legacy ones,
`stateless` for the modern ones, `sse` for the oldest.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from ... import dispatch, jsonrpc, versions
from ...errors import INVALID_REQUEST, McpError
from ...names import PROTOCOL_VERSION
from ...peer import Call, log
from ...serving import FINISH_SECONDS
from .request import Receive, Refusal, Request, Scope, Send
from .sessions import SESSION_ID, Sessions
from .settings import Settings
from .sse import Connections
from .stateless import Exchange

if TYPE_CHECKING:
    from ...auth.bearer import Bearer, Principal
    from ...serving import Serving

Handler = Callable[[Request], Awaitable[None]]

_NAMES_VERSION = PROTOCOL_VERSION.encode("ascii")
_METADATA = "/.well-known/oauth-protected-resource"


class Http:
    """The application."""

    def __init__(self, serving: Serving, **settings: Any) -> None:
        self.settings = Settings(**settings)
        self._serving = serving
        self._sessions = Sessions(serving, self.settings)
        self._connections = Connections(serving)
        self._waiting: set[Call] = set()
        """The modern requests whose handlers wait for something."""
        other = self._of_session
        self._routes: dict[str, dict[str, Handler]] = {
            self.settings.sse_path: {"GET": self._connections.open},
            self.settings.messages_path: {"POST": self._connections.post},
            self.settings.path: {"POST": self._post, "GET": other, "DELETE": other},
        }
        """Path → method → what serves it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the life of the application."""
        if scope["type"] == "http":
            request = Request(scope, receive, send, self.settings)
            try:
                await self._serve(request)
            except Refusal as refusal:
                body = jsonrpc.error(UNSET, INVALID_REQUEST, str(refusal))
                await request.respond(refusal.status, body, *refusal.headers)
            except Exception:
                log.exception("serving %s %s failed", request.method, request.path)
                if not request.streaming:
                    await request.respond(500)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1003})

    async def finish(self) -> None:
        """Let what runs end, for a while; then close."""
        self._serving.hub.close()
        tasks = [call.task for call in self._waiting if call.task is not None]
        tasks += self._sessions.tasks()
        if tasks:
            await asyncio.wait(tasks, timeout=FINISH_SECONDS)
        self.close()

    def close(self) -> None:
        """End every stream and session, so that nothing keeps a process from ending."""
        self._serving.hub.close()
        self._connections.close()
        self._sessions.close()
        for call in self._waiting:
            call.peer.end()

    # --- routes ---------------------------------------------------------------------------

    async def _serve(self, request: Request) -> None:
        path, method, auth = request.path, request.method, self.settings.auth
        if auth and method == "GET" and path in (_METADATA, auth.metadata_path):
            # Anybody may know where tokens come from, pages of other sites included.
            await request.respond(200, auth.metadata())
            return
        request.check_source()
        methods = self._routes.get(path)
        if methods is None:
            home = self.settings.path
            raise Refusal(404, f"there is nothing here: the endpoint is {home}")
        if method not in methods:
            raise _not_allowed(*methods)
        if auth is not None:
            request.principal = await _principal(auth, request)
        await methods[method](request)

    async def _post(self, request: Request) -> None:
        request.check_content()
        body = await request.body()
        if self._is_modern(request, body):
            await Exchange(self._serving, request, self._waiting).serve(body)
        else:
            await self._sessions.post(request, body)

    async def _of_session(self, request: Request) -> None:
        modern = request.version in self._serving.modern_versions
        if modern or SESSION_ID not in request.headers:
            raise _not_allowed("POST")
        await self._sessions.serve(request)

    def _is_modern(self, request: Request, body: bytes) -> bool:
        """Whose rules hold for a message?"""
        serving = self._serving
        if not serving.modern_versions or not serving.legacy_versions:
            return bool(serving.modern_versions)
        if request.version in serving.modern_versions:
            return True
        if _NAMES_VERSION not in body:
            return False
        try:
            params = jsonrpc.decode(body).params
        except McpError:
            return False
        meta = {} if params is UNSET else dispatch.said_in(params).meta
        return meta.get(PROTOCOL_VERSION) not in (None, *versions.LEGACY)

    # --- the life of the application ------------------------------------------------------

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        _warn_of_workers(self._serving)
        step = "startup"
        try:
            async with self._serving.running():
                await send({"type": "lifespan.startup.complete"})
                step = "shutdown"
                await receive()
                await self.finish()
        except Exception as error:
            log.exception("the %s of the server failed", step)
            await send({"type": f"lifespan.{step}.failed", "message": repr(error)})
        else:
            await send({"type": "lifespan.shutdown.complete"})


async def _principal(auth: Bearer, request: Request) -> Principal:
    """Who sent it; a Refusal when it is nobody who may call."""
    from ...auth.bearer import Unauthorized

    try:
        return await auth.authenticate(request.header(b"authorization"))
    except Unauthorized as no:
        header = (b"www-authenticate", no.www_authenticate.encode("latin-1"))
        raise Refusal(no.status, str(no), header) from None


def _not_allowed(*methods: str) -> Refusal:
    allowed = ", ".join(methods)
    return Refusal(405, f"only {allowed} here", (b"allow", allowed.encode("ascii")))


def _warn_of_workers(serving: Serving) -> None:
    """Several processes understand each other's clients only if they share a key."""
    several = os.environ.get("WEB_CONCURRENCY", "1") not in ("", "0", "1")
    if serving.has_random_key and (several or multiprocessing.parent_process()):
        log.warning(
            "several workers, and no state_key: a client whose next request another "
            "worker serves has to start again. Set Server(state_key=...)"
        )
