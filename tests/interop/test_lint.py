"""What `mcpgen lint` says of sessions in which one side was written elsewhere: no fault.

They are recorded by `mcpgen trace`, which stands between the two.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mcpgen.lint import Finding, lint
from mcpgen.recording import read

from .foreign_servers import Case as ServerCase
from .observing import CLIENT_SECONDS, ROOT, SERVER, Case, _report
from .test_interop import SDKS

pytestmark = pytest.mark.interop

MCPGEN = [sys.executable, "-m", "mcpgen"]
SERVERS = [
    ServerCase(name, "stdio") for name in ("mcp1", "mcp2", "fastmcp4", "everything")
]


def traced(place: Path, command: list[str]) -> list[str]:
    # A directory: some clients start a server twice, to see what it speaks.
    return [*MCPGEN, "trace", "-o", str(place), "--", *command]


def faults(place: Path) -> list[Finding]:
    found: list[Finding] = []
    files = list(place.iterdir())
    assert files
    for file in files:
        with file.open("rb") as stream:
            found += lint(*read(stream, file.name))
    return [each for each in found if each.severity == "error"]


@pytest.mark.parametrize("case", [c for c in SDKS if c.transport == "stdio"], ids=str)
def test_official_clients_with_our_server(case: Case, tmp_path: Path) -> None:
    report, _ = _report(case, traced(tmp_path, SERVER))
    assert report["protocolVersion"] == case.version
    assert faults(tmp_path) == []


@pytest.mark.parametrize("case", SERVERS, ids=str)
def test_our_client_with_servers_of_others(case: ServerCase, tmp_path: Path) -> None:
    command = " ".join(f"'{word}'" for word in traced(tmp_path, case.command()))
    inspect = [*MCPGEN, "inspect", command, "--json"]
    subprocess.run(
        inspect, cwd=ROOT, check=True, capture_output=True, timeout=CLIENT_SECONDS
    )
    assert faults(tmp_path) == []
