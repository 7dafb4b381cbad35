"""What tools, resources, prompts and completions may be, take and give.

Every frame that leaves is checked by the validators of the version that is spoken.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from mcpgen.protocol import ERAS, PACKAGES, v2025_11_25, v2026_07_28
from mcpgen.runtime import Audio, Context, Embedded, Image, Server, Text, ToolResult
from mcpgen.runtime.mirrors import header_parameters

from tests.runtime.test_server import LEGACY, META, MODERN, Line, run

PIXEL = Image(b"abc", "image/png")
PIXEL_BLOCK = {"type": "image", "data": "YWJj", "mimeType": "image/png"}


@dataclass
class Place:
    x: int
    name: str = "here"


class Animal(msgspec.Struct):
    type: str
    legs: int = 4


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


async def opened(server: Server, version: str) -> Line:
    line = Line(server, version)
    if ERAS[version] == "legacy":
        await line.initialize()
    return line


def answers(
    server: Server, method: str, params: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The answer of every version to one request."""
    found = {}

    async def main() -> None:
        for version in PACKAGES:
            line = await opened(server, version)
            found[version] = await line.ask(method, params)

    run(main())
    return found


def results(
    server: Server, method: str, params: dict[str, Any] | None = None
) -> dict[str, Any]:
    found = answers(server, method, params)
    assert all("result" in answer for answer in found.values()), found
    return {version: answer["result"] for version, answer in found.items()}


def given(value: Any, hint: Any = None, **options: Any) -> dict[str, Any]:
    """What each version gets from a tool that returns a value."""
    server = Server("giving")

    async def give() -> Any:
        return value

    if hint is not None:
        give.__annotations__["return"] = hint
    server.tool(**options)(give)
    return results(server, "tools/call", {"name": "give"})


def contents(value: Any) -> Any:
    """The content that every version gets from a tool, the same for all."""
    found = given(value)
    assert not any(result.get("isError") for result in found.values()), found
    (one,) = {json.dumps(result["content"]) for result in found.values()}
    return json.loads(one)


# --- tools that fail ----------------------------------------------------------------------


def exits() -> Any:
    sys.exit(3)


async def exits_later() -> Any:
    sys.exit(3)


@pytest.mark.parametrize(
    ("function", "inline"), [(exits, False), (exits, True), (exits_later, False)]
)
def test_exit_ends_the_call_and_not_the_server(function: Any, inline: bool) -> None:
    server = Server("exits")
    server.tool(name="leave", inline=inline)(function)

    @server.tool
    async def stay() -> str:
        return "here"

    async def main() -> None:
        line = await opened(server, LEGACY[-1])
        result = (await line.ask("tools/call", {"name": "leave"}))["result"]
        assert result["isError"] is True
        assert "SystemExit" in result["content"][0]["text"]
        result = (await line.ask("tools/call", {"name": "stay"}))["result"]
        assert result["content"] == [text("here")]

    run(main())


def test_a_tool_that_waited_for_something_cancelled_has_failed() -> None:
    server = Server("cancelled")

    @server.tool
    async def waits() -> str:
        waiting = asyncio.ensure_future(asyncio.Event().wait())
        waiting.cancel()
        await waiting
        return "never"

    for result in results(server, "tools/call", {"name": "waits"}).values():
        assert result["isError"] is True


def lone(message: str) -> Callable[[], Any]:
    async def fails() -> str:
        raise RuntimeError(message)

    return fails


async def lone_text() -> str:
    return "a\ud800"


async def lone_data() -> dict[str, str]:
    return {"a": "\ud800"}


async def lone_block() -> list[Text]:
    return [Text("\ud800")]


@pytest.mark.parametrize(
    "function", [lone("a\ud800"), lone_text, lone_data, lone_block]
)
def test_half_a_surrogate_pair_is_a_failure_of_the_tool(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is logged reaches the reports of pytest, which cannot carry it either.
    monkeypatch.setattr(logging.getLogger("mcpgen"), "disabled", True)
    server = Server("surrogates")
    server.tool(name="t")(function)
    for result in results(server, "tools/call", {"name": "t"}).values():
        assert result["isError"] is True
        assert "ud800" in result["content"][0]["text"]


@pytest.mark.parametrize(
    "value",
    [
        ToolResult([{"type": "text"}]),
        ToolResult([{"type": "nonsense"}]),
        ToolResult([5]),
        ToolResult("a", meta={"a": object()}),
        ToolResult(structured=object()),
        [PIXEL, 5],
        Image(b"abc", 5),  # type: ignore[arg-type]
        object(),
    ],
)
def test_what_cannot_be_sent_is_a_failure_of_the_tool(value: Any) -> None:
    for result in given(value).values():
        assert result["isError"] is True, result


def test_a_sync_wrapper_around_an_async_tool() -> None:
    server = Server("wrapped")

    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    for name, inline in (("threaded", False), ("inline", True)):

        @server.tool(name=name, inline=inline)
        @logged
        async def double(n: int) -> int:
            return 2 * n

        call = {"name": name, "arguments": {"n": 2}}
        for result in results(server, "tools/call", call).values():
            assert result["content"] == [text("4")]


# --- content ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", [text("a")]),
        (None, []),
        (["a", "b"], [text('["a","b"]')]),
        ([], [text("[]")]),
        (["a", PIXEL], [text("a"), PIXEL_BLOCK]),
        ((PIXEL, "a"), [PIXEL_BLOCK, text("a")]),
        ([PIXEL, text("a")], [PIXEL_BLOCK, text("a")]),
        (text("a"), [text('{"type":"text","text":"a"}')]),
        (Animal("cat"), [text('{"type":"cat","legs":4}')]),
        ({"a": float("nan")}, [text('{"a":null}')]),
        (ToolResult("a"), [text("a")]),
        (ToolResult(["a", "b"]), [text("a"), text("b")]),
        (ToolResult(["a", PIXEL]), [text("a"), PIXEL_BLOCK]),
        (ToolResult([text("a"), "b"]), [text("a"), text("b")]),
        (ToolResult(text("a")), [text("a")]),
        (ToolResult(), []),
        (ToolResult(structured={"a": 1}), [text('{"a":1}')]),
        (ToolResult("own", structured={"a": 1}), [text("own")]),
        (v2025_11_25.TextContent(text="a"), [text("a")]),
        ([v2026_07_28.TextContent(text="a"), "b"], [text("a"), text("b")]),
        (
            v2026_07_28.TextResourceContents(uri="a:b", text="c"),
            [{"type": "resource", "resource": {"uri": "a:b", "text": "c"}}],
        ),
        (
            v2025_11_25.CallToolResult(content=[v2025_11_25.TextContent(text="a")]),
            [text("a")],
        ),
    ],
)
def test_content(value: Any, expected: Any) -> None:
    found = contents(value)
    assert [dict(sorted(b.items())) for b in found] == [
        dict(sorted(b.items())) for b in expected
    ]


@pytest.mark.parametrize(
    "hint",
    [
        v2025_11_25.TextContent,
        list[v2026_07_28.TextContent | v2026_07_28.ImageContent],
        v2025_11_25.CallToolResult,
        v2025_11_25.CallToolResult | str,
        list[str | Image],
    ],
)
def test_generated_blocks_promise_no_data(hint: Any) -> None:
    server = Server("blocks")

    async def give() -> Any: ...

    give.__annotations__["return"] = hint
    server.tool(give)
    for result in results(server, "tools/list").values():
        assert "outputSchema" not in result["tools"][0]


def test_a_generated_result_in_full() -> None:
    value = v2025_11_25.CallToolResult(
        content=[v2025_11_25.TextContent(text="a")],
        structured_content={"b": 1},
        is_error=True,
        meta={"x/y": 2},
    )
    for version, result in given(value).items():
        assert result["isError"] is True
        assert result["_meta"]["x/y"] == 2
        if version >= "2025-06-18":
            assert result["structuredContent"] == {"b": 1}


def test_the_server_tells_who_it_is_beside_a_tools_own_meta() -> None:
    result = given(ToolResult("a", meta={"x/y": 1}))[MODERN]
    assert result["_meta"].keys() == {"x/y", META + "serverInfo"}


def test_audio_for_those_who_have_none() -> None:
    block = given(Audio(b"abc", "audio/wav; rate=8"))["2024-11-05"]["content"][0]
    assert block["resource"] == {
        "uri": "data:audio/wav;rate=8,",
        "mimeType": "audio/wav; rate=8",
        "blob": "YWJj",
    }


# --- structured content -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "values"),
    [
        (Place | None, [Place(1), None]),
        (Place | int, [Place(1), 7]),
        (dict | list, [{"a": 1}, [1]]),
        (dict[str, int], [{"a": 1}, {"result": 1}]),
        (Place, [Place(1), ToolResult(structured={"x": 1})]),
        (int | None, [ToolResult(structured=7), ToolResult("no", structured=None)]),
    ],
)
def test_structured_content_fits_the_schema_that_is_listed(
    hint: Any, values: list[Any]
) -> None:
    server = Server("structured")

    async def give(index: int) -> Any:
        return values[index]

    give.__annotations__["return"] = hint
    server.tool(give)
    listed = results(server, "tools/list")
    for index in range(len(values)):
        call = {"name": "give", "arguments": {"index": index}}
        for version, result in results(server, "tools/call", call).items():
            assert "isError" not in result, result
            assert result["content"]
            schema = listed[version]["tools"][0].get("outputSchema")
            if version < "2025-06-18":
                assert schema is None
                assert "structuredContent" not in result
            else:
                Draft202012Validator(schema).validate(result["structuredContent"])


@pytest.mark.parametrize(
    "value",
    [
        ToolResult("x"),
        ToolResult("x", structured={"x": "no"}),
        ToolResult("x", structured={"x": "no"}, is_error=True),
        v2025_11_25.CallToolResult(content=[]),
        {"x": "no"},
    ],
)
@pytest.mark.parametrize("by_hand", [True, False])
def test_a_promise_is_kept_or_the_tool_has_failed(value: Any, by_hand: bool) -> None:
    schema = {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
    }
    found = given(value, output_schema=schema) if by_hand else given(value, Place)
    for result in found.values():
        assert result["isError"] is True
        assert "promise" in result["content"][0]["text"]


def test_a_failure_needs_no_data() -> None:
    for result in given(ToolResult("gone", is_error=True), Place).values():
        assert result["isError"] is True
        assert result["content"] == [text("gone")]


# --- resources ----------------------------------------------------------------------------


def reads(value: Any, **options: Any) -> Any:
    server = Server("reading")

    @server.resource("a:b", **options)
    async def read() -> Any:
        return value

    found = results(server, "resources/read", {"uri": "a:b"})
    (one,) = {json.dumps(result["contents"]) for result in found.values()}
    return json.loads(one)


def as_json(value: str, **more: Any) -> Any:
    return [{"uri": "a:b", "mimeType": "application/json", "text": value}]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", [{"uri": "a:b", "text": "a"}]),
        (b"abc", [{"uri": "a:b", "blob": "YWJj"}]),
        (Text("a"), [{"uri": "a:b", "text": "a"}]),
        (PIXEL, [{"uri": "a:b", "mimeType": "image/png", "blob": "YWJj"}]),
        (Embedded("a:c", "d"), [{"uri": "a:c", "text": "d"}]),
        (
            [Embedded("a:c", "d"), {"uri": "a:e", "text": "f"}],
            [{"uri": "a:c", "text": "d"}, {"uri": "a:e", "text": "f"}],
        ),
        (
            v2025_11_25.TextResourceContents(uri="a:c", text="d"),
            [{"uri": "a:c", "text": "d"}],
        ),
        (
            [v2026_07_28.BlobResourceContents(uri="a:c", blob="YWJj")],
            [{"uri": "a:c", "blob": "YWJj"}],
        ),
        (
            v2025_11_25.ReadResourceResult(
                contents=[v2025_11_25.TextResourceContents(uri="a:c", text="d")]
            ),
            [{"uri": "a:c", "text": "d"}],
        ),
        (Place(1), as_json('{"x":1,"name":"here"}')),
        ([Place(1)], as_json('[{"x":1,"name":"here"}]')),
        ([{"name": "a"}], as_json('[{"name":"a"}]')),
        ({"uri": "x"}, as_json('{"uri":"x"}')),
        (["a", "b"], as_json('["a","b"]')),
        ([], as_json("[]")),
        ({"a": float("nan")}, as_json('{"a":null}')),
        (None, as_json("null")),
    ],
)
def test_reading(value: Any, expected: Any) -> None:
    found = reads(value)
    assert [dict(sorted(c.items())) for c in found] == [
        dict(sorted(c.items())) for c in expected
    ]


def test_the_type_of_data_may_be_told() -> None:
    (found,) = reads({"a": 1}, mime_type="application/ld+json")
    assert found["mimeType"] == "application/ld+json"


def test_variables_and_arguments_have_types() -> None:
    server = Server("typed")

    @server.resource("t://{n}{?deep}")
    async def item(n: int, deep: bool = False) -> str:
        return f"{n + 1} {deep}"

    @server.prompt
    async def ask(n: int, loud: bool = False, place: str = "here") -> str:
        return f"{n + 1} {loud} {place}"

    for result in results(
        server, "resources/read", {"uri": "t://6?deep=true"}
    ).values():
        assert result["contents"][0]["text"] == "7 True"
    asked = {"name": "ask", "arguments": {"n": "6", "loud": "true", "place": "7"}}
    for result in results(server, "prompts/get", asked).values():
        assert result["messages"][0]["content"]["text"] == "7 True 7"
    for answer in answers(server, "resources/read", {"uri": "t://six"}).values():
        assert answer["error"]["code"] == -32602
        assert answer["error"]["data"][0]["path"] == "$.uri"
    asked = {"name": "ask", "arguments": {"n": "six"}}
    for answer in answers(server, "prompts/get", asked).values():
        assert answer["error"]["code"] == -32602
        assert answer["error"]["data"][0]["path"] == "$.arguments.n"


# --- prompts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", [("user", text("a"))]),
        (["a", PIXEL], [("user", text("a")), ("user", PIXEL_BLOCK)]),
        ({"role": "assistant", "content": "a"}, [("assistant", text("a"))]),
        ({"role": "assistant", "content": PIXEL}, [("assistant", PIXEL_BLOCK)]),
        ({"role": "user", "content": text("a")}, [("user", text("a"))]),
        (text("a"), [("user", text("a"))]),
        (
            Embedded("a:c", "d"),
            [("user", {"type": "resource", "resource": {"uri": "a:c", "text": "d"}})],
        ),
        (
            v2026_07_28.PromptMessage(
                role="assistant", content=v2026_07_28.TextContent(text="a")
            ),
            [("assistant", text("a"))],
        ),
        (v2025_11_25.TextContent(text="a"), [("user", text("a"))]),
        (
            v2025_11_25.GetPromptResult(
                messages=[
                    v2025_11_25.PromptMessage(
                        role="user", content=v2025_11_25.TextContent(text="a")
                    )
                ]
            ),
            [("user", text("a"))],
        ),
        (Place(1), [("user", text('{"x":1,"name":"here"}'))]),
        ([{"name": "a"}], [("user", text('[{"name":"a"}]'))]),
        ([], []),
    ],
)
def test_messages(value: Any, expected: Any) -> None:
    server = Server("prompting")

    @server.prompt
    async def give() -> Any:
        """Says something."""
        return value

    for result in results(server, "prompts/get", {"name": "give"}).values():
        assert result["description"] == "Says something."
        found = [
            (message["role"], message["content"]) for message in result["messages"]
        ]
        assert found == expected


# --- completion ---------------------------------------------------------------------------


def completing() -> Server:
    server = Server("completing")

    # Before what they are about, which is no reason to be forgotten.
    @server.completion("at://{town}/{street}", "street")
    def streets(value: str, arguments: dict[str, str]) -> list[str]:
        return [f"{arguments.get('town', 'nowhere')} {value}"]

    @server.completion("say", "words")
    async def words(value: str, ctx: Context) -> Any:
        return (f"{value}{n}" for n in range(150))

    @server.completion("say", "tone")
    async def tones(value: int) -> None:
        return None

    @server.resource("at://{town}/{street}")
    async def at(town: str, street: str) -> str:
        return town + street

    @server.prompt
    async def say(words: str, tone: str = "", rest: str = "") -> str:
        return words

    return server


def complete(ref: dict[str, str], argument: str, value: str, **more: Any) -> Any:
    argued = {"name": argument, "value": value}
    return answers(
        completing(), "completion/complete", {"ref": ref, "argument": argued, **more}
    )


TEMPLATE = {"type": "ref/resource", "uri": "at://{town}/{street}"}
PROMPT = {"type": "ref/prompt", "name": "say"}


def test_a_completion_may_know_what_is_given_already() -> None:
    context = {"arguments": {"town": "Rome"}}
    for version, answer in complete(TEMPLATE, "street", "v", context=context).items():
        found = answer["result"]["completion"]["values"]
        assert found == (["nowhere v"] if version < "2025-06-18" else ["Rome v"])
    for answer in complete(TEMPLATE, "street", "v").values():
        assert answer["result"]["completion"]["values"] == ["nowhere v"]


def test_many_completions_are_cut_short() -> None:
    for answer in complete(PROMPT, "words", "a").values():
        completion = answer["result"]["completion"]
        assert len(completion["values"]) == 100
        assert (completion["total"], completion["hasMore"]) == (150, True)


@pytest.mark.parametrize(
    ("ref", "argument"),
    [
        (PROMPT, "rest"),
        (PROMPT, "none"),
        (TEMPLATE, "town"),
        ({"type": "ref/resource", "uri": "at://none/{x}"}, "x"),
        ({"type": "ref/resource", "uri": "say"}, "words"),
    ],
)
def test_nothing_to_complete(ref: Any, argument: str) -> None:
    for answer in complete(ref, argument, "a").values():
        assert answer["result"]["completion"]["values"] == []


def test_what_cannot_be_completed() -> None:
    for answer in complete({"type": "ref/prompt", "name": "no"}, "x", "a").values():
        problem = "there is no prompt 'no'"
        issue = {"path": "$.ref.name", "problem": problem}
        error = {"code": -32602, "message": problem, "data": [issue]}
        assert answer["error"] == error
    for answer in complete(PROMPT, "tone", "a").values():
        assert answer["error"]["code"] == -32602


# --- what is asked for wrongly ------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("tools/call", {"name": "no"}, "$.name"),
        ("prompts/get", {"name": "no"}, "$.name"),
        ("prompts/get", {"name": "p"}, "$.arguments.x"),
        (
            "prompts/get",
            {"name": "p", "arguments": {"x": "1", "y": "2"}},
            "$.arguments.y",
        ),
        ("tools/list", {"cursor": "no"}, "$.cursor"),
    ],
)
def test_invalid_params_say_where(method: str, params: Any, path: str) -> None:
    server = Server("wrong")

    @server.tool
    async def t() -> None: ...

    @server.prompt
    async def p(x: str) -> str:
        return x

    for answer in answers(server, method, params).values():
        assert answer["error"]["code"] == -32602
        (issue,) = answer["error"]["data"]
        assert issue["path"] == path
        assert issue["problem"] in answer["error"]["message"]


# --- registering --------------------------------------------------------------------------


def simple() -> str:
    return ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"annotations": {"readOnlyHint": "yes"}},
            ["bool", "annotations.readOnlyHint"],
        ),
        ({"annotations": {"title": 1}}, ["str", "annotations.title"]),
        ({"annotations": []}, ["annotations"]),
        ({"icons": [{"source": "x"}]}, ["src", "icons[0]"]),
        ({"icons": [{"src": "x", "theme": "red"}]}, ["red", "icons[0].theme"]),
        ({"icons": [{"src": "x", "sizes": "48x48"}]}, ["array", "icons[0].sizes"]),
        ({"icons": {"src": "x"}}, ["array", "icons"]),
        ({"title": 5}, ["str", "title"]),
        ({"description": b"x"}, ["description"]),
        ({"description": "\ud800"}, ["surrogates"]),
        ({"meta": {"a": object()}}, ["object"]),
        ({"meta": "x"}, ["_meta"]),
    ],
)
def test_what_no_list_can_carry_is_refused_at_once(
    options: Any, words: list[str]
) -> None:
    with pytest.raises(TypeError) as caught:
        Server("refusing").tool(name="bad", **options)(simple)
    for word in ("tool 'bad'", *words):
        assert word in str(caught.value)


def test_what_is_refused_is_not_there() -> None:
    server = Server("refusing")
    server.tool(simple)
    refused: list[Callable[[], Any]] = [
        lambda: server.tool(name="")(simple),
        lambda: server.prompt(name="")(simple),
        lambda: server.resource("a:b", name="")(simple),
        lambda: server.tool(simple),
        lambda: server.resource("notes")(simple),
        lambda: server.resource("/notes")(simple),
        lambda: server.resource("")(simple),
        lambda: server.resource("a://{b")(simple),
    ]
    for register in refused:
        with pytest.raises(ValueError, match=r"name|registered|scheme|template"):
            register()
    with pytest.raises(TypeError, match="prompt 'simple'"):
        server.prompt(icons=[{}])(simple)
    with pytest.raises(TypeError, match="resource 'simple'"):
        server.resource("a:b", icons=[{}])(simple)
    assert list(server.registry.tools) == ["simple"]
    assert not server.registry.resources
    assert not server.registry.prompts


def test_good_ornaments_reach_those_who_know_them() -> None:
    server = Server("ornaments")
    icon = {"src": "https://a.example/i.png", "sizes": ["48x48"], "theme": "dark"}
    hints = {"readOnlyHint": True, "openWorldHint": False, "title": "T"}
    server.tool(icons=[icon], annotations=hints, meta={"a/b": 1})(simple)
    listed = results(server, "tools/list")
    assert listed[MODERN]["tools"][0]["icons"] == [icon]
    assert listed["2025-03-26"]["tools"][0]["annotations"] == hints
    assert "annotations" not in listed["2024-11-05"]["tools"][0]


def takes(n: int, m: int = 1) -> str:
    return ""


def takes_all(**all: str) -> str:
    return ""


@pytest.mark.parametrize(
    ("uri", "function", "words"),
    [
        ("t://{x}", simple, "'x', which is no parameter"),
        ("t://{n}/{x}", takes, "'x', which is no parameter"),
        ("t://{m}", takes, "no 'n', which is a required parameter"),
        ("t://fixed", takes, "no 'n', which is a required parameter"),
    ],
)
def test_variables_are_parameters(uri: str, function: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Server("refusing").resource(uri)(function)


def test_variables_that_fit() -> None:
    server = Server("fitting")
    server.resource("t://{n}")(takes)
    server.resource("u://{n}{?m}")(takes)
    server.resource("v://{a}/{b.c}")(takes_all)
    server.resource("{+scheme}:x")(lambda scheme: scheme)
    assert len(server.registry.templates) == 4


@pytest.mark.parametrize(
    "function", [lambda: [], lambda prefix: [], lambda value, other: []]
)
def test_completions_take_what_there_is(function: Any) -> None:
    with pytest.raises(TypeError, match="a completion takes `value`"):
        Server("refusing").completion("p", "x")(function)


def test_schemas_written_by_hand_are_listed_for_every_version() -> None:
    """`true` and `false` are schemas, too, but not to older versions."""
    server = Server("by hand")
    schema = {
        "type": "object",
        "properties": {"any": True, "none": False, "n": {"type": "integer"}},
    }

    @server.tool(input_schema=schema, output_schema=schema)
    async def t(any: Any, none: Any = None, n: int = 0) -> Any:
        return {"any": any}

    for version, result in results(server, "tools/list").items():
        for key in ("inputSchema", "outputSchema"):
            found = result["tools"][0].get(key)
            if version == MODERN:
                assert found == schema
            elif found is not None:
                assert found["properties"]["any"] == {}
                assert found["properties"]["none"] == {"not": {}}
                assert found["properties"]["n"] == {"type": "integer"}


# --- lists --------------------------------------------------------------------------------


def test_a_list_is_as_new_as_its_entries() -> None:
    """It is written once for each version, but not for ever."""
    server = Server("changing", page_size=2)

    def names() -> dict[str, list[str]]:
        listed = results(server, "tools/list")
        return {v: [tool["name"] for tool in r["tools"]] for v, r in listed.items()}

    server.tool(name="a")(simple)
    assert set(map(tuple, names().values())) == {("a",)}
    server.tool(name="b")(simple)
    assert set(map(tuple, names().values())) == {("a", "b")}
    server.tool(name="c")(simple)
    assert "nextCursor" in results(server, "tools/list")[MODERN]
    server.remove_tool("a")
    assert set(map(tuple, names().values())) == {("b", "c")}
    assert "nextCursor" not in results(server, "tools/list")[MODERN]


def test_pages() -> None:
    server = Server("pages", page_size=2)
    for name in "abcde":
        server.prompt(name=name)(simple)
    for version in PACKAGES:

        async def main(version: str = version) -> None:
            line = await opened(server, version)
            seen: list[str] = []
            params: dict[str, Any] = {}
            for _ in range(3):
                page = (await line.ask("prompts/list", params))["result"]
                seen += [prompt["name"] for prompt in page["prompts"]]
                params = {"cursor": page.get("nextCursor")}
            assert seen == list("abcde")
            assert params == {"cursor": None}

        run(main())


def test_an_update_is_told_to_who_subscribed() -> None:
    server = Server("updates")
    server.resource("a:b")(simple)

    async def main() -> None:
        line = await opened(server, LEGACY[-1])
        await line.ask("resources/subscribe", {"uri": "a:b"})
        start = len(line.sent)
        server.resource_updated("a:c")
        server.resource_updated("a:b")
        told = await line.frame(start)
        assert told["method"] == "notifications/resources/updated"
        assert told["params"] == {"uri": "a:b"}

    run(main())


# --- arguments in headers -----------------------------------------------------------------


def schema_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def header(name: Any, type: Any = "string") -> dict[str, Any]:
    return {"type": type, "x-mcp-header": name}


def test_arguments_that_headers_repeat() -> None:
    schema = schema_of(
        region=header("Region"),
        count=header("X-Count", "integer"),
        inner=schema_of(flag=header("flag", "boolean"), plain={"type": "number"}),
    )
    assert header_parameters(schema) == {
        "mcp-param-region": ("region",),
        "mcp-param-x-count": ("count",),
        "mcp-param-flag": ("inner", "flag"),
    }


def test_a_name_or_a_value_is_no_annotation() -> None:
    named = {"x-mcp-header": {"type": "object", "properties": {}}}
    schema = schema_of(
        **named,
        other={"type": "object", "default": {"x-mcp-header": ""}, "enum": [named]},
        properties={"type": "string", "description": "x-mcp-header"},
    )
    assert header_parameters(schema) == {}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (schema_of(a=header("")), "`a`.*no name of a header"),
        (schema_of(a=header("a b")), "`a`.*no name of a header"),
        (schema_of(a=header("a:b")), "`a`.*no name of a header"),
        (schema_of(a=header("é")), "`a`.*no name of a header"),
        (schema_of(a=header("a\n")), "`a`.*no name of a header"),
        (schema_of(a=header(1)), "`a`.*no name of a header"),
        (schema_of(a=header("A"), b=schema_of(c=header("a"))), "`b.c`.*twice"),
        (schema_of(a=header("A", "number")), "`a`.*integer, string, boolean"),
        (schema_of(a=header("A", "object")), "`a`.*integer, string, boolean"),
        (schema_of(a=header("A", ["string", "null"])), "`a`.*integer, string"),
        (schema_of(a={"x-mcp-header": "A"}), "`a`.*integer, string, boolean"),
        (header("A", "object"), "through `properties`"),
        (schema_of(a={"type": "array", "items": header("A")}), "through `properties`"),
        (schema_of(a={"anyOf": [header("A")]}), "through `properties`"),
        ({**schema_of(), "$defs": {"a": header("A")}}, "through `properties`"),
        ({**schema_of(), "if": schema_of(a=header("A"))}, "through `properties`"),
        (
            {**schema_of(), "patternProperties": {"a": header("A")}},
            "through `properties`",
        ),
        ({**schema_of(), "additionalProperties": header("A")}, "through `properties`"),
    ],
)
def test_annotations_that_clients_would_refuse(schema: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        header_parameters(schema)


def test_annotations_are_looked_at_when_a_tool_is_registered() -> None:
    server = Server("headers")

    @server.tool
    async def near(
        region: Annotated[
            str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})
        ],
    ) -> None: ...

    @server.tool
    async def plain(region: str) -> None: ...

    assert server.registry.tools["near"].mirrored == {"mcp-param-region": ("region",)}
    assert server.registry.tools["plain"].mirrored == {}
    with pytest.raises(ValueError, match="tool 'bad': `region`"):

        @server.tool(name="bad")
        async def bad(
            region: Annotated[
                float, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})
            ],
        ) -> None: ...


# --- size ---------------------------------------------------------------------------------


def test_a_server_imports_only_what_it_uses() -> None:
    program = (
        "import sys\n"
        "from mcpgen.runtime import Server\n"
        "server = Server('small')\n"
        "@server.tool\n"
        "async def add(a: int, b: int) -> int:\n"
        "    '''Add.'''\n"
        "    return a + b\n"
        "names = ('schemas', 'mirrors', 'uritemplate', 'auth', 'transports.http')\n"
        "found = {f'mcpgen.runtime.{name}' for name in names} & set(sys.modules)\n"
        "found |= {'json', 'jsonschema', 'pydantic'} & set(sys.modules)\n"
        "found |= {n for n in sys.modules if n.startswith('mcpgen.protocol.v')}\n"
        "print(sorted(found))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]"
