"""A stdio server as a child process: real children that behave, crash or refuse to end."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.client.process import Process
from mcpgen.runtime.errors import ConnectionClosed
from mcpgen.runtime.transports import Writer, lines

if sys.platform != "linux":
    pytest.skip("looks into /proc", allow_module_level=True)

TIMEOUT = 60.0
LONG = 1000.0
"""A grace that no test can wait for."""
READY = b'{"ready":true}'
LINGER = """
for line in sys.stdin: pass
while True: signal.pause()
"""


def python(code: str) -> list[str]:
    """The command of a child that runs it."""
    setup = (
        "import json, os, signal, subprocess, sys, time\n"
        "def say(**fields): print(json.dumps(fields), flush=True)\n"
    )
    return [sys.executable, "-I", "-S", "-c", setup + code]


class Client:
    """A receiver that keeps what it gets."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[bytes] = asyncio.Queue()
        self.connected = asyncio.Event()
        self.told = asyncio.Event()
        self.closings = 0
        self.dropped: list[int] = []
        self.busy: Callable[[bytes], Awaitable[None] | None] = lambda data: None
        self.closing: Callable[[], Awaitable[None] | None] = lambda: None
        self.writer: Writer

    def connect(self, writer: Writer) -> Client:
        self.writer = writer
        self.connected.set()
        return self

    def receive(self, data: bytes) -> Awaitable[None] | None:
        self.received.put_nowait(data)
        return self.busy(data)

    def too_long(self, limit: int) -> None:
        self.dropped.append(limit)

    def closed(self) -> Awaitable[None] | None:
        self.closings += 1
        self.told.set()
        return self.closing()

    def rest(self) -> list[bytes]:
        """What came and was not looked at."""
        return [self.received.get_nowait() for _ in range(self.received.qsize())]


def open_fds() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended
            found.update((task / "children").read_text().split())
    return found


def run(
    main: Callable[[], Coroutine[Any, Any, None]],
    new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> None:
    """Run it in a loop of its own; no fd, child, task or thread may be left."""

    async def bounded() -> None:
        async with asyncio.timeout(TIMEOUT):
            await main()
            await asyncio.sleep(0)
            assert len(asyncio.all_tasks()) == 1

    before = open_fds(), children()
    threads = set(threading.enumerate())
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(bounded())
    for thread in set(threading.enumerate()) - threads:
        thread.join(TIMEOUT)
        assert not thread.is_alive()
    assert (open_fds(), children()) == before


@asynccontextmanager
async def started(process: Process) -> AsyncIterator[tuple[Client, asyncio.Task[None]]]:
    """Run it in a task, which is over afterwards."""
    client = Client()
    task = asyncio.create_task(process(client.connect))
    connected = asyncio.create_task(client.connected.wait())
    await asyncio.wait((task, connected), return_when=asyncio.FIRST_COMPLETED)
    if not connected.done():
        connected.cancel()
        await task  # it says why
    try:
        yield client, task
    finally:
        task.cancel()
        await asyncio.wait((task,))
    assert client.closings == 1


async def close(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def for_ever(*_: object) -> None:
    await asyncio.Event().wait()


@contextmanager
def watched(pid: int) -> Iterator[Callable[[], bool]]:
    """Tells whether a process, also one that is no child of ours, ends in time."""
    fd = os.pidfd_open(pid)
    try:
        yield lambda: bool(select.select([fd], [], [], TIMEOUT)[0])
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.close(fd)


def message(number: int, size: int = 0) -> bytes:
    return b'{"id":%d,"text":"%s"}' % (number, b"x" * size)


# --- messages ---------------------------------------------------------------------------


def test_messages_come_back_in_order() -> None:
    async def main() -> None:
        process = Process(["cat"])
        async with started(process) as (client, task):
            pid = process.pid
            assert pid is not None
            assert str(pid) in children()
            for n in range(100):  # one at a time
                client.writer.write(message(n))
                assert await client.received.get() == message(n)
            for n in range(5_000):  # many at once
                client.writer.write(message(n))
            for n in range(5_000):
                assert await client.received.get() == message(n)
            await close(task)
        assert process.returncode == 0
        assert process.pid is None

    run(main)


def test_what_one_turn_of_the_loop_writes_leaves_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writes: list[int] = []

    def write(fd: int, data: bytes) -> int:
        if data.startswith(b'{"id"'):
            writes.append(len(data))
        return real(fd, data)

    real = os.write

    async def main() -> None:
        async with started(Process(["cat"])) as (client, _):
            with monkeypatch.context() as patch:
                patch.setattr(os, "write", write)
                for n in range(200):
                    client.writer.write(message(n))
                for n in range(200):
                    assert await client.received.get() == message(n)
            # The first goes at once, so that who asks one thing does not wait.
            assert len(writes) == 2

    run(main)


def test_neither_side_waits_for_the_other_to_read() -> None:
    """`cat` stops to read until somebody reads what it wrote."""

    async def main() -> None:
        async with started(Process(["cat"])) as (client, _):
            for n in range(20):
                client.writer.write(message(n, 2**20))
            for n in range(20):
                assert await client.received.get() == message(n, 2**20)

    run(main)


def test_garbage_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    garbage = [
        *("hello", "[INFO] started", "{'a': 1}", "12", '"text"', "null", '{"a": 1'),
        *('{"a": 1} {"b": 2}', "[" * 100_000, "\x00\x1b[31m", "é"),
    ]
    code = f"""
say(n=1)
for line in {garbage!r}: print(line)
for _ in range(10_000): print("noise")
sys.stdout.buffer.write(b"\\xff\\xfe\\n \\t\\r\\n\\n")
print("  [1]\\r")
say(n=2)
"""

    async def main() -> None:
        async with started(Process(python(code))) as (client, task):
            await task
            assert client.rest() == [b'{"n": 1}', b"[1]", b'{"n": 2}']

    with caplog.at_level(logging.WARNING, logger="mcpgen"):
        run(main)
    # Enough to see what goes on, but no flood, and not what may be in a long line.
    assert len(caplog.records) == 20
    assert "'hello'" in caplog.messages[0]
    assert max(map(len, caplog.messages)) < 200


def peak() -> int:
    """The most memory that this process held since the last call, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            most = int(line.split()[1]) * 1024
    Path("/proc/self/clear_refs").write_text("5")
    return most


def test_a_line_of_100_megabytes_is_dropped_as_it_comes() -> None:
    code = """
say(n=1)
for _ in range(100): sys.stdout.write("x" * 1_000_000)
print()
say(n=2)
"""

    async def main() -> None:
        gc.collect()
        peak()
        before = peak()
        async with started(Process(python(code), max_line=2**20)) as (client, task):
            await task
            assert client.rest() == [b'{"n": 1}', b'{"n": 2}']
            assert client.dropped == [2**20]
        assert peak() - before < 16 * 2**20

    run(main)


# --- backpressure -----------------------------------------------------------------------


def test_a_flood_waits_while_the_receiver_is_busy() -> None:
    code = """
sys.stdin.readline()
say(n=-1)
sys.stdin.readline()
os.set_blocking(1, False)
n = sent = 0
line = lambda: b'{"n":%9d,"text":"%s"}\\n' % (n, b"x" * 4000)
data = b""
try:
    while sent < 2**24:
        data = data or line()
        count = os.write(1, data)
        data, sent = data[count:], sent + count
        n += not data
except BlockingIOError:
    pass
print(sent, file=sys.stderr, flush=True)
os.set_blocking(1, True)
sys.stdout.buffer.write(data)
n += bool(data)
while n < 3_000:
    sys.stdout.buffer.write(line())
    n += 1
sys.stdout.flush()
"""

    async def main() -> None:
        said: asyncio.Queue[str] = asyncio.Queue()
        process = Process(python(code), stderr=said.put_nowait)
        async with started(process) as (client, task):
            free = asyncio.Event()

            async def wait(data: bytes) -> None:
                await free.wait()

            client.busy = wait
            client.writer.write(b"{}")
            assert await client.received.get() == b'{"n": -1}'
            client.writer.write(b"{}")
            # It filled the pipe, and no more was taken from it.
            assert int(await said.get()) <= 2**20
            assert client.received.empty()
            free.set()
            for n in range(3_000):
                assert json.loads(await client.received.get())["n"] == n
            await task

    run(main)


def test_drain_waits_for_a_child_that_does_not_read() -> None:
    code = """
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
say(ready=True)
signal.sigwait([signal.SIGUSR1])
total = 0
while chunk := os.read(0, 2**20):
    total += len(chunk)
    if chunk.endswith(b"]\\n"): say(total=total)
"""

    async def main() -> None:
        process = Process(python(code))
        async with started(process) as (client, _):
            assert json.loads(await client.received.get()) == {"ready": True}
            sent = 0

            async def flood() -> None:
                nonlocal sent
                for n in range(50):
                    client.writer.write(message(n, 2**20))
                    await client.writer.drain()
                    sent += 1

            flooding = asyncio.create_task(flood())
            assert not (await asyncio.wait((flooding,), timeout=0.3))[0]
            assert sent <= 2
            assert process.pid is not None
            os.kill(process.pid, signal.SIGUSR1)
            await flooding
            client.writer.write(b"[]")
            total = sum(len(message(n, 2**20)) + 1 for n in range(50)) + 3
            assert json.loads(await client.received.get()) == {"total": total}

    run(main)


def test_drain_ends_when_the_child_does() -> None:
    async def main() -> None:
        process = Process(python("say(ready=1); signal.pause()"))
        async with started(process) as (client, task):
            await client.received.get()
            client.writer.write(b"x" * 2**22)
            draining = asyncio.create_task(client.writer.drain())
            await asyncio.sleep(0)
            assert not draining.done()
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            await draining
            await task
            client.writer.write(b"{}")  # nobody there, and nothing happens
            await client.writer.drain()

    run(main)


# --- ends of its own --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "returncode", "received"),
    [
        ("", 0, []),
        ("sys.exit(7)", 7, []),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, []),
        ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV, []),
        ("say(n=1); print('{\"n\":2', end=''); sys.exit(3)", 3, [b'{"n": 1}']),
        ("say(n=1); print('{\"n\":2}', end='')", 0, [b'{"n": 1}', b'{"n":2}']),
        ("sys.stdin.readline(); say(n=1); os._exit(4)", 4, [b'{"n": 1}']),
    ],
    ids=["nothing", "exit", "killed", "fault", "half a line", "no newline", "answer"],
)
def test_a_child_that_ends(code: str, returncode: int, received: list[bytes]) -> None:
    async def main() -> None:
        process = Process(python(code), grace=LONG)
        async with started(process) as (client, task):
            client.writer.write(b"{}")
            client.writer.write(message(1, 100_000))
            await task
            assert client.rest() == received
        assert process.returncode == returncode
        assert process.pid is None

    run(main)


def test_the_last_words_are_all_heard() -> None:
    """It ends while much of its output is unread, and nothing of that is lost."""
    code = """
print("\\n".join('{"n":%d}' % n for n in range(5_000)))
print("\\n".join(str(n) for n in range(5_000)), file=sys.stderr)
"""

    async def main() -> None:
        said: list[str] = []
        process = Process(python(code), stderr=said.append, grace=LONG)
        async with started(process) as (client, task):
            client.busy = lambda data: asyncio.sleep(0)
            await task
            assert len(client.rest()) == 5_000
        assert said == [str(n) for n in range(5_000)]
        assert process.stderr_tail == said[-20:]

    run(main)


def test_a_child_that_closes_its_output_but_lives_on() -> None:
    async def main() -> None:
        process = Process(python("os.close(1)\n" + LINGER), grace=0.1)
        async with started(process) as (_, task):
            await task
        assert process.returncode == -signal.SIGTERM

    run(main)


def test_a_child_that_closes_its_input_but_speaks_on() -> None:
    code = """
os.close(0)
say(ready=True)
signal.signal(signal.SIGTERM, lambda *_: (say(last=True), os._exit(0)))
while True: signal.pause()
"""

    async def main() -> None:
        process = Process(python(code), grace=0.2)
        async with started(process) as (client, task):
            await client.received.get()
            client.writer.write(b"{}")
            await task
            assert client.rest() == [b'{"last": true}']
        assert process.returncode == 0

    run(main)


def test_a_server_can_be_started_again() -> None:
    async def main() -> None:
        script = "read go; echo once >&2; kill -9 $$"
        process = Process(["sh", "-c", script], stderr=print)
        pids = set()
        for _ in range(3):
            async with started(process) as (client, task):
                pids.add(process.pid)
                assert process.returncode is None
                assert process.stderr_tail == []
                client.writer.write(b"{}")
                await task
            assert process.returncode == -signal.SIGKILL
            assert process.stderr_tail == ["once"]
        assert len(pids) == 3

    run(main)


# --- stderr -----------------------------------------------------------------------------


def test_the_last_lines_of_stderr_are_kept() -> None:
    code = r"""
for n in range(40): print("line", n, file=sys.stderr)
sys.stderr.flush()
os.write(2, b"  indented \xff\xfe\xc3\xa9\r\n\n" + b"w" * 10_000 + b"\nhalf")
"""

    async def main() -> None:
        said: list[str] = []
        process = Process(python(code), stderr=said.append)
        async with started(process) as (_, task):
            await task
        last = ["  indented \ufffd\ufffdé", "", "w" * 10_000, "half"]
        assert said == [*(f"line {n}" for n in range(40)), *last]
        last[2] = "w" * 2_000
        assert process.stderr_tail == [*(f"line {n}" for n in range(24, 40)), *last]

    run(main)


def test_a_line_of_stderr_that_never_ends_is_not_kept_whole() -> None:
    code = "for _ in range(100): sys.stderr.write('x' * 1_000_000)\nprint('end')"

    async def main() -> None:
        said: list[str] = []
        before = peak() and peak()
        process = Process(python(code), stderr=said.append)
        async with started(process) as (_, task):
            await task
        assert [len(line) <= 2 * lines.CHUNK for line in said] == [True]
        assert process.stderr_tail == ["x" * 2_000]
        assert peak() - before < 16 * 2**20

    run(main)


def test_stderr_goes_on_to_our_own(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        process = Process(["sh", "-c", "echo one >&2; echo two >&2"])
        async with started(process) as (_, task):
            await task

    run(main)
    assert capsys.readouterr() == ("", "one\ntwo\n")


def test_a_bug_in_who_takes_stderr_ends_nothing() -> None:
    async def main() -> None:
        reported = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: reported.set())

        def fail(line: str) -> None:
            raise LookupError(line)

        process = Process(["sh", "-c", "echo oops >&2; exec cat"], stderr=fail)
        async with started(process) as (client, _):
            await reported.wait()
            client.writer.write(READY)
            assert await client.received.get() == READY
        assert process.stderr_tail == ["oops"]

    run(main)


# --- closing ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "returncode"),
    [
        ("sys.stdin.read(); say(late=True); sys.exit(5)", 5),
        (LINGER, -signal.SIGTERM),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + LINGER, -signal.SIGKILL),
    ],
    ids=["ends at EOF", "ignores EOF", "ignores SIGTERM"],
)
def test_closing(code: str, returncode: int) -> None:
    async def main() -> None:
        process = Process(python("say(ready=1)\n" + code), grace=0.2)
        if returncode >= 0:
            process.grace = LONG
        async with started(process) as (client, task):
            await client.received.get()
            await close(task)
            assert client.rest() == []  # nothing comes after the end
        assert process.returncode == returncode

    run(main)


def test_a_child_that_writes_a_lot_at_its_end_is_not_stuck() -> None:
    code = "say(ready=1); sys.stdin.read(); print('x' * 10_000_000); sys.exit(6)"

    async def main() -> None:
        process = Process(python(code), grace=LONG)
        async with started(process) as (client, task):
            client.busy = for_ever
            await client.received.get()
            await close(task)
        assert process.returncode == 6

    run(main)


def test_what_was_written_before_closing_arrives() -> None:
    code = "say(ready=1)\nfor line in sys.stdin: print(len(line), file=sys.stderr)"

    async def main() -> None:
        process = Process(python(code), stderr=print, grace=LONG)
        async with started(process) as (client, task):
            await client.received.get()
            for n in range(4):
                client.writer.write(message(n, 10**6))

            async def say_goodbye() -> None:
                client.writer.write(b"[]")

            client.closing = say_goodbye
            await close(task)
        size = len(message(0, 10**6)) + 1
        assert process.stderr_tail == [*[str(size)] * 4, "3"]

    run(main)


def test_a_receiver_that_takes_too_long_to_close() -> None:
    async def main() -> None:
        process = Process(["cat"], grace=0.1)
        async with started(process) as (client, task):
            client.closing = for_ever
            await close(task)
        assert process.returncode is not None  # gently or not: a busy machine decides

    run(main)


def test_cancelled_twice() -> None:
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say(ready=1)\n" + LINGER

    async def main() -> None:
        process = Process(python(code), grace=LONG)
        async with started(process) as (client, task):
            await client.received.get()
            task.cancel()
            await client.told.wait()
            await close(task)
        assert process.returncode == -signal.SIGKILL

    run(main)


def test_cancelled_twice_while_busy() -> None:
    async def main() -> None:
        process = Process(python("say(ready=1)\n" + LINGER), grace=LONG)
        async with started(process) as (client, task):
            client.busy = client.closing = for_ever
            await client.received.get()
            client.writer.write(b"x" * 2**22)  # much is unsent, too
            task.cancel()
            await client.told.wait()
            await close(task)
            await asyncio.sleep(0)
        assert process.returncode == -signal.SIGKILL

    run(main)


def test_cancelled_before_it_runs_and_while_it_connects() -> None:
    async def main() -> None:
        process, client = Process(["cat"]), Client()
        task = asyncio.create_task(process(client.connect))
        await close(task)  # before its first step
        assert not client.connected.is_set()
        assert process.returncode is None

        def connect(writer: Writer) -> Client:
            task.cancel()
            return client.connect(writer)

        task = asyncio.create_task(process(connect))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert client.closings == 1
        assert process.returncode == 0

    run(main)


def test_closed_by_several_tasks() -> None:
    async def main() -> None:
        process = Process(["cat"], grace=LONG)
        async with started(process) as (_, task):

            async def cancel() -> None:
                task.cancel()
                await asyncio.wait((task,))

            await asyncio.gather(cancel(), cancel())
        assert process.returncode in (0, -signal.SIGKILL)  # the second does not wait

    run(main)


def test_a_receiver_that_fails() -> None:
    async def main() -> None:
        def fail(data: bytes) -> None:
            raise LookupError("a bug")

        async def fail_later() -> None:
            raise LookupError("a late bug")

        for bug in (fail, lambda data: fail_later()):
            process = Process(["cat"], grace=0.2)
            async with started(process) as (client, task):
                client.busy = bug
                client.writer.write(READY)
                client.writer.write(READY)
                with pytest.raises(LookupError, match="bug"):
                    await task
            assert process.returncode == 0

    run(main)


def test_a_connect_that_fails() -> None:
    async def main() -> None:
        def connect(writer: Writer) -> Client:
            raise LookupError("a bug")

        process = Process(["cat"])
        with pytest.raises(LookupError):
            await process(connect)
        assert process.pid is None
        assert process.returncode is not None

    run(main)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the order is up to the GC
def test_a_loop_that_is_closed_without_care() -> None:
    process = Process(["cat"], grace=LONG)
    before = open_fds(), children()

    async def main() -> int:
        client = Client()
        asyncio.ensure_future(process(client.connect))  # noqa: RUF006
        await asyncio.wait_for(client.connected.wait(), TIMEOUT)
        assert process.pid is not None
        return process.pid

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # it complains of the pending task
    with watched(loop.run_until_complete(main())) as ends:
        loop.close()
        del loop
        gc.collect()
        assert ends()
    assert (open_fds(), children()) == before


# --- grandchildren ----------------------------------------------------------------------

TELL = "echo '{\"pid\":'$!'}';"


@pytest.mark.parametrize(
    ("script", "grace"),
    [
        (f"sleep 1000 & {TELL} exit 5", LONG),
        (f"(trap '' TERM; while :; do sleep 1; done) & {TELL} exit 5", 0.2),
        (f"sleep 1000 >/dev/null 2>&1 & {TELL} exit 5", LONG),
    ],
    ids=["holds the pipes", "ignores SIGTERM", "holds nothing"],
)
def test_a_grandchild_does_not_outlive_a_crash(script: str, grace: float) -> None:
    async def main() -> None:
        process = Process(["sh", "-c", "read go; " + script], grace=grace)
        async with started(process) as (client, task):
            client.writer.write(b"{}")
            pid = json.loads(await client.received.get())["pid"]
            with suppress(ProcessLookupError), watched(pid) as ends:
                await task
                assert ends()
        assert process.returncode == 5

    run(main)


def test_a_grandchild_does_not_outlive_closing() -> None:
    async def main() -> None:
        script = f"trap '' TERM; sleep 1000 & {TELL} while :; do wait; done"
        process = Process(["sh", "-c", script], grace=0.1)
        async with started(process) as (client, task):
            pid = json.loads(await client.received.get())["pid"]
            with watched(pid) as ends:
                await close(task)
                assert ends()
        assert process.returncode == -signal.SIGKILL

    run(main)


def test_a_wrapper_dies_and_its_server_may_still_tidy_up() -> None:
    server = """
signal.signal(signal.SIGTERM, lambda *_: (print("tidied", file=sys.stderr), os._exit(0)))
say(ready=1)
while True: signal.pause()
"""
    wrapper = f"subprocess.run({python(server)!r})"

    async def main() -> None:
        process = Process(python(wrapper), stderr=print, grace=0.5)
        async with started(process) as (client, task):
            await client.received.get()
            await close(task)
        assert process.stderr_tail == ["tidied"]
        assert process.returncode == -signal.SIGTERM

    run(main)


def test_a_grandchild_that_left_the_group_cannot_keep_us() -> None:
    code = """
child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
say(pid=child.pid)
os._exit(5)
"""

    async def main() -> None:
        process = Process(python(code), grace=0.1)
        async with started(process) as (client, task):
            pid = json.loads(await client.received.get())["pid"]
            with watched(pid) as ends:
                await task
                os.kill(pid, signal.SIGKILL)  # it is none of ours
                assert ends()
        assert process.returncode == 5

    run(main)


# --- how it starts ----------------------------------------------------------------------


def test_a_command_that_cannot_be_started(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    nowhere = tmp_path / "nowhere"

    async def main() -> None:
        for command, cwd, said in (
            (["no-such-command", "--key=s3cret"], None, "no-such-command"),
            ([str(plain)], None, "Permission denied"),
            ([str(tmp_path)], None, "Permission denied"),
            (["cat"], nowhere, "nowhere"),
            (["cat"], plain, "Not a directory"),
        ):
            process = Process(command, cwd=cwd)
            with pytest.raises(ConnectionClosed, match=said) as caught:
                await process(Client().connect)
            assert command[0] in str(caught.value)
            assert "s3cret" not in str(caught.value)
            assert process.pid is process.returncode is None

    run(main)


@pytest.mark.parametrize("command", ["cat file", [], ""])
def test_a_command_is_a_list(command: Any) -> None:
    with pytest.raises(TypeError, match="list"):
        Process(command)


def test_the_child_sees_little_of_our_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("API_TOKEN", "s3cret")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("HOME", "/somewhere")
    code = (
        "say(env=dict(os.environ), cwd=os.getcwd(), group=os.getpgid(0) == os.getpid())"
    )

    async def main() -> None:
        process = Process(
            python(code), env={"MINE": "1", "HOME": "/else"}, cwd=tmp_path
        )
        async with started(process) as (client, task):
            await task
            seen = json.loads(await client.received.get())
        assert seen["cwd"] == str(tmp_path)
        assert seen["group"]
        env = seen["env"]
        assert (env["MINE"], env["HOME"], env["LC_TIME"]) == ("1", "/else", "C")
        allowed = {"PATH", "LANG", "TERM", "TMPDIR", "USER", "SHELL", "VIRTUAL_ENV"}
        more = {name for name in env if not name.startswith("LC_")} - allowed
        assert more <= {"MINE", "HOME", "TEMP", "TMP", "USERNAME"}

    run(main)


def test_fifty_children_at_once() -> None:
    async def one(n: int) -> None:
        async with started(Process(["cat"])) as (client, _):
            for _ in range(20):
                client.writer.write(message(n))
                assert await client.received.get() == message(n)

    async def main() -> None:
        await asyncio.gather(*map(one, range(50)))

    run(main)


# --- loops, threads, other systems ------------------------------------------------------


async def everything() -> None:
    """The main things that a child and we can do."""
    process = Process(["cat"])
    async with started(process) as (client, task):
        for n in range(300):
            client.writer.write(message(n, 1_000))
            assert await client.received.get() == message(n, 1_000)
        await close(task)
    assert process.returncode == 0
    process = Process(["sh", "-c", "echo oops >&2; echo '{}'; exit 3"], stderr=print)
    async with started(process) as (client, task):
        await task
        assert client.rest() == [b"{}"]
    assert (process.returncode, process.stderr_tail) == (3, ["oops"])
    process = Process(python("say(ready=1)\n" + LINGER), grace=0.1)
    async with started(process) as (client, task):
        await client.received.get()
        await close(task)
    assert process.returncode == -signal.SIGTERM


def test_in_a_thread() -> None:
    failures: list[BaseException] = []

    def target() -> None:
        try:
            run(everything)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join(TIMEOUT)
    assert failures == []
    assert not thread.is_alive()


def test_with_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")
    new_loop = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.sleep(0))  # its first loop opens what it keeps for ever
    run(everything, new_loop)


def test_without_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    run(everything)


def test_where_a_loop_cannot_watch_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.setattr(lines, "can_poll", lambda fd: False)
    run(everything)


def test_it_starts_fast() -> None:
    async def main() -> None:
        best = LONG
        for _ in range(20):
            begin = time.perf_counter()
            async with started(Process(["cat"])) as (client, _):
                client.writer.write(READY)
                await client.received.get()
                best = min(best, time.perf_counter() - begin)
        assert best < 0.1  # it is about 2 ms

    run(main)
