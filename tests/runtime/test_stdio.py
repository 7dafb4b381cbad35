"""stdio: real processes, one per test, that echo what they get."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("pipes and signals of POSIX", allow_module_level=True)

TIMEOUT = 20.0

SERVER = """
import asyncio, ctypes, os, signal, subprocess, sys
from mcpgen.runtime.transports.stdio import serve_stdio

class Echo:
    def __init__(self, writer):
        self.writer = writer
        self.released = asyncio.Event()
        self.closing = None
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self.released.set)

    def receive(self, data):
        if data.startswith(b"!"):
            return getattr(self, data[1:].decode())()
        self.writer.write(data)

    def too_long(self, limit):
        self.writer.write(b"too long: %d" % limit)

    def closed(self):
        self.writer.write(b"bye")
        return self.closing

    def print(self):
        print("from print")
        os.write(1, b"from fd 1\\n")
        sys.__stdout__.write("not flushed")
        ctypes.CDLL(None).printf(b"from C\\n")
        subprocess.run(["echo", "from a child"], check=True)
        self.writer.write(b"child read %r" % subprocess.run(["cat"], stdout=-1).stdout)

    def print_much(self):
        sys.stdout.write("x" * 100)

    def hold(self):
        self.writer.write(b"holding")
        return self.released.wait()

    def linger(self):
        self.closing = asyncio.get_running_loop().create_future()
        self.writer.write(b"lingering")

    def fail(self):
        raise LookupError("a bug")

    async def fail_later(self):
        raise LookupError("a late bug")

    async def flood(self):
        most = 0
        for _ in range(200):
            self.writer.write(b"x" * 50_000)
            if self.writer.full:
                os.write(2, b"full\\n")
            await self.writer.drain()
            most = max(most, len(self.writer._buffer))
        self.writer.write(b"most %d" % most)

print("before")
settings = eval(sys.argv[1])
last = settings.pop("last", "after\\n")
asyncio.run(serve_stdio(Echo, **settings), debug=True)
print(last, end="")
"""


class Process:
    """A server with deadlines on everything."""

    def __init__(self, settings: str, stdin: int) -> None:
        command = [sys.executable, "-W", "error", "-c", SERVER, settings]
        pipe = subprocess.PIPE
        environment = os.environ | {"PYTHONUNBUFFERED": ""}
        self.popen = subprocess.Popen(
            command, env=environment, stdin=stdin, stdout=pipe, stderr=pipe, bufsize=0
        )
        self.deadline = time.monotonic() + TIMEOUT
        assert self.popen.stdout is not None
        assert self.popen.stderr is not None
        self.out, self.err = self.popen.stdout, self.popen.stderr
        self._rest = {False: b"", True: b""}

    @property
    def stdin(self) -> int:
        assert self.popen.stdin is not None
        return self.popen.stdin.fileno()

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            assert select.select([], [self.stdin], [], self.left)[1], "it does not read"
            view = view[os.write(self.stdin, view[:4096]) :]

    @property
    def left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def line(self, error: bool = False) -> bytes:
        fd = (self.err if error else self.out).fileno()
        while b"\n" not in self._rest[error]:
            assert select.select([fd], [], [], self.left)[0], "nothing comes"
            chunk = os.read(fd, 2**20)
            assert chunk, "the end came early"
            self._rest[error] += chunk
        line, _, self._rest[error] = self._rest[error].partition(b"\n")
        return line

    def end(self, data: bytes = b"") -> tuple[list[bytes], list[bytes]]:
        """Send, close stdin, and read both streams to their end."""
        out, err = self.popen.communicate(data or None, timeout=self.left)
        return (self._rest[False] + out).splitlines(), err.splitlines()


Spawn = Callable[..., Process]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    made: list[Process] = []

    def spawn(settings: str = "{}", stdin: int = subprocess.PIPE) -> Process:
        made.append(Process(settings, stdin))
        if stdin == subprocess.PIPE:
            # Python's own stdout is as it was before, and it is flushed first.
            assert made[-1].line() == b"before"
        return made[-1]

    yield spawn
    for process in made:
        with contextlib.suppress(ProcessLookupError):
            process.popen.kill()
        for stream in (process.popen.stdin, process.out, process.err):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        process.popen.wait(TIMEOUT)


def test_echo_then_eof(spawn: Spawn) -> None:
    process = spawn()
    process.send(b"one\n")
    assert process.line() == b"one"
    process.send(b"two\r\n")
    assert process.line() == b"two"
    # What is printed after the end goes to the real stdout again.
    assert process.end() == ([b"bye", b"after"], [])
    assert process.popen.returncode == 0


def test_many_messages_in_one_write(spawn: Spawn) -> None:
    messages = [b"message %d" % n for n in range(20_000)]
    out, err = spawn().end(b"\n".join(messages) + b"\n")
    assert out == [*messages, b"bye", b"after"]
    assert err == []


def test_a_message_in_pieces(spawn: Spawn) -> None:
    process = spawn()
    for piece in (b"fi", b"rst\nsec", b"ond", b"\n"):
        process.send(piece)
    assert process.line() == b"first"
    assert process.line() == b"second"


def test_blank_lines_and_a_last_line_without_newline(spawn: Spawn) -> None:
    assert spawn().end(b"\n \r\n\na\n\nb")[0] == [b"a", b"b", b"bye", b"after"]


def test_ten_megabytes(spawn: Spawn) -> None:
    message = bytes(range(35, 127)) * (10 * 2**20 // 92)
    out, err = spawn().end(message + b"\nsmall\n")
    assert out[0] == message
    assert out[1:] == [b"small", b"bye", b"after"]
    assert err == []


@pytest.mark.parametrize("size", [101, 5_000, 1_000_000])
def test_a_line_that_is_too_long(spawn: Spawn, size: int) -> None:
    process = spawn("{'max_line': 100}")
    fits = b"y" * 100
    out, _ = process.end(b"before\n" + b"x" * size + b"\n" + fits + b"\nafter\n")
    assert out[:4] == [b"before", b"too long: 100", fits, b"after"]
    assert out[4:] == [b"bye", b"after"]


def test_a_line_that_never_ends(spawn: Spawn) -> None:
    process = spawn("{'max_line': 100}")
    process.send(b"x" * 101)
    # Reported as soon as it is known.
    assert process.line() == b"too long: 100"
    assert process.end(b"x" * 1_000)[0] == [b"bye", b"after"]


def test_prints_do_not_reach_the_stream(spawn: Spawn) -> None:
    out, err = spawn().end(b"!print\nnext\n")
    assert out == [b"child read b''", b"next", b"bye", b"after"]
    held = b"not flushed" + b"from C"
    assert err == [b"from print", b"from fd 1", b"from a child", held]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it(spawn: Spawn, number: signal.Signals) -> None:
    process = spawn()
    process.send(b"ready\n")
    assert process.line() == b"ready"
    process.popen.send_signal(number)
    # Its end comes while stdin is still open.
    assert process.line() == b"bye"
    assert process.line() == b"after"
    assert process.popen.wait(process.left) == 0
    assert process.end() == ([], [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_while_it_is_busy(spawn: Spawn, number: signal.Signals) -> None:
    process = spawn()
    process.send(b"!hold\n")
    assert process.line() == b"holding"
    process.popen.send_signal(number)
    assert process.popen.wait(process.left) == 0
    assert process.end() == ([b"bye", b"after"], [])


def test_closing_is_bounded(spawn: Spawn) -> None:
    process = spawn("{'grace': 0.05}")
    assert process.end(b"!linger\n") == ([b"lingering", b"bye", b"after"], [])
    assert process.popen.returncode == 0


def test_the_last_output_is_bounded(spawn: Spawn) -> None:
    process = spawn("{'grace': 0.05}")
    process.send(b"x" * 500_000 + b"\n")
    process.popen.send_signal(signal.SIGTERM)
    # Nobody reads before the grace is over: the pipe keeps what it holds.
    out, _ = process.end()
    assert out[-1].endswith(b"after")
    assert process.popen.returncode == 0


def test_stdout_closed(spawn: Spawn) -> None:
    process = spawn("{'last': ''}")
    process.out.close()
    process.send(b"anyone?\n")
    assert process.popen.wait(process.left) == 0
    assert process.err.read() == b""


def test_stdout_and_stderr_closed(spawn: Spawn) -> None:
    process = spawn("{'last': ''}")
    process.out.close()
    process.err.close()
    process.send(b"!print_much\nanyone?\n")
    assert process.popen.wait(process.left) == 0


@pytest.mark.parametrize("command", [b"fail", b"fail_later"])
def test_a_bug_in_the_receiver_is_raised(spawn: Spawn, command: bytes) -> None:
    process = spawn()
    process.send(b"!" + command + b"\n")
    assert process.popen.wait(process.left) == 1
    out, err = process.end()
    assert out == [b"bye"]
    assert b"LookupError" in err[-1]


def test_stdin_from_a_file(spawn: Spawn, tmp_path: Path) -> None:
    path = tmp_path / "input"
    messages = [b"message %d" % n for n in range(20_000)]
    path.write_bytes(b"\n".join(messages))
    with path.open("rb") as file:
        process = spawn(stdin=file.fileno())
    assert process.end() == ([b"before", *messages, b"bye", b"after"], [])
    assert process.popen.returncode == 0


def test_busy_while_stdin_is_a_file(spawn: Spawn, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"!hold\nnext")
    with path.open("rb") as file:
        process = spawn(stdin=file.fileno())
    assert process.line() == b"before"
    assert process.line() == b"holding"
    process.popen.send_signal(signal.SIGUSR1)
    assert process.end() == ([b"next", b"bye", b"after"], [])


def test_stdin_from_dev_null(spawn: Spawn) -> None:
    process = spawn(stdin=subprocess.DEVNULL)
    assert process.end() == ([b"before", b"bye", b"after"], [])
    assert process.popen.returncode == 0


def test_backpressure(spawn: Spawn) -> None:
    process = spawn()
    process.send(b"!hold\n")
    # The answer leaves after the reading has stopped: what fits now is what the pipe holds.
    assert process.line() == b"holding"
    os.set_blocking(process.stdin, False)
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while sent < 2**22:
            sent += os.write(process.stdin, b"0123456789abcde\n" * 256)
    assert sent < 2**22
    os.set_blocking(process.stdin, True)
    process.popen.send_signal(signal.SIGUSR1)
    for _ in range(sent // 16):
        assert process.line() == b"0123456789abcde"
    assert process.end(b"last\n") == ([b"last", b"bye", b"after"], [])


def test_drain_waits_for_a_slow_reader(spawn: Spawn) -> None:
    process = spawn()
    process.send(b"!flood\n")
    # It is full, and only then anyone reads.
    assert process.line(error=True) == b"full"
    for _ in range(200):
        assert len(process.line()) == 50_000
    word, most = process.line().split()
    assert word == b"most"
    assert int(most) <= 2**20


def test_unread_answers_stop_the_reading(spawn: Spawn) -> None:
    process = spawn()
    os.set_blocking(process.stdin, False)
    message, sent = b"x" * 4095 + b"\n", 0
    # 32 MiB would be taken if answers were kept without bound.
    while sent < 2**25 and select.select([], [process.stdin], [], 1.0)[1]:
        with contextlib.suppress(BlockingIOError):
            sent += os.write(process.stdin, message)
    assert sent < 2**22
    os.set_blocking(process.stdin, True)
    out, err = process.end()
    assert out[:-2] == [message[:-1]] * (sent // 4096)
    assert err == []
