"""What was passed on and is still to be recorded.

Recording takes several times as long as forwarding. So it is done in another thread, and
not frame by frame: it waits a moment for more, gives way after each piece, and thus stays
out of the way of a session that is busy. Light to import: a server waits for this.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from .stderr import warn

PATIENCE = 0.25
"""Seconds at the start in which the server has the machine for itself."""
MOMENT = 0.05
"""Seconds that what came first waits for more."""
MOST = 16 * 2**20
"""Bytes; who brings more than that waits, or the memory would have no bound."""
FAREWELL = 10.0
"""Seconds that the last of it may take to be written."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Taker(Protocol):
        """Who records."""

        def take(self, t: float, what: Any) -> None:
            """Something that was noted, and when it came."""

        def flush(self) -> None:
            """Nothing more is there for now."""

        def close(self) -> None:
            """That was all."""


class Backlog:
    """A queue from those who forward to the one who records."""

    def __init__(self, make: Callable[[float], Taker]) -> None:
        """`make` is called in the thread that records: what it imports may take long.

        It is told how many seconds ago all began.
        """
        self._make = make
        self._queue: deque[tuple[float, Any, int]] = deque()
        self._size = 0
        self._count = threading.Lock()
        self._room = threading.Condition(self._count)
        self._expected = False
        self._something, self._enough = threading.Event(), threading.Event()
        self._is_closed = False
        self._start = time.perf_counter()
        self._thread = threading.Thread(target=self._record, daemon=True)

    def start(self) -> None:
        """Begin to record."""
        self._thread.start()

    def note(self, what: Any, size: int) -> None:
        """Remember what is about to be forwarded, and of how many bytes it is."""
        self._queue.append((time.perf_counter() - self._start, what, size))
        with self._count:
            self._size += size
        if self._size > MOST:
            self._wait_for_room()
        if not self._expected:
            self._expected = True
            self._something.set()

    def _wait_for_room(self) -> None:
        self._expected = True
        self._something.set()
        with self._room:
            while self._size > MOST:
                self._enough.set()
                self._room.wait()

    def close(self) -> None:
        """There is no more; wait until all is recorded, or say that it is not."""
        self._is_closed = True
        self._something.set()
        self._enough.set()
        self._thread.join(FAREWELL)
        if self._thread.is_alive():
            warn("the end of the session is not recorded: that took too long")

    def _record(self) -> None:
        taker: Taker | None = None
        self._enough.wait(PATIENCE)
        try:
            taker = self._make(time.perf_counter() - self._start)
            self._take_all(taker)
            taker.close()
        except Exception as error:  # whatever it is, it is not the session's fault
            warn(f"the rest of the session is not recorded: {error!r}")
            self._take_all(None)

    def _take_all(self, taker: Taker | None) -> None:
        queue, last = self._queue, 0.0
        while not self._is_closed or queue:
            self._something.wait()
            if not self._is_closed:
                self._enough.wait(MOMENT)
            self._something.clear()
            self._enough.clear()
            self._expected = False  # from here on, who notes something says so
            while queue:
                t, what, size = queue.popleft()
                with self._room:
                    self._size -= size
                    self._room.notify_all()
                last = max(t, last)  # two may look at the clock at once
                if taker is not None:
                    taker.take(last, what)
                time.sleep(0)  # lets a thread that forwards go first
            if taker is not None:
                taker.flush()
