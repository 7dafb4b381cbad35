"""`requestState`: what a modern server lets its client carry from one round to the next.

The client may read it and send anything back, so it is signed, ends, and is bound to
the request and to who made it. It is not encrypted: keep secrets out of `ctx.state`.
"""

from __future__ import annotations

import hmac
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from os import urandom
from typing import Any

import msgspec
from msgspec import Struct

from .errors import INVALID_PARAMS, McpError


class _Sealed(Struct, array_like=True):
    expires: float
    bound_to: bytes
    content: dict[str, Any]


_SEALED = msgspec.json.Decoder(_Sealed)


class Sealer:
    """Signs state and checks it; processes that share a key share their clients."""

    def __init__(
        self,
        key: bytes | None = None,
        *,
        lifetime: float = 600,
        limit: int = 64 * 1024,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._key = key or urandom(32)
        self._lifetime = lifetime
        self._limit = limit
        self._clock = clock

    def seal(self, content: dict[str, Any], bound_to: bytes) -> str:
        """The content as text for the client."""
        sealed = _Sealed(self._clock() + self._lifetime, bound_to, content)
        payload = urlsafe_b64encode(msgspec.json.encode(sealed))
        text = b"%b.%b" % (payload, self._sign(payload))
        if len(text) > self._limit:
            raise ValueError(
                f"ctx.state and the answers so far are too large: {len(text)} bytes "
                f"when sealed, at most {self._limit} may be"
            )
        return text.decode("ascii")

    def unseal(self, text: str, bound_to: bytes) -> dict[str, Any]:
        """The content again; McpError when it is not ours, not for this, or too old."""
        payload, _, signature = text.encode("utf-8", "replace").rpartition(b".")
        if len(text) > self._limit or not hmac.compare_digest(
            signature, self._sign(payload)
        ):
            raise McpError(INVALID_PARAMS, "requestState was not issued by this server")
        sealed = _SEALED.decode(urlsafe_b64decode(payload))
        if sealed.bound_to != bound_to:
            raise McpError(INVALID_PARAMS, "requestState belongs to another request")
        if sealed.expires < self._clock():
            raise McpError(INVALID_PARAMS, "requestState has expired: start again")
        return sealed.content

    def _sign(self, payload: bytes) -> bytes:
        return urlsafe_b64encode(hmac.digest(self._key, payload, "sha256"))


def binding(*parts: object) -> bytes:
    """A digest of everything that a state must not be moved away from."""
    encoded = msgspec.json.encode(parts, order="deterministic")
    return sha256(encoded).digest()
