"""memory: two ends in one process, for tests and for servers inside their client."""

from __future__ import annotations

import asyncio
from collections import deque

from . import Connect, Receiver


def join(one: Connect, other: Connect) -> Memory:
    """Connect two ends; what either writes, the other receives, in order."""
    return Memory(one, other)


class Memory:
    """The connection; `await close()` ends it for both."""

    def __init__(self, one: Connect, other: Connect) -> None:
        loop = asyncio.get_running_loop()
        to_one, to_other = _End(loop), _End(loop)
        to_one.receiver, to_other.receiver = one(to_other), other(to_one)
        self._ends = (to_one, to_other)

    async def close(self) -> None:
        """Tell both ends that the other has gone."""
        for end in self._ends:
            await end.close()


class _End:
    """The writer of one end, which feeds the receiver of the other."""

    receiver: Receiver

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: deque[bytes] = deque()
        self._feeding: asyncio.Task[None] | None = None
        self._closed = False

    def write(self, data: bytes) -> None:
        """Deliver a message in a later turn of the loop, never inside `write`."""
        if not self._closed:
            self._queue.append(data)
            if self._feeding is None:
                self._feeding = self._loop.create_task(self._feed())

    async def _feed(self) -> None:
        try:
            while self._queue:
                busy = self.receiver.receive(self._queue.popleft())
                if busy is not None:
                    await busy
        finally:
            self._feeding = None

    async def drain(self) -> None:
        """Wait until all has been delivered."""
        while self._feeding is not None:
            await asyncio.wait([self._feeding])

    async def close(self) -> None:
        """Deliver nothing more."""
        self._closed = True
        self._queue.clear()
        if self._feeding is not None:
            self._feeding.cancel()
        if (closing := self.receiver.closed()) is not None:
            await closing
