"""Run one foreign client against the server, and keep what it saw."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .installed import node_packages, python_sdk

ROOT = Path(__file__).parents[2]
CLIENTS = Path(__file__).parent / "clients"
SERVER = [sys.executable, "-W", "default", "-m", "tests.interop.server"]
"""With every warning that Python has: none is expected."""
TRACE = [sys.executable, "-m", "mcpgen", "trace", "-o"]

CLIENT_SECONDS = 60
START_SECONDS = 30
STOP_SECONDS = 10

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A client, the era or version that it is told to speak, and over what."""

    client: str
    mode: str
    transport: str
    traced: bool = False
    """Does `mcpgen trace` stand between the two?"""

    def __str__(self) -> str:
        name = f"{self.client}-{self.mode}-{self.transport}"
        return f"{name}-traced" if self.traced else name

    @property
    def version(self) -> str:
        """The version that they must agree on."""
        known = {"legacy": "2025-11-25", "auto": "2026-07-28", "modern": "2026-07-28"}
        return known.get(self.mode, self.mode)


@dataclass(frozen=True)
class Seen:
    """What a client reported, and what was said meanwhile on standard error."""

    case: Case
    report: Json
    stderr: str
    recordings: tuple[bytes, ...] = ()
    """What was recorded of a case that is traced: one for each server it started."""

    def __getitem__(self, key: str) -> Any:
        return self.report[key]

    @property
    def version(self) -> str:
        """The version that was agreed on."""
        return str(self.report["protocolVersion"])

    @property
    def modern(self) -> bool:
        """Is it a version without sessions?"""
        return self.version >= "2026-07-28"


class Failed(Exception):
    """A client came to no report, or the server did not serve; the message has why."""


def observe(case: Case) -> Seen:
    """What a case showed; it is run once, and every process has ended then."""
    outcome = _outcome(case)
    if isinstance(outcome, Failed):
        raise outcome
    return outcome


@cache
def _outcome(case: Case) -> Seen | Failed:
    # A failure is kept, too: one that took its time must not take it in every test.
    with tempfile.TemporaryDirectory(prefix="interop-") as scratch:
        log = Path(scratch, "server.log")
        log.touch()
        recordings = Path(scratch, "recordings")
        recordings.mkdir()
        trace = [*TRACE, str(recordings)]
        try:
            if case.transport == "stdio":
                server = [*trace, "--", *SERVER] if case.traced else SERVER
                report, said = _report(case, server)
            else:
                path = {"http": "/mcp", "sse": "/sse"}[case.transport]
                with serving(log) as url, ExitStack() as running:
                    if case.traced:
                        running.enter_context(proxied := _Proxied(trace, url))
                        url = proxied.url
                    report, said = _report(case, [url + path])
                said += _text(log)
            recorded = (path.read_bytes() for path in sorted(recordings.iterdir()))
            return Seen(case, report, said, tuple(recorded))
        except Failed as failure:
            return Failed(f"{failure}\n--- the server said:\n{_text(log)}")


# --- the clients ----------------------------------------------------------------------


def _report(case: Case, target: list[str]) -> tuple[Json, str]:
    kind, major = case.client[:-1], case.client[-1]
    how = [case.mode, case.transport, *target]
    if kind == "python":
        program = [str(python_sdk(int(major))), str(CLIENTS / "python_sdk.py")]
        return _printed([*program, *how])
    packages = node_packages()
    if kind == "typescript":
        script = str(CLIENTS / "typescript_sdk.mjs")
        home = str(packages.home)
        return _printed([str(packages.node), script, home, major, *how])
    return _inspected(case, target)


def _printed(command: list[str]) -> tuple[Json, str]:
    code, out, said = run(command)
    if code:
        raise Failed(f"the client ended with {code}; it said:\n{said}")
    return json.loads(out), said


INSPECTIONS = {
    "initialize": ["initialize"],
    "tools": ["tools/list", "--strict"],
    "add": ["tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3"],
    "primes": ["tools/call", "--tool-name", "primes", "--tool-arg", "below=12"],
    "draw": ["tools/call", "--tool-name", "draw"],
    "fail": ["tools/call", "--tool-name", "divide", "--tool-arg", "a=1", "b=0"],
    "resources": ["resources/list"],
    "templates": ["resources/templates/list"],
    "text": ["resources/read", "--uri", "note://today"],
    "blob": ["resources/read", "--uri", "note://pixel"],
    "fromTemplate": ["resources/read", "--uri", "note://of/ada/engines"],
    "prompts": ["prompts/list"],
    "prompt": [
        *("prompts/get", "--prompt-name", "review"),
        *("--prompt-args", "code=x = 1", "language=Rust"),
    ],
}
"""What the Inspector is told to do: it has no other methods, and one at a time."""
TOOL_FAILED = 5
"""How the Inspector ends when a tool failed, which it says on standard error, too."""


def _inspected(case: Case, target: list[str]) -> tuple[Json, str]:
    report: Json = {}
    said = ""
    packages = node_packages()
    program = [str(packages.node), str(packages.inspector), "--cli"]
    era = ["--format", "json", "--protocol-era", case.mode]
    for name, method in INSPECTIONS.items():
        where = _inspector_target(case, target)
        code, out, error = run([*program, "--method", *method, *era, *where])
        if code not in (0, TOOL_FAILED):
            raise Failed(f"the Inspector ended with {code} at {method}:\n{error}")
        report[name] = json.loads(out)["result"]
        said += re.sub(r'^\{"error":.*"tool_is_error".*\n', "", error, flags=re.M)
    return report | report["initialize"], said


def _inspector_target(case: Case, target: list[str]) -> list[str]:
    if case.transport == "stdio":
        return ["--", *target]
    return ["--transport", case.transport, "--server-url", *target]


def run(command: list[str], cwd: Path = ROOT) -> tuple[int, str, str]:
    """Run a program until it has ended, with everything that it started."""
    with tempfile.TemporaryDirectory(prefix="interop-") as scratch:
        out, err = Path(scratch, "stdout"), Path(scratch, "stderr")
        # Files, not pipes: a server that outlives its client would keep a pipe open.
        with out.open("wb") as to_out, err.open("wb") as to_err:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                # Nobody's settings, and a place for what the Inspector remembers.
                env=os.environ | {"HOME": scratch},
                stdin=subprocess.DEVNULL,
                stdout=to_out,
                stderr=to_err,
                start_new_session=True,
            )
        late = "interrupted"
        try:
            code = process.wait(CLIENT_SECONDS)
            late = "" if _alone_within(process, STOP_SECONDS) else "its server lives on"
        except subprocess.TimeoutExpired:
            late = f"not done in {CLIENT_SECONDS} s"
        finally:
            if late:
                _end_group(process)
        said = _text(err)
        if late:
            raise Failed(f"{late}; it said:\n{said}")
        return code, _text(out), said


def _alone_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Have all children ended, too? They are to, when nobody talks to them any more."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# --- the server -----------------------------------------------------------------------


@contextmanager
def serving(log: Path, command: list[str] = SERVER, cwd: Path = ROOT) -> Iterator[str]:
    """The server over HTTP: its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with log.open("wb") as to:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=to,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_for(process, port)
            yield f"http://127.0.0.1:{port}"
            if process.poll() is not None:
                raise Failed("the server died")
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise Failed("the server did not stop when told to") from None


class _Proxied:
    """A server over HTTP behind `mcpgen trace`."""

    url = ""

    def __init__(self, trace: list[str], url: str) -> None:
        self._command = [*trace, "--http", url]

    def __enter__(self) -> None:
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        said = self._process.stderr.readline()
        found = re.search(r"connect to (http://127\.0\.0\.1:\d+)", said)
        if found is None:
            self.__exit__()
            raise Failed(f"mcpgen trace does not listen; it said:\n{said}")
        self.url = found[1]

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            said = self._process.communicate(timeout=STOP_SECONDS)[1]
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise Failed("mcpgen trace did not stop when told to") from None
        if said:
            raise Failed(f"mcpgen trace said:\n{said}")


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with suppress(OSError, http.client.HTTPException):
            connection.request("OPTIONS", "/mcp")
            connection.getresponse()  # any answer is one
            connection.close()
            return
        connection.close()
        time.sleep(0.05)
    raise Failed("the server does not answer")


def _text(log: Path) -> str:
    return log.read_text("utf-8", "replace")
