"""JSON-RPC frames: what kind of message is this?

Key presence decides, never trial decoding: by the official schemas a request with a
malformed id is a valid notification. `params`, `result` and `error` stay raw bytes; who
knows the method decodes them into its types, once.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, ValidationError
from msgspec.json import Decoder

Kind: TypeAlias = Literal["request", "notification", "result", "error"]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600


class FrameError(Exception):
    """The bytes are no JSON-RPC message; `code` is what JSON-RPC answers to them."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Frame(Struct, kw_only=True):
    """One message, classified by `kind()`; nothing in it is typed yet."""

    jsonrpc: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    def kind(self) -> Kind:
        """Which of the four messages it is; FrameError when it is none."""
        if self.jsonrpc is UNSET or bytes(self.jsonrpc) != b'"2.0"':
            raise FrameError(INVALID_REQUEST, 'jsonrpc must be "2.0"')
        if self.method is not UNSET:
            if self.result is not UNSET or self.error is not UNSET:
                raise FrameError(INVALID_REQUEST, "both a call and an answer")
            if bytes(self.method)[:1] != b'"':
                raise FrameError(INVALID_REQUEST, "method must be a string")
            if self.params is not UNSET and bytes(self.params)[:1] != b"{":
                raise FrameError(INVALID_REQUEST, "params must be an object")
            if self.id is UNSET:
                return "notification"
            self.request_id()
            return "request"
        if (self.result is UNSET) == (self.error is UNSET):
            raise FrameError(
                INVALID_REQUEST, "one of method, result and error must be there"
            )
        return "result" if self.error is UNSET else "error"

    def request_id(self) -> str | int:
        """The id, a string or an integer and nothing else; FrameError otherwise."""
        if self.id is not UNSET:
            try:
                return _ID.decode(self.id)
            except ValidationError:
                pass
        raise FrameError(INVALID_REQUEST, "id must be a string or an integer")

    def method_name(self) -> str:
        """The method of a request or notification."""
        if self.method is UNSET:
            raise FrameError(INVALID_REQUEST, "no method")
        return _METHOD.decode(self.method)


_FRAME = Decoder(Frame)
_ID = Decoder(str | int)
_METHOD = Decoder(str)


def decode(data: bytes | str) -> Frame:
    """One frame from JSON text; FrameError says what JSON-RPC answers to bad ones."""
    try:
        return _FRAME.decode(data)
    except ValidationError:
        raise FrameError(INVALID_REQUEST, "a message is a JSON object") from None
    except (DecodeError, UnicodeDecodeError):
        raise FrameError(PARSE_ERROR, "not JSON") from None
    except RecursionError:
        raise FrameError(PARSE_ERROR, "nested too deeply") from None
