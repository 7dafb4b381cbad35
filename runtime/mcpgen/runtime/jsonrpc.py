"""JSON-RPC frames: which of the four messages is this, and how is one written?

Key presence decides, never trial decoding: by the official schemas a request with a
malformed id is a valid notification. `params`, `result` and `error` stay raw bytes; who
knows the method decodes them into its types, once.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, ValidationError
from msgspec.json import Decoder, Encoder

from .errors import INVALID_REQUEST, PARSE_ERROR, FrameError

Id: TypeAlias = str | int
Kind: TypeAlias = Literal["request", "notification", "result", "error"]


class Frame(Struct, kw_only=True):
    """One message, classified by `kind()`; anything may be wrong with it still."""

    jsonrpc: Any = UNSET
    id: Any = UNSET
    method: Any = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    def kind(self) -> Kind:
        """Which of the four messages it is; FrameError when it is none."""
        if self.jsonrpc != "2.0":
            raise FrameError(INVALID_REQUEST, 'jsonrpc must be "2.0"')
        if self.method is not UNSET:
            if self.result is not UNSET or self.error is not UNSET:
                raise FrameError(INVALID_REQUEST, "both a call and an answer")
            self.method_name()
            if self.id is UNSET:
                return "notification"
            self.request_id()
            if self.params is not UNSET and bytes(self.params)[:1] != b"{":
                raise FrameError(INVALID_REQUEST, "params must be an object")
            return "request"
        if (self.result is UNSET) == (self.error is UNSET):
            raise FrameError(
                INVALID_REQUEST, "one of method, result and error must be there"
            )
        return "result" if self.error is UNSET else "error"

    def request_id(self) -> Id:
        """The id, a string or an integer and nothing else; FrameError otherwise."""
        id: Id = self.id
        if type(id) is int or type(id) is str:  # True is neither
            return id
        raise FrameError(INVALID_REQUEST, "id must be a string or an integer")

    def method_name(self) -> str:
        """The method of a request or notification."""
        if not isinstance(self.method, str):
            raise FrameError(INVALID_REQUEST, "method must be a string")
        return self.method


class ErrorBody(Struct):
    """The `error` of an error response."""

    code: int
    message: str
    data: Any = UNSET


_FRAME = Decoder(Frame)
_FRAMES = Decoder(list[Raw])
_ANY = Decoder(Raw)
_ERROR = Decoder(ErrorBody)
_encode = Encoder().encode


# --- reading --------------------------------------------------------------------------


def decode(data: bytes | Raw) -> Frame:
    """One frame from JSON text; FrameError says what JSON-RPC answers to bad ones."""
    try:
        try:
            return _FRAME.decode(_text(data))
        except ValidationError:
            _ANY.decode(data)  # which says so when it is not even JSON
            raise FrameError(INVALID_REQUEST, "a message is a JSON object") from None
    except (DecodeError, UnicodeDecodeError):
        raise FrameError(PARSE_ERROR, "not JSON") from None
    except RecursionError:
        raise FrameError(PARSE_ERROR, "nested too deeply") from None


def _text(data: bytes | Raw) -> bytes | Raw:
    """The same, if it is UTF-8: what stays raw is not looked at otherwise."""
    if isinstance(data, bytes) and not data.isascii():
        data.decode()
    return data


def is_batch(data: bytes) -> bool:
    """Is it an array of messages?"""
    return data[:1] != b"{" and data.lstrip(b" \t\r\n")[:1] == b"["


def decode_batch(data: bytes) -> list[Raw]:
    """The members of an array, each still to be decoded."""
    try:
        members = _FRAMES.decode(_text(data))
    except (DecodeError, UnicodeDecodeError, RecursionError):
        raise FrameError(PARSE_ERROR, "not JSON") from None
    if not members:
        raise FrameError(INVALID_REQUEST, "an empty batch")
    return members


def decode_error(raw: Raw | UnsetType) -> ErrorBody:
    """The error of a response, whatever a careless peer wrote there."""
    try:
        return _ERROR.decode(b"null" if raw is UNSET else raw)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return ErrorBody(INVALID_REQUEST, "a malformed error")


# --- writing --------------------------------------------------------------------------


def request(id: Id, method: str, params: bytes | None = None) -> bytes:
    """A request; `params` is JSON text already."""
    head = b'{"jsonrpc":"2.0","id":%b,"method":%b' % (_encode(id), _encode(method))
    return head + (b"}" if params is None else b',"params":%b}' % params)


def notification(method: str, params: bytes | None = None) -> bytes:
    """A notification; `params` is JSON text already."""
    head = b'{"jsonrpc":"2.0","method":%b' % _encode(method)
    return head + (b"}" if params is None else b',"params":%b}' % params)


def result(id: Id, result: bytes) -> bytes:
    """The answer to a request; `result` is JSON text already."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_encode(id), result)


def error(
    id: Id | UnsetType | None, code: int, message: str, data: Any = UNSET
) -> bytes:
    """The refusal of a request; without an id when the request could not be read."""
    body = _encode(ErrorBody(code, message, data))
    if id is UNSET:
        return b'{"jsonrpc":"2.0","error":%b}' % body
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_encode(id), body)
