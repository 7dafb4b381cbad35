"""Typed clients of servers that nobody here wrote: made, strictly checked, and used."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mcpgen.datamodel import FLAVOURS

from tests.strict import assert_strict, run

from .foreign_servers import Case
from .installed import node_server

pytestmark = pytest.mark.interop

FRAME = """\
import asyncio
import sys
from pathlib import Path

{imports}


async def main(target: str, here: Path) -> None:
    async with {client}.connect(target) as server:
{body}
        print("done")


asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
"""
SUM = """
        found: AddResult = await server.add(a=2)
        total, terms = {total}, {terms}
        assert (total, terms) == (3, [2, 1])
        (picture,) = await server.draw()
        assert picture.type == "image" and picture.mime_type == "image/png"
        prompt = await server.prompt_review(code="x = 1")
        content = prompt.messages[0].content
        assert not isinstance(content, list) and content.type == "text"
        assert content.text == "Review this Python: x = 1"
        (note,) = await server.read_note_of(person="Ada Lovelace", topic="engines")
        assert note.uri == "note://of/Ada%20Lovelace/engines"
        assert await server.read_today()
        try:
            await server.divide(a=1, b=0)
        except ToolFailed as failed:
            assert (failed.tool, bool(str(failed))) == ("divide", True)
        else:
            raise AssertionError("it divided")
"""
BODIES = {
    "everything": """
        weather: GetStructuredContentResult = await server.get_structured_content(
            location="Chicago"
        )
        temperature: float = {temperature}
        assert temperature == 36
        (text,) = await server.get_sum(a=2, b=3)
        assert text.type == "text" and text.text == "The sum of 2 and 3 is 5."
        said = await server.get_annotated_message(message_type="error")
        assert len(said) == 1
        prompt = await server.prompt_args_prompt(city="Oslo", state="Norway")
        assert prompt.messages
        (contents,) = await server.read_dynamic_text_resource(resource_id="7")
        assert "Resource 7" in getattr(contents, "text", "")
        (page,) = await server.read_features_md()
        assert "Everything Server" in getattr(page, "text", "")
""",
    "filesystem": """
        note = here / "note.txt"
        await server.write_file(path=str(note), content="one\\ntwo\\n")
        read: ReadTextFileResult = await server.read_text_file(path=str(note), head=1)
        content: str = {content}
        assert content == "one"
        edits: list[EditFileArgumentsEditsItem] = [{edit}]
        await server.edit_file(path=str(note), edits=edits)
        assert note.read_text() == "1\\ntwo\\n"
        try:
            await server.read_text_file(path="/etc/passwd")
        except ToolFailed as failed:
            assert "Access denied" in str(failed), failed
        else:
            raise AssertionError("it was read")
""",
    "fastmcp4": SUM,
    "mcp2": SUM,
}
NAMES = {
    "everything": ("GetStructuredContentResult",),
    "filesystem": ("EditFileArgumentsEditsItem", "ReadTextFileResult"),
    "fastmcp4": ("AddResult",),
    "mcp2": ("AddResult",),
}
CLASSES = {
    "temperature": "weather.temperature",
    "content": "read.content",
    "edit": 'EditFileArgumentsEditsItem(old_text="one", new_text="1")',
    "total": "found.total",
    "terms": "found.terms",
}
DICTS = {
    "temperature": 'weather["temperature"]',
    "content": 'read["content"]',
    "edit": '{"oldText": "one", "newText": "1"}',
    "total": 'found["total"]',
    "terms": 'found["terms"]',
}


@pytest.fixture
def command(tmp_path: Path) -> Callable[[str], list[str]]:
    files = tmp_path / "files"
    files.mkdir()

    def start(server: str) -> list[str]:
        if server == "filesystem":
            return [*node_server(server), str(files)]
        return Case(server, "stdio").command()

    return start


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_made_strict_and_used(
    tmp_path: Path, command: Callable[[str], list[str]], flavour: str
) -> None:
    place = tmp_path / "app"
    place.mkdir()
    words = DICTS if flavour == "typeddict" else CLASSES
    for server, body in BODIES.items():
        target = shlex.join(command(server))
        module = f"{server}_client"
        make = [sys.executable, "-m", "mcpgen", "client", target, "-o", f"{module}.py"]
        done = run([*make, "--flavour", flavour], place)
        assert done.returncode == 0, done.stderr
        client = f"{server.capitalize()}Client"
        imports = f"from {module} import {', '.join([client, *NAMES[server]])}"
        if "ToolFailed" in body:
            imports += "\nfrom mcpgen.runtime.client.typed import ToolFailed"
        for key, value in words.items():
            body = body.replace(f"{{{key}}}", value)
        text = FRAME.format(imports=imports, client=client, body=body.strip("\n"))
        (place / f"use_{server}.py").write_text(text)
        use = [sys.executable, f"use_{server}.py", target, str(tmp_path / "files")]
        done = run(use, place)
        assert done.stdout == "done\n", done.stderr
        done = run([*make, "--flavour", flavour, "--check"], place)
        assert done.returncode == 0, done.stdout + done.stderr
    assert_strict(place)
