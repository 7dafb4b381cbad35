"""A small HTTP/1.1 client: of RFC 9112 what a client of MCP needs, and nothing lenient.

The hot path has no stream, task or queue: the loop hands the bytes of a socket to the
answer that waits for them, which parses them on the spot and wakes the one who asked.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Generator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar, cast
from urllib.parse import quote

from ..errors import ConnectionClosed

if TYPE_CHECKING:
    from ssl import SSLContext

BUFFER = 2**16  # asyncio's own 256 KiB for each piece take longer to get than to fill
HIGH_WATER = 2**20  # more unread bytes than this, and the socket is read no further
MAX_SIZE_LINE = 4096  # of a chunk: its size and its extensions

# Every pattern takes linear time. Text has no control characters but tabs.
_TEXT = r"[^\x00-\x08\x0a-\x1f\x7f]*"
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FIELD = re.compile(rf"\r\n({_TOKEN}):({_TEXT})")
_TRAILERS = re.compile(rf"((?:\r\n{_TOKEN}:{_TEXT})*)")
_STATUS = rf"HTTP/1\.([01]) (?!101)([1-5][0-9][0-9])(?: {_TEXT})?"
_HEAD = re.compile(_STATUS + _TRAILERS.pattern)
_SIZE = re.compile(rf"([0-9A-Fa-f]{{1,15}})[ \t]*(?:;{_TEXT})?")
_LENGTH = re.compile(r"([0-9]{1,15})(?:[ \t]*,[ \t]*\1)*")
_URL = re.compile(
    r"(https?)://([0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?"
    r"(/[^?#\x00-\x1f\x7f]*)?(\?[^#\x00-\x1f\x7f]*)?(?:#[^\x00-\x1f\x7f]*)?"
)
# If a caller could set these too, a request could be read in two ways.
_OURS = {"host", "accept-encoding", "content-length", "transfer-encoding", "connection"}
_OURS |= {"expect", "te", "trailer", "upgrade"}

Headers = Mapping[str, str]
T = TypeVar("T")
Parser = Generator[None, None, T]
"""A part of a parser, which yields when it needs more bytes."""

REPEATABLE = ("GET", "HEAD", "PUT", "DELETE")
"""Methods that do no more when they are sent twice (RFC 9110, 9.2.2)."""


class HttpBroken(ConnectionClosed):
    """No answer, or one that is cut or nonsense."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent
        """Can the server have seen any of the request? If not, it is safe to retry."""


class TooLarge(ConnectionClosed):
    """The body of an answer is larger than the caller allows."""


class Response(Protocol):
    """An answer, whose body is still to be read."""

    status: int
    headers: Headers
    """Names in lower case; the values of a repeated one joined with ", "."""

    async def read(self, limit: int) -> bytes:
        """The whole body; TooLarge if it has more bytes than that."""

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes; HttpBroken if it is cut before its end."""

    def close(self) -> None:
        """Be done with it, and with the connection if the body has not ended."""


class Requester(Protocol):
    """Who sends HTTP requests. Redirects and timeouts are the caller's business."""

    async def send(
        self, method: str, url: str, headers: Headers, body: bytes | None = None
    ) -> Response:
        """Send a request, and wait for the status and the headers of its answer."""

    async def close(self) -> None:
        """Close all connections, those in use too."""


@lru_cache(256)
def locate(url: str) -> tuple[str, str, str, int, str]:
    """Origin, authority, host, port and request target of a URL; ValueError if bad.

    The error does not quote the URL, which may hold secrets.
    """
    if (match := _URL.fullmatch(url)) is None:
        raise ValueError("no http or https URL, or one with a user or odd characters")
    scheme, host, port, path, query = match.groups("")
    default = "443" if scheme == "https" else "80"
    authority = host if port in ("", default) else f"{host}:{port}"
    # What is percent-encoded already stays as it is.
    target = quote((path or "/") + query, safe="!$%&'()*+,/:;=?@")
    origin = f"{scheme}://{authority}".lower()
    return origin, authority, host.strip("[]"), int(port or default), target


def proxied(url: str) -> bool:
    """Does the environment, or the system, demand a proxy for it?"""
    names = [name for name in os.environ if name.lower().endswith("_proxy")]
    if not names and sys.platform not in ("darwin", "win32"):
        return False  # without an import that takes long
    from urllib.request import getproxies, proxy_bypass

    origin, authority, host, _, _ = locate(url)
    wanted = getproxies().keys() & {"all", origin.partition(":")[0]}
    return bool(wanted) and not (proxy_bypass(authority) or proxy_bypass(host))


@lru_cache(256)
def _settable(name: str) -> bool:
    return re.fullmatch(_TOKEN, name) is not None and name.lower() not in _OURS


def header_lines(headers: Headers) -> str:
    """Headers as they are sent; ValueError, without the value, if that is not safe."""
    for name, value in headers.items():
        if not _settable(name):
            raise ValueError(f"the HTTP header {name!r} cannot be set by a caller")
        if not (value.isascii() and value.replace("\t", " ").isprintable()):
            raise ValueError(f"the value of the HTTP header {name!r} is not plain text")
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])


class Body(AsyncIterator[bytes]):
    """The body of an answer, for subclasses that know the next part of it."""

    def close(self) -> None:
        """Be done with it."""
        raise NotImplementedError

    async def read(self, limit: int) -> bytes:
        """The whole body; TooLarge if it has more bytes than that."""
        body = bytearray()
        async for part in self:
            body += part
            if len(body) > limit:
                self.close()
                raise TooLarge(f"the answer has more than {limit} bytes")
        return bytes(body)

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes; HttpBroken if it is cut before its end."""
        return self


class Http1:
    """A `Requester` that keeps connections alive."""

    def __init__(
        self,
        *,
        connect_timeout: float = 10.0,
        verify: SSLContext | None = None,
        max_headers: int = 64 * 1024,
        idle: float = 60.0,
        connections: int = 100,
    ) -> None:
        self._connect_timeout = connect_timeout
        self._tls = verify
        self._max_headers = max_headers
        self._closed = False
        self._pools = defaultdict[str, _Pool](lambda: _Pool(connections, idle))

    async def send(
        self, method: str, url: str, headers: Headers, body: bytes | None = None
    ) -> Response:
        """Send a request, and wait for the status and the headers of its answer."""
        origin, authority, _, _, target = locate(url)
        if not _settable(method):
            raise ValueError(f"{method!r} is no HTTP method")
        start = f"{method} {target} HTTP/1.1\r\nhost: {authority}\r\n"
        head = f"{start}accept-encoding: identity\r\n{header_lines(headers)}"
        if body is not None or method in ("POST", "PUT", "PATCH"):
            head += f"content-length: {len(body or b'')}\r\n"
        request = f"{head}\r\n".encode("ascii") + (body or b"")
        pool = self._pools[origin]
        for again in (False, True):
            await pool.slots.acquire()
            answer = _Answer(pool, self._max_headers, method == "HEAD")
            try:
                if again or not pool.idle or not answer.follow(pool.idle.pop()):
                    await self._connect(answer, url, sent=again)
                if await answer.begins(request, method in REPEATABLE):
                    break
            except BaseException:
                answer.close()
                raise
            for stale in pool.idle:  # where one was, all may be
                stale.transport.abort()
        return answer

    async def _connect(self, answer: _Answer, url: str, *, sent: bool) -> None:
        origin, _, host, port, _ = locate(url)
        tls = self._trust() if origin.startswith("https:") else None
        loop = asyncio.get_running_loop()
        try:
            if not self._closed:
                async with asyncio.timeout(self._connect_timeout):
                    await loop.create_connection(lambda: answer, host, port, ssl=tls)
        except (OSError, OverflowError, UnicodeError) as error:
            why = str(error) or f"nothing happened in {self._connect_timeout} seconds"
            raise HttpBroken(f"no connection to {origin}: {why}", sent=sent) from error
        if self._closed:
            raise HttpBroken("the HTTP client is closed", sent=sent)

    def _trust(self) -> SSLContext:
        if self._tls is None:
            from ssl import create_default_context

            self._tls = create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    async def close(self) -> None:
        """Close all connections, those in use too."""
        self._closed = True
        pools = self._pools.values()
        while any(pool.open for pool in pools):
            for pool in pools:
                pool.close()
            await asyncio.sleep(0)  # sockets are closed in the loop's next turn


class _Pool:
    """The connections to one origin, each known by its last answer."""

    def __init__(self, connections: int, idle_time: float) -> None:
        self.slots = asyncio.Semaphore(connections)  # one for each exchange
        self.idle_time = idle_time
        self.idle: list[_Answer] = []  # the one used last is at the end
        self.open: set[_Answer] = set()
        self.buffer = memoryview(bytearray(BUFFER))
        self._loop = asyncio.get_running_loop()
        self._sweep: asyncio.TimerHandle | None = None  # one timer for all

    def keep(self, answer: _Answer) -> None:
        """Keep its connection for the next request, but not for ever."""
        answer.idle_since = self._loop.time()
        self.idle.append(answer)
        if self._sweep is None:
            self._sweep = self._loop.call_later(self.idle_time, self._close_idle)

    def _close_idle(self) -> None:
        now = self._loop.time()
        for answer in self.idle:
            if answer.idle_since + self.idle_time <= now:
                answer.transport.abort()
        left = [a.idle_since for a in self.idle if not a.transport.is_closing()]
        self._sweep = None
        if left:
            self._sweep = self._loop.call_at(
                min(left) + self.idle_time, self._close_idle
            )

    def close(self) -> None:
        """Close all connections, those in use too."""
        if self._sweep is not None:
            self._sweep.cancel()
        for answer in list(self.open):
            answer.close()
            answer.transport.abort()


class _Answer(asyncio.BufferedProtocol, Body):
    """One exchange, which feeds a parser while the caller reads what that gives.

    It stays the protocol of the connection until another exchange follows.
    """

    transport: asyncio.Transport
    idle_since = 0.0

    def __init__(self, pool: _Pool, max_headers: int, bodiless: bool) -> None:
        self.status = 0
        self.headers: Headers = {}
        self._pool = pool
        self._parser = self._parse(max_headers, bodiless)
        self._unparsed, self._unread = bytearray(), bytearray()
        self._until_eof = self._reusable = False  # what the headers say
        self._may_be_stale = False  # idle before, and no byte has come
        self._news = asyncio.Event()
        self._over = False
        self._error: HttpBroken | None = None

    def follow(self, previous: _Answer) -> bool:
        """Use its connection, unless that is being closed."""
        transport = previous.transport
        if transport.is_closing() or _has_something(transport):
            transport.abort()
            return False
        self._pool.open.discard(previous)
        self._may_be_stale = True
        transport.set_protocol(self)
        self.connection_made(transport)
        return True

    async def begins(self, request: bytes, repeatable: bool) -> bool:
        """Send the request; has it an answer, or was an idle connection closed?

        A server may have acted on what it read before it hung up, so what must not
        happen twice is not sent again.
        """
        if not self._over:
            self.transport.write(request)
            self._may_be_stale = repeatable and self._may_be_stale
        try:
            while not self.status:
                await self._more()
        except HttpBroken:
            if not self._may_be_stale:
                raise
        return bool(self.status)

    async def __anext__(self) -> bytes:
        while not self._unread:
            if self._over and self._error is None:
                raise StopAsyncIteration
            await self._more()
        part = bytes(self._unread)
        self._unread.clear()
        if not self._over:
            self.transport.resume_reading()
        return part

    async def _more(self) -> None:
        if self._error is not None:
            raise self._error
        self._news.clear()
        try:
            await self._news.wait()
        except asyncio.CancelledError:
            self.close()
            raise

    def close(self) -> None:
        """Be done with it, and with the connection if the body has not ended."""
        self._end(HttpBroken("the answer was closed before its end"))

    def _end(self, error: HttpBroken | None = None) -> None:
        if self._over:
            return
        self._over, self._error = True, error
        self._news.set()
        self._pool.slots.release()
        if self not in self._pool.open:
            return
        # An early answer leaves some of the request unsent.
        unsent = self.transport.get_write_buffer_size()
        if error or unsent or self._unparsed or not self._reusable:
            self.transport.abort()
            return
        self._pool.keep(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection."""
        self.transport = cast(asyncio.Transport, transport)
        self._pool.open.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        """There is none any more."""
        self._pool.open.discard(self)
        if self in self._pool.idle:
            self._pool.idle.remove(self)
        complete = self._until_eof and error is None
        why = f"the connection broke: {error or 'the server hung up'}"
        self._end(None if complete else HttpBroken(why))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to put what comes: always the same place, it is taken from there at once."""
        return self._pool.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse what came."""
        if self._over:  # nobody has asked for it
            self.transport.abort()
            return
        self._may_be_stale = False
        self._unparsed += self._pool.buffer[:nbytes]
        try:
            next(self._parser)
        except StopIteration:
            self._end()
        except ValueError as error:
            self._end(HttpBroken(f"the answer is not proper HTTP/1.1: {error}"))
        else:
            self._news.set()
            if len(self._unread) > HIGH_WATER:
                self.transport.pause_reading()

    def _parse(self, room: int, bodiless: bool) -> Parser[None]:
        """Parse what there is, and yield for more; `room` is what headers may take."""
        status = "1"
        while status.startswith("1"):  # interim answers
            while len(self._unparsed) < 7:
                yield
            if not self._unparsed.startswith(b"HTTP/1."):
                raise ValueError("no status line")
            head = yield from self._until(b"\r\n\r\n", room)
            room -= len(head)
            minor, status, fields = _match(_HEAD, head, "status line or headers")
        headers: dict[str, str] = {}
        for name, value in _FIELD.findall(fields):
            name, value = name.lower(), value.strip(" \t")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        length, coding = headers.get("content-length"), headers.get("transfer-encoding")
        bodiless = bodiless or status in ("204", "304")
        if not bodiless and headers.get("content-encoding", "identity") != "identity":
            raise ValueError("encoding that was not offered")
        if coding is not None:
            if coding.lower() != "chunked" or length is not None or minor == "0":
                raise ValueError("bad or contradicted transfer-encoding")
        elif length is not None:
            size = int(_match(_LENGTH, length, "content-length")[0])
        options = headers.get("connection", "").lower().replace(" ", "").split(",")
        self._reusable = minor == "1" and "close" not in options
        self.status, self.headers = int(status), headers
        if bodiless:
            return
        if coding is not None:
            yield from self._chunked(room)
        elif length is not None:
            yield from self._take(size)
        else:
            self._until_eof = True
            yield from self._take(sys.maxsize)

    def _chunked(self, room: int) -> Parser[None]:
        while size := (yield from self._chunk_size()):
            yield from self._take(size)
            yield from self._until(b"\r\n", 0)
        self._unparsed[:0] = b"\r\n"  # so that trailers look like headers
        trailers = yield from self._until(b"\r\n\r\n", room)
        _match(_TRAILERS, trailers, "trailers")

    def _chunk_size(self) -> Parser[int]:
        line = yield from self._until(b"\r\n", MAX_SIZE_LINE)
        return int(_match(_SIZE, line, "size of a chunk")[0], 16)

    def _take(self, size: int) -> Parser[None]:
        """So much belongs to the body."""
        while size > len(self._unparsed):
            size -= len(self._unparsed)
            self._unread += self._unparsed
            self._unparsed.clear()
            yield
        self._unread += self._unparsed[:size]
        del self._unparsed[:size]

    def _until(self, mark: bytes, limit: int) -> Parser[str]:
        """The text before a mark, which has no more bytes than the limit."""
        most = limit + len(mark)
        while (end := self._unparsed.find(mark, 0, most)) < 0:
            if len(self._unparsed) >= most:
                raise ValueError("something in it is too long")
            yield
        text = self._unparsed[:end].decode("latin-1")
        del self._unparsed[: end + len(mark)]
        return text


def _has_something(transport: asyncio.Transport) -> bool:
    """Is there something to read, though nothing was asked? Then it is a hang-up."""
    fd = transport.get_extra_info("socket").fileno()
    if not hasattr(select, "poll"):
        return bool(select.select([fd], [], [], 0)[0])
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _match(pattern: re.Pattern[str], text: str, what: str) -> tuple[str, ...]:
    if (match := pattern.fullmatch(text)) is None:
        raise ValueError(f"bad {what}")
    return match.groups("")
