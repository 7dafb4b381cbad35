"""From what a server means to what one version writes.

Results are made in the vocabulary of the newest version. Here they lose what the
client's version does not know, in a way that it can still read, and gain what the
version demands of every result. Each that leaves was checked by the version's types, or
made of parts that fit all of them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .content import Block
from .peer import log
from .versions import Version

Json = dict[str, Any]


class Outcome(dict[str, Any]):
    """A tool's result. When it cannot be written, that is a failure of the tool."""

    __slots__ = ()


class Sound(Outcome):
    """One that fits the client's version as it is: it needs no check."""

    __slots__ = ()


class Listing(dict[str, Any]):
    """A list that many ask for: written once for each version."""

    def __init__(self, key: str, listed: list[Json]) -> None:
        super().__init__({key: listed})
        self.written: dict[str, bytes] = {}


def failed(message: str) -> Outcome:
    """A tool's result that tells a model what went wrong."""
    # Half of a surrogate pair cannot be sent, but its escape can.
    text = message.encode("utf-8", "backslashreplace").decode()
    return Sound(content=[{"type": "text", "text": text}], isError=True)


class Defaults:
    """What results have besides what their method says, where their type has it."""

    def __init__(self, fields: Json) -> None:
        self._fields = fields
        """By the names that generated classes have for them."""
        self._of: dict[Any, tuple[Json, bytes]] = {}

    def of(self, kind: Any) -> tuple[Json, bytes]:
        """Those of one type: as an object, and as JSON text that lacks its end."""
        found = self._of.get(kind)
        if found is None:
            names = zip(
                kind.__struct_encode_fields__, kind.__struct_fields__, strict=True
            )
            more = {
                key: self._fields[name] for key, name in names if name in self._fields
            }
            text = msgspec.json.encode(more)[:-1] + b"," if more else b"{"
            found = self._of[kind] = (more, text)
        return found


NO_DEFAULTS = Defaults({})


def result(version: Version, row: Any, value: Json, also: Defaults) -> bytes:
    """The result of a method as JSON text."""
    if isinstance(value, Listing):
        written = value.written.get(version.name)
        if written is None:
            written = value.written[version.name] = _result(version, row, value, also)
        return written
    if not isinstance(value, Outcome):
        return _result(version, row, value, also)
    try:
        return _result(version, row, value, also)
    except Exception as error:
        log.exception("what a tool returned cannot be sent")
        told = failed(f"the tool returned what cannot be sent: {error}")
        return _result(version, row, told, also)


def _result(version: Version, row: Any, value: Json, also: Defaults) -> bytes:
    kind = row.results[0]
    if isinstance(kind, str):
        return msgspec.json.encode(value)
    more, text = also.of(kind)
    if isinstance(value, Sound) and "_meta" not in value:
        return text + msgspec.json.encode(value)[1:]
    return typed(version, kind, adapted(version, _completed(value, more)))


def _completed(value: Json, more: Json) -> Json:
    if "_meta" in more and "_meta" in value:
        value = value | {"_meta": more["_meta"] | value["_meta"]}
    return more | value


def typed(version: Version, kind: Any, value: Json) -> bytes:
    """An object checked and written as one of the version's types."""
    encoded: bytes = version.types.encode(version.types.convert(value, kind))
    return encoded


def plain(text: bytes) -> Json:
    """JSON text as plain values again."""
    value: Json = msgspec.json.decode(text)
    return value


def adapted(version: Version, value: Json) -> Json:
    """The same result in words that the version knows."""
    if "content" in value and isinstance(value["content"], list):
        value = value | {"content": [_block(version, b) for b in value["content"]]}
    if "structuredContent" in value:
        value = _structured(version, value)
    if "messages" in value:
        value = value | {
            "messages": [
                m | {"content": _block(version, m["content"])}
                for m in value["messages"]
            ]
        }
    if "tools" in value and version.traits.structured_content != "any":
        value = value | {"tools": [_tool(tool) for tool in value["tools"]]}
    return value


def wrapped(version: Version, schema: Json) -> bool:
    """Must what this schema describes be put into an object for this version?"""
    return version.traits.structured_content != "any" and not _is_object(schema)


def _is_object(schema: Json) -> bool:
    return schema.get("type") == "object"


def _structured(version: Version, value: Json) -> Json:
    style = version.traits.structured_content
    data = value["structuredContent"]
    if style == "none":
        return {k: v for k, v in value.items() if k != "structuredContent"}
    if style == "object" and not isinstance(data, dict):
        return value | {"structuredContent": {"result": data}}
    return value


def _tool(tool: Json) -> Json:
    """A tool for versions whose schemas are objects, of properties that are objects."""
    tool = tool | {"inputSchema": _spelled_out(tool["inputSchema"])}
    schema = tool.get("outputSchema")
    if schema is None:
        return tool
    if _is_object(schema):
        return tool | {"outputSchema": _spelled_out(schema)}
    definitions = schema.get("$defs")
    inner = {k: v for k, v in schema.items() if k != "$defs"}
    outer: Json = {
        "type": "object",
        "properties": {"result": inner},
        "required": ["result"],
    }
    if definitions:
        outer["$defs"] = definitions
    return tool | {"outputSchema": outer}


def _spelled_out(schema: Json) -> Json:
    """With objects in place of `true` and `false` where a property is described."""
    properties = schema.get("properties")
    if not properties or not any(isinstance(v, bool) for v in properties.values()):
        return schema
    meant: dict[Any, Json] = {True: {}, False: {"not": {}}}
    spelled = {k: meant[v] if isinstance(v, bool) else v for k, v in properties.items()}
    return schema | {"properties": spelled}


def _block(version: Version, block: Block) -> Block:
    kind = block.get("type")
    if kind == "audio" and not version.knows("AudioContent"):
        mime_type = block["mimeType"]
        return {
            "type": "resource",
            "resource": {
                # It needs an address; once is enough for its content.
                "uri": f"data:{mime_type.replace(' ', '')},",
                "mimeType": mime_type,
                "blob": block["data"],
            },
        }
    if kind == "resource_link" and not version.knows("ResourceLink"):
        return {"type": "text", "text": f"{block['name']}: {block['uri']}"}
    return block
