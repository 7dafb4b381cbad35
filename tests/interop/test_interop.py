"""What clients that nobody here wrote see of a server that was written here.

`make interop` runs these; the first run installs the clients, for which it needs the
network.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Any

import pytest

from .observing import Case, Json, Seen, observe
from .server import PIXEL

pytestmark = pytest.mark.interop

TRANSPORTS = ("stdio", "http", "sse")
SDKS = [
    *(Case("python1", "legacy", transport) for transport in TRANSPORTS),
    *(Case("python2", "legacy", transport) for transport in TRANSPORTS),
    *(Case("typescript1", "legacy", transport) for transport in TRANSPORTS),
    *(Case("typescript2", "legacy", transport) for transport in TRANSPORTS),
    *(
        Case(client, mode, transport)
        for client in ("python2", "typescript2")
        for mode in ("auto", "modern")
        for transport in ("stdio", "http")
    ),
    # This SDK can be told to ask for older versions.
    *(
        Case("typescript2", version, "stdio")
        for version in ("2024-11-05", "2025-03-26", "2025-06-18")
    ),
    Case("typescript2", "2024-11-05", "sse"),
    *(Case("typescript2", version, "http") for version in ("2025-03-26", "2025-06-18")),
]
INSPECTOR = [
    *(Case("inspector2", "legacy", transport) for transport in TRANSPORTS),
    *(Case("inspector2", "modern", transport) for transport in ("stdio", "http")),
]

everybody = pytest.mark.parametrize("seen", SDKS + INSPECTOR, ids=str, indirect=True)
sdks = pytest.mark.parametrize("seen", SDKS, ids=str, indirect=True)
"""What the Inspector's command cannot do."""


@pytest.fixture
def seen(request: pytest.FixtureRequest) -> Seen:
    return observe(request.param)


def text_of(result: Json) -> str:
    (block,) = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


def has_structured_content(seen: Seen) -> bool:
    return seen.version >= "2025-06-18"


# --- connecting -----------------------------------------------------------------------


@everybody
def test_they_agree_on_the_newest_version_that_both_speak(seen: Seen) -> None:
    assert seen.version == seen.case.version


@everybody
def test_the_client_knows_who_serves_and_what(seen: Seen) -> None:
    if str(seen.case).startswith("python2-modern"):
        assert seen["serverInfo"] is None, "it insists on the version and asks nothing"
        return
    assert seen["serverInfo"]["name"] == "interop"
    assert seen["serverInfo"]["version"] == "1.2.3"
    assert seen["instructions"] == "Call add to add."
    offered = {"logging", "tools", "resources", "prompts"}
    if seen.version > "2024-11-05":
        offered.add("completions")
    assert set(seen["capabilities"]) == offered
    assert seen["capabilities"]["tools"] == {"listChanged": True}


@sdks
def test_nothing_was_said_on_standard_error(seen: Seen) -> None:
    assert unexpected(seen.stderr) == ""
    assert seen.report.get("errors", []) == []


@pytest.mark.parametrize("seen", INSPECTOR, ids=str, indirect=True)
def test_the_inspector_finds_no_fault_with_the_schemas(seen: Seen) -> None:
    assert unexpected(seen.stderr) == ""


def unexpected(stderr: str) -> str:
    """All but the address and the traceback of the tool that is made to fail."""
    failure = r"the tool divide failed\nTraceback .*?\nZeroDivisionError: [^\n]*\n"
    rest, found = re.subn(failure, "", stderr, flags=re.S)
    assert found == 1
    return re.sub(r"^interop serves http://\S+\n", "", rest)


# --- tools ----------------------------------------------------------------------------


@everybody
def test_tools_are_listed_with_their_schemas(seen: Seen) -> None:
    tools = {tool["name"]: tool for tool in seen["tools"]["tools"]}
    assert list(tools)[:3] == ["add", "primes", "divide"]
    add = tools["add"]
    assert add["description"].startswith("Add two numbers.")
    properties = add["inputSchema"]["properties"]
    assert add["inputSchema"]["required"] == ["a"]
    assert properties["a"] == {"type": "integer", "description": "The first."}
    assert properties["b"]["default"] == 1
    assert ("outputSchema" in add) == has_structured_content(seen)


@everybody
def test_structured_output_is_there_and_as_text_for_who_cannot_read_it(
    seen: Seen,
) -> None:
    expected = {"total": 5, "terms": [2, 3]}
    assert json.loads(text_of(seen["add"])) == expected
    assert not seen["add"].get("isError")
    found = seen["add"].get("structuredContent")
    assert found == (expected if has_structured_content(seen) else None)


@everybody
def test_structured_output_that_is_no_object_is_wrapped_for_older_clients(
    seen: Seen,
) -> None:
    expected = [2, 3, 5, 7, 11]
    assert json.loads(text_of(seen["primes"])) == expected
    found = seen["primes"].get("structuredContent")
    wrapped = {"result": expected} if has_structured_content(seen) else None
    assert found == (expected if seen.modern else wrapped)


@everybody
def test_a_tool_may_give_a_picture(seen: Seen) -> None:
    text, image = seen["draw"]["content"]
    assert (text["type"], text["text"]) == ("text", "one pixel")
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    assert image["data"] == b64encode(PIXEL).decode()


@everybody
def test_a_tool_that_fails_says_why_in_its_result(seen: Seen) -> None:
    assert seen["fail"]["isError"] is True
    assert text_of(seen["fail"]) == "division by zero"


@sdks
def test_bad_arguments_are_named(seen: Seen) -> None:
    answer = seen["badArguments"]
    if seen.version >= "2025-11-25":
        assert answer["isError"] is True
        message = text_of(answer)
    else:
        assert answer["error"]["code"] == -32602
        message = answer["error"]["message"]
    assert "$.a" in message


@sdks
def test_an_unknown_tool_is_an_error(seen: Seen) -> None:
    error = seen["unknownTool"]["error"]
    assert error["code"] == -32602
    assert "subtract" in error["message"]


@sdks
def test_calls_at_once_get_each_their_own_answer(seen: Seen) -> None:
    assert seen["atOnce"] == [{"total": 2 * n, "terms": [n, n]} for n in range(20)]


# --- resources, prompts, completion ---------------------------------------------------


@everybody
def test_resources_are_listed_and_read(seen: Seen) -> None:
    listed = {r["uri"]: r["mimeType"] for r in seen["resources"]["resources"]}
    assert listed == {"note://today": "text/plain", "note://pixel": "image/png"}
    (text,) = seen["text"]["contents"]
    assert text["text"] == "It rained – a little."
    (blob,) = seen["blob"]["contents"]
    assert blob["blob"] == b64encode(PIXEL).decode()


@everybody
def test_resources_of_a_template_are_read(seen: Seen) -> None:
    (template,) = seen["templates"]["resourceTemplates"]
    assert template["uriTemplate"] == "note://of/{person}/{topic}"
    (contents,) = seen["fromTemplate"]["contents"]
    assert contents["uri"] == "note://of/ada/engines"
    assert json.loads(contents["text"]) == {"person": "ada", "topic": "engines"}


@sdks
def test_an_unknown_resource_is_an_error_that_names_it(seen: Seen) -> None:
    error = seen["unknownResource"]["error"]
    # TypeScript 2.x shows the code of the newest version, whatever the server sent.
    newest = seen.modern or seen.case.client == "typescript2"
    assert error["code"] == (-32602 if newest else -32002)
    assert error["data"] == {"uri": "note://tomorrow"}


@everybody
def test_prompts_are_listed_and_filled_in(seen: Seen) -> None:
    (listed,) = seen["prompts"]["prompts"]
    required = {a["name"]: a.get("required", False) for a in listed["arguments"]}
    assert required == {"code": True, "language": False}
    said = [(m["role"], m["content"]["text"]) for m in seen["prompt"]["messages"]]
    assert said == [("user", "Review this Rust: x = 1"), ("assistant", "Gladly.")]


@sdks
def test_a_prompt_without_its_argument_is_an_error(seen: Seen) -> None:
    error = seen["badPrompt"]["error"]
    assert error["code"] == -32602
    assert "code" in error["message"]


@sdks
def test_arguments_are_completed(seen: Seen) -> None:
    def values(result: Any) -> Any:
        return result["completion"]["values"]

    assert values(seen["completion"]) == ["Python"]
    assert values(seen["templateCompletion"]) == ["ada", "alan"]


# --- what the server says unasked -----------------------------------------------------


@sdks
def test_progress_is_seen_while_the_call_runs(seen: Seen) -> None:
    steps = [(step["progress"], step["total"]) for step in seen["progress"]]
    assert steps == [(1, 3), (2, 3), (3, 3)]
    words = [step.get("message") for step in seen["progress"]]
    unknown = seen.version == "2024-11-05"
    assert words == ([None] * 3 if unknown else ["at 1", "at 2", "at 3"])


@sdks
def test_log_messages_come_from_the_level_that_was_asked_for(seen: Seen) -> None:
    (message,) = seen["logs"]
    assert message["level"] == "warning"
    assert message["logger"] == "chat"
    assert message["data"] == {"heard": "by most"}


@sdks
def test_the_model_of_the_client_is_asked(seen: Seen) -> None:
    assert text_of(seen["askModel"]) == "parrot says: WHY?"


@sdks
def test_the_user_of_the_client_is_asked_where_the_version_can(seen: Seen) -> None:
    text = text_of(seen["askUser"])
    if seen.version < "2025-06-18":
        assert seen["askUser"]["isError"] is True
        assert "elicitation" in text
    else:
        assert text == 'accept {"age": 36, "name": "Ada"}'


@sdks
def test_the_roots_of_the_client_are_asked(seen: Seen) -> None:
    assert text_of(seen["askRoots"]) == "file:///ada"


@sdks
def test_a_change_of_the_tools_is_told(seen: Seen) -> None:
    notified = "notifications/tools/list_changed"
    listened = seen.modern and seen.case.client == "python2"
    assert seen["change"] == ("ToolsListChanged" if listened else notified)
    names = [tool["name"] for tool in seen["toolsAfterwards"]["tools"]]
    assert "learned" in names


@pytest.mark.parametrize(
    "seen", [c for c in SDKS if c.client != "python1"], ids=str, indirect=True
)
def test_a_call_that_the_client_gives_up_is_cancelled(seen: Seen) -> None:
    assert text_of(seen["cancellation"]) == "it was cancelled"


@pytest.mark.parametrize(
    "seen", [c for c in SDKS if c.version < "2026-07-28"], ids=str, indirect=True
)
def test_the_server_answers_a_ping(seen: Seen) -> None:
    assert not set(seen["ping"]) - {"resultType"}, "an SDK's own field at most"
