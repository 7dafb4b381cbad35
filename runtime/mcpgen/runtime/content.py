"""What a handler returns, as the content blocks of the protocol.

Blocks are plain JSON objects in the vocabulary of the newest version; `wire` turns them
into what the client at hand can read. Blocks, messages, contents and whole results of
any generated version may be returned as they are.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct

Block = dict[str, Any]

_PROTOCOL = f"{__package__.rpartition('.')[0]}.protocol."
_BLOCKS = frozenset(
    ("TextContent", "ImageContent", "AudioContent", "ResourceLink", "EmbeddedResource")
)
_CONTENTS = frozenset(("TextResourceContents", "BlobResourceContents"))


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
    """A tool's result in full: content, structured content, or a failure.

    Strings, blocks and JSON objects that are blocks are content. Structured content is
    checked like a returned value, and is the content, too, when there is no other.
    """

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


# --- what was returned --------------------------------------------------------------------


def is_content(kind: type) -> bool:
    """Do objects of this class say themselves what to show, so that they are no data?"""
    return issubclass(kind, _OWN) or (
        _generated(kind) in _BLOCKS | _CONTENTS | {"CallToolResult"}
    )


def block(value: Any) -> Block | None:
    """The content block that a value is; None when it is none."""
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if isinstance(value, Text | Image | Audio | Link | Embedded):
        return value.block()
    name = _generated(type(value))
    if name in _BLOCKS:
        return _plain(value)
    return (
        {"type": "resource", "resource": _plain(value)} if name in _CONTENTS else None
    )


def blocks(value: Any) -> list[Block] | None:
    """The content blocks that a value is, or holds; None when it is data."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        # A list of strings is data: with one block in it, it is content.
        found = any(is_content(type(each)) for each in value)
        return all_blocks(value) if found else None
    one = block(value)
    return None if one is None else [one]


def all_blocks(value: Any) -> list[Block]:
    """Content that was called so: strings, blocks and JSON objects that are blocks."""
    if value is None:
        return []
    return [_block(v) for v in (value if isinstance(value, list | tuple) else [value])]


def _block(value: Any) -> Block:
    found = value if _is_block(value) else block(value)
    if found is None:
        raise TypeError(f"`{type(value).__name__}` is no content")
    return found


def _is_block(value: Any) -> TypeGuard[Block]:
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def tool_result(value: Any) -> ToolResult | None:
    """The result in full that a value is, of ours or of a generated version."""
    if isinstance(value, ToolResult):
        return value
    if _generated(type(value)) != "CallToolResult":
        return None
    found = _plain(value)
    return ToolResult(
        found["content"],
        found.get("structuredContent", msgspec.UNSET),
        found.get("isError", False),
        found.get("_meta", {}),
    )


def read_result(uri: str, value: Any, mime_type: str) -> dict[str, Any] | None:
    """A resource's contents as a result; None when the value is data."""
    if _generated(type(value)) == "ReadResourceResult":
        return _kept(value, "contents")
    if not isinstance(value, list | tuple):
        one = _contents(uri, value, mime_type)
        return None if one is None else {"contents": [one]}
    # A list of texts is data: only what names its own place is one of several.
    if all(isinstance(each, str | bytes) for each in value):
        return None
    found = [_contents(uri, each, mime_type) for each in value]
    return None if None in found else {"contents": found}


def _contents(uri: str, value: Any, mime_type: str) -> Block | None:
    if isinstance(value, str | bytes):
        return contents(uri, value, mime_type)
    if isinstance(value, Text):
        return contents(uri, value.text, mime_type)
    if isinstance(value, Image | Audio):
        return contents(uri, value.data, value.mime_type)
    found = value if isinstance(value, dict) else block(value) or {}
    found = found.get("resource", found) if _is_block(found) else found
    return found if "uri" in found and ("text" in found or "blob" in found) else None


def prompt_result(value: Any) -> dict[str, Any] | None:
    """A prompt's messages as a result; None when the value is data."""
    if _generated(type(value)) == "GetPromptResult":
        return _kept(value, "messages", "description")
    values = value if isinstance(value, list | tuple) else [value]
    found = [_message(each) for each in values]
    if None not in found:
        return {"messages": found}
    if any(found):
        raise TypeError("a prompt returned a list of messages and other things")
    return None


def _message(value: Any) -> Block | None:
    if _generated(type(value)) == "PromptMessage":
        return _plain(value)
    if isinstance(value, dict) and "role" in value:
        return {"role": value["role"], "content": _block(value["content"])}
    found = value if _is_block(value) else block(value)
    return None if found is None else {"role": "user", "content": found}


def _generated(kind: type) -> str:
    """The name of a generated class; nothing for any other class."""
    generated = issubclass(kind, Struct) and kind.__module__.startswith(_PROTOCOL)
    return kind.__name__ if generated else ""


def _plain(value: Struct) -> Block:
    """An object of a generated class as plain JSON, as its version writes it."""
    text = sys.modules[type(value).__module__].encode(value)
    made: Block = msgspec.json.decode(text)
    return made


def _kept(value: Struct, *keys: str) -> dict[str, Any]:
    plain = _plain(value)
    return {key: plain[key] for key in (*keys, "_meta") if key in plain}


def _binary(kind: str, data: bytes, mime_type: str) -> Block:
    return {
        "type": kind,
        "data": b64encode(data).decode("ascii"),
        "mimeType": mime_type,
    }


_OWN = (Text, Image, Audio, Link, Embedded, ToolResult)
