"""A reverse proxy on 127.0.0.1 that passes on what it gets, as it gets it.

Each connection of a client has one to the server, and both share their fate: who hangs
up, hangs up on both. So nothing is pooled, retried, buffered or put together anew; only
the heads of messages are touched, and bodies keep even the chunks in which they came.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from . import heads
from .backlog import Backlog
from .stderr import warn

if TYPE_CHECKING:
    from ssl import SSLContext

    from .heads import Head

CONNECT_SECONDS = 10.0
MAX_HEAD = 64 * 1024
MAX_SIZE_LINE = 4096
HIGH_WATER = 2**20
"""Unparsed or unsent bytes, with which no more is read."""
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?")

Parser = Generator[None, None, None]


@dataclass(frozen=True)
class Upstream:
    """The server that all goes to."""

    origin: str
    authority: str
    host: str
    port: int

    @property
    def is_secure(self) -> bool:
        """Is it spoken to over TLS?"""
        return self.origin.startswith("https:")


class Proxy:
    """Listens, and makes a pair of connections of every one that comes."""

    def __init__(self, upstream: Upstream, backlog: Backlog) -> None:
        self.upstream, self.backlog = upstream, backlog
        self.port = 0
        self.exchanges = 0
        self.open: set[_Side] = set()
        self.connecting: set[asyncio.Task[None]] = set()
        self.is_over = False
        self._tls: SSLContext | None = None

    async def serve(
        self, port: int, ready: Callable[[int], None], over: asyncio.Event
    ) -> None:
        """Serve until it is over; `ready` is told the port."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Client(self), "127.0.0.1", port)
        self.port = server.sockets[0].getsockname()[1]
        ready(self.port)
        try:
            await over.wait()
        finally:
            self.is_over = True
            server.close()
            while self.open or self.connecting:
                for side in list(self.open):
                    side.abort()
                await asyncio.sleep(0)  # sockets are closed in the loop's next turn

    async def connect(self, side: _Server) -> None:
        """Connect a side to the server; OSError if that cannot be."""
        upstream = self.upstream
        if upstream.is_secure and self._tls is None:
            from ssl import create_default_context

            self._tls = create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        async with asyncio.timeout(CONNECT_SECONDS):
            await asyncio.get_running_loop().create_connection(
                lambda: side,
                upstream.host,
                upstream.port,
                ssl=self._tls if upstream.is_secure else None,
            )


class _Side(asyncio.Protocol):
    """A connection, whose messages go on to another one."""

    transport: asyncio.Transport | None = None
    other: _Side | None = None
    name = ""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.exchange = 0
        self._unparsed, self._unsent = bytearray(), bytearray()
        self._parser = self._parse()
        self._is_full = False

    def _parse(self) -> Parser:
        raise NotImplementedError

    def note(self, kind: str, data: bytes = b"") -> None:
        """Let it be recorded."""
        self.proxy.backlog.note((kind, self.exchange, data), len(data))

    # --- what the loop calls ----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection: send what has waited for it."""
        self.proxy.open.add(self)
        self.transport = cast(asyncio.Transport, transport)
        if self.proxy.is_over:
            self.abort()
        self.transport.set_write_buffer_limits(HIGH_WATER)
        self._flush()

    def connection_lost(self, error: Exception | None) -> None:
        """There is none any more."""
        self.proxy.open.discard(self)

    def data_received(self, data: bytes) -> None:
        """Parse it, and pass it on in one piece."""
        self._unparsed += data
        self.go_on()

    def go_on(self) -> None:
        """Parse what there is."""
        try:
            next(self._parser)
        except ValueError as error:
            self.is_nonsense(str(error))
        except StopIteration:  # it was refused
            self._unparsed.clear()
        if self.other is not None:
            self.other._flush()
        self._regulate()

    def eof_received(self) -> None:
        """The other end sends no more, so all is over when everything is sent."""

    def pause_writing(self) -> None:
        """More is unsent than should be."""
        self._is_full = True
        if self.other is not None:
            self.other._regulate()

    def resume_writing(self) -> None:
        """It is sent."""
        self._is_full = False
        if self.other is not None:
            self.other._regulate()

    # ----------------------------------------------------------------------------------

    def _regulate(self) -> None:
        """Read on, if what was read can go on."""
        if self.transport is None or self.transport.is_closing():
            return
        blocked = self.other is not None and self.other.is_full
        if blocked or len(self._unparsed) > HIGH_WATER:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    @property
    def is_full(self) -> bool:
        """Can it take no more for now?"""
        return self._is_full or len(self._unsent) > HIGH_WATER

    def send(self, data: bytes) -> None:
        """Send it with the next flush."""
        self._unsent += data

    def _flush(self) -> None:
        if self._unsent and self.transport is not None:
            self.transport.write(bytes(self._unsent))
            self._unsent.clear()

    def abort(self) -> None:
        """Be done with it."""
        if self.transport is not None:
            self.transport.abort()

    def finish(self) -> None:
        """Be done with it when all is sent."""
        self._flush()
        if self.transport is not None:
            self.transport.close()

    def is_nonsense(self, problem: str) -> None:
        """What came cannot be passed on."""
        raise NotImplementedError

    # --- what is common to requests and responses ----------------------------------------

    def _head(self) -> Generator[None, None, bytes]:
        while self._unparsed[:2] == b"\r\n":  # some send an empty line before
            del self._unparsed[:2]
        return (yield from self._until(b"\r\n\r\n", MAX_HEAD))

    def _until(self, mark: bytes, limit: int) -> Generator[None, None, bytes]:
        most = limit + len(mark)
        while (end := self._unparsed.find(mark, 0, most)) < 0:
            if len(self._unparsed) >= most:
                raise ValueError("something in it is too long")
            yield
        text = bytes(self._unparsed[:end])
        del self._unparsed[: end + len(mark)]
        return text

    def _body(self, size: int | None) -> Parser:
        """Pass a body on; None: it has no end but the connection's."""
        if size == -1:
            while part := (yield from self._chunk_size()):
                yield from self._take(part)
                self._pass_on((yield from self._until(b"\r\n", 0)) + b"\r\n")
            while line := (yield from self._until(b"\r\n", MAX_HEAD)):  # trailers
                self._pass_on(line + b"\r\n")
            self._pass_on(b"\r\n")
            return
        yield from self._take(2**63 if size is None else size)

    def _chunk_size(self) -> Generator[None, None, int]:
        line = yield from self._until(b"\r\n", MAX_SIZE_LINE)
        if not (found := _SIZE.fullmatch(line)):
            raise ValueError("bad size of a chunk")
        self._pass_on(line + b"\r\n")
        return int(found[1], 16)

    def _take(self, size: int) -> Parser:
        while size:
            while not self._unparsed:
                yield
            piece = bytes(self._unparsed[:size])
            del self._unparsed[: len(piece)]
            size -= len(piece)
            self.note(f"{self.name} body", piece)
            self._pass_on(piece)

    def _pass_on(self, data: bytes) -> None:
        if self.other is not None:
            self.other.send(data)


class _Client(_Side):
    """A connection that a client made."""

    name = "request"
    other: _Server | None = None
    is_asking = False
    """Is a request under way that is not answered to its end?"""

    def connection_lost(self, error: Exception | None) -> None:
        """It has gone: so do we, on the other side."""
        super().connection_lost(error)
        if self.is_asking:
            self.is_asking = False
            self.note("given up")
        if self.other is not None:
            self.other.abort()

    def _parse(self) -> Parser:
        while True:
            data = yield from self._head()
            head = heads.request(data)
            size = heads.body_size(head)
            if not heads.is_loopback(head):
                self.refuse(421, "Misdirected Request", "the Host is not this machine")
                return
            self._begin(data, head)
            yield from self._body(0 if size is None else size)
            self.note("request end")
            while self.is_asking:
                yield

    def _begin(self, data: bytes, head: Head) -> None:
        proxy = self.proxy
        if self.other is None:
            self.other = _Server(proxy, self)
            self.other.start()
        proxy.exchanges += 1
        self.exchange = self.other.exchange = proxy.exchanges
        self.is_asking, self.other.method = True, head.method
        self.note("request", data)
        upstream = proxy.upstream
        changes = heads.readable(head) | {b"host": upstream.authority.encode("ascii")}
        ours = (f"http://127.0.0.1:{proxy.port}", f"http://localhost:{proxy.port}")
        if head.text(b"origin") in ours:  # a page that came through us
            changes[b"origin"] = upstream.origin.encode("ascii")
        self.other.send(heads.passed_on(head, changes))

    def is_nonsense(self, problem: str) -> None:
        """It is told so, and no more is heard of it."""
        self.refuse(400, "Bad Request", problem)

    def refuse(self, status: int, reason: str, problem: str) -> None:
        """Answer a request ourselves, and hang up."""
        body = f"mcpgen trace: {problem}\n".encode()
        start = b"HTTP/1.1 %d %b" % (status, reason.encode("ascii"))
        fields = [b"Content-Type: text/plain; charset=utf-8", b"Connection: close"]
        fields.append(b"Content-Length: %d" % len(body))
        head = b"\r\n".join([start, *fields])
        if self.is_asking and self.other is not None and not self.other.is_answering:
            self.note("response", head)
            self.note("response body", body)
            self.note("response end")
        else:
            warn(f"refused a request: {problem}")
        self.is_asking = False
        self.send(head + b"\r\n\r\n" + body)
        self.finish()


class _Server(_Side):
    """The connection to the server that belongs to one of a client."""

    name = "response"
    other: _Client
    task: asyncio.Task[None]
    method = ""
    """Of the request that is to be answered."""
    is_answering = False
    _ends_with_connection = False

    def __init__(self, proxy: Proxy, client: _Client) -> None:
        super().__init__(proxy)
        self.other = client

    def start(self) -> None:
        """Connect as soon as can be; what is sent until then waits."""
        connecting = self.proxy.connecting
        self.task = asyncio.get_running_loop().create_task(self.connect())
        connecting.add(self.task)
        self.task.add_done_callback(connecting.discard)

    async def connect(self) -> None:
        """Connect, or tell the client that it cannot be."""
        try:
            await self.proxy.connect(self)
        except (OSError, UnicodeError) as error:
            origin = self.proxy.upstream.origin
            why = str(error) or f"nothing happened in {CONNECT_SECONDS:g} seconds"
            self.other.refuse(502, "Bad Gateway", f"no connection to {origin}: {why}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected; but perhaps the client has gone meanwhile."""
        super().connection_made(transport)
        if self.other.transport is None or self.other.transport.is_closing():
            self.abort()
        self.other._regulate()

    def connection_lost(self, error: Exception | None) -> None:
        """The server has hung up."""
        super().connection_lost(error)
        self._break_off("response end" if self._ends_with_connection else "broken")

    def _break_off(self, end: str) -> None:
        if self.other.is_asking:
            self.other.is_asking = False
            self.note(end)
        self.other.finish()

    def abort(self) -> None:
        """Be done with it, even before it is connected."""
        self.task.cancel()
        super().abort()

    def _parse(self) -> Parser:
        client = self.other
        while True:
            data = yield from self._head()
            head = heads.response(data)
            if not client.is_asking:
                raise ValueError("an answer to nothing")
            status, size = head.status, heads.body_size(head)
            if status == 101:
                raise ValueError("another protocol, which nobody asked for")
            client.send(heads.passed_on(head, {}))
            if status < 200:
                continue
            self.is_answering = True
            self.note("response", data)
            if self.method == "HEAD" or status in (204, 304):
                size = 0
            self._ends_with_connection = size is None
            yield from self._body(size)
            self.is_answering = client.is_asking = False
            self.note("response end")
            client.go_on()

    def is_nonsense(self, problem: str) -> None:
        """The client is told so, if it waits for an answer and has nothing of it."""
        problem = f"the server sent no proper HTTP: {problem}"
        if self.other.is_asking and not self.is_answering:
            self.other.refuse(502, "Bad Gateway", problem)
        else:
            warn(problem)
            self._break_off("broken")
        super().abort()
