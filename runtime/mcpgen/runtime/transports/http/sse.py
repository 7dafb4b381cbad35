"""HTTP+SSE, the transport of the oldest version: one stream out, posts in.

The stream is the connection. Its first event says where to post; what is posted is
answered on the stream.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from .. import Receiver
from .events import Stream
from .request import Refusal, Request
from .sessions import is_same, too_many

if TYPE_CHECKING:
    from ...serving import Serving


class Connections:
    """The open streams."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._all: dict[str, tuple[Receiver, Stream, Any]] = {}

    async def open(self, request: Request) -> None:
        """Serve a stream for as long as its client reads it."""
        request.check_events()
        settings = request.settings
        if len(self._all) >= settings.max_sessions:
            raise too_many()
        stream = Stream(settings.event_buffer)
        id = secrets.token_urlsafe(24)
        endpoint = f"{request.mounted_at}{settings.messages_path}?session_id={id}"
        stream.event(b"endpoint", endpoint.encode("ascii", "replace"))
        receiver = self._serving.attach(stream, request.principal)
        self._all[id] = (receiver, stream, request.principal)
        try:
            await stream.deliver(request)
        finally:
            del self._all[id]
            stream.finish(None)
            if (closing := receiver.closed()) is not None:
                await closing

    async def post(self, request: Request) -> None:
        """Take a message of one of the streams."""
        id, *_ = parse_qs(request.query()).get("session_id", [""])
        receiver, _, principal = self._all.get(id, (None, None, None))
        if receiver is None or not is_same(principal, request.principal):
            raise Refusal(404, "there is no such session (any more)")
        busy = receiver.receive(await request.body())
        await request.respond(202)
        if busy is not None:
            await busy

    def close(self) -> None:
        """End all streams."""
        for _, stream, _ in self._all.values():
            stream.finish(None)
