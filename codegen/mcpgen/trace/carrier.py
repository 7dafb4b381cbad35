"""Who carries the bytes: one thread for all pipes, which is quick to notice them.

What a frame takes longer on its way through another process is nearly all the time that
the system needs to wake that up. So while frames come in quick succession, the thread
does not go to sleep between them. In a session that takes its time it sleeps as usual.
It waits for no pipe while another has something.
"""

from __future__ import annotations

import os
import select
import threading
import time
from array import array
from contextlib import suppress
from fcntl import ioctl
from termios import FIONREAD

SIZE = 64 * 1024
"""Bytes: what a pipe holds."""
LIVELY = 300e-6
"""Seconds between frames that come in quick succession; and so long we stay awake."""
GRACE = 0.5
"""Seconds after a server's end in which we wait for those who inherited its pipes."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .backlog import Backlog


class Channel:
    """From one end to another, in one direction."""

    def __init__(self, name: str, source: int, sink: int) -> None:
        self.name, self.source, self.sink = name, source, _unshared(sink)
        self._ends = {source, sink, self.sink}
        self.unsent: bytes | memoryview = b""
        """What has been read, and is not written yet."""
        self.sent = 0
        """Bytes that have been written."""
        self.is_busy = False
        """Is something on its way, which may be in no pipe and not `unsent` either?"""
        self.is_over = False
        self._room: select.poll | None = None
        self._most = SIZE
        if os.get_blocking(self.sink):
            # And so it stays, as others may have it open, too. Where there is room at
            # all, there is as much as this.
            self._room, self._most = select.poll(), select.PIPE_BUF
            self._room.register(self.sink, select.POLLOUT)

    def send(self, data: bytes | memoryview) -> None:
        """Write what can be written without waiting. Raises OSError if nobody reads it."""
        room, most = self._room, self._most
        while data and (room is None or room.poll(0)):
            whole = len(data) <= most
            try:
                sent = os.write(self.sink, data if whole else memoryview(data)[:most])
            except BlockingIOError:
                break
            self.sent += sent
            data = b"" if sent == len(data) else memoryview(data)[sent:]
        self.unsent = data

    def is_idle(self) -> bool:
        """Was all carried that was there when we were called? Asked in this order, it was."""
        source = select.poll()
        source.register(self.source, select.POLLIN)
        return not source.poll(0) and not self.is_busy and not self.unsent

    def hang_up(self) -> None:
        """Let both ends know; but the number of a standard stream stays taken."""
        for fd in self._ends:
            if fd > 2:
                os.close(fd)
            elif fd < 2:  # we may still have something to say on stderr
                null = os.open(os.devnull, os.O_RDWR)
                os.dup2(null, fd)
                os.close(null)
        self.is_over = True


def _unshared(sink: int) -> int:
    """A terminal may have less room than it seems to; opened anew, it lets nobody wait."""
    if os.isatty(sink):
        with suppress(OSError):
            how = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK
            return os.open(os.ttyname(sink), how)
    return sink


class Carrier(threading.Thread):
    """Carries what there is in channels, until all of them are over."""

    def __init__(self, channels: Sequence[Channel], backlog: Backlog) -> None:
        super().__init__(name="carrier", daemon=True)
        self._backlog = backlog
        self._is_hurried = self._is_finished = False
        self._ended = threading.Event()
        self._poll = select.poll()
        self._waiting: dict[int, Channel] = {}
        """For something at its source, or for room in its sink: by that descriptor."""
        for channel in channels:
            self._wait(channel)

    def run(self) -> None:
        """Carry all of it."""
        poll, clock, waiting = self._poll.poll, time.perf_counter, self._waiting
        lively = LIVELY if _processors() > 1 else 0.0
        last = awake_until = 0.0
        while waiting and not self._is_finished:
            ready = poll(0)
            if not ready:
                if clock() < awake_until:
                    _give_way()
                    continue
                ready = poll()
            for fd, _ in ready:
                self._carry(waiting[fd], fd)
            now = clock()
            awake_until = now + lively if now - last < lively else 0.0
            last = now

    def finish(self, channels: Sequence[Channel]) -> None:
        """Wait for a server's last bytes, but not for what it left running behind it."""
        last = [_to_be_sent(channel) for channel in channels]
        while not all(channel.is_over for channel in channels):
            sent = [channel.sent for channel in channels]
            if not self._ended.wait(GRACE):
                is_stuck = sent == [channel.sent for channel in channels]
                is_all = all(
                    channel.is_over or channel.sent >= most or channel.is_idle()
                    for channel, most in zip(channels, last, strict=True)
                )
                if is_all or (self._is_hurried and is_stuck):
                    break
            self._ended.clear()
        self._is_finished = True

    def hurry(self) -> None:
        """Let nobody wait for long for who does not read."""
        self._is_hurried = True

    def _carry(self, channel: Channel, fd: int) -> None:
        """A step: what this descriptor was waited for, and what can be done at once."""
        channel.is_busy = True
        if not self._goes_on(channel, fd):
            self._forget(fd)
            self._backlog.note((channel.name, b""), 0)
            channel.hang_up()
            self._ended.set()
        elif channel.unsent or fd != channel.source:
            self._forget(fd)
            self._wait(channel)
        channel.is_busy = False

    def _goes_on(self, channel: Channel, fd: int) -> bool:
        try:
            if fd != channel.source:
                channel.send(channel.unsent)
                return True
            if not (chunk := os.read(fd, SIZE)):
                return False
            came = time.perf_counter()
            try:
                channel.send(chunk)  # who reads it may get our processor at once
            finally:  # what answers it passes here, too, and so is noted later
                self._backlog.note((channel.name, chunk), len(chunk), came)
        except BlockingIOError:  # who shares the source made it so, and was faster
            return True
        except OSError:  # nobody reads it, or a terminal is gone
            return False
        return True

    def _wait(self, channel: Channel) -> None:
        fd = channel.sink if channel.unsent else channel.source
        self._waiting[fd] = channel
        self._poll.register(fd, select.POLLOUT if channel.unsent else select.POLLIN)

    def _forget(self, fd: int) -> None:
        del self._waiting[fd]
        self._poll.unregister(fd)


def _to_be_sent(channel: Channel) -> int:
    """How many bytes are sent when all is that is there now; or some more.

    What moves on while we count is counted twice, rather than not at all; and what has
    just been read is nowhere for a moment.
    """
    if channel.is_over:
        return 0
    waiting = array("i", [0])
    with suppress(OSError):
        ioctl(channel.source, FIONREAD, waiting)
    return waiting[0] + len(channel.unsent) + channel.sent + SIZE


_give_way = getattr(os, "sched_yield", lambda: None)
"""Client and server may be waiting for our processor: the system likes to use few."""


def _processors() -> int:
    """How many we may use: who has only one leaves it to others."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
