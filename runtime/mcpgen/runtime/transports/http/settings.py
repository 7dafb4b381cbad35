"""What can be set about HTTP, and what it is when nobody does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from ...auth.bearer import Bearer


class Settings(Struct, kw_only=True, frozen=True, eq=False):
    """Everything about HTTP that has a default."""

    path: str = "/mcp"
    """Where the endpoint is, below where the application is mounted."""
    sse_path: str = "/sse"
    """Where clients of the oldest version open their stream; empty: nowhere."""
    messages_path: str = "/messages"
    """Where those clients post their messages."""
    allowed_hosts: tuple[str, ...] | list[str] = ()
    """Names that `Host` may have besides the loopback ones, with or without a port;
    `*` allows any. Without this check a web page could reach the server by giving its
    own name the server's address."""
    allowed_origins: tuple[str, ...] | list[str] = ()
    """Origins such as `https://example.com` of pages that may call the server, besides
    those on the loopback interface; `*` allows any."""
    auth: Bearer | None = None
    """Who may call: bearer tokens and what they stand for."""
    max_body: int = 4 * 2**20
    """Bytes that a request may have."""
    session_idle: float = 30 * 60
    """Seconds after which an unused session ends."""
    max_sessions: int = 10_000
    event_buffer: int = 1000
    """Messages kept for each stream, for clients that come back for them."""
    kept_streams: int = 100
    """Ended streams of a session that can still be asked for."""
    keep_alive: float = 15
    """Seconds after which a silent stream gets a comment."""
    stream_after: float = 0.1
    """Seconds after which the answer to a resumable request becomes a stream, so that
    its client can come back for it."""
    retry: int = 1000
    """Milliseconds that a client should wait before it comes back for a stream."""
