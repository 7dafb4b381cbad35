"""What a server is and offers: as a page for a terminal, and as JSON."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Raw, json

from ..diagnostics import Diagnostic
from ..protocol.newest import types
from ..runtime.client import Client
from ..runtime.client.results import read
from ..runtime.errors import McpError, RequestTimeout
from ..runtime.names import DISCOVER
from .connecting import Access, diagnosed
from .parameters import Parameter, Schema
from .terminal import block, line, pretty

if TYPE_CHECKING:
    from rich.console import Console

CLIP = 400
"""Characters of a description."""
UNLIMITED = sys.maxsize
ITEMS = 100
"""Entries of a list, and parameters of a tool."""
LISTS: dict[str, Callable[[Client], Awaitable[list[Any]]]] = {
    "tools": Client.list_tools,
    "resources": Client.list_resources,
    "resourceTemplates": Client.list_resource_templates,
    "prompts": Client.list_prompts,
}
TITLES = {"resourceTemplates": "Resource templates"}
HINTS = {
    "read_only_hint": ("read-only", "not read-only"),
    "destructive_hint": ("destructive", "not destructive"),
    "idempotent_hint": ("idempotent", "not idempotent"),
    "open_world_hint": ("open world", "closed world"),
}
"""What the annotations of a tool say when they are true, and when they are false."""
STYLES = {"destructive": "red", "read-only": "green"}


@dataclass
class Found:
    """Everything that was found out about a server."""

    version: str
    server: dict[str, Any]
    instructions: str
    capabilities: dict[str, Any]
    others: list[str] = field(default_factory=list)
    """Protocol versions that it speaks besides, as far as it says so."""
    lists: dict[str, list[Any] | None] = field(default_factory=dict)
    """What it offers; None: that could not be read."""
    problems: list[Diagnostic] = field(default_factory=list)

    def as_json(self) -> str:
        """For machines. `mcpgen inspect --help` describes the shape: keep it stable."""
        listed = {
            name: items and [Raw(types.encode(item)) for item in items]
            for name, items in self.lists.items()
        }
        content = {
            "protocolVersion": self.version,
            "otherVersions": self.others,
            "serverInfo": self.server,
            "instructions": self.instructions,
            "capabilities": self.capabilities,
            **listed,
        }
        return pretty(json.encode(content))


async def look(access: Access, said: deque[str]) -> Found:
    """Ask a server for all that it tells about itself."""
    async with access.client(said) as client:
        found = Found(
            client.version, client.server_info, client.instructions, client.capabilities
        )

        async def attempt(asking: Awaitable[list[Any]]) -> list[Any] | None:
            try:
                return await asking
            except (McpError, RequestTimeout) as problem:
                found.problems.append(diagnosed(problem, access.target))
                return None

        found.others = await attempt(_others(client)) or []
        for name, listing in LISTS.items():
            found.lists[name] = await attempt(listing(client))
    return found


async def _others(client: Client) -> list[str]:
    if not client.offers(DISCOVER):
        return []
    said = read(await client.request(DISCOVER), types.DiscoverResult, DISCOVER)
    return [version for version in said.supported_versions if version != client.version]


def show(found: Found, full: bool) -> None:
    """Print the page: coloured on a terminal, and as wide as that is."""
    # Imported here: JSON must not wait for it.
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    _Page(console, found, full).print()


class _Page:
    """Prints paragraphs, each with an indentation that suits narrow screens, too."""

    def __init__(self, console: Console, found: Found, full: bool) -> None:
        self._console = console
        self._found = found
        self._full = full

    def print(self) -> None:
        """All of it."""
        self._head()
        if self._found.instructions:
            self._title("Instructions")
            self._prose(self._found.instructions, 2, 4 * CLIP)
        printers: dict[str, Callable[[Any], None]] = {
            "tools": self._tool,
            "resources": self._resource,
            "resourceTemplates": self._template,
            "prompts": self._prompt,
        }
        for name, items in self._found.lists.items():
            title = TITLES.get(name, name.capitalize())
            if items is None:
                self._title(f"{title}: they could not be read")
            elif items:
                self._title(f"{title} ({len(items)})")
                self._each(items, printers[name], 2)

    def _head(self) -> None:
        found, server = self._found, self._found.server
        name = self._clip(server.get("name") or "A nameless server", 100)
        version = self._clip(server.get("version", ""), 100)
        title = self._clip(server.get("title", ""), 100)
        self._line(0, (name, "bold"), f" {version}  {title}".rstrip())
        if isinstance(text := server.get("description"), str):
            self._prose(text, 0, CLIP)
        others = ", ".join(line(version, 40) for version in found.others)
        also = f" (also {others})" if others else ""
        self._line(0, ("Protocol ", "dim"), line(found.version), also, hanging=9)
        offered = ", ".join(_capabilities(found.capabilities)) or "nothing"
        self._line(0, ("Offers   ", "dim"), line(offered, 1000), hanging=9)

    def _tool(self, tool: types.Tool) -> None:
        title = tool.title
        if title is UNSET and tool.annotations is not UNSET:
            title = tool.annotations.title
        hints = [(f"  {hint}", STYLES.get(hint, "dim")) for hint in _hints(tool)]
        self._name(tool.name, title, *hints)
        self._describe(tool.description)
        self._each(Schema(tool.input_schema).parameters(), self._parameter, 6)
        if tool.output_schema is not UNSET:
            schema = Schema(tool.output_schema)
            parts = ", ".join(map(str, schema.parameters()))
            kind = schema.type_name(tool.output_schema)
            text = f"{kind} with {parts}" if parts else kind
            self._line(6, ("→ ", "dim"), self._clip(text, CLIP))

    def _resource(self, resource: types.Resource) -> None:
        self._name(resource.name, resource.title)
        size = "" if resource.size is UNSET else f"  {resource.size:,} bytes"
        self._address(resource.uri, resource.mime_type, size)
        self._describe(resource.description)

    def _template(self, template: types.ResourceTemplate) -> None:
        self._name(template.name, template.title)
        self._address(template.uri_template, template.mime_type, "")
        self._describe(template.description)

    def _prompt(self, prompt: types.Prompt) -> None:
        self._name(prompt.name, prompt.title)
        self._describe(prompt.description)
        arguments = [] if prompt.arguments is UNSET else prompt.arguments
        parameters = [
            Parameter(
                argument.name,
                is_required=argument.required is True,
                description=argument.description or "",
            )
            for argument in arguments
        ]
        self._each(parameters, self._parameter, 6)

    def _parameter(self, parameter: Parameter) -> None:
        kind, default = parameter.type, parameter.default
        self._line(
            6,
            (self._clip(parameter.name, 100), "cyan"),
            (f": {self._clip(kind, 100)}" if kind else "", "dim"),
            f" = {self._clip(default, 100)}" if default else "",
            (" required" if parameter.is_required else "", "yellow"),
            f"  {self._clip(parameter.description, CLIP)}".rstrip(),
        )

    # --- pieces -----------------------------------------------------------------------

    def _title(self, text: str) -> None:
        self._console.print()
        self._line(0, (text, "bold underline"))

    def _name(self, name: str, title: Any, *more: tuple[str, str]) -> None:
        self._console.print()
        named = isinstance(title, str) and title != name
        shown = f"  {self._clip(title, 100)}" if named else ""
        self._line(2, (self._clip(name, 100), "bold"), shown, *more)

    def _address(self, uri: str, mime_type: Any, more: str) -> None:
        kind = f"  {line(mime_type, 100)}" if isinstance(mime_type, str) else ""
        self._line(4, (self._clip(uri, CLIP), "cyan"), (kind + more, "dim"))

    def _describe(self, text: Any) -> None:
        if isinstance(text, str):
            self._prose(text, 4, CLIP)

    def _each(
        self, items: Iterable[Any], show: Callable[[Any], None], indent: int
    ) -> None:
        all_of_them = list(items)
        shown = all_of_them if self._full else all_of_them[:ITEMS]
        for item in shown:
            show(item)
        if len(shown) < len(all_of_them):
            rest = len(all_of_them) - len(shown)
            self._line(indent, (f"… and {rest} more (--full)", "dim"))

    def _clip(self, text: str, limit: int) -> str:
        return line(text, UNLIMITED if self._full else limit)

    def _prose(self, text: str, indent: int, limit: int) -> None:
        """Lines as the server wrote them; blank ones at the ends are left out."""
        text = text.strip()
        is_clipped = not self._full and len(text) > limit
        for part in block(text[:limit] if is_clipped else text).split("\n"):
            self._line(indent, part, hanging=0)
        if is_clipped:
            self._line(indent, ("… (--full)", "dim"))

    def _line(
        self, indent: int, *parts: str | tuple[str, str], hanging: int = 2
    ) -> None:
        """Something on as many lines as it takes, the later ones further in."""
        from rich.text import Text

        text = Text.assemble(*(part for part in parts if part and part[0]))
        width = max(self._console.width - indent - hanging, 10)
        for number, wrapped in enumerate(text.wrap(self._console, width)):
            wrapped.rstrip()
            margin = indent + (hanging if number else 0)
            text = Text(" " * margin) + wrapped if wrapped else wrapped
            self._console.print(text, soft_wrap=True)


def _capabilities(capabilities: dict[str, Any]) -> Iterator[str]:
    """Their names, with what belongs to them in brackets."""
    for name, about in capabilities.items():
        about = about if isinstance(about, dict) else {}
        parts = [key for key, value in about.items() if value not in (False, None)]
        yield f"{name} ({', '.join(parts)})" if parts else name


def _hints(tool: types.Tool) -> Iterator[str]:
    """What is explicitly said; of what only reads, less means something."""
    is_harmless = getattr(tool.annotations, "read_only_hint", UNSET) is True
    for key, (if_true, if_false) in HINTS.items():
        if is_harmless and key in ("destructive_hint", "idempotent_hint"):
            continue
        said = getattr(tool.annotations, key, UNSET)
        if isinstance(said, bool):
            yield if_true if said else if_false
