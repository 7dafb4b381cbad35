"""What our client makes of the protocol's example servers, which npm has."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime import Client
from mcpgen.runtime.errors import AnswerError, ConnectionClosed, ServerCrashed

from .foreign_servers import LEGACY, SECONDS, Case, Live, connected, serving, started
from .installed import node_server

pytestmark = pytest.mark.interop

CASES = [Case("everything", transport) for transport in ("stdio", "http", "sse")]
STATIC = "demo://resource/static/document/"
DYNAMIC = "demo://resource/dynamic/"


@pytest.fixture(scope="module", params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture(scope="module")
def live(case: Case) -> Iterator[Live]:
    with connected(case) as live:
        yield live


def texts_of(result: Any) -> list[str]:
    return [block.text for block in result.content]


# --- everything: connecting, tools ----------------------------------------------------


def test_everything_is_known_by_name_and_version(live: Live) -> None:
    client = live.client
    assert client.version == LEGACY
    assert client.server_info["name"] == "mcp-servers/everything"
    assert client.instructions
    assert {"tools", "prompts", "resources", "logging"} <= set(client.capabilities)
    live.run(client.ping())


def test_everything_lists_also_what_our_capabilities_allow(live: Live) -> None:
    tools = {tool.name: tool for tool in live.run(live.client.list_tools())}
    assert tools["get-sum"].input_schema["required"] == ["a", "b"]
    assert "temperature" in tools["get-structured-content"].output_schema["properties"]
    asking = {"trigger-sampling-request", "trigger-elicitation-request"}
    asking |= {"trigger-url-elicitation", "get-roots-list"}
    assert asking <= set(tools)


def test_everything_adds(live: Live) -> None:
    result = live.run(live.client.call_tool("get-sum", a=2, b=3))
    assert texts_of(result) == ["The sum of 2 and 3 is 5."]


def test_everything_gives_structured_content(live: Live) -> None:
    tool = "get-structured-content"
    result = live.run(live.client.call_tool(tool, location="Chicago"))
    assert result.structured_content["temperature"] == 36
    assert json.loads(*texts_of(result)) == result.structured_content


def test_everything_gives_pictures_links_and_annotations(live: Live) -> None:
    client = live.client
    kinds = [b.type for b in live.run(client.call_tool("get-tiny-image")).content]
    assert kinds == ["text", "image", "text"]
    _, *links = live.run(client.call_tool("get-resource-links", count=2)).content
    assert [link.type for link in links] == ["resource_link"] * 2
    arguments = {"messageType": "error", "includeImage": False}
    (said,) = live.run(client.call_tool("get-annotated-message", arguments)).content
    assert said.annotations.priority == 1
    assert said.annotations.audience == ["user", "assistant"]
    arguments = {"resourceType": "Text", "resourceId": 1}
    result = live.run(client.call_tool("get-resource-reference", arguments))
    assert [block.type for block in result.content] == ["text", "resource", "text"]


@pytest.mark.parametrize(
    ("tool", "arguments"), [("unknown", {}), ("get-sum", {"a": "two", "b": 3})]
)
def test_everything_says_what_is_wrong_with_a_call(
    live: Live, tool: str, arguments: dict[str, Any]
) -> None:
    result = live.run(live.client.call_tool(tool, arguments))
    assert result.is_error is True
    (text,) = texts_of(result)
    assert tool in text
    assert "-32602" in text


def test_calls_at_once_get_each_their_own_answer(live: Live) -> None:
    async def calls() -> list[Any]:
        many = (live.client.call_tool("echo", message=f"n{n}") for n in range(20))
        return await asyncio.gather(*many)

    found = [texts_of(result) for result in live.run(calls())]
    assert found == [[f"Echo: n{n}"] for n in range(20)]


# --- everything: resources, prompts, completion ---------------------------------------


def test_the_resources_of_everything_are_read(live: Live) -> None:
    client = live.client
    listed = {r.uri: r for r in live.run(client.list_resources())}
    assert listed[f"{STATIC}features.md"].mime_type == "text/markdown"
    (document,) = live.run(client.read_resource(f"{STATIC}features.md")).contents
    assert "Everything Server" in document.text
    templates = {t.uri_template for t in live.run(client.list_resource_templates())}
    assert templates == {DYNAMIC + "text/{resourceId}", DYNAMIC + "blob/{resourceId}"}
    (text,) = live.run(client.read_resource(f"{DYNAMIC}text/7")).contents
    assert text.text.startswith("Resource 7: This is a plaintext")
    (blob,) = live.run(client.read_resource(f"{DYNAMIC}blob/7")).contents
    assert b64decode(blob.blob).startswith(b"Resource 7: This is a base64 blob")


@pytest.mark.parametrize("uri", [f"{DYNAMIC}text/zero", "demo://nothing"])
def test_a_resource_that_everything_has_not_is_an_error(live: Live, uri: str) -> None:
    with pytest.raises(AnswerError, match=uri):
        live.run(live.client.read_resource(uri))


def test_the_prompts_of_everything_are_filled_in(live: Live) -> None:
    client = live.client
    names = {prompt.name for prompt in live.run(client.list_prompts())}
    assert {"simple-prompt", "args-prompt", "resource-prompt"} <= names
    prompt = live.run(client.get_prompt("args-prompt", city="Oslo", state="Norway"))
    assert prompt.messages[0].content.text == "What's weather in Oslo, Norway?"
    arguments = {"resourceType": "Blob", "resourceId": "2"}
    prompt = live.run(client.get_prompt("resource-prompt", arguments))
    assert prompt.messages[1].content.resource.uri == f"{DYNAMIC}blob/2"
    with pytest.raises(AnswerError) as caught:
        live.run(client.get_prompt("args-prompt"))
    assert caught.value.code == -32602


def test_everything_completes_arguments(live: Live) -> None:
    client, prompt = live.client, "completable-prompt"
    assert live.run(client.complete("department", "S", prompt=prompt)) == [
        "Sales",
        "Support",
    ]
    known = {"department": "Sales"}
    work = client.complete("name", "E", prompt=prompt, arguments=known)
    assert live.run(work) == ["Eve"]
    template = DYNAMIC + "text/{resourceId}"
    assert live.run(client.complete("resourceId", "3", resource=template)) == ["3"]


# --- everything: what it says and asks ------------------------------------------------


def test_everything_reports_progress(live: Live) -> None:
    heard: list[Any] = []
    tool, arguments = "trigger-long-running-operation", {"duration": 0.2, "steps": 4}
    live.run(live.client.call_tool(tool, arguments, progress=heard.append))
    assert [(step.progress, step.total) for step in heard] == [
        (n, 4) for n in (1, 2, 3, 4)
    ]


def test_everything_logs(live: Live) -> None:
    async def log() -> Any:
        await live.client.set_level("debug")
        await live.client.call_tool("toggle-simulated-logging")
        try:
            while True:
                message = await live.logs.get()
                if "level" in message.data.lower():
                    return message
        finally:
            await live.client.call_tool("toggle-simulated-logging")

    message = live.run(log())
    assert message.data.lower().startswith(message.level)


def test_everything_asks_our_model(live: Live) -> None:
    live.asked.clear()
    work = live.client.call_tool("trigger-sampling-request", prompt="why?", maxTokens=9)
    (text,) = texts_of(live.run(work))
    answer = json.loads(text.partition("\n")[2])
    assert (answer["model"], answer["content"]["text"]) == ("parrot", "WHY?")
    (asked,) = live.asked
    assert asked.system_prompt == "You are a helpful test server."
    assert asked.max_tokens == 9


def test_everything_asks_our_user_and_gets_the_defaults_of_the_form(live: Live) -> None:
    result = live.run(live.client.call_tool("trigger-elicitation-request"))
    raw = json.loads(texts_of(result)[-1].partition(": ")[2])
    assert raw["action"] == "accept"
    assert raw["content"]["name"] == "Ada"
    assert raw["content"]["titledMultipleSelectEnum"] == ["fish-1"]
    assert raw["content"]["legacyTitledEnum"] == "pet-1"


@pytest.mark.parametrize("answer", ["decline", "cancel"])
def test_our_user_may_refuse(
    live: Live, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "person", answer)
    result = live.run(live.client.call_tool("trigger-elicitation-request"))
    assert json.loads(texts_of(result)[-1].partition(": ")[2]) == {"action": answer}


@pytest.mark.parametrize("opens", [True, False])
def test_everything_sends_our_user_to_an_address(
    live: Live, opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "opens_urls", opens)
    live.asked.clear()
    url = "https://example.com/form"
    result = live.run(live.client.call_tool("trigger-url-elicitation", url=url))
    action = "accept" if opens else "decline"
    assert json.loads(texts_of(result)[-1].partition(": ")[2])["action"] == action
    assert live.asked[0].url == url


def test_everything_may_demand_that_an_address_is_visited_first(live: Live) -> None:
    arguments = {"url": "https://example.com/form", "errorPath": True}
    with pytest.raises(AnswerError) as caught:
        live.run(live.client.call_tool("trigger-url-elicitation", arguments))
    assert caught.value.code == -32042
    (elicitation,) = caught.value.data["elicitations"]
    assert elicitation["mode"] == "url"


def test_everything_asks_our_roots(live: Live) -> None:
    (text,) = texts_of(live.run(live.client.call_tool("get-roots-list")))
    assert "file:///ada" in text


def test_everything_tells_of_changes_of_a_resource(live: Live) -> None:
    uri = f"{DYNAMIC}text/1"

    async def subscribed() -> Any:
        async with live.client.listen(uri) as changes:
            await live.client.call_tool("toggle-subscriber-updates")
            try:
                return await anext(changes)
            finally:
                await live.client.call_tool("toggle-subscriber-updates")

    change = live.run(subscribed())
    assert change.method == "notifications/resources/updated"
    assert change.params["uri"] == uri


# --- everything: its environment and its end ------------------------------------------


def test_a_server_sees_nothing_of_our_environment_that_may_be_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")

    async def use() -> dict[str, str]:
        command = Case("everything", "stdio").command()
        async with started(command, env={"GIVEN": "yes"}) as client:
            (text,) = texts_of(await client.call_tool("get-env"))
            found: dict[str, str] = json.loads(text)
            return found

    seen = asyncio.run(use())
    assert seen["GIVEN"] == "yes"
    assert "PATH" in seen
    assert "API_TOKEN" not in seen


def test_everything_over_the_oldest_transport_is_found(tmp_path: Path) -> None:
    async def echo(url: str) -> list[str]:
        async with asyncio.timeout(SECONDS), Client.http(url) as client:
            return texts_of(await client.call_tool("echo", message="hi"))

    with serving(Case("everything", "sse").command(), str(tmp_path)) as url:
        assert asyncio.run(echo(f"{url}/sse")) == ["Echo: hi"]


# --- filesystem and memory ------------------------------------------------------------


def filesystem(directory: Path) -> list[str]:
    return [*node_server("filesystem"), str(directory)]


def test_files_are_written_read_and_listed(tmp_path: Path) -> None:
    (tmp_path / "pixel.png").write_bytes(b"\x89PNG")
    note = str(tmp_path / "note.txt")

    async def use() -> None:
        async with started(filesystem(tmp_path)) as client:
            assert client.version == LEGACY
            tools = {tool.name: tool for tool in await client.list_tools()}
            assert tools["read_text_file"].annotations.read_only_hint is True
            assert await client.list_resources() == []  # it offers none
            written = "one\ntwo – 2\n" * 10_000
            await client.call_tool("write_file", path=note, content=written)
            result = await client.call_tool("read_text_file", path=note)
            assert result.structured_content == {"content": written}
            arguments = {"path": note, "head": 1}
            result = await client.call_tool("read_text_file", arguments)
            assert texts_of(result) == ["one"]
            listed = await client.call_tool("list_directory", path=str(tmp_path))
            lines = sorted(texts_of(listed)[0].split("\n"))
            assert lines == ["[FILE] note.txt", "[FILE] pixel.png"]
            picture = str(tmp_path / "pixel.png")
            result = await client.call_tool("read_media_file", path=picture)
            assert b64decode(result.content[0].data) == b"\x89PNG"

    asyncio.run(use())


def test_files_elsewhere_are_refused(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()

    async def use() -> None:
        async with started(filesystem(allowed)) as client:
            elsewhere = str(tmp_path / "other.txt")
            result = await client.call_tool("read_text_file", path=elsewhere)
            assert result.is_error is True
            assert "Access denied" in texts_of(result)[0]
            result = await client.call_tool("read_text_file")
            assert result.is_error is True
            assert "path" in texts_of(result)[0]

    asyncio.run(use())


def test_our_roots_say_which_files_may_be_used_and_may_change(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    roots = [first.as_uri()]
    asked: asyncio.Queue[None] = asyncio.Queue()

    async def answer() -> list[str]:
        asked.put_nowait(None)
        return list(roots)

    async def allowed(client: Any, directory: Path) -> None:
        await asked.get()
        expected = [f"Allowed directories:\n{directory}"]
        # It has asked, but may not have looked at the answer yet.
        while texts_of(await client.call_tool("list_allowed_directories")) != expected:
            pass

    async def use() -> None:
        async with started(node_server("filesystem"), roots=answer) as client:
            await allowed(client, first)
            roots[:] = [second.as_uri()]
            await client.roots_changed()
            await allowed(client, second)

    asyncio.run(use())


def test_a_server_that_cannot_work_is_an_error_with_its_last_words(
    tmp_path: Path,
) -> None:
    async def use() -> None:
        async with started(filesystem(tmp_path / "missing")):
            pass

    with pytest.raises(ConnectionClosed) as caught:
        asyncio.run(use())
    assert isinstance(caught.value, ServerCrashed)
    assert caught.value.returncode == 1
    assert "directories are accessible" in "\n".join(caught.value.stderr)


def test_a_graph_is_remembered_from_one_server_to_the_next(tmp_path: Path) -> None:
    env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote – a lot"]}
    engine = {"name": "Engine", "entityType": "machine", "observations": []}
    relation = {"from": "Ada", "to": "Engine", "relationType": "programs"}

    async def learn() -> None:
        async with started(node_server("memory"), env=env) as client:
            result = await client.call_tool("create_entities", entities=[ada, engine])
            assert result.structured_content == {"entities": [ada, engine]}
            await client.call_tool("create_relations", relations=[relation])
            result = await client.call_tool("create_entities", entities=[{"name": 1}])
            assert result.is_error is True

    async def recall() -> None:
        async with started(node_server("memory"), env=env) as client:
            graph = (await client.call_tool("read_graph")).structured_content
            assert graph == {"entities": [ada, engine], "relations": [relation]}
            found = await client.call_tool("search_nodes", query="lot")
            assert found.structured_content["entities"] == [ada]

    asyncio.run(learn())
    asyncio.run(recall())


def test_the_graph_is_a_resource_too_and_tells_of_its_changes(tmp_path: Path) -> None:
    env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    ada = {"name": "Ada", "entityType": "person", "observations": []}

    async def use() -> None:
        async with started(node_server("memory"), env=env) as client:
            (resource,) = await client.list_resources()
            async with client.listen(resource.uri) as changes:
                await client.call_tool("create_entities", entities=[ada])
                assert (await anext(changes)).params["uri"] == resource.uri
            (contents,) = (await client.read_resource(resource.uri)).contents
            assert json.loads(contents.text)["entities"] == [ada]

    asyncio.run(use())
