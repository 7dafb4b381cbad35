"""What every MCP server does, for every version: list, call, read, prompt, complete.

One function per method, named as in the generated stubs. Params come in the types of
the client's version; results go out in the vocabulary of the newest one.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from . import content
from .content import ToolResult
from .context import Context
from .errors import INVALID_PARAMS, McpError, NotSupported
from .functions import ArgumentError, OutputError
from .legacy import Session
from .peer import log
from .registry import Entry, Json, Registry


class Features:
    """The handlers of a `Server`."""

    def __init__(self, registry: Registry, page_size: int | None = None) -> None:
        self.registry = registry
        self.page_size = page_size

    # --- tools ------------------------------------------------------------------------

    def list_tools(self, params: Any, ctx: Context) -> Json:
        """Every tool."""
        return self._page("tools", self.registry.tools.values(), params)

    async def call_tool(self, params: Any, ctx: Context) -> Json:
        """Call a tool. What goes wrong inside it is a result that a model can read."""
        tool = self.registry.tools.get(params.name)
        if tool is None:
            raise McpError(INVALID_PARAMS, f"there is no tool {params.name!r}")
        try:
            arguments = tool.signature.bind(_given(params.arguments))
        except ArgumentError as error:
            if ctx.client.version.traits.bad_arguments == "error":
                raise McpError(
                    INVALID_PARAMS, f"invalid arguments: {error}", _issues(error)
                ) from None
            return _failed(f"invalid arguments: {error}")
        try:
            return _tool_result(tool, await tool.call(arguments, ctx))
        except NotSupported as error:
            return _failed(error.message)
        except McpError:
            raise
        except Exception as error:
            log.exception("the tool %s failed", params.name)
            return _failed(str(error) or type(error).__name__)

    # --- resources --------------------------------------------------------------------

    def list_resources(self, params: Any, ctx: Context) -> Json:
        """Every resource that has a fixed address."""
        return self._page("resources", self.registry.resources.values(), params)

    def list_resource_templates(self, params: Any, ctx: Context) -> Json:
        """Every family of resources."""
        entries = self.registry.templates.values()
        return self._page("resourceTemplates", entries, params)

    async def read_resource(self, params: Any, ctx: Context) -> Json:
        """The contents of a resource."""
        uri = params.uri
        entry: Entry | None = self.registry.resources.get(uri)
        arguments: Json | None = {}
        if entry is None:
            for entry in self.registry.templates.values():
                arguments = entry.template.match(uri)
                if arguments is not None:
                    break
            else:
                code = ctx.client.version.traits.resource_not_found
                raise McpError(code, f"there is no resource {uri!r}", {"uri": uri})
        try:
            bound = entry.signature.bind(arguments)
        except ArgumentError as error:
            raise McpError(INVALID_PARAMS, str(error), _issues(error)) from None
        value = await entry.call(bound, ctx)
        return {"contents": _contents(uri, value, entry.listed.get("mimeType", ""))}

    # --- prompts ----------------------------------------------------------------------

    def list_prompts(self, params: Any, ctx: Context) -> Json:
        """Every prompt."""
        return self._page("prompts", self.registry.prompts.values(), params)

    async def get_prompt(self, params: Any, ctx: Context) -> Json:
        """The messages of a prompt."""
        prompt = self.registry.prompts.get(params.name)
        if prompt is None:
            raise McpError(INVALID_PARAMS, f"there is no prompt {params.name!r}")
        try:
            arguments = prompt.signature.bind(_given(params.arguments))
        except ArgumentError as error:
            message = f"invalid arguments: {error}"
            raise McpError(INVALID_PARAMS, message, _issues(error)) from None
        messages = _messages(await prompt.call(arguments, ctx))
        result: Json = {"messages": messages}
        if "description" in prompt.listed:
            result["description"] = prompt.listed["description"]
        return result

    # --- completion -------------------------------------------------------------------

    async def complete(self, params: Any, ctx: Context) -> Json:
        """Values for an argument that somebody is typing; none is an answer, too."""
        ref = params.ref
        about = (
            f"prompt {ref.name}" if ref.type == "ref/prompt" else f"resource {ref.uri}"
        )
        entry = self.registry.completions.get((about, params.argument.name))
        values: list[str] = []
        if entry is not None:
            bound = entry.signature.bind({"value": params.argument.value})
            values = [str(value) for value in await entry.call(bound, ctx)]
        return {
            "completion": {
                "values": values[:100],
                "total": len(values),
                "hasMore": len(values) > 100,
            }
        }

    # --- the session --------------------------------------------------------------------

    def ping(self, params: Any, ctx: Context) -> Json:
        """Still here."""
        return {}

    def set_level(self, params: Any, ctx: Context) -> Json:
        """From now on, only log messages that are at least this severe."""
        _session(ctx).level = params.level
        return {}

    def subscribe(self, params: Any, ctx: Context) -> Json:
        """Tell this client when the resource changes."""
        _session(ctx).subscriptions.add(params.uri)
        return {}

    def unsubscribe(self, params: Any, ctx: Context) -> Json:
        """No longer."""
        _session(ctx).subscriptions.discard(params.uri)
        return {}

    # --- pages --------------------------------------------------------------------------

    def _page(self, key: str, entries: Iterable[Entry], params: Any) -> Json:
        listed = [entry.listed for entry in entries]
        start = _position(params)
        if self.page_size is None and not start:
            return {key: listed}
        end = start + (self.page_size or len(listed))
        result: Json = {key: listed[start:end]}
        if end < len(listed):
            result["nextCursor"] = urlsafe_b64encode(b"%d" % end).decode("ascii")
        return result


def _session(ctx: Context) -> Session:
    # Only versions with sessions have the methods that ask for one.
    assert isinstance(ctx.era, Session)
    return ctx.era


def _position(params: Any) -> int:
    cursor = getattr(params, "cursor", None)
    if not isinstance(cursor, str):
        return 0
    try:
        position = int(urlsafe_b64decode(cursor.encode("ascii")))
    except ValueError:
        position = -1
    if position < 0:
        raise McpError(INVALID_PARAMS, "the cursor is not one of this server's")
    return position


def _given(arguments: Any) -> Json:
    return arguments if isinstance(arguments, dict) else {}


def _issues(error: ArgumentError) -> list[Json]:
    return [{"path": path, "problem": problem} for path, problem in error.issues]


def _failed(message: str) -> Json:
    return {"content": [{"type": "text", "text": message}], "isError": True}


def _tool_result(tool: Entry, value: Any) -> Json:
    if isinstance(value, ToolResult):
        blocks = content.blocks(value.content)
        result: Json = {"content": blocks if blocks is not None else []}
        if value.structured is not UNSET:
            result["structuredContent"] = value.structured
        if value.is_error:
            result["isError"] = True
        if value.meta:
            result["_meta"] = value.meta
        return result
    if tool.signature.output_schema is None:
        found = content.blocks(value)
        if found is not None:
            return {"content": found}
    try:
        data = tool.signature.structure(value)
    except OutputError as error:
        raise RuntimeError(
            f"the tool returned what it did not promise: {error}"
        ) from None
    text = json.dumps(data, ensure_ascii=False)
    result = {"content": [{"type": "text", "text": text}]}
    if tool.signature.output_schema is not None:
        result["structuredContent"] = data
    return result


def _contents(uri: str, value: Any, mime_type: str) -> list[Json]:
    if isinstance(value, str | bytes):
        return [content.contents(uri, value, mime_type)]
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return [content.contents(uri, text, mime_type or "application/json")]


def _messages(value: Any) -> list[Json]:
    values = value if isinstance(value, list | tuple) else [value]
    return [_message(item) for item in values]


def _message(value: Any) -> Json:
    if isinstance(value, dict) and "role" in value:
        block = content.block(value["content"]) or value["content"]
        return {"role": value["role"], "content": block}
    block = content.block(value)
    if block is None:
        raise TypeError(f"a prompt returned a {type(value).__name__}, not a message")
    return {"role": "user", "content": block}
