"""What a server says it offers, read from JSON that nobody has checked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import islice
from typing import Any

from ..diagnostics import CompileError, Diagnostic, clip, fail
from ..load import parse_json

LISTS = {
    "tools": "name",
    "prompts": "name",
    "resources": "uri",
    "resourceTemplates": "uriTemplate",
}
"""What there is in a listing, and what tells its entries apart."""
MAX_PROBLEMS = 20
"""What is wrong more often than that is no listing, and said often enough."""

_KEPT = {
    "tools": ("name", "title", "description", "inputSchema", "outputSchema"),
    "prompts": ("name", "title", "description", "arguments"),
    "resources": ("name", "title", "description", "uri"),
    "resourceTemplates": ("name", "title", "description", "uriTemplate"),
}
"""All that a client is made from; the rest may change without making one stale."""


@dataclass(frozen=True)
class Listing:
    """A server by name and version, and its lists."""

    server: str
    server_version: str
    protocol_version: str
    instructions: str
    tools: tuple[dict[str, Any], ...] = ()
    prompts: tuple[dict[str, Any], ...] = ()
    resources: tuple[dict[str, Any], ...] = ()
    templates: tuple[dict[str, Any], ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        """The same as JSON, in the form in which projects keep it."""
        return {
            "protocolVersion": self.protocol_version,
            "serverInfo": {"name": self.server, "version": self.server_version},
            "instructions": self.instructions,
            "tools": list(self.tools),
            "prompts": list(self.prompts),
            "resources": list(self.resources),
            "resourceTemplates": list(self.templates),
        }

    @property
    def text(self) -> str:
        """The file that a project keeps."""
        return json.dumps(self.document, indent=2, ensure_ascii=False) + "\n"

    @property
    def sha256(self) -> str:
        """One hash over all of it."""
        content = json.dumps(self.document, sort_keys=True, separators=(",", ":"))
        return sha256(content.encode()).hexdigest()

    @property
    def is_empty(self) -> bool:
        """Does it offer nothing?"""
        return not (self.tools or self.prompts or self.resources or self.templates)

    def only(self, include: Iterable[str], exclude: Iterable[str]) -> Listing:
        """What has a name that a pattern of `include` matches, and none of `exclude`."""
        wanted, unwanted = list(include) or ["*"], list(exclude)

        def chosen(items: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
            return tuple(
                item
                for item in items
                if any(fnmatchcase(item["name"], pattern) for pattern in wanted)
                and not any(fnmatchcase(item["name"], pattern) for pattern in unwanted)
            )

        return replace(
            self,
            tools=chosen(self.tools),
            prompts=chosen(self.prompts),
            resources=chosen(self.resources),
            templates=chosen(self.templates),
        )


def parse(data: bytes, file: str) -> Listing:
    """A file: what `mcpgen inspect --json` prints, or a result of `tools/list`."""
    value = parse_json(data, file)
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]  # a whole response
    if not isinstance(value, dict) or value.keys().isdisjoint(LISTS):
        raise fail(
            "not-a-listing",
            "it lists no tools, prompts or resources",
            file=file,
            hint="give what this prints: mcpgen inspect TARGET --json",
        )
    problems = list(islice(_problems(value, file), MAX_PROBLEMS))
    if problems:
        raise CompileError(problems)
    info = value.get("serverInfo")
    info = info if isinstance(info, dict) else {}
    lists = {key: tuple(_entries(value, key)) for key in LISTS}
    return Listing(
        _text(info.get("name")),
        _text(info.get("version")),
        _text(value.get("protocolVersion")),
        _text(value.get("instructions")),
        lists["tools"],
        lists["prompts"],
        lists["resources"],
        lists["resourceTemplates"],
    )


def _entries(value: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Each once, in an order that is the same however the server sorts."""
    identity = LISTS[key]
    found = {item[identity]: item for item in reversed(value.get(key) or [])}
    for _, item in sorted(found.items()):
        yield {name: item[name] for name in _KEPT[key] if name in item}


def _problems(value: dict[str, Any], file: str) -> Iterator[Diagnostic]:
    for key, identity in LISTS.items():
        items = value.get(key)
        if items is None and (key not in value or key != "tools"):
            continue
        if not isinstance(items, list):
            message = "could not be read" if items is None else "is not a list"
            yield Diagnostic("not-a-listing", message, file, f"/{key}")
            continue
        for number, item in enumerate(items):
            for name in dict.fromkeys((identity, "name")):
                if not isinstance(item, dict) or not isinstance(item.get(name), str):
                    message = f'has no "{name}" that is text'
                    where = f"/{key}/{number}"
                    yield Diagnostic("not-a-listing", message, file, where)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def shown(listing: Listing) -> str:
    """Its name and version, on one line."""
    return clip(
        f"{listing.server or 'a nameless server'} {listing.server_version}".strip(), 100
    )
