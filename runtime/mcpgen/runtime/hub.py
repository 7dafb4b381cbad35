"""Who wants to know what has changed: sessions of the legacy era, listeners of the modern."""

from __future__ import annotations

import asyncio
from threading import Lock
from typing import Any
from weakref import WeakSet

from msgspec import Struct

from . import wire
from .context import Context
from .legacy import Session, declares
from .names import ACKNOWLEDGED, CANCELLED, LIST_CHANGED, SUBSCRIPTION_ID, UPDATED
from .peer import Peer

Json = dict[str, Any]


class _Listener(Struct, eq=False):
    context: Context
    wanted: Any
    """The filter: the version's own type."""
    ended: asyncio.Event

    def tell(self, method: str, params: Json) -> None:
        meta = {SUBSCRIPTION_ID: self.context.request_id}
        peer = self.context.call.peer
        peer.on_loop(self.context.tell, method, params | {"_meta": meta})


class Hub:
    """Everybody who is to be told."""

    def __init__(self) -> None:
        self._sessions: WeakSet[Session] = WeakSet()
        self._listeners: set[_Listener] = set()
        self._lock = Lock()  # a handler in a thread may tell of changes, too

    def add(self, session: Session) -> None:
        """Tell this session from now on, for as long as it lives."""
        with self._lock:
            self._sessions.add(session)

    def _everybody(self) -> list[Session]:
        with self._lock:
            return list(self._sessions)

    def list_changed(self, what: str) -> None:
        """A list has another content; may be called in any thread."""
        method = LIST_CHANGED[what]
        for session in self._everybody():
            if session.ready and session.declares(what, "listChanged"):
                session.tell(method)
        for listener in list(self._listeners):
            if getattr(listener.wanted, f"{what}_list_changed", None) is True:
                listener.tell(method, {})

    def updated(self, uri: str) -> None:
        """A resource has another content; may be called in any thread."""
        for session in self._everybody():
            if uri in session.subscriptions:
                session.tell(UPDATED, {"uri": uri})
        for listener in list(self._listeners):
            uris = getattr(listener.wanted, "resource_subscriptions", None)
            if isinstance(uris, list) and uri in uris:
                listener.tell(UPDATED, {"uri": uri})

    async def listen(self, wanted: Any, ctx: Context, offered: Json) -> Json:
        """Serve `subscriptions/listen`: until the client ends it, or the server does."""
        honoured = _honoured(wanted, offered)
        listener = _Listener(ctx, honoured, asyncio.Event())
        version = ctx.client.version
        plain = version.types.encode(honoured)
        listener.tell(ACKNOWLEDGED, {"notifications": wire.plain(plain)})
        peer = ctx.call.peer
        self._listeners.add(listener)
        try:
            with peer.waiting(ctx.call):
                if not peer.finishing:
                    await listener.ended.wait()
        finally:
            self._listeners.discard(listener)
        if not peer.link.own_streams:
            # Where streams share a line, the client is told which one ends.
            params = {"requestId": ctx.request_id, "reason": "the server ends it"}
            ctx.tell(CANCELLED, params)
        return {"_meta": {SUBSCRIPTION_ID: ctx.request_id}}

    def close(self, peer: Peer | None = None) -> None:
        """End every subscription, or those of one connection."""
        for listener in self._listeners:
            if peer is None or listener.context.call.peer is peer:
                listener.ended.set()


def _honoured(wanted: Any, offered: Json) -> Any:
    """The part of a filter that the server's capabilities cover."""
    kept: Json = {}
    for what in LIST_CHANGED:
        field = f"{what}_list_changed"
        if getattr(wanted, field, None) is True and declares(
            offered, what, "listChanged"
        ):
            kept[field] = True
    uris = getattr(wanted, "resource_subscriptions", None)
    if isinstance(uris, list) and declares(offered, "resources", "subscribe"):
        kept["resource_subscriptions"] = uris
    return type(wanted)(**kept)
