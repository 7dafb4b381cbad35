"""`server.run("http")`: the application on uvicorn."""

from __future__ import annotations

import signal
import socket
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import Http

if TYPE_CHECKING:
    from ...serving import Serving

GRACE_SECONDS = 2


def run(
    serving: Serving,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    log_level: str = "warning",
    **settings: Any,
) -> None:
    """Serve until SIGINT or SIGTERM comes."""
    try:
        import uvicorn
    except ImportError:
        raise ImportError(
            'HTTP needs uvicorn: install it, or the extra "http"'
        ) from None
    app = Http(serving, **settings)

    class Uvicorn(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            for at in self.servers[0].sockets if self.started else ():
                _announce(serving, at, app)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await app.finish()  # or it would wait for streams that stay open
            await super().shutdown(sockets)

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            # Not as the base class does, which raises the signal again at the end.
            self.force_exit = self.should_exit and sig == signal.SIGINT
            self.should_exit = True

    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level=log_level,
        access_log=log_level in ("info", "debug", "trace"),
        lifespan="on",
        ws="none",
        server_header=False,
        proxy_headers=False,  # nothing here asks for the address of a client
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = Uvicorn(config)
    server.run()
    if not server.started:
        raise SystemExit(3)


def _announce(serving: Serving, at: socket.socket, app: Http) -> None:
    host, port, *_ = at.getsockname()
    name = f"[{host}]" if ":" in host else host
    where = f"http://{name}:{port}{app.settings.path}"
    print(f"{serving.info()['name']} serves {where}", file=sys.stderr, flush=True)
