"""A document that the command line names: a file, or an address to download it from."""

from __future__ import annotations

from pathlib import Path

from ..diagnostics import clip, fail
from ..load import MAX_BYTES

TIMEOUT = 30
"""Seconds without a byte after which a download is given up."""


def document(source: str) -> tuple[bytes, str]:
    """Its bytes, and what to call it: nothing that is secret, and no path."""
    if "://" in source:
        return _download(source), _public(source)
    return _read(source), Path(source).name


def _read(source: str) -> bytes:
    path = Path(source)
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)  # one more, so that `load` can refuse it
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise fail("file-unreadable", reason, file=path.name) from None


def _public(url: str) -> str:
    """The address without a password or token that it may carry."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise fail("url-malformed", f'"{clip(url)}": {error}') from None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _download(url: str) -> bytes:
    """The bytes behind an address; http and https only, bounded in size and time."""
    import urllib.request as request
    from http.client import HTTPException, IncompleteRead
    from urllib.error import HTTPError, URLError

    shown = clip(_public(url))
    if not url.lower().startswith(("https://", "http://")):
        raise fail(
            "url-scheme",
            f'"{shown}" is neither http nor https',
            hint="download the file and give its name",
        )
    # Put together by hand: the usual opener would follow a redirect to ftp.
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPRedirectHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPErrorProcessor,
        request.UnknownHandler,
    ):
        opener.add_handler(handler())
    try:
        with opener.open(url, timeout=TIMEOUT) as response:
            data: bytes = response.read(MAX_BYTES + 1)
            # A bounded read takes a connection that ends early for the end.
            if response.length and len(data) <= MAX_BYTES:
                raise IncompleteRead(data, response.length)
            return data
    except (URLError, HTTPException, OSError, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()
        raise fail(
            "url-unreachable",
            f"could not download {shown}: {clip(str(error))}",
            hint="check the address, or download the file and give its name",
        ) from None
