"""One request of HTTP, and all that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from ..recording import Entry
from .glimpse import is_message
from .session import Session

NO_HEADERS: Final[Mapping[str, str]] = {}


def place(path: Any) -> str:
    """A path without its query."""
    return path.partition("?")[0] if isinstance(path, str) else ""


class Exchange:
    """One request of HTTP, and all that answers it."""

    def __init__(self, entry: Entry, session: Session) -> None:
        http: Any = entry.http
        self.session = session
        self.verb: str = http.method
        self.place = place(http.path)
        self.headers: Mapping[str, str] = http.headers or NO_HEADERS
        self.foreign = False
        """Is it of something else than the protocol, such as of OAuth?"""
        self.opens = False
        """Is initialize in it?"""
        self.requests = False
        """Is a request in it, and not only notifications and responses?"""
        self.probes = False
        """Does it ask whether the server is a stateless one?"""
        self.messages = False
        self.refused: tuple[int, str] | None = None
        """The status that it has to be refused with, and why, if it must be."""
        self.status = 0
        self.type = ""


def is_page(exchange: Exchange, entry: Entry) -> bool:
    """Is it what HTTP answers by itself: an error, or what it shows to a browser?"""
    if entry.source != "server" or "event-stream" in exchange.type:
        return False
    answered = exchange.verb == "POST" and 200 <= exchange.status < 300
    return not answered and (entry.frame is UNSET or not is_message(entry))
