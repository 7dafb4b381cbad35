"""What `mcpgen lint` finds in recordings, and what it does not."""

from __future__ import annotations

import io
import itertools
import json
import random
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcpgen.catalog import Catalog
from mcpgen.cli import app
from mcpgen.lint import Finding, lint
from mcpgen.lint.arguments import problems
from mcpgen.lint.listings import RESULTS
from mcpgen.lint.project import compiled, versions
from mcpgen.lint.rules import FAMILY, RULES, as_markdown
from mcpgen.lint.sarif import as_sarif
from mcpgen.lint.seen import LIMIT, Seen
from mcpgen.lint.versions import INSTALLED, Versions
from mcpgen.protocol import ERAS
from mcpgen.recording import Entry, Header, Http, read
from msgspec import Raw
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from .runtime import exchange

ROOT = Path(__file__).parent.parent
RECORDINGS = Path(__file__).parent / "lint"
SESSIONS = RECORDINGS / "sessions"
EXPLAINED = {id for id in RULES if FAMILY[id] == "Error responses, explained"}
"""What comes with any error response, such as the refusal of what is wrong."""
IMPLIED = {
    "batch-mixed": {"response-unknown"},
    "error-header-mismatch": {"http-header-mismatch"},
    "error-id": {"not-json"},
    "error-parse-error": {"not-json"},
    "initialize-cancelled": {"cancelled-answered"},
    "version-unknown": {"version-changed"},
}
"""What cannot be wrong alone."""


def found_in(file: Path) -> list[Finding]:
    with file.open("rb") as stream:
        return list(lint(*read(stream, file.name)))


def told(findings: Iterable[Finding]) -> list[tuple[str, int, str]]:
    return [(found.rule, found.line, found.path) for found in findings]


# --- the rules, each with its recordings ----------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_has_a_recording_that_breaks_it(rule: str) -> None:
    findings = found_in(RECORDINGS / rule / "bad.jsonl")
    ids = {found.rule for found in findings}
    assert rule in ids
    assert ids - {rule} - EXPLAINED == IMPLIED.get(rule, set())
    for found in findings:
        assert found.severity == RULES[found.rule].severity
        assert found.message
        assert found.fix
        assert found.path.startswith("$")


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_has_a_recording_that_keeps_it(rule: str) -> None:
    assert found_in(RECORDINGS / rule / "good.jsonl") == []


def test_there_are_recordings_of_rules_only() -> None:
    names = {place.name for place in RECORDINGS.iterdir()}
    assert names == {*RULES, "sessions"}


def test_the_page_tells_the_rules() -> None:
    # After a change: what as_markdown() returns, in place of all below this heading.
    page = (ROOT / "docs/lint.md").read_text("utf-8")
    assert page.partition("## Rules\n\n")[2] == as_markdown() + "\n"


def test_rules_are_told_in_sentences() -> None:
    for rule in RULES.values():
        assert rule.why.endswith((".", "!"))
        assert not rule.fix.endswith(".")
        assert not rule.title.endswith(".")


# --- sessions of programs that nobody here wrote --------------------------------------


@pytest.mark.parametrize("file", sorted(SESSIONS.iterdir()), ids=lambda f: f.stem)
def test_sessions_of_the_official_sdks_have_no_faults(file: Path) -> None:
    findings = found_in(file)
    assert not [found for found in findings if found.severity == "error"]
    # They all make a tool fail.
    assert "tool-failed" in {found.rule for found in findings}


def played(script: exchange.Script) -> list[Entry]:
    """The recording of an exchange that goes as the script says."""
    entries = []
    for step in script.steps:
        if isinstance(step, exchange.Expect):
            entries += [
                Entry(t=0, source="server", frame=Raw(json.dumps(f).encode()))
                for f in step.frames
            ]
            continue
        try:
            json.loads(step.data)
        except ValueError:
            text = step.data.decode("utf-8", "replace")
            entries.append(Entry(t=0, source="client", text=text))
        else:
            entries.append(Entry(t=0, source="client", frame=Raw(step.data)))
    return entries


SCRIPTS = [
    path
    for path in sorted(exchange.EXCHANGES.glob("*/[a-z]*.txt"))
    # Over HTTP, these are not one session.
    if path.stem not in ("batches_over_http", "without_session")
]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_our_server_is_not_blamed_for_what_clients_do(path: Path) -> None:
    entries = played(exchange.load(path))
    for found in session(*entries):
        server = entries[found.line - 2].source == "server"
        assert not (server and found.severity == "error"), found


def header(transport: Any = "stdio") -> Header:
    return Header(
        recording=1, mcpgen="0", transport=transport, target="t", started="s", raw=True
    )


def encoded(lines: Iterable[Any]) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def session(*entries: Entry) -> list[Finding]:
    return list(lint(header(), iter(list(enumerate(entries, 2)))))


# --- versions that a project has added ------------------------------------------------

NEW = "2030-01-01"
MODERN = SESSIONS / "python-2-client-and-server-modern.jsonl"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a version of its own, whose cursors are numbers; nothing is generated."""
    text = '[tool.mcpgen]\noutput = "out"\nschema-dir = "specs"\n'
    (tmp_path / "pyproject.toml").write_text(text)
    schema = json.loads((ROOT / "schema/2026-07-28/schema.json").read_text())
    cursor = schema["$defs"]["PaginatedRequestParams"]["properties"]["cursor"]
    cursor.clear()
    cursor["type"] = "integer"
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    add = ["schema", "add", "../schema.json", "--version", NEW]
    assert CliRunner().invoke(app, add).exit_code == 0
    return tmp_path


def test_messages_of_a_version_that_the_project_added(project: Path) -> None:
    def said(version: str, cursor: Any, code: int) -> str:
        meta = META | {"io.modelcontextprotocol/protocolVersion": version}
        params = {"_meta": meta, "cursor": cursor}
        asked = client(id=1, method="tools/list", params=params)
        text = bytes(memoryview(asked.frame))  # type: ignore[arg-type]
        return run("--version", version, "-", input=text, code=code).stdout

    assert said(NEW, 7, 0) == "nothing found\n"
    assert "$.params.cursor\n  tools/list: expected an integer" in said(NEW, "7", 1)
    assert "expected a string" in said("2026-07-28", 7, 1)


def test_sessions_of_a_version_that_the_project_added(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = MODERN.read_bytes().replace(b"2026-07-28", NEW.encode())
    known = run("-", input=text).stdout
    assert known == run("-", input=MODERN.read_bytes()).stdout.replace(
        "2026-07-28", NEW
    )
    drawn = CliRunner().invoke(app, ["view", "-", "--mermaid"], input=text).stdout
    assert drawn
    assert "version-unknown" not in drawn
    monkeypatch.chdir(ROOT)
    assert "version-unknown" in run("-", input=text).stdout
    said = run("--version", NEW, "-", input=text, code=2).stderr
    assert "mcpgen schema add" in said


def test_a_schema_that_is_not_as_it_was_pinned_is_not_judged_by(project: Path) -> None:
    with (project / f"specs/{NEW}/schema.json").open("a") as schema:
        schema.write("\n")
    assert "pin-mismatch" in run(str(MODERN), code=2).stderr


def test_a_version_that_is_compiled_in_memory_is_the_one_that_is_generated() -> None:
    catalog = Catalog()
    assert versions(catalog) is INSTALLED
    in_memory = Versions(ERAS, lambda name: compiled(catalog.protocol(name)[0]))
    for file in sorted(RECORDINGS.glob("*/*.jsonl")):
        with file.open("rb") as stream:
            findings = list(lint(*read(stream, file.name), versions=in_memory))
        assert findings == found_in(file)


# --- what a finding says --------------------------------------------------------------

VERSION = "2025-11-25"
INFO = {"name": "weather", "version": "1"}


def client(**frame: Any) -> Entry:
    frame = {"jsonrpc": "2.0", **frame}
    return Entry(t=0, source="client", frame=Raw(json.dumps(frame).encode()))


def server(**frame: Any) -> Entry:
    frame = {"jsonrpc": "2.0", **frame}
    return Entry(t=0, source="server", frame=Raw(json.dumps(frame).encode()))


def opened(version: str = VERSION, **capabilities: Any) -> list[Entry]:
    return [
        client(
            id=0,
            method="initialize",
            params={"protocolVersion": version, "capabilities": {}, "clientInfo": INFO},
        ),
        server(
            id=0,
            result={
                "protocolVersion": version,
                "capabilities": capabilities,
                "serverInfo": INFO,
            },
        ),
        client(method="notifications/initialized"),
    ]


TOOLS = [
    {
        "name": "forecast",
        "inputSchema": {
            "type": "object",
            "properties": {"days": {"type": "integer"}, "city": {"type": "string"}},
            "required": ["city"],
        },
    }
]


def refused_call(arguments: Any) -> list[Finding]:
    call = {"name": "forecast", "arguments": arguments}
    return session(
        *opened(tools={}),
        client(id=1, method="tools/list"),
        server(id=1, result={"tools": TOOLS}),
        client(id=2, method="tools/call", params=call),
        server(id=2, error={"code": -32602, "message": "bad"}),
    )


def test_refused_arguments_are_compared_with_the_schema_of_the_tool() -> None:
    findings = refused_call({"days": "three", "city": "Oslo"})
    (found,) = [f for f in findings if "arguments" in f.path]
    assert (found.rule, found.line) == ("error-invalid-params", 7)
    assert found.path == "$.params.arguments.days"
    assert "'three' is not of type 'integer'" in found.message


@pytest.mark.parametrize(
    "arguments", [{"city": 7}, {}, {"city": "Oslo", "days": True}, []]
)
def test_without_jsonschema_what_can_be_done_is_done(
    arguments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = problems(TOOLS[0]["inputSchema"], arguments)
    monkeypatch.setitem(__import__("sys").modules, "jsonschema", None)
    glance = problems(TOOLS[0]["inputSchema"], arguments)
    assert len(glance) == len(exact) == 1


def test_keys_that_a_pattern_allows_are_not_called_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jsonschema", None)
    schema: Any = {"additionalProperties": False, "properties": {"a": {}}}
    assert problems(schema, {"a": 1, "b": 2}) == [("$.b", "not allowed")]
    assert problems(schema | {"patternProperties": {"b": {}}}, {"a": 1, "b": 2}) == []


def test_refused_prompts_are_compared_with_their_listing() -> None:
    prompt = {"name": "review", "arguments": [{"name": "code", "required": True}]}
    findings = session(
        *opened(prompts={}),
        client(id=1, method="prompts/list"),
        server(id=1, result={"prompts": [prompt]}),
        client(id=2, method="prompts/get", params={"name": "review"}),
        server(id=2, error={"code": -32602, "message": "bad"}),
        client(id=3, method="prompts/get", params={"name": "reviews"}),
        server(id=3, error={"code": -32602, "message": "bad"}),
    )
    told = {f.path: f for f in findings}
    assert "'code' is a required property" in told["$.params.arguments"].message
    assert told["$.params.name"].message == 'line 6 lists no prompt "reviews"'
    assert told["$.params.name"].fix == 'did you mean "review"?'


@pytest.mark.parametrize(
    "pages",
    [
        [server(id=1, result={"tools": TOOLS, "nextCursor": "2"})],
        [replace(server(id=1), cut=True), server(id=3, result={"tools": TOOLS})],
    ],
)
def test_of_a_listing_with_gaps_nothing_is_missing(pages: list[Entry]) -> None:
    findings = session(
        *opened(tools={}),
        client(id=1, method="tools/list"),
        client(id=3, method="tools/list"),
        *pages,
        *([] if pages[1:] else [server(id=3, result={"tools": [], "nextCursor": "3"})]),
        client(id=2, method="tools/call", params={"name": "other"}),
        server(id=2, error={"code": -32602, "message": "bad"}),
    )
    assert [found.path for found in findings] == ["$.error.code"]


def test_a_schema_cannot_take_for_ever() -> None:
    names = [f"#/$defs/{n}" for n in range(40)]
    bombs = {
        name.rpartition("/")[2]: {"allOf": [{"$ref": after}, {"$ref": after}]}
        for name, after in itertools.pairwise(names)
    }
    bomb = {"$ref": names[0], "$defs": {**bombs, "39": {"type": "object"}}}
    assert problems(bomb, {}) == []
    slow = {"properties": {"city": {"pattern": "(a+)+$"}}, "required": ["days"]}
    (found,) = problems(slow, {"city": "a" * 40 + "!"})
    assert "'days' is a required property" in found[1]
    for odd in ({"$ref": "#"}, {"$ref": "http://127.0.0.1:9/x"}, {"type": 7}, True, 7):
        assert problems(odd, {}) == []


def test_an_unknown_method_is_explained_by_version_or_capability() -> None:
    def cause(method: str, **capabilities: Any) -> str:
        findings = session(
            *opened("2025-06-18", **capabilities),
            client(id=1, method=method),
            server(id=1, error={"code": -32601, "message": "?"}),
        )
        (found,) = [f for f in findings if f.rule == "error-method-not-found"]
        return found.message

    assert "only 2025-11-25 has it" in cause("tasks/list")
    others = "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25"
    odd = session(*opened("2024-11-05"), client(method="notifications/tasks/status"))
    assert odd[0].message.endswith("; 2025-11-25 has")
    old = bare("2026-07-28", client(id=1, method="ping", params={"_meta": META}))
    assert old[0].message == f"2026-07-28 has no ping; {others} have"
    assert "a version mismatch" in cause("server/discover")
    assert "capability mismatch: the server never declared tools" in cause("tools/list")
    assert "the server declares tools" in cause("tools/list", tools={})
    assert "every server has to answer it" in cause("ping")


def test_an_answer_with_an_id_of_another_type_is_judged_all_the_same() -> None:
    findings = session(
        *opened(tools={}),
        client(id=1, method="tools/list"),
        server(id="1", result={"tools": [{"name": "x"}]}),
    )
    assert told(findings) == [
        ("id-retyped", 6, "$.id"),
        ("result-invalid", 6, "$.result.tools[0].inputSchema"),
    ]


def test_each_exchange_of_a_stateless_version_has_one_answer() -> None:
    head = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/list"}
    events = {"content-type": "text/event-stream"}
    result = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "public"}
    asked = client(id=1, method="tools/list", params={"_meta": META})

    def answered(exchange: int, *ids: Any) -> list[Entry]:
        return [
            over_http(exchange, asked, **head),
            by_http(exchange, "server", status=200, headers=events),
            *(
                replace(
                    server(id=id, result=result), http=Http(exchange=exchange, event="")
                )
                for id in ids
            ),
            by_http(exchange, "server", ended=True),
        ]

    assert http_session(*answered(1, 1), *answered(2, 1)) == []
    assert told(http_session(*answered(1, 1, 1))) == [("answered-twice", 5, "$.id")]
    assert told(http_session(*answered(1, "1"))) == [("id-retyped", 4, "$.id")]
    assert told(http_session(*answered(1, 1, 2))) == [("response-unknown", 5, "$.id")]


def bare(version: str, *entries: Entry) -> list[Finding]:
    return list(lint(header(), iter(list(enumerate(entries, 1))), version=version))


def test_an_internal_error_stands_beside_stderr_even_if_that_comes_later() -> None:
    findings = session(
        *opened(tools={}),
        client(id=1, method="tools/list"),
        server(id=1, error={"code": -32603, "message": "internal error"}),
        Entry(t=0, source="stderr", text="ZeroDivisionError: \x1b[31mdivision"),
        client(id=2, method="ping"),
        server(id=2, result={}),
    )
    (found,) = findings
    assert found.rule == "error-internal-error"
    assert r"ZeroDivisionError: \x1b[31mdivision" in found.fix


@pytest.mark.parametrize(
    ("text", "rule", "why"),
    [
        ('{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}', "not-json", "(byte 38)"),
        ('  "jsonrpc": "2.0",', "not-json", "trailing characters"),
        ("listening on {}", "stray-output", "on standard output"),
    ],
)
def test_a_message_that_is_spoiled_is_no_stray_print(
    text: str, rule: str, why: str
) -> None:
    (found,) = session(*opened(), Entry(t=0, source="server", text=text))
    assert found.rule == rule
    assert why in found.message
    cut = Entry(t=0, source="server", text=text, cut=True)
    assert "byte" not in session(*opened(), cut)[0].message


def test_a_level_of_logs_holds_from_its_answer_on() -> None:
    def log(level: str) -> Entry:
        params = {"level": level, "data": "x"}
        return server(method="notifications/message", params=params)

    def asked(id: int, level: str) -> Entry:
        return client(id=id, method="logging/setLevel", params={"level": level})

    fine = [
        *opened(logging={}),
        asked(1, "error"),
        log("debug"),
        server(id=1, result={}),
        log("error"),
        asked(2, "info"),
        log("info"),
        server(id=2, result={}),
        log("info"),
        asked(3, "error"),
        log("info"),
    ]
    assert [found.rule for found in session(*fine)] == ["unanswered"]
    (found,) = session(*fine, server(id=3, result={}), log("info"))
    assert (found.rule, found.line) == ("log-below-level", 16)


EXTENDED = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {
        "extensions": {"io.modelcontextprotocol/tasks": {}}
    },
}


def test_what_an_extension_brings_is_not_judged_by_the_protocol() -> None:
    """Tasks were of one version, and are an extension since."""
    task = {"taskId": "t1", "status": "working"}
    entries = [
        client(id=1, method="tasks/get", params={"taskId": "t0", "_meta": EXTENDED}),
        server(id=1, result={"resultType": "complete", **task}),
        client(id=2, method="tools/call", params={"name": "x", "_meta": EXTENDED}),
        server(id=2, result={"resultType": "task", **task}),
        client(id=3, method="tasks/update", params={"_meta": EXTENDED}),
        server(id=3, result={"resultType": "complete"}),
        server(method="notifications/tasks", params=task),
    ]
    assert session(*entries) == []
    # It does not bring back what else was removed.
    findings = session(client(id=1, method="ping", params={"_meta": EXTENDED}))
    assert findings[0].rule == "method-other-version"


def test_without_an_extension_its_results_are_of_no_type() -> None:
    meta = {**EXTENDED, "io.modelcontextprotocol/clientCapabilities": {}}
    findings = session(
        client(id=2, method="tools/call", params={"name": "x", "_meta": meta}),
        server(id=2, result={"resultType": "task", "taskId": "t1"}),
    )
    assert [found.rule for found in findings] == ["result-type"]


def test_what_a_large_request_says_of_its_client_is_kept() -> None:
    meta = {**EXTENDED, "io.modelcontextprotocol/logLevel": "info"}
    params = {"name": "x", "arguments": {"text": "x" * 20_000}, "_meta": meta}
    findings = session(
        client(id=1, method="tools/call", params=params),
        server(method="notifications/message", params={"level": "info", "data": 1}),
        server(id=1, result={"resultType": "task", "taskId": "t1"}),
    )
    assert [found.rule for found in findings] == ["method-deprecated"]


def test_methods_of_experiments_are_not_called_unknown() -> None:
    ask = {"protocolVersion": VERSION, "clientInfo": INFO}
    ask["capabilities"] = {"experimental": {"example/beep": {}}}
    _, answer, ready = opened()
    beep = client(method="notifications/example/beep")
    opening = client(id=0, method="initialize", params=ask)
    assert session(opening, answer, ready, beep) == []
    (found,) = session(*opened(), beep)
    assert found.rule == "method-unknown"


@pytest.mark.parametrize(
    ("offered", "asked", "missing"),
    [
        ({}, {}, None),
        ({}, {"mode": "form"}, None),
        ({}, {"mode": "url"}, "$.params.mode"),
        ({"applyDefaults": True}, {"mode": "form"}, None),
        ({"url": {}}, {}, "$.params"),
        ({"url": {}}, {"mode": "form"}, "$.params.mode"),
        ({"url": {}}, {"mode": "url"}, None),
        ({"url": {}, "form": {}}, {}, None),
    ],
)
def test_a_client_is_asked_in_a_mode_that_it_declared(
    offered: Any, asked: Any, missing: str | None
) -> None:
    wish = {"protocolVersion": VERSION, "clientInfo": INFO}
    wish["capabilities"] = {"elicitation": offered}
    _, answer, ready = opened()
    form = {"requestedSchema": {"type": "object", "properties": {}}}
    url = {"url": "https://example.com", "elicitationId": "1"}
    params = {"message": "?"} | asked | (url if asked == {"mode": "url"} else form)
    findings = session(
        client(id=0, method="initialize", params=wish),
        answer,
        ready,
        server(id=1, method="elicitation/create", params=params),
        client(id=1, result={"action": "cancel"}),
    )
    expected = [("capability-parameter", 5, missing)] if missing else []
    assert told(findings) == expected


@pytest.mark.parametrize(
    ("version", "method", "code", "rule", "fix"),
    [
        (VERSION, "tools/call", -32002, "error-folklore", "isError"),
        (VERSION, "prompts/get", -32002, "error-folklore", "-32602"),
        (VERSION, "resources/read", -32002, "error-resource-not-found", "URIs"),
        (VERSION, "resources/read", -32001, "error-folklore", "-32002 for a resource"),
        ("2026-07-28", "resources/read", -32001, "error-folklore", "-32602 for a res"),
        ("2026-07-28", "tools/call", -32002, "error-other-version", "this version"),
        ("2026-07-28", "tools/call", -32050, "error-other", "-32768"),
        (VERSION, "tools/call", -32050, "error-other", "documentation"),
    ],
)
def test_a_code_means_something_in_its_version_and_for_its_method(
    version: str, method: str, code: int, rule: str, fix: str
) -> None:
    opening, params = opened(tools={}, prompts={}, resources={}), {"uri": "a:b"}
    params["name"] = "x"
    if version != VERSION:
        opening, params = [], params | {"_meta": META}
    *_, found = session(
        *opening,
        client(id=1, method=method, params=params),
        server(id=1, error={"code": code, "message": "?"}),
    )
    assert found.rule == rule
    assert fix in found.fix


def test_a_request_state_may_be_older_than_the_recording() -> None:
    params = {"name": "x", "_meta": META, "requestState": "s0"}
    asked = {"resultType": "input_required", "requestState": "s1"}
    again = client(id=2, method="tools/call", params=params)
    assert session(replace(again)) != []
    findings = session(
        client(id=1, method="tools/call", params=params),
        server(id=1, result=asked),
        again,
    )
    assert told(findings)[:1] == [("request-state", 4, "$.params.requestState")]


def test_a_subscription_that_is_given_up_at_once_needs_no_acknowledgement() -> None:
    listen = {"notifications": {}, "_meta": META}
    meta = {"io.modelcontextprotocol/subscriptionId": 1}
    findings = session(
        client(id=1, method="subscriptions/listen", params=listen),
        client(method="notifications/cancelled", params={"requestId": 1}),
        server(id=1, result={"resultType": "complete", "_meta": meta}),
    )
    assert findings == []


def test_a_token_may_come_again_when_its_request_was_given_up() -> None:
    wanting = {"name": "forecast", "_meta": {"progressToken": "t"}}
    task = {"taskId": "t1", "status": "working", "createdAt": "", "ttl": None}
    task["lastUpdatedAt"] = ""
    tasks = {"requests": {"tools": {"call": {}}}}

    def progress(value: int) -> Entry:
        params = {"progressToken": "t", "progress": value}
        return server(method="notifications/progress", params=params)

    findings = session(
        *opened(tools={}, tasks=tasks),
        client(id=1, method="tools/call", params=wanting),
        progress(5),
        client(method="notifications/cancelled", params={"requestId": 1}),
        progress(6),
        client(id=2, method="tools/call", params={**wanting, "task": {}}),
        server(id=1, result={"content": []}),  # too late
        progress(1),
        server(id=2, result={"task": task}),
        progress(2),
        client(id=3, method="tools/call", params=wanting),
        progress(1),
        client(id=4, method="tools/call", params=wanting),
        progress(2),
        server(id=3, result={"content": []}),
        server(id=4, result={"content": []}),
        progress(3),
    )
    assert [(found.rule, found.line) for found in findings] == [
        ("cancelled-answered", 10),
        ("progress-token-reused", 16),
        ("progress-after-end", 20),
    ]


def test_folklore_is_told_what_it_means() -> None:
    findings = session(*opened(), client(method="$/cancelRequest", params={}))
    assert findings[0].fix == 'did you mean "notifications/cancelled"?'


def test_the_version_is_the_one_that_is_agreed_on() -> None:
    audio = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}

    def findings(version: str) -> list[tuple[str, int, str]]:
        call = {"name": "sing"}
        return told(
            session(
                *opened(version, tools={}),
                client(id=1, method="tools/call", params=call),
                server(id=1, result={"content": [audio]}),
            )
        )

    assert findings("2025-03-26") == []
    assert findings("2024-11-05")[0][:2] == ("result-invalid", 6)


@pytest.mark.parametrize("wanted", ["2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("agreed", ["2025-06-18", "2025-11-25"])
def test_what_is_asked_early_is_answered_in_the_version_that_is_agreed_on(
    wanted: str, agreed: str
) -> None:
    (initialize, _, _), (_, result, _) = opened(wanted), opened(agreed, tools={})
    found = session(
        initialize,
        client(id=1, method="tools/list"),
        client(id=2, method="tools/call", params={"name": "forecast"}),
        result,
        server(id=1, result={"tools": TOOLS}),
        server(id=2, error={"code": -32602, "message": "no city"}),
    )
    # From this version on, bad arguments are told in a result.
    is_new = agreed == "2025-11-25"
    assert ("error-argument-style" in {finding.rule for finding in found}) == is_new


def test_a_client_may_try_a_stateless_version_first() -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    findings = session(
        client(id="probe", method="server/discover", params={"_meta": meta}),
        server(id="probe", error={"code": -32601, "message": "?"}),
        *opened(tools={}),
        client(id=1, method="tools/list"),
        server(id=1, result={"tools": []}),
    )
    assert {f.severity for f in findings} == {"note"}


def test_what_the_recorder_redacted_or_cut_is_not_judged() -> None:
    lines = [
        Entry(
            t=0,
            source="client",
            frame=Raw(
                b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"[redacted]","arguments":"[redacted]"}}'
            ),
        ),
        Entry(
            t=0,
            source="server",
            cut=True,
            size=10**9,
            frame=Raw(b'{"jsonrpc":"2.0","id":1}'),
        ),
    ]
    clean = Header(recording=1, mcpgen="0", transport="stdio", target="", started="")
    entries = [*opened(tools={}), *lines]
    findings = list(lint(clean, iter(list(enumerate(entries, 2)))))
    assert findings == []


def test_what_was_too_large_to_be_recorded_is_not_missed() -> None:
    lost = replace(ACCEPTED, cut=True, size=10**9)
    progress = {"progressToken": "p", "progress": 1}
    findings = session(
        *opened(tools={}),
        client(id=1, method="tools/list"),
        lost,
        replace(lost, source="client"),
        server(id=7, result={}),
        server(method="notifications/progress", params=progress),
        replace(client(id=2, method="tools/call"), cut=True),
        server(id=2, error={"code": 1, "message": "too large"}),
    )
    assert {found.rule for found in findings} == {"error-other"}


def over_http(exchange: int, entry: Entry, **headers: str) -> Entry:
    """An entry as it comes over HTTP: a request, or a whole answer."""
    said = {"content-type": "application/json"}
    http = Http(exchange=exchange, headers=said)
    if entry.source == "client":
        http.method, http.path = "POST", "/mcp"
        said |= {"accept": "*/*", "mcp-protocol-version": VERSION}
    else:
        http.status = 200 if entry.frame else 202
        http.ended = True
    said |= {name.replace("_", "-"): value for name, value in headers.items()}
    return replace(entry, http=http)


ACCEPTED = Entry(t=0, source="server")


def listed(exchange: int, id: int, tools: Any, **headers: str) -> list[Entry]:
    return [
        over_http(exchange, client(id=id, method="tools/list"), **headers),
        over_http(exchange, server(id=id, result={"tools": tools})),
    ]


def test_two_sessions_over_http_are_two() -> None:
    entries = []
    for number, name in enumerate("ab"):
        ask, answer, ready = opened(tools={})
        entries += [
            over_http(number, ask),
            over_http(number, answer, mcp_session_id=name),
            over_http(number + 10, ready, mcp_session_id=name),
            over_http(number + 10, ACCEPTED),
        ]
    for number, name in enumerate("abba", 20):
        # The same ids in both.
        entries += listed(number, 1 + (number > 21), [], mcp_session_id=name)
    assert list(lint(header("http"), iter(list(enumerate(entries, 2))))) == []


def http_session(*entries: Entry) -> list[Finding]:
    return list(lint(header("http"), iter(list(enumerate(entries, 2)))))


@pytest.mark.parametrize("named", [True, False])
def test_clients_that_connect_at_once_are_told_apart(named: bool) -> None:
    """With the same ids, in any order; servers need not give them session ids."""
    numbers = itertools.count()
    said: list[list[Entry]] = []
    for name, version in (("a", VERSION), ("b", VERSION), ("c", "2025-06-18")):
        ask, answer, ready = opened(version, tools={})
        head = {"mcp_protocol_version": version}
        given = {"mcp_session_id": name} if named else {}
        calls = [(ask, answer, {}, given), (ready, ACCEPTED, head | given, {})]
        for id in range(1, 5):
            listing = client(id=id, method="tools/list")
            calls.append(
                (listing, server(id=id, result={"tools": []}), head | given, {})
            )
        cancelled = {"requestId": 5}
        call = {"name": "x", "_meta": {"progressToken": 5}}
        notes = client(method="notifications/cancelled", params=cancelled)
        slow = client(id=5, method="tools/call", params=call)
        number = next(numbers)
        said.append([])
        for asked, answered, sent, got in calls:
            number = next(numbers)
            said[-1].append(over_http(number, asked, **sent))
            said[-1].append(over_http(number, answered, **got))
        said[-1].append(over_http(next(numbers), slow, **head, **given))
        number = next(numbers)
        said[-1].append(over_http(number, notes, **head, **given))
        said[-1].append(over_http(number, ACCEPTED))
    rng = random.Random(11)
    for _ in range(50):
        left = [list(entries) for entries in said]
        order = []
        while any(left):
            order.append(rng.choice([entries for entries in left if entries]).pop(0))
        assert http_session(*order) == []


def test_of_many_clients_without_session_ids_the_last_are_followed() -> None:
    def clients(count: int) -> Iterator[Entry]:
        ask, answer, ready = opened(tools={})
        for number in range(0, 2 * count, 2):
            yield over_http(number, ask)
            yield over_http(number, answer)
            yield over_http(number + 1, ready)
            yield over_http(number + 1, ACCEPTED)

    assert http_session(*clients(100)) == []
    _, _, ready = opened()
    again = [over_http(900 + n, ready) for n in range(2)]
    findings = http_session(*clients(1), *again, *clients(100))
    assert told(findings) == [("initialized-again", 6 + n, "$") for n in range(2)]


def test_a_tool_may_be_called_initialize() -> None:
    ask, answer, ready = opened(tools={})
    call = client(id=1, method="tools/call", params={"name": "initialize"})
    entries = [
        over_http(1, ask),
        over_http(1, answer),
        over_http(2, ready),
        over_http(2, ACCEPTED),
        over_http(3, call),
        over_http(3, server(id=1, result={"content": []})),
    ]
    assert http_session(*entries) == []


def test_what_a_resumed_stream_repeats_is_judged_once() -> None:
    ask, answer, ready = opened(tools={})
    events = {"content-type": "text/event-stream"}
    params = {"name": "x", "_meta": {"progressToken": 1}}
    told = {"progressToken": 1, "progress": 1}
    progress = server(method="notifications/progress", params=told)
    result = server(id=1, result={"content": []})

    def stream(number: int, entry: Entry, event: str) -> Entry:
        return replace(entry, http=Http(exchange=number, event=event))

    def resumed(number: int, after: str) -> list[Entry]:
        head = {"mcp-session-id": "s", "last-event-id": after}
        get = Http(exchange=number, method="GET", path="/mcp", headers=head)
        status = Http(exchange=number, status=200, headers=events)
        return [Entry(t=0, source="client", http=get), replace(ACCEPTED, http=status)]

    entries = [
        over_http(1, ask),
        over_http(1, answer, mcp_session_id="s"),
        over_http(2, ready, mcp_session_id="s"),
        over_http(2, ACCEPTED),
        over_http(
            3, client(id=1, method="tools/call", params=params), mcp_session_id="s"
        ),
        replace(ACCEPTED, http=Http(exchange=3, status=200, headers=events)),
        stream(3, progress, "1"),
        # The client has not read that: it asks for what came after "0".
        Entry(t=0, source="client", http=Http(exchange=3, ended=True)),
        *resumed(4, "0"),
        stream(4, progress, "1"),
        stream(4, result, "2"),
        Entry(t=0, source="client", http=Http(exchange=4, ended=True)),
        *resumed(5, "1"),
        stream(5, result, "2"),
    ]
    assert http_session(*entries) == []
    # With an id of its own it is another event.
    again = http_session(*entries, stream(5, result, "3"))
    assert [found.rule for found in again] == ["answered-twice"]


def test_what_was_not_declared_is_told_once() -> None:
    log = server(
        method="notifications/message", params={"level": "info", "data": "hello"}
    )
    (found,) = session(*opened(), *[log] * 3)
    assert found.rule == "capability-not-declared"


def test_a_session_that_began_before_its_recording_is_taken_as_it_is() -> None:
    entries = listed(1, 7, [{"name": "x"}], mcp_session_id="old")
    findings = list(lint(header("http"), iter(list(enumerate(entries, 2)))))
    assert {found.rule for found in findings} == {"result-invalid"}
    # The same without a session id: the header tells what was agreed on.
    audio = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
    sung = [
        over_http(1, client(id=7, method="tools/call", params={"name": "sing"})),
        over_http(1, server(id=7, result={"content": [audio], "structuredContent": 7})),
    ]
    assert told(http_session(*sung)) == [
        ("result-invalid", 3, "$.result.structuredContent")
    ]
    assert sung[0].http
    assert isinstance(sung[0].http.headers, dict)
    sung[0].http.headers["mcp-protocol-version"] = "2025-03-26"
    assert http_session(*sung) == []


def test_sessions_over_one_stream_each_are_told_apart() -> None:
    """HTTP+SSE: each client's stream says where it is to send its messages."""
    entries, late = [], []
    for number, name in enumerate("ab"):
        stream, post, way = 10 * number, 10 * number + 1, f"/messages?id={name}"
        opening = Http(exchange=stream, method="GET", path="/sse", headers={})
        kind = {"content-type": "text/event-stream"}
        status = Http(exchange=stream, status=200, headers=kind)
        event = Http(exchange=stream, event="")
        ask, answer, ready = opened()
        entries += [
            Entry(t=0, source="client", http=opening),
            Entry(t=0, source="server", http=status),
            Entry(t=0, source="server", text=way, http=event),
        ]
        said: list[tuple[Entry, Entry | None]] = [(ask, answer), (ready, None)]
        said.append((client(id=1, method="ping"), server(id=1, result={})))
        for at, (asked, answered) in enumerate(said):
            posted = Http(exchange=post + at, method="POST", path=way, headers={})
            late.append(replace(asked, http=posted))
            done = Http(exchange=post + at, status=202, headers={}, ended=True)
            late.append(Entry(t=0, source="server", http=done))
            if answered is not None:
                late.append(replace(answered, http=event))
    # Both at once; then one after the other has gone.
    assert not list(lint(header("http"), iter(list(enumerate(entries + late, 2)))))
    half, gone = len(late) // 2, Entry(t=0, source="client")
    gone.http = Http(exchange=0, ended=True)
    order = [*entries[:3], *late[:half], gone, *entries[3:], *late[half:]]
    assert not list(lint(header("http"), iter(list(enumerate(order, 2)))))


def by_http(exchange: int, side: Any, what: Any = None, **http: Any) -> Entry:
    """Anything that HTTP carries: JSON, a text, or nothing."""
    entry = Entry(t=0, source=side, http=Http(exchange=exchange, **http))
    if isinstance(what, str):
        entry.text = what
    elif what is not None:
        entry.frame = Raw(json.dumps(what).encode())
    return entry


def page(exchange: int, status: int, what: Any = None) -> Entry:
    kind = {"content-type": "application/json"}
    return by_http(exchange, "server", what, status=status, headers=kind, ended=True)


def test_what_is_none_of_the_protocol_is_not_judged() -> None:
    """How a client gets its token, through the same proxy."""
    ask, answer, ready = opened()
    said: list[tuple[str, str, Any, int, Any]] = [
        (
            "GET",
            "/.well-known/oauth-protected-resource/mcp",
            None,
            200,
            {"resource": "r"},
        ),
        ("GET", "/.well-known/oauth-authorization-server", None, 404, "Not Found"),
        ("POST", "/register", {"redirect_uris": []}, 201, {"client_id": "i"}),
        ("POST", "/token", "grant_type=authorization_code", 200, {"access_token": "t"}),
        ("OPTIONS", "/mcp", None, 200, None),
    ]

    def others(number: int) -> Iterator[Entry]:
        for at, (verb, path, sent, status, got) in enumerate(said, number):
            # Clients say the version there, too.
            head = {"mcp-protocol-version": "2026-07-28"}
            yield by_http(at, "client", sent, method=verb, path=path, headers=head)
            yield page(at, status, got)

    entries = [
        over_http(1, ask),
        page(1, 401, {"error": "invalid_token"}),
        *others(10),
        over_http(2, ask),
        over_http(2, answer, mcp_session_id="s"),
        over_http(3, ready, mcp_session_id="s"),
        over_http(3, ACCEPTED),
        *others(20),
        over_http(4, client(id=1, method="ping"), mcp_session_id="s"),
        page(4, 502, "Bad Gateway"),
        over_http(5, client(id=2, method="ping"), mcp_session_id="s"),
        page(5, 400, {"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "?"}}),
        by_http(6, "client", method="DELETE", path="/mcp", headers={}),
        page(6, 200, {"deleted": True}),
    ]
    assert [found.rule for found in http_session(*entries)] == ["error-other"]
    # The same where messages go is a fault.
    broken = [
        over_http(7, Entry(t=0, source="client", text="a=b"), mcp_session_id="s"),
        page(7, 400),
        over_http(8, client(id=3, method="ping"), mcp_session_id="s"),
        page(8, 200, {"detail": "?"}),
    ]
    rules = [found.rule for found in http_session(*entries, *broken)]
    assert rules[1:] == ["not-json", "jsonrpc-version", "not-a-message", "unanswered"]


def test_a_client_may_fall_back_to_sse_at_the_address_that_it_tried() -> None:
    """HTTP+SSE: what POST was refused at, GET makes a stream of."""
    ask, answer, ready = opened()
    events = {"content-type": "text/event-stream"}
    sent = {"headers": {"content-type": "application/json"}, "method": "POST"}
    entries = [
        replace(over_http(1, ask), http=Http(exchange=1, path="/sse", **sent)),
        page(1, 404, "Cannot POST /sse"),
        by_http(2, "client", method="GET", path="/sse", headers={}),
        by_http(2, "server", status=200, headers=events),
        by_http(2, "server", "/message?id=x", event=""),
    ]
    for number, (asked, answered) in enumerate([(ask, answer), (ready, None)], 3):
        http = Http(exchange=number, path="/message?id=x", **sent)
        entries += [replace(asked, http=http), page(number, 202, "Accepted")]
        if answered is not None:
            entries.append(replace(answered, http=Http(exchange=2, event="")))
    assert http_session(*entries) == []


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
REFUSED = {"code": -32601, "message": "?"}


def status_of(status: int, *entries: Entry, ask: Entry, answer: Entry) -> list[str]:
    assert answer.http
    answer = replace(answer, http=replace(answer.http, status=status))
    found = lint(header("http"), iter(list(enumerate([*entries, ask, answer], 2))))
    return [each.rule for each in found if each.severity == "error"]


def test_some_errors_of_stateless_versions_have_a_status() -> None:
    head = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/list"}
    listing = client(id=1, method="tools/list", params={"_meta": META})
    bare = client(id=1, method="tools/list", params={"_meta": {}})
    refusal = over_http(1, server(id=1, error=REFUSED))

    asked = over_http(1, listing, **head)
    assert status_of(404, ask=asked, answer=refusal) == []
    assert status_of(200, ask=asked, answer=refusal) == ["http-status"]

    asked = over_http(1, bare, **head)
    error = {"code": -32602, "message": "no _meta"}
    answer = over_http(1, server(id=1, error=error))
    assert status_of(400, ask=asked, answer=answer) == ["meta-missing"]
    assert status_of(200, ask=asked, answer=answer) == ["meta-missing", "http-status"]


def test_what_must_be_refused_over_http_has_a_status() -> None:
    delete = Http(
        exchange=1, method="DELETE", path="/mcp", headers={"mcp-session-id": "s"}
    )
    done = Http(exchange=1, status=200, ended=True)
    over = (
        Entry(t=0, source="client", http=delete),
        Entry(t=0, source="server", http=done),
    )
    ask = over_http(2, client(id=1, method="ping"), mcp_session_id="s")
    answer = over_http(2, server(id=1, result={}))
    assert status_of(404, *over, ask=ask, answer=over_http(2, ACCEPTED)) == []
    assert status_of(200, *over, ask=ask, answer=answer) == ["http-status"]

    unheard = over_http(
        2, client(id=1, method="ping"), mcp_session_id="t", mcp_protocol_version="0"
    )
    assert status_of(400, ask=unheard, answer=over_http(2, ACCEPTED)) == []
    assert status_of(200, ask=unheard, answer=answer) == ["http-status"]


@pytest.mark.parametrize("version", ["2025-03-26", VERSION, "2026-07-28"])
@pytest.mark.parametrize("method", ["tools/list", "notifications/cancelled"])
def test_a_refusal_by_http_needs_no_id(version: str, method: str) -> None:
    """What cannot be accepted gets an error status; an error without an id may follow."""
    params: Any = {"_meta": META} if version == "2026-07-28" else {}
    if method == "tools/list":
        message = client(id=1, method=method, params=params)
    else:
        message = client(method=method, params=params | {"requestId": 0})
    head = {"mcp_protocol_version": version, "mcp_method": method}
    ask, answer, ready = opened(version, tools={})
    opening = [
        over_http(7, ask),
        over_http(7, answer),
        over_http(8, ready),
        page(8, 202),
    ]
    entries = [
        *(opening if version != "2026-07-28" else ()),
        over_http(1, message, **head),
        page(1, 403, {"jsonrpc": "2.0", "error": {"code": -32600, "message": "?"}}),
    ]
    found = {each.rule for each in http_session(*entries)}
    assert found - {"cancel-over-http"} == {"error-invalid-request"}


def test_what_http_refused_may_be_sent_again() -> None:
    """As it is, when a token was fetched or a gateway is there again."""
    wanting = {"name": "x", "_meta": {"progressToken": 1}}
    call = client(id=1, method="tools/call", params=wanting)
    ask, answer, ready = opened(tools={})
    entries = [over_http(1, ask), over_http(1, answer), over_http(2, ready)]
    entries += [page(2, 202)]
    for number, status in enumerate((401, 503), 3):
        entries += [over_http(number, call), page(number, status, "no")]
    entries += [over_http(5, call), over_http(5, server(id=1, result={"content": []}))]
    assert http_session(*entries) == []
    again = [over_http(6, call), over_http(6, server(id=1, result={"content": []}))]
    assert [each.rule for each in http_session(*entries, *again)] == ["id-reused"]


def test_what_answers_an_exchange_that_was_not_recorded_is_not_judged() -> None:
    progress = {"progressToken": 1, "progress": 1}
    said = server(method="notifications/progress", params=progress)
    http = Http(exchange=1, event="")
    entries = [
        replace(said, http=http),
        replace(server(id=1, result={"content": []}), http=http),
        by_http(1, "server", ended=True),
    ]
    assert http_session(*entries) == []


def test_a_request_to_a_session_that_is_over_was_answered() -> None:
    ask, answer, ready = opened(tools={})
    entries = [
        over_http(1, ask),
        over_http(1, answer, mcp_session_id="s"),
        over_http(2, ready, mcp_session_id="s"),
        page(2, 202),
        over_http(3, client(id=1, method="tools/list"), mcp_session_id="s"),
        page(3, 404),
    ]
    assert http_session(*entries) == []


def test_an_older_server_that_is_asked_for_its_era_may_answer_in_its_own_way() -> None:
    probe = client(id=0, method="server/discover", params={"_meta": META})
    head = {"mcp_protocol_version": "2026-07-28", "mcp_method": "server/discover"}
    ask, answer, ready = opened("2025-03-26")
    entries = [
        over_http(1, probe, **head),
        over_http(1, server(id=0, error=REFUSED)),
        over_http(2, ask),
        over_http(2, answer),
        over_http(3, ready),
        page(3, 202),
    ]
    assert {each.rule for each in http_session(*entries)} == {"error-method-not-found"}


@pytest.mark.parametrize("version", ["2099-01-01", "draft"])
def test_a_version_that_is_not_known_here_may_be_known_to_both(version: str) -> None:
    ask, answer, ready = opened(version, tools={})
    head = {"mcp_protocol_version": version}
    entries = [over_http(1, ask), over_http(1, answer), over_http(2, ready, **head)]
    entries += [page(2, 202), *listed(3, 1, [], **head)]
    findings = http_session(*entries)
    assert [each.rule for each in findings] == ["version-unknown"] * 2
    entries += listed(4, 2, [], mcp_protocol_version=VERSION)
    assert "http-header-mismatch" in {each.rule for each in http_session(*entries)}


def test_a_stateless_version_of_days_to_come_need_not_be_refused() -> None:
    meta = META | {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    head = {"mcp_method": "tools/call", "mcp_name": "x"}
    entries = [
        over_http(
            1,
            client(id=1, method="tools/call", params={"name": "x", "_meta": meta}),
            mcp_protocol_version="2099-01-01",
            **head,
        ),
        over_http(1, server(id=1, result={"resultType": "complete", "content": []})),
    ]
    assert [each.rule for each in http_session(*entries)] == ["version-unknown"]


def test_a_stream_that_the_client_closes_needs_no_answer() -> None:
    call = client(id=1, method="tools/call", params={"name": "x", "_meta": META})
    head = {"mcp_method": "tools/call", "mcp_name": "x"}
    ask = over_http(1, call, mcp_protocol_version="2026-07-28", **head)
    events = {"content-type": "text/event-stream"}
    stream = replace(ACCEPTED, http=Http(exchange=1, status=200, headers=events))

    def findings(by: Any) -> list[str]:
        closed = Entry(t=0, source=by, http=Http(exchange=1, ended=True))
        entries = enumerate([ask, stream, closed], 2)
        return [found.rule for found in lint(header("http"), iter(list(entries)))]

    assert findings("client") == []
    assert findings("server") == ["unanswered"]


# --- memory, and what is hostile ------------------------------------------------------


def counting(requests: int, ids: Callable[[int], Any]) -> Iterator[tuple[int, Entry]]:
    line = 1
    for entry in opened(tools={}):
        line += 1
        yield line, entry
    for number in range(1, requests):
        id = ids(number)
        params = {"name": "forecast", "_meta": {"progressToken": id}}
        answer = {"content": [{"type": "text", "text": "x" * 50}]}
        yield line + 1, client(id=id, method="tools/call", params=params)
        yield line + 2, server(id=id, result=answer)
        line += 2


@pytest.mark.parametrize(
    "ids", [int, lambda n: f"{n:032}"], ids=["integers", "strings"]
)
def test_memory_stays_flat(
    ids: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpgen.lint.seen.LIMIT", 100)

    def peak(requests: int) -> int:
        tracemalloc.start()
        try:
            assert list(lint(header(), counting(requests, ids))) == []
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)  # what is imported now is not there twice
    assert peak(2_000) < peak(400) + 30_000


def test_requests_that_nobody_answers_are_not_kept_for_ever() -> None:
    def flood() -> Iterator[tuple[int, Entry]]:
        yield from enumerate(opened(tools={}), 2)
        for number in range(1, 5_000):
            yield number + 4, client(id=number, method="tools/list")

    seen = 0
    for found in lint(header(), flood()):
        assert found.rule == "unanswered"
        seen += 1
    assert seen == 4_999


def test_an_answer_to_one_of_very_many_requests_is_the_first() -> None:
    numbers = range(1, 2_000)
    asked = [
        client(id=n, method="ping", params={"_meta": {"progressToken": n}})
        for n in numbers
    ]
    progress = {"progressToken": 1, "progress": 1}
    findings = session(
        *opened(),
        *asked,
        server(method="notifications/progress", params=progress),
        *(server(id=n, result={}) for n in numbers),
    )
    assert {found.rule for found in findings} == {"unanswered"}


def test_ids_that_were_seen() -> None:
    rng = random.Random(7)
    seen, model = Seen(), set[int | str]()
    for _ in range(2_000):
        id: int | str = rng.randrange(-300, 300)
        if rng.random() < 0.2:
            id = str(id)
        assert (id in seen) == (id in model)
        seen.add(id)
        model.add(id)
    for number in range(-400, 400):
        assert (number in seen) == (number in model)
    for number in range(3 * LIMIT):
        seen.add(f"s{number}")
    assert f"s{3 * LIMIT - 1}" in seen
    assert "s0" not in seen


def hostile_frames() -> Iterator[bytes]:
    meta = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":%b}}'
    odd = [
        b"null",
        b"[]",
        b"7",
        b'""',
        b"{}",
        b"1e999",
        b"-0.0",
        b"9" * 400,
        b'"\\u0000"',
    ]
    for value in odd:
        yield value
        yield meta % value
        yield b'{"jsonrpc":%b,"id":%b,"method":%b}' % (value, value, value)
        yield b'{"jsonrpc":"2.0","id":2,"result":%b}' % value
        yield b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (value, value)
        yield b'{"jsonrpc":"2.0","id":3,"error":{"code":%b,"message":%b,"data":%b}}' % (
            (value,) * 3
        )
        for key in (b"requestId", b"progressToken", b"protocolVersion", b"level"):
            for method in (
                *(b"notifications/cancelled", b"notifications/progress"),
                *(b"initialize", b"notifications/message", b"logging/setLevel"),
            ):
                yield b'{"jsonrpc":"2.0","id":4,"method":"%b","params":{"%b":%b}}' % (
                    (method, key, value)
                )
                yield b'{"jsonrpc":"2.0","method":"%b","params":{"%b":%b}}' % (
                    (method, key, value)
                )
    for method in (b"tools/list", b"tools/call", b"initialize", b"server/discover"):
        for value in odd:
            yield b'{"jsonrpc":"2.0","id":5,"method":"%b","params":%b}' % (
                method,
                value,
            )
            for key in (b"tools", b"capabilities", b"inputRequests", b"resultType"):
                yield b'{"jsonrpc":"2.0","id":5,"result":{"%b":%b}}' % (key, value)
    deep = b"[" * 500 + b"]" * 500
    yield deep
    yield b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"arguments":%b}}' % deep
    yield b"\xff\xfe"
    yield b'{"a":"\xff"}'
    yield b'{"jsonrpc":"2.0","id":"%b","method":"%b"}' % (
        b"x" * 100_000,
        b"y" * 100_000,
    )
    yield b"[" + b",".join([b"1"] * 20_000) + b"]"


ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    1e300,
    "",
    [],
    {},
    [[]],
    {"a": {}},
    10**30,
    "[redacted]",
]
KEYS = ["id", "method", "params", "result", "error", "code", "_meta", "resultType"]


def mutated(value: Any, rng: random.Random) -> Any:
    if rng.random() < 0.03:
        return rng.choice(ODD)
    if isinstance(value, list):
        return [mutated(item, rng) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        rng.choice(KEYS) if rng.random() < 0.02 else key: mutated(item, rng)
        for key, item in value.items()
        if rng.random() > 0.02
    }


def test_no_damage_to_a_session_breaks_it() -> None:
    rng = random.Random(3)
    for file in sorted(RECORDINGS.glob("*/*.jsonl")):
        first, *rest = map(json.loads, file.read_bytes().splitlines())
        entries = [
            (
                entry | {"frame": mutated(entry["frame"], rng)}
                if "frame" in entry
                else entry
            )
            for entry in rest
        ]
        tail = entries[3:]
        rng.shuffle(tail)
        entries[3:] = tail
        lines = "".join(f"{json.dumps(line)}\n" for line in (first, *entries))
        list(lint(*read(io.BytesIO(lines.encode()), file.name)))


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_no_frame_breaks_it(transport: str) -> None:
    frames = list(hostile_frames())
    random.Random(5).shuffle(frames)
    entries = [*opened(tools={})]
    for frame in frames:
        sources: tuple[Any, ...] = ("client", "server")
        entries += [Entry(t=0, source=side, frame=Raw(frame)) for side in sources]
    findings = list(lint(header(transport), iter(list(enumerate(entries, 2)))))
    assert len(findings) > len(frames)
    assert max(len(found.message) for found in findings) < 2_000
    assert max(len(found.path) for found in findings) < 2_000


# --- the command ----------------------------------------------------------------------


def run(*arguments: str, code: int = 0, input: str | bytes = "") -> Result:
    result = CliRunner().invoke(app, ["lint", *arguments], input=input)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


BAD = "tests/lint/id-reused/bad.jsonl"
WARNED = "tests/lint/unanswered/bad.jsonl"
GOOD = "tests/lint/id-reused/good.jsonl"

pytestmark = pytest.mark.usefixtures("here")


def test_text_says_where_what_and_what_to_do() -> None:
    assert run(BAD, code=1).stdout == (
        f"{BAD}:7: error[id-reused] $.id\n"
        "  the id 1 was used before in this session\n"
        '  | {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"forecast",'
        '"arguments":{"city":"Oslo"}}}\n'
        "  fix: count up; never start anew within a session\n"
        "1 error\n"
    )
    assert run(GOOD).stdout == "nothing found\n"


def test_json_for_machines() -> None:
    found = json.loads(run(BAD, "--format", "json", code=1).stdout)
    assert found["summary"] == {"error": 1, "warning": 0, "note": 0}
    (finding,) = found["findings"]
    assert finding["rule"] == "id-reused"
    assert (finding["line"], finding["path"]) == (7, "$.id")
    assert found["rules"] == {"id-reused": RULES["id-reused"].why}
    assert json.loads(run(GOOD, "--format", "json").stdout)["findings"] == []


def test_annotations_for_github() -> None:
    assert run(BAD, "--format", "github", code=1).stdout == (
        f"::error file={BAD},line=7,title=id-reused::$.id the id 1 was used before in "
        "this session (count up; never start anew within a session)\n"
    )


def test_sarif_has_what_the_standard_requires() -> None:
    log = json.loads(run(BAD, "--format", "sarif", code=1).stdout)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run_,) = log["runs"]
    driver = run_["tool"]["driver"]
    assert driver["name"] == "mcpgen"
    assert len(driver["rules"]) == len({r["id"] for r in driver["rules"]}) == len(RULES)
    for rule in driver["rules"]:
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    (result,) = run_["results"]
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "id-reused"
    assert result["level"] == "error"
    assert result["message"]["text"]
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert place == {"artifactLocation": {"uri": BAD}, "region": {"startLine": 7}}
    assert location["logicalLocations"] == [{"fullyQualifiedName": "$.id"}]
    assert json.loads(run(GOOD, "--format", "sarif").stdout)["runs"][0]["results"] == []


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a b/ü.jsonl", "a%20b/%C3%BC.jsonl"),
        ("/home/somebody/s.jsonl", "s.jsonl"),
        ("no utf-8 \udcff.jsonl", "no%20utf-8%20%FF.jsonl"),
    ],
)
def test_sarif_names_files_relatively(file: str, uri: str) -> None:
    found = Finding("id-reused", "error", 2, "$", "m")
    log = json.loads("".join(as_sarif([found], Path(file))))
    (result,) = log["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == uri


def test_what_fails_is_a_choice() -> None:
    run(WARNED)
    run(WARNED, "--fail-on", "warning", code=1)
    run(WARNED, "--fail-on", "note", "--ignore", "unanswered")
    run(BAD, "--ignore", "id-reused")


def test_rules_are_listed_and_explained() -> None:
    listed = run("--rules").stdout
    assert all(rule in listed for rule in RULES)
    explained = run("--explain", "id-reused").stdout
    assert RULES["id-reused"].title in explained
    assert RULES["id-reused"].fix in explained
    for option in ("--explain", "--ignore"):
        said = run(option, "id-resued", BAD, code=2).stderr
        assert 'did you mean "id-reused"?' in said


def test_single_messages(tmp_path: Path) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    file = tmp_path / "message.json"
    file.write_text(json.dumps(message, indent=2))
    assert run("--version", VERSION, str(file)).stdout == "nothing found\n"
    message["params"] = {"cursor": 7}
    file.write_text(json.dumps(message, indent=2))
    said = run("--version", VERSION, str(file), code=1).stdout
    assert "error[params-invalid] $.params.cursor" in said


MARK = b"\xef\xbb\xbf"
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def test_single_messages_are_of_the_version_that_is_told() -> None:
    """Whatever they say themselves."""
    listen = {"method": "subscriptions/listen", "params": {"_meta": META}}
    text = json.dumps({"jsonrpc": "2.0", "id": 1, **listen})
    said = run("--version", VERSION, "-", input=text, code=1).stdout
    assert "method-other-version" in said


@pytest.mark.parametrize(
    "text", [MARK + PING, b"\n" + PING, b'\r\n{\r\n"jsonrpc":"2.0",' + PING[17:]]
)
def test_blank_lines_and_a_byte_order_mark_are_no_part_of_messages(text: bytes) -> None:
    said = run("--version", VERSION, "-", input=text).stdout
    assert said == "nothing found\n"


def test_a_mistake_in_one_message_over_many_lines_is_told_once() -> None:
    text = '{\n  "jsonrpc": "2.0",\n  "id": 1,\n  "method": "ping",\n}\n'
    said = run("--version", VERSION, "-", "--format", "json", code=1, input=text).stdout
    (found,) = json.loads(said)["findings"]
    assert (found["rule"], found["line"]) == ("not-json", 5)
    assert "trailing comma" in found["message"]


def test_messages_on_standard_input() -> None:
    frames = [
        {"jsonrpc": "2.0", "id": 1, "method": "roots/list"},
        {"jsonrpc": "2.0", "id": 1, "result": {"roots": [{"uri": 7}]}},
        {"jsonrpc": "2.0", "id": 8, "result": {}},
        [{"jsonrpc": "2.0", "id": 2, "method": "ping"}],
        {"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "?"}},
    ]
    text = "\n".join(map(json.dumps, frames)) + "\nno JSON\n\n"
    said = run("--version", VERSION, "-", "--format", "json", code=1, input=text).stdout
    found = [(f["rule"], f["line"]) for f in json.loads(said)["findings"]]
    assert found == [
        ("result-invalid", 2),
        ("batch-unsupported", 4),
        ("error-method-not-found", 5),
        ("not-json", 6),
    ]


def test_a_recording_on_standard_input() -> None:
    said = run("-", code=1, input=Path(BAD).read_bytes()).stdout
    assert said.startswith("stdin:7: error[id-reused]")


def test_what_cannot_be_read_is_said_and_what_came_before_is_told(
    tmp_path: Path,
) -> None:
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(Path(BAD).read_bytes() + b"\xff\x00\n{}\n")
    for layout in ("text", "json", "sarif", "github"):
        result = run(str(damaged), "--format", layout, code=2)
        assert "id-reused" in result.stdout
        assert "recording-damaged" in result.stderr
        place = {"json": '"line": 9', "github": "line=9"}.get(layout, "damaged.jsonl:9")
        assert place in result.stderr
        if layout in ("json", "sarif"):
            json.loads(result.stdout)


def test_recordings_in_one_file_are_told_apart() -> None:
    good = (RECORDINGS / "id-reused/good.jsonl").read_bytes()
    result = run("-", input=good + good, code=2)
    line = good.count(b"\n") + 1
    assert f"stdin:{line}\n  another recording begins here" in result.stderr


def test_nothing_is_nested_too_deeply_to_be_told() -> None:
    nested = b'{"t": 0, "from": "client", "frame": ' + b"[" * 100_000 + b"]" * 100_000
    assert "not-a-recording" in run("-", input=nested + b"}\n", code=2).stderr
    good = (RECORDINGS / "id-reused/good.jsonl").read_bytes()
    result = run("-", input=good + nested + b"}\n" + good, code=2)
    assert "recording-damaged" in result.stderr


def test_what_editors_add_to_a_recording_is_passed_over() -> None:
    first, rest = Path(GOOD).read_bytes().split(b"\n", 1)
    text = MARK + first + b"\r\n\n" + rest + b"\n  \n"
    assert run("-", input=text).stdout == "nothing found\n"
    assert "the file is empty" in run("-", code=2).stderr


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\x00" * 100, b"{}\n", b"[" * 100_000, b"7", b"\xff"]
)
def test_what_is_no_recording_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_bytes(content)
    said = run(str(file), code=2).stderr
    assert "not-a-recording" in said
    assert "--version" in said
    assert "Traceback" not in said
    for layout in ("text", "json"):
        result = CliRunner().invoke(
            app, ["lint", "--version", VERSION, str(file), "--format", layout]
        )
        assert result.exit_code in (0, 1)
        assert isinstance(result.exception, SystemExit | None)


def test_mistakes_are_explained(tmp_path: Path) -> None:
    assert "there is nothing to check" in run(code=2).stderr
    assert "file-unreadable" in run("nowhere.jsonl", code=2).stderr
    assert "file-unreadable" in run(str(tmp_path), code=2).stderr
    assert "did you mean" in run("--version", "2025-11-26", BAD, code=2).stderr
    assert "tells its version itself" in run("--version", VERSION, BAD, code=2).stderr


def test_what_github_would_obey_is_visible() -> None:
    """Its commands begin a line, after blanks; an older form stands anywhere."""
    named = [" ::set-output name=x::1", "::error::no", "x ##[set-output name=x;]1"]
    lines = [header(), *(client(id=n, method=name) for n, name in enumerate(named))]
    text = run("-", input=encoded(lines), code=1).stdout
    assert "set-output" in text
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert "##[" not in text


def test_what_a_terminal_would_obey_is_visible() -> None:
    text = '{"jsonrpc":"2.0","id":1,"method":"\\u001b[31m\\u202e","params":{}}'
    said = run("--version", VERSION, "-", input=text + "\n").stdout
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "\\x1b[31m" in said


def test_nothing_is_coloured_in_a_pipe() -> None:
    assert "\x1b" not in run(BAD, code=1).stdout


def test_findings_come_while_entries_are_read() -> None:
    def endless() -> Iterator[tuple[int, Entry]]:
        line = 2
        while True:
            yield line, Entry(t=0, source="server", text="stray")
            line += 1

    findings = lint(header(), endless())
    assert [next(findings).line for _ in range(3)] == [2, 3, 4]


def test_a_recording_may_be_read_from_memory() -> None:
    data = io.BytesIO((ROOT / BAD).read_bytes())
    assert told(lint(*read(data, "memory"))) == [("id-reused", 7, "$.id")]


# --- what a listing promises ----------------------------------------------------------

MIRRORED = {
    "name": "query",
    "inputSchema": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "page": {"type": "integer", "x-mcp-header": "Page"},
            "live": {"type": "boolean", "x-mcp-header": "Live"},
            "a b": {
                "type": "object",
                "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}},
            },
        },
    },
}
REPEATED = {"region": "Kraków", "page": 2, "live": True, "a b": {"zone": "7"}}
HEADERS = {
    "mcp_param_region": "=?base64?S3Jha8Ozdw==?=",
    "mcp_param_page": "2",
    "mcp_param_live": "true",
    "mcp_param_zone": "7",
}


@pytest.mark.parametrize(
    ("changes", "arguments", "expected"),
    [
        ({}, {}, []),
        ({"mcp_param_region": "[redacted]", "mcp_param_page": "2.0"}, {}, []),
        ({}, {"region": "https://[redacted]@example.com"}, []),
        ({"mcp_param_region": "Oslo"}, {}, [("http-header-mismatch", ".region")]),
        ({"mcp_param_region": "=?base64?/?="}, {}, [("http-header-mismatch", ".region")]),
        ({"mcp_param_page": "two"}, {}, [("http-header-mismatch", ".page")]),
        ({"mcp_param_live": "True"}, {}, [("http-header-mismatch", ".live")]),
        ({}, {"region": None}, [("http-header-mismatch", ".region")]),
        ({"mcp_param_zone": None}, {}, [("http-header-missing", '["a b"].zone')]),
        ({"mcp_param_zone": None}, {"a b": {}}, []),
    ],
)  # fmt: skip
def test_headers_that_repeat_arguments(
    changes: dict[str, Any], arguments: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    meta = {"_meta": META}
    head = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/list"}
    tools = {"resultType": "complete", "tools": [MIRRORED], "ttlMs": 0}
    tools |= {"cacheScope": "public"}
    params = meta | {"name": "query", "arguments": REPEATED | arguments}
    given = {k: v for k, v in (HEADERS | changes).items() if v is not None}
    call = head | {"mcp_method": "tools/call", "mcp_name": "query"} | given
    done = {"resultType": "complete", "content": []}
    entries = [
        over_http(1, client(id=1, method="tools/list", params=meta), **head),
        over_http(1, server(id=1, result=tools)),
        over_http(2, client(id=2, method="tools/call", params=params), **call),
        over_http(2, server(id=2, result=done)),
    ]
    findings = list(lint(header("http"), iter(list(enumerate(entries, 2)))))
    start = "$.params.arguments"
    assert told(findings) == [(rule, 4, start + path) for rule, path in expected]


PROMISED = {
    "name": "forecast",
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object", "required": ["low"]},
}


def called(result: dict[str, Any], *before: Entry, version: str = VERSION) -> list[str]:
    findings = session(
        *opened(version, tools={"listChanged": True}),
        client(id=1, method="tools/list"),
        server(id=1, result={"tools": [PROMISED]}),
        *before,
        client(id=2, method="tools/call", params={"name": "forecast"}),
        server(id=2, result={"content": [], **result}),
    )
    return [found.rule for found in findings if found.severity == "error"]


def test_what_is_not_promised_is_not_asked_for() -> None:
    assert called({}) == ["structured-content"]
    assert called({"structuredContent": {}}) == ["structured-content"]
    assert called({"structuredContent": {"low": 1}}) == []
    assert called({"isError": True}) == []
    assert called({}, version="2025-03-26") == []  # there was no such thing
    changed = server(method="notifications/tools/list_changed")
    assert called({}, changed) == []


def test_results_of_a_tool_are_compared_only_so_often() -> None:
    entries = [*opened(tools={}), client(id=1, method="tools/list")]
    entries.append(server(id=1, result={"tools": [PROMISED]}))
    for id in range(2, 2 * RESULTS):
        entries.append(client(id=id, method="tools/call", params={"name": "forecast"}))
        empty: dict[str, Any] = {"content": [], "structuredContent": {}}
        entries.append(server(id=id, result=empty))
    assert len(session(*entries)) == RESULTS
