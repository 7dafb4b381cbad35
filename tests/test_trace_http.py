"""`mcpgen trace --http`: a proxy that changes nothing but what it must."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import queue
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcpgen.recording import Entry
from mcpgen.runtime import Client
from mcpgen.trace import proxy as proxying
from mcpgen.trace.backlog import Backlog
from mcpgen.trace.command import Options, exchanges
from mcpgen.trace.output import create
from mcpgen.trace.recorder import Here
from msgspec import UNSET

from .runtime.exchange_http import serving
from .tracing import MEASURED, TIME_LIMIT, TRACE, recorded, running

Handler = Callable[[socket.socket], None]


class Upstream:
    """A server of one's own: a function for each connection, with the bare socket."""

    def __init__(self, handler: Handler, context: ssl.SSLContext | None = None) -> None:
        self._handler, self._context = handler, context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.problems: list[BaseException] = []
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept)

    def __enter__(self) -> Upstream:
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in [self._acceptor, *self._threads]:
            thread.join(TIME_LIMIT)
        assert self.problems == []

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(TIME_LIMIT)
        if self._context is not None:
            connection = self._context.wrap_socket(connection, server_side=True)
        try:
            with connection:
                self._handler(connection)
        except BaseException as problem:
            self.problems.append(problem)


class Proxy:
    """A tracer that is a proxy, and what it recorded when it has ended."""

    def __init__(self, port: int, file: Path, said: str) -> None:
        self.port, self._file = port, file
        self.said = said

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIME_LIMIT)

    def exchange(self, data: bytes) -> bytes:
        """All that comes for what is sent, until the other side hangs up."""
        with self.connect() as connection:
            connection.sendall(data)
            return read_all(connection)

    @property
    def entries(self) -> list[Entry]:
        return recorded(self._file)[1]


@contextmanager
def proxy(tmp_path: Path, url: str, *options: str, **more: Any) -> Iterator[Proxy]:
    """The command, in a process of its own."""
    file = tmp_path / "session.jsonl"
    words = [*TRACE, "-o", str(file), "--http", url, *options]
    with running(words, **more) as process:
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        assert "connect to http://127.0.0.1:" in said, said
        address = said.split("http://127.0.0.1:")[1]
        yield Proxy(int(address.partition("/")[0]), file, said)
        process.send_signal(signal.SIGINT)
        process.wait()
        assert process.returncode == 0
        assert b"Traceback" not in process.stderr.read()


@contextmanager
def proxy_here(tmp_path: Path, port: int) -> Iterator[Proxy]:
    """The same in a thread, which takes less time to start."""
    options = Options(str(tmp_path / "session.jsonl"))
    file, path = create(options.output, force=False)
    origin = f"http://127.0.0.1:{port}"
    backlog = Backlog(Here(exchanges(options, file, f"{origin}/mcp")))
    backlog.start()
    upstream = proxying.Upstream(origin, f"127.0.0.1:{port}", "127.0.0.1", port)
    serves: queue.SimpleQueue[tuple[int, Callable[[], object]]] = queue.SimpleQueue()

    async def main() -> None:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        stop = partial(loop.call_soon_threadsafe, over.set)
        made = proxying.Proxy(upstream, backlog)
        await made.serve(0, lambda port: serves.put((port, stop)), over)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    listening, stop = serves.get(timeout=TIME_LIMIT)
    try:
        yield Proxy(listening, Path(path), "")
    finally:
        stop()
        thread.join(TIME_LIMIT)
        backlog.close()


@contextmanager
def before(tmp_path: Path, handler: Handler) -> Iterator[Proxy]:
    with Upstream(handler) as upstream, proxy_here(tmp_path, upstream.port) as made:
        yield made


def read_all(connection: socket.socket) -> bytes:
    data = b""
    while piece := connection.recv(65536):
        data += piece
    return data


def read_until(connection: socket.socket, mark: bytes) -> bytes:
    """Exactly up to the mark: byte by byte, as what follows is not ours."""
    data = b""
    while not data.endswith(mark):
        piece = connection.recv(1)
        assert piece, data
        data += piece
    return data


def post(body: bytes, *headers: bytes, host: bytes = b"127.0.0.1") -> bytes:
    lines = [b"POST /mcp HTTP/1.1", b"Host: " + host, *headers]
    lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])


def answer(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join([*lines, b"", body])


PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}'
JSON = b"Content-Type: application/json"
CLOSE = b"Connection: close"


def frame_of(entry: Entry) -> Any:
    return None if entry.frame is UNSET else json.loads(bytes(entry.frame))


# --- every byte -----------------------------------------------------------------------


def test_heads_and_bodies_pass_unchanged(tmp_path: Path) -> None:
    seen = []
    body = b'5 ; x="y"\r\n{"id"\r\n1f\r\n:7, "method"\r\n: "a/b", "x": 12}\r\n00\r\nTrailer-X: 1\r\n\r\n'
    reply = (
        b"HTTP/1.1 200 Quite fine\r\nX-Odd:   a b \r\ncontent-TYPE: application/json\r\n"
        b'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n9\r\n{"id" : 7\r\n'
        b'e\r\n,"result":\n\n3}\r\n0\r\n\r\n'
    )

    def handle(connection: socket.socket) -> None:
        seen.append(read_until(connection, b"Trailer-X: 1\r\n\r\n"))
        connection.sendall(reply)

    with before(tmp_path, handle) as traced:
        head = (
            b"POST /mcp?a=%%41;b HTTP/1.1\r\nhost: localhost:%d\r\nX-ODD:\tc  d\r\n"
            b"Origin: http://127.0.0.1:%d\r\nTransfer-Encoding: chunked\r\n\r\n"
        ) % (traced.port, traced.port)
        assert traced.exchange(head + body) == reply
    (data,) = seen
    got_head, _, got_body = data.partition(b"\r\n\r\n")
    assert got_body == body
    port = got_head.split(b"host: 127.0.0.1:")[1].split(b"\r\n")[0]
    assert got_head == (
        b"POST /mcp?a=%%41;b HTTP/1.1\r\nhost: 127.0.0.1:%b\r\nX-ODD:\tc  d\r\n"
        b"Origin: http://127.0.0.1:%b\r\nTransfer-Encoding: chunked" % (port, port)
    )
    request, response = traced.entries
    assert frame_of(request) == {"id": 7, "method": "a/b", "x": 12}
    assert request.http is not UNSET
    assert (request.http.method, request.http.path) == ("POST", "/mcp?a=%41;b")
    assert request.http.headers["host"] == f"localhost:{traced.port}"  # type: ignore[index]
    assert frame_of(response) == {"id": 7, "result": 3}
    assert (response.method, response.http.status) == ("a/b", 200)  # type: ignore[union-attr]
    assert response.http.ended  # type: ignore[union-attr]
    assert isinstance(response.ms, float)


def test_a_connection_serves_many_requests(tmp_path: Path) -> None:
    def handle(connection: socket.socket) -> None:
        for number in range(3):
            read_until(connection, b"!" * number + b"]")
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(answer(b"%d" % number))
        read_until(connection, b"\r\n\r\n")
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"
        )  # to HEAD
        read_until(connection, b"\r\n\r\n")
        connection.sendall(b"HTTP/1.1 204 None\r\n\r\n")
        read_until(connection, b"\r\n\r\n")
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")

    requests = [post(b"[" + b"!" * number + b"]") for number in range(3)]
    others = [b"HEAD", b"DELETE", b"GET"]
    requests += [word + b" /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" for word in others]
    with before(tmp_path, handle) as traced:
        found = traced.exchange(b"".join(requests))  # all at once
    assert found.count(b"HTTP/1.1 100 Continue") == 3
    assert found.endswith(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
    numbers = [entry.http.exchange for entry in traced.entries]  # type: ignore[union-attr]
    assert numbers == sorted(numbers) == [n for n in range(1, 7) for _ in "ab"]


def test_events_come_one_by_one(tmp_path: Path) -> None:
    heard = [threading.Event() for _ in range(3)]
    event = b'id: %d\r\ndata: {"jsonrpc":"2.0","method":"n/%d"}\r\n\r\n'

    def handle(connection: socket.socket) -> None:
        read_until(connection, PING)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        connection.sendall(head)
        for number in range(3):
            connection.sendall(event % (number, number))
            assert heard[number].wait(TIME_LIMIT)
        connection.sendall(b"data: " + PONG + b"\n\n")

    with before(tmp_path, handle) as traced, traced.connect() as connection:
        connection.sendall(post(PING))
        read_until(connection, b"\r\n\r\n")
        for number in range(3):
            assert read_until(connection, b"\r\n\r\n") == event % (number, number)
            heard[number].set()
        assert read_all(connection) == b"data: " + PONG + b"\n\n"
    request, head, *events, last, end = traced.entries
    assert frame_of(request) == json.loads(PING)
    assert head.http.status == 200  # type: ignore[union-attr]
    assert head.frame is UNSET
    assert [frame_of(entry)["method"] for entry in events] == ["n/0", "n/1", "n/2"]
    assert [entry.http.event for entry in events] == ["0", "1", "2"]  # type: ignore[union-attr]
    assert (frame_of(last), last.method) == (json.loads(PONG), "ping")
    assert end.http.ended  # type: ignore[union-attr]
    assert events[0].t < events[2].t


def test_a_client_that_hangs_up_is_heard_of(tmp_path: Path) -> None:
    gone = threading.Event()

    def handle(connection: socket.socket) -> None:
        read_until(connection, PING)
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n"
        )
        with suppress(ConnectionError):
            assert connection.recv(1) == b""
        gone.set()

    with before(tmp_path, handle) as traced:
        with traced.connect() as connection:
            connection.sendall(post(PING))
            read_until(connection, b"data: 1\n\n")
        assert gone.wait(TIME_LIMIT)
    assert traced.entries[-1].source == "client"
    assert traced.entries[-1].http.ended  # type: ignore[union-attr]


def test_a_server_that_hangs_up_is_heard_of(tmp_path: Path) -> None:
    def handle(connection: socket.socket) -> None:
        read_until(connection, PING)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it")

    with before(tmp_path, handle) as traced:
        assert traced.exchange(post(PING)).endswith(b"half of it")
    assert traced.entries[-1].text == "half of it"


def test_large_bodies_pass_through_little_memory(tmp_path: Path) -> None:
    size = 64 * 2**20
    start = b'{"jsonrpc":"2.0","id":5,"method":"big","params":"'
    total = len(start) + size + 2

    def handle(connection: socket.socket) -> None:
        read_until(connection, b"\r\n\r\n")
        left = total
        while left:
            left -= len(connection.recv(2**20))
        connection.sendall(answer(PONG, JSON, CLOSE))

    file = tmp_path / "session.jsonl"
    with Upstream(handle) as upstream:
        url = f"http://127.0.0.1:{upstream.port}/mcp"
        words = [*MEASURED, *TRACE, "-o", str(file), "--http", url]
        # All of a group, as on a terminal: the one that measures does not pass it on.
        with running(words, start_new_session=True) as process:
            assert process.stderr is not None
            address = process.stderr.readline().decode().split("127.0.0.1:")[1]
            port = int(address.partition("/")[0])
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(post(b"", host=b"localhost")[:-5])
                connection.sendall(b"%d\r\n\r\n" % total + start)
                block = b"x" * 2**20
                for _ in range(size // len(block)):
                    connection.sendall(block)
                connection.sendall(b'"}')
                assert read_all(connection).endswith(PONG)
            os.killpg(process.pid, signal.SIGINT)
            _, stderr = process.communicate()
    assert int(stderr) < 100_000, "kilobytes"
    request, response = recorded(file)[1]
    assert (request.cut, request.size) == (True, total)
    assert frame_of(request) == {"jsonrpc": "2.0", "id": 5, "method": "big"}
    assert response.method is UNSET  # it answers 1


# --- who may, and what goes wrong -----------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (post(PING, host=b"evil.example"), b"421"),
        (b"GET / HTTP/1.1\r\n\r\n", b"421"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", b"421"),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00 TLS\r\n\r\n", b"400"),
        (b"GET /" + b"x" * 100_000, b"400"),
        (post(PING, b"Transfer-Encoding: chunked"), b"400"),
    ],
    ids=lambda value: value[:30].decode("latin-1"),
)
def test_requests_that_are_refused(
    tmp_path: Path, request_: bytes, status: bytes
) -> None:
    def handle(connection: socket.socket) -> None:
        raise AssertionError("nobody was to be asked")

    with before(tmp_path, handle) as traced:
        with traced.connect() as connection:
            connection.sendall(request_)
            assert read_until(connection, b"\r\n").startswith(b"HTTP/1.1 " + status)
        assert traced.exchange(b"\0\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert traced.entries == []


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with proxy_here(tmp_path, port) as traced:
        found = traced.exchange(post(PING))
    assert found.startswith(b"HTTP/1.1 502 ")
    assert b"no connection to http://127.0.0.1" in found
    request, response = traced.entries
    assert frame_of(request) == json.loads(PING)
    assert response.http.status == 502  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "reply",
    [b"220 smtp.example ESMTP\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"],
)  # fmt: skip
def test_a_server_that_speaks_no_http(tmp_path: Path, reply: bytes) -> None:
    def handle(connection: socket.socket) -> None:
        read_until(connection, PING)
        connection.sendall(reply)
        with suppress(ConnectionError):
            connection.recv(1)

    with before(tmp_path, handle) as traced:
        found = traced.exchange(post(PING))
    assert found.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert b"\r\nHTTP/1.1" not in found


def test_an_answer_that_turns_into_nonsense(tmp_path: Path) -> None:
    """The client did not hang up, and no recording says so."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    def handle(connection: socket.socket) -> None:
        read_until(connection, PING)
        connection.sendall(head + b"2\r\n[]\r\nno size\r\n")
        with suppress(ConnectionError):
            connection.recv(1)

    with before(tmp_path, handle) as traced:
        assert traced.exchange(post(PING)).startswith(head)
    assert [(entry.source, frame_of(entry)) for entry in traced.entries] == [
        ("client", json.loads(PING)),
        ("server", []),
    ]


def test_an_answer_that_nobody_waits_for(tmp_path: Path) -> None:
    """As some servers send, before they close a connection that is idle."""

    def handle(connection: socket.socket) -> None:
        read_until(connection, PING)
        connection.sendall(answer(PONG, JSON))
        connection.sendall(answer(b"", status=b"408 Request Timeout"))
        with suppress(ConnectionError):
            connection.recv(1)

    with before(tmp_path, handle) as traced:
        found = traced.exchange(post(PING))
    assert found.startswith(b"HTTP/1.1 200 OK\r\n")
    assert found.endswith(PONG)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = [*TRACE, "-o", str(tmp_path / "s"), "--http", "http://127.0.0.1:1/"]
        done = subprocess.run(
            [*words, "--port", port],
            capture_output=True,
            timeout=TIME_LIMIT,
            check=False,
        )
    assert done.returncode == 2
    assert b"error[port-unusable]" in done.stderr
    assert not (tmp_path / "s").exists()


# --- what is recorded -----------------------------------------------------------------


def test_no_secret_is_recorded_of_it(tmp_path: Path) -> None:
    secret = b"hunter2-Zq81xk"
    seen = []

    def handle(connection: socket.socket) -> None:
        seen.append(read_until(connection, PING))
        head = [JSON, CLOSE, b"Set-Cookie: sid=" + secret, b"X-Access-Token: " + secret]
        connection.sendall(answer(b'{"id":1,"result":{"token":"%b"}}' % secret, *head))

    headers = [b"Authorization: Bearer " + secret, b"cookie: a=" + secret]
    with (
        Upstream(handle) as upstream,
        proxy(
            tmp_path,
            f"http://127.0.0.1:{upstream.port}/mcp?api_key={secret.decode()}",
            "--live",
        ) as traced,
    ):
        request = post(PING, *headers).replace(b"/mcp", b"/mcp?api_key=" + secret)
        found = traced.exchange(request)
    assert found.count(secret) == 3
    assert seen[0].count(secret) == 3
    assert secret not in (tmp_path / "session.jsonl").read_bytes()
    assert secret.decode() not in traced.said
    first = traced.entries[0].http
    assert first is not UNSET
    assert first.path == "/mcp?api_key=[redacted]"
    assert first.headers["authorization"] == "[redacted]"  # type: ignore[index]


def test_raw_keeps_them(tmp_path: Path) -> None:
    def handle(connection: socket.socket) -> None:
        read_until(connection, PING)
        connection.sendall(answer(PONG, JSON, CLOSE))

    with (
        Upstream(handle) as upstream,
        proxy(tmp_path, f"http://127.0.0.1:{upstream.port}/mcp", "--raw") as traced,
    ):
        traced.exchange(post(PING, b"Authorization: Bearer hunter2"))
    assert b"Bearer hunter2" in (tmp_path / "session.jsonl").read_bytes()
    assert recorded(tmp_path / "session.jsonl")[0].raw


def test_compressed_answers_are_read(tmp_path: Path) -> None:
    packed = gzip.compress(
        b'{"jsonrpc":"2.0","id":1,"result":{"text":"%b"}}' % (b"x" * 99)
    )
    asked = []

    def handle(connection: socket.socket) -> None:
        asked.append(read_until(connection, PING))
        connection.sendall(answer(packed, JSON, CLOSE, b"Content-Encoding: gzip"))

    with before(tmp_path, handle) as traced:
        found = traced.exchange(post(PING, b"Accept-Encoding: gzip, br, zstd"))
    assert found.endswith(packed)
    assert b"Accept-Encoding: gzip\r\n" in asked[0]
    assert frame_of(traced.entries[1])["result"] == {"text": "x" * 99}


def test_what_is_no_message_is_text(tmp_path: Path) -> None:
    def handle(connection: socket.socket) -> None:
        read_until(connection, PING)
        page = b"<html>\nlogin, please: \xff</html>"
        connection.sendall(answer(page, CLOSE, status=b"403 Forbidden"))

    with before(tmp_path, handle) as traced:
        traced.exchange(post(PING))
    assert traced.entries[1].text == "<html>\nlogin, please: \ufffd</html>"


def test_what_the_server_asks_is_answered_in_another_exchange(tmp_path: Path) -> None:
    question = b'data: {"jsonrpc":"2.0","id":"q","method":"roots/list"}\n\n'
    answered = threading.Event()

    def handle(connection: socket.socket) -> None:
        head = read_until(connection, b"\r\n\r\n")
        if b"x-first" in head:
            read_until(connection, PING)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + question
            )
            assert answered.wait(TIME_LIMIT)
            connection.sendall(b"data: " + PONG + b"\n\n")
        else:
            read_until(connection, b"[]}}")
            connection.sendall(answer(b"", CLOSE, status=b"202 Accepted"))

    with before(tmp_path, handle) as traced, traced.connect() as connection:
        connection.sendall(post(PING, b"x-first: 1"))
        read_until(connection, question)
        traced.exchange(post(b'{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}'))
        answered.set()
        read_all(connection)
    methods = [(e.source, e.method) for e in traced.entries if e.ms is not UNSET]
    assert methods == [("client", "roots/list"), ("server", "ping")]


# --- TLS, and real servers ------------------------------------------------------------


def test_a_server_over_tls(tmp_path: Path) -> None:
    certificate = tmp_path / "both.pem"
    made = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
        " -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
        f" -keyout {certificate}.key -out {certificate}"
    )
    try:
        subprocess.run(made.split(), check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl here that makes a certificate")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, f"{certificate}.key")

    def handle(connection: socket.socket) -> None:
        read_until(connection, PING)
        connection.sendall(answer(PONG, JSON, CLOSE))

    trusting = os.environ | {"SSL_CERT_FILE": str(certificate)}
    with Upstream(handle, context) as upstream:
        url = f"https://127.0.0.1:{upstream.port}/mcp"
        with proxy(tmp_path, url, env=trusting) as traced:
            assert traced.exchange(post(PING)).endswith(PONG)
    assert traced.entries[1].method == "ping"


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_calls_at_once_through_a_proxy(tmp_path: Path, version: str) -> None:
    async def main(url: str) -> list[int]:
        async with Client.http(url, versions=[version]) as client:
            calls = [client.call_tool("count", words=["x"] * n) for n in range(40)]
            results = await asyncio.gather(*calls)
        return [json.loads(result.content[0].text) for result in results]

    with serving("rich") as port, proxy_here(tmp_path, port) as traced:
        found = asyncio.run(main(f"http://127.0.0.1:{traced.port}/mcp"))
        assert found == list(range(40))
    asked = {}
    answered = []
    for entry in traced.entries:
        frame = frame_of(entry)
        if entry.source == "client" and frame and "method" in frame:
            asked[entry.http.exchange] = frame["method"]  # type: ignore[union-attr]
        elif entry.ms is not UNSET:
            answered.append(entry.method)
            assert asked[entry.http.exchange] == entry.method  # type: ignore[union-attr]
    assert answered.count("tools/call") == 40
