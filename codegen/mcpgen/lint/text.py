"""Text that somebody else wrote, fit for a finding."""

from __future__ import annotations

from ..diff.report import clipped, printable


def short(text: str, limit: int = 60) -> str:
    """On one line, of bounded length, without anything that a terminal obeys."""
    return clipped(printable(text[: limit + 1]), limit)
