"""Streamable HTTP as an ASGI application, for every version that has it, at once.

    app = server.asgi()          # uvicorn module:app, or mount it in another application

Each request is served by the rules of its own version: `sessions` for the legacy ones,
`stateless` for the modern ones, `sse` for the oldest.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from ... import dispatch, jsonrpc, versions
from ...errors import McpError
from ...names import PROTOCOL_VERSION
from ...peer import log
from ...serving import FINISH_SECONDS
from .request import EVENTS, Disconnected, Receive, Refusal, Request, Scope, Send
from .sessions import SESSION_ID, Sessions, is_initialize
from .settings import Settings
from .sse import Connections
from .stateless import Exchange

if TYPE_CHECKING:
    from ...serving import Serving

VERSION = b"mcp-protocol-version"
_NAMES_VERSION = PROTOCOL_VERSION.encode("ascii")
_METADATA = "/.well-known/oauth-protected-resource"


class Http:
    """The application."""

    def __init__(self, serving: Serving, **settings: Any) -> None:
        self.settings = Settings(**settings)
        self._serving = serving
        self._sessions = Sessions(serving, self.settings)
        self._connections = Connections(serving)
        self._exchanges: set[Exchange] = set()
        """The modern requests that are being served."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the life of the application."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(Request(scope, receive, send, self.settings))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1003})

    async def finish(self) -> None:
        """Let what runs end, for a while; then close."""
        self._serving.hub.close()
        tasks = [exchange.task for exchange in self._exchanges]
        tasks += self._sessions.tasks()
        if tasks:
            await asyncio.wait(tasks, timeout=FINISH_SECONDS)
        self.close()

    def close(self) -> None:
        """End every stream and session, so that nothing keeps a process from ending."""
        self._serving.hub.close()
        self._connections.close()
        self._sessions.close()
        for exchange in self._exchanges:
            exchange.end()

    # --- routes ---------------------------------------------------------------------------

    async def _serve(self, request: Request) -> None:
        try:
            await self._route(request)
        except Refusal as refusal:
            await request.refuse(refusal)
        except Disconnected:
            pass
        except Exception:
            log.exception("serving %s %s failed", request.method, request.path)
            if not request.streaming:
                await request.respond(500)

    async def _route(self, request: Request) -> None:
        settings, path = self.settings, request.path
        auth = settings.auth
        if auth is not None and path in (_METADATA, auth.metadata_path):
            _only(request, "GET")
            await request.respond(200, auth.metadata())
            return
        request.check_source()
        if path == settings.path:
            await self._authenticate(request)
            await self._endpoint(request)
        elif settings.sse_path and path == settings.sse_path:
            _only(request, "GET")
            await self._authenticate(request)
            await self._connections.open(request)
        elif settings.sse_path and path == settings.messages_path:
            _only(request, "POST")
            await self._authenticate(request)
            await self._connections.post(request)
        else:
            raise Refusal(
                404, f"there is nothing here: the endpoint is {settings.path}"
            )

    async def _authenticate(self, request: Request) -> None:
        auth = self.settings.auth
        if auth is None:
            return
        from ...auth.bearer import Unauthorized

        try:
            request.principal = await auth.authenticate(
                request.header(b"authorization")
            )
        except Unauthorized as refused:
            said = refused.www_authenticate.encode("latin-1")
            raise Refusal(
                refused.status, str(refused), [(b"www-authenticate", said)]
            ) from None

    async def _endpoint(self, request: Request) -> None:
        if request.method == "POST":
            request.check_content()
            body = await request.body()
            if self._is_modern(request, body):
                exchange = Exchange(self._serving, request, self._mirrors)
                self._exchanges.add(exchange)
                try:
                    await exchange.serve(body)
                finally:
                    self._exchanges.discard(exchange)
            else:
                await self._post_to_session(request, body)
            return
        _only(request, "POST", "GET", "DELETE")
        id = request.header(SESSION_ID)
        if id is None or request.header(VERSION) in self._serving.modern_versions:
            raise _not_allowed("POST")
        self._check_version(request)
        session = self._sessions.get(id, request.principal)
        if request.method == "DELETE":
            self._sessions.end(session)
            await request.respond(204)
            return
        if not request.accepts(EVENTS):
            raise Refusal(406, "Accept must admit text/event-stream")
        with self._sessions.using(session):
            await session.get(request)

    # --- whose rules hold -----------------------------------------------------------------

    def _is_modern(self, request: Request, body: bytes) -> bool:
        serving = self._serving
        if not serving.modern_versions or not serving.legacy_versions:
            return bool(serving.modern_versions)
        if request.header(VERSION) in serving.modern_versions:
            return True
        if _NAMES_VERSION not in body:
            return False
        try:
            params = jsonrpc.decode(body).params
        except McpError:
            return False
        if params is UNSET:
            return False
        named = dispatch.meta_in(params).get(PROTOCOL_VERSION)
        return named is not None and named not in versions.LEGACY

    async def _post_to_session(self, request: Request, body: bytes) -> None:
        self._check_version(request)
        id = request.header(SESSION_ID)
        if id is None and is_initialize(body):
            await self._sessions.new(request.principal).post(request, body)
            return
        session = self._sessions.get(id, request.principal)
        with self._sessions.using(session):
            await session.post(request, body)

    def _check_version(self, request: Request) -> None:
        named = request.header(VERSION)
        known = self._serving.legacy_versions
        if named is not None and named not in known:
            raise Refusal(
                400,
                f"protocol version {named!r} is not supported: {', '.join(known)} are",
            )

    def _mirrors(self, tool: str) -> Mapping[str, tuple[str, ...]]:
        """The headers that repeat arguments of a tool."""
        registry = getattr(self._serving, "registry", None)
        entry = None if registry is None else registry.tools.get(tool)
        return {} if entry is None else entry.mirrored

    # --- the life of the application ------------------------------------------------------

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        _warn_of_workers(self._serving)
        running = self._serving.running()
        try:
            await running.__aenter__()
        except Exception as error:
            log.exception("the server could not start")
            await send({"type": "lifespan.startup.failed", "message": repr(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.finish()
        try:
            await running.__aexit__(None, None, None)
        except Exception as error:
            log.exception("the server could not stop well")
            await send({"type": "lifespan.shutdown.failed", "message": repr(error)})
            return
        await send({"type": "lifespan.shutdown.complete"})


def _only(request: Request, *methods: str) -> None:
    if request.method not in methods:
        raise _not_allowed(*methods)


def _not_allowed(*methods: str) -> Refusal:
    allowed = ", ".join(methods)
    return Refusal(405, f"only {allowed} here", [(b"allow", allowed.encode("ascii"))])


def _warn_of_workers(serving: Serving) -> None:
    """Several processes understand each other's clients only if they share a key."""
    workers = os.environ.get("WEB_CONCURRENCY", "")
    several = workers.isdigit() and int(workers) > 1
    if serving.has_random_key and (several or multiprocessing.parent_process()):
        logging.getLogger("mcpgen").warning(
            "several workers, and no state_key: a client whose next request another "
            "worker serves has to start again. Set Server(state_key=...)"
        )
