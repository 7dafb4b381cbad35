"""Drives a server over HTTP: some sockets, one selector, and the least of parsing.

What one connection does is a generator: it yields a request and is sent the response.
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections.abc import Generator, Sequence
from typing import NamedTuple, TypeVar

from .process import Process
from .wire import Request, Wire, check, new_id

START_LIMIT = 30.0
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_SESSION = re.compile(rb"\r\nmcp-session-id: *([!-~]+)", re.IGNORECASE)
_EVENT = re.compile(rb"^data: *({.*)$", re.MULTILINE)

T = TypeVar("T")


class Response(NamedTuple):
    """What came back."""

    head: bytes
    body: bytes

    @property
    def message(self) -> bytes:
        """The one message in it, plain or as an event."""
        event = _EVENT.search(self.body)
        return event[1] if event else self.body


Script = Generator[bytes, Response, T]


class HttpServer(Process):
    """A server process that listens on a port; it is ready when this returns."""

    def __init__(self, command: list[str]) -> None:
        self.port = _free_port()
        self._sockets: list[socket.socket] = []
        super().__init__([part.format(port=self.port) for part in command], pipes=False)
        end = time.monotonic() + START_LIMIT
        while not self._sockets:
            if self.child.poll() is not None or time.monotonic() > end:
                raise self.failed()
            try:
                self._sockets.append(_connected(self.port))
            except ConnectionRefusedError:
                time.sleep(0.01)

    def close(self) -> None:
        """End the process and the connections to it."""
        for connection in self._sockets:
            connection.close()
        super().close()

    def open_sessions(
        self, wire: Wire, number: int, connections: int = 16
    ) -> list[bytes]:
        """Open sessions and leave them open; their ids, which are empty without any."""
        if not wire.opening:
            return [b""] * number
        parts = [len(range(at, number, connections)) for at in range(connections)]
        found = self._run([_open(wire, self.port, part) for part in parts])
        return [id for ids in found for id in ids]

    def time_per_call(
        self, wire: Wire, request: Request, sessions: Sequence[bytes], duration: float
    ) -> float:
        """Seconds a call, with a keep-alive connection for every session."""
        start = time.perf_counter()
        end = start + duration
        done = self._run(
            [_call(wire, self.port, request, session, end) for session in sessions]
        )
        took = time.perf_counter() - start
        for ids, answers in done:
            check(answers, ids)
        return took / sum(len(ids) for ids, _ in done)

    def _run(self, scripts: Sequence[Script[T]]) -> list[T]:
        """Run a script on each of as many connections; what they return."""
        while len(self._sockets) < len(scripts):
            self._sockets.append(_connected(self.port))
        results: dict[int, T] = {}
        with selectors.DefaultSelector() as selector:
            for number, script in enumerate(scripts):
                self._sockets[number].sendall(next(script))
                selector.register(
                    self._sockets[number], selectors.EVENT_READ, (number, script, [])
                )
            while len(results) < len(scripts):
                for key, _ in selector.select():
                    number, script, parts = key.data
                    connection = self._sockets[number]
                    parts.append(connection.recv(1 << 20))
                    if not parts[-1]:
                        raise self.failed()
                    response = _complete(b"".join(parts))
                    if response is None:
                        continue
                    parts.clear()
                    try:
                        connection.sendall(script.send(response))
                    except StopIteration as stop:
                        results[number] = stop.value
                        selector.unregister(connection)
        return [results[number] for number in range(len(scripts))]


def _open(wire: Wire, port: int, number: int) -> Script[list[bytes]]:
    ids = []
    first, *others = wire.opening
    for _ in range(number):
        response = yield _post(_head(wire, port, "initialize"), first)
        session = _SESSION.search(response.head)
        if session is None:
            raise RuntimeError(f"no session was opened: {response}")
        ids.append(session[1])
        for message in others:
            yield _post(_head(wire, port, "", session=session[1]), message)
    return ids


def _call(
    wire: Wire, port: int, request: Request, session: bytes, end: float
) -> Script[tuple[list[int], list[bytes]]]:
    head = _head(wire, port, request.method, request.name, session)
    ids: list[int] = []
    responses: list[Response] = []
    while not ids or time.perf_counter() < end:
        ids.append(new_id())
        responses.append((yield _post(head, request.text(ids[-1]))))
    return ids, [response.message for response in responses]


def _head(
    wire: Wire, port: int, method: str, name: str = "", session: bytes = b""
) -> bytes:
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
    ]
    if method != "initialize":
        lines.append(f"MCP-Protocol-Version: {wire.version}")
    if wire.meta:  # a request that says all about itself says it in its headers, too
        lines.append(f"Mcp-Method: {method}")
        if name:
            lines.append(f"Mcp-Name: {name}")
    if session:
        lines.append(f"Mcp-Session-Id: {session.decode()}")
    return "\r\n".join(lines).encode()


def _post(head: bytes, body: bytes) -> bytes:
    return b"%b\r\nContent-Length: %d\r\n\r\n%b" % (head, len(body), body)


def _complete(data: bytes) -> Response | None:
    """The response, if all of it has come."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    head, body = data[:end], data[end + 4 :]
    if length := _LENGTH.search(head):
        done = len(body) >= int(length[1])
    else:
        done = not _CHUNKED.search(head) or body.endswith(b"0\r\n\r\n")
    if done and not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 202")):
        raise RuntimeError(f"refused: {data[:500]!r}")
    return Response(head, body) if done else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _connected(port: int) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=START_LIMIT)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made
