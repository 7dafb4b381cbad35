"""The tools of a server, as the document that `mcpgen new --from` reads."""

from __future__ import annotations

from pathlib import Path

from msgspec import Raw, json

from ..protocol.newest import types
from .connecting import Access, explaining, run
from .targets import find_target

SECONDS = 60.0


def tools(text: str, config: Path | None) -> tuple[bytes, str]:
    """The tools/list document of a server, and what the server is called."""
    access = Access(find_target(text, config), None, SECONDS, oauth=False)

    async def listing() -> bytes:
        async with access.client(said) as client:
            found = await client.list_tools()
        return json.encode({"tools": [Raw(types.encode(tool)) for tool in found]})

    with explaining(access.target) as said:
        return run(listing), access.target.shown
