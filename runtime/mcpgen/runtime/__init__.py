"""The hand-written runtime: what wires typed handlers to a connection.

    from mcpgen.runtime import Server

    server = Server("weather", version="1.0.0")

    @server.tool
    async def forecast(city: str, days: int = 3) -> str:
        '''Forecast for a city.'''
        return f"Sunny in {city}"

    server.run()

Nothing is imported until it is used: start-up time is a feature.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asks import Elicit as Elicit
    from .asks import ElicitUrl as ElicitUrl
    from .asks import Roots as Roots
    from .asks import Sample as Sample
    from .client import Change as Change
    from .client import Client as Client
    from .client.group import ClientGroup as ClientGroup
    from .client.typed import ToolFailed as ToolFailed
    from .client.typed import TypedClient as TypedClient
    from .content import Audio as Audio
    from .content import Embedded as Embedded
    from .content import Image as Image
    from .content import Link as Link
    from .content import Text as Text
    from .content import ToolResult as ToolResult
    from .context import Context as Context
    from .errors import AnswerError as AnswerError
    from .errors import ConnectionClosed as ConnectionClosed
    from .errors import HttpError as HttpError
    from .errors import McpError as McpError
    from .errors import MissingCapability as MissingCapability
    from .errors import NotSupported as NotSupported
    from .errors import RequestTimeout as RequestTimeout
    from .errors import ServerCrashed as ServerCrashed
    from .handlers import HandlersServer as HandlersServer
    from .server import Server as Server

_HOMES = {
    name: module
    for module, names in {
        "content": ("Audio", "Embedded", "Image", "Link", "Text", "ToolResult"),
        "asks": ("Elicit", "ElicitUrl", "Roots", "Sample"),
        "client": ("Change", "Client"),
        "client.group": ("ClientGroup",),
        "client.typed": ("ToolFailed", "TypedClient"),
        "context": ("Context",),
        "errors": (
            *("AnswerError", "ConnectionClosed", "HttpError", "McpError"),
            *("MissingCapability", "NotSupported", "RequestTimeout", "ServerCrashed"),
        ),
        "handlers": ("HandlersServer",),
        "server": ("Server",),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
