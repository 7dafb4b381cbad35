"""`WWW-Authenticate` (RFC 9110, RFC 6750): what a server that refuses asks for."""

from __future__ import annotations

import re

MAX_HEADER = 16 * 1024

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PART = re.compile(
    rf'({_TOKEN})(?:\s*=\s*(?:"([^"\\]*+(?:\\.[^"\\]*+)*)"|({_TOKEN})))?'
)
"""A parameter with its value, quoted or not; or a word alone, which is a scheme."""


def parse_challenge(header: str) -> dict[str, str]:
    """The parameters of all Bearer challenges; the first word on a matter counts."""
    said: dict[str, str] = {}
    scheme = ""
    for name, quoted, plain in (
        p.groups() for p in _PART.finditer(header[:MAX_HEADER])
    ):
        if quoted is None and plain is None:
            scheme = name.lower()
        elif scheme == "bearer":
            said.setdefault(name.lower(), plain or re.sub(r"\\(.)", r"\1", quoted))
    return said
