"""What a server has to offer: tools, resources, prompts and completions, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from . import workers
from .content import is_content
from .context import Context
from .functions import Signature, inspect_function

if TYPE_CHECKING:
    from .uritemplate import Template

Json = dict[str, Any]


class Entry(Struct, kw_only=True):
    """Something that was registered: how it is listed, and the function behind it."""

    listed: Json
    """As it stands in a list, in the vocabulary of the newest version."""
    function: Callable[..., Any]
    signature: Signature
    inline: bool = False
    """A sync function that may run on the event loop itself: it never waits."""
    mirrored: dict[str, tuple[str, ...]] = {}
    """Headers that repeat arguments (lower case) → where in the arguments."""

    async def call(self, arguments: Json, ctx: Context) -> Any:
        """Run the function; sync ones in a thread, so that they block nobody."""
        signature = self.signature
        if signature.context_parameter is not None:
            arguments[signature.context_parameter] = ctx
        try:
            if signature.is_async:
                return await self.function(**arguments)
            if self.inline:
                value = self.function(**arguments)
            else:
                value = await workers.run(self.function, arguments)
            # A decorator may have made a sync function of an async one.
            return await value if hasattr(type(value), "__await__") else value
        except SystemExit as error:
            # What one caller asked for must not end the server of all the others.
            raise RuntimeError("the function raised SystemExit") from error


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
        """(name of a prompt or URI template, argument) → who completes it."""
        self.edition = object()
        """Another one after each change, for who keeps what was made of the entries."""


def entry(
    what: str,
    function: Callable[..., Any],
    *,
    inline: bool = False,
    input_schema: Json | None = None,
    output_schema: Any = None,
    strict: bool = True,
    **listed: Any,
) -> Entry:
    """A function with what is said about it; `what` it is stands in complaints."""
    signature = inspect_function(
        function,
        context_type=Context,
        input_schema=input_schema,
        output_schema=output_schema,
        is_content=is_content,
        strict=strict,
    )
    said = {key: value for key, value in listed.items() if value is not None}
    said.setdefault("name", signature.name)
    if signature.description:
        said.setdefault("description", signature.description)
    _check(what, said)
    return Entry(listed=said, function=function, signature=signature, inline=inline)


# --- what a list can carry: one bad entry would spoil it for everybody --------------------


class _Icon(Struct, rename="camel"):
    src: str
    mime_type: str = ""
    sizes: list[str] = []
    theme: Literal["dark", "light"] = "light"


class _Hints(Struct, rename="camel"):
    title: str = ""
    read_only_hint: bool = False
    destructive_hint: bool = False
    idempotent_hint: bool = False
    open_world_hint: bool = False


class _Listed(Struct, rename="camel"):
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    icons: list[_Icon] = []
    annotations: _Hints | UnsetType = UNSET
    meta: Json = field(default_factory=dict, name="_meta")


def _check(what: str, listed: Json) -> None:
    """TypeError or ValueError when no version could list it."""
    name = listed["name"]
    if name == "":
        raise ValueError(f"a {what} needs a name")
    try:
        msgspec.convert(listed, _Listed)
        msgspec.json.encode(listed)
    except (msgspec.ValidationError, TypeError, UnicodeEncodeError) as error:
        raise TypeError(f"the {what} {name!r} cannot be listed: {error}") from error
