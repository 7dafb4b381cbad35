"""The typed handlers of one version: what comes in is typed, and so is what leaves.

Every frame that leaves is checked by the validators of the version that is served.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcpgen.protocol import ERAS, PACKAGES
from mcpgen.runtime import Context, McpError
from mcpgen.runtime.handlers import HandlersServer

from tests.runtime.test_server import META, Line

ROOT = Path(__file__).parent.parent.parent
VERSIONS = list(ERAS)
LEGACY = [name for name, era in ERAS.items() if era == "legacy"]
MODERN = [name for name, era in ERAS.items() if era == "modern"]
NEWEST = LEGACY[-1]


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 10))


def bindings(version: str) -> Any:
    return importlib.import_module(f"mcpgen.protocol.{PACKAGES[version]}")


def handlers_class(version: str) -> Any:
    return bindings(version).server.ServerHandlers


def cached(version: str) -> dict[str, Any]:
    """The fields that results of a list must have in the modern era."""
    return {"ttl_ms": 5, "cache_scope": "public"} if version in MODERN else {}


def make_tools(version: str) -> Any:
    """Handlers that list and call one tool, and remember what they were given."""
    types = bindings(version).types

    class Tools(handlers_class(version)):  # type: ignore[misc]
        def __init__(self) -> None:
            self.given: list[Any] = []
            self.contexts: list[Context] = []

        async def list_tools(self, params: Any, ctx: Any) -> Any:
            self.given.append(params)
            tools = [types.Tool(name="echo", input_schema={"type": "object"})]
            return types.ListToolsResult(tools=tools, **cached(version))

        async def call_tool(self, params: Any, ctx: Any) -> Any:
            self.given.append(params)
            self.contexts.append(ctx)
            if params.name != "echo":
                raise McpError(-32602, f"there is no tool {params.name!r}")
            text = str(params.arguments["text"])
            return types.CallToolResult(content=[types.TextContent(text=text)])

    return Tools()


async def opened(server: HandlersServer, version: str, **capabilities: Any) -> Line:
    line = Line(server, version)  # type: ignore[arg-type]
    if version in LEGACY:
        await line.initialize(**capabilities)
    return line


def error_of(answer: Any) -> int:
    code: int = answer["error"]["code"]
    return code


# --- every version --------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_typed_params_arrive_and_typed_results_leave(version: str) -> None:
    async def main() -> None:
        handlers, types = make_tools(version), bindings(version).types
        line = await opened(HandlersServer(handlers, "raw", "1.2"), version)
        listed = await line.ask("tools/list")
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo"]
        called = await line.ask(
            "tools/call", {"name": "echo", "arguments": {"text": 1}}
        )
        assert called["result"]["content"] == [{"type": "text", "text": "1"}]
        assert isinstance(handlers.given[1], types.CallToolRequestParams)
        assert handlers.given[1].arguments == {"text": 1}
        (context,) = handlers.contexts
        assert isinstance(context, Context)
        assert context.version == version
        assert context.request_id == called["id"]

    run(main())


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_overridden_is_not_found(version: str) -> None:
    async def main() -> None:
        server = HandlersServer(make_tools(version), "raw")
        line = await opened(server, version)
        for method in ("prompts/list", "resources/list", "no/such/method"):
            assert error_of(await line.ask(method)) == -32601
        declared: dict[str, Any] = {"tools": {}, "prompts": {}}
        server = HandlersServer(make_tools(version), "raw", capabilities=declared)
        line = await opened(server, version)
        assert error_of(await line.ask("prompts/list")) == -32601

    run(main())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_handler_may_say_that_there_is_no_such_method(version: str) -> None:
    class Passing(handlers_class(version)):  # type: ignore[misc]
        async def call_tool(self, params: Any, ctx: Any) -> Any:
            return await super().call_tool(params, ctx)

    async def main() -> None:
        line = await opened(HandlersServer(Passing(), "raw"), version)
        answer = await line.ask("tools/call", {"name": "x"})
        assert error_of(answer) == -32601
        assert "tools/call" in answer["error"]["message"]

    run(main())


@pytest.mark.parametrize("version", VERSIONS)
def test_errors_of_handlers(version: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        line = await opened(HandlersServer(make_tools(version), "raw"), version)
        unknown = await line.ask("tools/call", {"name": "other"})
        assert unknown["error"] == {
            "code": -32602,
            "message": "there is no tool 'other'",
        }
        broken = await line.ask("tools/call", {"name": "echo", "arguments": {}})
        assert broken["error"] == {"code": -32603, "message": "internal error"}
        assert "KeyError" in caplog.text
        bad = await line.ask("tools/call", {"name": 1})
        assert error_of(bad) == -32602
        assert bad["error"]["data"][0]["path"] == "$.name"

    run(main())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_result_that_the_version_does_not_allow_never_leaves(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    types = bindings(version).types
    results = [
        types.CallToolResult(content="no list"),
        types.CallToolResult(content=[{"type": "unheard-of"}]),
        types.ListPromptsResult(prompts=[], **cached(version)),
        {"content": []},
        None,
    ]

    class Wrong(handlers_class(version)):  # type: ignore[misc]
        async def call_tool(self, params: Any, ctx: Any) -> Any:
            return results[int(params.name)]

    async def main() -> None:
        line = await opened(HandlersServer(Wrong(), "raw"), version)
        for number in range(len(results)):
            answer = await line.ask("tools/call", {"name": str(number)})
            assert answer["error"] == {"code": -32603, "message": "internal error"}
        assert "answered with a ListPromptsResult" in caplog.text

    run(main())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cancelled_request_stops_its_handler(version: str) -> None:
    class Slow(handlers_class(version)):  # type: ignore[misc]
        def __init__(self) -> None:
            self.started, self.stopped = asyncio.Event(), asyncio.Event()

        async def call_tool(self, params: Any, ctx: Any) -> Any:
            self.started.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped.set()

    async def main() -> None:
        handlers = Slow()
        line = await opened(HandlersServer(handlers, "raw"), version)
        asking = asyncio.create_task(line.ask("tools/call", {"name": "x"}, id=7))
        await handlers.started.wait()
        params = {"requestId": 7}
        line.feed(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        )
        await handlers.stopped.wait()
        asking.cancel()

    run(main())


# --- which version, and what is declared ----------------------------------------------


@pytest.mark.parametrize("version", LEGACY)
def test_only_the_version_of_the_handlers_is_spoken(version: str) -> None:
    async def main() -> None:
        server = HandlersServer(
            make_tools(version), "raw", "1.2", instructions="Use it well."
        )
        for wanted in (*VERSIONS, "1999-01-01"):
            line = Line(server, version)  # type: ignore[arg-type]
            answer = await line.ask(
                "initialize",
                {
                    "protocolVersion": wanted,
                    "capabilities": {},
                    "clientInfo": {"name": "test", "version": "1"},
                },
            )
            assert answer["result"] == {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "raw", "version": "1.2"},
                "instructions": "Use it well.",
            }
            assert (await line.ask("ping"))["result"] == {}

    run(main())


@pytest.mark.parametrize("version", LEGACY)
def test_a_legacy_server_does_not_discover(version: str) -> None:
    async def main() -> None:
        line = await opened(HandlersServer(make_tools(version), "raw"), version)
        assert error_of(await line.ask("server/discover")) == -32601

    run(main())


@pytest.mark.parametrize("version", MODERN)
def test_discovery(version: str) -> None:
    async def main() -> None:
        line = Line(HandlersServer(make_tools(version), "raw", "1.2"))  # type: ignore[arg-type]
        found = (await line.ask("server/discover"))["result"]
        assert found["supportedVersions"] == [version]
        assert found["capabilities"] == {"tools": {}}
        info = {"name": "raw", "version": "1.2"}
        assert found["_meta"] == {META + "serverInfo": info}
        listed = (await line.ask("tools/list"))["result"]
        assert listed["_meta"] == {META + "serverInfo": info}
        assert (listed["ttlMs"], listed["cacheScope"]) == (5, "public")
        assert listed["resultType"] == "complete"
        old = {
            META + "protocolVersion": NEWEST,
            META + "clientCapabilities": {},
        }
        refused = await line.ask("tools/list", {"_meta": old})
        assert error_of(refused) == -32022
        assert refused["error"]["data"]["supported"] == [version]
        assert error_of(await line.ask("initialize")) == -32601

    run(main())


def overriding(version: str, *names: str) -> Any:
    async def answer(self: Any, params: Any, ctx: Any) -> Any:
        return bindings(version).types.EmptyResult()

    return type("Some", (handlers_class(version),), dict.fromkeys(names, answer))()


@pytest.mark.parametrize(
    ("version", "names", "declared"),
    [
        (LEGACY[0], (), {}),
        (LEGACY[0], ("complete",), {}),
        (LEGACY[1], ("complete",), {"completions": {}}),
        (LEGACY[0], ("set_level", "get_prompt"), {"logging": {}, "prompts": {}}),
        (LEGACY[2], ("subscribe",), {"resources": {"subscribe": True}}),
        (
            LEGACY[2],
            ("list_resources", "subscribe", "unsubscribe"),
            {"resources": {"subscribe": True}},
        ),
        (NEWEST, ("get_task", "cancel_task"), {"tasks": {"cancel": {}}}),
        (NEWEST, ("ping", "initialize"), {}),
        (
            MODERN[0],
            ("read_resource", "complete"),
            {"resources": {}, "completions": {}},
        ),
        (MODERN[0], ("discover", "subscriptions_listen"), {}),
    ],
)
def test_capabilities_follow_from_what_is_overridden(
    version: str, names: tuple[str, ...], declared: Any
) -> None:
    server = HandlersServer(overriding(version, *names), "raw")
    assert server.capabilities(server.bindings) == declared


def test_capabilities_can_be_given() -> None:
    types = bindings(NEWEST).types
    typed = types.ServerCapabilities(
        tools=types.ServerCapabilitiesTools(list_changed=True)
    )
    for given in (typed, {"tools": {"listChanged": True}}):
        server = HandlersServer(make_tools(NEWEST), "raw", capabilities=given)
        assert server.capabilities(server.bindings) == {"tools": {"listChanged": True}}
    with pytest.raises(ValueError, match="tools"):
        HandlersServer(make_tools(NEWEST), "raw", capabilities={"tools": 1})


def test_what_is_not_declared_is_not_served() -> None:
    async def main() -> None:
        server = HandlersServer(make_tools(NEWEST), "raw", capabilities={})
        line = await opened(server, NEWEST)
        assert error_of(await line.ask("tools/list")) == -32601

    run(main())


def test_handlers_must_be_of_one_version() -> None:
    with pytest.raises(TypeError, match="must inherit from the generated"):
        HandlersServer(object(), "raw")
    with pytest.raises(TypeError, match="pass an instance"):
        HandlersServer(handlers_class(NEWEST), "raw")
    both = type("Both", (handlers_class(LEGACY[0]), handlers_class(NEWEST)), {})
    with pytest.raises(TypeError, match="several versions"):
        HandlersServer(both(), "raw")


def test_an_own_class_may_have_the_same_name() -> None:
    own = type(
        "ServerHandlers", (handlers_class(NEWEST),), {"__module__": "own.server"}
    )
    assert HandlersServer(own(), "raw").bindings.name == NEWEST


@pytest.fixture
def vendored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project that has copied the bindings, and the runtime, under its own name."""
    home = tmp_path / "vendored_by_us"
    ignored = shutil.ignore_patterns("__pycache__")
    import mcpgen.protocol
    import mcpgen.runtime

    for package in (mcpgen.protocol, mcpgen.runtime):
        source = Path(package.__path__[0])
        shutil.copytree(source, home / source.name, ignore=ignored)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield home
    for name in [name for name in sys.modules if name.startswith(home.name)]:
        del sys.modules[name]


@pytest.mark.parametrize("version", [NEWEST, MODERN[0]])
@pytest.mark.parametrize("runtime", ["vendored_by_us", "mcpgen"])
def test_vendored_handlers(version: str, runtime: str, vendored: Path) -> None:
    package = f"{vendored.name}.protocol.{PACKAGES[version]}"
    types = importlib.import_module(f"{package}.types")
    stubs = importlib.import_module(f"{package}.server")
    serving = importlib.import_module(f"{runtime}.runtime.handlers")
    given: list[Any] = []

    class Tools(stubs.ServerHandlers):  # type: ignore[misc, name-defined]
        async def call_tool(self, params: Any, ctx: Any) -> Any:
            given.append(params)
            if params.name == "none":
                raise stubs.MethodNotFound("tools/call")
            return types.CallToolResult(content=[])

    async def main() -> None:
        line = await opened(serving.HandlersServer(Tools(), "raw"), version)
        answer = await line.ask("tools/call", {"name": "x"})
        assert answer["result"]["content"] == []
        assert isinstance(given[0], types.CallToolRequestParams)
        assert error_of(await line.ask("tools/call", {"name": "none"})) == -32601

    run(main())


# --- the opening of a session ---------------------------------------------------------


def make_opening(version: str, answered: str = "") -> Any:
    types = bindings(version).types

    class Opening(handlers_class(version)):  # type: ignore[misc]
        def __init__(self) -> None:
            self.may_answer = asyncio.Event()
            self.may_answer.set()
            self.asked: list[Any] = []

        async def initialize(self, params: Any, ctx: Any) -> Any:
            self.asked.append((params, ctx.request_id, ctx.client.info["name"]))
            await self.may_answer.wait()
            if params.client_info.name == "stranger":
                raise McpError(-32000, "not for strangers")
            return types.InitializeResult(
                protocol_version=answered or version,
                capabilities=types.ServerCapabilities(),
                server_info=types.Implementation(name="own", version="9"),
                instructions="mine",
            )

    return Opening()


def initialize(name: str = "test") -> dict[str, Any]:
    return {
        "protocolVersion": NEWEST,
        "capabilities": {},
        "clientInfo": {"name": name, "version": "1"},
    }


@pytest.mark.parametrize("version", LEGACY)
def test_an_own_initialize(version: str) -> None:
    async def main() -> None:
        handlers = make_opening(version)
        line = Line(HandlersServer(handlers, "raw"), version)  # type: ignore[arg-type]
        answer = await line.ask("initialize", initialize(), id=1)
        assert answer["result"]["serverInfo"] == {"name": "own", "version": "9"}
        ((params, id, name),) = handlers.asked
        assert isinstance(params, bindings(version).types.InitializeRequestParams)
        assert (id, name) == (1, "test")
        assert (await line.ask("ping"))["result"] == {}
        assert error_of(await line.ask("initialize", initialize())) == -32600

    run(main())


def test_nothing_is_served_before_an_own_initialize_has_answered() -> None:
    async def main() -> None:
        handlers = make_opening(NEWEST)
        handlers.may_answer.clear()
        line = Line(HandlersServer(handlers, "raw"), NEWEST)  # type: ignore[arg-type]
        frame = {"jsonrpc": "2.0", "method": "initialize", "params": initialize()}
        line.feed(frame | {"id": 1})
        assert (await line.ask("ping", id=2))["result"] == {}
        assert error_of(await line.ask("tools/list", id=3)) == -32600
        assert error_of(await line.ask("initialize", initialize(), id=4)) == -32600
        handlers.may_answer.set()
        assert "result" in await line.frame(3)
        assert error_of(await line.ask("tools/list", id=5)) == -32601

    run(main())


def test_an_own_initialize_may_refuse() -> None:
    async def main() -> None:
        line = Line(HandlersServer(make_opening(NEWEST), "raw"), NEWEST)  # type: ignore[arg-type]
        refused = await line.ask("initialize", initialize("stranger"))
        assert error_of(refused) == -32000
        assert error_of(await line.ask("tools/list")) == -32600
        assert "result" in await line.ask("initialize", initialize())

    run(main())


def test_an_initialize_that_was_given_up_can_be_followed_by_another() -> None:
    async def main() -> None:
        handlers = make_opening(NEWEST)
        line = Line(HandlersServer(handlers, "raw"), NEWEST)  # type: ignore[arg-type]
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        frame = {"jsonrpc": "2.0", "method": "initialize", "params": initialize()}
        handlers.may_answer.clear()
        line.feed(frame | {"id": 1})
        line.feed(cancel | {"params": {"requestId": 1}})  # before it has begun
        line.feed(frame | {"id": 2})
        while not handlers.asked:
            await asyncio.sleep(0)
        line.feed(cancel | {"params": {"requestId": 2}})  # while it waits
        handlers.may_answer.set()
        answer = await line.ask("initialize", initialize(), id=3)
        assert answer["result"]["instructions"] == "mine"
        assert error_of(await line.ask("tools/list")) == -32601
        assert [frame.get("id") for frame in line.sent[:1]] == [3]

    run(main())


def test_an_own_initialize_cannot_promise_another_version(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        handlers = make_opening(NEWEST, answered=LEGACY[0])
        line = Line(HandlersServer(handlers, "raw"), NEWEST)  # type: ignore[arg-type]
        assert error_of(await line.ask("initialize", initialize())) == -32603
        assert f"only {NEWEST} is spoken here" in caplog.text

    run(main())


@pytest.mark.parametrize("version", MODERN)
def test_an_own_discover(version: str) -> None:
    types = bindings(version).types

    class Discovering(handlers_class(version)):  # type: ignore[misc]
        async def discover(self, params: Any, ctx: Any) -> Any:
            return types.DiscoverResult(
                supported_versions=[version],
                capabilities=types.ServerCapabilities(),
                instructions="mine",
                **cached(version),
            )

    async def main() -> None:
        line = await opened(HandlersServer(Discovering(), "raw"), version)
        found = (await line.ask("server/discover"))["result"]
        assert (found["instructions"], found["ttlMs"]) == ("mine", 5)

    run(main())


def test_an_own_ping() -> None:
    async def main() -> None:
        line = await opened(HandlersServer(overriding(NEWEST, "ping"), "raw"), NEWEST)
        assert (await line.ask("ping"))["result"] == {}

    run(main())


# --- notifications --------------------------------------------------------------------


class Notes:
    """What a client told, in the order of its telling."""

    def __init__(self, version: str) -> None:
        self.told: list[tuple[str, Any]] = []
        self.changed = asyncio.Event()
        notes = self

        class Noting(handlers_class(version)):  # type: ignore[misc]
            async def on_initialized(self, params: Any, ctx: Any) -> None:
                notes.add("initialized", ctx.request_id)

            async def on_progress(self, params: Any, ctx: Any) -> None:
                notes.add("progress", params)
                if params.progress < 0:
                    raise RuntimeError("backwards")

            async def on_cancelled(self, params: Any, ctx: Any) -> None:
                notes.add("cancelled", params.request_id)

            async def on_roots_list_changed(self, params: Any, ctx: Any) -> None:
                notes.add("roots", [root.uri for root in await ctx.roots()])

        self.handlers = Noting()

    def add(self, what: str, value: Any) -> None:
        self.told.append((what, value))
        self.changed.set()

    async def count(self, number: int) -> None:
        while len(self.told) < number:
            self.changed.clear()
            await self.changed.wait()


async def idle(line: Line) -> None:
    """Wait until nothing is under way any more."""
    while line.peer.calls:
        await asyncio.sleep(0)


def note(line: Line, method: str, **params: Any) -> None:
    frame = {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}
    line.feed(frame)


@pytest.mark.parametrize("version", LEGACY)
def test_notifications_are_handled_and_never_answered(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        notes = Notes(version)
        line = await opened(HandlersServer(notes.handlers, "raw"), version, roots={})
        sent = len(line.sent)
        note(line, "progress", progressToken="t", progress=-1)
        note(line, "progress", progressToken="t", progress="bad")
        note(line, "no_such_thing")
        note(line, "message", level="info", data="not from a client")
        note(line, "cancelled", requestId="unknown")
        await notes.count(3)
        assert [what for what, _ in notes.told] == [
            "initialized",
            "progress",
            "cancelled",
        ]
        assert notes.told[0][1] is None, "a notification has no id"
        kind = bindings(version).types.ProgressNotificationParams
        assert isinstance(notes.told[1][1], kind)
        assert (await line.ask("ping"))["result"] == {}
        assert len(line.sent) == sent + 1
        assert "backwards" in caplog.text
        assert "invalid params" in caplog.text

    run(main())


@pytest.mark.parametrize("version", LEGACY)
def test_the_handler_of_a_notification_may_ask_the_client(version: str) -> None:
    async def main() -> None:
        notes = Notes(version)
        line = await opened(HandlersServer(notes.handlers, "raw"), version, roots={})
        note(line, "roots/list_changed")
        request = await line.frame(1)
        assert request["method"] == "roots/list"
        roots = {"roots": [{"uri": "file:///a"}]}
        line.feed({"jsonrpc": "2.0", "id": request["id"], "result": roots})
        await notes.count(2)
        assert notes.told[1] == ("roots", ["file:///a"])
        await idle(line)

    run(main())


def test_a_notification_s_handler_ends_with_the_connection() -> None:
    async def main() -> None:
        notes = Notes(NEWEST)
        line = await opened(HandlersServer(notes.handlers, "raw"), NEWEST, roots={})
        note(line, "roots/list_changed")
        await line.frame(1)
        (call,) = line.peer.calls.values()
        await line.peer.close()
        assert call.task is not None
        assert call.task.cancelled()
        await idle(line)

    run(main())


def test_notifications_beyond_all_measure_are_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        notes = Notes(NEWEST)
        server = HandlersServer(notes.handlers, "raw", in_flight=8)
        line = await opened(server, NEWEST, roots={})
        await idle(line)
        for _ in range(100):
            note(line, "progress", progressToken="t", progress=1)
        await notes.count(1 + 8)
        assert "was dropped" in caplog.text
        assert (await line.ask("ping"))["result"] == {}
        assert len(notes.told) == 9

    run(main())


# --- what the runtime remembers for its own calls -------------------------------------


@pytest.mark.parametrize("version", LEGACY)
def test_log_level_and_subscriptions_are_remembered(version: str) -> None:
    types = bindings(version).types

    class Session(handlers_class(version)):  # type: ignore[misc]
        async def set_level(self, params: Any, ctx: Any) -> Any:
            await ctx.log("info", "before")
            return types.EmptyResult()

        async def subscribe(self, params: Any, ctx: Any) -> Any:
            if params.uri == "test://secret":
                raise McpError(-32602, "no")
            await ctx.log("info", "after")
            return types.EmptyResult()

        async def unsubscribe(self, params: Any, ctx: Any) -> Any:
            return types.EmptyResult()

    async def main() -> None:
        server = HandlersServer(Session(), "raw")
        line = await opened(server, version)
        await line.ask("logging/setLevel", {"level": "error"})
        await line.ask("resources/subscribe", {"uri": "test://a"})
        await line.ask("resources/subscribe", {"uri": "test://secret"})
        for uri in ("test://a", "test://b", "test://secret"):
            server.hub.updated(uri)
        await line.ask("resources/unsubscribe", {"uri": "test://a"})
        server.hub.updated("test://a")
        told = [frame["params"] for frame in line.sent if "method" in frame]
        assert told == [{"level": "info", "data": "before"}, {"uri": "test://a"}]

    run(main())


@pytest.mark.parametrize("version", LEGACY)
def test_a_generated_caller_asks_through_the_context(version: str) -> None:
    types, stubs = bindings(version).types, bindings(version).server

    class Asking(handlers_class(version)):  # type: ignore[misc]
        async def call_tool(self, params: Any, ctx: Any) -> Any:
            found = await stubs.ClientCaller(ctx).list_roots()
            text = types.TextContent(text=found.roots[0].uri)
            return types.CallToolResult(content=[text])

    async def main() -> None:
        line = await opened(HandlersServer(Asking(), "raw"), version, roots={})
        line.feed(
            {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "x"}}
        )
        request = await line.frame(1)
        roots = {"roots": [{"uri": "file:///a"}]}
        line.feed({"jsonrpc": "2.0", "id": request["id"], "result": roots})
        answer = await line.frame(2)
        assert answer["result"]["content"] == [{"type": "text", "text": "file:///a"}]

    run(main())


# --- rounds ---------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
QUESTION = {"message": "Who?", "requestedSchema": SCHEMA}


def make_rounds(version: str) -> Any:
    types = bindings(version).types
    who = types.convert(
        {"who": {"method": "elicitation/create", "params": QUESTION}}, "InputRequests"
    )

    class Rounds(handlers_class(version)):  # type: ignore[misc]
        async def call_tool(self, params: Any, ctx: Any) -> Any:
            state = params.request_state
            seen = [] if not isinstance(state, str) else [state]
            if params.name == "helped":
                seen.append((await ctx.elicit("Who?", SCHEMA)).content["name"])
            if not isinstance(params.input_responses, dict) or (
                "who" not in params.input_responses
            ):
                own = {} if params.name == "stateless" else {"request_state": "mine"}
                return types.InputRequiredResult(input_requests=who, **own)
            seen.append(params.input_responses["who"].content["name"])
            text = ",".join(seen)
            return types.CallToolResult(content=[types.TextContent(text=text)])

    return Rounds()


def answered(key: str, state: str | None, name: str = "Ada") -> dict[str, Any]:
    content = {"action": "accept", "content": {"name": name}}
    found: dict[str, Any] = {"inputResponses": {key: content}}
    return found if state is None else found | {"requestState": state}


@pytest.mark.parametrize("version", MODERN)
def test_a_handler_s_own_rounds(version: str) -> None:
    async def main() -> None:
        line = await opened(HandlersServer(make_rounds(version), "raw"), version)
        asked = (await line.ask("tools/call", {"name": "own"}))["result"]
        assert asked["resultType"] == "input_required"
        assert asked["inputRequests"]["who"]["params"] == QUESTION
        state = asked["requestState"]
        assert state != "mine", "it is signed"
        done = await line.ask("tools/call", {"name": "own", **answered("who", state)})
        assert done["result"]["content"][0]["text"] == "mine,Ada"
        forged = {"name": "own", **answered("who", "mine")}
        assert error_of(await line.ask("tools/call", forged)) == -32602
        moved = {"name": "other", **answered("who", state)}
        assert error_of(await line.ask("tools/call", moved)) == -32602

    run(main())


@pytest.mark.parametrize("version", MODERN)
def test_rounds_without_a_state(version: str) -> None:
    async def main() -> None:
        line = await opened(HandlersServer(make_rounds(version), "raw"), version)
        asked = (await line.ask("tools/call", {"name": "stateless"}))["result"]
        assert "requestState" not in asked
        again = {"name": "stateless", **answered("who", None)}
        done = await line.ask("tools/call", again)
        assert done["result"]["content"][0]["text"] == "Ada"

    run(main())


@pytest.mark.parametrize("version", MODERN)
def test_own_rounds_after_those_of_the_context(version: str) -> None:
    async def main() -> None:
        line = await opened(HandlersServer(make_rounds(version), "raw"), version)
        first = (await line.ask("tools/call", {"name": "helped"}))["result"]
        (key,) = first["inputRequests"]
        reply = {"name": "helped", **answered(key, first["requestState"], "Bob")}
        second = (await line.ask("tools/call", reply))["result"]
        assert list(second["inputRequests"]) == ["who"]
        reply = {"name": "helped", **answered("who", second["requestState"])}
        third = await line.ask("tools/call", reply)
        assert third["result"]["content"][0]["text"] == "mine,Bob,Ada"

    run(main())


# --- a program ------------------------------------------------------------------------

PROGRAM = """
from mcpgen.protocol.v2025_11_25 import types
from mcpgen.protocol._stubs import RequestContext
from mcpgen.protocol.v2025_11_25.server import ServerHandlers
from mcpgen.runtime import Context
from mcpgen.runtime.handlers import HandlersServer


class Handlers(ServerHandlers):
    async def call_tool(
        self, params: types.CallToolRequestParams, ctx: RequestContext
    ) -> types.CallToolResult:
        assert isinstance(ctx, Context)
        await ctx.progress(1, 2)
        text = types.TextContent(text=f"{params.name} called by {ctx.request_id}")
        return types.CallToolResult(content=[text])

    async def on_initialized(
        self, params: types.NotificationParams | None, ctx: RequestContext
    ) -> None:
        print("hello", ctx.meta)


server = HandlersServer(Handlers(), "typed", version="1.0")

if __name__ == "__main__":
    server.run()
"""


def subprocess_run(command: list[str], **options: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    return done.stdout


def test_a_program_is_strictly_typed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # Without a package to check, only the program is; the rest is followed silently.
    settings = tmp_path / "mypy.ini"
    settings.write_text(
        "[mypy]\nnamespace_packages = True\nexplicit_package_bases = True\n"
        f"mypy_path = {ROOT / 'runtime'}:{ROOT / 'generated'}\n"
        "follow_imports = silent\n"
    )
    subprocess_run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file"),
            *(str(settings), str(program)),
        ]
    )


def test_a_program_runs_on_stdio(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    frames = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
        '"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}\n'
    )
    output = subprocess_run(
        [sys.executable, str(program)], input=frames, env={**os.environ}
    )
    assert output.splitlines() == [
        '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}},'
        '"protocolVersion":"2025-11-25","serverInfo":{"name":"typed","version":"1.0"}}}',
        '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text",'
        '"text":"x called by 2"}]}}',
    ]
