"""A quick look at a message, before it is judged."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct

from ..recording import Entry
from .words import INITIALIZE


class Glimpse(Struct):
    """What of a message tells where it belongs."""

    jsonrpc: Any = UNSET
    id: Any = UNSET
    method: Any = UNSET
    params: Any = UNSET


_decode = msgspec.json.Decoder(Glimpse | list[Glimpse]).decode


def glimpse(entry: Entry) -> Glimpse | None:
    """A look at a message, or at the first of a batch."""
    try:
        found: Glimpse | list[Glimpse] = _decode(entry.frame)  # type: ignore[arg-type]
    except (msgspec.DecodeError, TypeError, ValueError, RecursionError):
        return None
    if isinstance(found, list):
        return found[0] if found else None
    return found


def is_message(entry: Entry) -> bool:
    """Does it look like one of the protocol, however broken?"""
    if entry.cut:
        return True
    message = glimpse(entry)
    return message is not None and (message.jsonrpc, message.method) != (UNSET, UNSET)


def opens(entry: Entry) -> bool:
    """Is it initialize, and not only a message with that word in it?"""
    frame = entry.frame
    if frame is UNSET or b'"initialize"' not in bytes(memoryview(frame)[:4096]):
        return False
    message = glimpse(entry)
    return message is not None and message.method == INITIALIZE
