"""Are modules strictly typed, where mcpgen is installed?"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def assert_strict(place: Path) -> None:
    """The modules in `place`, for mypy and for pyright."""
    installed = place / "installed" / "mcpgen"
    for root, part in (("runtime", "runtime"), ("generated", "protocol")):
        shutil.copytree(ROOT / root / "mcpgen" / part, installed / part)
    settings = place / "mypy.ini"
    settings.write_text(
        "[mypy]\nnamespace_packages = True\nexplicit_package_bases = True\n"
        f"mypy_path = {installed.parent}:{place}\n"
    )
    options = ["--strict", "--config-file", str(settings)]
    files = sorted(path.name for path in place.glob("*.py"))
    done = run([sys.executable, "-m", "mypy", *options, *files], place)
    assert done.returncode == 0, done.stdout
    content = {
        "typeCheckingMode": "strict",
        "extraPaths": ["installed"],
        "include": files,
    }
    (place / "pyrightconfig.json").write_text(json.dumps(content))
    done = run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable], place)
    assert done.returncode == 0, done.stdout


def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command to its end, with what it said."""
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=180)
