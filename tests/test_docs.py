"""What the documentation shows is Python, and is what there is."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
from mcpgen.runtime import Server
from mcpgen.runtime.transports.http import uvicorn
from mcpgen.runtime.transports.http.settings import Settings
from mcpgen.runtime.transports.stdio import serve_stdio

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
    )
]


@pytest.mark.parametrize("block", BLOCKS)
def test_examples_are_python(block: str) -> None:
    # What stands in a coroutine may be shown without one.
    compile(block, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_transport_of_the_guide_is_the_one_that_is_tested() -> None:
    source = (ROOT / "tests/runtime/tcp.py").read_text("utf-8")
    body = source.partition("from __future__ import annotations\n\n")[2]
    assert body.strip() in (ROOT / "docs/server.md").read_text("utf-8")


def test_every_setting_is_on_the_page() -> None:
    page = (ROOT / "docs/settings.md").read_text("utf-8")
    told = set(re.findall(r"`(\w+)`", page))
    for function in (Server.__init__, uvicorn.run, serve_stdio):
        parameters = inspect.signature(function).parameters.values()
        names = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
        assert names <= told
    assert set(Settings.__struct_fields__) <= told


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
