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

    failure = False
    """Leaving a tool, is it a failure that a model should read, and no protocol error?"""

    def __init__(self, code: int, message: str, data: Any = UNSET) -> None:
        if not isinstance(code, int) or isinstance(code, bool):
            raise TypeError(f"the code of an error is an integer, not {code!r}")
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code}, {self.message!r})"


class FrameError(McpError):
    """No message that could be served; the code is what JSON-RPC answers to it."""


class NotSupported(McpError):
    """The client, or the protocol version, has not what a handler asked for."""

    failure = True


class MissingCapability(NotSupported):
    """The same, where the client can declare the capability and try again."""

    failure = False


class AnswerError(McpError):
    """The other side answered a question of ours with an error, or with nonsense."""

    failure = True
    status = 200
    """The HTTP status that it came with, if it came over HTTP."""


class ConnectionClosed(Exception):
    """The connection ended before an answer came."""

    begun = False
    """Had the server begun, so that nothing may be repeated?"""


class ServerCrashed(ConnectionClosed):
    """A server that ran as a child of this process has ended."""

    returncode: int | None = None
    """Its exit code; negative: the signal that ended it."""
    stderr: tuple[str, ...] = ()
    """The last that it wrote there."""


class HttpError(Exception):
    """An HTTP answer that is none of the protocol's."""

    begun = False
    """Had the server begun, so that nothing may be repeated?"""

    def __init__(
        self, status: int, message: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(f"HTTP {status}: {message}")
        self.status = status
        self.retry_after = retry_after
        """In how many seconds to try again, where the server said so."""


class AuthError(Exception):
    """No authorization could be had. It never holds a secret."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code
        """What OAuth calls the failure (`access_denied`, …), if it has a name there."""


class SessionExpired(HttpError):
    """The server has forgotten the session: a new one is to be opened."""


class RequestTimeout(Exception):
    """No answer came in time; the peer has been told to stop."""
