"""What our client makes of servers that were written with the SDKs for Python.

The servers in `servers/` all offer the same, each with the API of its SDK.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcpgen.protocol.v2026_07_28 import types
from mcpgen.runtime import Client, ClientGroup
from mcpgen.runtime.errors import (
    AnswerError,
    McpError,
    NotSupported,
    RequestTimeout,
)

from .foreign_servers import (
    LEGACY,
    MODERN,
    SECONDS,
    Case,
    Live,
    connected,
    serving,
    started,
)

pytestmark = pytest.mark.interop

CASES = [
    *(Case("mcp1", transport) for transport in ("stdio", "http", "sse")),
    *(
        Case(server, transport, told)
        for server in ("mcp2", "fastmcp4")
        for transport in ("stdio", "http")
        for told in ("", LEGACY)
    ),
    *(Case(server, "sse") for server in ("mcp2", "fastmcp4")),
    # Every SDK knows the older versions, too.
    Case("mcp1", "stdio", "2024-11-05"),
    Case("mcp1", "http", "2025-03-26"),
    Case("mcp2", "stdio", "2024-11-05"),
    Case("mcp2", "http", "2025-03-26"),
    Case("fastmcp4", "http", "2025-06-18"),
]


@pytest.fixture(scope="module", params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture(scope="module")
def live(case: Case) -> Iterator[Live]:
    with connected(case) as live:
        yield live


def text_of(result: Any) -> str:
    (block,) = result.content
    return str(block.text)


# --- connecting -----------------------------------------------------------------------


def test_they_agree_on_the_newest_version_that_both_may_speak(
    case: Case, live: Live
) -> None:
    assert live.client.version == case.version


def test_the_client_knows_who_serves_and_what(case: Case, live: Live) -> None:
    client = live.client
    assert client.server_info["name"] == "foreign"
    assert client.instructions == "Call add to add."
    assert {"tools", "prompts", "resources"} <= set(client.capabilities)
    assert client.offers("completion/complete")
    assert client.offers("subscriptions/listen") == case.modern


def test_the_server_answers_a_ping(live: Live) -> None:
    live.run(live.client.ping())


# --- tools ----------------------------------------------------------------------------


def test_tools_are_listed_with_their_schemas(live: Live) -> None:
    tools = {tool.name: tool for tool in live.run(live.client.list_tools())}
    add = tools["add"]
    assert add.description == "Add two numbers."
    assert add.input_schema["required"] == ["a"]
    assert add.input_schema["properties"]["b"]["default"] == 1
    assert set(add.output_schema["properties"]) == {"total", "terms"}


def test_structured_output_is_read(live: Live) -> None:
    result = live.run(live.client.call_tool("add", a=2, b=3))
    assert not result.is_error
    assert result.structured_content == {"total": 5, "terms": [2, 3]}
    assert json.loads(text_of(result)) == result.structured_content


def test_a_tool_may_give_a_picture(live: Live) -> None:
    (image,) = live.run(live.client.call_tool("draw")).content
    assert image.mime_type == "image/png"
    assert b64decode(image.data).startswith(b"\x89PNG")


def test_a_tool_that_raises_gives_a_result_for_the_model(live: Live) -> None:
    result = live.run(live.client.call_tool("divide", a=1, b=0))
    assert result.is_error is True
    assert "divide" in text_of(result)


def test_bad_arguments_are_told(live: Live) -> None:
    result = live.run(live.client.call_tool("add", a="many"))
    assert result.is_error is True
    assert "many" in text_of(result)


def test_an_unknown_tool_is_told(live: Live) -> None:
    result = live.run(live.client.call_tool("subtract"))
    assert result.is_error is True
    assert "subtract" in text_of(result)


def test_calls_at_once_get_each_their_own_answer(live: Live) -> None:
    async def calls() -> list[Any]:
        many = (live.client.call_tool("add", a=n, b=n) for n in range(20))
        return await asyncio.gather(*many)

    found = [result.structured_content["total"] for result in live.run(calls())]
    assert found == [2 * n for n in range(20)]


def test_the_generated_caller_speaks_the_version(case: Case, live: Live) -> None:
    params = None
    if case.modern:
        params = types.PaginatedRequestParams(meta=live.client.meta)
    listed = live.run(live.client.caller.list_tools(params))
    assert listed.tools[0].name == "add"


# --- resources, prompts, completion ---------------------------------------------------


def test_resources_are_listed_and_read(live: Live) -> None:
    client = live.client
    listed = {r.uri: r.mime_type for r in live.run(client.list_resources())}
    assert listed == {"note://today": "text/plain", "note://pixel": "image/png"}
    (text,) = live.run(client.read_resource("note://today")).contents
    assert text.text == "It rained – a little."
    (blob,) = live.run(client.read_resource("note://pixel")).contents
    assert b64decode(blob.blob).startswith(b"\x89PNG")


def test_resources_of_a_template_are_read(live: Live) -> None:
    (template,) = live.run(live.client.list_resource_templates())
    assert template.uri_template == "note://of/{person}/{topic}"
    (contents,) = live.run(live.client.read_resource("note://of/ada/x")).contents
    assert (contents.uri, contents.text) == ("note://of/ada/x", "ada on x")


def test_an_unknown_resource_is_an_error_that_names_it(live: Live) -> None:
    with pytest.raises(AnswerError, match="note://tomorrow"):
        live.run(live.client.read_resource("note://tomorrow"))


def test_prompts_are_listed_and_filled_in(live: Live) -> None:
    (listed,) = live.run(live.client.list_prompts())
    required = {a.name: a.required for a in listed.arguments}
    assert required == {"code": True, "language": False}
    prompt = live.run(live.client.get_prompt("review", code="x = 1", language="Rust"))
    said = [(message.role, message.content.text) for message in prompt.messages]
    assert said == [("user", "Review this Rust: x = 1"), ("assistant", "Gladly.")]


@pytest.mark.parametrize("name", ["review", "unknown"])
def test_a_prompt_that_cannot_be_had_is_an_error(live: Live, name: str) -> None:
    with pytest.raises(AnswerError):
        live.run(live.client.get_prompt(name))


def test_arguments_are_completed(live: Live) -> None:
    client, template = live.client, "note://of/{person}/{topic}"
    assert live.run(client.complete("language", "Py", prompt="review")) == ["Python"]
    people = live.run(client.complete("person", "a", resource=template))
    assert people == ["ada", "alan"]


# --- what the server says and asks ----------------------------------------------------


def test_progress_is_heard_while_the_call_runs(live: Live) -> None:
    heard: list[Any] = []
    result = live.run(live.client.call_tool("count", to=3, progress=heard.append))
    assert text_of(result) == "counted to 3"
    assert [(step.progress, step.total) for step in heard] == [(1, 3), (2, 3), (3, 3)]
    assert [step.message for step in heard] == ["at 1", "at 2", "at 3"]


def test_log_messages_are_heard_from_the_level_that_was_asked_for(
    case: Case, live: Live
) -> None:
    can_choose = case.modern or case.server == "fastmcp4"

    async def chat() -> list[str]:
        if can_choose:
            await live.client.set_level("warning")
        else:  # but it logs, nevertheless
            with pytest.raises(NotSupported):
                await live.client.set_level("warning")
        await live.client.call_tool("chat")
        heard = [await live.logs.get()]
        while heard[-1].level != "warning":
            heard.append(await live.logs.get())
        return [message.level for message in heard]

    assert live.run(chat()) == (["warning"] if can_choose else ["debug", "warning"])


def test_our_model_is_asked(live: Live) -> None:
    live.asked.clear()
    result = live.run(live.client.call_tool("ask_model", question="why?"))
    assert text_of(result) == "parrot says: WHY?"
    (asked,) = live.asked
    assert asked.messages[0].content.text == "why?"
    assert asked.max_tokens == 20


def test_our_user_may_forbid_that_the_model_is_asked(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "model_answer", None)

    async def refused() -> bool:
        try:
            result = await live.client.call_tool("ask_model", question="why?")
        except McpError:
            return True
        return bool(result.is_error)

    assert live.run(refused())
    live.run(live.client.ping())


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        # What the form has as default is sent, too.
        ({"name": "Ada"}, 'accept {"name":"Ada","age":36}'),
        ({"name": "Alan", "age": 41}, 'accept {"name":"Alan","age":41}'),
        ("decline", "decline"),
        ("cancel", "cancel"),
    ],
)
def test_our_user_is_asked_where_the_version_can(
    case: Case,
    live: Live,
    person: Any,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "person", person)
    live.asked.clear()
    if case.version < "2025-06-18":
        assert live.run(is_refused(live.client)), "the version has no elicitation"
        assert not live.asked
        return
    assert text_of(live.run(live.client.call_tool("ask_user"))) == expected
    assert live.asked[0].message == "Who are you?"


async def is_refused(client: Any) -> bool:
    try:
        return bool((await client.call_tool("ask_user")).is_error)
    except AnswerError:
        return True


def test_our_roots_are_asked(live: Live) -> None:
    assert text_of(live.run(live.client.call_tool("ask_roots"))) == "file:///ada"


def test_a_change_of_the_tools_is_told(case: Case, live: Live) -> None:
    async def learn() -> str:
        async with live.client.listen(tools=True) as changes:
            await live.client.call_tool("learn")
            return str((await anext(changes)).method)

    if case.server == "fastmcp4" and case.modern:
        with pytest.raises(AnswerError, match="Method not found"):
            live.run(learn())  # it has nothing to listen to
        return
    assert live.run(learn()) == "notifications/tools/list_changed"
    names = [tool.name for tool in live.run(live.client.list_tools())]
    assert "learned" in names


def test_a_change_of_a_resource_is_told(case: Case, live: Live) -> None:
    async def rewrite() -> Any:
        async with live.client.listen("note://today") as changes:
            await live.client.call_tool("rewrite")
            return await anext(changes)

    if case.server != "mcp2" or not case.modern:
        with pytest.raises(AnswerError if case.modern else NotSupported):
            live.run(rewrite())  # their servers have no subscriptions
        return
    change = live.run(rewrite())
    assert change.method == "notifications/resources/updated"
    assert change.params["uri"] == "note://today"


# --- ends -----------------------------------------------------------------------------


def test_a_call_that_is_given_up_is_cancelled(live: Live) -> None:
    async def give_up() -> str:
        begun = asyncio.Event()
        work = live.client.call_tool("wait_forever", progress=lambda _: begun.set())
        call = asyncio.ensure_future(work)
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return text_of(await live.client.call_tool("wait_for_cancellation"))

    assert live.run(give_up()) == "it was cancelled"


def test_a_call_that_takes_too_long_is_a_timeout_and_no_more(live: Live) -> None:
    with pytest.raises(RequestTimeout):
        live.run(live.client.call_tool("wait_forever", timeout=0.2))
    live.run(live.client.call_tool("add", a=1))


@pytest.mark.parametrize("server", ["mcp1", "mcp2", "fastmcp4", "everything"])
def test_a_server_ends_with_its_client(server: str) -> None:
    async def use() -> None:
        async with started(Case(server, "stdio").command()) as client:
            await client.list_tools()

    asyncio.run(use())


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_version_that_the_server_has_not_is_an_error(transport: str) -> None:
    with (
        pytest.raises((AnswerError, NotSupported)),
        connected(Case("mcp1", transport, MODERN)),
    ):
        pass


@pytest.mark.parametrize("server", ["mcp2", "fastmcp4"])
def test_a_client_that_is_told_an_old_version_decides_only_for_itself(
    server: str, tmp_path: Path
) -> None:
    async def agreed(url: str, versions: list[str]) -> str:
        async with asyncio.timeout(SECONDS), Client.http(url, versions=versions) as it:
            return it.version

    with serving(Case(server, "http").command(), str(tmp_path)) as url:
        assert asyncio.run(agreed(f"{url}/mcp", [LEGACY])) == LEGACY
        assert asyncio.run(agreed(f"{url}/mcp", [])) == MODERN


@pytest.mark.parametrize("server", ["mcp1", "mcp2", "fastmcp4"])
def test_a_server_that_has_only_the_oldest_transport_is_found(
    server: str, tmp_path: Path
) -> None:
    async def version(url: str) -> str:
        async with asyncio.timeout(SECONDS), Client.http(url) as client:
            await client.call_tool("add", a=1)
            return client.version

    with serving(Case(server, "sse").command(), str(tmp_path)) as url:
        assert asyncio.run(version(f"{url}/sse")) == LEGACY


def test_servers_of_all_kinds_make_a_group(tmp_path: Path) -> None:
    def started(server: str) -> Client:
        command = Case(server, "stdio").command()
        return Client.stdio(
            command, env={"HOME": str(tmp_path)}, stderr=lambda line: None
        )

    async def use(url: str) -> None:
        web = Client.http(f"{url}/mcp")
        group = ClientGroup(old=started("mcp1"), web=web, new=started("fastmcp4"))
        async with asyncio.timeout(SECONDS), group:
            names = {tool.name for tool in await group.list_tools()}
            assert {"old__add", "web__add", "new__add"} <= names
            calls = (group.call_tool(f"{name}__add", a=1) for name in group)
            for result in await asyncio.gather(*calls):
                assert result.structured_content == {"total": 2, "terms": [1, 1]}
            versions = {name: client.version for name, client in group.items()}
            assert versions == {"old": LEGACY, "web": MODERN, "new": MODERN}

    with serving(Case("mcp2", "http").command(), str(tmp_path)) as url:
        asyncio.run(use(url))
