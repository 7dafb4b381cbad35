"""`Server`: tools, resources and prompts from typed functions, on every version at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from msgspec import json, structs

from .features import Features
from .registry import Entry, Json, Registry, ResourceTemplate, entry
from .serving import Lifespan, Serving
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
        made = entry("tool", function, _meta=meta, **options)
        schema = made.listed["inputSchema"] = made.signature.input_schema
        if made.signature.output_schema is not None:
            made.listed["outputSchema"] = made.signature.output_schema
        if b"x-mcp-header" in json.encode(schema):
            from .mirrors import header_parameters

            try:
                made.mirrored = header_parameters(schema)
            except ValueError as error:
                raise ValueError(f"the tool {made.listed['name']!r}: {error}") from None
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
                "resource",
                function,
                inline=inline,
                name=name,
                title=title,
                description=description,
                mimeType=mime_type,
                icons=icons,
                output_schema=False,
                strict=False,  # all that a URI has are strings
            )
            self._add_resource(uri, made)
            return function

        return register

    def _add_resource(self, uri: str, made: Entry) -> None:
        from .uritemplate import Template

        template = Template(uri)
        _check_variables(template.variables, uri, made)
        if template.variables:
            made.listed["uriTemplate"] = uri
            family = ResourceTemplate(**structs.asdict(made), template=template)
            self._register(self.registry.templates, uri, family, "resources")
        else:
            made.listed["uri"] = uri
            self._register(self.registry.resources, uri, made, "resources")

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
        # All that clients may give as arguments of prompts are strings.
        made = entry("prompt", function, output_schema=False, strict=False, **options)
        made.listed["arguments"] = _prompt_arguments(made.signature.input_schema)
        self._register(self.registry.prompts, made.listed["name"], made, "prompts")
        return function

    def completion(self, about: str, argument: str) -> Callable[[F], F]:
        """Complete an argument of a prompt (by name) or of a resource template (by URI).

        The function takes the `value` typed so far, and the `arguments` that are given
        already if it wants to know them (a dict of strings), and gives what fits.
        """

        def register(function: F) -> F:
            made = entry("completion", function, output_schema=False)
            schema = made.signature.input_schema
            known, required = {"value", "arguments"}, schema.get("required", [])
            if "value" not in schema["properties"] or not known.issuperset(required):
                raise TypeError(
                    f"{made.signature.name}(): a completion takes `value`, or `value` "
                    "and `arguments`"
                )
            self.registry.completions[about, argument] = made
            return function

        return register

    def remove_tool(self, name: str) -> None:
        """No longer offer a tool; KeyError when there is none of that name."""
        del self.registry.tools[name]
        self._changed("tools")

    def remove_prompt(self, name: str) -> None:
        """No longer offer a prompt; KeyError when there is none of that name."""
        del self.registry.prompts[name]
        self._changed("prompts")

    def remove_resource(self, uri: str) -> None:
        """No longer offer a resource, or a template of them; KeyError without one."""
        home = self.registry.resources
        del (home if uri in home else self.registry.templates)[uri]
        self._changed("resources")

    def _register(
        self, entries: dict[str, Any], name: str, made: Any, what: str
    ) -> None:
        if name in entries:
            raise ValueError(f"{name!r} is registered already")
        entries[name] = made
        self._changed(what)

    def _changed(self, what: str) -> None:
        self.registry.edition = object()
        self.hub.list_changed(what)

    def resource_updated(self, uri: str) -> None:
        """Tell the clients that subscribed to a resource that it has changed."""
        self.hub.updated(uri)

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


def _check_variables(variables: tuple[str, ...], uri: str, made: Entry) -> None:
    """A function gets the variables of its template, and nothing else."""
    schema = made.signature.input_schema
    where = f"{made.signature.name}(): the URI {uri!r}"
    if not uri.startswith("{") and ":" not in uri.partition("/")[0]:
        raise ValueError(f"{where} needs a scheme, as in `notes://…`")
    for name in variables:
        if name not in schema["properties"] and not schema["additionalProperties"]:
            raise TypeError(f"{where} has {name!r}, which is no parameter")
    for name in schema.get("required", []):
        if name not in variables:
            raise TypeError(f"{where} has no {name!r}, which is a required parameter")
