"""`python -m tests.conformance`: the official suite against the server in `server.py`.

Exits 0 when all is well, 1 when a scenario fails (or one that is scored warns), 2 when
the suite cannot be run. The first run installs it, for which it needs the network.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .report import Outcome, collect, table
from .suite import CACHE, Suite, Unavailable, installed, tail

ROOT = Path(__file__).parents[2]
START_SECONDS = 30
STOP_SECONDS = 5

REVISIONS = ("2025-11-25", "2026-07-28")
ALSO = {
    "2025-11-25": (
        "server-session-lifecycle",
        "server-sse-polling",
        "json-schema-2020-12",
    ),
    "2026-07-28": (
        "json-schema-2020-12",
        "http-header-validation",
        "http-custom-header-server-validation",
    ),
}
"""What the suite keeps no score of and is to pass nevertheless: not the extensions."""


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


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("OPTIONS", "/mcp")
            connection.getresponse()  # Any answer is one.
            return
        connection.close()
        time.sleep(0.05)
    raise Unavailable(f"the server does not answer; it said:\n{tail(log)}")


def required(suite: Suite, url: str, out: Path, revision: str) -> list[Outcome]:
    """Everything that a revision requires, and what is to pass besides."""
    suite.run(url, out / revision, "--requirements", revision)
    found = collect(out / revision)
    return [
        Outcome(name, revision, scored, found.get(name, []))
        for names, scored in ((suite.scored(revision), True), (ALSO[revision], False))
        for name in names
    ]


def single(
    suite: Suite, url: str, out: Path, scenario: str, revision: str
) -> list[Outcome]:
    """One scenario."""
    options = ("--scenario", scenario, "--spec-version", revision, "--force")
    suite.run(url, out / revision, *options)
    found = collect(out / revision)
    scored = scenario in suite.scored(revision)
    return [Outcome(scenario, revision, scored, found.get(scenario, []))]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("--scenario", help="run this one only")
    parser.add_argument(
        "--spec-version", choices=REVISIONS, help="at this revision only"
    )
    options = parser.parse_args()
    revisions = [options.spec_version] if options.spec_version else REVISIONS
    # Told to end, we end what we started first, as on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    CACHE.mkdir(parents=True, exist_ok=True)
    out = Path(tempfile.mkdtemp(dir=CACHE, prefix="run-"))
    outcomes: list[Outcome] = []
    try:
        suite = installed()
        with fixture(out / "server.log") as url:
            for revision in revisions:
                if options.scenario:
                    outcomes += single(suite, url, out, options.scenario, revision)
                else:
                    outcomes += required(suite, url, out, revision)
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
    revisions = dict.fromkeys(outcome.revision for outcome in outcomes)
    print(", ".join(_total(outcomes, revision) for revision in revisions))
    if all(outcome.passed for outcome in outcomes):
        return 0
    print(f"what the suite and the server said is in {out}")
    return 1


def _total(outcomes: list[Outcome], revision: str) -> str:
    scored = [o.passed for o in outcomes if o.scored and o.revision == revision]
    return f"{sum(scored)}/{len(scored)} at {revision}"


if __name__ == "__main__":
    raise SystemExit(main())
