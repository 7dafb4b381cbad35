"""The server under test: everything that the conformance suite looks for, by its names.

`python -m tests.conformance.server --port N` serves every version at /mcp on 127.0.0.1;
without a port, over stdio. Only the public API is used here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from base64 import b64decode
from typing import Annotated, Any

from mcpgen.runtime import (
    Audio,
    Context,
    Elicit,
    Embedded,
    Image,
    Roots,
    Sample,
    Server,
    Text,
)
from msgspec import Meta

PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
PAUSE = 0.05
"""Seconds between the steps of a tool that reports them."""

server = Server("mcpgen-conformance", version="1.0.0")


# --- tools that answer ------------------------------------------------------------------


# The first tool takes nothing: header scenarios call whatever is listed first with {}.
@server.tool
async def test_simple_text() -> str:
    """Give one text."""
    return "This is a simple text response for testing."


@server.tool
async def test_image_content() -> Image:
    """Give an image."""
    return Image(PNG, "image/png")


@server.tool
async def test_audio_content() -> Audio:
    """Give a sound."""
    return Audio(WAV, "audio/wav")


@server.tool
async def test_embedded_resource() -> Embedded:
    """Give the contents of a resource."""
    text = "This is an embedded resource content."
    return Embedded("test://embedded-resource", text, "text/plain")


@server.tool
async def test_multiple_content_types() -> list[Text | Image | Embedded]:
    """Give a text, an image and a resource."""
    data = json.dumps({"test": "data", "value": 123}, separators=(",", ":"))
    return [
        Text("Multiple content types test:"),
        Image(PNG, "image/png"),
        Embedded("test://mixed-content-resource", data, "application/json"),
    ]


@server.tool
async def test_error_handling() -> str:
    """Fail."""
    raise RuntimeError("This tool intentionally returns an error for testing")


@server.tool
async def test_tool_with_progress(*, ctx: Context) -> str:
    """Report progress three times."""
    await ctx.progress(0, 100)
    await asyncio.sleep(PAUSE)
    await ctx.progress(50, 100)
    await asyncio.sleep(PAUSE)
    await ctx.progress(100, 100)
    return "Done."


@server.tool
async def test_tool_with_logging(*, ctx: Context) -> str:
    """Log three messages."""
    await ctx.log("info", "Tool execution started")
    await asyncio.sleep(PAUSE)
    await ctx.log("info", "Tool processing data")
    await asyncio.sleep(PAUSE)
    await ctx.log("info", "Tool execution completed")
    return "Logged."


@server.tool
async def test_logging_tool(*, ctx: Context) -> str:
    """Log a message, which only a client that asked for messages may see."""
    await ctx.log("info", "Seen only by who asked")
    return "Logged."


@server.tool(name="test_x_mcp_header")
async def in_region(
    region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})] = "",
) -> str:
    """Take an argument that HTTP clients repeat in a header."""
    return f"Region: {region}"


@server.tool
async def test_reconnection(*, ctx: Context) -> str:
    """Hang up, so that the client comes back for the result."""
    ctx.close_stream()
    await asyncio.sleep(2 * PAUSE)
    return "Reconnection test completed successfully."


ADDRESS_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {
        "properties": {"contactMethod": {"const": "phone"}},
        "required": ["contactMethod"],
    },
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@server.tool(input_schema=ADDRESS_SCHEMA)
async def json_schema_2020_12_tool(arguments: dict[str, Any]) -> str:
    """Take what a hand-written schema describes, with much of JSON Schema in it."""
    return f"Received: {json.dumps(arguments)}"


# --- tools that change what there is ----------------------------------------------------


@server.tool
async def test_trigger_tool_change() -> str:
    """Offer one more tool for a moment."""
    server.tool(name="test_passing_tool", description="Soon gone.")(test_simple_text)
    server.remove_tool("test_passing_tool")
    return "The tools have changed."


@server.tool
async def test_trigger_prompt_change() -> str:
    """Offer one more prompt for a moment."""
    server.prompt(name="test_passing_prompt", description="Soon gone.")(
        test_simple_prompt
    )
    server.remove_prompt("test_passing_prompt")
    return "The prompts have changed."


# --- tools that ask the client ----------------------------------------------------------


def form(**properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of a form in which everything must be filled in."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def said(result: Any) -> str:
    """The text of a sampling result; newer versions may give several blocks."""
    content = result.content
    blocks = content if isinstance(content, list) else [content]
    return " ".join(getattr(block, "text", "…") for block in blocks)


def filled_in(result: Any) -> dict[str, Any]:
    """What a user has filled in; nothing when they declined."""
    return result.content if isinstance(result.content, dict) else {}


STRING = {"type": "string"}
BOOLEAN = {"type": "boolean"}


@server.tool
async def test_sampling(prompt: str, *, ctx: Context) -> str:
    """Ask the client's model."""
    return f"LLM response: {said(await ctx.sample(prompt, max_tokens=100))}"


@server.tool
async def test_elicitation(message: str, *, ctx: Context) -> str:
    """Ask the user."""
    schema = form(username=STRING, email=STRING)
    result = await ctx.elicit(message, schema)
    return f"User response: {result.action} {json.dumps(filled_in(result))}"


@server.tool
async def test_elicitation_sep1034_defaults(*, ctx: Context) -> str:
    """Ask the user with a form that is filled in already."""
    schema = {
        "type": "object",
        "properties": {
            "name": STRING | {"default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": STRING
            | {"enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": BOOLEAN | {"default": True},
        },
    }
    result = await ctx.elicit("Please review the defaults", schema)
    return f"Elicitation completed: {result.action} {json.dumps(filled_in(result))}"


@server.tool
async def test_elicitation_sep1330_enums(*, ctx: Context) -> str:
    """Ask the user with every kind of choice."""
    names = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"}
        for n, word in enumerate(["First", "Second", "Third"], 1)
    ]
    schema = {
        "type": "object",
        "properties": {
            "untitledSingle": STRING | {"enum": names},
            "titledSingle": STRING | {"oneOf": titled},
            "legacyEnum": STRING
            | {
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": STRING | {"enum": names}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
    }
    result = await ctx.elicit("Please choose", schema)
    return f"Elicitation completed: {result.action} {json.dumps(filled_in(result))}"


@server.tool
async def test_missing_capability(*, ctx: Context) -> str:
    """Ask the client's model, whether it has one or not."""
    return said(await ctx.sample("Are you there?", max_tokens=100))


@server.tool
async def test_streaming_elicitation(*, ctx: Context) -> str:
    """Ask the user while others wait for a stream."""
    result = await ctx.elicit("Shall it go on?", form(confirmed=BOOLEAN))
    return f"User response: {result.action}"


# --- tools that ask in rounds -----------------------------------------------------------


@server.tool
async def test_input_required_result_elicitation(*, ctx: Context) -> str:
    """Ask the user's name."""
    question = Elicit("What is your name?", form(name=STRING))
    answers = await ctx.ask(user_name=question)
    return f"Hello, {filled_in(answers['user_name']).get('name', 'stranger')}!"


@server.tool
async def test_input_required_result_sampling(*, ctx: Context) -> str:
    """Ask the client's model under a name of the tool's own."""
    question = Sample("What is the capital of France?", max_tokens=100)
    answers = await ctx.ask(capital_question=question)
    return said(answers["capital_question"])


@server.tool
async def test_input_required_result_list_roots(*, ctx: Context) -> str:
    """Ask where the client works."""
    answers = await ctx.ask(client_roots=Roots())
    return f"Roots: {', '.join(root.uri for root in answers['client_roots'].roots)}"


@server.tool
async def test_input_required_result_request_state(*, ctx: Context) -> str:
    """Remember something from one round to the next."""
    ctx.state["word"] = "state-ok"
    await ctx.ask(confirm=Elicit("Please confirm", form(ok=BOOLEAN)))
    return str(ctx.state["word"])


@server.tool
async def test_input_required_result_multiple_inputs(*, ctx: Context) -> str:
    """Ask three things at once."""
    answers = await ctx.ask(
        user_name=Elicit("What is your name?", form(name=STRING)),
        greeting=Sample("Write a greeting", max_tokens=50),
        client_roots=Roots(),
    )
    return f"Got {', '.join(sorted(answers))}."


@server.tool
async def test_input_required_result_multi_round(*, ctx: Context) -> str:
    """Ask one thing, and then another."""
    first = await ctx.ask(step1=Elicit("Step 1: your name?", form(name=STRING)))
    second = await ctx.ask(step2=Elicit("Step 2: your colour?", form(color=STRING)))
    name = filled_in(first["step1"]).get("name")
    return f"{name} likes {filled_in(second['step2']).get('color')}."


@server.tool
async def test_input_required_result_tampered_state(*, ctx: Context) -> str:
    """Let the client carry a state that it must not change."""
    ctx.state["word"] = "untouched"
    await ctx.ask(confirm=Elicit("Please confirm", form(ok=BOOLEAN)))
    return "The state came back untouched."


@server.tool
async def test_input_required_result_capabilities(*, ctx: Context) -> str:
    """Ask only what the client can answer."""
    asks = {}
    if ctx.client.can(("sampling",)):
        asks["model"] = Sample("What is the capital of France?", max_tokens=100)
    if ctx.client.can(("elicitation",)):
        asks["user"] = Elicit("What is your name?", form(name=STRING))
    answers = await ctx.ask(**asks)
    return f"Got {', '.join(sorted(answers)) or 'nothing'}."


# --- prompts ----------------------------------------------------------------------------


@server.prompt
async def test_simple_prompt() -> str:
    """Say one thing."""
    return "This is a simple prompt for testing."


@server.prompt
async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Say what it was given.

    Args:
        arg1: The first thing to say.
        arg2: The second.
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.completion("test_prompt_with_arguments", "arg1")
async def complete_arg1(value: str) -> list[str]:
    return [word for word in ("testValue1", "testValue2") if word.startswith(value)]


@server.prompt
async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Embedded | Text]:
    """Hand over a resource.

    Args:
        resourceUri: The address of the resource.
    """
    text = "Embedded resource content for testing."
    return [
        Embedded(resourceUri, text, "text/plain"),
        Text("Please process the embedded resource above."),
    ]


@server.prompt
async def test_prompt_with_image() -> list[Image | Text]:
    """Hand over an image."""
    return [Image(PNG, "image/png"), Text("Please analyze the image above.")]


@server.prompt
async def test_input_required_result_prompt(*, ctx: Context) -> str:
    """Ask the user before there is a prompt."""
    question = Elicit("What is it about?", form(context=STRING))
    answers = await ctx.ask(user_context=question)
    return f"Use this context: {filled_in(answers['user_context']).get('context', '')}"


# --- resources --------------------------------------------------------------------------


@server.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """An image that never changes."""
    return PNG


@server.resource("test://watched-resource", mime_type="text/plain")
async def watched_resource() -> str:
    """A text to subscribe to."""
    return "Watched resource content."


@server.resource("test://template/{id}/data", mime_type="application/json")
async def template_data(id: str) -> str:
    """Data for any id."""
    data = {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}
    return json.dumps(data, separators=(",", ":"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.server")
    parser.add_argument("--port", type=int, help="serve HTTP here, rather than stdio")
    port = parser.parse_args().port
    if port is None:
        server.run()
    else:
        server.run("http", port=port)


if __name__ == "__main__":
    main()
