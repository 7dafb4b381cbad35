"""The runner of the conformance suite: what it takes for a pass, and that it ends."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import with_client
from tests.conformance.report import Outcome, collect, table, totals
from tests.conformance.suite import Scenario, Suite, Unavailable

REVISION = "2025-11-25"
REQUIREMENTS = """\
# A comment.
server:
  - ping

client:
  - initialize
  # Another one.
  - auth/metadata-default

not_scored:
  - scenario: auth/dpop
    leg: client
    reason: extension
  - scenario: server-sse-polling
    leg: server
    reason: pending
"""

FAKE = """\
import json, pathlib, subprocess, sys
options = dict(zip(sys.argv[2:], sys.argv[3:]))
status, last, code = options["--scenario"].split("/")
place = pathlib.Path(options["-o"], options["--scenario"] + "-2026-01-01T00-00-00-000Z")
place.mkdir(parents=True)
checks = [{"status": status, "id": "x", "description": "why"}] if status else []
place.joinpath("checks.json").write_text(json.dumps(checks))
place.joinpath("stdout.txt").write_text(f"first\\n{last}\\n")
place.joinpath("stderr.txt").write_text("a traceback")
sys.exit(int(code))
"""
"""A suite whose scenarios are named after how they end: check/last line/exit code."""

HANGING = """\
import pathlib, subprocess, sys
command = [sys.executable, "-c", "print(input())"]
child = subprocess.Popen(command, stdin=subprocess.PIPE)
place = pathlib.Path(sys.argv[-1])
place.joinpath("child").write_text(str(child.pid))
place.joinpath("suite").write_text("here")
child.wait()
"""


def fake(home: Path, program: str) -> Suite:
    """A suite that is written in Python."""
    (home / "dist").mkdir()
    (home / "dist" / "index.js").write_text(program, "utf-8")
    (home / "requirements").mkdir()
    (home / "requirements" / f"{REVISION}.yaml").write_text(REQUIREMENTS, "utf-8")
    return Suite(Path(sys.executable), home)


def outcome(*statuses: str, scored: bool = True, problem: str = "") -> Outcome:
    checks: list[dict[str, Any]] = [{"status": s, "id": s.lower()} for s in statuses]
    return Outcome(Scenario("ping", REVISION, "server", scored), checks, problem)


def test_scenarios_are_those_that_the_suite_lists(tmp_path: Path) -> None:
    listed = fake(tmp_path, "").scenarios(REVISION)
    assert [(s.leg, s.name, s.scored) for s in listed] == [
        ("server", "ping", True),
        ("server", "server-sse-polling", False),
        ("client", "initialize", True),
        ("client", "auth/metadata-default", True),
        ("client", "auth/dpop", False),
    ]


def test_a_revision_without_scenarios_is_no_success(tmp_path: Path) -> None:
    suite = fake(tmp_path, "")
    (tmp_path / "requirements" / f"{REVISION}.yaml").write_text("server:\n  - ping\n")
    with pytest.raises(Unavailable, match="no clients"):
        suite.scenarios(REVISION)


@pytest.mark.parametrize(
    ("found", "passed"),
    [
        (outcome("SUCCESS", "INFO", "SKIPPED"), True),
        (outcome(), False),
        (outcome("SKIPPED", "INFO"), False),
        (outcome("SUCCESS", "FAILURE"), False),
        (outcome("SUCCESS", "WARNING"), False),
        (outcome("SUCCESS", "WARNING", scored=False), True),
        (outcome("SUCCESS", problem="it crashed"), False),
    ],
)
def test_what_counts_as_passed(found: Outcome, passed: bool) -> None:
    assert found.passed is passed
    assert any(found.complaints()) is (not passed or "WARNING" in found.counts)
    assert ("ok" in table([found])) is passed


def test_only_what_is_scored_is_counted() -> None:
    outcomes = [outcome("SUCCESS"), outcome(), outcome("SUCCESS", scored=False)]
    assert totals(outcomes) == f"server 1/2 at {REVISION}"


def test_checks_of_servers_are_found_by_their_folders(tmp_path: Path) -> None:
    place = tmp_path / "server-ping-2026-01-01T00-00-00-000Z"
    place.mkdir()
    (place / "checks.json").write_text("[]")
    assert collect(tmp_path) == {"ping": []}


@pytest.mark.parametrize(
    ("ending", "problem"),
    [
        ("SUCCESS/done/0", ""),
        ("SUCCESS/done/1", "the suite is not content"),
        ("SUCCESS/killed/0", "the client did not come to its end"),
        ("/done/0", ""),
    ],
)
def test_a_client_must_satisfy_the_suite_and_come_to_its_end(
    tmp_path: Path, ending: str, problem: str
) -> None:
    suite = fake(tmp_path, FAKE)
    scenario = Scenario(ending, REVISION, "client", True)
    found = asyncio.run(with_client(suite, scenario, tmp_path / "out"))
    assert found.problem.startswith(problem)
    assert found.passed is (ending == "SUCCESS/done/0")


def test_a_suite_that_dies_is_no_success(tmp_path: Path) -> None:
    suite = fake(tmp_path, "raise SystemExit('no such thing')")
    scenario = Scenario("auth/x", REVISION, "client", True)
    found = asyncio.run(with_client(suite, scenario, tmp_path / "out"))
    assert not found.passed
    assert "no such thing" in found.problem


def test_who_takes_too_long_is_ended_with_all_its_children(tmp_path: Path) -> None:
    suite = fake(tmp_path, HANGING)
    out = tmp_path / "out"

    async def run() -> None:
        ending = asyncio.create_task(suite.run(out, 60, "server"))
        async with asyncio.timeout(30):
            while not (out / "suite").exists():
                await asyncio.sleep(0.01)
            ending.cancel()
            await asyncio.wait([ending])
        child = int((out / "child").read_text())
        async with asyncio.timeout(30):
            while _runs(child):
                await asyncio.sleep(0.01)

    asyncio.run(run())


def test_too_long_is_no_success(tmp_path: Path) -> None:
    suite = fake(tmp_path, "input_never = __import__('signal').pause()")
    assert asyncio.run(suite.run(tmp_path / "out", 0.2, "server")) is False


def _runs(pid: int) -> bool:
    """A zombie that nobody has collected yet is not running."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
