"""The user's browser: sent to a login page, awaited on a port of this machine."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from hmac import compare_digest
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

from ..errors import AuthError

Redirect: TypeAlias = Callable[[str], Awaitable[str]]
"""Takes the URL of a login page; gives the whole URL that the browser came back to."""

MAX_HEAD = 32 * 1024
HEAD_SECONDS = 2.0

_REQUEST = re.compile(rb"GET (/[\x21-\x7E]*) HTTP/1\.[01]\r\n")
# Nothing of the request is repeated on it, and nothing is loaded for it.
_PAGE = b"""HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r
Cache-Control: no-store\r\nContent-Security-Policy: default-src 'none'\r\n\r
<!doctype html><title>Thank you</title><p>Go on in your application.</p>
"""


@asynccontextmanager
async def listening(
    uri: str, before: str, redirect: Redirect | None
) -> AsyncIterator[tuple[str, Redirect]]:
    """Wait on loopback, unless there is a `redirect` that waits elsewhere.

    Yields where, and how to send the user there. Without a wish for a `uri` it is the
    one from `before`, as it may be registered, if nobody else has taken the port.
    """
    if redirect is not None:
        yield uri, redirect
        return
    parts = urlsplit(uri or before)
    wish = parts.port or 0
    with _listen(wish) if uri else _listen(wish, 0) as listener:
        listener.setblocking(False)
        netloc = f"{parts.hostname}:{listener.getsockname()[1]}"
        browse = partial(_browse, listener, parts.path or "/")
        yield parts._replace(netloc=netloc).geturl(), browse


def _listen(*ports: int) -> socket.socket:
    for port in ports:
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
    raise AuthError(f"port {ports[0]} of this machine is taken: nobody can come back")


async def _browse(listener: socket.socket, path: str, url: str) -> str:
    import threading

    # A thread of its own: some browsers run in the terminal, until they are left.
    threading.Thread(target=_show, args=[url], daemon=True).start()
    state = parse_qs(urlsplit(url).query)["state"][0]
    while not (came := await _visit(listener, path, state)):
        pass
    return came


def _show(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        print(f"Open this page in a browser to go on:\n{url}", file=sys.stderr)


async def _visit(listener: socket.socket, path: str, state: str) -> str:
    """One visitor: what it asks for, if it is the one who is awaited."""
    loop = asyncio.get_running_loop()
    visitor, _ = await loop.sock_accept(listener)
    with visitor, suppress(OSError):  # it may go away, or say nothing
        async with asyncio.timeout(HEAD_SECONDS):
            head = more = await loop.sock_recv(visitor, MAX_HEAD)
            while more and b"\r\n\r\n" not in head and len(head) < MAX_HEAD:
                head += (more := await loop.sock_recv(visitor, MAX_HEAD))
            request = _REQUEST.match(head)
            target = request[1].decode() if request else ""
            given = parse_qs(target.partition("?")[2]).get("state", [""])[0]
            is_right = compare_digest(given.encode(), state.encode())
            if is_right and target.partition("?")[0] == path:
                await loop.sock_sendall(visitor, _PAGE)
                return target
    return ""
