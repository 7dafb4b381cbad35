"""HTTP headers that repeat what a message says, as those who read recordings see them."""

from __future__ import annotations

import base64
import binascii

ARGUMENT = "mcp-param-"
"""What begins the names of headers that repeat arguments of a tool, in lower case."""


def meaning(value: str) -> str | None:
    """What a header means: text that does not fit into one is written as base64.

    None if it is not what it seems.
    """
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
