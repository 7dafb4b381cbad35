"""Text that somebody else wrote, fit for a finding."""

from __future__ import annotations

import json
import re

from ..diff.report import clipped, printable


def short(text: str, limit: int = 60) -> str:
    """On one line, of bounded length, without anything that a terminal obeys."""
    return clipped(printable(text[: limit + 1]), limit)


def who_has(names: list[str]) -> str:
    """`this one has`, or `this one, that one have`."""
    return f"{', '.join(names)} {'has' if len(names) == 1 else 'have'}"


def step(key: str) -> str:
    """One step down in a path: `.name`, or `["anything else"]`."""
    if re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII) and len(key) <= 60:
        return f".{key}"
    return f"[{json.dumps(short(key))}]"
