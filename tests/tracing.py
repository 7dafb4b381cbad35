"""Sessions that are recorded, for tests: processes, and what was written of them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcpgen.recording import Entry, Header, read

ROOT = Path(__file__).parent.parent
TRACE = [sys.executable, "-m", "mcpgen", "trace"]
TIME_LIMIT = 60.0


def command(file: Path, *words: str, options: tuple[str, ...] = ()) -> list[str]:
    """A command that is traced."""
    return [*TRACE, "-o", str(file), *options, "--", *words]


def program(source: str) -> list[str]:
    """A server that is a few lines."""
    return [sys.executable, "-c", source]


MEASURED = program(
    "import resource, signal, subprocess, sys\n"
    "signal.signal(signal.SIGINT, lambda *_: None)\n"
    "subprocess.run(sys.argv[1:], check=True)\n"
    "most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
    "print(most // (1024 if sys.platform == 'darwin' else 1), file=sys.stderr)\n"
)
"""Goes before a command; in the end it prints the kilobytes of its largest process."""


@contextmanager
def running(words: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process with pipes, which ends with the test at the latest."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(words, cwd=ROOT, **pipes | options) as process:
        limit = threading.Timer(TIME_LIMIT, process.kill)
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            process.kill()  # does nothing to one that has ended


def recorded(file: Path) -> tuple[Header, list[Entry]]:
    """What is in a recording."""
    with file.open("rb") as lines:
        header, entries = read(lines, file.name)
        return header, [entry for _, entry in entries]
