"""A headless Chromium, driven by playwright-core through a few lines of JavaScript."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("driver.mjs")
SECONDS = 60
"""For the browser to be gone."""


class Browser:
    """One page, until the browser is closed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def call(self, name: str, *arguments: Any) -> Any:
        """A method of Playwright's `page`, `context` or `browser`: `page.goto`."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"call": name, "arguments": arguments}))
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the browser's driver has ended: see its standard error"
        found = json.loads(answer)
        assert "error" not in found, found["error"]
        return found.get("value")

    def look(self, script: str) -> Any:
        """What JavaScript says inside of the page."""
        return self.call("page.evaluate", script)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.call("page.keyboard.press", key)


@contextmanager
def browser(node: Path, modules: Path, chromium: str) -> Iterator[Browser]:
    """A new browser without a past."""
    command = [str(node), str(DRIVER), str(modules), chromium]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        with process:
            yield Browser(process)
            assert process.stdin
            process.stdin.close()
            process.wait(SECONDS)
    finally:
        process.kill()
