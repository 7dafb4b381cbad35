"""`mcpgen call` and `mcpgen inspect`, as processes that talk to servers in processes."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcpgen.cli import app
from mcpgen.cli.parameters import Arguments, Schema, typed
from mcpgen.cli.questions import Deadline
from mcpgen.cli.targets import find_target
from mcpgen.diagnostics import CompileError
from typer.testing import CliRunner

from .runtime.exchange_http import serving
from .runtime.oauth_world import Answer, Seen, World, on_loopback

ROOT = Path(__file__).parent.parent
TIME_LIMIT = 60
OLDEST, NEWEST = "2024-11-05", "2026-07-28"
VERSIONS = [OLDEST, "2025-03-26", "2025-06-18", "2025-11-25", NEWEST]
FIXTURE = shlex.join([sys.executable, "-m", "tests.conformance.server"])

WEATHER = r'''
import asyncio, os, pathlib, sys
from typing import Annotated, Literal
from mcpgen.runtime import Context, Embedded, Image, Server
from msgspec import Meta, Struct

class Forecast(Struct):
    city: str
    days: int

server = Server(
    "weather", version="1.2.3", title="[red]Weather[/red] \x1b[31mfor people",
    instructions="Name a city.\nThen name another one.",
)

@server.tool(title="Forecast", annotations={"readOnlyHint": True, "openWorldHint": False})
async def forecast(
    city: Annotated[str, Meta(description="Where: the name of a city, or of a village")],
    days: Annotated[int, Meta(ge=1)] = 3,
    unit: Literal["C", "F"] = "C",
    note: str | None = None,
    tags: list[str] = [],
) -> Forecast:
    """Tell the weather.

    \x1b]0;gotcha\x07\u202e [bold]It[/bold] is never wrong.
    """
    print("forecast was called", file=sys.stderr, flush=True)
    return Forecast(city, days)

@server.tool(annotations={"destructiveHint": True})
async def forget(city: str) -> None:
    """Forget all about a city."""

@server.tool
async def echo(text: str = "", number: float = 0, truth: bool = False,
               items: list[int] = [], maybe: str | None = "x") -> str:
    return repr((text, number, truth, items, maybe))

@server.tool
async def escape() -> str:
    return "a\x1b[31mb\r\n\tc"

@server.tool
async def files() -> list[Image | Embedded]:
    evil = "file:///x/..%2F..%2Fevil%00name.bin"
    return [Image(b"png", "image/png"), Embedded(evil, b"one"), Embedded("x:nul", b"two"),
            Embedded("x:text", "text")]

@server.tool
async def fail() -> str:
    print("\x1b[31mwhy it failed", file=sys.stderr, flush=True)
    raise RuntimeError("it failed")

@server.tool
async def crash() -> str:
    print("    last\x1b[31m words", file=sys.stderr, flush=True)
    os._exit(3)

@server.tool
async def hang(*, ctx: Context) -> str:
    await ctx.log("warning", f"pid {os.getpid()}\x1b[31m")
    await asyncio.get_running_loop().create_future()

@server.tool
async def steps(*, ctx: Context) -> str:
    await ctx.progress(1, 2, "half\x1b[31m")
    await ctx.log("debug", {"not": "seen"})
    await ctx.log("info", {"is": "seen"})
    return os.environ.get("PLACE", "nowhere")

@server.tool
async def ask(*, ctx: Context) -> str:
    form = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your \x1b[31mname", "minLength": 2},
            "age": {"type": "integer", "minimum": 1},
            "sure": {"type": "boolean", "default": True},
            "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        },
        "required": ["name"],
    }
    answer = await ctx.elicit("Who\x1b[31m are you?", form)
    return f"{answer.action} {answer.content if answer.content else None}"

@server.tool
async def visit(*, ctx: Context) -> str:
    answer = await ctx.elicit_url("Log in", "https://example.com/\x1b[31mlogin", "e-1")
    return answer.action

@server.resource("weather://stations", title="Stations", mime_type="text/csv")
async def stations() -> str:
    """Where we look at the sky."""
    return ""

@server.resource("weather://stations/{name}")
async def station(name: str) -> str:
    return ""

@server.prompt
async def report(city: str, style: str = "dry") -> str:
    """Write a report."""
    return ""

server.run()
'''

ANYTHING = """
import json, sys
answers = json.loads(sys.argv[1])
for text in sys.stdin:
    asked = json.loads(text)
    if asked.get("method") == "notifications/initialized" and "early" in answers:
        print(json.dumps(answers["early"]), flush=True)
    elif "id" in asked and "method" in asked:
        answer = answers.get(asked["method"])
        error = {"error": {"code": -32601, "message": "no\\x1b[31m such method"}}
        said = error if answer is None else {"result": answer}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The command line of a server."""
    path = tmp_path_factory.mktemp("weather") / "weather.py"
    path.write_text(WEATHER, "utf-8")
    return shlex.join([sys.executable, "-W", "error", str(path)])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving("fixture") as port:
        yield f"http://127.0.0.1:{port}/mcp"


def saying(**answers: Any) -> str:
    """The command line of a legacy server that answers whatever it is told to."""
    first = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "prompts": {}},
        "serverInfo": {"name": "odd", "version": "0"},
    }
    said = {"initialize": first, "prompts/list": {"prompts": []}}
    said |= {name.replace("_", "/"): answer for name, answer in answers.items()}
    return shlex.join([sys.executable, "-c", ANYTHING, json.dumps(said)])


def environment(**more: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if "PROXY" not in name.upper()
    }
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
        kept.pop(name, None)
    return {**kept, "TERM": "xterm", "PYTHONWARNINGS": "error", **more}


def mcpgen(
    *arguments: str, code: int = 0, stdin: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "mcpgen", *arguments],
        cwd=ROOT,
        input=stdin,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert not done.stderr.startswith("Traceback")
    assert "\x1b" not in done.stdout + done.stderr
    return done


def refused(*arguments: str, **env: str) -> str:
    """Ends with 2; nothing on stdout, and what is wrong on stderr."""
    done = mcpgen(*arguments, code=2, **env)
    assert not done.stdout
    return done.stderr


def refused_at_once(*arguments: str) -> str:
    """The same for what fails before anything is started: no process is needed."""
    result = CliRunner().invoke(app, list(arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert isinstance(result.exception, SystemExit)
    return result.stderr


# --- start-up -------------------------------------------------------------------------


def test_help_waits_for_nothing_of_this() -> None:
    program = "import sys, mcpgen.cli; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=True,
    )
    modules = set(done.stdout.split())
    assert "mcpgen.cli.live" in modules
    assert not {"asyncio", "msgspec", "rich.console", "mcpgen.runtime"} & modules


# --- inspect --------------------------------------------------------------------------

PAGE = r"""weather 1.2.3  [red]Weather[/red] \x1b[31mfor people
Protocol 2026-07-28
Offers   completions, logging, prompts (listChanged), resources
         (listChanged, subscribe), tools (listChanged)

Instructions
  Name a city.
  Then name another one.

Tools (11)

  forecast  Forecast  read-only  closed world
    Tell the weather.

    \x1b]0;gotcha\x07\u202e [bold]It[/bold] is never wrong.
      city: string required  Where: the name of a city, or of a village
      days: integer = 3
      unit: "C" | "F" = "C"
      note: string | null = null
      tags: string[] = []
      → object with city: string (required), days: integer (required)

  forget  destructive
    Forget all about a city.
      city: string required
"""
NARROW = r"""weather 1.2.3  [red]Weather[/red]
  \x1b[31mfor people
Protocol 2026-07-28
Offers   completions, logging,
         prompts (listChanged),
         resources (listChanged,
         subscribe), tools (listChanged)

Instructions
  Name a city.
  Then name another one.

Tools (11)

  forecast  Forecast  read-only
    closed world
    Tell the weather.

    \x1b]0;gotcha\x07\u202e
    [bold]It[/bold] is never wrong.
      city: string required  Where:
        the name of a city, or of a
        village
      days: integer = 3
"""
END = """
Resources (1)

  stations  Stations
    weather://stations  text/csv
    Where we look at the sky.

Resource templates (1)

  station
    weather://stations/{name}

Prompts (1)

  report
    Write a report.
      city required
      style
"""


def test_the_page(weather: str) -> None:
    shown = mcpgen("inspect", weather).stdout
    assert shown.startswith(PAGE)
    assert shown.endswith(END)


def test_the_page_on_a_narrow_screen(weather: str) -> None:
    shown = mcpgen("inspect", weather, COLUMNS="40").stdout
    assert shown.startswith(NARROW)
    assert max(map(len, shown.splitlines())) <= 40


def test_the_page_has_colours_on_a_terminal_only(weather: str) -> None:
    with terminal("inspect", weather) as shown:
        text = shown.rest()
    assert "\x1b[1mforecast\x1b[0m" in text
    assert "\x1b[31mfor" not in text
    assert "\x1b]0;" not in text


@pytest.mark.parametrize("version", VERSIONS)
def test_json(weather: str, version: str) -> None:
    shown = mcpgen("inspect", weather, "--json", "--version", version).stdout
    assert shown.isascii()
    found = json.loads(shown)
    assert list(found) == [
        *("protocolVersion", "otherVersions", "serverInfo", "instructions"),
        *("capabilities", "tools", "resources", "resourceTemplates", "prompts"),
    ]
    assert found["protocolVersion"] == version
    assert found["serverInfo"]["name"] == "weather"
    assert found["tools"][0]["inputSchema"]["required"] == ["city"]
    assert [item["uri"] for item in found["resources"]] == ["weather://stations"]
    assert [item["name"] for item in found["prompts"]] == ["report"]


def test_long_texts_and_lists() -> None:
    tools = [
        {
            "name": f"tool{n}",
            "description": "x " * 500,
            "inputSchema": {"type": "object"},
        }
        for n in range(120)
    ]
    server = saying(tools_list={"tools": tools})
    shown = mcpgen("inspect", server).stdout
    assert "… (--full)" in shown
    assert "  … and 20 more (--full)\n" in shown
    assert "tool119" not in shown
    shown = mcpgen("inspect", server, "--full").stdout
    assert "--full" not in shown
    assert "tool119" in shown
    assert shown.count("x") >= 120 * 500


def test_a_list_that_cannot_be_read_does_not_hide_the_others() -> None:
    prompt = {"name": "p\x1b[31m", "arguments": [{"name": "a\nb", "required": True}]}
    server = saying(
        tools_list={"tools": [{"name": 5}]}, prompts_list={"prompts": [prompt]}
    )
    done = mcpgen("inspect", server, code=2)
    assert "Tools: they could not be read" in done.stdout
    assert "  p\\x1b[31m\n      a b required\n" in done.stdout
    assert "error[server-error] python" in done.stderr
    assert "tools/list" in done.stderr
    found = json.loads(mcpgen("inspect", server, "--json", code=2).stdout)
    assert found["tools"] is None
    assert found["prompts"] == [prompt]


def test_what_else_a_server_speaks(weather: str) -> None:
    discovered = {
        **{"resultType": "complete", "supportedVersions": [NEWEST, "x\x1b[31m-1"]},
        **{"ttlMs": 0, "cacheScope": "private", "capabilities": {}},
    }
    server = saying(server_discover=discovered)
    shown = mcpgen("inspect", server).stdout
    assert f"Protocol {NEWEST} (also x\\x1b[31m-1)\nOffers   nothing\n" in shown


# --- call: arguments ------------------------------------------------------------------


def test_arguments_have_the_types_of_the_schema(weather: str) -> None:
    words = ("text=3", "number=3", "truth=true", "items=[1, 2]", "maybe=null")
    assert mcpgen("call", weather, "echo", *words).stdout == (
        "('3', 3.0, True, [1, 2], None)\n"
    )
    words = ("text=null", "maybe=3", "items:=[4]", "number=-1e3")
    assert mcpgen("call", weather, "echo", *words).stdout == (
        "('null', -1000.0, False, [4], '3')\n"
    )


def test_arguments_from_elsewhere(weather: str, tmp_path: Path) -> None:
    given = {"text": "all", "number": 1}
    file = tmp_path / "text.txt"
    file.write_text('"ä"\n', "utf-8")
    whole = ("--arguments", json.dumps(given))
    done = mcpgen("call", weather, "echo", *whole, "number=2")
    assert done.stdout.startswith("('all', 2.0,")
    done = mcpgen("call", weather, "echo", "--arguments", "-", stdin=json.dumps(given))
    assert done.stdout.startswith("('all', 1.0,")
    done = mcpgen("call", weather, "echo", f"text=@{file}")
    assert done.stdout.startswith("('\"ä\"\\n', ")
    done = mcpgen("call", weather, "echo", f"text:=@{file}")
    assert done.stdout.startswith("('ä', ")


def test_what_a_tool_does_not_take_is_not_sent(weather: str) -> None:
    shown = refused("call", weather, "forecast", "ctiy=Oslo", "days=many")
    assert shown == (
        "error[arguments] forecast\n"
        '  days is integer, not many; ctiy is unknown; did you mean "city"?; '
        "city is missing\n"
        "  forecast takes:\n"
        "    city: string (required)\n"
        "    days: integer = 3\n"
        '    unit: "C" | "F" = "C"\n'
        "    note: string | null = null\n"
        "    tags: string[] = []\n"
    )
    shown = refused("call", weather, "steps", "--arguments", '{"x": 1}')
    assert "x is unknown" in shown
    assert "steps takes nothing" in shown


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["city"], '"city" is no argument'),
        (["=x"], '"=x" is no argument'),
        (["city=a", "city:=1"], "city is given twice"),
        (["city:=nonsense"], "city is not JSON"),
        (["city:=NaN"], "out of range"),
        (["city:=1e999"], "out of range"),
        (["city:=" + "[" * 100_000], "nested too deeply"),
        (["city=@nowhere.txt"], "No such file"),
        (["--arguments", "[]"], "not a JSON object"),
        (["--arguments", "@/dev/null"], "not JSON"),
    ],
)
def test_arguments_that_are_none(words: list[str], why: str) -> None:
    """Before a server is even started."""
    assert why in refused_at_once("call", "no-such-command", "forecast", *words)


PROPERTIES = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "any": {},
    "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    "named": {"$ref": "#/$defs/colour"},
    "level": {"enum": [1, 2, None]},
    "many": {"type": "array", "items": {"type": ["string", "null"]}},
}
DEFINITIONS = {"colour": {"enum": ["red", "green"], "default": "red"}}


def fitted(*words: str, **schema: Any) -> dict[str, Any]:
    whole = {"type": "object", "properties": PROPERTIES, "$defs": DEFINITIONS, **schema}
    return Arguments(words, None).fit("tool", Schema(whole))


def test_types_may_be_hidden() -> None:
    assert fitted("either=5", "any=5", "level=2") == {"either": 5, "any": 5, "level": 2}
    assert fitted("either=05", "any=x", "level=null") == {
        **{"either": "05", "any": "x", "level": None}
    }
    assert fitted('either="5"', "named=red") == {"either": '"5"', "named": "red"}
    parameters = Schema({"properties": PROPERTIES, "$defs": DEFINITIONS}).parameters()
    assert [str(parameter) for parameter in parameters] == [
        *("text: string", "whole: integer", "any: any", "either: integer | string"),
        *('named: "red" | "green" = "red"', "level: 1 | 2 | null"),
        "many: (string | null)[]",
    ]


@pytest.mark.parametrize(
    "word", ["whole=x", "whole=1.5", "whole=true", "many=x", "level=x"]
)
def test_values_that_are_of_another_type(word: str) -> None:
    with pytest.raises(CompileError, match=word.partition("=")[0]):
        fitted(word)


def test_names_that_a_schema_leaves_open() -> None:
    assert fitted("more=1", additionalProperties=True) == {"more": 1}
    assert fitted("more=1", patternProperties={"^m": {}}) == {"more": 1}
    assert fitted("more=1", properties={}) == {"more": 1}
    with pytest.raises(CompileError, match="more is unknown"):
        fitted("more=1")
    with pytest.raises(CompileError, match="more is unknown"):
        fitted("more=1", properties={}, additionalProperties=False)


def test_values_survive_the_command_line() -> None:
    dice = random.Random(4)
    for _ in range(500):
        value = dice.choice(
            [
                dice.randint(-(2**70), 2**70),
                dice.uniform(-1e300, 1e300),
                dice.random() < 0.5,
                [dice.random(), None, "x"],
                {"a": {"b": dice.randint(0, 9)}},
            ]
        )
        kinds = {bool: "boolean", int: "integer", float: "number", list: "array"}
        kind = kinds.get(type(value), "object")
        assert typed(json.dumps(value), {kind}) == value
        assert typed(json.dumps(value), {kind, "string", "null"}) == value
        assert typed(json.dumps(value), {"string"}) == json.dumps(value)


BOMB = {"$ref": "#"}
HOSTILE: list[dict[str, Any]] = [
    {"properties": {"a": {"anyOf": [BOMB] * 50, "oneOf": [BOMB] * 50}}},
    {"allOf": [BOMB] * 1000, "anyOf": [BOMB] * 1000, "required": ["a"]},
    {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    {"properties": [1], "required": 5, "allOf": {"x": 1}, "anyOf": [None, 3]},
    {"properties": {"a": 5, "b": None, "c": []}, "required": [1, None, {}]},
    {"properties": {"a": {"type": 5, "enum": 7, "description": []}}},
    {"properties": {"a": {"type": ["array"], "items": [], "default": {}}}},
    {"properties": {"a": {"$ref": "https://example.com/x"}, "b": {"$ref": "#/~0/~1"}}},
]


@pytest.mark.parametrize("schema", HOSTILE, ids=range(len(HOSTILE)))
def test_a_schema_may_be_anything(schema: dict[str, Any]) -> None:
    before = time.process_time()
    found = Schema(schema)
    for parameter in found.parameters():
        str(parameter)
        found.takes(parameter.name)
        found.types(found.properties.get(parameter.name))
    assert time.process_time() - before < 5


# --- call: results --------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_over_stdio_and_http(url: str, version: str) -> None:
    path = "/sse" if version == OLDEST else "/mcp"
    for target in (FIXTURE, url.replace("/mcp", path)):
        done = mcpgen("call", target, "test_simple_text", "--version", version)
        assert done.stdout == "This is a simple text response for testing.\n"


def test_blocks_of_a_result() -> None:
    assert mcpgen("call", FIXTURE, "test_multiple_content_types").stdout == (
        "Multiple content types test:\n"
        "[image] image/png, 70 bytes\n"
        "[resource] test://mixed-content-resource, application/json\n"
        '{"test":"data","value":123}\n'
    )


def test_structured_content_is_shown_once(weather: str) -> None:
    done = mcpgen("call", weather, "forecast", "city=Oslo", "days=2")
    assert done.stdout == '{\n  "city": "Oslo",\n  "days": 2\n}\n'
    assert not done.stderr
    done = mcpgen("call", weather, "forecast", "city=Oslo", "--json")
    result = json.loads(done.stdout)
    assert result["structuredContent"] == {"city": "Oslo", "days": 3}
    assert result["content"][0]["type"] == "text"


def test_text_is_as_it_was_in_a_pipe_and_safe_on_a_terminal(weather: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mcpgen", "call", weather, "escape"],
        env=environment(),
        capture_output=True,
        timeout=TIME_LIMIT,
        check=True,
    )
    assert done.stdout == b"a\x1b[31mb\r\n\tc\n"
    with terminal("call", weather, "escape") as shown:
        assert shown.rest() == "a\\x1b[31mb\n        c\n"


def test_files_are_saved_under_names_that_are_safe(
    weather: str, tmp_path: Path
) -> None:
    place = tmp_path / "new" / "place"
    place.mkdir(parents=True)
    (place / "files-1.png").symlink_to(tmp_path / "elsewhere")
    for _ in range(2):
        done = mcpgen("call", weather, "files", "--output", str(place))
    assert f"[image] image/png, 3 bytes saved as {place}/files-1-3.png" in done.stdout
    saved = {path.name: path for path in place.iterdir() if not path.is_symlink()}
    assert set(saved) == {
        *("files-1-2.png", "files-1-3.png", "evil_name.bin", "evil_name-2.bin"),
        *("_nul.bin", "_nul-2.bin"),
    }
    assert saved["evil_name.bin"].read_bytes() == b"one"
    assert not (tmp_path / "elsewhere").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new"]
    done = mcpgen("call", weather, "files", "--json", "--output", str(tmp_path / "x"))
    assert json.loads(done.stdout)["content"][0]["type"] == "image"
    assert f"saved as {tmp_path}/x/files-1.png\n" in done.stderr


def test_a_tool_that_fails(weather: str) -> None:
    done = mcpgen("call", weather, "fail", code=1)
    assert done.stdout == "it failed\n"
    assert "the server wrote to stderr:\n    \\x1b[31mwhy it failed\n" in done.stderr
    assert json.loads(mcpgen("call", weather, "fail", "--json", code=1).stdout)[
        "isError"
    ]


def test_logs_and_the_environment(weather: str) -> None:
    done = mcpgen("call", weather, "steps", "--env", "PLACE=here")
    assert done.stdout == "here\n"
    assert done.stderr == '[info] {"is":"seen"}\n'
    done = mcpgen("call", weather, "steps", "--env", "PLACE", PLACE="there")
    assert done.stdout == "there\n"
    done = mcpgen("call", weather, "steps", "--log-level", "debug", PLACE="unseen")
    assert done.stdout == "nowhere\n"
    assert '[debug] {"not":"seen"}\n' in done.stderr


# --- call: what goes wrong ------------------------------------------------------------


def test_no_such_tool(weather: str) -> None:
    shown = refused("call", weather, "forcast")
    assert "error[tool-unknown] python\n" in shown
    assert "there are: forecast, forget, echo, " in shown
    assert 'did you mean "forecast"?' in shown


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("no-such-command", "cannot start 'no-such-command'"),
        ("sh -c 'echo hello >&2; exit 4'", "(exit code 4)"),
        ("sh -c 'echo hello; echo hello >&2'", "(exit code 0)"),
    ],
)
def test_servers_that_are_none(command: str, why: str) -> None:
    shown = refused("inspect", command)
    assert why in shown
    if "hello" in command:
        assert "the server wrote to stderr:\n    hello\n" in shown


def test_the_last_words_of_a_server(weather: str) -> None:
    assert refused("call", weather, "crash") == (
        "error[server-ended] python\n"
        "  the server ended (exit code 3)\n"
        "  the server wrote to stderr:\n"
        "        last\\x1b[31m words\n"
    ).replace("python", Path(sys.executable).name)


def test_a_server_that_says_nothing(weather: str) -> None:
    silent = shlex.join([sys.executable, "-c", "import sys; sys.stdin.read()"])
    shown = refused("inspect", silent, "--timeout", "0.2")
    assert "error[timeout] python" in shown
    assert "--timeout SECONDS" in shown
    shown = refused("call", weather, "hang", "--timeout", "0.5")
    assert "error[timeout]" in shown
    assert "[warning] pid " in shown


def test_a_server_that_refuses() -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    shown = refused("call", saying(tools_list={"tools": [tool]}), "t")
    assert "no\\x1b[31m such method (error -32601)" in shown
    found = json.loads(refused("inspect", "no-such-command", "--format", "json"))
    assert found[0]["code"] == "unreachable"


class _Web(BaseHTTPRequestHandler):
    """No MCP server; it remembers what it was sent."""

    def do_POST(self) -> None:
        self.server.heard.append(dict(self.headers))  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers["Content-Length"]))
        status, kind = self.server.answer  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", "12")
        self.end_headers()
        self.wfile.write(b"<p>\x1b[31m</p>")

    def do_GET(self) -> None:
        self.send_error(405)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def web(
    status: int, kind: str = "text/html"
) -> Iterator[tuple[str, list[dict[str, str]]]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Web) as http:
        heard: list[dict[str, str]] = []
        http.heard, http.answer = heard, (status, kind)  # type: ignore[attr-defined]
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}/mcp", heard
        finally:
            http.shutdown()
            thread.join()


def test_credentials_are_sent_and_not_shown() -> None:
    with web(401) as (address, heard):
        options = ("--header", "X-Key: hidden", "--bearer-env", "TOKEN")
        shown = refused("inspect", f"{address}?key=hidden", *options, TOKEN="hidden")
    assert f"error[http] {address}\n" in shown
    assert "--bearer-env" in shown
    assert "--oauth" in shown
    assert "hidden" not in shown
    headers = {name.lower(): value for name, value in heard[0].items()}
    assert (headers["x-key"], headers["authorization"]) == ("hidden", "Bearer hidden")


@pytest.mark.parametrize(
    ("status", "kind", "why"),
    [
        (404, "text/html", "is the path right?"),
        (200, "text/html", "text/html"),
        (200, "application/json", ""),
        (500, "text/html", "HTTP 500"),
    ],
)
def test_addresses_where_something_else_is(status: int, kind: str, why: str) -> None:
    with web(status, kind) as (address, _):
        assert why in refused("inspect", address, "--version", "2025-11-25")


def test_an_address_where_nobody_is() -> None:
    with web(404) as (address, _):
        pass
    shown = refused("call", address, "t", "--timeout", "1")
    assert f"error[unreachable] {address}\n" in shown


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([""], "is empty"),
        (["python 'x"], "No closing quotation"),
        (["ftp://example.com/x"], "is not a URL of http or https"),
        (["http://user:hidden@example.com/"], "without a password"),
        (["http://example.com:port/"], "is not a URL"),
        (["http:///x"], "is not a URL"),
        (["cat", "--header", "A: b"], "for URLs"),
        (["cat", "--bearer-env", "HOME"], "for URLs"),
        (["cat", "--oauth"], "for URLs"),
        (["cat", "--env", "=x"], "NAME=VALUE"),
        (["cat", "--env", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE is not set"),
        (["http://127.0.0.1/", "--env", "A=b"], "started here"),
        (["http://127.0.0.1/", "--header", "A: b\nC: hidden"], "on one line"),
        (["http://127.0.0.1/", "--header", "A B: hidden"], "NAME: VALUE"),
        (["http://127.0.0.1/", "--bearer-env", "NOT_SET_ANYWHERE"], "is not set"),
        (["http://127.0.0.1/", "--bearer-env", "A=hidden"], "no value"),
        (["cat", "--version", "2025-11-26"], 'did you mean "2025-11-25"?'),
    ],
)
def test_commands_that_make_no_sense(arguments: list[str], why: str) -> None:
    shown = refused_at_once("inspect", *arguments)
    assert why in shown
    assert "hidden" not in shown


# --- the files of hosts ---------------------------------------------------------------


def test_entries_of_hosts(weather: str, url: str, tmp_path: Path) -> None:
    program, *arguments = shlex.split(weather)
    (tmp_path / "sub").mkdir()
    where = {"PLACE": "${WHERE:-home}"}
    entry = {"command": program, "args": arguments, "env": where}
    claude = tmp_path / ".mcp.json"
    claude.write_text(json.dumps({"mcpServers": {"weather": {**entry, "cwd": "sub"}}}))
    call = ("call", "weather", "steps", "--config", str(claude))
    assert mcpgen(*call).stdout == "home\n"
    assert mcpgen(*call, WHERE="away").stdout == "away\n"
    assert mcpgen(*call, "--env", "PLACE=mine").stdout == "mine\n"
    code = tmp_path / "mcp.json"
    code.write_text(
        f"""\ufeff{{
        // VS Code allows comments, and a comma at the end
        "servers": {{
            "new": {{"type": "http", "url": "${{env:URL}}", "headers": {{"X": "/*y*/"}}}},
            "old": {{"type": "sse", "url": "{url.replace("/mcp", "/sse")}"}}, /* , */
        }},
        }}""",
        "utf-8",
    )
    for name in ("new", "old"):
        call = ("call", name, "test_simple_text", "--config", str(code))
        assert mcpgen(*call, URL=url).stdout.startswith("This is a simple text")


@pytest.mark.parametrize(
    ("text", "name", "place", "why"),
    [
        ('{"mcpServers":\n  {"a" 1}}', "a", "x.json", "line 2, column 8: Expecting"),
        ('// one\n{"a": "//", /* two\n*/ 1}', "a", "x.json", "line 3, column 4: "),
        ("[" * 100_000, "a", "x.json", "nested too deeply"),
        ("[]", "a", "x.json", "mcpServers or servers"),
        ('{"mcpServers": []}', "a", "x.json", "mcpServers or servers"),
        ('{"servers": {"one": {}, "two": {}}}', "tow", "x.json", "there are: one, two"),
        ('{"servers": {"a": {}}}', "a", "x.json#/servers/a", '"command" or a "url"'),
        ('{"servers": {"a": 5}}', "a", "x.json#/servers/a", "Expected"),
        ('{"servers": {"a": {"command": "x", "args": [1]}}}', "a", "", "$.args[0]"),
        (
            '{"servers": {"a": {"command": "${NOT_SET}"}}}',
            "a",
            "",
            "NOT_SET is not set",
        ),
        (
            '{"servers": {"a": {"command": "${input:x}"}}}',
            "a",
            "",
            "only the host knows",
        ),
        ('{"servers": {"a": {"url": "file:///x"}}}', "a", "", "is not a URL"),
        (
            '{"servers": {"a": {"url": "http://x/", "headers": {"a": "b\\n"}}}}',
            "a",
            "",
            "line",
        ),
        ("\udcff", "a", "x.json", "not UTF-8"),
    ],
)
def test_entries_that_are_none(
    tmp_path: Path, text: str, name: str, place: str, why: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, "utf-8", "surrogateescape")
    with pytest.raises(CompileError, match=re.escape(why)) as raised:
        find_target(name, path)
    assert raised.value.diagnostics[0].place == (place or "x.json#/servers/a")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    shown = refused_at_once("inspect", "a", "--config", str(tmp_path / "none.json"))
    assert "error[file-unreadable] none.json" in shown


# --- logging in -----------------------------------------------------------------------

BROWSER = """
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=30).close()
"""


def test_logging_in_with_a_browser(tmp_path: Path) -> None:
    browser = tmp_path / "browser.py"
    browser.write_text(BROWSER)
    env = {
        "BROWSER": f"{shlex.join([sys.executable, str(browser)])} %s",
        "XDG_CONFIG_HOME": str(tmp_path),
    }

    async def inspect(address: str) -> str:
        done = await asyncio.to_thread(mcpgen, "inspect", address, "--oauth", **env)
        return done.stdout

    async def main() -> None:
        async with asyncio.timeout(TIME_LIMIT), on_loopback() as world:
            world.pages[world.mcp] = lambda seen: _protected(world, seen)
            assert f"Protocol {NEWEST}\n" in await inspect(world.mcp)
            assert f"Protocol {NEWEST}\n" in await inspect(world.mcp)
            logins = [asked for asked in world.asked if "/authorize?" in asked]
            assert len(logins) == 1  # the second time it is known

    asyncio.run(main())
    assert (tmp_path / "mcpgen/tokens.json").stat().st_mode & 0o777 == 0o600


def _protected(world: World, seen: Seen) -> Answer:
    """A modern server that offers nothing, to those who have a token."""
    status, challenge = world.serve(seen.headers.get("authorization"))
    if status != 200:
        return Answer(status, {"www-authenticate": challenge}, b"")
    result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    result |= {"supportedVersions": [NEWEST], "capabilities": {}}
    answer = {"jsonrpc": "2.0", "id": json.loads(seen.body)["id"], "result": result}
    body = json.dumps(answer).encode()
    return Answer(200, {"content-type": "application/json"}, body)


# --- how it ends ----------------------------------------------------------------------


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_interrupted(weather: str, number: int, code: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mcpgen", "call", weather, "hang"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background has it ignored, and so would we.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    watchdog = threading.Timer(TIME_LIMIT, process.kill)
    watchdog.start()
    with process:
        assert process.stderr
        child = int(re.findall(r"pid (\d+)", process.stderr.readline())[0])
        assert is_running(child)
        process.send_signal(number)
        stdout, stderr = process.communicate()
        watchdog.cancel()
    assert process.returncode == code
    assert (stdout, stderr) == ("", "")
    assert not is_running(child)


# --- on a terminal --------------------------------------------------------------------


class Screen:
    """What a process writes to its terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unread = ""

    def until(self, text: str) -> str:
        """Everything up to a text that is to come."""
        while text not in self._unread:
            more = self._more()
            assert more, f"no {text!r} in {self._unread!r}"
            self._unread += more
        before, found, self._unread = self._unread.partition(text)
        return before + found

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def rest(self) -> str:
        while more := self._more():
            self._unread += more
        return self._unread

    def _more(self) -> str:
        ready, _, _ = select.select([self._descriptor], [], [], TIME_LIMIT)
        assert ready, f"nothing comes after {self._unread!r}"
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # as Linux says that nobody is left
            return ""
        return data.decode().replace("\r\n", "\n")


@contextmanager
def terminal(*arguments: str, code: int = 0) -> Iterator[Screen]:
    """A command on a terminal of its own."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mcpgen", *arguments],
        env=environment(COLUMNS="80"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    screen = Screen(ours)
    try:
        yield screen
        screen.rest()
        assert process.wait(TIME_LIMIT) == code
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.parametrize("version", VERSIONS[2:])
def test_a_form_is_filled_in(weather: str, version: str) -> None:
    with terminal("call", weather, "ask", "--version", version) as screen:
        begin = screen.until("name (string, required): ")
        assert "The server asks: Who\\x1b[31m are you?\n" in begin
        assert "  Your \\x1b[31mname\n" in begin
        for typed_in, answer in [
            ("", "this is required\nname (string, required): "),
            ("x", "minLength is 2\nname (string, required): "),
            ("xy", "age (integer): "),
            ("young", "expected: integer\nage (integer): "),
            ("0", "minimum is 1\nage (integer): "),
            ("", "sure (boolean) [true]: "),
            ("perhaps", "yes or no?\nsure (boolean) [true]: "),
            ("no", "    1  r  Red\n    2  g  Green\ncolour (one of them): "),
            ("3", "choose: 1 to 2\ncolour (one of them): "),
            ("2", '{"name":"xy","sure":false,"colour":"g"}\nSend this? [y/n] '),
        ]:
            screen.type(f"{typed_in}\n")
            assert screen.until(answer) == f"{typed_in}\n{answer}"
        screen.type("y\n")
        shown = screen.rest()
    assert "accept" in shown
    assert "'xy'" in shown
    assert "'age'" not in shown


@pytest.mark.parametrize(
    ("typed_in", "outcome"),
    [("\x04", "cancel None"), ("me\n\n\n\nn\n", "decline None")],
)
def test_a_form_is_not_sent(weather: str, typed_in: str, outcome: str) -> None:
    with terminal("call", weather, "ask") as screen:
        screen.until("name (string, required): ")
        screen.type(typed_in)
        assert outcome in screen.rest()


@pytest.mark.parametrize("version", VERSIONS[3:])
def test_a_page_is_visited(weather: str, version: str) -> None:
    with terminal("call", weather, "visit", "--version", version) as screen:
        shown = screen.until("[y/n] ")
        assert (
            "Page:   https://example.com/\\x1b[31mlogin\nServer: example.com\n" in shown
        )
        screen.type("y\n")
        assert screen.rest() == "y\naccept\n"


def test_without_a_terminal_the_answer_is_no(weather: str) -> None:
    done = mcpgen("call", weather, "ask")
    assert done.stdout == "decline None\n"
    assert "declined: there is no terminal to ask on" in done.stderr
    done = mcpgen("call", weather, "visit")
    assert done.stdout == "decline\n"
    assert "https://example.com/\\x1b[31mlogin" in done.stderr


def test_a_question_that_belongs_to_no_call() -> None:
    schema = {"type": "object", "properties": {}}
    params = {"message": "Already?", "requestedSchema": schema}
    early = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create"}
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    server = saying(
        early={**early, "params": params},
        tools_list={"tools": [tool]},
        tools_call={"content": [{"type": "text", "text": "done"}]},
    )
    done = mcpgen("call", server, "t")
    assert done.stdout == "done\n"
    assert done.stderr.startswith("The server asks: Already?\ndeclined: ")


def test_progress_is_for_terminals(weather: str) -> None:
    with terminal("call", weather, "steps") as screen:
        shown = screen.rest()
    assert "\r\x1b[K1/2 half\\x1b[31m\r\x1b[K[info]" in shown
    assert shown.endswith("nowhere\n")


def test_time_does_not_run_while_the_user_is_asked() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        deadline, later = Deadline(0.02), asyncio.Event()
        async with asyncio.timeout(TIME_LIMIT), deadline.running():
            with deadline.paused():
                loop.call_later(0.06, later.set)
                await later.wait()
                deadline.again()
                assert deadline.is_paused
            await loop.create_future()

    before = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert 0.08 <= time.monotonic() - before < TIME_LIMIT
