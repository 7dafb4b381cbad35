"""`python -m tests.conformance`: the official suite on `server.py` and `client.py`.

Exits 0 when all is well, 1 when a scenario fails (or one that is scored warns), 2 when
the suite cannot be run. The first run installs it, for which it needs the network.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from .report import Outcome, collect, table, totals
from .suite import (
    CACHE,
    DONE,
    LEGS,
    LOG,
    ROOT,
    Scenario,
    Suite,
    Unavailable,
    installed,
    tail,
)

START_SECONDS = 30
STOP_SECONDS = 5
SERVER_SECONDS = 30
"""For one scenario; all of them together get twenty times as much."""
CLIENT_SECONDS = 60
AT_ONCE = 2
"""So many runs of the suite with a client: each is a process of its own."""

REVISIONS = ("2025-11-25", "2026-07-28")
ALSO = (
    "server-session-lifecycle",
    "server-sse-polling",
    "json-schema-2020-12",
    "http-header-validation",
    "http-custom-header-server-validation",
    "json-schema-2020-12-preservation",
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
)
"""What the suite keeps no score of and is to pass nevertheless."""


@contextlib.contextmanager
def fixture(log: Path) -> Iterator[str]:
    """The server under test, running on a free port: its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    module = [sys.executable, "-m", "tests.conformance.server", "--port", str(port)]
    with log.open("wb") as to:
        process = subprocess.Popen(
            module,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=to,
            stderr=subprocess.STDOUT,
            # Ctrl-C is for us: the server is ended below, and by its id.
            start_new_session=True,
        )
        try:
            _wait_for(process, port, log)
            yield f"http://127.0.0.1:{port}/mcp"
            if process.poll() is not None:
                raise Unavailable(f"the server died; it said:\n{tail(log)}")
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                print("the server did not stop when told to: killed", file=sys.stderr)
                process.kill()
                process.wait()


@contextlib.contextmanager
def traced(url: str, recording: Path) -> Iterator[str]:
    """The same server through `mcpgen trace`: the proxy's URL."""
    command = [sys.executable, "-m", "mcpgen", "trace", "-o", str(recording)]
    process = subprocess.Popen(
        [*command, "--http", url],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.readline()
        try:
            if not (found := re.search(r"connect to (http://\S+)$", said.rstrip())):
                raise Unavailable(f"mcpgen trace does not listen; it said:\n{said}")
            yield found[1]
            if process.poll() is not None:
                raise Unavailable(f"mcpgen trace died: {process.stderr.read()}")
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            finally:
                process.kill()  # does nothing to one that has ended
                process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("OPTIONS", "/mcp")
            connection.getresponse().close()  # Any answer is one.
            connection.close()
            return
        connection.close()
        time.sleep(0.05)
    raise Unavailable(f"the server does not answer; it said:\n{tail(log)}")


async def server_leg(
    suite: Suite,
    scenarios: Sequence[Scenario],
    out: Path,
    alone: bool,
    trace: bool = False,
) -> list[Outcome]:
    """The server under test: one process, asked one thing after the other."""
    outcomes = []
    with contextlib.ExitStack() as running:
        url = running.enter_context(fixture(out / "server.log"))
        if trace:
            url = running.enter_context(traced(url, out / "session.jsonl"))
        for revision in dict.fromkeys(scenario.revision for scenario in scenarios):
            wanted = [s for s in scenarios if s.revision == revision]
            what = one_alone(wanted[0]) if alone else ["--requirements", revision]
            place = out / f"server-{revision}"
            timeout = ["--timeout", str(SERVER_SECONDS * 1000)]
            await suite.run(
                place, 20 * SERVER_SECONDS, "server", "--url", url, *timeout, *what
            )
            found = collect(place)
            if not found:
                said = tail(place / LOG)
                raise Unavailable(f"the suite checked nothing; it said:\n{said}")
            outcomes += [Outcome(s, found.get(s.name, [])) for s in wanted]
    return outcomes


async def client_leg(
    suite: Suite, scenarios: Sequence[Scenario], out: Path
) -> list[Outcome]:
    """The client under test: one scenario at a time, where the suite is strict."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(scenario: Scenario) -> Outcome:
        async with free:
            return await with_client(suite, scenario, out)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(scenario)) for scenario in scenarios]
    return [task.result() for task in tasks]


async def with_client(suite: Suite, scenario: Scenario, out: Path) -> Outcome:
    """One scenario; it has passed if the suite and the client both say so."""
    place = out / f"client-{scenario.revision}" / scenario.name
    program = [sys.executable, "-m", "tests.conformance.client"]
    arguments = ["client", "--command", shlex.join(program), *one_alone(scenario)]
    timeout = ["--timeout", str(CLIENT_SECONDS * 1000)]
    content = await suite.run(place, CLIENT_SECONDS + 30, *arguments, *timeout)
    written = next(place.rglob("checks.json"), None)
    if written is None:
        return Outcome(scenario, [], f"no result; the suite said:\n{tail(place / LOG)}")
    said = written.with_name("stdout.txt").read_text("utf-8").splitlines()
    problem = ""
    if DONE not in said[-1:]:  # Where the suite allows for errors, a crash is one, too.
        errors = tail(written.with_name("stderr.txt"))
        problem = f"the client did not come to its end; it said:\n{errors}"
    elif not content:
        problem = "the suite is not content"
    return Outcome(scenario, json.loads(written.read_text("utf-8")), problem)


def one_alone(scenario: Scenario) -> list[str]:
    """The options for one scenario; forced, as extensions are of no revision."""
    revision = scenario.revision
    return ["--scenario", scenario.name, "--spec-version", revision, "--force"]


def chosen(suite: Suite, options: argparse.Namespace) -> list[Scenario]:
    """What to run: what a revision requires and what is to pass besides, or one."""
    revisions = [options.spec_version] if options.spec_version else REVISIONS
    listed = [s for revision in revisions for s in suite.scenarios(revision)]
    name = options.scenario
    if not name:
        return [s for s in listed if s.scored or s.name in ALSO]
    if wanted := [s for s in listed if s.name == name]:
        return wanted
    raise Unavailable(f"{', '.join(revisions)}: there is no scenario {name!r}")


async def run(suite: Suite, options: argparse.Namespace, out: Path) -> list[Outcome]:
    """The chosen scenarios, those of the server first."""
    scenarios = chosen(suite, options)
    server, client = ([s for s in scenarios if s.leg == leg] for leg in LEGS)
    outcomes = []
    if server:
        alone = bool(options.scenario)
        outcomes += await server_leg(suite, server, out, alone, options.traced)
    if options.traced:  # which stands before servers
        return outcomes
    return outcomes + await client_leg(suite, client, out)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("--scenario", help="run this one only")
    parser.add_argument(
        "--spec-version", choices=REVISIONS, help="at this revision only"
    )
    parser.add_argument(
        "--traced", action="store_true", help="the server only, behind mcpgen trace"
    )
    options = parser.parse_args()
    # Told to end, we end what we started first, as on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    CACHE.mkdir(parents=True, exist_ok=True)
    out = Path(tempfile.mkdtemp(dir=CACHE, prefix="run-"))
    outcomes: list[Outcome] = []
    try:
        outcomes = asyncio.run(run(installed(), options, out))
        return report(outcomes, out)
    except Unavailable as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        if all(outcome.passed for outcome in outcomes):
            shutil.rmtree(out)


def report(outcomes: list[Outcome], out: Path) -> int:
    """Print what was found."""
    print(table(outcomes))
    for outcome in outcomes:
        for line in outcome.complaints():
            print(line)
    if scored := totals(outcomes):
        print(scored)
    if all(outcome.passed for outcome in outcomes):
        return 0
    print(f"what the suite, the server and the clients said is in {out}")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
