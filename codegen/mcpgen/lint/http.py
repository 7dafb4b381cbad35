"""What HTTP says around the messages."""

from __future__ import annotations

from collections.abc import Callable

from ..recording import Entry
from .session import Journal, Session


class Traffic:
    """The exchanges, and the sessions that they belong to."""

    def __init__(
        self, journal: Journal, session: Session, new: Callable[[], Session]
    ) -> None:
        self._journal = journal
        self._session = session
        self._new = new

    def entry(self, line: int, entry: Entry) -> Session:
        """The session that an entry belongs to."""
        return self._session

    def text(self, line: int, entry: Entry) -> None:
        """A body that is no JSON."""

    def ended(self, line: int, entry: Entry) -> None:
        """An answer is over."""

    def end(self) -> None:
        """The recording is over."""
        self._session.end()
