"""The messages of a session, as the rules see them."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, json
from msgspec.structs import replace

from ..recording import Entry
from .seen import Id
from .versions import Row, Version
from .words import MCP_NAME

Side: TypeAlias = Literal["client", "server"]
Key: TypeAlias = Id | tuple[int, Id]
"""An id in its scope: a session, or one exchange over HTTP."""

OTHER: dict[Side, Side] = {"client": "server", "server": "client"}
KEPT_NAME = 200
KEPT = 16 * 1024
"""Requests that wait for an answer are kept if they have no more bytes."""


class Call:
    """A request, or a notification: a message with a method."""

    __slots__ = (
        *("line", "entry", "sender", "method", "id", "path", "key", "params", "meta"),
        *("version", "row", "cancelled", "excused", "garbled", "token", "progress"),
        "about",
    )

    def __init__(
        self,
        line: int,
        entry: Entry,
        sender: Side,
        method: str,
        id: Id | None,
        path: str = "$",
    ) -> None:
        self.line = line
        self.entry: Entry = entry
        self.sender: Side = sender
        self.method = method
        self.id = id
        """None for a notification."""
        self.path = path
        """Where it stands in the frame: `$`, or a member of a batch."""
        self.key: Key | None = id
        self.params: dict[str, Any] | None = None
        """None when there are none, and when it waits for its answer."""
        self.meta: dict[str, Any] | None = None
        """`_meta` of the params, if it is an object."""
        self.version: Version
        self.row: Row | None = None
        """None when the version has no such method."""
        self.cancelled = False
        self.excused = False
        """Need nobody answer it?"""
        self.garbled = False
        """Are there params, but no object?"""
        self.token: Id | None = None
        """What it wants its progress reported with."""
        self.progress = float("-inf")
        """As far as was reported."""
        self.about: str | None = None
        """The name of the tool or prompt, or the address, that it is about."""

    def forget(self) -> None:
        """It waits now: keep no more of it than may be needed."""
        params = self.params
        if params is not None:
            named = MCP_NAME.get(self.method)
            if named is not None:
                about = params.get(named)
                self.about = about[:200] if type(about) is str else None
            self.params = None
        frame = self.entry.frame
        if frame is not UNSET and len(memoryview(frame)) > KEPT:
            self.entry = replace(self.entry, frame=UNSET, cut=True)
            if self.meta is not None and len(json.encode(self.meta)) > KEPT:
                self.meta = None
            self.method = self.method[:KEPT_NAME]

    def reread(self) -> dict[str, Any] | None:
        """Its params once more, unless they were too large to be kept."""
        if self.entry.frame is UNSET or self.entry.cut:
            return None
        frame = json.decode(self.entry.frame)
        members = frame if isinstance(frame, list) else [frame]
        for member in members:
            if isinstance(member, dict) and member.get("id") == self.id:
                params = member.get("params")
                if "method" in member and isinstance(params, dict):
                    return params
        return None


class Answer:
    """A response: a result or an error."""

    __slots__ = ("call", "entry", "frame", "line", "path", "sender")

    def __init__(
        self,
        line: int,
        entry: Entry,
        sender: Side,
        frame: dict[str, Any],
        call: Call | None,
        path: str,
    ) -> None:
        self.line = line
        self.entry = entry
        self.sender: Side = sender
        self.frame = frame
        self.call = call
        """What it answers, if that is known."""
        self.path = path
