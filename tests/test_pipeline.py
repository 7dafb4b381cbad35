"""The pure function in the middle: the same bytes everywhere, formatted as by black."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import black
import pytest
from black.mode import TargetVersion
from black.parsing import InvalidInput
from mcpgen import format as formatting
from mcpgen import pipeline
from mcpgen.catalog import Catalog
from mcpgen.config import parse_config, require_config
from mcpgen.diagnostics import CompileError
from mcpgen.format import format_files

from .compiling import tree

ROOT = Path(__file__).parent.parent
MODE = black.Mode(target_versions={TargetVersion.PY311})
VERSIONS = ["2026-07-28"]
SMALL = ["2024-11-05"]
"""For what is generated several times over: compiling takes its time."""


# --- formatting ---------------------------------------------------------------------


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPGEN_JOBS", "1")


def test_rendered_modules_are_formatted_as_by_black(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not only where it is easy: on all that the templates give for a version."""
    rendered: dict[str, str] = {}

    def keep(raw: dict[str, str]) -> dict[str, str]:
        rendered.update(raw)
        return raw

    monkeypatch.setattr(pipeline, "format_files", keep)
    config = parse_config({"output": "out", "versions": SMALL}, ROOT)
    pipeline.generate(config, Catalog(config))
    assert len(formatting.split(rendered["v2024_11_05/types.py"])) > 50
    for path, text in format_files(rendered).items():
        if path.endswith(".py"):
            assert text == black.format_str(rendered[path], mode=MODE), path


SNIPPETS = {
    "docstring": '"""Doc."""',
    "docstring-gaps": '"""Doc\n\n\nwith gaps\n\n\nclass X:\n"""',
    "raw-docstring": "r'''a  '''",
    "header": "# header\n#   more",
    "comment": "# alone",
    "future": "from __future__ import annotations",
    "import": "import os",
    "from": "from typing import (Any, overload,)",
    "bad-comma": "from typing import Any, overload, ",
    "semicolon-import": "x = 1; import os",
    "assign": "x = 1",
    "long": f"value = function({', '.join(['argument'] * 12)})",
    "one-liners": "def a(): ...\ndef b(): ...",
    "exception": "class E(Exception): ...",
    "class": 'class A:\n\n    """Doc.\n\n\n    more\n    """\n    x: int = 1\n'
    "    def f(self): pass",
    "class-gap": 'class A:\n    """Doc."""\n\n\n\n    x = 1',
    "trailing-inside": "class A:\n    x = 1\n    # trailing",
    "trailing-outside": "def f():\n    return 1  # note\n# after",
    "comment-class": "# about B\nclass B:\n    pass",
    "comment-gap-class": "# about B\n\n\nclass B:\n    pass",
    "decorated": "@decorate\nclass C: pass",
    "decorator-gap": "@decorate\n\n\ndef c(): pass",
    "decorator-comment": "@decorate\n# why\ndef c():\n  return (1)",
    "overloads": "@overload\ndef f(a: int) -> int: ...\n@overload\n"
    "def f(a: str) -> str: ...\ndef f(a): return a",
    "type-checking": "if TYPE_CHECKING:\n    import a\nelse:\n    a = 1",
    "type-checking-gap": "if TYPE_CHECKING:\n    import a\n\n\nelse:\n    a = 1",
    "if-def": "if x:\n    def f(): pass",
    "string": '"a string statement"',
    "attribute-doc": 'x: int = 1\n"""About x."""',
    "long-string": 'x = """\n\n\ny = 1\n\n\n"""',
    "brackets": "x = [\n\n\n1,\n\n\n2]",
    "fmt-off": "# fmt: off\nx   =  1",
    "fmt-on": "# fmt: on",
    "fmt-skip": "x   =  1  # fmt: skip",
    "continued": "x = 1 + \\\n  2",
    "form-feed": "\f\nx = 1",
    "match": "match x:\n    case 1: pass",
    "nested": "def f():\n    def g(): pass\n    class H: pass\n    return g",
    "tab": "def f():\n\treturn 1",
    "magic-comma": "__all__ = ['a', 'b',]",
    "empty": "",
}


def _as_whole(text: str) -> str | None:
    try:
        return black.format_str(text, mode=MODE)
    except InvalidInput:
        return None


@pytest.mark.parametrize("first", SNIPPETS)
def test_blocks_are_formatted_as_in_the_whole(first: str) -> None:
    """Each kind of block before each other kind, and in the middle of a module."""
    texts = {}
    # All gaps in all places would be four times the work, and show no more.
    ways = list(itertools.product(("\n\n\n", "\n\n\n\n\n"), (False, True)))
    start = list(SNIPPETS).index(first)
    for number, second in enumerate(SNIPPETS, start):
        gap, inside = ways[number % len(ways)]
        pair = SNIPPETS[first] + gap + SNIPPETS[second] + "\n"
        whole = f"import a\n\n\n{pair}\n\n\nz = 1\n" if inside else pair
        texts[f"{second}.py"] = whole
    wanted = {path: _as_whole(text) for path, text in texts.items()}
    valid = {path: text for path, text in texts.items() if wanted[path] is not None}
    assert len(valid) > len(texts) // 2
    assert format_files(valid) == {path: wanted[path] for path in sorted(valid)}


def test_other_files_stay_as_they_are() -> None:
    files = {"py.typed": "", "a.md": "x   =  1"}
    assert format_files(files) == {"a.md": "x   =  1", "py.typed": ""}


def test_text_that_is_not_python_is_reported_by_file() -> None:
    files = {"a.py": "x = 1\n", "b.py": "x = 1\n\n\ny = = 2\n", "c.py": 'x = """'}
    with pytest.raises(CompileError) as caught:
        format_files(files)
    found = [(d.code, d.file) for d in caught.value.diagnostics]
    assert found == [("internal-syntax", "b.py"), ("internal-syntax", "c.py")]


STUCK = """
import os, sys, threading
from mcpgen import format

def _format_batch(batch):
    os.write(1, b"x")
    threading.Event().wait()

_format_batch.__module__ = "mcpgen.format"
format._format_batch = _format_batch
format.format_files({f"{n}.py": f"x = {n}" * 10_000 for n in range(4)})
"""


def test_no_worker_outlives_a_killed_command() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUCK],
        stdout=subprocess.PIPE,
        env={**os.environ, "MCPGEN_JOBS": "2"},
    ) as process:
        assert process.stdout
        assert process.stdout.read(1) == b"x"
        process.kill()
        # The end of the output comes when the last process that could write is gone.
        process.communicate(timeout=60)


# --- the same bytes everywhere ------------------------------------------------------


def _generate(directory: Path, **environment: str) -> dict[str, bytes]:
    directory.mkdir(parents=True)
    (directory / "pyproject.toml").write_text(
        f'[tool.mcpgen]\noutput = "out"\nversions = {SMALL}\n'
    )
    below = directory / "below"
    below.mkdir()
    subprocess.run(
        [sys.executable, "-m", "mcpgen", "generate"],
        cwd=below,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
    )
    return tree(directory / "out")


def test_the_output_depends_on_nothing_but_the_input(tmp_path: Path) -> None:
    runs = [
        _generate(tmp_path / "a", PYTHONHASHSEED="0", MCPGEN_JOBS="1"),
        _generate(tmp_path / "b/deeper", PYTHONHASHSEED="1", MCPGEN_JOBS="2"),
        _generate(tmp_path / "c d", PYTHONHASHSEED="random", TZ="Asia/Tokyo"),
        _generate(tmp_path / "ü", PYTHONHASHSEED="2", LC_ALL="C", PYTHONUTF8="0"),
    ]
    for other in runs[1:]:
        assert [path for path in runs[0] if other.get(path) != runs[0][path]] == []
    assert len(runs[0]) > 10
    for path, data in runs[0].items():
        for place in (tmp_path, ROOT, Path.home()):
            assert os.fsencode(f"{place}/") not in data, path


def test_every_input_counts(tmp_path: Path) -> None:
    """Whatever the output depends on changes the digest that `check` relies on."""
    (tmp_path / "pyproject.toml").write_text('[tool.mcpgen]\noutput = "out"\n')
    config = require_config(tmp_path)
    base = pipeline.inputs_digest(config, Catalog(config))
    assert pipeline.inputs_digest(config, Catalog(config)) == base
    seen = {base}
    (tmp_path / "schema").mkdir()
    for name, text in (
        ("pins.toml", "# a pin\n"),
        ("errata.toml", "# an erratum\n"),
        ("overlay.toml", "# a fact\n"),
    ):
        (tmp_path / "schema" / name).write_text(text)
        seen.add(pipeline.inputs_digest(config, Catalog(config)))
    some = parse_config({"output": "out", "versions": VERSIONS}, tmp_path)
    seen.add(pipeline.inputs_digest(some, Catalog(some)))
    assert len(seen) == 5


def test_a_quick_check_imports_little(tmp_path: Path) -> None:
    """What makes text is not loaded to find that nothing has changed."""
    (tmp_path / "pyproject.toml").write_text(
        f'[tool.mcpgen]\noutput = "out"\nversions = {SMALL}\n'
    )
    subprocess.run(
        [sys.executable, "-m", "mcpgen", "generate"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    script = (
        "import sys\nfrom mcpgen.cli import app\n"
        "app(['check'], standalone_mode=False)\n"
        "print(sorted({m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert "out is up to date" in done.stdout, done.stderr
    modules = done.stdout.splitlines()[-1]
    for heavy in ("black", "jinja2", "rich", "datamodel_code_generator", "msgspec"):
        assert f"'{heavy}'" not in modules
