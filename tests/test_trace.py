"""`mcpgen trace` before servers on stdio: nothing changes, and all is written down."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import random
import resource
import select
import shlex
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from mcpgen.cli import app
from mcpgen.recording import Entry
from mcpgen.runtime import Client
from mcpgen.trace import command as tracing
from mcpgen.trace.carrier import GRACE
from msgspec import UNSET
from typer.testing import CliRunner

from .tracing import (
    MEASURED,
    ROOT,
    TIME_LIMIT,
    TRACE,
    command,
    program,
    recorded,
    running,
)

ECHO = """
import os
while data := os.read(0, 65536):
    os.write(2, data[:7].hex().encode() + b"\\n")
    while data:
        data = data[os.write(1, data):]
"""
"""Says what it hears, and something on stderr."""
CAT = program(ECHO.replace('os.write(2, data[:7].hex().encode() + b"\\n")', "pass"))


def said(entries: list[Entry], source: str) -> list[Any]:
    """Each frame decoded, each text as it is."""
    return [
        json.loads(bytes(entry.frame)) if entry.frame is not UNSET else entry.text
        for entry in entries
        if entry.source == source
    ]


def finish(
    file: Path, server: list[str], data: bytes = b"", *options: str, code: int = 0
) -> subprocess.CompletedProcess[bytes]:
    """A session from its begin to its end."""
    done = subprocess.run(
        command(file, *server, options=options),
        cwd=ROOT,
        input=data,
        capture_output=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


# --- every byte -----------------------------------------------------------------------


def test_bytes_come_out_as_they_went_in(tmp_path: Path) -> None:
    chance = random.Random(7)
    pieces = [
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        b'{"jsonrpc":"2.0","method":"crlf"}\r\n',
        b"\n\r\n  \n",
        b'"\xff\xfe invalid"\n',
        chance.randbytes(300_000),
        b"\n" + b"x" * 1_000_000 + b"\n",
        b"[" * 100_000 + b"\n",
        b'{"no newline":"at the end"}',
    ]
    data = b"".join(pieces)
    done = finish(tmp_path / "s.jsonl", program(ECHO), data)
    assert done.stdout == data
    header, entries = recorded(tmp_path / "s.jsonl")
    assert header.transport == "stdio"
    for source in ("client", "server"):
        found = said(entries, source)
        assert found[0] == {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert found[1] == {"jsonrpc": "2.0", "method": "crlf"}
        assert found[2] == '"\ufffd\ufffd invalid"'
        assert found[-1] == {"no newline": "at the end"}
        assert "x" * 1_000_000 in found
    stderr = "".join(f"{line}\n" for line in said(entries, "stderr"))
    assert stderr.encode() == done.stderr
    assert entries[-1].source == "exit"


def test_indentation_is_kept_and_hides_no_secret(tmp_path: Path) -> None:
    text = "Traceback:\n  File x\n\tcode=abcdefgh&state=1\n  \n"
    server = program(f"import sys; print({text!r}, file=sys.stderr)")
    finish(tmp_path / "s.jsonl", server)
    assert said(recorded(tmp_path / "s.jsonl")[1], "stderr") == [
        *("Traceback:", "  File x", "\tcode=[redacted]&state=1"),
    ]


def test_order_pairs_and_latencies(tmp_path: Path) -> None:
    server = program(
        "import sys\n"
        "print('hello')\n"
        "sys.stdin.readline(), sys.stdin.readline(), sys.stdin.readline()\n"
        'print(\'{"jsonrpc":"2.0","id":"a","method":"roots/list"}\')\n'
        'print(\'{"jsonrpc":"2.0","id":2,"result":{}}\')\n'
        'print(\'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}\')\n'
        'print(\'{"jsonrpc":"2.0","id":1,"result":{}}\', flush=True)\n'
        "sys.stdin.readline()\n"
    )
    frames = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
        {"jsonrpc": "2.0", "method": "notifications/x"},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        {"jsonrpc": "2.0", "id": "a", "result": {}},
    ]
    lines = [json.dumps(frame).encode() + b"\n" for frame in frames]
    file = tmp_path / "s.jsonl"
    with running(command(file, *server)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(lines[:3]))
        process.stdin.flush()
        heard = [process.stdout.readline() for _ in range(5)]
        assert heard[0] == b"hello\n"
        process.communicate(lines[3])
    _, entries = recorded(file)
    times = [entry.t for entry in entries]
    assert times == sorted(times)
    answered = {
        (entry.source, json.loads(bytes(entry.frame))["id"]): entry
        for entry in entries
        if entry.ms is not UNSET and entry.frame is not UNSET
    }
    methods = {key: entry.method for key, entry in answered.items()}
    assert methods == {
        ("server", 2): "ping",
        ("server", 1): "tools/call",
        ("client", "a"): "roots/list",
    }
    for entry in answered.values():
        assert isinstance(entry.ms, float)
        assert 0 < entry.ms < TIME_LIMIT * 1000
    # The second answer to 1 answers nothing.
    assert [entry.method for entry in entries].count("tools/call") == 1


def test_a_batch_is_one_frame(tmp_path: Path) -> None:
    batch = (
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]\n'
    )
    odd = b"3\nnull\n[1,[]]\n"
    finish(tmp_path / "s.jsonl", CAT, batch + odd)
    _, entries = recorded(tmp_path / "s.jsonl")
    assert said(entries, "client") == [json.loads(batch), 3, None, [1, []]]


# --- how it ends ----------------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 7, 255])
def test_the_exit_status_is_the_servers(tmp_path: Path, status: int) -> None:
    finish(tmp_path / "s", program(f"raise SystemExit({status})"), code=status)
    assert recorded(tmp_path / "s")[1][-1].code == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_so_is_a_death_by_signal(tmp_path: Path, number: int) -> None:
    server = program(
        "import os, resource\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        f"os.kill(os.getpid(), {number})"
    )
    finish(tmp_path / "s", server, code=-number)
    assert recorded(tmp_path / "s")[1][-1].code == -number


LISTENER = """
import os, signal, sys
def hear(number, frame):
    # Not print: a signal may come while one is still under way.
    os.write(1, signal.Signals(number).name.encode() + b"\\n")
    sys.exit(40 + number)
for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1"):
    signal.signal(getattr(signal, name), hear)
os.write(1, b"ready\\n")
signal.pause()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_signals_reach_the_server(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    with running(command(tmp_path / "s", *program(LISTENER))) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (40 + number, f"{name}\n".encode(), b"")


def test_the_server_gets_the_signals_as_they_were(tmp_path: Path) -> None:
    """Nothing is blocked, and what Python ignores is not ignored."""
    show = program("print(open('/proc/self/status').read())")
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc to look at")

    def masks(text: bytes) -> dict[bytes, int]:
        lines = [line.split(b":\t") for line in text.splitlines()]
        named = [line for line in lines if line[0] in (b"SigBlk", b"SigIgn")]
        # From 32 on they are the C library's own.
        return {name: int(mask, 16) & (2**31 - 1) for name, mask in named}

    alone = subprocess.run(show, capture_output=True, timeout=TIME_LIMIT, check=True)
    assert masks(finish(tmp_path / "s", show).stdout) == masks(alone.stdout)


def test_the_server_gets_the_environment_as_it_was(tmp_path: Path) -> None:
    """Python adds a locale to one without."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("no /proc to look at")
    locales = {"none": {}, "some": {"LC_CTYPE": "C.UTF-8"}, "odd": {"X": "\udcff=\n"}}
    for name, more in locales.items():
        given = {"PATH": os.environ["PATH"], **more}
        words = command(tmp_path / name, "env", "-0")
        with running(words, env=given) as process:
            out, _ = process.communicate()
        expected = {os.fsencode(f"{name}={value}") for name, value in given.items()}
        assert {*out.split(b"\0")} == {*expected, b""}


@pytest.mark.skipif(
    not hasattr(signal, "sigwaitinfo"), reason="nobody tells who sent a signal"
)
def test_ctrl_c_on_a_terminal_comes_once(tmp_path: Path) -> None:
    """The terminal tells the whole group; so the tracer need not."""
    count = program(
        "import os, signal\n"
        "heard, hear = os.pipe()\n"
        "signal.signal(signal.SIGINT, lambda *_: os.write(hear, b'\\1'))\n"
        "signal.signal(signal.SIGUSR1, lambda *_: os.write(hear, b'\\2'))\n"
        "print('ready', flush=True)\n"
        "found = [*os.read(heard, 1)]\n"
        "print('heard', flush=True)\n"
        "while 2 not in found: found += os.read(heard, 1)\n"
        "print(found, flush=True)\n"
    )
    main, terminal = pty.openpty()
    leader = (
        "import fcntl, os, sys, termios\n"
        "os.setsid()\n"
        f"fcntl.ioctl({terminal}, termios.TIOCSCTTY, 0)\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n"
    )
    words = [sys.executable, "-c", leader, *command(tmp_path / "s", *count)]
    with running(words, pass_fds=[terminal]) as process:
        os.close(terminal)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.write(main, b"\x03")
        assert process.stdout.readline() == b"heard\n"
        process.send_signal(signal.SIGUSR1)  # after SIGINT, if that is passed on
        assert process.stdout.readline() == b"[1, 2]\n"
        process.communicate()
    os.close(main)


def test_the_end_of_input_passes(tmp_path: Path) -> None:
    server = program("import sys; sys.stdin.read(); print('the end')")
    assert finish(tmp_path / "s", server).stdout == b"the end\n"


def test_a_server_that_closes_its_output_lives_on(tmp_path: Path) -> None:
    server = program("import os, sys; os.close(1); sys.stdin.read(); os._exit(5)")
    with running(command(tmp_path / "s", *server)) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.poll() is None
        process.communicate()
    assert process.returncode == 5


def test_a_server_that_closes_its_input_is_heard_of(tmp_path: Path) -> None:
    server = program(
        "import os, signal; os.close(0); os.write(1, b'closed\\n'); signal.pause()"
    )
    with running(command(tmp_path / "s", *server)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"closed\n"
        with pytest.raises(BrokenPipeError):  # noqa: PT012
            while True:
                os.write(process.stdin.fileno(), b"x" * 65536)
        process.terminate()
        process.wait()
    assert process.returncode == -signal.SIGTERM


def test_a_client_that_reads_no_more_is_heard_of(tmp_path: Path) -> None:
    server = program(
        "import os\n"
        "try:\n"
        "    while True: os.write(1, b'x' * 4096)\n"
        "except BrokenPipeError: os._exit(6)"
    )
    with running(command(tmp_path / "s", *server)) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.wait() == 6


def test_a_server_that_dies_while_the_client_writes(tmp_path: Path) -> None:
    server = program("import sys; sys.stdin.readline(); sys.exit(3)")
    finish(tmp_path / "s", server, b"x\n" + b"y" * 5_000_000, code=3)


def test_a_client_that_reads_late_gets_all(tmp_path: Path) -> None:
    server = program("print('x' * 150_000)")  # more than its pipe, less than two
    with running(command(tmp_path / "s", *server)) as process:
        assert process.stdout is not None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2 * GRACE)
        assert process.stdout.read() == b"x" * 150_000 + b"\n"
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("says", "pause"), [("", GRACE), ("still here", GRACE / 5), ("x" * 4096, 0)]
)
def test_nobody_waits_for_what_a_server_left_running(
    tmp_path: Path, says: str, pause: float
) -> None:
    """It has the pipes, too, and ends when the test closes its own."""
    lives, ends = os.pipe()
    child = program(
        "import os, select\n"
        f"while not select.select([{lives}], [], [], {pause})[0]:\n"
        f"    os.write(2, {says.encode()!r})"
    )
    server = program(
        "import subprocess\n"
        f"subprocess.Popen({child!r}, pass_fds=[{lives}])\n"
        "print('last words')"
    )
    words, unheard = command(tmp_path / "s", *server), subprocess.DEVNULL
    with running(words, pass_fds=[lives], stderr=unheard) as process:
        assert process.wait() == 0
        assert process.stdout is not None
        assert process.stdout.readline() == b"last words\n"
        os.close(ends)
    os.close(lives)


FLOOD = program("import os\nwhile True: os.write(1, b'x' * 1000)")


def test_after_a_signal_nobody_waits_for_who_does_not_read(tmp_path: Path) -> None:
    with running(command(tmp_path / "s", *FLOOD)) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"x"
        process.terminate()
        assert process.wait() == -signal.SIGTERM
    assert recorded(tmp_path / "s")[1][-1].code == -signal.SIGTERM


def test_a_signal_after_the_server_has_ended(tmp_path: Path) -> None:
    """The status is still the server's, and the recording has its end."""
    server = program(
        "import signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "print('x' * 150_000)\n"
        "sys.exit(3)"
    )
    with running(command(tmp_path / "s", *server)) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"x"
        process.terminate()
        assert process.wait() == 3
    assert recorded(tmp_path / "s")[1][-1].code == 3


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "0<&- 1>&-", "0<&- 1>&- 2>&-"])
def test_standard_streams_that_are_closed(tmp_path: Path, closed: str) -> None:
    """Neither the recording nor a pipe gets the number of one of them."""
    server = program("import sys; print('{}'); sys.exit(sys.stdin.readline() != '')")
    words = shlex.join(command(tmp_path / "s", *server))
    with running(["sh", "-c", f"{words} {closed}"]) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert out == (b"" if "1>&-" in closed else b"{}\n")
    assert said(recorded(tmp_path / "s")[1], "server") == [{}]


def test_a_tracer_that_is_killed_leaves_nobody_behind(tmp_path: Path) -> None:
    alive, lives = os.pipe()
    server = program(
        f"import os, sys\nprint('ready', flush=True)\nsys.stdin.read()\nos.write({lives}, b'.')"
    )
    with running(command(tmp_path / "s", *server), pass_fds=[lives]) as process:
        os.close(lives)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        process.wait()
        # Its input has ended, and so it has.
        assert os.read(alive, 2) == b"."
        assert os.read(alive, 2) == b""
    os.close(alive)


# --- the file -------------------------------------------------------------------------


def test_only_we_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        finish(tmp_path / "s", CAT)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600


def test_a_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "s"
    file.write_text("mine")
    done = finish(file, program("print('started')"), code=2)
    assert b"output-occupied" in done.stderr
    assert b"--force" in done.stderr
    assert not done.stdout
    assert file.read_text() == "mine"
    with file.open("rb") as old:
        finish(file, CAT, b"", "--force")
        assert old.read() == b"mine"  # it was replaced, not written to
    assert recorded(file)[1][-1].code == 0


@pytest.mark.parametrize("name", ["file/", "file/s/", "file/s"])
def test_where_there_can_be_no_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    words = [*TRACE, "-o", f"{tmp_path}/{name}", "--", *CAT]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, timeout=TIME_LIMIT, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"error[output-unwritable] ")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("options", [(), ("--force",)])
@pytest.mark.parametrize("exists", [True, False])
def test_no_link_is_followed(
    tmp_path: Path, options: tuple[str, ...], exists: bool
) -> None:
    if exists:
        (tmp_path / "other").write_text("somebody's")
    (tmp_path / "s").symlink_to(tmp_path / "other")
    done = finish(tmp_path / "s", CAT, b"", *options, code=2)
    assert b"output-occupied" in done.stderr
    assert (tmp_path / "other").exists() == exists
    assert not exists or (tmp_path / "other").read_text() == "somebody's"


def test_in_a_directory_every_session_has_a_file(tmp_path: Path) -> None:
    for place in (f"{tmp_path}/new/", f"{tmp_path}/new"):  # the first makes it
        words = [*TRACE, "-o", place, "--", *CAT]
        subprocess.run(words, input=b"", timeout=TIME_LIMIT, check=True)
    files = list((tmp_path / "new").iterdir())
    assert len(files) == 2
    assert all(recorded(file)[1][-1].code == 0 for file in files)


def test_a_full_disk_does_not_end_the_session(tmp_path: Path) -> None:
    """A limit on the size of files stands for it."""
    line = b'{"jsonrpc":"2.0","method":"x","params":{"y":"' + b"z" * 1000 + b'"}}\n'
    with running(
        command(tmp_path / "s", *CAT),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    ) as process:
        out, err = process.communicate(line * 3000)
    assert (process.returncode, out) == (0, line * 3000)
    assert err.count(b"\n") == 1
    assert b"not recorded: File too large" in err
    assert 0 < len(recorded(tmp_path / "s")[1]) < 100


def test_what_cannot_be_started(tmp_path: Path) -> None:
    done = finish(tmp_path / "s", ["no-such-program", "--token", "abc"], code=2)
    assert b"error[command-unusable] no-such-program" in done.stderr
    assert b"abc" not in done.stderr
    assert not (tmp_path / "s").exists()


# --- memory ---------------------------------------------------------------------------


def test_a_hundred_megabytes_pass_through_little_memory(tmp_path: Path) -> None:
    file, size = tmp_path / "s", 100 * 2**20
    start = b'{"jsonrpc":"2.0","method":"x","params":{"data":"'
    end = b'"},"id":"the last"}\n'
    total = len(start) + size + len(end)
    words = [*MEASURED, *command(file, *CAT)]
    with running(words, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, block = process.stdin.fileno(), b"x" * 65536

        def write() -> None:
            os.write(stdin, start)
            for _ in range(size // len(block)):
                left = block
                while left:
                    left = left[os.write(stdin, left) :]
            os.write(stdin, end)

        writer = threading.Thread(target=write)
        writer.start()
        seen = 0
        while seen < total:
            seen += len(os.read(process.stdout.fileno(), 2**20))
        writer.join()
        _, stderr = process.communicate()
    assert int(stderr) < 80_000, "kilobytes"
    _, entries = recorded(file)
    assert entries[0].cut
    assert entries[0].size == total - 1
    assert said(entries, "client") == [
        {"jsonrpc": "2.0", "id": "the last", "method": "x"}
    ]
    assert file.stat().st_size < 10_000


# --- live -----------------------------------------------------------------------------

SPEAKER = program(
    "import sys\n"
    r"""print('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"\\u001b]0;gotcha"}}')"""
    "\nprint('stray \\x1b[2J', flush=True)\n"
    "sys.stdin.readline()\n"
)


def test_live_lines_in_a_pipe_are_plain(tmp_path: Path) -> None:
    frame = b'{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"password":"hunter2"}}\n'
    done = finish(tmp_path / "s", SPEAKER, frame, "--live")
    text = done.stderr.decode()
    assert "\x1b" not in text
    assert "→ a/b #1" in text
    assert "hunter2" not in text
    assert "← no message:  stray \\x1b[2J" in text
    assert "■ the server ended: status 0" in text
    assert b"gotcha" in done.stdout


def test_live_lines_on_a_terminal_have_colours_and_are_not_obeyed(
    tmp_path: Path,
) -> None:
    main, terminal = pty.openpty()
    words = command(tmp_path / "s", *SPEAKER, options=("--live",))
    with running(words, stderr=terminal, env=os.environ | {"TERM": "xterm"}) as process:
        os.close(terminal)
        process.communicate(b"\n")
    shown = b""
    while select.select([main], [], [], 0)[0]:
        try:
            shown += os.read(main, 65536)
        except OSError:
            break
    os.close(main)
    text = shown.decode()
    assert "\x1b[31m← ? #1 error\x1b[0m" in text
    assert "\x1b]0;" not in text
    assert "\x1b[2J" not in text
    assert "\x07" not in text


def test_live_lines_that_nobody_reads_hold_nobody_up(tmp_path: Path) -> None:
    frame = b'{"jsonrpc":"2.0","method":"' + b"x" * 60 + b'"}\n'
    words = command(tmp_path / "s", *CAT, options=("--live",))
    with running(words) as process:  # whose stderr is a pipe that fills up
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(20):
            process.stdin.write(frame * 100)
            process.stdin.flush()
            assert process.stdout.read(len(frame) * 100) == frame * 100
        process.stdin.close()
        assert process.wait() == 0
    assert len(recorded(tmp_path / "s")[1]) == 4001


# --- real servers ---------------------------------------------------------------------


def test_calls_at_once_through_a_tracer(tmp_path: Path) -> None:
    words = command(tmp_path / "s", sys.executable, "-m", "tests.interop.server")

    async def main() -> list[Any]:
        async with Client.stdio(words, cwd=str(ROOT)) as client:
            calls = [client.call_tool("add", a=n, b=n) for n in range(100)]
            results = await asyncio.gather(*calls)
            return [result.structured_content["total"] for result in results]

    assert asyncio.run(main()) == [2 * n for n in range(100)]
    _, entries = recorded(tmp_path / "s")
    frames = [json.loads(bytes(e.frame)) for e in entries if e.frame is not UNSET]
    asked = {f["id"]: f["method"] for f in frames if "method" in f and "id" in f}
    answers = [e for e in entries if e.ms is not UNSET]
    assert len(answers) == len(asked) > 100
    for entry in answers:
        assert entry.frame is not UNSET
        assert asked[json.loads(bytes(entry.frame))["id"]] == entry.method


# --- the way in -----------------------------------------------------------------------

LINES = [
    ["-o", "a", "--", "x"],
    ["--output", "a/", "--live", "--raw", "--force", "--", "x", "-o", "--", "y"],
    ["--live", "-o", "a", "--", "x", ""],
]


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_the_short_way_leads_where_the_long_one_does(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    monkeypatch.setattr(tracing, "trace", lambda options: found.append(vars(options)))
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == 0, result.output
    short = tracing.plain(words)
    assert short is not None
    assert [vars(short)] == found


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["-o", "a", "x"],
        ["-o", "a", "--"],
        ["--", "x"],
        ["-o", "--live", "--", "x"],
        ["-o", "a", "-o", "b", "--", "x"],
        ["-o", "a", "--http", "http://127.0.0.1/", "--", "x"],
        ["-o", "a", "--format", "json", "--", "x"],
        ["-oa", "--", "x"],
    ],
    ids=" ".join,
)
def test_everything_else_takes_the_long_way(words: list[str]) -> None:
    assert tracing.plain(words) is None


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--", "x"], "option-missing"),
        (["-o", "a"], "target-missing"),
        (["-o", "a", "--http", "http://127.0.0.1/", "--", "x"], "target-twice"),
        (["-o", "a", "--port", "99", "--", "x"], "option-pointless"),
        (["-o", "a", "--http", "ftp://u:secret@127.0.0.1/"], "target-malformed"),
        (["-o", "a", "--http", "http://127.0.0.1:65536/"], "target-malformed"),
    ],
)
def test_what_is_wrong_is_said(
    words: list[str], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == 2
    assert f"error[{code}]" in result.stderr
    assert "secret" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_host_waits_for_no_library() -> None:
    source = "import sys; from mcpgen.trace.command import plain; print(*sorted(sys.modules))"
    done = subprocess.run(
        program(source), capture_output=True, text=True, timeout=TIME_LIMIT, check=True
    )
    slow = {"typer", "rich", "msgspec", "asyncio", "dataclasses", "json", "subprocess"}
    assert not slow & set(done.stdout.split())
