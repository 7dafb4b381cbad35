"""`Server`: tools, resources and prompts from typed functions, on every version at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from msgspec import structs

from .features import Features
from .registry import Json, Registry, ResourceTemplate, entry
from .serving import Lifespan, Serving
from .uritemplate import Template
from .versions import Version

F = TypeVar("F", bound=Callable[..., Any])


class Server(Serving):
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
        lifespan: Lifespan | None = None,
    ) -> None:
        info: Json = {"name": name, "version": version}
        if title is not None:
            info["title"] = title
        super().__init__(
            info,
            instructions=instructions,
            in_flight=in_flight,
            state_key=state_key,
            lifespan=lifespan,
        )
        self.registry = Registry()
        self._handlers = _Handlers(self, page_size)

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
