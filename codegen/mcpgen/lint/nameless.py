"""Sessions over HTTP without an id: which of them does a message belong to?

Servers need not give ids. Then nothing tells several clients apart but what they say: a
message belongs where it fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import UNSET

from ..recording import Entry
from .glimpse import Glimpse, glimpse
from .seen import usable
from .session import Session
from .words import CANCELLED, INITIALIZED

AT_ONCE: Final = 20
"""So many are followed; of more, the one is over that was silent the longest."""


class Nameless:
    """The sessions without an id; who spoke last stands last."""

    def __init__(self) -> None:
        self._open: list[Session] = []

    def __iter__(self) -> Iterator[Session]:
        return iter(self._open)

    def open(self, session: Session) -> None:
        """A client has sent initialize."""
        self._open.append(session)
        if len(self._open) > AT_ONCE:
            self._open.pop(0).end()

    def discard(self, session: Session) -> bool:
        """It is none of these any more; was it one?"""
        if session not in self._open:
            return False
        self._open.remove(session)
        return True

    def of(self, entry: Entry, spoken: str | None) -> Session | None:
        """Where a message belongs that was sent with this version in its header."""
        if not self._open:
            return None
        if len(self._open) > 1:
            message = glimpse(entry)
            best = max(
                range(len(self._open)),
                key=lambda at: (*_fit(self._open[at], spoken, message), at),
            )
            self._open.append(self._open.pop(best))
        return self._open[-1]


def _fit(
    session: Session, spoken: str | None, message: Glimpse | None
) -> tuple[bool, int]:
    """How well a message fits into a session: the more the better."""
    version = session.version
    agrees = spoken is None or (version is not None and version.name == spoken)
    return agrees, 0 if message is None else _likely(session, message)


def _likely(session: Session, message: Glimpse) -> int:
    client, server = session.parties["client"], session.parties["server"]
    id = usable(message.id)
    if message.method is UNSET:
        return id in server.pending
    if id is not None:
        if id in client.seen:
            return 0
        # Most clients count up.
        return 2 if type(id) is int and id - 1 in client.seen else 1
    if message.method == INITIALIZED:
        return not session.ready
    if message.method == CANCELLED and isinstance(message.params, dict):
        id = usable(message.params.get("requestId"))
        call = client.pending.get(id) if id is not None else None
        return call is not None and not call.cancelled
    return 0
