"""Foreign clients, and the official suite, see no difference when they are recorded."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from mcpgen.lint import lint
from mcpgen.recording import Entry, read
from msgspec import UNSET

from tests.conformance.__main__ import REVISIONS, server_leg
from tests.conformance.suite import installed

from .observing import Case, Seen, observe
from .test_interop import unexpected

pytestmark = pytest.mark.interop

CASES = [
    *(("python1", "legacy", transport) for transport in ("stdio", "http", "sse")),
    *(("python2", "auto", transport) for transport in ("stdio", "http")),
    ("python2", "legacy", "sse"),
    *(("typescript1", "legacy", transport) for transport in ("stdio", "http")),
    *(("typescript2", "auto", transport) for transport in ("stdio", "http")),
    ("typescript2", "legacy", "sse"),
]


@pytest.fixture(params=CASES, ids="-".join)
def pair(request: pytest.FixtureRequest) -> tuple[Seen, Seen]:
    case: tuple[str, str, str] = request.param
    return observe(Case(*case)), observe(Case(*case, traced=True))


def entries(seen: Seen) -> list[Entry]:
    sessions = [read(io.BytesIO(data), "recording")[1] for data in seen.recordings]
    return [entry for session in sessions for _, entry in session]


def test_a_client_sees_the_same(pair: tuple[Seen, Seen]) -> None:
    alone, traced = pair
    assert traced.report == alone.report
    assert unexpected(traced.stderr) == unexpected(alone.stderr)


def test_all_that_a_client_did_is_recorded(pair: tuple[Seen, Seen]) -> None:
    found = entries(pair[1])
    answered = [entry.method for entry in found if entry.ms is not UNSET]
    assert answered.count("tools/call") > 25
    assert {"tools/list", "resources/read", "prompts/get"} <= {*answered}
    # The server asks, too, unless it is of the era in which it does not.
    asked = "sampling/createMessage" in answered
    assert asked == (pair[1].version < "2026-07-28")
    assert not any(entry.cut for entry in found)


def test_lint_has_nothing_against_it(pair: tuple[Seen, Seen]) -> None:
    for data in pair[1].recordings:
        found = lint(*read(io.BytesIO(data), "recording"))
        assert [each for each in found if each.severity != "note"] == []


def test_the_official_suite_finds_the_same(tmp_path: Path) -> None:
    suite = installed()
    scored = [s for r in REVISIONS for s in suite.scenarios(r) if s.leg == "server"]
    wanted = [scenario for scenario in scored if scenario.scored]
    outcomes = asyncio.run(server_leg(suite, wanted, tmp_path, False, True))
    assert [str(outcome.scenario) for outcome in outcomes if not outcome.passed] == []
    with (tmp_path / "session.jsonl").open("rb") as file:
        _, found = read(file, "session.jsonl")
        methods = [entry.method for _, entry in found if entry.ms is not UNSET]
    assert len(methods) > 100
