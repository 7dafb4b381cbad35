"""One connection to a server that speaks both eras: whose rules hold for a request?"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from msgspec import Raw, UnsetType

from . import modern, versions
from .dispatch import Host
from .legacy import INITIALIZE, Session
from .modern import PROTOCOL_VERSION, Stateless
from .peer import Call


class Connection:
    """The service of a peer on a transport that keeps its connection (stdio, memory)."""

    def __init__(self, host: Host, stateless: Stateless) -> None:
        self.session = Session(host)
        self._stateless = stateless

    def request(self, call: Call) -> bytes | Coroutine[Any, Any, bytes]:
        """Serve one request by the rules of the era that it belongs to."""
        if call.method != INITIALIZE:
            named = modern.meta_of(call).get(PROTOCOL_VERSION)
            if named is not None and named not in versions.LEGACY:
                return self._stateless.request(call)
            if self.session.client is None and _is_modern_only(call.method):
                return self._stateless.request(call)
        return self.session.request(call)

    def notification(self, method: str, params: Raw | None, about: object) -> None:
        """Only sessions have something to take note of."""
        self.session.notification(method, params, about)

    def takes_batches(self) -> bool:
        """As the session agreed."""
        return self.session.takes_batches()

    def unreadable_id(self) -> UnsetType | None:
        """As the session agreed."""
        return self.session.unreadable_id()


def _is_modern_only(method: str) -> bool:
    if not versions.MODERN or method not in versions.get(versions.MODERN[-1]).requests:
        return False
    newest = versions.get(versions.LEGACY[-1]) if versions.LEGACY else None
    return newest is None or method not in newest.requests
