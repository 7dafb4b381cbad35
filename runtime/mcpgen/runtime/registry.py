"""What a server has to offer: tools, resources, prompts and completions, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from . import workers
from .content import Audio, Embedded, Image, Link, Text, ToolResult
from .context import Context
from .functions import Signature, inspect_function
from .uritemplate import Template

Json = dict[str, Any]
CONTENT = (Text, Image, Audio, Link, Embedded, ToolResult)


class Entry(Struct, kw_only=True):
    """Something that was registered: how it is listed, and the function behind it."""

    listed: Json
    """As it stands in a list, in the vocabulary of the newest version."""
    function: Callable[..., Any]
    signature: Signature
    inline: bool = False
    """A sync function that may run on the event loop itself: it never waits."""

    async def call(self, arguments: Json, ctx: Context) -> Any:
        """Run the function; sync ones in a thread, so that they block nobody."""
        if self.signature.context_parameter is not None:
            arguments[self.signature.context_parameter] = ctx
        if self.signature.is_async:
            return await self.function(**arguments)
        if self.inline:
            return self.function(**arguments)
        return await workers.run(self.function, arguments)


class ResourceTemplate(Entry, kw_only=True):
    """A family of resources."""

    template: Template


class Registry:
    """Everything that one server offers."""

    def __init__(self) -> None:
        self.tools: dict[str, Entry] = {}
        self.resources: dict[str, Entry] = {}
        self.templates: dict[str, ResourceTemplate] = {}
        self.prompts: dict[str, Entry] = {}
        self.completions: dict[tuple[str, str], Entry] = {}
        """(`prompt NAME` or `resource TEMPLATE`, argument) → who completes it."""


def entry(
    function: Callable[..., Any],
    named: str,
    *,
    inline: bool = False,
    input_schema: Json | None = None,
    output_schema: Any = None,
    **listed: Any,
) -> Entry:
    """A function with what is said about it; `named` is the key of its name."""
    signature = inspect_function(
        function,
        context_type=Context,
        input_schema=input_schema,
        output_schema=output_schema,
        content_types=CONTENT,
    )
    said = {key: value for key, value in listed.items() if value is not None}
    said.setdefault(named, signature.name)
    if signature.description:
        said.setdefault("description", signature.description)
    return Entry(listed=said, function=function, signature=signature, inline=inline)
