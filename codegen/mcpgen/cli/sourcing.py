"""What `--from` names, as the bytes of a document."""

from __future__ import annotations

from pathlib import Path

from msgspec import Raw, json

from ..load import MAX_BYTES
from ..protocol.newest import types
from .connecting import Access, explaining, run
from .targets import find_target

SECONDS = 60.0


def document(path: Path) -> tuple[bytes, str]:
    """What is in a file, and what the file is called."""
    with path.open("rb") as file:
        # One more than is allowed: whoever reads it says so.
        return file.read(MAX_BYTES + 1), path.name


def tools(text: str, config: Path | None) -> tuple[bytes, str]:
    """The tools/list document of a server, and what the server is called."""
    access = Access(find_target(text, config), None, SECONDS, oauth=False)

    async def listing() -> bytes:
        async with access.client(said) as client:
            found = await client.list_tools()
        return json.encode({"tools": [Raw(types.encode(tool)) for tool in found]})

    with explaining(access.target) as said:
        return run(listing), access.target.shown
