"""What a handler returns, as the content blocks of the protocol.

Blocks are plain JSON objects in the vocabulary of the newest version; `wire` turns them
into what the client at hand can read. Blocks of any generated version may be returned
as they are.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec
from msgspec import Struct

Block = dict[str, Any]


class Text(Struct, frozen=True):
    """Plain text."""

    text: str

    def block(self) -> Block:
        """As a content block."""
        return {"type": "text", "text": self.text}


class Image(Struct, frozen=True):
    """An image; `mime_type` such as `image/png`."""

    data: bytes
    mime_type: str

    def block(self) -> Block:
        """As a content block."""
        return _binary("image", self.data, self.mime_type)


class Audio(Struct, frozen=True):
    """A sound; `mime_type` such as `audio/wav`."""

    data: bytes
    mime_type: str

    def block(self) -> Block:
        """As a content block."""
        return _binary("audio", self.data, self.mime_type)


class Link(Struct, frozen=True, omit_defaults=True):
    """A resource that the client may read."""

    uri: str
    name: str
    mime_type: str = ""
    description: str = ""

    def block(self) -> Block:
        """As a content block."""
        block = {"type": "resource_link", "uri": self.uri, "name": self.name}
        if self.mime_type:
            block["mimeType"] = self.mime_type
        if self.description:
            block["description"] = self.description
        return block


class Embedded(Struct, frozen=True):
    """The contents of a resource, right here."""

    uri: str
    data: str | bytes
    mime_type: str = ""

    def block(self) -> Block:
        """As a content block."""
        return {
            "type": "resource",
            "resource": contents(self.uri, self.data, self.mime_type),
        }


class ToolResult(Struct, frozen=True):
    """A tool's result in full: content, structured content, or a failure."""

    content: Any = ()
    structured: Any = msgspec.UNSET
    is_error: bool = False
    meta: dict[str, Any] = {}


def contents(uri: str, data: str | bytes, mime_type: str = "") -> Block:
    """The contents of a resource: text, or a blob."""
    made: Block = {"uri": uri}
    if mime_type:
        made["mimeType"] = mime_type
    if isinstance(data, bytes):
        made["blob"] = b64encode(data).decode("ascii")
    else:
        made["text"] = data
    return made


def block(value: Any) -> Block | None:
    """The content block that a value is; None when it is none."""
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if isinstance(value, Text | Image | Audio | Link | Embedded):
        return value.block()
    if isinstance(value, Struct) and isinstance(getattr(value, "type", None), str):
        made = msgspec.to_builtins(value)
        return made if isinstance(made, dict) and "type" in made else None
    return None


def blocks(value: Any) -> list[Block] | None:
    """The content blocks that a value is, or holds; None when it is something else."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        found = [block(item) for item in value]
        # A list of strings is data: only a list of blocks is content.
        if any(isinstance(item, str) for item in value) or not found:
            return None
        return None if None in found else [b for b in found if b is not None]
    one = block(value)
    return None if one is None else [one]


def _binary(kind: str, data: bytes, mime_type: str) -> Block:
    return {
        "type": kind,
        "data": b64encode(data).decode("ascii"),
        "mimeType": mime_type,
    }
