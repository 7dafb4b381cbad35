"""What every MCP server does, for every version: list, call, read, prompt, complete.

One function per method, named as in the generated stubs. Params come in the types of
the client's version; results go out in the vocabulary of the newest one.
"""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from . import content, wire
from .content import ToolResult
from .context import Context
from .errors import INVALID_PARAMS, ConnectionClosed, McpError
from .functions import ArgumentError, OutputError, Signature
from .legacy import Session
from .peer import log
from .registry import Entry, Json, Registry
from .versions import Version


class Features:
    """The handlers of a `Server`."""

    def __init__(self, registry: Registry, page_size: int | None = None) -> None:
        self.registry = registry
        self.page_size = page_size
        self._kept: dict[str, tuple[object, wire.Listing]] = {}
        """Lists that were asked for, with the edition that they are of."""

    # --- tools ------------------------------------------------------------------------

    def list_tools(self, params: Any, ctx: Context) -> Json:
        """Every tool."""
        return self._page("tools", self.registry.tools, params)

    async def call_tool(self, params: Any, ctx: Context) -> Json:
        """Call a tool. What goes wrong inside it is a result that a model can read."""
        tool = self.registry.tools.get(params.name)
        if tool is None:
            raise _bad("$.name", f"there is no tool {params.name!r}")
        version = ctx.client.version
        try:
            arguments = tool.signature.bind(_given(params.arguments))
        except ArgumentError as error:
            problem = _misfit(error, "$.arguments")
            if version.traits.bad_arguments == "error":
                raise problem from None
            return wire.failed(problem.message)
        try:
            return _tool_result(tool, await tool.call(arguments, ctx), version)
        except McpError as error:
            if not error.failure:
                raise
            return wire.failed(error.message)
        except ConnectionClosed as error:  # nobody waits for it, and nothing is wrong
            return wire.failed(str(error))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if ctx.call.cancelled or (task is not None and task.cancelling()):
                raise
            return wire.failed("something that the tool waited for was cancelled")
        except Exception as error:
            log.exception("the tool %s failed", params.name)
            return wire.failed(str(error) or type(error).__name__)

    # --- resources --------------------------------------------------------------------

    def list_resources(self, params: Any, ctx: Context) -> Json:
        """Every resource that has a fixed address."""
        return self._page("resources", self.registry.resources, params)

    def list_resource_templates(self, params: Any, ctx: Context) -> Json:
        """Every family of resources."""
        return self._page("resourceTemplates", self.registry.templates, params)

    async def read_resource(self, params: Any, ctx: Context) -> Json:
        """The contents of a resource."""
        uri = params.uri
        entry: Entry | None = self.registry.resources.get(uri)
        arguments: Json | None = {}
        if entry is None:
            for entry in list(self.registry.templates.values()):
                arguments = entry.template.match(uri)
                if arguments is not None:
                    break
            else:
                code = ctx.client.version.traits.resource_not_found
                raise McpError(code, f"there is no resource {uri!r}", {"uri": uri})
        try:
            bound = entry.signature.bind(arguments)
        except ArgumentError as error:
            raise _bad("$.uri", f"{uri!r} does not fit: {error}") from None
        value = await entry.call(bound, ctx)
        mime_type = entry.listed.get("mimeType", "")
        found = content.read_result(uri, value, mime_type)
        if found is None:
            text = entry.signature.written(value).decode()
            made = content.contents(uri, text, mime_type or "application/json")
            found = {"contents": [made]}
        return found

    # --- prompts ----------------------------------------------------------------------

    def list_prompts(self, params: Any, ctx: Context) -> Json:
        """Every prompt."""
        return self._page("prompts", self.registry.prompts, params)

    async def get_prompt(self, params: Any, ctx: Context) -> Json:
        """The messages of a prompt."""
        prompt = self._prompt(params.name, "$.name")
        try:
            arguments = prompt.signature.bind(_given(params.arguments))
        except ArgumentError as error:
            raise _misfit(error, "$.arguments") from None
        value = await prompt.call(arguments, ctx)
        result = content.prompt_result(value)
        if result is None:
            text = prompt.signature.written(value).decode()
            result = {"messages": [{"role": "user", "content": _text(text)}]}
        if "description" in prompt.listed:
            result.setdefault("description", prompt.listed["description"])
        return result

    def _prompt(self, name: str, path: str) -> Entry:
        prompt = self.registry.prompts.get(name)
        if prompt is None:
            raise _bad(path, f"there is no prompt {name!r}")
        return prompt

    # --- completion -------------------------------------------------------------------

    async def complete(self, params: Any, ctx: Context) -> Json:
        """Values for an argument that somebody is typing; none is an answer, too."""
        about = self._completed(params.ref)
        entry = self.registry.completions.get((about, params.argument.name))
        values: list[str] = []
        if entry is not None:
            given: Json = {"value": params.argument.value}
            if "arguments" in entry.signature.input_schema["properties"]:
                known = getattr(params, "context", None)  # not in every version
                given["arguments"] = _given(getattr(known, "arguments", None))
            try:
                bound = entry.signature.bind(given)
            except ArgumentError as error:
                raise _bad("$.argument.value", str(error)) from None
            found = await entry.call(bound, ctx)
            values = [str(value) for value in found or ()]
        return {
            "completion": {
                "values": values[:100],
                "total": len(values),
                "hasMore": len(values) > 100,
            }
        }

    def _completed(self, ref: Any) -> str:
        """The prompt or the template that is meant; nothing for an unknown template."""
        if ref.type == "ref/prompt":
            self._prompt(ref.name, "$.ref.name")
            return str(ref.name)
        return str(ref.uri) if ref.uri in self.registry.templates else ""

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

    def _page(self, key: str, entries: Mapping[str, Entry], params: Any) -> Json:
        edition = self.registry.edition  # before the entries: threads may add some
        start = _position(params)
        if not start:
            kept = self._kept.get(key)
            if kept is not None and kept[0] is edition:
                return kept[1]
        listed = [entry.listed for entry in list(entries.values())]
        end = start + (self.page_size or len(listed))
        page = wire.Listing(key, listed[start:end])
        if end < len(listed):
            page["nextCursor"] = urlsafe_b64encode(b"%d" % end).decode("ascii")
        if not start:
            self._kept[key] = edition, page
        return page


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
        raise _bad("$.cursor", "the cursor is not one of this server's")
    return position


def _given(arguments: Any) -> Json:
    return arguments if isinstance(arguments, dict) else {}


# --- what goes wrong ----------------------------------------------------------------------


def _bad(path: str, problem: str) -> McpError:
    return McpError(INVALID_PARAMS, problem, [{"path": path, "problem": problem}])


def _misfit(error: ArgumentError, root: str) -> McpError:
    """Arguments that do not fit; `root` is where they stand in the params."""
    issues = [(root + path[1:], problem) for path, problem in error.issues]
    told = "; ".join(f"{path}: {problem}" for path, problem in issues)
    data = [{"path": path, "problem": problem} for path, problem in issues]
    return McpError(INVALID_PARAMS, f"invalid arguments: {told}", data)


# --- what a tool gave ---------------------------------------------------------------------


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _tool_result(tool: Entry, value: Any, version: Version) -> wire.Outcome:
    """Text and data that were made here fit as they are; all else is checked later."""
    schema = tool.signature.output_schema
    if schema is None and type(value) is str:
        return wire.Sound(content=[_text(value)])
    full = content.tool_result(value)
    if full is not None:
        return _full_result(tool.signature, full, version)
    if schema is None:
        blocks = content.blocks(value)
        if blocks is not None:
            return wire.Outcome(content=blocks)
    text = _promised(tool.signature, value)
    result = wire.Sound(content=[_text(text.decode())])
    if schema is not None and version.traits.structured_content != "none":
        data = Raw(text)
        whole = not wire.wrapped(version, schema)
        result["structuredContent"] = data if whole else {"result": data}
    return result


def _full_result(
    signature: Signature, full: ToolResult, version: Version
) -> wire.Outcome:
    blocks = content.all_blocks(full.content)
    result = wire.Outcome(content=blocks)
    schema = signature.output_schema
    if full.structured is not UNSET:
        text = _promised(signature, full.structured)
        data = msgspec.json.decode(text)
        if not blocks:  # for clients that do not know structured content
            blocks.append(_text(text.decode()))
        wrap = schema is not None and wire.wrapped(version, schema)
        result["structuredContent"] = {"result": data} if wrap else data
    elif schema is not None and not full.is_error:
        raise RuntimeError("the tool promised structured content, and gave none")
    if full.is_error:
        result["isError"] = True
    if full.meta:
        result["_meta"] = full.meta
    return result


def _promised(signature: Signature, value: Any) -> bytes:
    try:
        return signature.written(value)
    except OutputError as error:
        message = f"the tool returned what it did not promise: {error}"
        raise RuntimeError(message) from None
