"""What both eras promise a handler: its questions, its end, its sessions, its threads.

Every frame that leaves is checked by the validators of the version that is spoken.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any

import pytest
from mcpgen.protocol import ERAS, PACKAGES
from mcpgen.runtime import (
    ConnectionClosed,
    Context,
    Elicit,
    McpError,
    NotSupported,
    Roots,
    Sample,
    Server,
    workers,
)
from mcpgen.runtime.asks import ElicitUrl
from mcpgen.runtime.errors import AnswerError
from mcpgen.runtime.modern import meta_of
from mcpgen.runtime.peer import Peer

LEGACY = [name for name, era in ERAS.items() if era == "legacy"]
NEWEST_LEGACY = LEGACY[-1]
MODERN = next(name for name, era in ERAS.items() if era == "modern")
BOTH = [NEWEST_LEGACY, MODERN]
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
META = "io.modelcontextprotocol/"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
ANY_CAPABILITY = {"elicitation": {}, "sampling": {}, "roots": {}}
SAID = {
    "role": "assistant",
    "content": {"type": "text", "text": "red"},
    "model": "a-model",
}


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))


class Line:
    """A client on a line: answers questions in either era, and checks what it reads."""

    own_streams = False

    def __init__(
        self,
        server: Server,
        version: str = MODERN,
        capabilities: Any = None,
        answer: Callable[[str, Any], Any] | None = None,
    ) -> None:
        self.version = version
        self.capabilities = ANY_CAPABILITY if capabilities is None else capabilities
        self.answer = answer or (lambda method, params: None)
        self.sent: list[Any] = []
        self.questions: list[Any] = []
        self.threads: set[int] = set()
        self.drained = 0
        self.changed = asyncio.Event()
        self.asked: dict[Any, str] = {}
        self.peer = server.connect(self)
        self.hub = server.hub
        package = f"mcpgen.protocol.{PACKAGES[version]}"
        self.methods = import_module(f"{package}.methods")
        self.validators = import_module(f"{package}.validators").VALIDATORS

    # --- the link -------------------------------------------------------------------------

    def send(self, data: bytes, about: Any) -> None:
        self.threads.add(threading.get_ident())
        frame = json.loads(data)
        self.check(frame)
        self.sent.append(frame)
        self.changed.set()
        if "method" in frame and "id" in frame:
            self.questions.append(frame)
            answer = self.answer(frame["method"], frame.get("params", {}))
            if answer is not None:
                reply = {"jsonrpc": "2.0", "id": frame["id"], **answer}
                asyncio.get_running_loop().call_soon(self.feed, reply)

    async def drain(self) -> None:
        self.drained += 1

    def check(self, frame: Any) -> None:
        assert not self.validators["JSONRPCMessage"](frame), frame
        if "method" in frame:
            table = {**self.methods.REQUESTS, **self.methods.NOTIFICATIONS}
            kinds: Any = [table[frame["method"]].params]
            value = frame.get("params", {})
        elif "result" in frame:
            kinds = self.methods.REQUESTS[self.asked[frame["id"]]].results
            value = frame["result"]
        else:
            return
        names = [kind if isinstance(kind, str) else kind.__name__ for kind in kinds]
        issues = [self.validators[name](value) for name in names]
        assert [] in issues, (frame, issues)

    # --- the client -----------------------------------------------------------------------

    def feed(self, frame: Any) -> None:
        if "method" in frame and "id" in frame:
            self.asked[frame["id"]] = frame["method"]
        self.peer.receive(json.dumps(frame).encode())

    async def until(self, found: Callable[[Any], bool]) -> Any:
        async with asyncio.timeout(10):
            while True:
                for frame in self.sent:
                    if found(frame):
                        return frame
                self.changed.clear()
                await self.changed.wait()

    async def told(self, method: str) -> Any:
        return await self.until(lambda f: f.get("method") == method)

    def start(self, method: str, params: Any = None) -> int:
        id = len(self.asked) + 100
        if ERAS[self.version] == "modern":
            meta = {
                META + "protocolVersion": self.version,
                META + "clientCapabilities": self.capabilities,
            }
            params = dict(params or {})
            params["_meta"] = meta | params.get("_meta", {})
        frame = {"jsonrpc": "2.0", "id": id, "method": method}
        self.feed(frame if params is None else frame | {"params": params})
        return id

    async def answered(self, id: int) -> Any:
        return await self.until(lambda f: f.get("id") == id and "method" not in f)

    async def ask(self, method: str, params: Any = None) -> Any:
        return await self.answered(self.start(method, params))

    async def open(self) -> Line:
        if ERAS[self.version] == "legacy":
            client = {"name": "test", "version": "1"}
            await self.ask(
                "initialize",
                {
                    "protocolVersion": self.version,
                    "capabilities": self.capabilities,
                    "clientInfo": client,
                },
            )
            self.feed({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    async def call(self, name: str, rounds: int = 5) -> Any:
        """Call a tool, and answer what it asks, by request or by another round."""
        params: dict[str, Any] = {"name": name}
        for _ in range(rounds):
            answer = await self.ask("tools/call", params)
            result = answer.get("result", {})
            if result.get("resultType") != "input_required":
                return answer
            replies = {}
            for key, question in result["inputRequests"].items():
                self.questions.append(question)
                reply = self.answer(question["method"], question.get("params", {}))
                if reply is not None:
                    replies[key] = reply["result"]
            params = {
                "name": name,
                "inputResponses": replies,
                "requestState": result["requestState"],
            }
        raise AssertionError(f"{name} asks for ever")


def said(answer: Any) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text


def failed(answer: Any) -> str:
    assert answer["result"]["isError"] is True, answer
    return said(answer)


def accepts(method: str, params: Any) -> Any:
    """A client that agrees to everything."""
    if method == "elicitation/create":
        return {"result": {"action": "accept", "content": {"name": "Ada"}}}
    if method == "roots/list":
        return {"result": {"roots": [{"uri": "file:///home"}]}}
    return {"result": SAID} if method == "sampling/createMessage" else {"result": {}}


def tool(function: Any) -> Server:
    """A server with one tool, called `it`."""
    server = Server("test")
    server.tool(name="it")(function)
    return server


async def call_once(function: Any, version: str, capabilities: Any = None) -> Any:
    line = await Line(tool(function), version, capabilities, accepts).open()
    return line, await line.call("it")


# --- always one answer ----------------------------------------------------------------


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("how", ["async", "thread", "inline"])
@pytest.mark.parametrize(
    "raised",
    [asyncio.CancelledError, SystemExit, GeneratorExit, BaseException, StopIteration],
)
def test_whatever_a_tool_raises_it_is_answered(
    version: str, how: str, raised: type[BaseException]
) -> None:
    async def main() -> None:
        def it() -> str:
            raise raised()

        async def soon() -> str:
            raise raised()

        server = Server("test")
        server.tool(name="it", inline=how == "inline")(soon if how == "async" else it)
        line = await Line(server, version).open()
        answer = await line.call("it")
        assert "error" in answer or answer["result"]["isError"] is True
        assert "tools" in (await line.ask("tools/list"))["result"]

    run(main())


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, StopIteration])
def test_a_thread_that_wants_to_end_all_has_only_failed(
    raised: type[BaseException],
) -> None:
    async def main() -> None:
        def end() -> None:
            raise raised

        with pytest.raises(RuntimeError, match=raised.__name__):
            await workers.run(end, {})

    run(main())


@pytest.mark.parametrize(
    "bad",
    [
        McpError(-32000, "x", object()),
        McpError(-32000, "\ud800"),
    ],
)
def test_an_error_that_is_no_json_is_an_internal_one(
    bad: McpError, caplog: pytest.LogCaptureFixture
) -> None:
    # The log would hold the surrogate, which pytest-xdist cannot pass on.
    caplog.set_level(logging.CRITICAL, "mcpgen")

    async def main() -> None:
        async def it() -> str:
            raise bad

        _, answer = await call_once(it, NEWEST_LEGACY)
        assert answer["error"]["code"] == -32603

    run(main())


def test_the_code_of_an_error_is_an_integer() -> None:
    for code in (1.5, "1", None, True):
        with pytest.raises(TypeError, match="integer"):
            McpError(code, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("version", BOTH)
def test_questions_may_come_from_a_task_group(version: str) -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            async with asyncio.TaskGroup() as group:
                roots = group.create_task(ctx.roots())
                name = group.create_task(ctx.elicit("Who?", FORM))
            return f"{name.result().content['name']} at {roots.result()[0].uri}"

        line, answer = await call_once(it, version)
        assert said(answer) == "Ada at file:///home"
        assert len(line.questions) == 2

    run(main())


# --- threads --------------------------------------------------------------------------


def worker_threads() -> int:
    return sum(t.name == "mcpgen-worker" for t in threading.enumerate())


def test_there_are_as_many_threads_as_jobs_at_once() -> None:
    async def main() -> None:
        before = worker_threads()

        async def one_after_another() -> None:
            for _ in range(300):
                await workers.run(lambda: None, {})

        await asyncio.gather(*(one_after_another() for _ in range(6)))
        assert worker_threads() <= max(before, 6)

    run(main())


def test_no_job_waits_behind_one_that_blocks() -> None:
    async def main() -> None:
        release = threading.Event()
        for blocked in range(20):
            jobs = [
                asyncio.ensure_future(workers.run(release.wait, {"timeout": 10}))
                for _ in range(blocked)
            ]
            try:
                async with asyncio.timeout(5):
                    await asyncio.gather(*(workers.run(lambda: 1, {}) for _ in "abc"))
            finally:
                release.set()
            await asyncio.gather(*jobs)
            release.clear()

    run(main())


def test_a_thread_may_change_the_lists() -> None:
    async def main() -> None:
        server = Server("test")

        @server.tool
        def more() -> str:
            """Adds a tool, and touches a resource, from its thread."""
            server.tool(name="another")(lambda: "x")
            server.hub.updated("test://fixed")
            return "added"

        server.resource("test://fixed")(lambda: "x")
        old = await Line(server, NEWEST_LEGACY).open()
        await old.ask("resources/subscribe", {"uri": "test://fixed"})
        new = Line(server)
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["test://fixed"]}
        listening = new.start("subscriptions/listen", {"notifications": wanted})
        await new.told(ACKNOWLEDGED)
        await old.call("more")
        for line in (old, new):
            for method in (
                "notifications/tools/list_changed",
                "notifications/resources/updated",
            ):
                await line.told(method)
            assert line.threads == {threading.get_ident()}
        server.hub.close()
        await new.answered(listening)

    run(main())


@pytest.mark.parametrize("version", BOTH)
def test_a_sync_tool_can_wait_for_its_client(version: str) -> None:
    async def main() -> None:
        def it(ctx: Context) -> str:
            ctx.wait(ctx.progress(1))
            try:
                answer = ctx.wait(ctx.elicit("Who?", FORM))
            except Exception:
                return "an exception that is none"
            return f"Hello, {answer.content['name']}"

        line, answer = await call_once(it, version)
        assert said(answer) == "Hello, Ada"
        assert line.threads == {threading.get_ident()}

    run(main())


def test_waiting_on_the_loop_is_refused() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            return str(ctx.wait(ctx.roots()))

        _, answer = await call_once(it, NEWEST_LEGACY)
        assert "await" in failed(answer)

    run(main())


def test_a_sync_tool_that_waits_ends_when_it_is_cancelled() -> None:
    async def main() -> None:
        ended = threading.Event()

        def it(ctx: Context) -> str:
            try:
                ctx.wait(ctx.elicit("Who?", FORM))
            finally:
                ended.set()
            return "never"

        line = await Line(tool(it), NEWEST_LEGACY).open()
        id = line.start("tools/call", {"name": "it"})
        question = await line.told("elicitation/create")
        cancel = {"method": "notifications/cancelled", "params": {"requestId": id}}
        line.feed({"jsonrpc": "2.0", **cancel})
        told = await line.told(cancel["method"])
        assert told["params"]["requestId"] == question["id"]
        assert await asyncio.to_thread(ended.wait, 5)

    run(main())


# --- what may be asked ----------------------------------------------------------------

URL = ElicitUrl("Pay", "https://example.com/pay", "payment-1")
TOOLS = [{"name": "t", "inputSchema": {"type": "object"}}]


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(
    ("ask", "capabilities", "needed"),
    [
        (URL, {"elicitation": {}}, {"elicitation": {"url": {}}}),
        (URL, {"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}),
        (URL, {}, {"elicitation": {"url": {}}}),
        (URL, {"elicitation": {"url": {}}}, None),
        (
            Elicit("?", FORM),
            {"elicitation": {"url": {}}},
            {"elicitation": {"form": {}}},
        ),
        (Elicit("?", FORM), {"elicitation": {"url": {}, "form": {}}}, None),
        (Elicit("?", FORM), {"elicitation": {}}, None),
        (Elicit("?", FORM, mode="form"), {"elicitation": {}}, None),
        (Elicit("?", FORM), {}, {"elicitation": {}}),
        (Sample("?", tools=TOOLS), {"sampling": {}}, {"sampling": {"tools": {}}}),
        (Sample("?", tools=TOOLS), {"sampling": {"tools": {}}}, None),
        (
            Sample("?", toolChoice={"mode": "none"}),
            {"sampling": {}},
            {"sampling": {"tools": {}}},
        ),
        (Roots(), {}, {"roots": {}}),
    ],
)
def test_parameters_need_capabilities_too(
    version: str, ask: Any, capabilities: Any, needed: Any
) -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            await ctx.ask(it=ask)
            return "asked"

        line, answer = await call_once(it, version, capabilities)
        if needed is None:
            assert said(answer) == "asked"
        elif version == MODERN:
            assert answer["error"]["code"] == -32021
            assert answer["error"]["data"] == {"requiredCapabilities": needed}
        else:
            assert "did not declare" in failed(answer)
        assert bool(line.questions) == (needed is None)

    run(main())


@pytest.mark.parametrize(
    ("version", "ask", "lost"),
    [
        ("2025-06-18", URL, "requestedSchema"),
        ("2025-06-18", Elicit("?", FORM, mode="url", url="x:y"), "mode, url"),
        ("2025-06-18", Sample("?", tools=TOOLS), "tools"),
        ("2024-11-05", Sample("?", toolChoice={}), "toolChoice"),
        ("2026-07-28", Sample("?", task={}), "task"),
        ("2024-11-05", Elicit("?", FORM), "elicitation/create"),
    ],
)
def test_what_a_version_would_drop_is_not_asked(
    version: str, ask: Any, lost: str
) -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            await ctx.ask(it=ask)
            return "asked"

        line, answer = await call_once(it, version)
        assert lost in failed(answer)
        assert version in failed(answer)
        assert not line.questions

    run(main())


def test_a_mode_that_older_versions_mean_anyway_is_left_out() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            await ctx.elicit("?", FORM, mode="form")
            return "asked"

        line, answer = await call_once(it, "2025-06-18")
        assert said(answer) == "asked"
        assert "mode" not in line.questions[0]["params"]

    run(main())


def test_a_task_needs_a_client_that_has_tasks() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            made = await ctx.sample("?", task={"ttl": 1000})
            return str(made.task.task_id)

        line, answer = await call_once(it, NEWEST_LEGACY)
        assert "tasks.requests.sampling.createMessage" in failed(answer)
        assert not line.questions
        now = "2026-01-01T00:00:00Z"
        task = {"taskId": "t1", "status": "working", "createdAt": now}
        task |= {"lastUpdatedAt": now, "ttl": 1000}
        requests = {"sampling": {"createMessage": {}}}
        capabilities = {"sampling": {}, "tasks": {"requests": requests}}
        line = Line(tool(it), NEWEST_LEGACY, capabilities)
        line.answer = lambda method, params: {"result": {"task": task}}
        await line.open()
        assert said(await line.call("it")) == "t1"

    run(main())


def test_a_form_that_a_version_cannot_express_is_not_supported() -> None:
    async def main() -> None:
        choices = {"type": "array", "items": {"type": "string", "enum": ["a"]}}

        async def it(ctx: Context) -> str:
            try:
                await ctx.elicit("?", {"type": "object", "properties": {"c": choices}})
            except NotSupported as error:
                return error.message
            return "asked"

        _, answer = await call_once(it, "2025-06-18")
        assert said(answer).startswith("protocol version 2025-06-18 cannot ask it so")
        _, answer = await call_once(it, NEWEST_LEGACY)
        assert said(answer) == "asked"

    run(main())


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(
    "bad", [Elicit("?", {"type": "wrong"}), Sample("\ud800"), Elicit(object(), FORM)]
)
def test_a_bad_question_is_a_failure_of_the_tool(version: str, bad: Any) -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            with pytest.raises(NotSupported):
                await ctx.ask(it=bad)
            return "caught"

        line, answer = await call_once(it, version)
        failed(answer)
        assert not line.questions

    run(main())


@pytest.mark.parametrize("version", BOTH)
def test_not_supported_can_be_caught_in_both_eras(version: str) -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            try:
                return str(await ctx.roots())
            except NotSupported as error:
                return error.message

        _, answer = await call_once(it, version, {})
        assert said(answer) == "the client did not declare the capability roots"

    run(main())


@pytest.mark.parametrize("version", BOTH)
def test_a_name_is_asked_under_only_once(version: str) -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            await ctx.ask(it=Roots())
            await ctx.ask(it=Elicit("?", FORM))
            return "asked twice"

        _, answer = await call_once(it, version)
        assert "asked twice under one name: it" in failed(answer)

    run(main())


# --- what is answered -----------------------------------------------------------------


def test_what_the_client_answers_badly_is_a_failure_of_the_tool() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            await ctx.sample("?")
            return "sampled"

        line = await Line(tool(it), NEWEST_LEGACY).open()
        no = {"code": -1, "message": "User rejected sampling request"}
        line.answer = lambda method, params: {"error": no}
        assert failed(await line.call("it")) == "User rejected sampling request"
        line.answer = lambda method, params: {"result": {"role": "assistant"}}
        answer = failed(await line.call("it"))
        assert answer.startswith("a bad answer to sampling/createMessage: $.content")

    run(main())


def test_a_handler_can_catch_what_the_client_answers() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            try:
                await ctx.sample("?")
            except AnswerError as error:
                return f"{error.code} {error.message}"
            return "sampled"

        line = await Line(tool(it), NEWEST_LEGACY).open()
        no = {"code": -1, "message": "no"}
        line.answer = lambda method, params: {"error": no}
        assert said(await line.call("it")) == "-1 no"

    run(main())


def test_questions_nobody_waits_for_are_taken_back_before_the_answer() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            await ctx.ask(one=Sample("?"), two=Roots())
            return "asked"

        line = await Line(tool(it), NEWEST_LEGACY).open()
        no = {"code": -32603, "message": "no roots today"}
        line.answer = lambda method, params: (
            {"error": no} if method == "roots/list" else None
        )
        start = len(line.sent)
        assert failed(await line.call("it")) == "no roots today"
        asked, _, taken_back, answer = line.sent[start:]
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == asked["id"]
        assert "result" in answer

    run(main())


# --- the rounds of a modern request ---------------------------------------------------


def test_only_what_was_asked_for_is_kept() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            name = (await ctx.ask(name=Elicit("Who?", FORM)))["name"]
            other = (await ctx.ask(other=Elicit("And?", FORM)))["other"]
            return f"{name.content['name']} {other.content['name']}"

        def accepted(name: str) -> Any:
            return {"action": "accept", "content": {"name": name}}

        line = Line(tool(it))
        given = {"name": accepted("Ada"), "more": accepted("x" * 100_000)}
        params: Any = {"name": "it", "inputResponses": given}
        first = (await line.ask("tools/call", params))["result"]
        assert list(first["inputRequests"]) == ["other"]
        assert len(first["requestState"]) < 1000
        # What was answered before stays as it was.
        given = {"name": accepted("Eve"), "other": accepted("Bob")}
        params |= {"inputResponses": given, "requestState": first["requestState"]}
        assert said(await line.ask("tools/call", params)) == "Ada Bob"

    run(main())


def test_too_much_state_is_a_failure_of_the_tool() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            ctx.state["much"] = "x" * 100_000
            await ctx.roots()
            return "asked"

        _, answer = await call_once(it, MODERN)
        assert "ctx.state" in failed(answer)
        assert "too large" in failed(answer)

    run(main())


class Person:
    def __init__(self, key: str) -> None:
        self.key = key


def test_a_state_belongs_to_who_was_authenticated() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            await ctx.elicit("?", FORM)
            return str(ctx.principal.key)

        server = tool(it)
        line = Line(server)
        person = Person("ada")
        served = server.stateless
        line.peer.service.request = (  # type: ignore[method-assign]
            lambda call: served.request(call, meta_of(call), person)
        )
        line.answer = accepts
        assert said(await line.call("it")) == "ada"
        asked = await line.ask("tools/call", {"name": "it"})
        person = Person("eve")
        again = {"name": "it", "requestState": asked["result"]["requestState"]}
        answer = await line.ask("tools/call", again)
        assert "another request" in answer["error"]["message"]

    run(main())


def test_nobody_is_authenticated_by_default() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            return str(ctx.principal)

        for version in BOTH:
            assert said((await call_once(it, version))[1]) == "None"

    run(main())


# --- after the end --------------------------------------------------------------------


@pytest.mark.parametrize("version", BOTH)
def test_nothing_is_said_after_the_answer(version: str) -> None:
    async def main() -> None:
        kept: list[Context] = []

        async def it(ctx: Context) -> str:
            kept.append(ctx)
            await ctx.progress(1)
            return "done"

        line = await Line(tool(it), version).open()
        meta = {"progressToken": "t", META + "logLevel": "debug"}
        await line.ask("tools/call", {"name": "it", "_meta": meta})
        start = len(line.sent)
        (ctx,) = kept
        await ctx.progress(2)
        await ctx.log("error", "late")
        with pytest.raises(ConnectionClosed):
            await ctx.roots()
        assert line.sent[start:] == []

    run(main())


def test_nothing_is_said_after_a_cancellation() -> None:
    async def main() -> None:
        over = asyncio.Event()

        async def it(ctx: Context) -> str:
            try:
                await ctx.elicit("?", FORM)
            except asyncio.CancelledError:
                await ctx.progress(1)
                await ctx.log("error", "late")
                with pytest.raises(ConnectionClosed):
                    await ctx.roots()
                over.set()
            return "late"

        line = await Line(tool(it), NEWEST_LEGACY).open()
        meta = {"progressToken": "t"}
        id = line.start("tools/call", {"name": "it", "_meta": meta})
        question = await line.told("elicitation/create")
        start = len(line.sent)
        cancel = {"method": "notifications/cancelled", "params": {"requestId": id}}
        line.feed({"jsonrpc": "2.0", **cancel})
        await over.wait()
        while line.peer.calls:
            await asyncio.sleep(0)
        (taken_back,) = line.sent[start:]
        assert taken_back["params"]["requestId"] == question["id"]

    run(main())


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_progress_is_a_finite_number(bad: float) -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            with pytest.raises(ValueError, match="finite"):
                await ctx.progress(bad)
            with pytest.raises(ValueError, match="finite"):
                await ctx.progress(1, bad)
            return "refused"

        line = await Line(tool(it), NEWEST_LEGACY).open()
        params = {"name": "it", "_meta": {"progressToken": "t"}}
        assert said(await line.ask("tools/call", params)) == "refused"

    run(main())


# --- the end of a connection ----------------------------------------------------------


def test_the_end_of_a_connection_ends_its_subscriptions_properly() -> None:
    async def main() -> None:
        server = tool(lambda: "x")
        line = Line(server)
        wanted = {"notifications": {"toolsListChanged": True}}
        id = line.start("subscriptions/listen", wanted)
        await line.told(ACKNOWLEDGED)
        server.hub.close(line.peer)
        await line.peer.finish(5)
        told, answer = line.sent[1:]
        assert told["method"] == "notifications/cancelled"
        assert told["params"]["requestId"] == id
        assert answer["id"] == id
        assert answer["result"]["_meta"][META + "subscriptionId"] == id

    run(main())


def test_a_handler_that_asked_may_still_end_when_its_client_has_gone() -> None:
    async def main() -> None:
        async def it(ctx: Context) -> str:
            try:
                await ctx.roots()
            except ConnectionClosed:
                with pytest.raises(ConnectionClosed):
                    await ctx.roots()
            return "ended"

        line = await Line(tool(it), NEWEST_LEGACY).open()
        id = line.start("tools/call", {"name": "it"})
        await line.told("roots/list")
        await line.peer.finish(5)
        assert said(await line.answered(id)) == "ended"
        assert len(line.questions) == 1

    run(main())


# --- sessions -------------------------------------------------------------------------


def test_a_session_gets_what_it_was_promised_and_nothing_else() -> None:
    async def main() -> None:
        server = Server("test")
        early = await Line(server, NEWEST_LEGACY).open()
        server.tool(name="it")(lambda: "x")
        refused = (await early.ask("tools/list"))["error"]
        assert refused["code"] == -32601
        assert not any("method" in frame for frame in early.sent)
        late = await Line(server, NEWEST_LEGACY).open()
        server.remove_tool("it")
        assert (await late.ask("tools/list"))["result"]["tools"] == []
        (told,) = [frame for frame in late.sent if "method" in frame]
        assert told["method"] == "notifications/tools/list_changed"

    run(main())


def test_initialize_in_the_modern_era_is_no_method() -> None:
    async def main() -> None:
        line = Line(tool(lambda: "x"))
        params = {"protocolVersion": NEWEST_LEGACY, "capabilities": {}}
        answer = await line.ask("initialize", params)
        assert answer["error"]["code"] == -32601
        answer = await line.ask("tools/list")
        assert answer["result"]["tools"][0]["name"] == "it"

    run(main())


@pytest.mark.parametrize(
    ("params", "path", "problem"),
    [
        (None, "$", "required, but missing"),
        (
            {"protocolVersion": 1},
            "$.protocolVersion",
            "expected a string, got an integer",
        ),
    ],
)
def test_a_bad_initialize_says_where_it_is_bad(
    params: Any, path: str, problem: str
) -> None:
    async def main() -> None:
        line = Line(tool(lambda: "x"), NEWEST_LEGACY)
        full = {"capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}
        error = (await line.ask("initialize", params and full | params))["error"]
        assert error["code"] == -32602
        assert error["data"] == [{"path": path, "problem": problem}]
        assert "msgspec" not in error["message"]
        assert (await line.ask("ping"))["result"] == {}

    run(main())


def test_a_method_of_the_server_is_refused_as_such() -> None:
    async def main() -> None:
        line = await Line(tool(lambda: "x"), NEWEST_LEGACY).open()
        error = (await line.ask("sampling/createMessage", {}))["error"]
        assert error["code"] == -32601
        assert error["message"] == "sampling/createMessage is not for a client to send"

    run(main())


# --- generated callers ----------------------------------------------------------------


def test_a_generated_caller_can_be_used_with_a_context() -> None:
    async def main() -> None:
        from mcpgen.protocol.v2025_11_25 import types
        from mcpgen.protocol.v2025_11_25.server import ClientCaller

        async def it(ctx: Context) -> str:
            client = ClientCaller(ctx)
            await client.ping()
            params = types.ElicitRequestFormParams(
                message="Who?", requested_schema=FORM
            )
            answer = await client.elicit(params)
            assert isinstance(answer, types.ElicitResult)
            told = types.ProgressNotificationParams(progress_token="t", progress=1)
            await client.progress(told)
            roots = await client.list_roots()
            return f"{answer.action} {roots.roots[0].uri}"

        line, answer = await call_once(it, "2025-11-25")
        assert said(answer) == "accept file:///home"
        methods = [frame["method"] for frame in line.sent if "method" in frame]
        assert methods == [
            "ping",
            "elicitation/create",
            "notifications/progress",
            "roots/list",
        ]
        _, answer = await call_once(it, "2025-11-25", {})
        assert "elicitation" in failed(answer)

    run(main())


def test_a_peer_calls_what_another_thread_wants_on_its_loop() -> None:
    async def main() -> None:
        line = Line(Server("test"))
        peer: Peer = line.peer
        seen: list[int] = []
        called = asyncio.Event()

        def note() -> None:
            seen.append(threading.get_ident())
            called.set()

        peer.on_loop(note)
        assert len(seen) == 1
        called.clear()
        await asyncio.to_thread(peer.on_loop, note)
        await called.wait()
        assert seen == [threading.get_ident()] * 2

    run(main())
