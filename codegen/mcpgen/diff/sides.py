"""Who writes what: the direction of every definition, from the methods that reach it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from ..ir import Object, Protocol, Side, refs
from .change import SIDES, Sides, others

FRAMES: Final = {"request": "JSONRPCRequest", "notification": "JSONRPCNotification"}
"""What a message travels in. Some versions repeat its fields in every message."""
_ANY_FRAME: Final = "JSONRPCMessage"


def writers(protocol: Protocol) -> dict[str, Sides]:
    """Who writes each definition that some message reaches; the other side reads it."""
    definitions = {d.name: d for d in protocol.definitions}
    found: dict[str, set[Side]] = {}

    def reach(name: str | None, side: Side, but: Collection[str] = ()) -> None:
        todo = [name]
        while todo:
            here = todo.pop()
            if here not in definitions or side in found.setdefault(here, set()):
                continue
            found[here].add(side)
            type = definitions[here].type
            if isinstance(type, Object):
                kept = tuple(f for f in type.fields if f.wire_name not in but)
                type = replace(type, fields=kept)
            todo.extend(refs(type))

    for method in protocol.methods:
        for sender in method.sent_by:
            reach(method.definition, sender)
            reach(method.params, sender)
            for handler in others([sender]):
                for result in method.results:
                    reach(result, handler)
    for side in SIDES:
        # What a frame carries is told by the method, which knows who sends it.
        reach(_ANY_FRAME, side, but=("params", "result"))
    return {name: frozenset(sides) for name, sides in found.items()}


def framed(protocol: Protocol) -> dict[str, Object]:
    """The frame of each message that travels on its own, by the message's name."""
    definitions = {d.name: d.type for d in protocol.definitions}
    found = {}
    for method in protocol.methods:
        frame = definitions.get(FRAMES[method.kind])
        if not method.embedded and isinstance(frame, Object):
            found[method.definition] = frame
    return found
