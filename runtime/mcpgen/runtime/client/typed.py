"""What the typed client of one server is made on; `mcpgen client` writes such modules."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
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
        fitted: T = _fitted(await self._said(tool, arguments), kind, tool)
        return fitted

    async def _value(
        self, tool: str, arguments: Mapping[str, Any], kind: type[list[T]]
    ) -> T:
        """As above, for what is no class: of a union, only a list of it is a type."""
        (kind_of_one,) = typing.get_args(kind)
        fitted: T = _fitted(await self._said(tool, arguments), kind_of_one, tool)
        return fitted

    async def _said(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        found = (await self._call(tool, arguments)).structured_content
        if found is UNSET:
            message = f"the tool {tool!r} gave no structured content"
            raise AnswerError(INVALID_REQUEST, message)
        return found

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


def _fitted(value: Any, kind: Any, tool: str) -> Any:
    """A result as the type that the server promised; AnswerError when it is none."""
    read = _reader(kind)
    try:
        return read(value)
    except ValueError as error:  # both libraries' errors are
        from ..functions import whole  # here, as few need it and it is the server's

        try:
            return read(whole(value))
        except (ValueError, RecursionError):
            message = f"the result of {tool!r} is not what its schema says: {error}"
            raise AnswerError(INVALID_REQUEST, message) from error


@lru_cache  # not without bound: an annotation written in place may be another each time
def _reader(kind: Any) -> Callable[[Any], Any]:
    """What checks values of a type and makes them, whatever it is made of."""
    parts = list(_parts(kind))
    if any(map(typing.is_typeddict, parts)):
        return lambda value: value  # it says what to expect, and checks nothing
    if any(hasattr(part, "__get_pydantic_core_schema__") for part in parts):
        from pydantic import TypeAdapter  # the client has imported it already

        validate: Callable[[Any], Any] = TypeAdapter(kind).validate_python
        return validate
    return partial(msgspec.convert, type=kind)


def _parts(kind: Any) -> Iterator[Any]:
    """An annotation, and those that it is made of."""
    yield kind
    for part in typing.get_args(kind):
        yield from _parts(part)
