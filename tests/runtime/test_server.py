"""One server, every version: scripted exchanges, pinned as literal frames.

Every frame that leaves is checked by the validators of the version that is spoken.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from importlib import import_module
from typing import Any

import pytest
from mcpgen.protocol import ERAS, PACKAGES
from mcpgen.runtime import (
    Audio,
    Context,
    Elicit,
    Link,
    McpError,
    NotSupported,
    Sample,
    Server,
    ToolResult,
)

LEGACY = [name for name, era in ERAS.items() if era == "legacy"]
MODERN = next(name for name, era in ERAS.items() if era == "modern")
META = "io.modelcontextprotocol/"


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 10))


class Line:
    """The client's end of a connection: feeds frames, and checks what comes back."""

    own_streams = False

    def __init__(self, server: Server, version: str = MODERN) -> None:
        self.version = version
        self.sent: list[Any] = []
        self.changed = asyncio.Event()
        self.asked: dict[Any, str] = {}
        self.peer = server.connect(self)
        package = f"mcpgen.protocol.{PACKAGES[version]}"
        self.methods = import_module(f"{package}.methods")
        self.validators = import_module(f"{package}.validators").VALIDATORS

    # --- the link -------------------------------------------------------------------------

    def send(self, data: bytes, about: Any) -> None:
        frame = json.loads(data)
        self.check(frame)
        self.sent.append(frame)
        self.changed.set()

    async def drain(self) -> None:
        pass

    def check(self, frame: Any) -> None:
        """By the rules of the version: the frame, and the result that it carries."""
        if isinstance(frame, list):
            for each in frame:
                self.check(each)
            return
        if frame.get("id", 0) is None:
            return  # the one message that the old schemas do not cover
        assert not self.validators["JSONRPCMessage"](frame), frame
        if "method" in frame:
            table = {**self.methods.REQUESTS, **self.methods.NOTIFICATIONS}
            kind = table[frame["method"]].params
            assert not self.issues(kind, frame.get("params", {})), frame
        elif "result" in frame:
            row = self.methods.REQUESTS[self.asked[frame["id"]]]
            issues = [self.issues(kind, frame["result"]) for kind in row.results]
            assert [] in issues, (frame, issues)

    def issues(self, kind: Any, value: Any) -> Any:
        name = kind if isinstance(kind, str) else kind.__name__
        return self.validators[name](value)

    # --- the client -----------------------------------------------------------------------

    def feed(self, frame: Any) -> None:
        if isinstance(frame, dict) and "method" in frame and "id" in frame:
            self.asked[frame["id"]] = frame["method"]
        self.peer.receive(json.dumps(frame).encode())

    async def frame(self, number: int) -> Any:
        async with asyncio.timeout(5):
            while len(self.sent) <= number:
                self.changed.clear()
                await self.changed.wait()
        return self.sent[number]

    async def ask(self, method: str, params: Any = None, id: Any = None) -> Any:
        """Send a request and wait for its answer."""
        id = id or len(self.asked) + 100
        frame = {"jsonrpc": "2.0", "id": id, "method": method}
        start = len(self.sent)
        if ERAS[self.version] == "modern":
            meta = {
                META + "protocolVersion": self.version,
                META + "clientCapabilities": {"elicitation": {}, "sampling": {}},
            }
            params = {"_meta": meta, **(params or {})}
        self.feed(frame if params is None else frame | {"params": params})
        while True:
            answer = await self.frame(start)
            if answer.get("id") == id and "method" not in answer:
                return answer
            start += 1

    async def initialize(self, **capabilities: Any) -> Any:
        client = {"name": "test", "version": "1"}
        answer = await self.ask(
            "initialize",
            {
                "protocolVersion": self.version,
                "capabilities": capabilities,
                "clientInfo": client,
            },
        )
        self.feed({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer


def make_server() -> Server:
    server = Server("test", version="1.0", instructions="Use it well.")

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(title="Greeting", annotations={"readOnlyHint": True})
    def greet(name: str = "you") -> str:
        """Greet somebody."""
        return f"Hello, {name}!"

    @server.tool
    async def media() -> list[Any]:
        """A sound and a link."""
        return [Audio(b"abc", "audio/wav"), Link("file:///a.txt", "a")]

    @server.tool
    async def fails() -> str:
        """Does not work."""
        raise RuntimeError("out of order")

    @server.tool
    async def refuses() -> str:
        """A protocol error."""
        raise McpError(-32000, "not today", {"why": "closed"})

    @server.tool
    async def full() -> ToolResult:
        """All there is."""
        return ToolResult("text", structured={"a": 1}, meta={"x/y": 1})

    @server.tool
    async def slow(ctx: Context) -> str:
        """Tells how far it is."""
        await ctx.progress(1, 2, "half")
        await ctx.progress(1, 2, "not forwards")
        await ctx.log("info", "working")
        await ctx.progress(2, 2)
        return "done"

    @server.tool
    async def name(ctx: Context) -> str:
        """Asks for a name."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        try:
            answer = await ctx.elicit("Who are you?", schema)
        except NotSupported as error:
            return f"nobody: {error}"
        return f"Hello, {answer.content['name']}"

    @server.resource("test://fixed", mime_type="text/plain")
    def fixed() -> str:
        """A text."""
        return "text"

    @server.resource("test://item/{id}")
    async def item(id: str) -> bytes:
        """An item."""
        return id.encode()

    @server.prompt
    def review(code: str) -> str:
        """Ask for a review."""
        return f"Review {code}"

    @server.completion("review", "code")
    def codes(value: str) -> list[str]:
        return [c for c in ("alpha", "beta") if c.startswith(value)]

    return server


# --- the legacy handshake -------------------------------------------------------------


@pytest.mark.parametrize("version", LEGACY)
def test_the_handshake(version: str) -> None:
    async def main() -> None:
        line = Line(make_server(), version)
        answer = await line.initialize()
        result = answer["result"]
        assert result["protocolVersion"] == version
        assert result["serverInfo"] == {"name": "test", "version": "1.0"}
        assert result["instructions"] == "Use it well."
        assert result["capabilities"]["tools"] == {"listChanged": True}
        assert ("completions" in result["capabilities"]) == (version > "2024-11-05")

    run(main())


def test_an_unknown_version_is_answered_with_the_newest_legacy_one() -> None:
    async def main() -> None:
        line = Line(make_server(), LEGACY[-1])
        line.version = "1999-01-01"
        ERAS["1999-01-01"] = "legacy"
        try:
            answer = await line.initialize()
        finally:
            del ERAS["1999-01-01"]
        assert answer["result"]["protocolVersion"] == LEGACY[-1]

    run(main())


def test_before_initialize_only_ping_is_served() -> None:
    async def main() -> None:
        line = Line(make_server(), LEGACY[-1])
        assert (await line.ask("ping"))["result"] == {}
        answer = await line.ask("tools/list")
        assert answer["error"]["code"] == -32600
        assert "initialize" in answer["error"]["message"]
        await line.initialize()
        again = await line.ask("initialize", {"protocolVersion": LEGACY[0]})
        assert again["error"]["code"] == -32600

    run(main())


# --- every version --------------------------------------------------------------------


async def opened(version: str, **capabilities: Any) -> Line:
    line = Line(make_server(), version)
    if ERAS[version] == "legacy":
        await line.initialize(**capabilities)
    return line


@pytest.mark.parametrize("version", PACKAGES)
def test_listing(version: str) -> None:
    async def main() -> None:
        line = await opened(version)
        tools = (await line.ask("tools/list"))["result"]["tools"]
        assert [t["name"] for t in tools][:2] == ["add", "greet"]
        assert tools[0]["inputSchema"]["required"] == ["a", "b"]
        assert ("title" in tools[1]) == (version >= "2025-06-18")
        resources = (await line.ask("resources/list"))["result"]["resources"]
        assert [r["uri"] for r in resources] == ["test://fixed"]
        templates = (await line.ask("resources/templates/list"))["result"]
        assert templates["resourceTemplates"][0]["uriTemplate"] == "test://item/{id}"
        prompts = (await line.ask("prompts/list"))["result"]["prompts"]
        assert prompts[0]["arguments"] == [{"name": "code", "required": True}]

    run(main())


@pytest.mark.parametrize("version", PACKAGES)
def test_calling(version: str) -> None:
    async def main() -> None:
        line = await opened(version)
        called = {"name": "add", "arguments": {"a": 2, "b": 3}}
        result = (await line.ask("tools/call", called))["result"]
        assert result["content"] == [{"type": "text", "text": "5"}]
        structured = {"2026-07-28": 5}.get(version, {"result": 5})
        expected = None if version < "2025-06-18" else structured
        assert result.get("structuredContent") == expected
        result = (await line.ask("tools/call", {"name": "greet"}))["result"]
        assert result["content"] == [{"type": "text", "text": "Hello, you!"}]

    run(main())


@pytest.mark.parametrize("version", PACKAGES)
def test_old_clients_get_what_they_can_read(version: str) -> None:
    async def main() -> None:
        line = await opened(version)
        result = (await line.ask("tools/call", {"name": "media"}))["result"]
        kinds = [block["type"] for block in result["content"]]
        sound = "audio" if version >= "2025-03-26" else "resource"
        link = "resource_link" if version >= "2025-06-18" else "text"
        assert kinds == [sound, link]

    run(main())


@pytest.mark.parametrize("version", PACKAGES)
def test_what_goes_wrong(version: str) -> None:
    async def main() -> None:
        line = await opened(version)
        failed = (await line.ask("tools/call", {"name": "fails"}))["result"]
        assert failed["isError"] is True
        assert failed["content"] == [{"type": "text", "text": "out of order"}]
        refused = (await line.ask("tools/call", {"name": "refuses"}))["error"]
        expected = {"code": -32000, "message": "not today", "data": {"why": "closed"}}
        assert refused == expected
        unknown = (await line.ask("tools/call", {"name": "nope"}))["error"]
        assert unknown["code"] == -32602
        bad = {"name": "add", "arguments": {"a": "x"}}
        answer = await line.ask("tools/call", bad)
        if version < "2025-11-25":
            assert answer["error"]["code"] == -32602
            assert [issue["path"] for issue in answer["error"]["data"]] == [
                "$.arguments.b",
                "$.arguments.a",
            ]
        else:
            assert answer["result"]["isError"] is True
            assert "$.arguments.a: " in answer["result"]["content"][0]["text"]
        missing = (await line.ask("resources/read", {"uri": "test://no"}))["error"]
        assert missing["code"] == (-32602 if version == MODERN else -32002)
        assert missing["data"] == {"uri": "test://no"}
        assert (await line.ask("no/such"))["error"]["code"] == -32601
        malformed = (await line.ask("tools/call", {"name": 7}))["error"]
        assert malformed["code"] == -32602
        assert malformed["data"][0]["path"] == "$.name"

    run(main())


@pytest.mark.parametrize("version", PACKAGES)
def test_reading_prompting_completing(version: str) -> None:
    async def main() -> None:
        line = await opened(version)
        read = (await line.ask("resources/read", {"uri": "test://fixed"}))["result"]
        text = {"uri": "test://fixed", "mimeType": "text/plain", "text": "text"}
        assert read["contents"] == [text]
        read = (await line.ask("resources/read", {"uri": "test://item/7"}))["result"]
        assert read["contents"] == [{"uri": "test://item/7", "blob": "Nw=="}]
        got = await line.ask(
            "prompts/get", {"name": "review", "arguments": {"code": "x"}}
        )
        message = {"role": "user", "content": {"type": "text", "text": "Review x"}}
        assert got["result"]["messages"] == [message]
        got = await line.ask("prompts/get", {"name": "review"})
        assert got["error"]["code"] == -32602
        if version > "2024-11-05":
            ref = {"type": "ref/prompt", "name": "review"}
            argument = {"name": "code", "value": "al"}
            asked = {"ref": ref, "argument": argument}
            completed = (await line.ask("completion/complete", asked))["result"]
            assert completed["completion"]["values"] == ["alpha"]

    run(main())


@pytest.mark.parametrize("version", PACKAGES)
def test_progress_carries_the_token_and_only_grows(version: str) -> None:
    async def main() -> None:
        line = await opened(version)
        start = len(line.sent)
        params: dict[str, Any] = {"name": "slow", "_meta": {"progressToken": "t"}}
        if version == MODERN:
            params["_meta"] |= {
                META + "protocolVersion": version,
                META + "clientCapabilities": {},
                META + "logLevel": "debug",
            }
        await line.ask("tools/call", params)
        told = [f for f in line.sent[start:] if "method" in f]
        progress = [f["params"] for f in told if f["method"].endswith("progress")]
        assert [p["progress"] for p in progress] == [1, 2]
        assert {p["progressToken"] for p in progress} == {"t"}
        assert ("message" in progress[0]) == (version > "2024-11-05")
        logged = [f["params"]["data"] for f in told if f["method"].endswith("message")]
        assert logged == ["working"]

    run(main())


# --- asking the client ----------------------------------------------------------------


def test_eliciting_in_the_legacy_era_is_a_request() -> None:
    async def main() -> None:
        line = await opened(LEGACY[-1], elicitation={})
        start = len(line.sent)
        asking = asyncio.ensure_future(line.ask("tools/call", {"name": "name"}))
        question = await line.frame(start)
        assert question["method"] == "elicitation/create"
        assert question["params"]["message"] == "Who are you?"
        answer = {"action": "accept", "content": {"name": "Ada"}}
        line.feed({"jsonrpc": "2.0", "id": question["id"], "result": answer})
        result = (await asking)["result"]
        assert result["content"][0]["text"] == "Hello, Ada"

    run(main())


@pytest.mark.parametrize("version", LEGACY)
def test_asking_what_the_client_cannot_is_caught_or_told(version: str) -> None:
    async def main() -> None:
        line = await opened(version)
        result = (await line.ask("tools/call", {"name": "name"}))["result"]
        assert result["content"][0]["text"].startswith("nobody: ")

    run(main())


def test_eliciting_in_the_modern_era_takes_two_rounds() -> None:
    async def main() -> None:
        line = Line(make_server())
        first = (await line.ask("tools/call", {"name": "name"}))["result"]
        assert first["resultType"] == "input_required"
        ((key, question),) = first["inputRequests"].items()
        assert question["method"] == "elicitation/create"
        answers = {key: {"action": "accept", "content": {"name": "Ada"}}}
        again = {
            "name": "name",
            "inputResponses": answers,
            "requestState": first["requestState"],
        }
        second = (await line.ask("tools/call", again))["result"]
        assert second["content"][0]["text"] == "Hello, Ada"
        tampered = again | {"requestState": first["requestState"] + "x"}
        assert (await line.ask("tools/call", tampered))["error"]["code"] == -32602
        other = again | {"name": "greet"}
        assert (await line.ask("tools/call", other))["error"]["code"] == -32602

    run(main())


def test_what_runs_twice_and_what_does_not() -> None:
    """The handler runs again from the top; `state` is what it remembers."""

    async def main() -> None:
        server = Server("twice")
        ran: list[str] = []

        @server.tool
        async def order(ctx: Context) -> str:
            """Asks twice."""
            ran.append("top")
            if "number" not in ctx.state:
                ran.append("once")
                ctx.state["number"] = 42
            question = {"type": "object", "properties": {}}
            asked = await ctx.ask(size=Elicit("Size?", question))
            colour = await ctx.ask(colour=Sample("Colour?", max_tokens=5))
            number = ctx.state["number"]
            return f"{number} {asked['size'].action} {colour['colour'].model}"

        line = Line(server)
        call: dict[str, Any] = {"name": "order"}
        one = (await line.ask("tools/call", call))["result"]
        assert list(one["inputRequests"]) == ["size"]
        call |= {"requestState": one["requestState"]}
        two = (
            await line.ask(
                "tools/call", call | {"inputResponses": {"size": {"action": "accept"}}}
            )
        )["result"]
        assert list(two["inputRequests"]) == ["colour"]
        said = {
            "role": "assistant",
            "content": {"type": "text", "text": "red"},
            "model": "m",
        }
        call |= {"requestState": two["requestState"]}
        three = (
            await line.ask("tools/call", call | {"inputResponses": {"colour": said}})
        )["result"]
        assert three["content"][0]["text"] == "42 accept m"
        assert ran == ["top", "once", "top", "top"]

    run(main())


def test_a_missing_capability_is_a_protocol_error_in_the_modern_era() -> None:
    async def main() -> None:
        server = make_server()

        @server.tool
        async def insists(ctx: Context) -> str:
            """Does not look whether the client can."""
            return str(await ctx.elicit("Who?", {"type": "object", "properties": {}}))

        line = Line(server)
        meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
        answer = await line.ask("tools/call", {"name": "insists", "_meta": meta})
        assert answer["error"]["code"] == -32021
        assert answer["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}

    run(main())


# --- the modern envelope --------------------------------------------------------------


def test_discover() -> None:
    async def main() -> None:
        line = Line(make_server())
        result = (await line.ask("server/discover"))["result"]
        assert result["supportedVersions"] == [MODERN]
        assert result["_meta"][META + "serverInfo"]["name"] == "test"
        assert result["resultType"] == "complete"
        bare = await line.ask("server/discover", {"_meta": {}})
        assert bare["error"]["code"] == -32602
        meta = {META + "protocolVersion": "v999", META + "clientCapabilities": {}}
        unknown = await line.ask("server/discover", {"_meta": meta})
        assert unknown["error"]["code"] == -32022
        assert unknown["error"]["data"] == {"supported": [MODERN], "requested": "v999"}

    run(main())


def test_both_eras_on_one_connection() -> None:
    async def main() -> None:
        server = make_server()
        line = Line(server, LEGACY[-1])
        await line.initialize()
        assert "ttlMs" not in (await line.ask("tools/list"))["result"]
        modern = Line(server)
        modern.peer = line.peer
        line.peer.link = modern
        assert "ttlMs" in (await modern.ask("tools/list"))["result"]

    run(main())


# --- changes --------------------------------------------------------------------------


def test_changes_are_told_to_sessions_and_listeners() -> None:
    async def main() -> None:
        server = make_server()
        old = Line(server, LEGACY[0])
        await old.initialize()
        await old.ask("resources/subscribe", {"uri": "test://fixed"})
        new = Line(server)
        wanted = {"notifications": {"toolsListChanged": True}}
        listening = asyncio.ensure_future(new.ask("subscriptions/listen", wanted, 7))
        acknowledged = await new.frame(0)
        assert acknowledged["params"]["notifications"] == {"toolsListChanged": True}
        assert acknowledged["params"]["_meta"] == {META + "subscriptionId": 7}
        before = len(old.sent)
        server.remove_tool("fails")
        server.resource_updated("test://fixed")
        server.hub.list_changed("prompts")
        told = [frame["method"] for frame in old.sent[before:]]
        assert told == [
            "notifications/tools/list_changed",
            "notifications/resources/updated",
            "notifications/prompts/list_changed",
        ]
        assert (await new.frame(1))["method"] == "notifications/tools/list_changed"
        assert len(new.sent) == 2
        server.hub.close()
        await listening

    run(main())


def test_batches_are_for_one_version_only() -> None:
    async def main() -> None:
        for version in LEGACY:
            line = await opened(version)
            start = len(line.sent)
            line.asked |= {1: "ping", 2: "ping"}
            calls = [{"jsonrpc": "2.0", "id": i, "method": "ping"} for i in (1, 2)]
            line.feed(calls)
            answer = await line.frame(start)
            if version == "2025-03-26":
                assert [a["result"] for a in answer] == [{}, {}]
            else:
                assert answer["error"]["code"] == -32600

    run(main())


def test_a_blocking_function_stops_nobody() -> None:
    async def main() -> None:
        import threading

        server = Server("blocks")
        release = threading.Event()

        @server.tool
        def block() -> str:
            """Waits."""
            release.wait(5)
            return "done"

        line = Line(server, LEGACY[-1])
        await line.initialize()
        blocked = asyncio.ensure_future(line.ask("tools/call", {"name": "block"}))
        await asyncio.sleep(0)
        assert (await line.ask("ping"))["result"] == {}
        release.set()
        assert (await blocked)["result"]["content"][0]["text"] == "done"

    run(main())
