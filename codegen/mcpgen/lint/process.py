"""The server as a process: what it wrote to stderr, and how it ended."""

from __future__ import annotations

from msgspec import UNSET

from ..recording import Entry
from .rule import Rule
from .session import Journal
from .text import short

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

    def entry(self, line: int, entry: Entry) -> None:
        """A line of stderr, or the end."""
        if entry.source == "stderr":
            text = entry.text if entry.text is not UNSET else ""
            self._journal.stderr.append(short(text, 160))
            return
        self.explain()
        if entry.code is not UNSET and entry.code != 0:
            code = entry.code
            told = f"status {code}" if code > 0 else f"signal {-code}"
            self._journal.report(EXIT, line, f"the server ended with {told}")

    def explain(self) -> None:
        """Tell the failures that waited for more of stderr, with what came."""
        journal = self._journal
        shown = " | ".join(journal.stderr)
        for rule, line, told, path in journal.later:
            fix = f"{rule.fix}, which says: {shown}" if shown else ""
            journal.report(rule, line, told, path, fix)
        journal.later.clear()
