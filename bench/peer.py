"""The peer: the official SDK, in an environment of its own, installed once."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

NAME = "mcp 2.3.0"
# The last two are what its HTTP rows "on the same stack" need; it does not bring them.
REQUIREMENTS = ("mcp==2.3.0", "httptools", "uvloop; platform_system != 'Windows'")
HOME = Path(__file__).resolve().parent.parent / ".cache" / "bench" / "mcp-2.3.0"
BIN = HOME / ("Scripts" if sys.platform == "win32" else "bin")


def python() -> str:
    """The interpreter that has the peer, which is installed if it is not there yet."""
    done = HOME / "installed"
    if not done.exists():
        print(f"installing {NAME} for comparison …", file=sys.stderr, flush=True)
        venv.create(HOME, clear=True, with_pip=True)
        pip = [str(BIN / "python"), "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", *REQUIREMENTS], check=True)
        done.touch()
    return str(BIN / "python")
