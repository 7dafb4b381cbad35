"""What the typed client of one server is made on; `mcpgen client` writes such modules."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any, Self, TypeVar

import msgspec
from msgspec import UNSET

from ...protocol.newest import types
from ..errors import INVALID_REQUEST, AnswerError
from ..uritemplate import Template
from . import Client

T = TypeVar("T")

ContentBlock = types.ContentBlock
GetPromptResult = types.GetPromptResult
ResourceContents: typing.TypeAlias = (
    types.TextResourceContents | types.BlobResourceContents
)


class ToolFailed(Exception):
    """A tool says that it failed; the message is what it said."""

    def __init__(self, tool: str, result: types.CallToolResult) -> None:
        texts = [b.text for b in result.content if isinstance(b, types.TextContent)]
        super().__init__("\n".join(texts) or f"the tool {tool!r} failed")
        self.tool = tool
        self.result = result
        """All that it gave: a failure can have more than text."""


class TypedClient:
    """A connection to one known server, from `async with` to its end."""

    def __init__(self, client: Client) -> None:
        self.client = client
        """The client below, for whatever has no method here."""

    @classmethod
    def connect(cls, target: Any, **options: Any) -> Self:
        """By a command line, a URL, a server object or a transport; see `Client`."""
        return cls(Client.connect(target, **options))

    async def __aenter__(self) -> Self:
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.client.__aexit__(*exc_info)

    async def _content(
        self, tool: str, arguments: Mapping[str, Any]
    ) -> list[ContentBlock]:
        return (await self._call(tool, arguments)).content

    async def _structured(
        self, tool: str, arguments: Mapping[str, Any], kind: type[T]
    ) -> T:
        found = (await self._call(tool, arguments)).structured_content
        if found is UNSET:
            message = f"the tool {tool!r} gave no structured content"
            raise AnswerError(INVALID_REQUEST, message)
        return _fitted(found, kind, tool)

    async def _call(
        self, tool: str, arguments: Mapping[str, Any]
    ) -> types.CallToolResult:
        result = await self.client.call_tool(tool, _plain(arguments))
        if result.is_error is True:
            raise ToolFailed(tool, result)
        return result

    async def _prompt(self, name: str, arguments: Mapping[str, Any]) -> GetPromptResult:
        return await self.client.get_prompt(name, _plain(arguments))

    async def _read(self, uri: str) -> list[ResourceContents]:
        return (await self.client.read_resource(uri)).contents

    async def _expanded(
        self, template: str, values: Mapping[str, Any]
    ) -> list[ResourceContents]:
        return await self._read(Template(template).expand(**_plain(values)))


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has them, without those that were not given."""
    given = {key: value for key, value in arguments.items() if value is not UNSET}
    plain: dict[str, Any] = msgspec.to_builtins(given, enc_hook=_dumped)
    return plain


def _dumped(value: Any) -> Any:
    """A pydantic model, which only a client made with such models meets."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    raise TypeError(f"{type(value).__name__} cannot be an argument")


def _fitted(value: Any, kind: type[T], tool: str) -> T:
    """A result as the type that the server promised; AnswerError when it is none."""
    if typing.is_typeddict(kind):
        return typing.cast(T, value)  # it says what to expect, and checks nothing
    validate = getattr(kind, "model_validate", None)
    try:
        return validate(value) if validate else msgspec.convert(value, kind)
    except ValueError as error:  # both libraries' errors are
        message = f"the result of {tool!r} is not what its schema says: {error}"
        raise AnswerError(INVALID_REQUEST, message) from error
