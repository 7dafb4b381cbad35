"""URLs that others name, and which of them are fit to be asked."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")

_URL = re.compile(r"[\x21\x23-\x5B\x5D\x5F\x61-\x7A\x7E]+")
"""The characters that a URL may have; none of them needs care in a header."""


def absolute(url: str, what: str) -> SplitResult:
    """The parts of a URL that names a server; ValueError when it does not."""
    try:
        parts = urlsplit(url)
        is_named = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_named = is_named and parts.port != 0
    except ValueError:  # a bad port, a bad IPv6 address
        is_named = False
    if not is_named or not _URL.fullmatch(url) or "#" in url or "@" in parts.netloc:
        raise ValueError(
            f"{what}: {url!r:.200} must be an absolute URL such as "
            "https://example.com/mcp, without fragment or user"
        )
    return parts


def secure(url: str, what: str, *, local: bool = True) -> SplitResult:
    """The same, where secrets travel: https, or (if `local`) within this machine."""
    parts = absolute(url, what)
    if parts.scheme != "https" and not (local and parts.hostname in LOOPBACK):
        raise ValueError(f"{what}: {url!r:.200} must be an https URL")
    return parts


def site(parts: SplitResult) -> str:
    """The URL without path and query, as it was written."""
    return f"{parts.scheme}://{parts.netloc}"
