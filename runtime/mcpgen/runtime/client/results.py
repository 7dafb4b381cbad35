"""Results of any version as the newest one's types; and kept, where a server allows it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder

from ...protocol.newest import types
from ..errors import INVALID_REQUEST, AnswerError
from ..names import LIST_CHANGED, UPDATED
from .service import Change

T = TypeVar("T", bound=Struct)

CACHEABLE = {
    "tools/list": LIST_CHANGED["tools"],
    "prompts/list": LIST_CHANGED["prompts"],
    "resources/list": LIST_CHANGED["resources"],
    "resources/templates/list": LIST_CHANGED["resources"],
    "resources/read": UPDATED,
}
"""Method → the notification after which its results are not what they were."""


class _Required(Struct, rename="camel"):
    """What only the newest results must say."""

    result_type: Raw | UnsetType = UNSET
    ttl_ms: Raw | UnsetType = UNSET
    cache_scope: Raw | UnsetType = UNSET


_REQUIRED = Decoder(_Required)
_MEANT = {
    "result_type": b'"resultType":"complete"',
    "ttl_ms": b'"ttlMs":0',
    "cache_scope": b'"cacheScope":"private"',
}
"""What older results mean by saying nothing."""


def read(raw: Raw, kind: type[T], method: str) -> T:
    """A result as its type; AnswerError says what is wrong with it."""
    text = bytes(raw)
    if b'"resultType":' in text:  # most likely it says all that it must
        with suppress(ValueError, RecursionError):
            return types.decode(text, kind)
    try:
        said = _REQUIRED.decode(text)
        unsaid = [
            meant
            for field, meant in _MEANT.items()
            if getattr(said, field) is UNSET and field in kind.__struct_fields__
        ]
        if unsaid:
            rest = text[1:].lstrip()
            joined = b",".join(unsaid)
            text = b"{%b%b%b" % (joined, b"" if rest[:1] == b"}" else b",", rest)
        return types.decode(text, kind)
    except (ValueError, RecursionError) as error:
        message = f"{method}: an invalid result: {error}"
        raise AnswerError(INVALID_REQUEST, message) from None


class _Ttl(Struct, rename="camel"):
    ttl_ms: float = 0


_TTL = Decoder(_Ttl)
_Key = tuple[str, str]


class Kept:
    """Results that may be used again for a while."""

    LIMIT = 1000

    def __init__(self) -> None:
        self._results: dict[_Key, tuple[float, Raw]] = {}

    def get(self, method: str, params: dict[str, Any]) -> Raw | None:
        """A result that is still fresh."""
        expires, raw = self._results.get(_key(method, params), (0.0, None))
        return raw if time.monotonic() < expires else None

    def put(self, method: str, params: dict[str, Any], raw: Raw) -> None:
        """Keep a result, which was read without complaints, as long as its server says."""
        if method not in CACHEABLE:
            return
        seconds = _TTL.decode(raw).ttl_ms / 1000
        if seconds > 0:
            if len(self._results) >= self.LIMIT:
                self._results.clear()
            expires = time.monotonic() + seconds
            self._results[_key(method, params)] = expires, raw

    def forget(self, change: Change) -> None:
        """What the server says has changed."""
        for method, *about in list(self._results):
            if CACHEABLE[method] == change.method and (
                change.method != UPDATED or about[0] == change.params.get("uri")
            ):
                del self._results[method, about[0]]


def _key(method: str, params: dict[str, Any]) -> _Key:
    return method, params.get("uri") or params.get("cursor") or ""
