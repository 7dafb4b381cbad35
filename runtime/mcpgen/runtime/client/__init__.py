"""The client: any server of any version, asked with the same calls.

    async with Client.stdio(["python", "-m", "weather"]) as client:
        result = await client.call_tool("forecast", city="Oslo")

Which version is spoken is found out when the client connects. Results have the types of
the newest version, whatever the server speaks: what an older one can say fits in.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from ...protocol.newest import types
from .. import versions
from ..asks import read_answer
from ..errors import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    AnswerError,
    ConnectionClosed,
    HttpError,
    NotSupported,
    RequestTimeout,
    ServerCrashed,
    SessionExpired,
)
from ..names import ROOTS_CHANGED
from ..peer import log
from . import retries
from .connections import Connection, Line, Transport
from .listening import Listening
from .opening import Opening
from .results import Kept, read
from .service import Change as Change
from .service import Handler, Handlers, Json, Service
from .sessions import Profile, Session

if TYPE_CHECKING:
    from ..serving import Serving
    from .web import Authorization, Web

T = TypeVar("T", bound=Struct)

MOST_PAGES = 10_000
MAX_MESSAGE = 64 * 1024 * 1024
CALL_TOOL = "tools/call"
SET_LEVEL = "logging/setLevel"


class Client:
    """A connection to one server, from `async with` to its end."""

    def __init__(
        self,
        transport: Transport,
        *,
        name: str = "mcpgen",
        version: str = "0",
        versions: Sequence[str] = (),
        timeout: float = 60.0,
        max_timeout: float = 600.0,
        restart: bool = False,
        cache: bool = False,
        sampling: Handler | None = None,
        elicitation: Handler | None = None,
        open_url: Handler | None = None,
        roots: Sequence[str | Json] | Handler | None = None,
        logging: Handler | None = None,
        progress: Handler | None = None,
        changed: Handler | None = None,
        capabilities: Json | None = None,
    ) -> None:
        handlers = Handlers(
            sampling=sampling,
            elicitation=elicitation,
            open_url=open_url,
            roots=roots,
            logging=logging,
            progress=progress,
            changed=changed,
            capabilities=capabilities or {},
        )
        self._profile = Profile(
            info={"name": name, "version": version},
            versions=_known(versions),
            timeout=timeout,
            max_timeout=max_timeout,
        )
        self._transport = transport
        self._restart = restart
        self._service = Service(handlers)
        self._ids = count(1)
        """Never used twice, not even when the server was restarted."""
        self._session: Session | None = None
        self._sessions: list[Session] = []
        """Those that are open: the one in use, and expired ones that something waits for."""
        self._entered = False
        self._opening: asyncio.Future[Session] | None = None
        self._level = ""
        """What was chosen, to be chosen again in a new session."""
        self._closed = False
        self._kept = Kept() if cache else None
        self._mirrors: dict[str, dict[str, tuple[str, ...]]] = {}
        """Tool → the headers that repeat its arguments."""
        self._harmless: set[str] = set()
        """Tools that may be called twice."""
        self._web: Callable[[], Web] | None = None
        self._has_own_limit = False
        self._key = ""
        """By which the server's era is remembered."""
        if self._kept is not None:
            self._service.sinks.add(self._kept.forget)

    # --- ways to a server -----------------------------------------------------------------

    @classmethod
    def stdio(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stderr: Callable[[str], None] | None = None,
        **options: Any,
    ) -> Client:
        """A server that is started as a child process.

        Its environment is a safe minimum and `env`; what it writes to stderr goes to
        ours, or to the function `stderr`, line by line.
        """
        from .process import Process

        process = Process(
            command, env=env, cwd=cwd, stderr=stderr, max_line=MAX_MESSAGE
        )
        client = cls(process, **options)
        client._key = "\0".join(command)
        return client

    @classmethod
    def http(
        cls,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: Authorization | None = None,
        http: Any = None,
        **options: Any,
    ) -> Client:
        """A server behind a URL; one that only has HTTP+SSE is found, too.

        `http` may be an `httpx2.AsyncClient`, for proxies and the like.
        """
        from .sse import Sse
        from .web import Web, origin

        def web() -> Web:
            return Web(url, headers=headers, auth=auth, http=http)

        web()  # to say now what is wrong with the URL
        meant = getattr(auth, "server_url", url)
        if origin(meant) != origin(url):
            raise ValueError("the tokens of one server are not for another")

        async def oldest(connect: Any) -> None:
            await Sse(web(), MAX_MESSAGE, client._profile.timeout)(connect)

        client = cls(oldest, **options)
        client._has_own_limit = True
        client._web = web
        client._key = url
        return client

    @classmethod
    def sse(
        cls,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: Authorization | None = None,
        http: Any = None,
        **options: Any,
    ) -> Client:
        """A server that speaks HTTP+SSE, the transport of the oldest version."""
        options.setdefault("versions", versions.LEGACY)
        client = cls.http(url, headers=headers, auth=auth, http=http, **options)
        client._web = None
        client._key = ""
        return client

    @classmethod
    def memory(cls, server: Serving, **options: Any) -> Client:
        """A server in this very process: for tests, and for tools of one's own."""

        async def transport(connect: Any) -> None:
            from ..transports.memory import join

            async with server.running():
                joined = join(connect, server.attach)
                try:
                    await asyncio.get_running_loop().create_future()
                finally:
                    await joined.close()

        return cls(transport, **options)

    @classmethod
    def connect(cls, target: Any, **options: Any) -> Client:
        """A command line, a URL, a server object or a transport: whatever it is."""
        if isinstance(target, str):
            if target.startswith(("http://", "https://")):
                return cls.http(target, **options)
            import shlex

            return cls.stdio(shlex.split(target), **options)
        if isinstance(target, Sequence):
            return cls.stdio(target, **options)
        if hasattr(target, "attach"):
            return cls.memory(target, **options)
        return cls(target, **options)

    # --- the life of a client -------------------------------------------------------------

    async def __aenter__(self) -> Client:
        self._entered = True
        try:
            await self._ready()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the connection, and all that waits for it; any task may do so."""
        self._closed = True
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait((self._opening,))
        for session in self._sessions:
            await session.connection.close()
        await self._service.close()

    @property
    def _reopens(self) -> bool:
        """Is a connection that ended opened again when it is needed?"""
        return self._restart or self._web is not None

    async def _ready(self, seconds: float | None = None) -> Session:
        """The session; opened for the first time, or again where that is wanted."""
        session = self._session
        if session is not None and _is_good(session):
            return session
        if not self._entered:
            raise RuntimeError("use the client in `async with`")
        if self._closed:
            raise ConnectionClosed("the client was closed")
        if session is not None and not self._reopens:
            return session  # which says why it has ended
        if self._opening is None or self._opening.done():
            self._opening = asyncio.ensure_future(self._opened())
            self._opening.add_done_callback(_noticed)
        try:
            # All who wait share one opening, and none of them stops it for the others.
            async with asyncio.timeout(seconds):
                await asyncio.wait((self._opening,))
        except TimeoutError:
            raise RequestTimeout("the server could not be reached in time") from None
        if self._closed or self._opening.cancelled():
            raise ConnectionClosed("the client was closed")
        return self._opening.result()

    async def _opened(self) -> Session:
        connect, oldest = (
            (self._connect_line, None)
            if self._web is None
            else (self._connect_http, self._connect_line)
        )
        opening = Opening(self._profile, self._service, connect, oldest, self._key)
        session = await retries.keep_trying(opening.session, self._profile.timeout)
        # From here on `close` finds it, whoever waits for this.
        self._sessions = [s for s in self._sessions if not s.connection.closed]
        self._sessions.append(session)
        try:
            if self._level and not session.keep_level(self._level):
                await session.request(SET_LEVEL, {"level": self._level})
        except BaseException:
            await session.connection.close()
            raise
        self._session = session
        return session

    async def _connect_line(self) -> Connection:
        line = Line(self._transport, self._service, self._ids)
        # HTTP+SSE has a time limit of its own, which logins do not count for.
        limit = None if self._has_own_limit else self._profile.timeout
        try:
            async with asyncio.timeout(limit):
                await line.open()
        except TimeoutError:
            await line.close()
            raise RequestTimeout("the connection was not opened in time") from None
        except BaseException:
            await line.close()
            raise
        return line

    async def _connect_http(self) -> Connection:
        from .http import HttpConnection

        assert self._web is not None
        handlers = self._service.handlers
        asked = (handlers.sampling, handlers.elicitation, handlers.open_url)
        return HttpConnection(
            self._web(),
            self._service,
            self._ids,
            limit=MAX_MESSAGE,
            listens=handlers.roots is not None or any(asked),
        )

    # --- what the server is ---------------------------------------------------------------

    @property
    def session(self) -> Session:
        """What was agreed on with the server."""
        if self._session is None:
            raise RuntimeError("use the client in `async with`")
        return self._session

    @property
    def version(self) -> str:
        """The protocol version that is spoken."""
        return self.session.version.name

    @property
    def server_info(self) -> Json:
        """The name and version of the server."""
        return self.session.server_info

    @property
    def capabilities(self) -> Json:
        """What the server offers."""
        return self.session.capabilities

    @property
    def instructions(self) -> str:
        """How to use the server, for a model; may be empty."""
        return self.session.instructions

    @property
    def caller(self) -> Any:
        """The generated `ServerCaller` of the version that is spoken, fully typed."""
        return self.session.version.client.ServerCaller(_Sender(self))

    @property
    def meta(self) -> Any:
        """The `meta` that typed params of `caller` take; UNSET where they need none."""
        version = self.session.version
        kind = getattr(version.types, "RequestMetaObject", None)
        said = self.session.meta
        return version.types.convert(said, kind) if kind and said else UNSET

    def offers(self, method: str) -> bool:
        """Has the version this request, and does the server offer what it needs?"""
        return self._lacking(method) is None

    def _lacking(self, method: str) -> str | None:
        version = self.session.version
        row = version.requests.get(method)
        if row is None or "client" not in row.sent_by:
            return f"protocol version {version.name} has no {method}"
        needed = row.server_capability
        if needed is not None and not versions.declared(self.capabilities, needed):
            return f"the server does not offer {'.'.join(needed)}"
        return None

    # --- requests -------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Json | None = None,
        *,
        timeout: float | None = None,
        progress: Handler | None = None,
    ) -> Raw:
        """Any request; its result is raw JSON text.

        NotSupported is raised when the server does not offer it, AnswerError when it
        answers with an error, RequestTimeout when it does not answer in time.
        """
        seconds = self._profile.timeout if timeout is None else timeout
        session = await self._ready(seconds)
        if method not in session.offered:
            lacking = self._lacking(method)
            if lacking is not None:
                raise NotSupported(METHOD_NOT_FOUND, lacking)
            session.offered.add(method)
        params = params or {}
        patience: retries.Patience | None = None
        while True:
            headers = self._headers(session, method, params)
            try:
                return await session.request(
                    method, params, timeout=timeout, progress=progress, headers=headers
                )
            except AnswerError as error:
                if not self._lacks_headers(method, params, error):
                    raise
                await self.list_tools()  # which tells which arguments to repeat
                self._mirrors.setdefault(params.get("name", ""), {})
            except (HttpError, ConnectionClosed) as problem:
                patience = patience or self._patience(method, params, seconds)
                await self._recover(session, problem, patience)
                session = await self._ready(seconds)

    def _patience(self, method: str, params: Json, seconds: float) -> retries.Patience:
        safe = method != CALL_TOOL or params.get("name") in self._harmless
        return retries.Patience(seconds, safe=safe)

    async def _recover(
        self,
        session: Session,
        problem: HttpError | ConnectionClosed,
        patience: retries.Patience,
    ) -> None:
        """Do what makes another attempt worth it; raises the problem if nothing does."""
        if session.connection.closed and not self._reopens:
            raise problem
        if isinstance(problem, SessionExpired):
            patience.reopen(problem)
            session.expired = True
            if not session.connection.peer.waits_for_answers:
                await session.connection.close()
        elif isinstance(problem, ServerCrashed) and self._restart and patience.safe:
            patience.reopen(problem)
        else:
            await patience.after(problem)

    async def _ask(self, method: str, params: Json, kind: type[T], **options: Any) -> T:
        kept = self._kept and self._kept.get(method, params)
        raw = kept or await self.request(method, params, **options)
        result = read(raw, kind, method)
        if self._kept is not None and not kept:
            self._kept.put(method, params, raw)
        return result

    # --- tools ----------------------------------------------------------------------------

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        timeout: float | None = None,
        progress: Handler | None = None,
        **more: Any,
    ) -> types.CallToolResult:
        """Call a tool; its arguments are keywords, or a mapping, or both.

        A tool that fails gives a result with `is_error`, for a model to read. `progress`
        is called with what the tool reports; each report gives it more time.
        """
        given = {**(arguments or {}), **more}
        params = {"name": name, "arguments": given}
        options = {"timeout": timeout, "progress": progress}
        return await self._ask(CALL_TOOL, params, types.CallToolResult, **options)

    async def list_tools(self) -> list[types.Tool]:
        """All tools, of all pages."""
        return [tool async for tool in self.tools()]

    async def tools(self) -> AsyncIterator[types.Tool]:
        """The tools, page by page; one that breaks the rules of its headers is left out."""
        await self._ready()
        checks = self.session.version.traits.method_headers and self._web is not None
        async for tool in self._items("tools/list", types.ListToolsResult, "tools"):
            if not checks or self._note_headers(tool):
                self._note_hints(tool)
                yield tool

    def _note_hints(self, tool: types.Tool) -> None:
        hints: Any = getattr(tool, "annotations", UNSET)  # the oldest version has none
        if hints is not UNSET and True in (hints.read_only_hint, hints.idempotent_hint):
            self._harmless.add(tool.name)

    def _note_headers(self, tool: types.Tool) -> bool:
        """Remember which arguments are headers, too; False when they cannot be."""
        from ..mirrors import header_parameters

        try:
            self._mirrors[tool.name] = header_parameters(tool.input_schema)
        except ValueError as error:
            log.warning("the tool %r is left out: %s", tool.name, error)
            return False
        return True

    def _headers(self, session: Session, method: str, params: Json) -> dict[str, str]:
        """What HTTP repeats of a request, where the version wants that."""
        if self._web is None or not session.version.traits.method_headers:
            return {}
        from .http import argument_headers, mcp_name

        headers = mcp_name(method, params)
        if method == CALL_TOOL and (
            mirrored := self._mirrors.get(params.get("name", ""))
        ):
            headers |= argument_headers(mirrored, params.get("arguments"))
        return headers

    def _lacks_headers(self, method: str, params: Json, error: AnswerError) -> bool:
        """Does the server miss headers of a tool that was never listed?"""
        codes = self.session.version.errors
        return (
            method == CALL_TOOL
            and self._web is not None
            and error.code == getattr(codes, "HEADER_MISMATCH", None)
            and params.get("name", "") not in self._mirrors
        )

    # --- resources and prompts ------------------------------------------------------------

    async def list_resources(self) -> list[types.Resource]:
        """All resources, of all pages."""
        return [resource async for resource in self.resources()]

    def resources(self) -> AsyncIterator[types.Resource]:
        """The resources, page by page."""
        kind = types.ListResourcesResult
        return self._items("resources/list", kind, "resources")

    async def list_resource_templates(self) -> list[types.ResourceTemplate]:
        """All resource templates, of all pages."""
        return [template async for template in self.resource_templates()]

    def resource_templates(self) -> AsyncIterator[types.ResourceTemplate]:
        """The resource templates, page by page."""
        kind = types.ListResourceTemplatesResult
        return self._items("resources/templates/list", kind, "resource_templates")

    async def read_resource(
        self, uri: str, *, timeout: float | None = None
    ) -> types.ReadResourceResult:
        """The contents of a resource."""
        kind = types.ReadResourceResult
        return await self._ask("resources/read", {"uri": uri}, kind, timeout=timeout)

    async def list_prompts(self) -> list[types.Prompt]:
        """All prompts, of all pages."""
        return [prompt async for prompt in self.prompts()]

    def prompts(self) -> AsyncIterator[types.Prompt]:
        """The prompts, page by page."""
        return self._items("prompts/list", types.ListPromptsResult, "prompts")

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        /,
        *,
        timeout: float | None = None,
        **more: str,
    ) -> types.GetPromptResult:
        """The messages of a prompt."""
        given = {**(arguments or {}), **more}
        params = {"name": name, "arguments": given} if given else {"name": name}
        kind = types.GetPromptResult
        return await self._ask("prompts/get", params, kind, timeout=timeout)

    async def complete(
        self,
        argument: str,
        value: str,
        *,
        prompt: str = "",
        resource: str = "",
        arguments: Mapping[str, str] | None = None,
    ) -> list[str]:
        """What an argument of a prompt, or of a resource template, may go on like.

        `arguments` are those that are known already.
        """
        if bool(prompt) == bool(resource):
            raise ValueError("complete an argument of a prompt=… or of a resource=…")
        ref = (
            {"type": "ref/prompt", "name": prompt}
            if prompt
            else {"type": "ref/resource", "uri": resource}
        )
        params: Json = {"ref": ref, "argument": {"name": argument, "value": value}}
        if arguments:
            params["context"] = {"arguments": dict(arguments)}
        kind = types.CompleteResult
        return (await self._ask("completion/complete", params, kind)).completion.values

    async def _items(
        self, method: str, kind: type[Any], field: str
    ) -> AsyncIterator[Any]:
        """Every item of every page; none where the server has nothing of the kind."""
        await self._ready()
        cursor: Any = UNSET
        seen: set[str] = set()
        while self.offers(method):
            params = {} if cursor is UNSET else {"cursor": cursor}
            page = await self._ask(method, params, kind)
            for item in getattr(page, field):
                yield item
            cursor = page.next_cursor
            if cursor is UNSET:
                return
            if cursor in seen or len(seen) >= MOST_PAGES:
                message = f"{method}: the pages never end"
                if cursor in seen:
                    message += f", {cursor!r} came twice"
                raise AnswerError(INVALID_REQUEST, message)
            seen.add(cursor)

    # --- changes, and the rest ------------------------------------------------------------

    def listen(
        self,
        *uris: str,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
    ) -> Listening:
        """Hear of changes: of resources by their URIs, and of whole lists.

        async with client.listen("file:///notes.txt", tools=True) as changes:
            async for change in changes: ...
        """
        wanted = {"tools": tools, "prompts": prompts, "resources": resources}
        lists = {what for what, is_wanted in wanted.items() if is_wanted}
        return Listening(self._service, self.session, self.request, uris, lists)

    async def set_level(self, level: str) -> None:
        """How severe must be what the server logs for us?"""
        session = await self._ready()
        if not session.keep_level(level):
            await self.request(SET_LEVEL, {"level": level})
        self._level = level

    async def ping(self) -> None:
        """Is the server there?"""
        await self.request((await self._ready()).ping)

    async def roots_changed(self) -> None:
        """Tell the server that it may ask for the roots again, if it wants to know."""
        session = await self._ready()
        if ROOTS_CHANGED in session.version.notifications:
            await session.tell(ROOTS_CHANGED)


def _noticed(opening: asyncio.Future[Session]) -> None:
    """Who wanted it may have gone: then nobody need hear that it failed."""
    if not opening.cancelled():
        opening.exception()


def _is_good(session: Session) -> bool:
    return not session.expired and not session.connection.closed


class _Sender:
    """What the generated callers send with."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def request(self, method: Any, params: Any) -> Any:
        version = self._client.session.version
        plain = (
            {} if params is None else msgspec.json.decode(version.types.encode(params))
        )
        raw = await self._client.request(method.name, plain)
        return read_answer(version, method.name, raw)

    async def notify(self, method: Any, params: Any) -> None:
        version = self._client.session.version
        data = None if params is None else version.types.encode(params)
        await self._client.session.tell(method.name, data)


def _known(names: Sequence[str]) -> tuple[str, ...]:
    """The versions to speak, oldest first; all that there are if none are named."""
    known = (*versions.LEGACY, *versions.MODERN)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"unknown protocol version {', '.join(unknown)}: {', '.join(known)} are known"
        )
    return tuple(name for name in known if not names or name in names)
