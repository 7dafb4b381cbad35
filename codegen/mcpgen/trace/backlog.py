"""What was passed on and is still to be recorded.

To note something costs those who forward next to nothing. A thread hands the notes over,
many at a time. Who records takes several times as long as who forwards, and would have
the processors that client and server need: so all that waits until the session is quiet,
though not for long. Light to import: a server waits for this.
"""

from __future__ import annotations

import threading
import time

from .stderr import warn

PATIENCE = 0.25
"""Seconds at the start in which the server has the machine for itself."""
MOMENT = 0.05
"""Seconds that what came first waits for more, and then for a session that is busy."""
QUIET = 0.002
"""Seconds without a note, after which a session is not busy."""
LONGEST = 1.0
"""Seconds that anything waits."""
MOST = 16 * 2**20
"""Bytes; who brings more than that waits, or the memory would have no bound."""
SLICE, SLICE_SIZE = 64, 2**20
"""Notes that are handed over at once, and bytes: those who forward may have to wait."""
FAREWELL = 10.0
"""Seconds that the last of it may take to be written."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .recorder import Note, Recorder


class Backlog:
    """A queue from those who forward to the one who records."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._notes: list[Note] = []
        self._size = 0
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._expected = False
        self._something, self._enough = threading.Event(), threading.Event()
        self._is_closed = self._has_failed = False
        self._began = self._last = 0.0
        self._thread = threading.Thread(target=self._hand_over, daemon=True)

    def start(self) -> None:
        """All begins now. There may be no thread yet: the recorder may be forked."""
        self._began = time.perf_counter()
        self._recorder.start(self._began)
        self._thread.start()

    def note(self, what: Any, size: int, came: float = 0.0) -> None:
        """Remember what is forwarded, of how many bytes it is, and when it came.

        That is now, if nothing is said; by the clock that `time.perf_counter` shows.
        """
        with self._lock:
            # Who notes at the same time must not make times decrease.
            self._last = max(self._last, came or time.perf_counter())
            self._notes.append((self._last - self._began, what, size))
            self._size += size
        if not self._expected:
            self._expected = True
            self._something.set()
        if size and self._size > MOST:  # an end needs no room
            self._wait_for_room()

    def _wait_for_room(self) -> None:
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
            self._recorder.abandon()

    def _hand_over(self) -> None:
        self._enough.wait(PATIENCE)
        recorder = self._recorder
        self._try(recorder.take, [])  # for there to be a header, even if nobody speaks
        while not self._is_closed or self._notes:
            self._something.wait()
            self._wait_for_quiet()
            self._something.clear()
            self._enough.clear()
            self._expected = False  # from here on, who notes something says so
            with self._lock:
                notes, self._notes = self._notes, []
            for piece, size in _sliced(notes):
                self._try(recorder.take, piece)
                with self._room:
                    self._size -= size
                    self._room.notify_all()
        self._try(recorder.close)

    def _wait_for_quiet(self) -> None:
        notes = self._notes
        while notes and not self._is_closed and not self._enough.wait(MOMENT):
            now = time.perf_counter() - self._began
            (first, *_), (last, *_) = notes[0], notes[-1]
            if now - first > LONGEST or now - last > QUIET:
                return

    def _try(self, work: Callable[..., None], *given: list[Note]) -> None:
        """Whatever goes wrong, it is not the session's fault; after that, do no more."""
        if self._has_failed:
            return
        try:
            work(*given)
        except Exception as error:
            self._has_failed = True
            warn(f"the rest of the session is not recorded: {error!r}")


def _sliced(notes: list[Note]) -> Iterator[tuple[list[Note], int]]:
    """A few at a time, and how many bytes they are."""
    piece: list[Note] = []
    total = 0
    for note in notes:
        piece.append(note)
        total += note[2]
        if len(piece) == SLICE or total > SLICE_SIZE:
            yield piece, total
            piece, total = [], 0
    yield piece, total
