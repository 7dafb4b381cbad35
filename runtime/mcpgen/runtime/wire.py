"""From what a server means to what one version writes.

Results are made in the vocabulary of the newest version. Here they lose what the
client's version does not know, in a way that it can still read, and gain what the
version demands of every result. Each that leaves was checked by the version's types.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .content import Block
from .versions import Version

Json = dict[str, Any]


def result(version: Version, row: Any, value: Json, also: Json) -> bytes:
    """The result of a method as JSON text; `also` are defaults for fields it may have."""
    kind = row.results[0]
    if isinstance(kind, str):
        return msgspec.json.encode(value)
    for key, field in _fields(kind):
        if field in also and key not in value:
            value[key] = also[field]
    return typed(version, kind, adapted(version, value))


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
    schema = tool.get("outputSchema")
    if schema is None or _is_object(schema):
        return tool
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


def _block(version: Version, block: Block) -> Block:
    kind = block.get("type")
    if kind == "audio" and not version.knows("AudioContent"):
        return {
            "type": "resource",
            "resource": {
                "uri": "data:" + block["mimeType"],
                "mimeType": block["mimeType"],
                "blob": block["data"],
            },
        }
    if kind == "resource_link" and not version.knows("ResourceLink"):
        return {"type": "text", "text": f"{block['name']}: {block['uri']}"}
    return block


def _fields(kind: Any) -> list[tuple[str, str]]:
    """(wire name, Python name) of a class, looked up once."""
    found = _FIELDS.get(kind)
    if found is None:
        names = kind.__struct_encode_fields__, kind.__struct_fields__
        found = _FIELDS[kind] = list(zip(*names, strict=True))
    return found


_FIELDS: dict[Any, list[tuple[str, str]]] = {}
