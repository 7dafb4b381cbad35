"""Who carries the bytes of a traced session: awake when it is quick, asleep when it is not."""

from __future__ import annotations

import os
import pty
import select
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcpgen.trace import carrier
from mcpgen.trace.backlog import Backlog
from mcpgen.trace.carrier import LIVELY, SIZE, Carrier, Channel

from .tracing import TIME_LIMIT, command, program, recorded, running


class Noted(Backlog):
    """A backlog that nobody empties."""

    def __init__(self) -> None:
        self.notes: list[Any] = []
        self.times: list[float] = []

    def note(self, what: Any, size: int, came: float = 0.0) -> None:
        self.notes.append(what)
        self.times.append(came)


# --- awake and asleep -----------------------------------------------------------------

MICRO = 1e-6


class World:
    """A clock, and pieces that come at certain times; in the end all is over."""

    def __init__(self, times: Sequence[float], source: int, busy: float) -> None:
        self._times, self._source, self.busy = list(times), source, busy
        self.now = 0.0
        self.backlog = Noted()
        self.asleep: list[float] = []
        """What it was woken for."""
        self.looks = 0

    def register(self, *_: int) -> None:
        """That there is a source is known."""

    unregister = register

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        """To look takes a while; to sleep, until there is something."""
        if timeout == 0:
            self.looks += 1
            self.now += 20 * MICRO
            if self.now < self._times[0]:
                return []
        else:
            self.now = max(self._times[0], self.now)
            self.asleep.append(self._times[0])
        del self._times[0]
        return [(self._source, select.POLLIN)]

    def write(self, _: int, data: bytes) -> int:
        """It may take long: who reads what is written gets the processor."""
        self.now += self.busy
        return len(data)


def live(
    times: Sequence[float],
    monkeypatch: pytest.MonkeyPatch,
    processors: int = 2,
    busy: float = 0.0,
) -> World:
    """Have pieces carried that come at certain times; the last is the end."""
    world = World(times, source=7, busy=busy)
    reads = [b"x\n"] * (len(times) - 1) + [b""]
    system = SimpleNamespace(
        read=lambda *_: reads.pop(0),
        write=world.write,
        get_blocking=lambda _: False,
        isatty=lambda _: False,
        close=lambda _: None,
    )
    poll = SimpleNamespace(poll=lambda: world, POLLIN=select.POLLIN)
    monkeypatch.setattr(carrier, "os", system)
    monkeypatch.setattr(carrier, "select", poll)
    monkeypatch.setattr(
        carrier, "time", SimpleNamespace(perf_counter=lambda: world.now)
    )
    monkeypatch.setattr(carrier, "_processors", lambda: processors)
    monkeypatch.setattr(carrier, "_give_way", lambda: None)
    Carrier([Channel("client", 7, 8)], world.backlog).run()
    return world


def test_a_session_that_takes_its_time_finds_it_asleep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = [0.1, 0.2, 0.3, 0.4]
    world = live(times, monkeypatch)
    assert world.asleep == times
    assert world.looks == len(times)  # no more than one before each sleep


def test_in_quick_succession_it_stays_awake_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = 100 * MICRO
    assert quick < LIVELY
    times = [
        1.0,
        1 + quick,
        1 + 2 * quick,
        1 + 3 * quick,
        2.0,
        2 + quick,
        2 + 2 * quick,
    ]
    world = live([*times, 3.0], monkeypatch)
    assert world.asleep == [1.0, 1 + quick, 2.0, 2 + quick, 3.0]
    assert world.looks < len(times) + 4 * LIVELY / (20 * MICRO)


def test_a_lone_processor_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [n * 50 * MICRO for n in range(1, 20)]
    assert live(times, monkeypatch, processors=1).asleep == times


def test_a_frame_has_the_time_at_which_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if who reads it answers before the write of it is over."""
    world = live([1.0, 2.0, 3.0], monkeypatch, busy=0.4)
    assert world.backlog.times[:2] == [1.0, 2.0]


# --- nobody holds up the others -------------------------------------------------------


@pytest.mark.parametrize("is_blocking", [True, False])
def test_what_finds_no_room_comes_later_and_in_order(is_blocking: bool) -> None:
    (source, begin), (end, sink) = os.pipe(), os.pipe()
    os.set_blocking(sink, is_blocking)
    data = os.urandom(1_000_000)
    channel, backlog = Channel("server", source, sink), Noted()
    carrying = Carrier([channel], backlog)
    carrying.start()

    def write() -> None:
        left = data
        while left:
            left = left[os.write(begin, left) :]
        os.close(begin)

    writer = threading.Thread(target=write)
    writer.start()
    found = os.read(end, 5000)
    assert os.get_blocking(sink) == is_blocking
    while piece := os.read(end, 5000):
        found += piece
    os.close(end)
    writer.join()
    carrying.join()
    assert found == data
    assert b"".join(piece for _, piece in backlog.notes) == data
    assert all(len(piece) <= SIZE for _, piece in backlog.notes)


def test_what_has_just_been_read_is_waited_for_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is in no pipe, and not sent, when we count what is to come."""
    (source, begin), (end, sink) = os.pipe(), os.pipe()
    os.set_blocking(sink, False)
    room = os.write(sink, b"x" * SIZE)
    channel = Channel("server", source, sink)
    is_read, is_counted = threading.Event(), threading.Event()
    counts = carrier._to_be_sent

    def clock() -> float:
        """What is asked for the time has just been read."""
        if not is_counted.is_set() and channel.sent == 0:
            is_read.set()
            is_counted.wait(TIME_LIMIT)
        return time.perf_counter()

    def counted(channel: Channel) -> int:
        is_read.wait(TIME_LIMIT)
        found = counts(channel)
        is_counted.set()
        return found

    monkeypatch.setattr(carrier, "GRACE", 0.05)
    monkeypatch.setattr(carrier, "_to_be_sent", counted)
    os.write(begin, b"last words")
    carrying = Carrier([channel], Noted())
    monkeypatch.setattr(carrier, "time", SimpleNamespace(perf_counter=clock))
    carrying.start()
    finishing = threading.Thread(target=carrying.finish, args=([channel],), daemon=True)
    finishing.start()
    finishing.join(5 * carrier.GRACE)
    assert finishing.is_alive()  # nobody has read anything
    found = b""
    while len(found) < room + len(b"last words"):
        found += os.read(end, SIZE)
    assert found.endswith(b"last words")
    finishing.join(TIME_LIMIT)
    assert not finishing.is_alive()
    os.close(begin)
    os.close(end)


def test_a_pipe_that_nobody_reads_holds_no_other_up(tmp_path: Path) -> None:
    """The server's output is full, and its input and stderr are in use all the same."""
    server = program(
        "import os, sys, threading\n"
        "flood = threading.Thread(target=lambda: os.write(1, b'x' * 1_000_000))\n"
        "flood.start()\n"
        "for line in sys.stdin:\n"
        "    print('heard', line, end='', file=sys.stderr, flush=True)\n"
        "flood.join()\n"
    )
    with running(command(tmp_path / "s", *server)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for number in range(100):
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            assert process.stderr.readline() == b"heard %d\n" % number
        process.stdin.close()
        assert process.stdout.read() == b"x" * 1_000_000
        assert process.wait() == 0
    _, entries = recorded(tmp_path / "s")
    assert len([entry for entry in entries if entry.source == "stderr"]) == 100


def test_a_terminal_that_shows_nothing_holds_nobody_up(tmp_path: Path) -> None:
    server = program(
        "import os, sys\n"
        "from contextlib import suppress\n"
        "os.set_blocking(2, False)\n"
        "for line in sys.stdin:\n"
        "    with suppress(BlockingIOError):\n"
        "        while True: os.write(2, b'x' * 99 + b'\\n')\n"
        "    print(line, end='', flush=True)\n"
    )
    main, terminal = pty.openpty()
    with running(command(tmp_path / "s", *server), stderr=terminal) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(100):
            process.stdin.write(b"{}\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"{}\n"
        assert os.get_blocking(terminal)
        process.kill()
    os.close(terminal)
    os.close(main)


def test_what_others_have_open_stays_as_it_was(tmp_path: Path) -> None:
    """Who shares our stdout may write to it as before, also after us."""
    server = program("print('x' * 300_000)")
    end, sink = os.pipe()
    with running(command(tmp_path / "s", *server), stdout=sink) as process:
        found = b""
        while not found.endswith(b"\n"):
            assert os.get_blocking(sink)
            found += os.read(end, 2**20)
        process.communicate()
    assert os.get_blocking(sink)
    assert len(found) == 300_001
    os.close(sink)
    os.close(end)
