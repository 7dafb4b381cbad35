"""Never hangs, never lies, over HTTP: every request gets one response that is right.

Ten thousand POSTs of `fuzz_frames` on many connections, in sessions of every legacy
version and without one, with HTTP itself wrong in every tenth of them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from .fuzz_frames import MODERN, PREFIX, Frames, modern_meta
from .fuzz_http import EVENTS, Connection, Response, Site, http, modern, sse
from .fuzz_oracle import Judge, Unreadable, check_frame, duty, parse
from .test_fuzz import SESSIONS, Fuzzer, check_report, run

WORKERS = 8
MESSAGES = 10_000
SSE_MESSAGES = 2_000
NAMES_VERSION = (PREFIX + "protocolVersion").encode()


class Client:
    """Sends one message after the other, and judges each response by itself."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site = site
        self.frames = Frames(seed, modern=0.5, batches=True)
        self.random = self.frames.random
        self.sessions: dict[str, dict[str, str]] = {}
        self.connection: Connection
        self.last: Any = None

    async def run(self, messages: int) -> None:
        """Open sessions, torment the server, and end the sessions."""
        for version in filter(None, SESSIONS):
            self.sessions[version] = await self.site.open_session(version, roots={})
        sent = 0
        while sent < messages:
            async with self.site.connection() as self.connection:
                # Some mistakes cost the connection; each ends after a while anyway.
                for _ in range(50):
                    sent += 1
                    if not await self.one():
                        break
        for session in self.sessions.values():
            response = await self.site.send(b"", session, method="DELETE")
            assert response.status in (200, 204), response

    async def one(self) -> bool:
        """One message; False when the connection is of no use any more."""
        body, version = self.frames.message(), self.random.choice(list(SESSIONS))
        headers = self.headers(body, version)
        self.last = (version, headers, body[:2000])
        try:
            if self.random.random() < 0.1:
                mistake = self.random.choice(MISTAKES)
                self.last = (mistake.__name__, *self.last)
                return await mistake(self, body, headers)
            await self.connection.write(self.site.bytes_of(body, headers))
            return await self.judge(body, version)
        except AssertionError as failure:
            raise AssertionError(f"{failure}\nafter {self.last}") from failure

    def headers(self, body: bytes, version: str) -> dict[str, str]:
        """The right ones, for as much as can be read of the message."""
        if version:
            return dict(self.sessions[version])
        try:
            return modern(parse(body))
        except Unreadable:
            return modern(None)

    # --- right requests ---------------------------------------------------------------

    async def judge(self, body: bytes, version: str) -> bool:
        """Read the response: is it what the message obliges to?"""
        settings = SESSIONS[version]
        null_ids = settings.get("null_ids", False)
        if version and NAMES_VERSION in body:
            null_ids = None  # whose rules hold depends on how much can be read
        judge = Judge(batches=settings.get("batches", False), null_ids=null_ids)
        found = duty(body, batches=judge.batches)
        loose = bool(found.batch) and (found.refusal is not None or mixes(body))
        if not loose:
            judge.sent(body)
        response = await self.connection.head()
        assert response is not None, "it hung up"
        assert response.status in (200, 202, 400, 404), response
        if found.lasting and response.status == 200:
            await self.connection.more(response)
            for message in response.messages():
                check_frame(parse(message))
            return False  # which cancels it
        await self.read(response, version)
        for message in response.messages():
            if loose:
                assert response.status in (200, 400)
            else:
                judge.received(message)
        problem = judge.problem()
        assert problem is None, f"{problem}: {response}"
        if found.answer is None and found.refusal is None and not found.batch:
            assert response.status == 202, response
            assert not response.body, response
        if found.refusal is not None and found.required:
            assert response.status == 400, response
        return True

    async def read(self, response: Response, version: str) -> None:
        """Read to the end; answer what the server asks meanwhile."""
        answered = 0
        going_on = True
        while going_on:
            going_on = await self.connection.more(response)
            events = response.messages() if response.kind == EVENTS else []
            questions = [frame for frame in map(parse, events) if is_question(frame)]
            for question in questions[answered:]:
                answered += 1
                result: dict[str, Any] = {"roots": []}
                answer = {"jsonrpc": "2.0", "id": question["id"], "result": result}
                posted = await self.site.send(
                    json.dumps(answer).encode(), self.sessions[version]
                )
                assert posted.status == 202, posted

    # --- wrong requests ---------------------------------------------------------------

    async def refused(
        self, body: bytes, headers: dict[str, str], *statuses: int, **how: str
    ) -> bool:
        """HTTP forbids it, whatever the message is."""
        await self.connection.write(self.site.bytes_of(body, headers, **how))
        response = await self.connection.response()
        assert response is not None, "it hung up"
        assert response.status in statuses, response
        for message in response.messages():
            frame = parse(message)
            check_frame(frame)
            assert "error" in frame, frame
        return response.headers.get("connection") != "close"

    async def wrong_header(self, body: bytes, headers: dict[str, str]) -> bool:
        name, value, status = self.random.choice(
            (
                ("Content-Type", "text/plain", 415),
                ("Content-Type", "application/jsonp", 415),
                ("Content-Type", "", 415),
                ("Accept", "text/html", 406),
                ("Accept", "application/xml;q=0.9", 406),
                ("Host", "evil.example", 421),
                ("Host", "127.0.0.1.evil.example:80", 421),
                ("Origin", "http://evil.example", 403),
                ("Origin", "null", 403),
            )
        )
        return await self.refused(body, headers | {name: value}, status)

    async def wrong_session(self, body: bytes, headers: dict[str, str]) -> bool:
        session = dict(self.sessions["2025-06-18"])
        body = json.dumps(self.frames.request("ping", {}) | {"params": {}}).encode()
        name, value, status = self.random.choice(
            (
                ("Mcp-Session-Id", "", 400),
                ("Mcp-Session-Id", "no-such-session", 404),
                ("Mcp-Session-Id", session["Mcp-Session-Id"][:-1], 404),
                ("Mcp-Session-Id", "\xe9\xff", 404),
                ("MCP-Protocol-Version", "1999-01-01", 400),
                ("MCP-Protocol-Version", "2025-06-18, 2025-06-18", 400),
            )
        )
        return await self.refused(body, session | {name: value}, status)

    async def wrong_place(self, body: bytes, headers: dict[str, str]) -> bool:
        method, path, status = self.random.choice(
            (
                ("POST", "/", 404),
                ("POST", "/mcp/", 404),
                ("POST", "/%00", 404),
                ("PUT", "/mcp", 405),
                ("PATCH", "/mcp", 405),
                ("POST", "/sse", 405),
                ("POST", "/messages", 404),
                ("POST", "/messages?session_id=%ff", 404),
                ("GET", "/messages", 405),
            )
        )
        return await self.refused(body, headers, status, method=method, path=path)

    async def wrong_mirror(self, body: bytes, headers: dict[str, str]) -> bool:
        frame = self.frames.tool("add", a=1, b=2)
        frame["params"]["_meta"] = modern_meta()
        name, value = self.random.choice(
            (
                ("Mcp-Method", "tools/list"),
                ("Mcp-Method", ""),
                ("Mcp-Name", "other"),
                ("Mcp-Name", "=?base64?!?="),
                ("Mcp-Name", "\xff"),
                ("MCP-Protocol-Version", "2025-11-25"),
                ("MCP-Protocol-Version", ""),
            )
        )
        wrong = modern(frame) | {name: value}
        return await self.refused(json.dumps(frame).encode(), wrong, 400)

    async def too_large(self, body: bytes, headers: dict[str, str]) -> bool:
        if self.random.random() < 0.5:  # refused by its header alone
            data = self.site.bytes_of(b"", headers | {"Content-Length": str(2**33)})
        else:
            chunk = b"%x\r\n%b\r\n" % (2**20, b" " * 2**20)
            data = self.chunked(headers) + chunk * 5
        await self.connection.write(data)
        response = await self.connection.head()
        assert response is not None, "it hung up"
        assert response.status == 413, response
        return False

    def chunked(self, headers: dict[str, str]) -> bytes:
        said = headers | {"Content-Length": "", "Transfer-Encoding": "chunked"}
        return self.site.bytes_of(b"", said)

    async def chunks(self, body: bytes, headers: dict[str, str]) -> bool:
        """Not wrong at all."""
        data = self.chunked(headers)
        rest = body
        while rest:
            size = self.random.choice((1, 10, 1000, 10**6))
            data += b"%x\r\n%b\r\n" % (len(rest[:size]), rest[:size])
            rest = rest[size:]
            await self.connection.write(data)
            data = b""
        await self.connection.write(data + b"0\r\n\r\n")
        return await self.judge(body, self.version_of(headers))

    def version_of(self, headers: dict[str, str]) -> str:
        version = headers["MCP-Protocol-Version"]
        return "" if version == MODERN else version

    async def bad_chunks(self, body: bytes, headers: dict[str, str]) -> bool:
        chunk = self.random.choice((b"zz\r\n", b"-1\r\n", b"5\r\nabc\r\n", b"\xff\r\n"))
        await self.connection.write(self.chunked(headers) + chunk + b"0\r\n\r\n")
        response = await self.connection.head()
        assert response is None or response.status == 400, response
        return False

    async def no_http(self, body: bytes, headers: dict[str, str]) -> bool:
        await self.connection.write(
            self.random.choice(
                (
                    body + b"\r\n\r\n",
                    b"\0" * 100 + b"\r\n\r\n",
                    b"POST /mcp HTTP/9.9\r\n\r\n",
                    b"POST /mcp HTTP/1.1\r\nHost\r\n\r\n",
                    b"GET http://[::1 HTTP/1.1\r\n\r\n",
                    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
                    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                )
            )
        )
        self.connection.end_of_input()
        response = await self.connection.head()
        assert response is None or 400 <= response.status < 500, response
        return False

    async def cut_short(self, body: bytes, headers: dict[str, str]) -> bool:
        """More was announced than comes."""
        more = headers | {"Content-Length": str(len(body) + 10)}
        await self.connection.write(self.site.bytes_of(body, more))
        self.connection.drop()
        return False

    async def gone(self, body: bytes, headers: dict[str, str]) -> bool:
        """Nobody waits for the response."""
        if not duty(body, batches=True).lasting:
            body = json.dumps(self.frames.tool("steps")).encode()
        await self.connection.write(self.site.bytes_of(body, headers))
        self.connection.drop()
        return False

    async def overlong(self, body: bytes, headers: dict[str, str]) -> bool:
        """Less was announced than comes: the rest is no request."""
        announced = headers | {"Content-Length": str(len(body) // 2)}
        await self.connection.write(self.site.bytes_of(body, announced))
        response = await self.connection.head()
        assert response is None or response.status < 500, response
        return False

    async def pipelined(self, body: bytes, headers: dict[str, str]) -> bool:
        """Two at once, answered one after the other."""
        frame = self.frames.request("ping", {}) | {"params": {}}
        first, session = json.dumps(frame).encode(), self.sessions["2025-11-25"]
        await self.connection.write(
            self.site.bytes_of(first, session) + self.site.bytes_of(body, headers)
        )
        await self.judge(first, "2025-11-25")
        return await self.judge(body, self.version_of(headers))

    async def expecting(self, body: bytes, headers: dict[str, str]) -> bool:
        more = headers | {"Expect": "100-continue"}
        await self.connection.write(self.site.bytes_of(body, more))
        return await self.judge(body, self.version_of(headers))


def is_question(frame: Any) -> bool:
    return isinstance(frame, dict) and {"id", "method"} <= frame.keys()


def mixes(body: bytes) -> bool:
    """May an array hold calls and answers, which HTTP forbids?"""
    return any(
        isinstance(m, dict) and m.keys() & {"result", "error"} for m in parse(body)
    )


Mistake = Callable[[Client, bytes, dict[str, str]], Awaitable[bool]]
MISTAKES: tuple[Mistake, ...] = (
    *(Client.wrong_header, Client.wrong_session, Client.wrong_place),
    *(Client.wrong_mirror, Client.chunks, Client.bad_chunks, Client.no_http),
    *(Client.cut_short, Client.gone, Client.overlong, Client.pipelined),
    *(Client.expecting, Client.too_large),
)


def test_http() -> None:
    async def torment(site: Site, seed: int, messages: int) -> None:
        async with asyncio.TaskGroup() as group:
            for worker in range(WORKERS):
                client = Client(site, seed + worker)
                group.create_task(client.run(messages // WORKERS))

    async def test() -> None:
        async with http() as site:
            await torment(site, 2000, MESSAGES // 5)
            before = await report(site)
            await torment(site, 3000, MESSAGES - MESSAGES // 5)
            await check_report(before, lambda: report(site))
            session = await site.open_session("2025-11-25")
            await site.ask({"jsonrpc": "2.0", "id": 1, "method": "ping"}, session)
            assert b"Traceback" not in site.process.errors, bytes(site.process.errors)

    run(test())


def test_http_with_sse() -> None:
    """The transport of the oldest version: one stream out, posts in."""

    async def test() -> None:
        judge = Judge()
        async with http() as site, sse(site, judge) as line:
            await line.initialize("2024-11-05", roots={})
            judge.null_ids = True
            fuzzer = Fuzzer(line, Frames(4000, modern=0.3), modern=False)
            await fuzzer.run(SSE_MESSAGES // 2)
            before = await fuzzer.report()
            await fuzzer.run(SSE_MESSAGES // 2)
            await check_report(before, fuzzer.report)
            await fuzzer.check_service()
            assert b"Traceback" not in site.process.errors, bytes(site.process.errors)

    run(test())


async def report(site: Site) -> dict[str, int]:
    params = {"name": "report", "arguments": {}, "_meta": modern_meta()}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    result = await site.ask(frame)
    found: dict[str, int] = json.loads(result["content"][0]["text"])
    return found
