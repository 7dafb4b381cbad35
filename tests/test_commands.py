"""The commands from end to end, the way somebody new to them would try."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import typer
from mcpgen.cli import app
from mcpgen.load import MAX_BYTES
from typer.testing import CliRunner, Result

from .compiling import schema, tree

SCHEMA = json.dumps(schema(A={"type": "string"})).encode()
OTHER = json.dumps(schema(B={"type": "string"})).encode()
OLDEST = "2024-11-05"
NEWEST = "2026-07-28"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, with the current directory in it."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("MCPGEN_JOBS", "1")
    settings(root)
    (root / "new.json").write_bytes(SCHEMA)
    return root


def settings(root: Path, **more: Any) -> None:
    table = {"output": "out", **more}
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    (root / "pyproject.toml").write_text("\n".join(["[tool.mcpgen]", *lines]) + "\n")


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def refused(root: Path, *arguments: str) -> str:
    """Ends with 2, writes nothing, says why, and where to look; not a trace."""
    before = tree(root)
    result = run(*arguments, code=2)
    assert tree(root) == before
    assert not result.stdout
    assert "Traceback" not in result.stderr
    assert str(root) not in result.stderr
    return result.stderr


# --- help ---------------------------------------------------------------------------


def _commands(
    command: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(below, (*path, name))


COMMANDS = dict(_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(path: tuple[str, ...]) -> None:
    shown = run(*path, "--help").output
    assert "Usage:" in shown
    if path:
        assert "Examples:" in shown
        assert f"mcpgen {' '.join(path)}" in shown
    for parameter in COMMANDS[path].params:
        assert getattr(parameter, "help", None), f"{path}: {parameter.name}"


def test_there_are_the_commands_we_promise() -> None:
    paths = {" ".join(path) for path in COMMANDS}
    assert {"generate", "check", "diff", "ir", "methods", "update"} <= paths
    assert {"templates list", "templates export"} <= paths
    assert {"schema list", "schema add", "schema verify"} <= paths


def test_a_wrong_option_ends_with_2() -> None:
    assert "--nonsense" in run("generate", "--nonsense", code=2).stderr
    run("nonsense", code=2)


# --- outside of a project -----------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("generate",),
        ("check",),
        ("schema", "add", "new.json", "--version", "x-1"),
    ],
    ids=" ".join,
)
def test_outside_of_a_project_it_says_where_to_run(
    project: Path, arguments: tuple[str, ...]
) -> None:
    (project / "pyproject.toml").unlink()
    shown = refused(project, *arguments)
    assert "no-project" in shown
    assert "pyproject.toml" in shown
    assert "[tool.mcpgen]" in shown


def test_looking_needs_no_project(project: Path) -> None:
    (project / "pyproject.toml").unlink()
    assert NEWEST in run("schema", "list").stdout
    assert "tools/call" in run("methods", NEWEST).stdout


def test_settings_are_reported_by_key(project: Path) -> None:
    settings(project, versoins=["a"])
    shown = refused(project, "generate")
    assert "tool.mcpgen.versoins" in shown
    assert 'did you mean "versions"?' in shown
    settings(project, versions=["2025-11-26"])
    shown = refused(project, "check")
    assert "2025-11-26" in shown
    assert 'did you mean "2025-11-25"?' in shown


# --- generate and check -------------------------------------------------------------


def test_generate_and_check(project: Path) -> None:
    settings(project, versions=["x-1"])
    run("schema", "add", "new.json", "--version", "x-1")
    assert "is missing" in run("check", code=1).stderr
    shown = run("generate").stdout
    assert "x-1  out/vx_1" in shown
    assert "0 unchanged" in shown
    before = tree(project)
    assert "out is up to date" in run("check").stdout
    assert "out is up to date" in run("check", "--full").stdout
    assert " 0 written" in run("generate").stdout
    assert tree(project) == before


def _edit(path: Path) -> None:
    path.write_text(path.read_text() + "edited = 1\n")


def _put(path: Path) -> None:
    path.write_text("more = 1\n")


def _misspell(path: Path) -> None:
    path.write_text(path.read_text().replace("types", "tpyes"))


STALE: dict[str, tuple[str, Callable[[Path], None], str, str]] = {
    "changed": ("vx_1/types.py", _edit, "differs", "-edited = 1"),
    "missing": ("vx_1/types.py", Path.unlink, "is missing", "+A: TypeAlias = str"),
    "extra": ("vx_1/more.py", _put, "is not generated", "-more = 1"),
    "manifest": ("MANIFEST", _misspell, "differs", '-    "vx_1/tpyes.py"'),
}


@pytest.mark.parametrize(("path", "edit", "verb", "line"), STALE.values(), ids=STALE)
def test_check_tells_what_differs_and_writes_nothing(
    project: Path, path: str, edit: Callable[[Path], None], verb: str, line: str
) -> None:
    settings(project, versions=["x-1"])
    run("schema", "add", "new.json", "--version", "x-1")
    run("generate")
    edit(project / "out" / path)
    before = tree(project)
    result = run("check", code=1)
    assert f"error[stale] out/{path}" in result.stderr
    assert verb in result.stderr
    assert any(shown.startswith(line) for shown in result.stdout.splitlines())
    assert tree(project) == before
    found = json.loads(run("check", "--format", "json", code=1).stderr)
    assert [(d["code"], d["file"]) for d in found] == [("stale", f"out/{path}")]
    shown = run("check", "--format", "github", code=1).stderr
    assert shown.startswith(f"::error file=out/{path},title=stale::")


def test_check_undoes_what_a_killed_generate_left(project: Path) -> None:
    settings(project, versions=["x-1"])
    run("schema", "add", "new.json", "--version", "x-1")
    run("generate")
    before = tree(project)
    # As it is left between two steps: one file written, its old self beside.
    staging = project / ".mcpgen-out"
    staging.mkdir()
    (project / "out/vx_1/types.py").rename(staging / "old-0")
    (project / "out/vx_1/types.py").write_text("new")
    digest = "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"
    journal = {"changes": {"vx_1/types.py": digest}, "directories": []}
    (staging / "journal").write_text(json.dumps(journal))
    assert "up to date" in run("check").stdout
    assert tree(project) == before
    assert not staging.exists()


def test_a_file_in_the_way_is_not_overwritten(project: Path) -> None:
    settings(project, versions=["x-1"])
    run("schema", "add", "new.json", "--version", "x-1")
    (project / "out/vx_1").mkdir(parents=True)
    (project / "out/vx_1/types.py").write_text("mine = 1\n")
    shown = refused(project, "generate")
    assert "output-occupied" in shown
    assert "vx_1/types.py" in shown


def test_a_version_that_is_no_longer_wanted_goes(project: Path) -> None:
    run("schema", "add", "new.json", "--version", "x-1")
    (project / "other.json").write_bytes(OTHER)
    run("schema", "add", "other.json", "--version", "x-2")
    settings(project, versions=["x-1", "x-2"])
    run("generate")
    settings(project, versions=["x-2"])
    assert "vx_1" in run("check", code=1).stderr
    assert "removed" in run("generate").stdout
    assert not (project / "out/vx_1").exists()
    run("check")


# --- schema -------------------------------------------------------------------------


def test_schema_list(project: Path) -> None:
    rows = json.loads(run("schema", "list", "--json").stdout)
    assert rows[0]["name"] == OLDEST
    assert rows[-1]["name"] == NEWEST
    assert rows[0]["after"] is None
    assert rows[1]["after"] == OLDEST
    assert {len(row["sha256"]) for row in rows} == {64}
    assert all(not os.path.isabs(row["file"]) for row in rows)
    lines = run("schema", "list").stdout.splitlines()
    assert lines[0].split() == ["VERSION", "KIND", "AFTER", "SHA256", "SOURCE"]
    assert len(lines) == len(rows) + 1


def test_schema_add_a_file(project: Path) -> None:
    shown = run("schema", "add", "new.json", "--version", "x-1").stdout
    assert "added x-1" in shown
    assert f"mcpgen diff {NEWEST} x-1" in shown
    assert (project / "schema/x-1/schema.json").read_bytes() == SCHEMA
    row = json.loads(run("schema", "list", "--json").stdout)[-1]
    assert (row["name"], row["source"], row["after"]) == ("x-1", "new.json", NEWEST)
    before = tree(project)
    again = run("schema", "add", "new.json", "--version", "x-1").stdout
    assert "exactly these bytes" in again
    assert tree(project) == before


def test_schema_add_other_bytes_under_the_same_name(project: Path) -> None:
    run("schema", "add", "new.json", "--version", "x-1")
    (project / "new.json").write_bytes(OTHER)
    shown = refused(project, "schema", "add", "new.json", "--version", "x-1")
    assert "version-exists" in shown
    assert "x-1-2" in shown
    shown = refused(project, "schema", "add", "new.json", "--version", OLDEST)
    assert "version-exists" in shown


def test_schema_add_an_extension(project: Path) -> None:
    shown = run("schema", "add", "new.json", "--version", "a-1", "--extension").stdout
    assert "added a-1 (extension" in shown
    row = json.loads(run("schema", "list", "--json").stdout)[-1]
    assert (row["name"], row["kind"], row["after"]) == ("a-1", "extension", None)


@pytest.mark.parametrize("name", ["../x", "a/b", "", "a\0b", ".x", "x" * 65, "..", "é"])
def test_schema_add_under_a_bad_name(project: Path, name: str) -> None:
    shown = refused(project, "schema", "add", "new.json", "--version", name)
    assert "version-name" in shown
    assert "letters, digits" in shown


@pytest.mark.parametrize(
    ("data", "code"),
    [(b'{"$defs": ', "not-json"), (b"[]", "not-a-schema"), (b"\xff", "not-utf8")],
)
def test_schema_add_something_else(project: Path, data: bytes, code: str) -> None:
    (project / "new.json").write_bytes(data)
    shown = refused(project, "schema", "add", "new.json", "--version", "x-1")
    assert code in shown
    shown = refused(
        project, *("schema", "add", "new.json", "--version", "x-1", "--format", "json")
    )
    assert json.loads(shown)[0]["code"] == code


def test_schema_add_what_is_not_there(project: Path) -> None:
    shown = refused(project, "schema", "add", "nothing.json", "--version", "x-1")
    assert "file-unreadable" in shown
    assert "nothing.json" in shown
    refused(project, "schema", "add", ".", "--version", "x-1")
    refused(project, *("schema", "add", "new.json", "--version", "x-1", "--after", "y"))


def test_schema_verify(project: Path) -> None:
    run("schema", "add", "new.json", "--version", "x-1")
    assert "as pinned" in run("schema", "verify").stdout
    (project / "schema/x-1/schema.json").write_bytes(SCHEMA + b" ")
    shown = refused(project, "schema", "verify")
    assert "pin-mismatch" in shown
    assert "schema/x-1/schema.json" in shown
    (project / "schema/x-1/schema.json").unlink()
    assert "file-unreadable" in refused(project, "schema", "verify")


# --- schema add from an address -----------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/schema.json":
            self._answer(200, SCHEMA)
        elif path == "/moved":
            self._answer(302, b"", Location="/schema.json")
        elif path == "/to-file":
            self._answer(302, b"", Location="file:///etc/hostname")
        elif path == "/to-ftp":
            self._answer(302, b"", Location="ftp://127.0.0.1/schema.json")
        elif path == "/circle":
            self._answer(302, b"", Location="/circle")
        elif path == "/short":
            self._answer(200, SCHEMA, length=len(SCHEMA) + 10)
        elif path == "/huge":
            self._answer(200, b'{"$comment": "' + b"x" * MAX_BYTES + b'"}')
        else:
            self._answer(404, b"no such thing")

    def _answer(
        self, status: int, body: bytes, length: int | None = None, **headers: str
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        with suppress(ConnectionError):  # the client has had enough of /huge
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["/schema.json", "/moved"])
def test_schema_add_an_address(project: Path, server: str, path: str) -> None:
    run("schema", "add", f"{server}{path}?token=secret", "--version", "x-1")
    assert (project / "schema/x-1/schema.json").read_bytes() == SCHEMA
    row = json.loads(run("schema", "list", "--json").stdout)[-1]
    assert row["source"] == server + path


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/missing", "url-unreachable", "404"),
        ("/to-file", "url-unreachable", "file"),
        ("/to-ftp", "url-unreachable", "ftp"),
        ("/circle", "url-unreachable", "redirect"),
        ("/short", "url-unreachable", ""),
        ("/huge", "too-large", ""),
    ],
)
def test_schema_add_a_bad_address(
    project: Path, server: str, path: str, code: str, text: str
) -> None:
    shown = refused(project, "schema", "add", server + path, "--version", "x-1")
    assert f"error[{code}]" in shown
    assert text in shown


@pytest.mark.parametrize(
    "address", ["file:///etc/hostname", "ftp://127.0.0.1/x", "data://x", "://"]
)
def test_schema_add_from_elsewhere(project: Path, address: str) -> None:
    shown = refused(project, "schema", "add", address, "--version", "x-1")
    assert "url-scheme" in shown


@pytest.mark.parametrize("address", ["http://", "http://[", "http://127.0.0.1:x/"])
def test_schema_add_what_is_no_address(project: Path, address: str) -> None:
    refused(project, "schema", "add", address, "--version", "x-1")


# --- looking ------------------------------------------------------------------------


def test_ir(project: Path) -> None:
    content = json.loads(run("ir", NEWEST).stdout)
    assert content["version"] == NEWEST
    assert {"definitions", "methods"} <= content.keys()
    tool = json.loads(run("ir", NEWEST, "--definition", "Tool").stdout)
    assert tool["name"] == "Tool"
    assert tool in content["definitions"]
    shown = refused(project, "ir", NEWEST, "--definition", "Tol")
    assert 'did you mean "Tool"?' in shown


def test_methods(project: Path) -> None:
    rows = json.loads(run("methods", NEWEST, "--json").stdout)
    call = next(row for row in rows if row["name"] == "tools/call")
    assert call["kind"] == "request"
    assert "tools/call" in run("methods", NEWEST).stdout


@pytest.mark.parametrize("command", ["ir", "methods"])
def test_an_unknown_version(project: Path, command: str) -> None:
    shown = refused(project, command, "2026-07-82")
    assert 'did you mean "2026-07-28"?' in shown
    found = json.loads(refused(project, command, "zzz", "--format", "json"))
    assert found[0]["code"] == "version-unknown"
    assert NEWEST in found[0]["hint"]
    shown = refused(project, command, "a\nb::error::%", "--format", "github")
    assert shown.startswith("::error file=,title=version-unknown::")
    assert len(shown.splitlines()) == 1


def test_a_closed_pipe_is_not_an_error(project: Path) -> None:
    command = [sys.executable, "-m", "mcpgen", "ir", NEWEST]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
