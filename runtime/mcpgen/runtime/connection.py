"""One connection to a server that speaks both eras: whose rules hold for a request?"""

from __future__ import annotations

from msgspec import Raw, UnsetType

from . import modern, versions
from .dispatch import Host
from .legacy import Session
from .names import PROTOCOL_VERSION
from .peer import Call, Later


class Connection:
    """The service of a peer on a transport that keeps its connection (stdio, memory)."""

    def __init__(self, host: Host) -> None:
        self.session = Session(host)
        self._stateless = host.stateless
        self._modern_only = not host.legacy_versions

    def request(self, call: Call) -> bytes | Later:
        """Serve one request by the rules of the era that it belongs to."""
        meta = modern.meta_of(call) if self._stateless.names else {}
        named = meta.get(PROTOCOL_VERSION)
        if (
            self._modern_only
            or (named is not None and named not in versions.LEGACY)
            or (self.session.client is None and self._is_modern(call.method))
        ):
            return self._stateless.request(call, meta)
        return self.session.request(call)

    def _is_modern(self, method: str) -> bool:
        return bool(self._stateless.names) and versions.is_modern_only(method)

    def notification(self, method: str, params: Raw | None, about: object) -> None:
        """Only sessions have something to take note of."""
        self.session.notification(method, params, about)

    def takes_batches(self) -> bool:
        """As the session agreed."""
        return self.session.takes_batches()

    def unreadable_id(self) -> UnsetType | None:
        """As the session agreed."""
        return self.session.unreadable_id()
