"""Text from a server, made safe for a terminal: it is not to be obeyed."""

from __future__ import annotations

import re
import sys
from typing import Any

import msgspec

from ..diff.report import clipped as clipped
from ..diff.report import printable

_UNPRINTABLE = re.compile(r"[^\n\x20-\x7E]")


def line(text: str, limit: int = 200) -> str:
    """Text on one line, with all that a terminal would obey made visible."""
    return clipped(printable(" ".join(text[: 10 * limit].split())), limit)


def block(text: str) -> str:
    """Text of several lines, the same; they stay as they are indented."""
    return "\n".join(printable(part.expandtabs().rstrip()) for part in text.split("\n"))


def compact(value: Any) -> str:
    """A value as JSON on one line."""
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return "…"


def pretty(data: bytes) -> str:
    """JSON text over many lines; what a terminal would obey is escaped in it."""
    try:
        text = msgspec.json.format(data, indent=2).decode()
    except RecursionError:
        text = data.decode()
    return _UNPRINTABLE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    if found[0].isprintable():
        return found[0]
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)
    )


def is_interactive() -> bool:
    """Is there somebody to ask, and to show what goes on?"""
    return sys.stdin.isatty() and sys.stderr.isatty()


def tell(text: str) -> None:
    """Say something besides the result: on standard error."""
    print(text, file=sys.stderr, flush=True)
