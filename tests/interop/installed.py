"""The foreign programs: installed once into a cache, each at the version that is tested.

Two runs may come at once: one installs while the other waits for it, and what has its
name in the cache is complete.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.conformance import suite
from tests.conformance.suite import INSTALL_SECONDS, NODE, Unavailable

PYTHON_SDK = {1: "1.30.0", 2: "2.3.0"}
"""`mcp`, by major version."""
TYPESCRIPT_SDK = {
    1: ("@modelcontextprotocol/sdk", "1.32.2"),
    2: ("@modelcontextprotocol/client", "2.4.0"),
}
INSPECTOR = ("@modelcontextprotocol/inspector", "2.12.0")
FASTMCP = "4.1.2"
"""Not the newest, 4.1.6: from 4.1.3 on it requires certifi>=2026.10.19, which pip did
not find when this was pinned."""
NODE_SERVERS = {
    "everything": "2026.8.31",
    "filesystem": "2026.8.31",
    "memory": "2026.8.31",
}
"""`@modelcontextprotocol/server-…`."""

CACHE = Path(__file__).parents[2] / ".cache" / "interop"


@dataclass(frozen=True)
class NodePackages:
    """What came through npm."""

    home: Path
    """The directory that has `node_modules`."""
    node: Path
    """New enough for all of them."""

    @property
    def inspector(self) -> Path:
        """The script behind the Inspector's command."""
        package = self.home / "node_modules" / INSPECTOR[0]
        return package / "clients" / "launcher" / "build" / "index.js"


def python_sdk(major: int) -> Path:
    """The Python of an environment that has the SDK."""
    return _python_with("mcp", PYTHON_SDK[major])


def fastmcp() -> Path:
    """The Python of an environment that has FastMCP."""
    return _python_with("fastmcp", FASTMCP)


@cache
def _python_with(package: str, version: str) -> Path:
    here = f"python{sys.version_info.major}.{sys.version_info.minor}"
    place = CACHE / f"{package}-{version}-{here}"
    python = place / "bin" / "python"
    with _alone(place):
        if not python.exists():
            # What is there belongs to a Python that is gone.
            shutil.rmtree(place, ignore_errors=True)
            _make_environment(place, f"{package}=={version}")
    return python


@cache
def node_packages() -> NodePackages:
    """The TypeScript SDKs and the Inspector, with a Node that can run them."""
    node = suite.node_package()
    place = from_npm(*TYPESCRIPT_SDK.values(), INSPECTOR, (node, NODE))
    return NodePackages(place, place / "node_modules" / node / "bin" / "node")


@cache
def node_server(name: str) -> list[str]:
    """The command of one of the protocol's example servers."""
    package = f"@modelcontextprotocol/server-{name}"
    place = from_npm((package, NODE_SERVERS[name]))
    script = place / "node_modules" / package / "dist" / "index.js"
    return [str(node_packages().node), str(script)]


def from_npm(*pinned: tuple[str, str]) -> Path:
    """The directory that has them in `node_modules`."""
    packages = [f"{name}@{version}" for name, version in pinned]
    place = CACHE / "-".join(package.rpartition("/")[2] for package in packages)
    with _alone(place):
        if not place.exists():
            suite.install(place, *packages)
    return place


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """While nobody else installs the same; who does so is done in bounded time."""
    import fcntl  # not on Windows, where these tests are collected but not run

    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the system ends it with the process
        yield


def _make_environment(place: Path, requirement: str) -> None:
    # Made beside its place and then moved: `bin/python` finds its packages anywhere.
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="installing-") as beside:
        made = Path(beside) / "whole"
        _run(sys.executable, "-m", "venv", str(made))
        options = ["--quiet", "--disable-pip-version-check"]
        python = str(made / "bin" / "python")
        _run(python, "-m", "pip", "install", *options, requirement)
        made.rename(place)


def _run(*command: str) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command} was not done in {INSTALL_SECONDS} s") from None
    if done.returncode:
        raise Unavailable(
            f"{' '.join(command)} failed (the network is needed once):\n"
            f"{done.stderr.strip()[-2000:]}"
        )
