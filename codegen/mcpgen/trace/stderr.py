"""What the tracer itself has to say, where the server's words go, too."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress

STDERR = 2


def say(text: str) -> None:
    """Write a line on standard error, unless that would have to be waited for.

    It may be a pipe that nobody empties, and the session must not stand still for that.
    """
    data = f"{text}\n".encode(_encoding(), "backslashreplace")
    with suppress(OSError, ValueError):
        # Windows cannot tell, and has no such pipes in its consoles.
        if sys.platform == "win32" or select.select([], [STDERR], [], 0)[1]:
            os.write(STDERR, data)


def warn(text: str) -> None:
    """Say who says it, too."""
    say(f"mcpgen trace: {text}")


def _encoding() -> str:
    return getattr(sys.stderr, "encoding", None) or "utf-8"
