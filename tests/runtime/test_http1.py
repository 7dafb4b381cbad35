"""The HTTP/1.1 client, against a server that sends whatever bytes a test wants."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import random
import re
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import h11
import pytest
from mcpgen.runtime.client.http1 import (
    Http1,
    HttpBroken,
    Requester,
    Response,
    TooLarge,
    proxied,
)
from mcpgen.runtime.client.httpx import Httpx

LOOPS: list[Any] = [asyncio.new_event_loop]
if find_spec("uvloop") is not None:
    LOOPS.append(import_module("uvloop").new_event_loop)
CLIENTS: list[Any] = [
    import_module(name).AsyncClient for name in ("httpx2", "httpx") if find_spec(name)
]
httpx_only = pytest.mark.skipif(not find_spec("httpx2"), reason="no httpx2 here")
MIB = 2**20
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Handler = Callable[[Reader, Writer], Awaitable[None]]


def on_loop(
    test: Callable[..., Coroutine[Any, Any, None]], new_loop: Any = None
) -> Callable[..., None]:
    """Run a test, which leaves no task behind, and no socket that `gc` would find."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def main() -> None:
            async with asyncio.timeout(30):
                await test(*args, **kwargs)
                assert len(asyncio.all_tasks()) == 1

        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(main())
        gc.collect()

    return run


async def turns(count: int) -> None:
    """Let the loop turn so often."""
    for _ in range(count):
        await asyncio.sleep(0)


class Asked(NamedTuple):
    """A request as it came."""

    head: str
    body: bytes

    @property
    def line(self) -> str:
        return self.head.partition("\r\n")[0]

    def header(self, name: str) -> list[str]:
        pairs = [line.partition(": ") for line in self.head.split("\r\n")[1:]]
        return [value for key, _, value in pairs if key == name]


async def next_request(reader: Reader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n"))[:-4].decode("ascii")
    length = Asked(head, b"").header("content-length")
    return Asked(head, await reader.readexactly(int(length[0]) if length else 0))


class Served:
    """What a server has seen."""

    url = ""
    connections = 0
    stop: Callable[[], None]

    def __init__(self) -> None:
        self.gone = asyncio.Queue[None]()  # an item for each connection that ended


@asynccontextmanager
async def serving(handle: Handler, **options: Any) -> AsyncIterator[Served]:
    """Handle each connection so; it is closed afterwards."""
    served, tasks = Served(), set[asyncio.Task[Any]]()

    async def serve(reader: Reader, writer: Writer) -> None:
        served.connections += 1
        tasks.add(asyncio.current_task())  # type: ignore[arg-type]
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await handle(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            writer.transport.abort()
            served.gone.put_nowait(None)

    server = await asyncio.start_server(
        serve, options.pop("host", "127.0.0.1"), **options
    )
    scheme, port = "https" if options else "http", server.sockets[0].getsockname()[1]
    served.stop = server.close
    served.url = f"{scheme}://127.0.0.1:{port}/mcp"
    try:
        yield served
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await turns(5)


def answering(*answers: bytes, then_close: bool = False) -> Handler:
    """One answer per request, over all connections."""
    left = iter(answers)

    async def handle(reader: Reader, writer: Writer) -> None:
        while True:
            await next_request(reader)
            writer.write(next(left, OK))
            if then_close:
                await writer.drain()
                return writer.close()

    return handle


@asynccontextmanager
async def client(**options: Any) -> AsyncIterator[Http1]:
    http = Http1(**options)
    try:
        yield http
    finally:
        await http.close()


async def get(http: Requester, url: str, limit: int = MIB) -> bytes:
    return await (await http.send("GET", url, {})).read(limit)


async def collect(answer: Response, into: bytearray) -> None:
    async for part in answer.chunks():
        into += part


# What is sent


@on_loop
async def test_what_a_request_looks_like() -> None:
    requests: list[Asked] = []

    async def handle(reader: Reader, writer: Writer) -> None:
        while True:
            requests.append(await next_request(reader))
            writer.write(OK)

    async with serving(handle) as served, client() as http:
        for method, body in (("POST", b"{}"), ("POST", None), ("GET", None)):
            headers = {"accept": "a/b, c/d", "X-Empty": "", "x-tab": "a\tb"}
            answer = await http.send(method, served.url, headers, body)
            assert (answer.status, await answer.read(2)) == (200, b"ok")
            assert answer.headers == {"content-length": "2"}
        host = served.url.removeprefix("http://").removesuffix("/mcp")
        for request in requests:
            assert request.header("host") == [host]
            assert request.header("accept") == ["a/b, c/d"]
            assert request.header("X-Empty") == [""]
            assert request.header("x-tab") == ["a\tb"]
            assert request.header("accept-encoding") == ["identity"]
        assert [r.line for r in requests] == [
            "POST /mcp HTTP/1.1",
            "POST /mcp HTTP/1.1",
            "GET /mcp HTTP/1.1",
        ]
        assert [r.body for r in requests] == [b"{}", b"", b""]
        lengths = [r.header("content-length") for r in requests]
        assert lengths == [["2"], ["0"], []]
        assert served.connections == 1


@pytest.mark.parametrize(
    ("rest", "target"),
    [
        ("", "/"),
        ("/", "/"),
        ("?q=1", "/?q=1"),
        ("/a/b?q=1&r=/?#part", "/a/b?q=1&r=/?"),
        ("/a b/ü?x y", "/a%20b/%C3%BC?x%20y"),
        ("/a%20b%2Fc?%25", "/a%20b%2Fc?%25"),
        ('/"<>\\^`{|}', "/%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("//evil.example/x", "//evil.example/x"),
    ],
)
@on_loop
async def test_the_target_of_a_request(rest: str, target: str) -> None:
    lines: list[str] = []

    async def handle(reader: Reader, writer: Writer) -> None:
        lines.append((await next_request(reader)).line)
        writer.write(OK)

    async with serving(handle) as served, client() as http:
        await get(http, served.url.removesuffix("/mcp") + rest)
    assert lines == [f"GET {target} HTTP/1.1"]


@on_loop
async def test_an_ipv6_literal() -> None:
    hosts: list[str] = []

    async def handle(reader: Reader, writer: Writer) -> None:
        hosts.extend((await next_request(reader)).header("host"))
        writer.write(OK)

    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with serving(handle, host="::1") as served, client() as http:
        port = served.url.rpartition(":")[2].removesuffix("/mcp")
        assert await get(http, f"http://[::1]:{port}/") == b"ok"
        assert hosts == [f"[::1]:{port}"]


@pytest.mark.parametrize(
    "url",
    [
        "http://me:s3cret@127.0.0.1/",
        "http://s3cret@127.0.0.1/",
        "http://127.0.0.1\\@s3cret/",
        "ftp://127.0.0.1/s3cret",
        "127.0.0.1/s3cret",
        "http:///s3cret",
        "http://127.0.0.1:x/s3cret",
        "http://[::1/s3cret",
        "http://a b/s3cret",
        "http://127.0.0.1/s3cret\r\nx: y",
        "http://127.0.0.1/s3cret?\n",
        "http://127.0.0.1/#s3cret\0",
        "http://127.0.0.1\t/s3cret",
        " http://127.0.0.1/s3cret",
        "http://127.0.0.1%00/s3cret",
        "",
    ],
)
@on_loop
async def test_urls_that_are_refused_without_saying_what_is_in_them(url: str) -> None:
    async with client() as http:
        with pytest.raises(ValueError, match="URL") as caught:
            await http.send("GET", url, {})
        assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-bad", "s3cret\r\nx-injected: 1"),
        ("x-bad", "s3cret\r"),
        ("x-bad", "s3cret\n"),
        ("x-bad", "s3cret\0"),
        ("x-bad", "s3cret\x7f"),
        ("x-bad", "s3crét"),
        ("x-bad\r\nx-injected", "s3cret"),
        ("x bad", "s3cret"),
        ("x-bad:", "s3cret"),
        ("", "s3cret"),
        ("ü", "s3cret"),
        ("Content-Length", "5"),
        ("Transfer-Encoding", "chunked"),
        ("host", "elsewhere"),
        ("CONNECTION", "close"),
        ("accept-encoding", "gzip"),
    ],
)
@pytest.mark.parametrize("make", [Http1, pytest.param(Httpx, marks=httpx_only)])
@on_loop
async def test_headers_that_are_refused(
    make: Callable[[], Requester], name: str, value: str
) -> None:
    http = make()
    with pytest.raises(ValueError, match="header") as caught:
        await http.send("GET", "http://127.0.0.1:1/", {"accept": "*/*", name: value})
    assert repr(name) in str(caught.value)
    assert "s3cret" not in str(caught.value)
    await http.close()


@on_loop
async def test_a_method_is_a_word() -> None:
    async with client() as http:
        with pytest.raises(ValueError, match="method"):
            await http.send("GET / HTTP/1.1\r\n", "http://127.0.0.1:1/", {})


# What comes back

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nX-One: a\r\nTransfer-Encoding: Chunked\r\nx-one:\tb \r\n\r\n"
    b'5\r\nhello\r\n1;name="v;a";flag\r\n,\r\n0006;x\r\n world\r\n'
    b"0;last\r\nx-sum: 1\r\nx-more:\r\n\r\n"
)
SIZED = (
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: <x>\r\n\r\n"
    b"HTTP/1.1 201 Created\r\nX-One: a, b\r\nContent-Length: 12\r\n\r\nhello, world"
)


@pytest.mark.parametrize(("raw", "status"), [(CHUNKED, 200), (SIZED, 201)])
@on_loop
async def test_an_answer_may_be_split_anywhere(raw: bytes, status: int) -> None:
    pieces: Any = itertools.chain(
        ([raw[:at], raw[at:]] for at in range(1, len(raw))),
        [[raw[at : at + 1] for at in range(len(raw))]],  # each byte alone
    )

    async def handle(reader: Reader, writer: Writer) -> None:
        while True:
            await next_request(reader)
            for piece in next(pieces):
                writer.write(piece)
                await turns(3)

    async with serving(handle) as served, client() as http:
        for _ in range(len(raw)):
            answer = await http.send("GET", served.url, {})
            assert answer.status == status
            assert answer.headers["x-one"] == "a, b"
            assert await answer.read(12) == b"hello, world"
        assert served.connections == 1


HEAD = b"HTTP/1.1 200 OK\r\n"
STREAM = HEAD + b"transfer-encoding: chunked\r\n\r\n"
NO_BODY = b"content-length: 5\r\n\r\n"


@pytest.mark.parametrize(
    ("raw", "body", "kept"),
    [
        (HEAD + b"content-length: 0\r\n\r\n", b"", True),
        (HEAD + b"content-length: 2\r\ncontent-length: 2\r\n\r\nok", b"ok", True),
        (HEAD + b"content-length: 2 ,\t2\r\n\r\nok", b"ok", True),
        (HEAD + b"content-length: 2\r\nconnection: keep-alive\r\n\r\nok", b"ok", True),
        (HEAD + b"content-length: 2\r\nconnection: x, Close\r\n\r\nok", b"ok", False),
        (
            HEAD + b"content-encoding: identity\r\ncontent-length: 1\r\n\r\nx",
            b"x",
            True,
        ),
        (HEAD + b"x: \xff\r\ncontent-length: 1\r\n\r\nx", b"x", True),
        (b"HTTP/1.1 404\r\ncontent-length: 1\r\n\r\nx", b"x", True),
        (b"HTTP/1.1 404 \r\ncontent-length: 1\r\n\r\nx", b"x", True),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", b"ok", False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (b"HTTP/1.1 204 No Content\r\n" + NO_BODY, b"", True),
        (b"HTTP/1.1 304 Not Modified\r\n" + NO_BODY, b"", True),
        (b"HTTP/1.1 307 Away\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n", b"", True),
        (STREAM + b"0\r\n\r\n", b"", True),
        (STREAM + b"02 \t;x= \r\nok\r\n0\t\r\nx:y\r\n\r\n", b"ok", True),
        # An answer to nothing follows: the first one counts, the connection not.
        (OK + OK, b"ok", False),
        (OK + b"garbage", b"ok", False),
        (b"HTTP/1.1 204 No Content\r\n\r\nhello", b"", False),
    ],
)
@on_loop
async def test_answers(raw: bytes, body: bytes, kept: bool) -> None:
    async with serving(answering(raw)) as served, client() as http:
        assert await get(http, served.url, len(body)) == body
        assert await get(http, served.url) == b"ok"
        assert served.connections == (1 if kept else 2)


@on_loop
async def test_an_answer_to_head_has_no_body() -> None:
    async with serving(answering(HEAD + NO_BODY)) as served, client() as http:
        answer = await http.send("HEAD", served.url, {})
        assert answer.headers["content-length"] == "5"
        assert await answer.read(0) == b""
        assert await get(http, served.url) == b"ok"
        assert served.connections == 1


@pytest.mark.parametrize("head", [HEAD, b"HTTP/1.0 200 OK\r\n"])
@on_loop
async def test_a_body_that_ends_with_the_connection(head: bytes) -> None:
    raw = head + b"x: y\r\n\r\n" + b"all of it" * 1000
    async with serving(answering(raw, then_close=True)) as served, client() as http:
        assert await get(http, served.url) == b"all of it" * 1000
        answer = await http.send("GET", served.url, {})
        assert [part async for part in answer.chunks()] == [b"ok"]
        assert served.connections == 2


@on_loop
async def test_a_body_that_ends_with_a_broken_connection() -> None:
    async def handle(reader: Reader, writer: Writer) -> None:
        await next_request(reader)
        writer.write(HEAD + b"\r\nso far")
        await broken.wait()
        there = writer.get_extra_info("socket")
        there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    broken = asyncio.Event()
    async with serving(handle) as served, client() as http:
        chunks = (await http.send("GET", served.url, {})).chunks()
        assert await anext(chunks) == b"so far"
        broken.set()
        with pytest.raises(HttpBroken, match="connection broke"):
            await anext(chunks)


@pytest.mark.parametrize(
    "raw",
    [
        b"hello\r\n\r\n" + OK,
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\r\n" + OK,
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.2 200 OK\r\n" + NO_BODY,
        b"HTTP/1.1 20 OK\r\n" + NO_BODY,
        b"HTTP/1.1 2000 OK\r\n" + NO_BODY,
        b"HTTP/1.1 600 OK\r\n" + NO_BODY,
        b"HTTP/1.1  200 OK\r\n" + NO_BODY,
        b"HTTP/1.1 200 O\rK\r\n" + NO_BODY,
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n",
        HEAD + b"x: a\r\n b\r\n" + NO_BODY,
        HEAD + b"x: a\rb\r\n" + NO_BODY,
        HEAD + b"x: a\nb: c\r\n" + NO_BODY,
        HEAD + b"x: a\0b\r\n" + NO_BODY,
        HEAD + b"x : a\r\n" + NO_BODY,
        HEAD + b": a\r\n" + NO_BODY,
        HEAD + b"x\r\n" + NO_BODY,
        HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\nok!",
        HEAD + b"content-length: 2, 3\r\n\r\nok!",
        HEAD + b"content-length: +2\r\n\r\nok",
        HEAD + b"content-length: -2\r\n\r\nok",
        HEAD + b"content-length: 0x2\r\n\r\nok",
        HEAD + b"content-length: 2_0\r\n\r\nok",
        HEAD + b"content-length: \xb2\r\n\r\nok",
        HEAD + b"content-length:\r\n\r\nok",
        HEAD + b"content-length: " + b"9" * 5000 + b"\r\n\r\nok",
        HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"transfer-encoding: identity\r\ncontent-length: 2\r\n\r\nok",
        HEAD
        + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n0\r\n\r\n",
        HEAD + b"transfer-encoding: chunked\r\ncontent-length:\r\n\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"content-encoding: gzip\r\ncontent-length: 2\r\n\r\nok",
        # Larger than allowed, and without an end.
        HEAD + b"x: " + b"a" * 5000,
        HEAD + b"x: a\r\n" * 1000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
        HEAD + b"x: " + b" " * 4000 + b"\0\r\n\r\n",
    ],
)
@on_loop
async def test_answers_that_are_no_http(raw: bytes) -> None:
    async with serving(answering(raw)) as served, client(max_headers=4096) as http:
        with pytest.raises(HttpBroken, match="not proper HTTP") as caught:
            await http.send("GET", served.url, {})
        assert caught.value.sent
        await served.gone.get()  # though the server would have kept the connection
        assert await get(http, served.url) == b"ok"


@pytest.mark.parametrize(
    "rest",
    [
        b"x\r\nhello\r\n0\r\n\r\n",
        b"-5\r\nhello\r\n0\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"5 5\r\nhello\r\n0\r\n\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"5;a\rb\r\nhello\r\n0\r\n\r\n",
        b"\r\n5\r\nhello\r\n0\r\n\r\n",
        b"4\r\nhello\r\n0\r\n\r\n",
        b"6\r\nhello\r\n0\r\n\r\n",
        b"5\r\nhello0\r\n\r\n",
        b"1" + b"0" * 15 + b"\r\nhello",
        b"5;" + b"x" * 5000,
        b"5\r\nhello\r\n0\r\nx\r\n\r\n",
        b"5\r\nhello\r\n0\r\n x: y\r\n\r\n",
        b"5\r\nhello\r\n0\r\n" + b"x: y\r\n" * 1000,
    ],
)
@on_loop
async def test_bodies_whose_chunks_are_wrong(rest: bytes) -> None:
    raw = STREAM + rest
    async with serving(answering(raw)) as served, client(max_headers=4096) as http:
        with pytest.raises(HttpBroken, match="not proper HTTP") as caught:
            await get(http, served.url)
        assert caught.value.sent
        await served.gone.get()


@pytest.mark.parametrize("raw", [CHUNKED, SIZED])
@on_loop
async def test_an_answer_that_is_cut_anywhere(raw: bytes) -> None:
    cuts = iter(range(len(raw)))

    async def handle(reader: Reader, writer: Writer) -> None:
        await next_request(reader)
        writer.write(raw[: next(cuts)])
        await writer.drain()
        writer.close()

    async with serving(handle) as served, client() as http:
        for _ in range(len(raw)):
            seen = bytearray()
            with pytest.raises(HttpBroken, match="hung up") as caught:
                await collect(await http.send("GET", served.url, {}), seen)
            assert caught.value.sent
            assert b"hello, world".startswith(seen)
        assert served.connections == len(raw)  # nothing was sent again


@on_loop
async def test_a_body_as_it_comes() -> None:
    step = asyncio.Event()

    async def handle(reader: Reader, writer: Writer) -> None:
        await next_request(reader)
        writer.write(STREAM)
        for piece in (
            b"4\r\none\n\r\n",
            b"4\r\ntwo\n\r\n6\r\nthr",
            b"ee\n\r\n0\r\n\r\n",
        ):
            await step.wait()
            step.clear()
            writer.write(piece)
        await next_request(reader)

    async with serving(handle) as served, client() as http:
        answer = await http.send("GET", served.url, {})
        seen = []
        step.set()
        async for part in answer.chunks():
            seen.append(part)
            step.set()
        assert seen == [b"one\n", b"two\nthr", b"ee\n"]


@on_loop
async def test_a_body_that_is_larger_than_the_caller_wants() -> None:
    endless = STREAM + b"4\r\nmore\r\n" * 30
    async with serving(answering(OK, endless)) as served, client() as http:
        for _ in range(2):
            with pytest.raises(TooLarge, match="more than 1 bytes"):
                await get(http, served.url, 1)
        await served.gone.get()
        assert await get(http, served.url) == b"ok"


@on_loop
async def test_a_body_that_nobody_reads_stays_where_it_is() -> None:
    size, sent = 64 * MIB, 0

    async def handle(reader: Reader, writer: Writer) -> None:
        nonlocal sent
        await next_request(reader)
        writer.write(HEAD + b"content-length: %d\r\n\r\n" % size)
        while sent < size:
            writer.write(bytes(64 * 1024))
            sent += 64 * 1024
            await writer.drain()
        await next_request(reader)
        writer.write(OK)
        await reader.read()

    async with serving(handle) as served, client() as http:
        answer = await http.send("GET", served.url, {})
        await turns(3000)  # enough to send all of it
        assert sent < size / 2
        got = 0
        async for part in answer.chunks():
            got += len(part)
            assert len(part) < 2 * MIB
        assert got == size
        assert await get(http, served.url) == b"ok"
        assert served.connections == 1


# Connections


@on_loop
async def test_connections_are_kept_and_the_last_one_is_used_first() -> None:
    gates = [asyncio.Event() for _ in range(3)]
    used: list[int] = []
    numbers = itertools.count()

    async def handle(reader: Reader, writer: Writer) -> None:
        number = next(numbers)
        await next_request(reader)
        await gates[number].wait()
        writer.write(OK)
        while True:
            await next_request(reader)
            used.append(number)
            writer.write(OK)

    async with serving(handle) as served, client() as http:
        busy = []
        for _ in gates:
            busy.append(asyncio.create_task(get(http, served.url)))
            while served.connections < len(busy):
                await asyncio.sleep(0)
        for number in (1, 2, 0):
            gates[number].set()
            await busy[number]
        for _ in range(5):
            await get(http, served.url)
        assert used == [0] * 5
        assert served.connections == 3


@on_loop
async def test_a_hundred_requests_on_ten_connections() -> None:
    async def handle(reader: Reader, writer: Writer) -> None:
        while True:
            body = (await next_request(reader)).body
            await turns(random.Random(body).randrange(5))
            writer.write(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)

    async def one(http: Http1, url: str, body: bytes) -> None:
        assert await (await http.send("POST", url, {}, body)).read(1000) == body

    async with serving(handle) as served, client(connections=10) as http:
        async with asyncio.TaskGroup() as group:
            for number in range(100):
                group.create_task(one(http, served.url, b"%d" % number * 9))
        assert served.connections == 10


@on_loop
async def test_an_idle_connection_is_closed_after_a_while() -> None:
    async with serving(answering()) as served, client(idle=0.01) as http:
        assert await get(http, served.url) == b"ok"
        await served.gone.get()
        assert await get(http, served.url) == b"ok"
        assert served.connections == 2


@on_loop
async def test_an_answer_to_nothing_on_an_idle_connection() -> None:
    async def handle(reader: Reader, writer: Writer) -> None:
        await next_request(reader)
        writer.write(OK)
        await turns(5)
        writer.write(OK.replace(b"ok", b"no"))
        await reader.read()

    async with serving(handle) as served, client() as http:
        for _ in range(3):
            assert await get(http, served.url) == b"ok"
            await served.gone.get()
        assert served.connections == 3


@on_loop
async def test_what_is_left_unread_costs_a_connection_and_what_is_read_does_not() -> (
    None
):
    part = HEAD + b"content-length: 9\r\n\r\nok"
    async with serving(answering(OK, part)) as served, client() as http:
        answer = await http.send("GET", served.url, {})
        answer.close()  # all of it is there
        assert await answer.read(2) == b"ok"
        answer = await http.send("GET", served.url, {})
        assert served.connections == 1
        answer.close()
        answer.close()
        await served.gone.get()
        with pytest.raises(HttpBroken, match="closed"):
            await answer.read(9)
        assert await get(http, served.url) == b"ok"
        assert served.connections == 2


@on_loop
async def test_an_answer_before_the_request_is_through_costs_the_connection() -> None:
    async def handle(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        await reader.read()

    async with serving(handle) as served, client() as http:
        answer = await http.send("POST", served.url, {}, bytes(64 * MIB))
        assert (answer.status, await answer.read(2)) == (413, b"no")
        await served.gone.get()


@on_loop
async def test_a_connection_that_turns_out_closed_is_replaced_once() -> None:
    bodies: list[bytes] = []
    plan = iter([[OK, b""], [OK], [OK, b""], [b""]])

    async def handle(reader: Reader, writer: Writer) -> None:
        for answer in next(plan):
            bodies.append((await next_request(reader)).body)
            writer.write(answer)

    async def put(http: Http1, url: str, body: bytes) -> bytes:
        return await (await http.send("PUT", url, {}, body)).read(2)

    async with serving(handle) as served, client() as http:
        assert await put(http, served.url, b"1") == b"ok"
        assert await put(http, served.url, b"2") == b"ok"
        await served.gone.get()
        await served.gone.get()
        assert await put(http, served.url, b"3") == b"ok"
        with pytest.raises(HttpBroken, match="hung up") as caught:
            await put(http, served.url, b"4")
        assert caught.value.sent
        assert bodies == [b"1", b"2", b"2", b"3", b"4", b"4"]
        assert served.connections == 4


@on_loop
async def test_where_one_connection_is_stale_all_are_dropped() -> None:
    async def handle(reader: Reader, writer: Writer) -> None:
        await next_request(reader)
        await both.wait()
        writer.write(OK)
        await next_request(reader)

    both = asyncio.Event()
    async with serving(handle) as served, client(connections=2) as http:
        asking = [asyncio.create_task(get(http, served.url)) for _ in range(2)]
        while served.connections < 2:
            await asyncio.sleep(0)
        both.set()
        await asyncio.gather(*asking)
        assert await get(http, served.url) == b"ok"
        for _ in range(2):
            await served.gone.get()
        assert served.connections == 3


@pytest.mark.parametrize("secure", [False, True])
@on_loop
async def test_a_server_may_hang_up_at_any_turn(
    certificate: Path, secure: bool
) -> None:
    async def handle(reader: Reader, writer: Writer) -> None:
        await next_request(reader)
        writer.write(OK)
        await turns(next(patience))
        writer.close()
        await writer.wait_closed()

    patience = itertools.count()
    options = {"ssl": tls_server(certificate)} if secure else {}
    trusting = ssl.create_default_context(cafile=str(certificate))
    async with serving(handle, **options) as served, client(verify=trusting) as http:
        for _ in range(40):
            await turns(10)
            assert await get(http, served.url) == b"ok"


@pytest.mark.parametrize(("method", "beginning"), [("POST", b""), ("GET", b"H")])
@on_loop
async def test_what_a_server_may_have_acted_on_is_not_sent_again(
    method: str, beginning: bytes
) -> None:
    async def handle(reader: Reader, writer: Writer) -> None:
        for answer in (OK, beginning):
            await next_request(reader)
            writer.write(answer)

    async with serving(handle) as served, client() as http:
        assert await get(http, served.url) == b"ok"
        with pytest.raises(HttpBroken, match="hung up") as caught:
            await http.send(method, served.url, {})
        assert caught.value.sent
        assert served.connections == 1


@pytest.mark.parametrize("new_loop", LOOPS)
@pytest.mark.parametrize("secure", [False, True])
def test_connections_that_were_closed_meanwhile(
    certificate: Path, secure: bool, new_loop: Any
) -> None:
    ends: list[int] = []

    async def handle(reader: Reader, writer: Writer) -> None:
        await next_request(reader)
        ends.append(writer.get_extra_info("socket").fileno())
        writer.write(OK)
        await next_request(reader)

    async def main() -> None:
        options = {"ssl": tls_server(certificate)} if secure else {}
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with (
            serving(handle, **options) as served,
            client(verify=trusting) as http,
        ):
            for count in range(1, 4):
                answer = await http.send("POST", served.url, {}, b"{}")
                assert await answer.read(2) == b"ok"
                assert served.connections == count
                # The loop has no turn in which to notice it.
                with socket.socket(fileno=os.dup(ends[-1])) as end:
                    end.shutdown(socket.SHUT_WR)

    on_loop(main, new_loop)()


@on_loop
async def test_a_stale_connection_and_then_none_at_all() -> None:
    async def handle(reader: Reader, writer: Writer) -> None:
        await next_request(reader)
        writer.write(OK)
        await next_request(reader)
        served.stop()

    async with serving(handle) as served, client() as http:
        assert await get(http, served.url) == b"ok"
        with pytest.raises(HttpBroken, match="no connection") as caught:
            await get(http, served.url)
        assert caught.value.sent  # the first time


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.mark.parametrize("make", [Http1, pytest.param(Httpx, marks=httpx_only)])
@on_loop
async def test_no_connection(make: Callable[[], Requester]) -> None:
    http = make()
    url = f"http://127.0.0.1:{closed_port()}/s3cret?s3cret"
    with pytest.raises(HttpBroken) as caught:
        await http.send("POST", url, {}, b"{}")
    assert not caught.value.sent
    assert "s3cret" not in str(caught.value)
    await http.close()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:65536/", f"http://{'a' * 64}/", "http://a..b/"]
)
@on_loop
async def test_places_that_cannot_be(url: str) -> None:
    async with client() as http:
        with pytest.raises(HttpBroken, match="no connection") as caught:
            await http.send("GET", url, {})
        assert not caught.value.sent


async def say_nothing(reader: Reader, _: Writer) -> None:
    await reader.read()


@on_loop
async def test_a_connection_takes_too_long() -> None:
    async with serving(say_nothing) as served, client(connect_timeout=0.01) as http:
        with pytest.raises(HttpBroken, match=r"in 0\.01 seconds") as caught:
            await http.send("GET", served.url.replace("http:", "https:"), {})
        assert not caught.value.sent
        await served.gone.get()


@on_loop
async def test_close_ends_everything() -> None:
    async def handle(reader: Reader, writer: Writer) -> None:
        while "silent" not in (line := (await next_request(reader)).line):
            writer.write(OK if "ok" in line else HEAD + b"\r\nso far")
        await reader.read()

    async with serving(handle) as served, client(connections=2) as http:
        assert await get(http, served.url + "ok") == b"ok"
        busy = [asyncio.create_task(get(http, served.url + x)) for x in ("", "silent")]
        other = served.url.replace("127.0.0.1", "localhost")
        busy.append(asyncio.create_task(get(http, other)))
        while served.connections < 3:
            await asyncio.sleep(0)
        busy += [asyncio.create_task(get(http, served.url)) for _ in range(5)]
        await turns(20)
        await asyncio.gather(http.close(), http.close())
        for task in busy:
            with pytest.raises(HttpBroken, match="closed"):
                await task
        with pytest.raises(HttpBroken, match="closed") as caught:
            await http.send("GET", served.url, {})
        assert not caught.value.sent
        assert served.connections == 3
        for _ in range(3):
            await served.gone.get()


# Cancellation


@pytest.mark.parametrize("secure", [False, True])
@on_loop
async def test_a_cancelled_request_leaves_nothing_open(secure: bool) -> None:
    async with serving(say_nothing) as served, client() as http:
        url = served.url.replace("http:", "https:") if secure else served.url
        task = asyncio.create_task(http.send("GET", url, {}))
        while not served.connections:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await served.gone.get()


@on_loop
async def test_a_cancelled_reader_leaves_nothing_open() -> None:
    raw = HEAD + b"content-length: 9\r\n\r\nok"
    async with serving(answering(raw)) as served, client() as http:
        task = asyncio.create_task(get(http, served.url))
        await turns(30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await served.gone.get()


@on_loop
async def test_who_waits_for_a_connection_may_give_up() -> None:
    part = HEAD + b"content-length: 2\r\n\r\no"
    async with serving(answering(part)) as served, client(connections=1) as http:
        answer = await http.send("GET", served.url, {})
        waiting = [asyncio.create_task(get(http, served.url)) for _ in range(5)]
        await turns(5)
        for task in waiting[::2]:
            task.cancel()
        answer.close()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert results[1::2] == [b"ok", b"ok"]
        assert all(isinstance(r, asyncio.CancelledError) for r in results[::2])


@on_loop
async def test_a_request_may_be_cancelled_at_any_turn() -> None:
    async with serving(answering()) as served, client(connections=1) as http:
        for count in range(40):
            task = asyncio.create_task(get(http, served.url))
            await turns(count)
            task.cancel()
            with suppress(asyncio.CancelledError):
                assert await task == b"ok"
            assert await get(http, served.url) == b"ok"  # the slot is free again


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody trusts, with its key."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
        f" -subj /CN=test -addext subjectAltName=IP:127.0.0.1 -keyout {path}.key -out"
        f" {path}.crt"
    )
    try:
        subprocess.run(command.split(), check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl here that makes a certificate")
    path.write_bytes(
        Path(f"{path}.crt").read_bytes() + Path(f"{path}.key").read_bytes()
    )
    return path


def tls_server(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@pytest.mark.parametrize("new_loop", LOOPS)
def test_tls(certificate: Path, monkeypatch: pytest.MonkeyPatch, new_loop: Any) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    chosen: list[str | None] = []
    answers = [CHUNKED, SIZED, OK.replace(b"OK\r\n", b"OK\r\nconnection: close\r\n")]

    async def handle(reader: Reader, writer: Writer) -> None:
        chosen.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
        await answering(*answers)(reader, writer)

    async def main() -> None:
        async with serving(handle, ssl=tls_server(certificate)) as served:
            async with client() as http:
                for body in (b"hello, world", b"hello, world", b"ok"):
                    assert await get(http, served.url) == body
                await served.gone.get()
                assert await get(http, served.url) == b"hello, world"
                assert chosen == ["http/1.1"] * 2
                # Another name than that in the certificate.
                with pytest.raises(HttpBroken, match=r"(?i)certificate") as caught:
                    await get(http, served.url.replace("127.0.0.1", "localhost"))
                assert not caught.value.sent
            await served.gone.get()

    on_loop(main, new_loop)()


@on_loop
async def test_a_certificate_that_nobody_trusts(certificate: Path) -> None:
    async with serving(answering(), ssl=tls_server(certificate)) as served:
        async with client() as http:
            with pytest.raises(HttpBroken, match=r"(?i)certificate") as caught:
                await get(http, served.url)
            assert not caught.value.sent
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with client(verify=trusting) as http:
            assert await get(http, served.url) == b"ok"


@pytest.mark.parametrize("new_loop", LOOPS)
def test_tls_that_is_cut_cancelled_or_stale(certificate: Path, new_loop: Any) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate))
    part = HEAD + b"content-length: 9\r\n\r\nok"
    plan = iter([[OK, b""], [OK, part], [part], [OK]])
    held = iter([False, False, True, False])

    async def handle(reader: Reader, writer: Writer) -> None:
        for answer in next(plan):
            await next_request(reader)
            writer.write(answer)
            await writer.drain()
        if next(held):
            await reader.read()

    async def main() -> None:
        context = tls_server(certificate)
        async with (
            serving(handle, ssl=context) as served,
            client(verify=trusting) as http,
        ):
            assert await get(http, served.url) == b"ok"
            assert await get(http, served.url) == b"ok"
            with pytest.raises(HttpBroken):
                await get(http, served.url)
            answer = await http.send("GET", served.url, {})
            reading = asyncio.create_task(answer.read(9))
            await turns(20)
            reading.cancel()
            await asyncio.wait([reading])
            assert await get(http, served.url) == b"ok"
            assert served.connections == 4

    on_loop(main, new_loop)()


@pytest.mark.parametrize("new_loop", LOOPS)
def test_on_other_loops(new_loop: Any) -> None:
    async def main() -> None:
        answers = answering(OK, CHUNKED, SIZED, OK + OK)
        async with serving(answers) as served, client() as http:
            for body in (b"ok", b"hello, world", b"hello, world", b"ok", b"ok"):
                assert await get(http, served.url) == body
            assert served.connections == 2
            with pytest.raises(HttpBroken) as caught:
                await get(http, f"http://127.0.0.1:{closed_port()}/")
            assert not caught.value.sent
            for count in range(20):
                task = asyncio.create_task(get(http, served.url))
                await turns(count)
                task.cancel()
                await asyncio.wait([task])
                assert await get(http, served.url) == b"ok"

    on_loop(main, new_loop)()


# Fuzz


def mutated(chance: random.Random, raw: bytes) -> bytes:
    """What a broken or hostile server might make of it."""
    data = bytearray(raw)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(6)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            del data[at : at + chance.randrange(1, 5)]
        elif kind == 2:
            data[at:at] = data[at : at + chance.randrange(1, 40)]
        elif kind == 3:
            data[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == 4:
            data[at:at] = chance.choice(PIECES)
        else:
            lines = bytes(data).split(b"\r\n")
            chance.shuffle(lines)
            data = bytearray(b"\r\n".join(lines))
    return bytes(data)


PIECES = [
    *(b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b";", b",", b"0", b"-", b"f"),
    *(b"content-length: 3\r\n", b"transfer-encoding: chunked\r\n", b"\r\n\r\n"),
    *(b"0\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"connection: close\r\n"),
]


def reading_of_h11(raw: bytes) -> tuple[int, bytes] | None:
    """The first answer as another implementation reads it; None if it refuses."""
    there = h11.Connection(h11.CLIENT)
    there.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    there.send(h11.EndOfMessage())
    status, body = 0, b""
    try:
        there.receive_data(raw)
        there.receive_data(b"")
        while True:
            event = there.next_event()
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return status, body
    except h11.RemoteProtocolError:
        return None


@pytest.mark.parametrize("seed", range(6))
@on_loop
async def test_no_nonsense_is_believed(seed: int) -> None:
    chance = random.Random(seed)
    good = [CHUNKED, SIZED, OK, HEAD + b"x: y\r\n\r\nuntil the end"]
    raw = b""

    async def handle(reader: Reader, writer: Writer) -> None:
        await next_request(reader)
        for at in (0, cut):
            writer.write(raw[at : len(raw) if at else cut])
            await turns(2)
        writer.close()

    read = refused = 0
    async with serving(handle) as served, client() as http:
        for _ in range(400):
            raw = mutated(chance, chance.choice(good))
            cut = chance.randrange(1, len(raw) + 2)
            try:
                answer = await http.send("GET", served.url, {})
                body = await answer.read(MIB)
            except HttpBroken:
                refused += 1
            else:
                read += 1
                # It does not know that there may be blanks before an extension.
                others = [raw, re.sub(rb"[ \t]+;", b";", raw)]
                assert (answer.status, body) in map(reading_of_h11, others), raw
        assert read > 20
        assert refused > 100


# Through httpx


@httpx_only
@on_loop
async def test_httpx_does_the_same() -> None:
    part = HEAD + b"content-length: 9\r\n\r\nok"
    away = b"HTTP/1.1 307 Away\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n"
    zipped = HEAD + b"content-encoding: gzip\r\ncontent-length: 2\r\n\r\nok"
    for kind in (*CLIENTS, None):
        answers = answering(CHUNKED, away, OK, zipped, part)
        async with serving(answers) as served:
            own: Any = kind and kind(follow_redirects=True)
            http = Httpx(own)
            answer = await http.send("POST", served.url, {"x": "y"}, b"{}")
            assert (answer.status, answer.headers["x-one"]) == (200, "a, b")
            parts = [part async for part in answer.chunks()]
            assert b"".join(parts) == b"hello, world"
            answer.close()
            assert (await http.send("GET", served.url, {})).status == 307
            with pytest.raises(TooLarge):
                await get(http, served.url, 1)
            with pytest.raises(HttpBroken, match="not offered"):
                await get(http, served.url)
            answer = await http.send("GET", served.url, {})
            chunks = answer.chunks()
            assert await anext(chunks) == b"ok"
            answer.close()
            with pytest.raises((HttpBroken, StopAsyncIteration)):
                await anext(chunks)
            await http.close()
            if own is not None:
                assert not own.is_closed
                await own.aclose()


@httpx_only
@on_loop
async def test_httpx_has_no_timeout_but_for_the_connection() -> None:
    httpx2: Any = import_module("httpx2")
    seen: list[Any] = []

    def answer(request: Any) -> Any:
        seen.append(request.extensions["timeout"])
        return httpx2.Response(200, content=b"ok")

    async with httpx2.AsyncClient(
        transport=httpx2.MockTransport(answer), timeout=3
    ) as own:
        assert await get(Httpx(own), "http://example.invalid/") == b"ok"
    assert seen == [{"connect": 3, "read": None, "write": None, "pool": None}]


@httpx_only
@on_loop
async def test_httpx_and_an_answer_that_is_cut() -> None:
    part = HEAD + b"content-length: 9\r\n\r\nok"
    async with serving(answering(part, b"", then_close=True)) as served:
        http = Httpx()
        for _ in range(2):
            with pytest.raises(HttpBroken, match="RemoteProtocolError") as caught:
                await get(http, served.url)
            assert caught.value.sent
        await http.close()


@httpx_only
@on_loop
async def test_httpx_and_cancellation() -> None:
    async with serving(answering(HEAD + b"content-length: 9\r\n\r\nok")) as served:
        http = Httpx()
        task = asyncio.create_task(get(http, served.url))
        while not served.connections:
            await asyncio.sleep(0)
        await turns(30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await served.gone.get()
        await http.close()


@pytest.mark.parametrize(
    ("environment", "url", "expected"),
    [
        ({}, "http://example.com/", False),
        ({"http_proxy": "http://p:1"}, "http://example.com/", True),
        ({"HTTP_PROXY": "http://p:1"}, "http://example.com/", True),
        ({"http_proxy": "http://p:1"}, "https://example.com/", False),
        ({"https_proxy": "http://p:1"}, "https://example.com/", True),
        ({"all_proxy": "http://p:1"}, "https://example.com/", True),
        ({"http_proxy": ""}, "http://example.com/", False),
        ({"no_proxy": "example.com"}, "http://example.com/", False),
        ({"all_proxy": "http://p:1", "no_proxy": "*"}, "http://example.com/", False),
        (
            {"all_proxy": "http://p:1", "no_proxy": "x, example.com"},
            "http://a.example.com:81/",
            False,
        ),
        ({"all_proxy": "http://p:1", "no_proxy": "b:82"}, "http://b:81/", True),
        ({"all_proxy": "http://p:1", "no_proxy": "b:81"}, "http://b:81/", False),
        ({"all_proxy": "http://p:1", "no_proxy": "::1"}, "http://[::1]:81/", False),
    ],
)
def test_where_a_proxy_is_demanded(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    url: str,
    expected: bool,
) -> None:
    if sys.platform in ("darwin", "win32"):
        pytest.skip("the system has settings too")
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxied(url) is expected


@httpx_only
def test_a_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    async def handle(reader: Reader, writer: Writer) -> None:
        lines.append((await next_request(reader)).line)
        writer.write(OK)

    async def main() -> None:
        async with serving(handle) as served:
            monkeypatch.setenv("http_proxy", served.url.removesuffix("/mcp"))
            monkeypatch.setenv("no_proxy", "")
            http = Httpx()
            assert await get(http, "http://example.invalid/mcp") == b"ok"
            await http.close()

    on_loop(main)()
    assert lines == ["GET http://example.invalid/mcp HTTP/1.1"]


def test_without_httpx2_a_proxy_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ImportError, match=r"pip install 'mcpgen\[client\]'"):
        Httpx()


def test_what_the_client_imports() -> None:
    program = (
        "import sys, mcpgen.runtime.client.http1 as h; h.proxied('http://a/');"
        "print(*{'urllib.request', 'http.client', 'httpx2', 'email'} & {*sys.modules})"
    )
    environment = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        env=environment,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == []
