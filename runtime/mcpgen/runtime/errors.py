"""What can go wrong, as one small tree.

`McpError` is the only exception that reaches the peer as it is: code, message and data.
Any other exception that leaves a handler is logged, and the peer learns nothing of it.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class McpError(Exception):
    """A JSON-RPC error: raised by a handler it is sent, received it is raised."""

    def __init__(self, code: int, message: str, data: Any = UNSET) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code}, {self.message!r})"


class FrameError(McpError):
    """No message that could be served; the code is what JSON-RPC answers to it."""


class NotSupported(McpError):
    """The client did not declare what a handler asked of it."""


class ConnectionClosed(Exception):
    """The connection ended before an answer came."""


class RequestTimeout(Exception):
    """No answer came in time; the peer has been told to stop."""
