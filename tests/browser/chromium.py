"""Chromium, and what drives it: installed where that is the custom, or else asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.conformance.suite import INSTALL_SECONDS, Unavailable, node_of_wheel
from tests.interop.installed import from_npm

PLAYWRIGHT = ("playwright-core", "1.65.1")
NAMES = ("chromium", "chromium-browser", "google-chrome")
ON_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
APT = ("apt-get", "install", "--yes", "--no-install-recommends", "chromium")


def is_required() -> bool:
    """Nothing may be skipped in continuous integration."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


@cache
def chromium() -> str:
    """The path of a Chromium; where it is required, it is installed for it."""
    if found := _found():
        return found
    if is_required() and shutil.which("apt-get") and os.geteuid() == 0:
        # The lists may be older than what they list.
        _run("apt-get", "update", "--quiet")
        _run(*APT)
        if found := _found():
            return found
    raise Unavailable("there is no Chromium here: install one (apt-get, as root, does)")


@cache
def node() -> Path:
    """The Node of the development environment, or the one on the path."""
    found = node_of_wheel() or shutil.which("node")
    if not found:
        raise Unavailable("there is no Node: pip install 'mcpgen[dev]'")
    return Path(found)


@cache
def playwright() -> Path:
    """The directory that has playwright-core. It brings no browser, and needs none."""
    return from_npm(PLAYWRIGHT) / "node_modules"


def _found() -> str | None:
    return next(
        (path for name in (*NAMES, ON_MAC) if (path := shutil.which(name))), None
    )


def _run(*command: str) -> None:
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command} was not done in {INSTALL_SECONDS} s") from None
    if done.returncode:
        raise Unavailable(f"{' '.join(command)} failed:\n{done.stderr.strip()[-2000:]}")
