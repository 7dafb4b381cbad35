"""`mcpgen new`: projects that work, whatever is chosen; and nothing half-written."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import black
import pytest
from mcpgen.catalog import Catalog, module_name
from mcpgen.cli import app, wizard
from mcpgen.cli.new import is_document
from mcpgen.cli.targets import find_target
from mcpgen.diagnostics import CompileError
from mcpgen.runtime import Client
from mcpgen.scaffold.names import LONGEST, package_name
from mcpgen.scaffold.plan import HTTP, MSGSPEC, VENDORED, Request, is_owned, plan
from mcpgen.scaffold.put import put
from mcpgen.scaffold.sources import read
from typer.testing import CliRunner, Result

from .test_publish import FAILURES, Faults, everything
from .test_publish import faults as faults

ROOT = Path(__file__).parent.parent
VERSIONS = Catalog().names()
OLDEST, MIDDLE, NEWEST = VERSIONS[0], VERSIONS[3], VERSIONS[-1]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, and the current one."""
    directory = tmp_path / "my code"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def run(*arguments: str, code: int = 0, said: str | None = None) -> Result:
    result = CliRunner().invoke(app, ["new", *arguments], input=said)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def refused(root: Path, *arguments: str) -> str:
    """Ends with 2, leaves all as it was, and says why and what to do, without a trace."""
    before = everything(root)
    result = run(*arguments, code=2)
    assert everything(root) == before
    assert not result.stdout
    assert "Traceback" not in result.stderr
    assert str(root) not in result.stderr
    return result.stderr


@cache
def is_formatted(text: str) -> bool:
    """Does black leave it as it is?"""
    return black.format_str(text, mode=black.Mode()) == text


# --- what is made, whatever is chosen -------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """A way to run the command."""

    versions: tuple[str, ...] = ()
    http: bool = False
    package: bool = False
    source: str = ""

    @property
    def options(self) -> list[str]:
        """Those of the command line."""
        found = ["--versions", ",".join(self.versions)] if self.versions else []
        found += ["--http"] * self.http + ["--package"] * self.package
        return found + (["--from", self.source] if self.source else [])


SOME = (OLDEST, MIDDLE)
CHOICES = [
    Choice(),
    Choice(http=True),
    Choice(package=True),
    Choice(http=True, package=True, source="tools.json"),
    Choice(package=True, source="openapi.yaml"),
    Choice((OLDEST,), http=True),
    Choice((OLDEST,), source="tools.json"),
    Choice((OLDEST,), http=True, source="openapi.yaml"),
    Choice(SOME),
    Choice(SOME, http=True, source="tools.json"),
    Choice(SOME, source="openapi.yaml"),
]
AXES: dict[str, tuple[Any, ...]] = {
    "versions": ((), (OLDEST,), SOME),
    "http": (False, True),
    "package": (False, True),
    "source": ("", "tools.json", "openapi.yaml"),
}
SOURCES = {
    "tools.json": """{"tools": [{
      "name": "add",
      "description": "Add two numbers.",
      "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"]
      }
    }]}""",
    "openapi.yaml": """
openapi: 3.1.0
info: {title: Weather, version: "1"}
servers: [{url: "https://weather.example/v1"}]
paths:
  /forecast/{city}:
    get:
      operationId: forecast
      summary: Forecast for a city.
      parameters:
        - {name: city, in: path, required: true, schema: {type: string}}
        - {name: days, in: query, schema: {type: integer, default: 3}}
      responses:
        "200":
          description: The forecast.
          content:
            application/json:
              schema: {type: object, properties: {text: {type: string}}}
""",
}


def test_projects_of_every_kind(here: Path) -> None:
    """Made, looked at, checked; then the tests of all of them run at once."""
    for name, text in SOURCES.items():
        Path(name).write_text(text)
    for number, choice in enumerate(CHOICES):
        run(f"my-server{number}", *choice.options)
        _looked_at(here / f"my-server{number}", f"my_server{number}", choice)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-W", "error", "--import-mode", "importlib", "."),
        ],
        cwd=here,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(map(str, here.glob("*/src")))}
        | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) >= sum(1 if choice.source else 4 for choice in CHOICES)


def _looked_at(project: Path, package: str, choice: Choice) -> None:
    files = {p: d for p, d in everything(project).items() if d is not None}
    mine = {path: data.decode() for path, data in files.items() if not is_owned(path)}
    for path, text in mine.items():
        assert text == text.strip() + "\n", path
        assert str(project) not in text
        if path.endswith(".py"):
            assert is_formatted(text), path
            assert ast.get_docstring(ast.parse(text)), path
    needed = tomllib.loads(mine["pyproject.toml"])["project"]["dependencies"]
    if choice.package:
        assert needed[0].startswith("mcpgen[http]>=" if choice.http else "mcpgen>=")
        assert mine.keys() == files.keys()
        return
    assert needed[0] == MSGSPEC
    assert set(HTTP).issubset(needed) == choice.http
    with contextlib.chdir(project):
        checked = CliRunner().invoke(app, ["check"])
    assert checked.stdout == f"src/{package}/_mcp is up to date\n"
    protocol = project / f"src/{package}/_mcp/protocol"
    versions = choice.versions or VERSIONS
    assert {p.name for p in protocol.glob("v*")} == {module_name(v) for v in versions}


@pytest.mark.parametrize("source", [None, *SOURCES])
def test_a_long_name_breaks_no_line(source: str | None) -> None:
    name = "-".join(["server"] * 6)[:LONGEST]
    package, read_as = name.replace("-", "_"), {"runtime": VENDORED}
    found = source and read(
        SOURCES[source].encode(), source, package=package, **read_as
    )
    for path, text in plan(Request(name, source=found or None), Catalog()).items():
        if path.endswith(".py") and not is_owned(path):
            assert is_formatted(text), path


def test_the_choices_cover_all_pairs() -> None:
    for (one, its), (other, theirs) in itertools.combinations(AXES.items(), 2):
        for pair in itertools.product(its, theirs):
            if {one, other} == {"versions", "package"} and all(pair):
                continue  # refused
            found = [(getattr(c, one), getattr(c, other)) for c in CHOICES]
            assert pair in found, (one, other, pair)


def test_the_same_request_gives_the_same_bytes() -> None:
    request = Request("weather", versions=SOME)
    assert plan(request, Catalog()) == plan(request, Catalog())


def test_it_needs_what_mcpgen_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == [MSGSPEC]
    assert project["optional-dependencies"]["http"] == list(HTTP)


def test_templates_name_no_version() -> None:
    for path in (ROOT / "templates/project").iterdir():
        assert not re.search(r"20\d\d-\d\d-\d\d", path.read_text()), path


def test_types_are_strict(here: Path) -> None:
    """Without the copy, which has a test of its own, and one in tests/interop."""
    run("hello", "--package")
    done = subprocess.run(
        [sys.executable, "-m", "mypy"],
        cwd=here / "hello",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    settings = tomllib.loads((here / "hello/pyproject.toml").read_text())
    assert settings["tool"]["mypy"]["strict"]


# --- the server, as hosts start it ----------------------------------------------------


def test_hosts_can_start_it(here: Path) -> None:
    """As the files for hosts say, but for the place of the command."""
    run("weather")
    project = here / "weather"
    target = find_target("weather", project / ".mcp.json")
    assert target.command == (".venv/bin/weather",)
    readme = (project / "README.md").read_text()
    entries = [json.loads(b) for b in re.findall(r"```json\n(.*?)```", readme, re.S)]
    assert [list(entry) for entry in entries] == [
        ["mcpServers"],
        ["servers"],
        ["mcpServers"],
    ]
    for entry in entries:
        ((_, table),) = entry.items()
        assert table["weather"]["command"].endswith("/.venv/bin/weather")
    scripts = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    assert scripts["scripts"] == {"weather": "weather.__main__:main"}


async def _asked(client: Client) -> str:
    async with client:
        assert client.server_info == {"name": "weather", "version": "0.1.0"}
        result = await client.call_tool("count", text="one two")
        assert not result.is_error
        (block,) = result.content
        assert getattr(block, "text", "") == '{"words":2,"characters":7}'
        return client.version


def test_it_serves_stdio_and_http(here: Path) -> None:
    run("weather", "--http")
    command = [sys.executable, "-m", "weather"]
    env = {"PYTHONPATH": str(here / "weather/src")}
    for version in (OLDEST, NEWEST):
        client = Client.stdio(command, env=env, versions=[version])
        assert asyncio.run(_asked(client)) == version
    with subprocess.Popen(
        [*command, "--http", "--port", "0"],
        env=os.environ | env,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            url = process.stderr.readline().split()[-1]
            for version in (MIDDLE, NEWEST):
                client = Client.http(url, versions=[version])
                assert asyncio.run(_asked(client)) == version
        finally:
            process.terminate()
    assert process.returncode == 0


def test_it_imports_no_more_than_it_needs(here: Path) -> None:
    run("weather")
    script = """
import sys
sys.argv = ["weather", "--nothing"]
from weather.__main__ import main
try:
    main()
except SystemExit as end:
    assert end.code == 2
print(sorted({name.split(".")[0] for name in sys.modules} - sys.stdlib_module_names))
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        env={"PYTHONPATH": f"{here}/weather/src:{_site()}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found = [name for name in ast.literal_eval(done.stdout) if name[0] != "_"]
    assert {"msgspec", "weather"} <= set(found)
    assert set(found) <= {"msgspec", "typing_extensions", "weather"}


def _site() -> str:
    import msgspec

    return str(Path(msgspec.__file__).parent.parent)


# --- the command ----------------------------------------------------------------------


def test_it_takes_no_formatter_and_no_models(here: Path) -> None:
    script = """
import sys
from mcpgen.cli import app
try:
    app(["new", "weather"])
except SystemExit as end:
    assert not end.code
slow = {"black", "datamodel_code_generator", "mcpgen.runtime", "rich", "asyncio"}
print(slow & sys.modules.keys())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.endswith("set()\n"), done.stdout + done.stderr


def test_a_dry_run_lists_and_writes_nothing(here: Path) -> None:
    listed = run("weather", "--dry-run").stdout.splitlines()
    assert not everything(here)
    run("weather")
    found = {p for p, data in everything(here).items() if data is not None}
    files = {path.removeprefix("weather/") for path in found}
    mine = sorted(f"weather/{path}" for path in files if not is_owned(path))
    assert listed[:-1] == mine
    number = len(files) - len(mine)
    assert listed[-1] == f"weather/src/weather/_mcp: {number} files, which mcpgen keeps"
    assert "weather" in refused(here, "weather", "--dry-run")


def test_it_says_what_to_do_next(here: Path) -> None:
    shown = run("weather").stdout
    assert shown.endswith("Now:\n\n    cd weather\n    make test\n")


@pytest.mark.parametrize("where", ["elsewhere/w", "./w", "deep/../w", "a b ü/ w"])
def test_it_goes_where_it_is_told(here: Path, where: str) -> None:
    place = Path(where)
    (here / "deep").mkdir()
    place.parent.mkdir(exist_ok=True)
    shown = run("weather", "--directory", where, "--versions", OLDEST).stdout
    assert f"    cd {shlex.quote(str(place))}\n" in shown
    assert (place / "src/weather/server.py").is_file()
    assert not list(here.rglob(".mcpgen*"))


def test_it_stands_alone_inside_another_project(here: Path) -> None:
    """Its versions are those that ship, whatever the project around it has."""
    (here / "pyproject.toml").write_text('[tool.mcpgen]\noutput = "out"\n')
    before = everything(here)
    run("weather", "--versions", OLDEST)
    os.chdir(here / "weather")
    assert CliRunner().invoke(app, ["check"]).exit_code == 0
    shutil.rmtree(here / "weather")
    assert everything(here) == before


# --- from documents and servers -------------------------------------------------------


def test_from_a_server_that_is_started(here: Path) -> None:
    """By its command line, and by its name in the file of a host."""
    run("weather")
    env = {"PYTHONPATH": str(here / "weather/src")}
    entry = {"command": sys.executable, "args": ["-m", "weather"], "env": env}
    Path("hosts.json").write_text(json.dumps({"mcpServers": {"theirs": entry}}))
    line = f"env PYTHONPATH='{env['PYTHONPATH']}' {sys.executable} -m weather"
    shown = run("one", "--from", line).stdout
    assert "1 tool to fill in, in tools.py" in shown
    run("two", "--from", "theirs", "--config", "hosts.json")
    text = (here / "one/src/one/tools.py").read_text()
    assert "async def count(" in text
    assert (here / "two/src/two/tools.py").read_text() == text


def test_from_an_address(here: Path) -> None:
    handler = partial(_Quiet, directory=str(here))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            Path("tools.json").write_text(SOURCES["tools.json"])
            url = f"http://127.0.0.1:{server.server_port}/tools.json?token=secret"
            run("weather", "--from", url)
            told = refused(here.parent, "w", "--from", url.replace("tools", "none"))
        finally:
            server.shutdown()
    assert "async def add(" in (here / "weather/src/weather/tools.py").read_text()
    assert "url-unreachable" in told
    assert "secret" not in told


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def test_what_is_a_document_and_what_a_server(here: Path) -> None:
    Path("tools").touch()
    Path("my tools.json").touch()
    Path("server").touch(0o755)
    documents = ["tools", "a.json", "a.yml", "https://a/b.yaml?c", "my tools.json"]
    servers = ["server", "./server", "https://a/mcp", "python a.py --b c.json", ".", ""]
    assert [text for text in documents + servers if is_document(text)] == documents


# --- what will not do -----------------------------------------------------------------

BAD_NAMES = {
    "empty": "",
    "space": "my server",
    "unicode": "wetterüber",
    "fullwidth": "\uff57eather",
    "up": "..",
    "above": "../weather",
    "below": "a/weather",
    "absolute": "/weather",
    "backslash": "a\\weather",
    "digit": "7zip",
    "dash": "weather-",
    "underscore": "_weather",
    "dot": ".weather",
    "keyword": "class",
    "constant": "None",
    "keyword-of-any-case": "Lambda",
    "standard": "json",
    "standard-with-dash": "Concurrent",
    "test": "test",
    "needed": "msgspec",
    "needed-by-what-is-needed": "Typing-Extensions",
    "itself": "mcpgen",
    "tests": "tests",
    "windows": "aux",
    "windows-with-ending": "com1.server",
    "nul": "a\0b",
    "newline": "weather\n",
    "quote": 'weather"',
    "template": "{{ 1 }}",
    "long": "w" * 41,
}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_names_that_will_not_do(here: Path, name: str) -> None:
    told = refused(here.parent, "--", name)
    assert told.startswith("error[name]")
    assert len(told.splitlines()) == 3  # what, and what to do next


def test_names_that_depend_on_what_is_needed() -> None:
    assert package_name("Weather-2.x") == "weather_2_x"
    assert package_name("httpx2") == "httpx2"
    with pytest.raises(CompileError, match="which the project needs"):
        package_name("httpx2", ("httpx2",))


def _linked(here: Path) -> None:
    (here / "elsewhere").mkdir()
    (here / "weather").symlink_to("elsewhere")


OCCUPIED: dict[str, Callable[[Path], object]] = {
    "directory": lambda here: (here / "weather").mkdir(),
    "file": lambda here: (here / "weather").write_text("mine"),
    "link": _linked,
    "dangling": lambda here: (here / "weather").symlink_to("nowhere"),
    "loop": lambda here: (here / "weather").symlink_to("weather"),
}


@pytest.mark.parametrize("put", OCCUPIED.values(), ids=OCCUPIED)
def test_what_is_there_stays(here: Path, put: Callable[[Path], object]) -> None:
    put(here)
    told = refused(here.parent, "weather")
    assert told.startswith("error[new-occupied] weather\n")


@pytest.mark.parametrize("where", [".", "..", "/", "", "no/where", "file/w", "loop/w"])
def test_places_that_will_not_do(here: Path, where: str) -> None:
    (here / "file").write_text("mine")
    (here / "loop").symlink_to("loop")
    refused(here.parent, "weather", "--directory", where)


BAD_OPTIONS = {
    "version": (("--versions", "2025-11-26"), 'did you mean "2025-11-25"?'),
    "no-version": (("--versions", ""), "holds an empty name"),
    "twice": (("--versions", f"{MIDDLE},{MIDDLE}"), "names something twice"),
    "pointless": (("--versions", MIDDLE, "--package"), "leave one of the two out"),
    "no-source": (("--config", "x.json"), "--config is for the SOURCE"),
    "no-file": (("--from", "missing.json"), "missing.json"),
    "no-server": (("--from", "/no/such/server --x"), "server"),
}


@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_options_that_will_not_do(
    here: Path, options: tuple[str, ...], words: str
) -> None:
    assert words in refused(here.parent, "weather", *options)


def test_no_permission(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:  # whom no mode keeps out

        def denied(self: Path, *_: Any, **__: Any) -> None:
            raise PermissionError(13, "Permission denied", str(self))

        with monkeypatch.context() as patch:
            patch.setattr(Path, "mkdir", denied)
            told = refused(here.parent, "weather")
    else:
        here.chmod(0o555)
        try:
            told = refused(here.parent, "weather")
        finally:
            here.chmod(0o755)
    assert "cannot be written: Permission denied" in told


# --- interruptions --------------------------------------------------------------------

FILES = {"README.md": "hello\n", "src/w/__init__.py": "", "src/w/server.py": "a = 1\n"}
STAGING = ".mcpgen-new-w"


@pytest.mark.parametrize(("error", "late"), FAILURES.values(), ids=FAILURES)
def test_a_failure_at_any_call_leaves_nothing(
    tmp_path: Path, faults: Faults, error: BaseException, late: bool
) -> None:
    """One run per call that changes files, with that call failing."""
    place = tmp_path / "w"
    stopped = 0
    for number in range(1000):
        faults.arm(number, error, late=late)
        raised = ""
        try:
            put(FILES, place)
        except (KeyboardInterrupt, CompileError) as caught:
            raised = str(caught) or "interrupted"
            stopped += 1
        assert raised in ("", "interrupted") or "cannot be written" in raised
        if faults.count <= number:
            break  # there was no such call: all have had their turn
        faults.arm(None, error)
        found = everything(tmp_path)
        assert not found or _whole(found)
        if found:
            shutil.rmtree(place)
        shutil.rmtree(tmp_path / STAGING, ignore_errors=True)
    assert stopped > 5
    assert _whole(everything(tmp_path))


def _whole(found: dict[str, bytes | None]) -> bool:
    files = {path: data for path, data in found.items() if data is not None}
    return files == {f"w/{path}": text.encode() for path, text in FILES.items()}


KILLED = f"""
import os, signal, sys
from pathlib import Path
from mcpgen.scaffold.put import put

at, number = int(sys.argv[2]), 0

def wrap(call):
    def wrapped(*args, **kwargs):
        global number
        number += 1
        if number == at:
            os.kill(os.getpid(), getattr(signal, sys.argv[3]))
        return call(*args, **kwargs)
    return wrapped

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
os.rename, os.mkdir, os.rmdir = map(wrap, (os.rename, os.mkdir, os.rmdir))
Path.write_bytes = wrap(Path.write_bytes)
put({FILES}, Path(sys.argv[1]))
"""
# Calls: 1 to 3 make directories, one of them twice; then files and more directories;
# the last but one is the rename.


def _killed(place: Path, at: int, name: str) -> int:
    command = [sys.executable, "-c", KILLED, str(place), str(at), name]
    return subprocess.run(command, cwd=ROOT, capture_output=True).returncode


@pytest.mark.parametrize("at", [1, 4, 8])
def test_a_killed_run_leaves_no_half_project(tmp_path: Path, at: int) -> None:
    assert _killed(tmp_path / "w", at, "SIGKILL") == -signal.SIGKILL
    assert not (tmp_path / "w").exists()
    assert (tmp_path / STAGING).exists() == (at > 1)
    put(FILES, tmp_path / "w")  # and the next one tidies up
    assert _whole(everything(tmp_path))


@pytest.mark.parametrize("at", [1, 4, 8])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_stopped_run_leaves_nothing(tmp_path: Path, at: int, name: str) -> None:
    assert _killed(tmp_path / "w", at, name) != 0
    assert not everything(tmp_path)


@pytest.mark.parametrize("kind", ["file", "link", "theirs"])
def test_what_has_the_name_of_our_staging_stays(tmp_path: Path, kind: str) -> None:
    staging = tmp_path / STAGING
    (tmp_path / "elsewhere/project").mkdir(parents=True)
    if kind == "file":
        staging.write_text("mine")
    elif kind == "link":
        staging.symlink_to("elsewhere")
    else:
        staging.mkdir()
        (staging / "mine.txt").write_text("mine")
    before = everything(tmp_path)
    with pytest.raises(CompileError) as caught:
        put(FILES, tmp_path / "w")
    assert caught.value.diagnostics[0].file == STAGING
    assert everything(tmp_path) == before


# --- the wizard -----------------------------------------------------------------------


def test_without_a_terminal_the_name_is_missing(here: Path) -> None:
    told = refused(here, "--http")
    assert "NAME is missing" in told
    assert "mcpgen new weather" in told


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sits there."""
    monkeypatch.setattr(wizard, "is_interactive", lambda: True)


@pytest.mark.usefixtures("asked")
def test_the_wizard_asks_for_all_that_matters(here: Path) -> None:
    (here / "taken").mkdir()
    answers = ["class", "my server", "taken", "weather", "", "y", "", "2025", OLDEST]
    told = run(said="\n".join(answers) + "\n").stderr
    assert "taken is there already; choose another name" in told
    assert '"class" is a word of Python\'s own; use a name such as' in told
    assert '"my server" is not a name that pip knows' in told
    assert 'no version "2025" is pinned' in told
    made = everything(here)
    shutil.rmtree("weather")
    run("weather", "--http", "--versions", OLDEST)
    assert everything(here) == made


def test_the_wizard_on_a_terminal(here: Path) -> None:
    ours, theirs = os.openpty()
    try:
        os.write(ours, b"weather\n\n\n\n\n")
        with subprocess.Popen(
            [sys.executable, "-m", "mcpgen", "new"],
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            shown, _ = process.communicate(timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert process.returncode == 0
    assert shown.endswith("    cd weather\n    make test\n")
    assert (here / "weather/README.md").is_file()


@pytest.mark.usefixtures("asked")
def test_enter_means_the_default(here: Path) -> None:
    run(said="weather\n\n\n\n\n")
    made = everything(here)
    shutil.rmtree("weather")
    run("weather")
    assert everything(here) == made


@pytest.mark.usefixtures("asked")
def test_what_was_said_is_not_asked(here: Path) -> None:
    told = run("--http", "--package", said="weather\n\n").stderr
    assert "HTTP" not in told
    assert "runtime" not in told
    assert "mcpgen[http]" in (here / "weather/pyproject.toml").read_text()


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("said", ["", "weather\n", "weather\n\ny\n"])
def test_leaving_the_wizard_writes_nothing(here: Path, said: str) -> None:
    run(said=said, code=130)
    assert not everything(here)
