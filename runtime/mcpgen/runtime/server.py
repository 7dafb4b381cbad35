"""`Server`: tools, resources and prompts from typed functions, on every version at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec import structs

from .connection import Connection
from .errors import INVALID_REQUEST, McpError
from .features import Features
from .hub import Hub
from .jsonrpc import Id
from .modern import Stateless
from .peer import Link, Peer
from .registry import Json, Registry, ResourceTemplate, entry
from .state import Sealer
from .uritemplate import Template
from .versions import Version

if TYPE_CHECKING:
    from .transports import Receiver, Writer

F = TypeVar("F", bound=Callable[..., Any])


class Server:
    """An MCP server: register functions, then `run()`."""

    def __init__(
        self,
        name: str,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        instructions: str = "",
        page_size: int | None = None,
        in_flight: int = 256,
        state_key: bytes | None = None,
        lifespan: Callable[[Server], AbstractAsyncContextManager[Any]] | None = None,
    ) -> None:
        self.name = name
        self.registry = Registry()
        self.hub = Hub()
        self.lifespan_state: Any = None
        """What the lifespan yielded, while the server runs."""
        self._info: Json = {"name": name, "version": version}
        if title is not None:
            self._info["title"] = title
        self._instructions = instructions
        self._in_flight = in_flight
        self._lifespan = lifespan
        self._handlers = _Handlers(self, page_size)
        self.stateless = Stateless(self, Sealer(state_key))
        """Serves requests of modern versions, whatever they came over."""

    # --- registering ----------------------------------------------------------------------

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        input_schema: Json | None = None,
        output_schema: Any = None,
        annotations: Json | None = None,
        icons: list[Json] | None = None,
        meta: Json | None = None,
        inline: bool = False,
    ) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Offer a function as a tool; its annotations say what it takes and gives."""
        if function is None:
            return lambda function: self._add_tool(function, **options)
        return self._add_tool(function)

    def _add_tool(self, function: F, *, meta: Json | None = None, **options: Any) -> F:
        made = entry(function, "name", _meta=meta, **options)
        made.listed["inputSchema"] = made.signature.input_schema
        if made.signature.output_schema is not None:
            made.listed["outputSchema"] = made.signature.output_schema
        self._register(self.registry.tools, made.listed["name"], made, "tools")
        return function

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[Json] | None = None,
        inline: bool = False,
    ) -> Callable[[F], F]:
        """Offer a resource: a fixed address, or an RFC 6570 template of addresses."""

        def register(function: F) -> F:
            made = entry(
                function,
                "name",
                inline=inline,
                name=name,
                title=title,
                description=description,
                mimeType=mime_type,
                icons=icons,
                output_schema=False,
            )
            template = Template(uri)
            if template.variables:
                made.listed["uriTemplate"] = uri
                family = ResourceTemplate(**structs.asdict(made), template=template)
                self._register(self.registry.templates, uri, family, "resources")
            else:
                made.listed["uri"] = uri
                self._register(self.registry.resources, uri, made, "resources")
            return function

        return register

    @overload
    def prompt(self, function: F, /) -> F: ...

    @overload
    def prompt(
        self,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[Json] | None = None,
        inline: bool = False,
    ) -> Callable[[F], F]: ...

    def prompt(self, function: Any = None, /, **options: Any) -> Any:
        """Offer a prompt: a function that gives a message, or several."""
        if function is None:
            return lambda function: self._add_prompt(function, **options)
        return self._add_prompt(function)

    def _add_prompt(self, function: F, **options: Any) -> F:
        made = entry(function, "name", output_schema=False, **options)
        made.listed["arguments"] = _prompt_arguments(made.signature.input_schema)
        self._register(self.registry.prompts, made.listed["name"], made, "prompts")
        return function

    def completion(self, about: str, argument: str) -> Callable[[F], F]:
        """Complete an argument of a prompt (by name) or of a resource template (by URI).

        The function takes the `value` typed so far and gives the values that fit.
        """

        def register(function: F) -> F:
            kind = "resource" if about in self.registry.templates else "prompt"
            made = entry(function, "name", output_schema=False)
            self.registry.completions[f"{kind} {about}", argument] = made
            return function

        return register

    def remove_tool(self, name: str) -> None:
        """No longer offer a tool; KeyError when there is none of that name."""
        del self.registry.tools[name]
        self.hub.list_changed("tools")

    def remove_prompt(self, name: str) -> None:
        """No longer offer a prompt; KeyError when there is none of that name."""
        del self.registry.prompts[name]
        self.hub.list_changed("prompts")

    def remove_resource(self, uri: str) -> None:
        """No longer offer a resource, or a template of them; KeyError without one."""
        home = self.registry.resources
        del (home if uri in home else self.registry.templates)[uri]
        self.hub.list_changed("resources")

    def _register(
        self, entries: dict[str, Any], name: str, made: Any, what: str
    ) -> None:
        if name in entries:
            raise ValueError(f"{name!r} is registered already")
        entries[name] = made
        self.hub.list_changed(what)

    # --- what the connections ask ---------------------------------------------------------

    @property
    def handlers(self) -> object:
        """The functions behind the methods."""
        return self._handlers

    def info(self) -> Json:
        """The server's name and version."""
        return self._info

    def instructions(self) -> str:
        """How to use the server, for a model."""
        return self._instructions

    def capabilities(self, version: Version) -> Json:
        """What there is: the version's types leave out what it does not know."""
        found: Json = {"logging": {}}
        if self.registry.tools:
            found["tools"] = {"listChanged": True}
        if self.registry.resources or self.registry.templates:
            found["resources"] = {"listChanged": True, "subscribe": True}
        if self.registry.prompts:
            found["prompts"] = {"listChanged": True}
        if self.registry.completions or self.registry.prompts:
            found["completions"] = {}
        return found

    # --- serving --------------------------------------------------------------------------

    def connect(self, link: Link) -> Peer:
        """Serve one connection; feed what arrives to the peer's `receive`."""
        connection = Connection(self, self.stateless)
        self.hub.add(connection.session)
        return Peer(link, connection, in_flight=self._in_flight)

    def attach(self, writer: Writer) -> Receiver:
        """Serve one connection of a transport: `await transport(server.attach)`.

        A transport is anything that makes a `Writer` and feeds the `Receiver` it gets.
        """
        return _Attached(self, writer)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Server]:
        """While the server runs: enters and leaves its lifespan."""
        if self._lifespan is None:
            yield self
        else:
            async with self._lifespan(self) as self.lifespan_state:
                yield self
        self.hub.close()

    def run(self, transport: str = "stdio") -> None:
        """Serve until the client goes away, or a signal comes."""
        import asyncio

        if transport != "stdio":
            raise ValueError(f"there is no transport {transport!r}: only stdio so far")
        asyncio.run(self._run_stdio())

    async def _run_stdio(self) -> None:
        from .transports.stdio import serve_stdio

        async with self.running():
            await serve_stdio(self.attach)


class _Attached:
    """Both what a transport feeds and how a peer sends."""

    def __init__(self, server: Server, writer: Writer) -> None:
        self._writer = writer
        self._peer = server.connect(self)

    def receive(self, data: bytes) -> Awaitable[None] | None:
        return self._peer.receive(data)

    def too_long(self, limit: int) -> None:
        message = f"a message of more than {limit} bytes"
        self._peer.refuse(McpError(INVALID_REQUEST, message))

    def closed(self) -> Awaitable[None]:
        return self._peer.close()

    def send(self, data: bytes, about: Id | None) -> None:
        self._writer.write(data)

    def dropped(self, about: Id) -> None:
        pass  # nothing on a line waits for an answer but the client


class _Handlers(Features):
    """The features, and what needs the server itself."""

    def __init__(self, server: Server, page_size: int | None) -> None:
        super().__init__(server.registry, page_size)
        self._server = server

    async def subscriptions_listen(self, params: Any, ctx: Any) -> Json:
        """Tell a modern client of changes, for as long as it listens."""
        offered = self._server.capabilities(ctx.client.version)
        return await self._server.hub.listen(params.notifications, ctx, offered)


def _prompt_arguments(schema: Json) -> list[Json]:
    required = schema.get("required", [])
    found = []
    for name, described in schema.get("properties", {}).items():
        argument: Json = {"name": name, "required": name in required}
        if "description" in described:
            argument["description"] = described["description"]
        found.append(argument)
    return found
