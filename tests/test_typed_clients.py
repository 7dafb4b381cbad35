"""`mcpgen client`: what it writes is strict Python that calls the server it was made of."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import black
import pytest
from mcpgen.cli import app
from mcpgen.client import put
from mcpgen.client.changes import changes
from mcpgen.client.listing import MAX_PROBLEMS, Listing, parse
from mcpgen.client.module import MAX_RESOURCES, generate
from mcpgen.client.request import Request, class_name
from mcpgen.config import parse_config
from mcpgen.datamodel import FLAVOURS, Flavour
from mcpgen.diagnostics import CompileError
from mcpgen.runtime import ToolFailed
from mcpgen.runtime.client.typed import _plain
from mcpgen.runtime.errors import AnswerError
from mcpgen.unions import MAX_ARMS
from msgspec import UNSET
from typer.testing import CliRunner, Result

from .strict import assert_strict, run
from .test_hostile import TEXTS

ROOT = Path(__file__).parent.parent
FIXTURE = shlex.join(
    [sys.executable, str(ROOT / "tests" / "conformance" / "server.py")]
)

WEATHER = r'''
from dataclasses import dataclass
from typing import Literal
from mcpgen.runtime import Server
from msgspec import Struct

class Place(Struct):
    lat: float
    lon: float

class Day(Struct):
    high: float
    sky: Literal["clear", "cloudy"] = "clear"

class Forecast(Struct):
    city: str
    days: list[Day]
    at: Place | None = None

server = Server("weather", version="1.2.3", instructions="Name a city.")

@server.tool
async def forecast(city: str, days: int = 3, near: Place | None = None) -> Forecast:
    """Tell the weather.

    Args:
        city: Where.
    """
    if city == "Atlantis":
        raise ValueError("there is no such city")
    return Forecast(city, [Day(20.5)] * days, near)

@server.tool(name="class")
async def of_cloud(**_) -> str:
    return "cumulus"

@server.tool
async def cities() -> list[Place]:
    return [Place(60, 11)]

@server.tool
async def warmest(above: int = 0) -> int | None:
    return above or None

@server.prompt
async def plan(city: str, season: str = "summer") -> str:
    """Plan a trip."""
    return f"Plan a trip to {city} in {season}."

@server.resource("weather://{city}/today{?unit}")
async def today(city: str, unit: str = "C") -> str:
    return f"{city}: 20 {unit}"

@server.resource("weather://help")
async def help() -> str:
    return "Ask."

server.run()
'''.replace("(**_)", "()")

USE = """
import asyncio
from weather_{flavour} import ForecastResult{model}
from weather_{flavour} import Weather{name}Client as WeatherClient
from mcpgen.runtime.client.typed import ToolFailed


async def main() -> None:
    async with WeatherClient.connect({target!r}) as weather:
        found: ForecastResult = await weather.forecast(city="Oslo", days=2, near={near})
        days, at = {days}, {at}
        assert len(days) == 2
        assert at
        (place,) = await weather.cities()
        lat: float = {lat}
        assert lat == 60
        warmest: int | None = await weather.warmest()
        assert (warmest, await weather.warmest(above=7)) == (None, 7)
        (cloud,) = await weather.class_()
        assert cloud.type == "text" and cloud.text == "cumulus"
        prompt = await weather.prompt_plan(city="Oslo")
        message = prompt.messages[0].content
        assert getattr(message, "text", "") == "Plan a trip to Oslo in summer."
        (today,) = await weather.read_today(city="Oslo", unit="F")
        assert getattr(today, "text", "") == "Oslo: 20 F"
        (text,) = await weather.read_help()
        assert getattr(text, "text", "") == "Ask."
        try:
            await weather.forecast(city="Atlantis")
        except ToolFailed as failed:
            print(failed.tool, failed)


asyncio.run(main())
"""


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["client", *arguments])


@pytest.fixture(scope="module")
def fixture_listing() -> bytes:
    """What our conformance server offers, asked once."""
    done = subprocess.run(
        [sys.executable, "-m", "mcpgen", "inspect", FIXTURE, "--json"],
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fixture_listing: bytes
) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "app"\n')
    (tmp_path / "given.json").write_bytes(fixture_listing)
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def load() -> Iterator[Any]:
    loaded = []

    def run(text: str) -> Any:
        name = f"typed_client_of_a_test_{len(loaded)}"
        module = sys.modules[name] = ModuleType(name)
        loaded.append(name)
        exec(compile(text, name, "exec"), module.__dict__)
        return module

    yield run
    for name in loaded:
        del sys.modules[name]


def listing(*tools: dict[str, Any], **more: Any) -> Listing:
    content = {"protocolVersion": "x", "tools": list(tools), **more}
    return parse(json.dumps(content).encode(), "listing.json")


def tool(
    name: str, output: Any = None, required: tuple[str, ...] = (), **properties: Any
) -> Any:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    made = {"name": name, "inputSchema": schema}
    return made | ({"outputSchema": output} if output else {})


def text_of(found: Listing, flavour: Flavour = "msgspec") -> str:
    return generate(found, Request(flavour), "DemoClient").text


class Recorder:
    """In place of a client: keeps what it is asked, and answers as it is told."""

    def __init__(self, structured: Any = UNSET, is_error: bool = False) -> None:
        self.asked: list[Any] = []
        self.structured = structured
        self.is_error = is_error

    async def call_tool(self, name: str, arguments: Any) -> Any:
        self.asked.append((name, arguments))
        return Result_(self.structured, self.is_error)

    async def get_prompt(self, name: str, arguments: Any) -> Any:
        self.asked.append((name, arguments))

    async def read_resource(self, uri: str) -> Any:
        self.asked.append(uri)
        return Result_(UNSET, False)


class Result_:
    def __init__(self, structured: Any, is_error: bool) -> None:
        self.content: list[Any] = []
        self.contents: list[Any] = []
        self.structured_content = structured
        self.is_error = is_error


# --- the whole way --------------------------------------------------------------------


def test_strict_and_alive_in_every_flavour(project: Path) -> None:
    """Asked live, run against the server, and checked by two type checkers."""
    (project / "server.py").write_text(WEATHER)
    target = shlex.join([sys.executable, "server.py"])
    uses = {
        "msgspec": ("Place(lat=1, lon=2)", "found.days", "found.at", "place.lat"),
        "pydantic": ("Place(lat=1, lon=2)", "found.days", "found.at", "place.lat"),
        "typeddict": (
            '{"lat": 1, "lon": 2}',
            'found["days"]',
            'found.get("at")',
            'place["lat"]',
        ),
    }
    assert invoke("--from", "given.json", "-o", "conformance.py").exit_code == 0
    for flavour, (near, days, at, lat) in uses.items():
        made = invoke(target, "-o", f"weather_{flavour}.py", "--flavour", flavour)
        assert made.exit_code == 0, made.output
        model = "" if flavour == "typeddict" else ", Place"
        names = {"flavour": flavour, "name": flavour.title(), "target": target}
        text = USE.format(model=model, near=near, days=days, at=at, lat=lat, **names)
        (project / f"use_{flavour}.py").write_text(text)
    for module in (project / "conformance.py", *project.glob("weather_*.py")):
        text = module.read_text()
        assert black.format_str(text, mode=black.Mode()) == text
    done = run(
        [sys.executable, "-c", f"import {', '.join(f'use_{f}' for f in uses)}"], project
    )
    assert done.stdout == "forecast there is no such city\n" * 3, done.stderr
    (project / "server.py").unlink()
    assert_strict(project)


def test_a_record_is_repeated_and_checked_without_the_server(project: Path) -> None:
    made = invoke(
        "--from",
        "given.json",
        "-o",
        "src/conf_client.py",
        "--record",
        "--exclude",
        "test_*",
    )
    assert made.exit_code == 0, made.output
    module = project / "src/conf_client.py"
    text = module.read_text()
    assert "class ConfClient(TypedClient)" in text
    assert "test_simple_text(" not in text
    assert 'from = "given.json"' in (project / "pyproject.toml").read_text()
    runner = CliRunner()
    assert runner.invoke(app, ["check"]).exit_code == 0
    assert "unchanged" in invoke().output
    module.write_text(text.replace("json_schema", "my_schema"))
    found = runner.invoke(app, ["check"])
    assert found.exit_code == 1
    assert "was edited by hand" in found.output
    refused = invoke()
    assert refused.exit_code == 2
    assert "client-edited" in refused.output
    assert invoke("--force").exit_code == 0
    assert module.read_text() == text
    module.unlink()
    assert "is missing" in runner.invoke(app, ["check"]).output
    assert invoke().exit_code == 0
    content = json.loads((project / "given.json").read_bytes())
    content["tools"] = [t for t in content["tools"] if t["name"].startswith("test_")]
    (project / "given.json").write_text(json.dumps(content))
    stale = runner.invoke(app, ["check"])
    assert stale.exit_code == 1
    assert "differs" in stale.output
    found = invoke("--check")
    assert found.exit_code == 1


def test_a_listing_is_kept_beside_the_module_of_a_live_server(project: Path) -> None:
    command = (FIXTURE, "-o", "src/conf_client.py")
    done = invoke(*command, "--record", "--include", "test_simple*")
    assert done.exit_code == 0, done.output
    kept = parse((project / "src/conf_client.json").read_bytes(), "kept")
    given = parse((project / "given.json").read_bytes(), "given")
    assert kept == given
    assert 'include = ["test_simple*"]' in (project / "pyproject.toml").read_text()
    done = invoke(*command, "--check")
    assert (done.exit_code, done.output) == (
        0,
        "src/conf_client.py matches the server\n",
    )
    done = invoke("--from", "given.json", "-o", "src/conf_client.py", "--check")
    assert done.output == "src/conf_client.py matches given.json\n"
    plain = (FIXTURE, "-o", "src/other_client.py")
    assert invoke(*plain, "--include", "test_simple*").exit_code == 0
    done = invoke(*plain, "--check")
    assert done.exit_code == 1
    assert "the server still says the same" in done.output
    assert "is new" not in done.output
    source = project / "src/conf_client.json"
    source.write_text(source.read_text().replace("Give one text.", "Give two texts."))
    assert invoke().exit_code == 0
    done = invoke(*command, "--check", "--format", "json")
    assert done.exit_code == 1
    (found,) = json.loads(done.output)
    assert found["code"] == "client-stale"
    assert found["message"] == 'tool "test_simple_text": its description is another'


def test_the_runtime_is_vendored_beside_it(project: Path) -> None:
    (project / "src/app").mkdir()
    (project / "src/app/__init__.py").touch()
    done = invoke(
        "--from", "given.json", "-o", "src/app/conf_client.py", "--vendor", "--record"
    )
    assert done.exit_code == 0, done.output
    assert (
        "from ._mcp.runtime.client.typed import"
        in (project / "src/app/conf_client.py").read_text()
    )
    config = (project / "pyproject.toml").read_text()
    assert "[[tool.mcpgen.vendor]]" in config
    assert "[[tool.mcpgen.client]]" in config
    assert CliRunner().invoke(app, ["check"]).exit_code == 0
    script = (
        "import asyncio, sys\nfrom app.conf_client import ConfClient\n"
        "async def main():\n"
        f"    async with ConfClient.connect({FIXTURE!r}) as client:\n"
        "        print((await client.test_simple_text())[0].text)\n"
        "asyncio.run(main())\n"
        "assert not [n for n in sys.modules if n.split('.')[0] == 'mcpgen']\n"
    )
    (project / "src/run.py").write_text(script)
    done_run = run([sys.executable, "src/run.py"], project)
    assert (
        done_run.stdout == "This is a simple text response for testing.\n"
    ), done_run.stderr


@pytest.mark.parametrize("folder", [".", "src"])
def test_a_module_in_no_package_has_the_runtime_beside_it(
    project: Path, folder: str
) -> None:
    make = ["--from", "given.json", "-o", f"{folder}/conf_client.py", "--vendor"]
    for _ in range(2):  # what is recorded is asked for again
        assert invoke(*make, "--record").exit_code == 0
    (project / folder / "run.py").write_text("import conf_client\n")
    done = run([sys.executable, f"{folder}/run.py"], project)
    assert done.returncode == 0, done.stderr


# --- what methods look like -----------------------------------------------------------


def test_arguments_keep_their_defaults_and_docs(load: Any) -> None:
    found = tool(
        "forecast",
        None,
        ("city", "class"),
        city={"type": "string", "description": "Where."},
        days={"type": "integer", "default": 3},
        unit={"enum": ["C", "F"], "default": "C"},
        note={"type": ["string", "null"], "default": None},
        tags={"type": "array", "items": {"type": "string"}, "default": ["a"]},
        wrong={"type": "integer", "default": "three"},
        **{"class": {"type": "string"}, "from-to": {}, "self": {"type": "boolean"}},
    )
    text = text_of(listing(found))
    for line in (
        "        city: str,",
        "        class_: str,",
        "        days: int = 3,",
        '        unit: Literal["C", "F"] = "C",',
        "        note: str | None = None,",
        "        tags: list[str] | UnsetType = UNSET,",
        "        wrong: int | UnsetType = UNSET,",
        "        from_to: Any = UNSET,",
        "        self_: bool | UnsetType = UNSET,",
        "        - `city`: Where.",
    ):
        assert f"{line}\n" in text
    client = Recorder()
    demo = load(text).DemoClient(client)
    asyncio.run(demo.forecast(city="Oslo", class_="x", from_to=1))
    arguments = {
        "city": "Oslo",
        "class": "x",
        "days": 3,
        "unit": "C",
        "note": None,
        "from-to": 1,
    }
    assert client.asked == [("forecast", arguments)]


def test_names_are_safe_and_stable() -> None:
    names = [
        "get-sum",
        "getSum",
        "get_sum",
        "list",
        "class",
        "connect",
        "client",
        "str",
        "1st",
        "_call",
    ]
    tools = [tool(name) for name in names]
    text = text_of(listing(*tools))
    methods = {
        node.name: ast.unparse(node.body[-1])
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.AsyncFunctionDef)
    }
    assert len(methods) == len(names)
    wanted = {
        "get_sum",
        "list_",
        "class_",
        "connect_",
        "client_",
        "str_",
        "call",
        "call_1_st",
    }
    assert wanted <= methods.keys()
    assert "'get_sum'" in methods["get_sum"]
    assert "'get-sum'" in methods["get_x2d_sum"]
    assert text_of(listing(*reversed(tools))) == text


def test_a_prompt_or_template_renames_no_tool() -> None:
    extra = {
        "prompts": [{"name": "plan"}],
        "resources": [{"name": "a", "uri": "x://1"}, {"name": "a", "uri": "x://2"}],
        "resourceTemplates": [{"name": "a", "uriTemplate": "x://{a}"}],
    }
    text = text_of(listing(tool("prompt_plan"), tool("read_a"), **extra))
    methods = re.findall(r"async def (\w+)", text)
    assert {"prompt_plan", "read_a"} <= set(methods)
    assert len(set(methods)) == 6
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef) and node.name in (
            "prompt_plan",
            "read_a",
        ):
            assert "_content" in ast.unparse(node)


def test_templates_take_their_variables(load: Any) -> None:
    templates = [
        {"name": "file", "uriTemplate": "file:///{+path}{?from,to*}"},
        {"name": "broken", "uriTemplate": "file:///{path"},
        {"name": "odd", "uriTemplate": "file:///{a b}"},
        {"name": "half", "uriTemplate": "file:///{a..b}{c}"},
        {"name": "space", "uriTemplate": "file:///{a} {b}"},
        {"name": "percent", "uriTemplate": "file:///{a%zz}"},
    ]
    found = generate(listing(resourceTemplates=templates), Request(), "DemoClient")
    assert [note.code for note in found.notes] == ["template-malformed"] * 5
    assert "self, *, path: str, from_: str | UnsetType = UNSET" in " ".join(
        found.text.split()
    )
    client = Recorder()
    asyncio.run(load(found.text).DemoClient(client).read_file(path="a/b", from_="1"))
    assert client.asked == ["file:///a/b?from=1"]


def test_a_path_in_a_template_is_a_list_or_absent(load: Any) -> None:
    template = {"name": "dir", "uriTemplate": "repo://{owner}{/path*}{?owner}"}
    text = text_of(listing(resourceTemplates=[template]))
    assert "owner: str, path: str | list[str] | UnsetType = UNSET" in text
    client = Recorder()
    demo = load(text).DemoClient(client)
    asyncio.run(demo.read_dir(owner="a", path=["src", "a b.py"]))
    asyncio.run(demo.read_dir(owner="a", path="src"))
    asyncio.run(demo.read_dir(owner="a"))
    asked = [
        "repo://a/src/a%20b.py?owner=a",
        "repo://a/src?owner=a",
        "repo://a?owner=a",
    ]
    assert client.asked == asked


def test_a_variable_can_have_any_name(load: Any) -> None:
    template = {"name": "file", "uriTemplate": "file:///{self}/{template}"}
    client = Recorder()
    demo = load(text_of(listing(resourceTemplates=[template]))).DemoClient(client)
    asyncio.run(demo.read_file(self_="a", template="b"))
    assert client.asked == ["file:///a/b"]


def test_sections_of_docstrings_stay_apart() -> None:
    said = """Tell the weather.

    Args:
        city: Where, which can be said in words so many that they do not stand on a line of
        their own.
        days (int, optional): How long.

    Returns:
        What comes:
        no more.
    """
    made = text_of(listing(tool("forecast") | {"description": inspect.cleandoc(said)}))
    doc = made.partition("async def forecast")[2].partition('"""')[2]
    assert inspect.cleandoc(doc.partition('"""')[0]) == inspect.cleandoc(
        """Tell the weather.

        Args:
            city: Where, which can be said in words so many that they do not stand on a
                line of their own.
            days (int, optional): How long.

        Returns:
            What comes: no more.
        """
    )


def test_many_resources_get_no_methods() -> None:
    resources = [{"name": f"r{n}", "uri": f"x://{n}"} for n in range(MAX_RESOURCES + 1)]
    found = generate(listing(resources=resources), Request(), "DemoClient")
    assert [note.code for note in found.notes] == ["resources-many"]
    assert "async def" not in found.text


def test_schemas_that_are_no_list_of_parameters() -> None:
    odd: list[Any] = [
        True,
        {},
        {"type": "string"},
        {"$ref": "#"},
        {"anyOf": [{"type": "object"}]},
    ]
    tools = [
        {"name": f"t{n}", "inputSchema": s, "outputSchema": s}
        for n, s in enumerate(odd)
    ]
    found = generate(listing(*tools, {"name": "bare"}), Request(), "DemoClient")
    assert found.text.count("(self) ->") == len(odd) + 1
    # Those whose schema speaks of arguments that nobody can name.
    assert [note.code for note in found.notes] == ["arguments-unlisted"] * 2
    assert ["t3" in found.notes[0].message, "t4" in found.notes[1].message] == [1, 1]


def test_arguments_of_some_choices_only_are_taken() -> None:
    made = tool("part", None, ("a",), a={})
    arms = [{"properties": {"a": {}}}, {"properties": {"b": {}}, "required": ["b"]}]
    made["inputSchema"]["oneOf"] = arms
    found = generate(listing(made), Request(), "DemoClient")
    assert "(self, *, a: Any, b: Any = UNSET)" in found.text
    assert found.notes == ()


def test_a_result_is_what_was_promised_or_an_error(load: Any) -> None:
    output = tool("", None, ("n",), n={"type": "integer"})["inputSchema"]
    found = listing(tool("count", output))
    for flavour in FLAVOURS:
        demo = load(text_of(found, flavour)).DemoClient
        result: Any = asyncio.run(demo(Recorder({"n": 1})).count())
        assert (result["n"] if flavour == "typeddict" else result.n) == 1
        result = asyncio.run(demo(Recorder({"n": 1.0})).count())
        assert (result["n"] if flavour == "typeddict" else result.n) == 1
        with pytest.raises(AnswerError, match="no structured content"):
            asyncio.run(demo(Recorder()).count())
        with pytest.raises(ToolFailed, match="'count' failed"):
            asyncio.run(demo(Recorder({"n": 1}, is_error=True)).count())
        if flavour != "typeddict":
            with pytest.raises(AnswerError, match="not what its schema says"):
                asyncio.run(demo(Recorder({"n": "one"})).count())


EXPRESSION = {
    "$ref": "#/$defs/Expr",
    "$defs": {
        "Expr": {"oneOf": [{"$ref": "#/$defs/Sum"}, {"$ref": "#/$defs/Number"}]},
        "Sum": tool(
            "",
            None,
            ("op", "terms"),
            op={"const": "sum"},
            terms={"type": "array", "items": {"$ref": "#/$defs/Expr"}},
        )["inputSchema"],
        "Number": tool(
            "", None, ("op", "n"), op={"const": "number"}, n={"type": "integer"}
        )["inputSchema"],
    },
}
ROW = tool("", None, ("n",), n={"type": "integer"})["inputSchema"]
VALUES: dict[str, tuple[Any, str, Any, Any]] = {
    "text": ({"type": "string"}, "str", "a", 1),
    "texts": ({"enum": ["a", "b"]}, 'Literal["a", "b"]', "b", "c"),
    "nullable": ({"type": ["integer", "null"]}, "int | None", None, "a"),
    "rows": ({"type": "array", "items": ROW}, "list[RowsResultItem]", [{"n": 1}], {}),
    "numbers": (
        {"additionalProperties": {"type": "integer"}},
        "dict[str, int]",
        {"a": 1},
        {"a": "b"},
    ),
    "named": (
        {"$ref": "#/$defs/Sky", "$defs": {"Sky": {"enum": ["clear", "grey"]}}},
        "Sky",
        "clear",
        "green",
    ),
    "calculated": (
        EXPRESSION,
        "Expr",
        {"op": "sum", "terms": [{"op": "number", "n": 1}]},
        {"op": "sum", "terms": [{"op": "number", "n": "a"}]},
    ),
    "anything": ({}, "Any", [1, None], None),
}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_result_need_not_be_an_object(flavour: Flavour, load: Any) -> None:
    found = listing(
        *(tool(name) | {"outputSchema": VALUES[name][0]} for name in VALUES)
    )
    text = text_of(found, flavour)
    demo = load(text).DemoClient
    for name, (_, annotation, right, wrong) in VALUES.items():
        assert f"def {name}(self) -> {annotation}:" in text
        value = asyncio.run(getattr(demo(Recorder(right)), name)())
        assert _plain({"value": value}) == {"value": right}
        if flavour != "typeddict" and name != "anything":
            with pytest.raises(AnswerError, match="not what its schema says"):
                asyncio.run(getattr(demo(Recorder(wrong)), name)())


def test_what_is_unfolded_takes_no_name_from_a_model(load: Any) -> None:
    wanted = {"AResultValue": tool("", None, ("x",), x={})["inputSchema"]}
    own = {"$ref": "#/$defs/AResultValue"}
    output = {"additionalProperties": ROW, "$defs": wanted}
    other = {"type": "array", "items": own, "$defs": wanted}
    found = listing(
        {"name": "a", "outputSchema": output}, {"name": "b", "outputSchema": other}
    )
    module = load(text_of(found))
    result = asyncio.run(module.DemoClient(Recorder({"k": {"n": 1}})).a())
    assert result["k"].n == 1


def test_an_alias_of_aliases_is_not_written_out_without_end(load: Any) -> None:
    """Each half is twice the next; what nobody could read is any value."""
    halves: dict[str, Any] = {"D40": {"type": ["string", "null"]}}
    for n in range(40):
        inner = {"$ref": f"#/$defs/D{n + 1}"}
        both = [{"type": "array", "items": inner}, {"additionalProperties": inner}]
        halves[f"D{n}"] = {"anyOf": both}
    output = {"$ref": "#/$defs/D0", "$defs": halves}
    text = text_of(listing({"name": "a", "outputSchema": output}))
    assert "def a(self) -> Any:" in text
    assert asyncio.run(load(text).DemoClient(Recorder(["b"])).a()) == ["b"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_nothing_is_imported_for_the_words_of_a_description(flavour: Flavour) -> None:
    said = "Any ContentBlock, Literal UNSET, UnsetType, ConfigDict, Field, field."
    output: dict[str, Any] = {"n": {"type": "integer", "description": said}}
    odd = tool("b", None, ("from",), **{"from": {"enum": ["Any", "UNSET"]}})
    plain = tool("a", tool("", None, ("n",), **output)["inputSchema"])
    tree = ast.parse(text_of(listing(plain, odd), flavour))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            assert {alias.name for alias in node.names} <= used


def test_keys_that_no_class_can_have(load: Any) -> None:
    """A parameter can be called so; a struct of msgspec cannot, wherever it recurs."""
    recursive = tool("draw", None, ('a"b',), **{'a"b': {}, "again": {"$ref": "#"}})
    for flavour in FLAVOURS:
        client = Recorder()
        demo = load(text_of(listing(recursive), flavour)).DemoClient(client)
        asyncio.run(demo.draw(a_b=1))
        assert client.asked == [("draw", {'a"b': 1})]


def test_structs_are_told_apart_by_their_constant(load: Any) -> None:
    def shape(kind: str, size: str) -> Any:
        size_of = {size: {"type": "number"}}
        return tool("", None, ("kind", size), kind={"const": kind}, **size_of)[
            "inputSchema"
        ]

    either = {"oneOf": [shape("circle", "r"), shape("square", "a"), {"type": "null"}]}
    output = tool("", None, (), shape=either)["inputSchema"]
    for flavour in ("msgspec", "pydantic"):
        module = load(text_of(listing(tool("draw", output)), flavour))
        client = module.DemoClient(Recorder({"shape": {"kind": "square", "a": 2}}))
        found = asyncio.run(client.draw())
        assert found.shape.a == 2
        assert isinstance(found.shape, module.DrawResultShapeSquare)


def test_a_pattern_that_chooses_nothing_is_said() -> None:
    found = listing(tool("get_a"), prompts=[{"name": "plan"}])
    made = generate(found, Request(include=("get_*", "plan", "sreach")), "DemoClient")
    (note,) = made.notes
    assert (note.code, note.severity) == ("pattern-unmatched", "warning")
    assert '"sreach"' in note.message


def test_patterns_choose_by_name() -> None:
    found = listing(
        tool("get_a"), tool("get_b"), tool("set_a"), prompts=[{"name": "get_c"}]
    )
    chosen = found.only(["get_*"], ["*_b"])
    assert [t["name"] for t in chosen.tools] == ["get_a"]
    assert [p["name"] for p in chosen.prompts] == ["get_c"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("src/weather_client.py", "WeatherClient"),
        ("weather.py", "WeatherClient"),
        ("mcp-servers/everything", "EverythingClient"),
        ("_1.py", "Server1Client"),
        ("_.py", "ServerClient"),
        ("typed.py", "ServerTypedClient"),
    ],
)
def test_the_class_is_named_by_the_module(file: str, name: str) -> None:
    assert class_name(file) == name


# --- hostile servers ------------------------------------------------------------------


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_a_server_says_stays_data(
    flavour: Flavour, load: Any, tmp_path: Path
) -> None:
    texts = list(TEXTS.values())
    others = texts if flavour == "msgspec" else []  # in which the flavour has no part
    everything = listing(
        *(
            {
                "name": text,
                "title": text,
                "description": text,
                "inputSchema": {
                    "type": "object",
                    "title": text,
                    "$id": text,
                    "properties": {
                        text: {"type": "string", "description": text, "title": text},
                        "choice": {"enum": [text, "other"], "default": text},
                        "inner": {"$ref": "#/$defs/Inner"},
                        "else": {"$ref": text},
                    },
                    "required": [text],
                    "$defs": {
                        "Inner": {"properties": {text: {"const": text}}, "title": text}
                    },
                },
                "outputSchema": {
                    "properties": {text: {"type": "string"}},
                    "description": text,
                },
            }
            for text in texts
        ),
        serverInfo={"name": texts[0], "version": "".join(texts[:-1])},
        protocolVersion="".join(texts[:-1]),
        instructions="\n".join(texts),
        prompts=[
            {
                "name": text,
                "description": text,
                "arguments": [{"name": text, "description": text, "required": True}],
            }
            for text in others
        ],
        resources=[{"name": text, "uri": text, "description": text} for text in others],
        resourceTemplates=[
            {"name": text, "uriTemplate": f"x:{text}{{a}}"} for text in others
        ],
    )
    text = text_of(everything, flavour)
    tree = ast.parse(text)
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Import)
        if isinstance(node, ast.ImportFrom):
            known = {
                "__future__",
                "typing",
                "msgspec",
                "pydantic",
                "mcpgen.runtime.client.typed",
            }
            assert node.module in known
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called in (
                "field",
                "Field",
                "TypedDict",
                "ConfigDict",
            ) or re.fullmatch(
                r"self\._(content|structured|value|prompt|read|expanded)|\w+\.model_rebuild",
                called,
            )
    head = text.partition('\n"""')[0]
    assert all(line.startswith("#") for line in head.strip().splitlines())
    assert put.body(text) is not None
    assert not put.is_edited(text)
    client = Recorder({})
    demo = load(text).DemoClient(client)
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef) and not node.name.startswith(
            ("prompt", "read")
        ):
            given = {
                a.arg: "v"
                for a, d in zip(
                    node.args.kwonlyargs, node.args.kw_defaults, strict=True
                )
                if d is None
            }
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(
                    "mcpgen.runtime.client.typed._fitted", lambda value, *_: value
                )
                asyncio.run(getattr(demo, node.name)(**given))
    assert {name for name, _ in client.asked} == set(texts)
    for name, arguments in client.asked:
        assert arguments == {name: "v", "choice": name}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_nobody_could_read_is_any_value(flavour: Flavour) -> None:
    """A hundred arms and more; and doubling references, which would never be done."""
    arms = [
        {"type": "object", "properties": {f"k{n}": {}, "t": {"const": f"t{n}"}}}
        | {"required": [f"k{n}", "t"]}
        for n in range(MAX_ARMS + 1)
    ]
    doubled: dict[str, Any] = {"D60": {"type": "string"}}
    for n in range(60):
        inner = {"$ref": f"#/$defs/D{n + 1}"}
        both = {"anyOf": [inner, {"additionalProperties": inner}]}
        doubled[f"D{n}"] = {"type": "array", "items": both}
    found = tool("a", None, ("few", "many", "deep"))["inputSchema"] | {"$defs": doubled}
    found["properties"] = {
        "few": {"anyOf": arms[:2]},
        "many": {"anyOf": arms},
        "deep": {"$ref": "#/$defs/D0"},
    }
    text = text_of(listing({"name": "a", "outputSchema": found}), flavour)
    assert "many: dict[str, Any]\n" in text
    assert "AResultFewT0 | AResultFewT1" in text
    assert "deep: list[" in text
    assert len(text) < 10_000


def test_a_terminal_is_told_nothing(project: Path) -> None:
    """Of what a server says, nothing that moves a cursor or turns text around."""
    name = "a\x9b31m\u202e\u2066"
    odd = {"name": name, "inputSchema": {"required": ["x"]}}
    (project / "odd.json").write_text(json.dumps({"tools": [odd]}))
    found = invoke("--from", "odd.json", "-o", "odd_client.py")
    assert found.exit_code == 0
    assert r"a\u009b31m\u202e\u2066" in found.output
    assert found.output.replace("\n", "").isprintable()


def test_descriptions_are_read_once(load: Any) -> None:
    """Patterns that look at each of a million blanks again would never be done."""
    said = "{@link" + " " * 1_000_000 + "{ the end"
    text = text_of(listing(tool("a") | {"description": said}))
    assert "the end" in load(text).DemoClient.a.__doc__


def test_models_come_after_what_they_are_made_of() -> None:
    """That is how they are read; and the other way round takes too long to sort."""
    defs = {
        f"D{n:04}": tool("", None, (), n={"$ref": f"#/$defs/D{n + 1:04}"})[
            "inputSchema"
        ]
        for n in range(100)
    }
    defs["D0100"] = tool("", None, (), x={"type": "string"})["inputSchema"]
    output = {"$ref": "#/$defs/D0000", "$defs": defs}
    text = text_of(listing({"name": "a", "outputSchema": output}))
    found = re.findall(r"class (D\d+)", text)
    assert found == sorted(defs, reverse=True)


def test_no_field_warns_when_it_is_imported(load: Any) -> None:
    keys = ["model_dump", "model_dumped", "model_validate", "model_config", "copy"]
    output: dict[str, Any] = {"properties": {key: {} for key in keys}}
    text = text_of(listing(tool("a", output)), "pydantic")
    made = load(text).AResult.model_validate(dict.fromkeys(keys, 1))
    assert made.field_model_dump == 1 == made.field_model_dumped


BAD_LISTINGS: dict[str, tuple[bytes, str]] = {
    "no-json": (b"{", "not-json"),
    "array": (b"[]", "not-a-listing"),
    "other": (b'{"a": 1}', "not-a-listing"),
    "unreadable": (b'{"tools": null}', "not-a-listing"),
    "no-list": (b'{"tools": {}}', "not-a-listing"),
    "no-tool": (b'{"tools": [7]}', "not-a-listing"),
    "nameless": (b'{"tools": [{"name": 7}]}', "not-a-listing"),
    "no-uri": (b'{"resources": [{"name": "a"}]}', "not-a-listing"),
    "surrogate": (b'{"tools": [{"name": "\\ud800"}]}', "not-text"),
    "infinite": (b'{"tools": [{"name": "a", "x": 1e999}]}', "not-json"),
    "deep": (b'{"tools": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", "too-deep"),
    "twice": (
        json.dumps({f"k{n}": n for n in range(200_000)}).encode()[:-1]
        + b', "k199999": 1, "tools": []}',
        "not-json",
    ),
}


def test_a_listing_that_is_all_wrong_is_refused_in_few_words(project: Path) -> None:
    (project / "bad.json").write_text(json.dumps({"tools": [7] * 10_000}))
    found = invoke("--from", "bad.json", "-o", "bad_client.py")
    assert found.exit_code == 2
    assert 0 < found.output.count("error[") <= MAX_PROBLEMS


@pytest.mark.parametrize(("data", "code"), BAD_LISTINGS.values(), ids=BAD_LISTINGS)
def test_a_bad_listing_is_refused(project: Path, data: bytes, code: str) -> None:
    (project / "bad.json").write_bytes(data)
    found = invoke("--from", "bad.json", "-o", "bad_client.py")
    assert found.exit_code == 2
    assert f"error[{code}]" in found.output
    assert not (project / "bad_client.py").exists()


def test_a_response_of_tools_list_will_do() -> None:
    result = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool("a")]}}
    assert parse(json.dumps(result).encode(), "x").tools[0]["name"] == "a"


# --- what has changed -----------------------------------------------------------------


def test_changes_are_said_in_words() -> None:
    old = listing(
        tool("gone"),
        tool("kept", None, ("a",), a={"type": "string"}, b={"type": "string"}),
        prompts=[{"name": "p"}],
    )
    place = tool("", None, (), x={"type": "integer"})["inputSchema"]
    new = listing(
        tool(
            "kept",
            place,
            ("a",),
            a={"type": "integer"},
            c={"type": "string", "default": "d"},
        ),
        tool("new"),
        prompts=[{"name": "p", "description": "Said."}],
    )
    before, after = (put.body(text_of(each)) or "" for each in (old, new))
    assert changes(before, before) == []
    assert changes(before, after) == [
        'tool "gone" is gone',
        'tool "new" is new',
        'prompt "p": its description is another',
        'tool "kept": argument b is gone',
        'tool "kept": argument a: str → int',
        "tool \"kept\": argument c is new: str = 'd'",
        'tool "kept": its result is another: list[ContentBlock] → KeptResult',
        "model KeptResult is new",
    ]
    kinds = [listing(tool("a", {"type": kind})) for kind in ("string", "integer")]
    before, after = (put.body(text_of(each)) or "" for each in kinds)
    assert changes(before, after) == [
        'tool "a": its result is another: str → int',
    ]
    kinds = [listing(tool("a", None, (), **{key: {}})) for key in ("toAll", "to_all")]
    before, after = (put.body(text_of(each)) or "" for each in kinds)
    (said,) = changes(before, after)
    assert said.startswith(
        "tool \"a\": argument to_all: Any = UNSET, sent as 'toAll' →"
    )
    described = place | {"description": "Where."}
    plain = listing(tool("a", place))
    for other, words in (
        (listing(tool("a", place), instructions="Ask."), "the server's name or its"),
        (listing(tool("a", described)), "a model's description"),
    ):
        before, after = (put.body(text_of(each)) or "" for each in (plain, other))
        (said,) = changes(before, after)
        assert said.startswith(words)
    for broken in ("class", "x = " + "-" * 100_000 + "1"):
        assert changes(broken, after) == ["it is not Python any more"]


# --- places and settings --------------------------------------------------------------


def test_files_of_others_are_not_overwritten(project: Path) -> None:
    mine = project / "mine.py"
    for text in ("x = 1\n", "# Generated by mcpgen 0.1.0 from somewhere.\n"):
        mine.write_text(text)
        found = invoke("--from", "given.json", "-o", "mine.py")
        assert found.exit_code == 2
        assert "output-occupied" in found.output
        assert mine.read_text() == text
    (project / "link.py").symlink_to(mine)
    for force in ((), ("--force",)):
        found = invoke("--from", "given.json", "-o", "link.py", *force)
        assert found.exit_code == 2, found.output
    (project / "dir.py").mkdir()
    assert invoke("--from", "given.json", "-o", "dir.py", "--force").exit_code == 2
    (project / "other.json").write_text('{"my": "own"}')
    found = invoke(FIXTURE, "-o", "other.py", "--record")
    assert found.exit_code == 2
    assert "output-occupied" in found.output
    assert not (project / "other.py").exists()
    assert mine.read_text() == text
    assert "client" not in (project / "pyproject.toml").read_text()


def test_what_was_there_stays_when_writing_fails(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert invoke("--from", "given.json", "-o", "a_client.py").exit_code == 0
    module = project / "a_client.py"
    before = module.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        found = invoke(
            "--from", "given.json", "-o", "a_client.py", "--flavour", "pydantic"
        )
    assert found.exit_code == 2
    assert "No space left" in found.output
    assert module.read_bytes() == before
    assert not list(project.glob(".a_client*"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "x.py"),
        ("--include", "a"),
        ("--from", "given.json", "python server.py"),
        ("--from", "given.json", "--check"),
        ("--from", "given.json", "-o", "../x.py"),
        ("--from", "given.json", "-o", "x.txt"),
        ("--from", "given.json", "-o", "a-b.py"),
        ("--from", "given.json", "-o", "class.py"),
        ("--from", "given.json", "-o", "x.py", "--flavour", "pydantc"),
        ("--from", "given.json", "-o", "x.py", "--runtime", "os;x"),
        ("--from", "missing.json", "-o", "x.py"),
        ("--from", "given.json", "-o", "x.py", "--check"),
        (),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_an_error(
    project: Path, arguments: tuple[str, ...]
) -> None:
    found = invoke(*arguments)
    assert found.exit_code == 2
    assert "error[" in found.output
    assert not list(project.glob("*.py"))


def test_a_listing_that_is_not_there_is_asked_for(project: Path) -> None:
    found = invoke("--from", "missing.json", "-o", "a_client.py")
    assert "mcpgen inspect TARGET --json" in found.output
    made = invoke("--from", "given.json", "-o", "a_client.py", "--record")
    assert made.exit_code == 0
    (project / "given.json").unlink()
    assert "mcpgen client TARGET -o FILE --record" in invoke().output


def test_without_a_file_it_is_printed(project: Path) -> None:
    found = invoke("--from", "given.json", "--include", "test_simple*")
    assert found.exit_code == 0
    assert "class McpgenConformanceClient(TypedClient):" in found.output


GOOD = {"path": "src/a_client.py", "from": "src/a_client.json"}


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"path": "a.py"}, "client.from"),
        (GOOD | {"path": 7}, "client.path"),
        (GOOD | {"path": "a.txt"}, "Python file"),
        (GOOD | {"path": "../a.py"}, 'holds ".."'),
        (GOOD | {"from": "../a.json"}, "JSON file"),
        (GOOD | {"from": "a.toml"}, "JSON file"),
        (GOOD | {"flavor": "msgspec"}, 'did you mean "flavour"'),
        (GOOD | {"flavour": "x"}, "client.flavour"),
        (GOOD | {"include": "a"}, "client.include"),
        (GOOD | {"exclude": []}, "client.exclude"),
        (GOOD | {"runtime": "a b"}, "client.runtime"),
        (GOOD | {"path": "gen/a.py"}, "output"),
    ],
)
def test_a_wrong_table_is_named(
    tmp_path: Path, table: dict[str, Any], key: str
) -> None:
    with pytest.raises(CompileError) as caught:
        parse_config({"output": "gen", "client": [table]}, tmp_path)
    said = [f"{d.message} {d.hint}" for d in caught.value.diagnostics]
    assert any(key in text for text in said), said


def test_a_table_is_read(tmp_path: Path) -> None:
    config = parse_config(
        {"client": [GOOD | {"include": ["a*"], "flavour": "pydantic"}]}, tmp_path
    )
    (found,) = config.clients
    assert found.path == tmp_path.resolve() / "src/a_client.py"
    assert found.request == Request("pydantic", ("a*",))
    assert found.request.table() == {"flavour": "pydantic", "include": ["a*"]}
    with pytest.raises(CompileError, match="lies inside of another"):
        parse_config({"client": [GOOD, GOOD]}, tmp_path)
