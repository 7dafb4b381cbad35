"""What a tool gave: as text for people, as JSON, and as files."""

from __future__ import annotations

import binascii
import mimetypes
import re
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import UNSET, Raw, json

from ..diagnostics import fail
from ..protocol.newest import types
from .terminal import block, compact, line, pretty

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
"""What Windows takes for a device."""
LONGEST_NAME = 100


class Answer:
    """The result of a call, ready to be shown."""

    def __init__(self, tool: str, result: types.CallToolResult, raw: Raw) -> None:
        self._tool = tool
        self._result = result
        self._raw = raw
        self._structured = result.structured_content
        self.is_error = result.is_error is True

    def as_json(self) -> str:
        """The whole result, as the server sent it."""
        return pretty(bytes(self._raw))

    def as_text(self, saved: dict[int, Path]) -> str:
        """For people; on a terminal, text has nothing that a terminal obeys."""
        parts = list(self._texts(saved))
        if self._structured is not UNSET:
            parts.append(pretty(json.encode(self._structured)))
        return "\n".join(parts)

    def _texts(self, saved: dict[int, Path]) -> Iterator[str]:
        show = block if sys.stdout.isatty() else str
        for number, content in enumerate(self._result.content):
            where = f" saved as {saved[number]}" if number in saved else ""
            if isinstance(content, types.TextContent):
                if not self._repeats(content.text):
                    yield show(content.text)
            elif isinstance(content, types.ResourceLink):
                yield f"[link] {line(content.name)} {line(content.uri, 1000)}"
            elif isinstance(content, types.EmbeddedResource):
                resource = content.resource
                about = f"{line(resource.uri, 1000)}{_kind(resource.mime_type)}"
                if isinstance(resource, types.TextResourceContents):
                    yield f"[resource] {about}"
                    yield show(resource.text)
                else:
                    yield f"[resource] {about}, {_size(resource.blob)}{where}"
            else:
                about = f"{line(content.mime_type)}, {_size(content.data)}"
                yield f"[{content.type}] {about}{where}"

    def _repeats(self, text: str) -> bool:
        """Does a text only say for older clients what the structured content says?"""
        said = self._structured
        if said is UNSET:
            return False
        same = [said]
        if isinstance(said, dict) and said.keys() == {"result"}:
            same.append(said["result"])
        try:
            parsed = compact(json.decode(text))
        except (ValueError, RecursionError):
            parsed = text
        return text in same or parsed in map(compact, same)

    def save(self, directory: Path) -> dict[int, Path]:
        """Write what is not text to files that were not there; number → its file."""
        saved = {}
        for number, content in enumerate(self._result.content):
            data, name, kind = _binary(content)
            if data is not None:
                name = name or f"{self._tool}-{number + 1}"
                saved[number] = _write(directory, _file_name(name, kind), data)
        return saved


def _binary(content: Any) -> tuple[bytes | None, str, str]:
    """What a block holds besides text: its bytes, name and type."""
    encoded, name, kind = None, "", ""
    if isinstance(content, types.ImageContent | types.AudioContent):
        encoded, kind = content.data, content.mime_type
    elif isinstance(content, types.EmbeddedResource):
        resource = content.resource
        if isinstance(resource, types.BlobResourceContents):
            encoded, kind = resource.blob, resource.mime_type or ""
            name = unquote(_path(resource.uri).rstrip("/").rpartition("/")[2])
    return None if encoded is None else _decoded(encoded), name, kind


def _path(uri: str) -> str:
    try:
        return urlsplit(uri).path
    except ValueError:
        return ""


def _decoded(data: str) -> bytes | None:
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _size(data: str) -> str:
    decoded = _decoded(data)
    return "not base64" if decoded is None else f"{len(decoded):,} bytes"


def _kind(mime_type: Any) -> str:
    return f", {line(mime_type)}" if isinstance(mime_type, str) else ""


def _file_name(name: str, kind: str) -> str:
    """A name that leads nowhere else, and hides nothing."""
    safe = _UNSAFE.sub("_", name).strip("._")[-LONGEST_NAME:].lstrip("._-") or "data"
    if not Path(safe).suffix:
        safe += mimetypes.guess_extension(kind.partition(";")[0].strip()) or ".bin"
    return f"_{safe}" if _RESERVED.match(safe) else safe


def _write(directory: Path, name: str, data: bytes) -> Path:
    stem, suffix = Path(name).stem, Path(name).suffix
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        path = directory / (name if number == 1 else f"{stem}-{number}{suffix}")
        try:
            with path.open("xb") as file:  # a link is not followed either
                file.write(data)
        except FileExistsError:
            continue
        return path
    raise fail("file-exists", "1,000 files have this name already", file=name)
