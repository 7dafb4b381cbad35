"""What `--from` names, as the bytes of a document."""

from __future__ import annotations

from pathlib import Path

from msgspec import Raw, json

from ..diagnostics import fail
from ..protocol.newest import types
from .connecting import Access, explaining, run
from .targets import find_target

MAX_BYTES = 64 * 1024 * 1024
"""Of a document: there are OpenAPI documents of more than ten megabytes."""
SECONDS = 60.0


def document(path: Path) -> tuple[bytes, str]:
    """What is in a file, and what the file is called."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise fail("too-large", f"more than {MAX_BYTES} bytes", file=path.name)
    return data, path.name


def tools(text: str, config: Path | None) -> tuple[bytes, str]:
    """The tools/list document of a server, and what the server is called."""
    access = Access(find_target(text, config), None, SECONDS, oauth=False)

    async def listing() -> bytes:
        async with access.client(said) as client:
            found = await client.list_tools()
        return json.encode({"tools": [Raw(types.encode(tool)) for tool in found]})

    with explaining(access.target) as said:
        return run(listing), access.target.shown
