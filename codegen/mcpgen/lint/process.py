"""The server as a process: what it wrote to stderr, and how it ended."""

from __future__ import annotations

from msgspec import UNSET

from ..recording import Entry
from .rule import Rule
from .session import Journal, Session

EXIT = Rule(
    "server-exit",
    "warning",
    "the server ended with a failure",
    "A server ends with status 0 when its standard input is closed. Another status, or a signal, means "
    "that it crashed or had to be killed.",
    "look at its standard error; end quietly when standard input ends",
    whole=True,
)


class Process:
    """Stderr and the end."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.waits = False

    def entry(self, line: int, entry: Entry, session: Session) -> None:
        """A line of stderr, or the end."""
        if entry.source == "stderr":
            text = entry.text if entry.text is not UNSET else ""
            self._journal.stderr.append((line, text[:300]))
        elif entry.code is not UNSET and entry.code != 0:
            code = entry.code
            told = f"status {code}" if code > 0 else f"signal {-code}"
            self._journal.report(EXIT, line, f"the server ended with {told}")

    def tell(self) -> None:
        """More of stderr than this does not come."""
        self.waits = False
