"""What a recorded frame is, in a few words.

Frames may be anything: what is not as it should be is shown as it is, and judged by `lint`.
Only the envelope and what a label needs are decoded; the rest is skipped, not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from msgspec import (
    UNSET,
    DecodeError,
    Raw,
    Struct,
    UnsetType,
    ValidationError,
    field,
    json,
)

from ..diff.report import clipped
from ..lint.words import CANCELLED

FrameKind = Literal["request", "notification", "result", "error", "batch", "invalid"]

CLIP: Final = 120
"""Characters of anything in a label."""
_META: Final = "io.modelcontextprotocol/"
_SUBJECTS: Final = (
    *("name", "uri", "ref", "protocolVersion", "level", "requestId", "reason"),
    *("message", "data"),
)
"""The parameters that say what a message is about, in the order in which they are told."""
_LISTS: Final = {
    "tools": "tool",
    "resources": "resource",
    "resourceTemplates": "template",
    "prompts": "prompt",
    "roots": "root",
    "contents": "content",
    "messages": "message",
    "tasks": "task",
}


@dataclass(frozen=True, slots=True)
class Implementation:
    """Who a peer says it is."""

    name: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A message, as far as a diagram tells it."""

    kind: FrameKind
    id: str = ""
    """As JSON, in one spelling; empty where there is none."""
    method: str = ""
    detail: str = ""
    """What it is about: the name of a tool, how many entries a list has, …"""
    failed: bool = False
    """An error, or the result of a tool that says so."""
    version: str = ""
    """The protocol version that it speaks, or agrees to."""
    sender: Implementation | None = None
    cancels: str = ""
    """The id of the request that it gives up."""


class _Envelope(Struct):
    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _Meta(Struct):
    version: Raw | UnsetType = field(default=UNSET, name=f"{_META}protocolVersion")
    client: Raw | UnsetType = field(default=UNSET, name=f"{_META}clientInfo")
    server: Raw | UnsetType = field(default=UNSET, name=f"{_META}serverInfo")


_ENVELOPE = json.Decoder(_Envelope)
_OBJECT = json.Decoder(dict[str, Raw])
_LIST = json.Decoder(list[Raw])
_META_OBJECT = json.Decoder(_Meta)
_ANY = json.Decoder()


def messages(frame: Raw, cut: bool = False) -> list[Message] | Message:
    """The message of a frame, or those of a batch; `cut`: only its envelope was kept."""
    batch = _decoded(_LIST, frame)
    if batch is None:
        return _message(frame, cut)
    return [_message(raw, cut) for raw in batch]


def _message(raw: Raw, cut: bool) -> Message:
    # Which keys there are decides what it is, as it does for a peer.
    envelope = _decoded(_ENVELOPE, raw)
    if envelope is None:
        return Message("invalid", detail=_shown(raw))
    if envelope.method is not UNSET:
        kind: FrameKind = "notification" if envelope.id is UNSET else "request"
        return _asked(kind, _id(envelope.id), _shown(envelope.method), envelope.params)
    if envelope.error is not UNSET:
        detail = _error(envelope.error)
        return Message("error", _id(envelope.id), detail=detail, failed=True)
    if envelope.result is not UNSET:
        return _answered(_id(envelope.id), envelope.result)
    if cut and envelope.id is not UNSET:
        return Message("result", _id(envelope.id))
    return Message("invalid", _id(envelope.id), detail=_shown(raw))


def _asked(kind: FrameKind, id: str, method: str, params: Raw | UnsetType) -> Message:
    found = _object(params)
    meta = _meta(found)
    version = found.get("protocolVersion", UNSET) if method == "initialize" else UNSET
    return Message(
        kind,
        id,
        method,
        clipped(" ".join(_subjects(found)), CLIP),
        version=_text(meta.version) or _text(version),
        sender=_implementation(found.get("clientInfo", meta.client)),
        cancels=_id(found.get("requestId", UNSET)) if method == CANCELLED else "",
    )


def _subjects(params: dict[str, Raw]) -> Iterator[str]:
    if "progress" in params:
        done, total = params["progress"], params.get("total")
        yield f"{_shown(done)} of {_shown(total)}" if total else _shown(done)
    for key in _SUBJECTS:
        if key in params:
            yield _shown(params[key])


def _answered(id: str, result: Raw) -> Message:
    found = _object(result)
    meta = _meta(found)
    is_error = _value(found.get("isError")) is True
    return Message(
        "result",
        id,
        detail=clipped(", ".join(_contents(found, is_error)), CLIP),
        failed=is_error,
        version=_text(found.get("protocolVersion")),
        sender=_implementation(found.get("serverInfo", meta.server)),
    )


def _contents(result: dict[str, Raw], is_error: bool) -> Iterator[str]:
    """What a result holds."""
    kind = _text(result.get("resultType"))
    if kind and kind != "complete":
        yield kind
    asked = list(_object(result.get("inputRequests")).values())
    for request in asked[:3]:
        yield _text(_object(request).get("method")) or "?"
    if len(asked) > 3:
        yield f"{len(asked) - 3} more"
    if is_error:
        yield "isError"
    if action := _text(result.get("action")):
        yield action
    if version := _text(result.get("protocolVersion")):
        yield version
    for key, what in _LISTS.items():
        entries = _decoded(_LIST, result.get(key))
        if entries is not None:
            yield f"{len(entries)} {what}{'' if len(entries) == 1 else 's'}"
    blocks = _decoded(_LIST, result.get("content"))
    if blocks is None:
        blocks = [result["content"]] if "content" in result else []
    for block in blocks[:3]:
        yield _block(block)
    if len(blocks) > 3:
        yield f"{len(blocks) - 3} more"
    if not result:
        yield "empty"


def _block(raw: Raw) -> str:
    block = _object(raw)
    if "text" in block:
        return _shown(block["text"])
    return _text(block.get("type")) or _shown(raw)


def _error(error: Raw) -> str:
    found = _object(error)
    if "code" not in found and "message" not in found:
        return _shown(error)
    return clipped(
        " ".join(_shown(found[key]) for key in ("code", "message") if key in found),
        CLIP,
    )


def _implementation(raw: Raw | UnsetType) -> Implementation | None:
    found = _object(raw)
    name = _text(found.get("name"))
    return Implementation(name, _text(found.get("version"))) if name else None


# --- decoding what may be anything ----------------------------------------------------


def _decoded(decoder: json.Decoder[Any], raw: Raw | UnsetType | None) -> Any:
    """The value, or None when it is of another shape."""
    if raw is None or raw is UNSET:
        return None
    try:
        return decoder.decode(raw)
    except (DecodeError, ValidationError, UnicodeDecodeError, RecursionError):
        return None


def _object(raw: Raw | UnsetType | None) -> dict[str, Raw]:
    found: dict[str, Raw] | None = _decoded(_OBJECT, raw)
    return found or {}


def _meta(found: dict[str, Raw]) -> _Meta:
    meta: _Meta | None = _decoded(_META_OBJECT, found.get("_meta"))
    return meta or _Meta()


def _value(raw: Raw | UnsetType | None) -> Any:
    return _decoded(_ANY, raw)


def _text(raw: Raw | UnsetType | None) -> str:
    """A string; empty where there is none."""
    value = _value(raw) if raw and _start(raw) == b'"' else None
    return clipped(value, CLIP) if isinstance(value, str) else ""


def _shown(raw: Raw | UnsetType) -> str:
    """A string as it is, anything else as JSON, on one line."""
    if raw is UNSET:
        return ""
    value = _value(raw) if _start(raw) == b'"' else None
    text = (
        value
        if isinstance(value, str)
        else _start(raw, 4 * CLIP).decode("utf-8", "replace")
    )
    return clipped(" ".join(text[: 4 * CLIP].split()), CLIP)


def _start(raw: Raw, length: int = 1) -> bytes:
    """The first bytes, without a copy of the rest."""
    return memoryview(raw)[:length].tobytes()


def _id(raw: Raw | UnsetType) -> str:
    """An id as JSON, all of it; two spellings of one string are the same."""
    if raw is UNSET:
        return ""
    value = _value(raw)
    text = json.encode(value) if isinstance(value, str) else bytes(raw)
    return text.decode("utf-8", "replace")
