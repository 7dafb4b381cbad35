"""Transports: how messages come in and go out, one message at a time.

A transport is a function that makes a `Writer`, hands it to `connect`, and feeds the
`Receiver` that comes back until the peer is gone. It knows nothing of what messages say.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias


class Receiver(Protocol):
    """What a transport feeds.

    It may also have `too_long(limit: int) -> Awaitable[None] | None`: a message of more
    than `limit` bytes came and was dropped. Without it, a line on stderr says so.
    """

    def receive(self, data: bytes) -> Awaitable[None] | None:
        """Take one message. An awaitable means: busy, wait for it before you read on."""

    def closed(self) -> Awaitable[None] | None:
        """The peer is gone. What is awaited may still write, for the grace period."""


class Writer(Protocol):
    """What a transport sends with, on the event loop's thread only."""

    def write(self, data: bytes) -> None:
        """Send one message (no newline in it), soon; nothing happens if the peer is gone."""

    async def drain(self) -> None:
        """Wait until little enough is unsent; who writes much should."""


Connect: TypeAlias = Callable[[Writer], Receiver]
