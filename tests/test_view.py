"""A recorded session, drawn: what belongs together, what it took, and what is written."""

from __future__ import annotations

import json
import os
import random
import re
import stat
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from mcpgen.cli import app
from mcpgen.diff.report import printable
from mcpgen.lint import Finding
from mcpgen.view import mermaid, page
from mcpgen.view.frames import Implementation
from mcpgen.view.mermaid import MARK
from mcpgen.view.page import embedded
from mcpgen.view.session import CLIENTS, CLIP, Row, Session, collect
from mcpgen.view.timing import Latency, duration, percentile, scale
from msgspec import UNSET
from typer.testing import CliRunner, Result

from . import recordings as r

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "]]>&amp;&#60;",
    "\u2028\u2029\u202e\x00\x1b[31m\x7f",
    "\"'`${x}\\",
    "😀 é",
]


def session(*entries: dict[str, Any], limit: int = 1000) -> Session:
    return collect(r.parsed(r.recording(entries))[1], limit)


def row(*entries: dict[str, Any]) -> Row:
    """The last one."""
    return session(*entries).rows[-1]


# --- what a frame is ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "kind", "detail"),
    [
        (r.request(1, "tools/call", name="forecast"), "request", "forecast"),
        (r.request(1, "resources/read", uri="file:///a b"), "request", "file:///a b"),
        (
            r.note("notifications/progress", progress=2, total=5),
            "notification",
            "2 of 5",
        ),
        (
            r.note("notifications/progress", progress=2, message="a"),
            "notification",
            "2 a",
        ),
        (r.note("notifications/initialized"), "notification", ""),
        (r.result(1, tools=[{}, {}]), "result", "2 tools"),
        (r.result(1, resources=[{}]), "result", "1 resource"),
        (r.result(1), "result", "empty"),
        (r.result(1, content=[{"type": "text", "text": "a\nb"}]), "result", "a b"),
        (
            r.result(1, content=[{"type": "image"}] * 5),
            "result",
            "image, image, image, 2 more",
        ),
        (r.result(1, resultType="input_required"), "result", "input_required"),
        (
            r.result(
                1,
                resultType="input_required",
                inputRequests={"a": {"method": "elicitation/create"}, "b": 7},
            ),
            *("result", "input_required, elicitation/create, ?"),
        ),
        (r.result(1, action="decline"), "result", "decline"),
        (
            r.result(1, action="accept", content={"city": "Oslo"}),
            *("result", 'accept, {"city": "Oslo"}'),
        ),
        (r.error(1, -32601, "no such"), "error", "-32601 no such"),
        ({"id": 1, "error": 7}, "error", "7"),
        ({"id": 1, "result": {}, "error": {}}, "error", "{}"),
        ({"id": None, "method": 3}, "request", ""),
        ({"id": 1}, "invalid", '{"id": 1}'),
        (7, "invalid", "7"),
        ("text", "invalid", "text"),
        ([], "batch", ""),
        ([r.note("a"), r.request(1, "b"), 3], "batch", "a, b, invalid"),
    ],
)
def test_a_frame_in_a_few_words(frame: Any, kind: str, detail: str) -> None:
    found = row(r.client(0, frame))
    assert (found.kind, found.detail) == (kind, detail)


@pytest.mark.parametrize("noise", range(20))
def test_no_frame_is_too_odd(noise: int) -> None:
    chance = random.Random(noise)
    keys = ["id", "method", "params", "result", "error", "_meta", "content", "name"]

    def any_value(depth: int = 0) -> Any:
        pick = chance.randrange(8 if depth < 4 else 5)
        if pick < 5:
            return [None, True, -1.5e300, chance.choice(HOSTILE), 10**30][pick]
        if pick == 5:
            return [any_value(depth + 1) for _ in range(3)]
        return {key: any_value(depth + 1) for key in chance.sample(keys, 4)}

    entries = [r.client(n, any_value()) for n in range(50)]
    entries += [r.server(n, any_value(), method="x", ms=1) for n in range(50, 100)]
    assert len(session(*entries).rows) == 100
    text = page(*r.parsed(r.recording(entries)))
    assert text == page(*r.parsed(r.recording(entries)))


def test_no_time_is_too_odd() -> None:
    entries = [
        r.client(-1e308, r.request(1, "a")),
        r.server(1e308, r.result(1)),
        r.client(0, r.request(2, "b")),
        r.server(0, r.result(2), method="b", ms=1e308),
        r.server(0, r.result(3), method="c", ms=-1e308),
    ]
    assert "5</b><span>entries in" in page(*r.parsed(r.recording(entries)))
    assert mermaid(*r.parsed(r.recording(entries))).count("(") == 3


def test_a_failed_tool_is_a_failure() -> None:
    words = [{"type": "text", "text": "no"}]
    found = session(
        r.client(0, r.request(1, "tools/call", name="x")),
        r.server(1, r.result(1, content=words, isError=True)),
    )
    assert found.rows[1].failed
    assert found.rows[1].detail == "isError, no"
    assert found.failures == 1


def test_what_is_no_frame_has_its_place() -> None:
    rows = session(
        {"t": 0, "from": "stderr", "text": "a"},
        {"t": 0, "from": "server", "text": "b"},
        {"t": 0, "from": "client", "http": {"exchange": 1, "method": "GET"}},
        {"t": 0, "from": "exit", "code": -9},
    ).rows
    assert [row.kind for row in rows] == ["stderr", "text", "http", "exit"]
    assert rows[3].code == -9


def test_a_cut_frame_is_what_is_left_of_it() -> None:
    answer = {"jsonrpc": "2.0", "id": 1}
    rows = session(
        r.client(0, r.request(1, "tools/call")),
        r.server(1, answer, cut=True, size=70_000_000),
    ).rows
    assert (rows[1].kind, rows[1].cut, rows[1].size) == ("result", True, 70_000_000)
    assert rows[1].pair == [2]


def test_who_speaks_and_which_version() -> None:
    found = session(*r.opening())
    assert found.server is not None
    assert found.clients == (Implementation("desk", "3.1.0"),)
    assert (found.server.name, found.versions) == ("weather", (r.VERSION,))
    meta = {
        "io.modelcontextprotocol/protocolVersion": "V",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    }
    told = {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "2"}}
    found = session(
        r.client(0, r.request(1, "tools/list", _meta=meta)),
        r.server(0, r.result(1, tools=[], _meta=told)),
    )
    assert found.server is not None
    assert (found.clients[0].name, found.server.name) == ("c", "s")
    assert found.versions == ("V",)


def test_over_http_every_client_has_its_name() -> None:
    def named(id: int, name: str) -> dict[str, Any]:
        ask = r.request(id, "initialize", clientInfo={"name": name, "version": "1"})
        return r.client(id, ask, http={"exchange": id, "method": "POST"})

    entries = [named(1, "desk"), named(2, "<b>"), named(3, "desk")]
    entries += [r.server(4, r.result(1, serverInfo={"name": "weather"}))]
    text = page(*r.parsed(r.recording(entries)))
    assert "<b>desk</b> 1, <b>&lt;b&gt;</b> 1 and <b>weather</b>, over stdio" in text
    assert "participant C as desk 1, #60;b#62; 1\n" in mermaid(
        *r.parsed(r.recording(entries))
    )
    many = [named(id, str(id)) for id in range(100)]
    assert len(session(*many).clients) == CLIENTS
    assert "A client and a server, over" in page(*r.parsed(r.recording([])))


def test_every_version_that_was_agreed_on_is_told() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "C"}
    entries = [
        r.client(0, r.request(1, "initialize", protocolVersion="wished")),
        r.server(0, r.result(1, protocolVersion="A")),
        r.client(0, r.request(2, "initialize", protocolVersion="B")),
        r.server(0, r.result(2, protocolVersion="B")),
        r.client(0, r.request(3, "tools/list", _meta=meta)),
        r.server(0, r.result(3)),
        r.client(0, r.request(4, "tools/list", _meta=meta | dict.fromkeys(meta, "D"))),
        r.server(0, r.error(4, -32004, "no such version")),
    ]
    assert session(*entries).versions == ("A", "B", "C")
    assert "in protocol versions <b>A</b>, <b>B</b>, <b>C</b>." in page(
        *r.parsed(r.recording(entries))
    )
    assert session(entries[0]).versions == ("wished",)
    assert session().versions == ()


# --- what belongs together ------------------------------------------------------------


def pairs(*entries: dict[str, Any]) -> dict[int, list[int]]:
    return {row.line: row.pair for row in session(*entries).rows if row.pair}


def test_answers_in_any_order_find_their_requests() -> None:
    assert pairs(
        r.client(0, r.request(1, "a")),
        r.client(0, r.request("1", "b")),
        r.server(1, r.result("1")),
        r.server(2, r.error(1, 1, "")),
    ) == {2: [5], 3: [4], 4: [3], 5: [2]}


def test_both_sides_may_use_the_same_id() -> None:
    assert pairs(
        r.client(0, r.request(1, "a")),
        r.server(0, r.request(1, "b")),
        r.client(1, r.result(1)),
        r.server(2, r.result(1)),
    ) == {2: [5], 3: [4], 4: [3], 5: [2]}


def test_an_answer_to_nothing_has_no_other_half() -> None:
    found = session(
        r.client(0, r.request(1, "a")),
        r.server(0, r.result(1)),
        r.server(0, r.result(1)),
        r.server(0, r.result(9)),
        r.client(0, r.request(2, "b")),
    )
    assert [row.pair for row in found.rows] == [[3], [2], [], [], []]
    assert [row.answered for row in found.rows] == [True, False, False, False, False]
    assert found.unanswered == 1


def test_an_id_that_is_used_again_is_answered_in_turn() -> None:
    assert pairs(
        r.client(0, r.request(1, "a")),
        r.client(0, r.request(1, "b")),
        r.server(1, r.result(1)),
        r.server(2, r.result(1)),
    ) == {2: [4], 3: [5], 4: [2], 5: [3]}


def test_of_two_clients_with_one_id_the_exchange_tells() -> None:
    def http(number: int) -> dict[str, Any]:
        return {"http": {"exchange": number}}

    assert pairs(
        r.client(0, r.request(1, "a"), **http(1)),
        r.client(0, r.request(1, "b"), **http(2)),
        r.server(1, r.result(1), **http(2)),
        r.server(2, r.result(1), **http(1)),
        r.server(2, r.request(5, "ask"), **http(3)),
        r.client(3, r.result(5), **http(4)),
    ) == {2: [5], 3: [4], 4: [3], 5: [2], 6: [7], 7: [6]}


def test_of_two_clients_with_one_id_the_recorder_knows_which() -> None:
    """Over HTTP+SSE answers come in exchanges of their own."""

    def http(number: int) -> dict[str, Any]:
        return {"http": {"exchange": number}}

    found = session(
        r.client(0, r.request(1, "gone"), **http(1)),
        r.client(4, r.request(1, "a"), **http(2)),
        r.client(5, r.request(1, "b"), **http(3)),
        r.server(6, r.result(1), **http(9), ms=2000, method="a"),
        r.server(7, r.result(1), **http(9), ms=2000, method="b"),
    )
    assert [row.pair for row in found.rows] == [[], [5], [6], [3], [4]]
    assert {latency.method: latency.unanswered for latency in found.latencies} == {
        **{"gone": 1, "a": 0, "b": 0}
    }


def test_what_is_cancelled_is_given_up() -> None:
    rows = session(
        r.client(0, r.request(1, "a")),
        r.server(0, r.request(1, "b")),
        r.client(0, r.request("1", "c")),
        r.client(1, r.note("notifications/cancelled", requestId=1)),
        r.client(1, r.note("notifications/cancelled", requestId=9)),
        r.client(1, r.note("notifications/cancelled")),
        r.client(1, r.note("notifications/progress", requestId="1")),
    ).rows
    assert [row.line for row in rows if row.given_up] == [2]


def test_a_subscription_need_not_be_answered() -> None:
    found = session(
        r.client(0, r.request(1, "subscriptions/listen")),
        r.client(0, r.request(2, "subscriptions/listen")),
        r.client(1, r.note("notifications/cancelled", requestId=1)),
        r.server(2, r.result(2)),
    )
    assert found.unanswered == 0
    assert [row.answered for row in found.rows] == [True, True, False, False]
    assert [row.pair for row in found.rows] == [[], [5], [], [3]]


def test_of_two_clients_the_one_that_cancels_gives_up() -> None:
    def http(exchange: int, session: str) -> dict[str, Any]:
        headers = {"mcp-session-id": session}
        return {"http": {"exchange": exchange, "path": "/mcp", "headers": headers}}

    rows = session(
        r.client(0, r.request(1, "a"), **http(1, "A")),
        r.client(0, r.request(1, "a"), **http(2, "B")),
        r.client(1, r.note("notifications/cancelled", requestId=1), **http(3, "B")),
    ).rows
    assert [row.given_up for row in rows] == [False, True, False]


def test_who_hangs_up_gives_up() -> None:
    def ended(source: str, exchange: int) -> dict[str, Any]:
        return {"t": 1, "from": source, "http": {"exchange": exchange, "ended": True}}

    recorded = [
        r.client(0, r.request(1, "a"), http={"exchange": 1, "method": "POST"}),
        r.client(0, r.request(1, "b"), http={"exchange": 2, "method": "POST"}),
        ended("client", 2),
        ended("server", 1),
        ended("client", 1),
    ]
    rows = session(*recorded).rows
    assert [row.given_up for row in rows] == [False, True, False, False, False]
    text = mermaid(*r.parsed(r.recording(recorded)))
    assert "C->>S: HTTP hung up" in text
    assert "S->>C: HTTP ended" in text


def test_long_ids_that_begin_alike_are_two() -> None:
    first, second = "x" * 200 + "1", "x" * 200 + "2"
    found = session(
        r.client(0, r.request(first, "a")),
        r.client(0, r.request(second, "b")),
        r.server(1, r.result(second)),
    )
    assert [row.pair for row in found.rows] == [[], [4], [3]]
    assert len(found.rows[0].id) < 130


def test_a_batch_is_paired_member_by_member() -> None:
    found = session(
        r.client(0, [r.request(1, "a"), r.request(2, "b"), r.note("c")]),
        r.server(0.25, [r.result(2), r.error(1, 1, "")]),
    )
    assert [row.pair for row in found.rows] == [[3, 3], [2, 2]]
    assert {latency.method: latency.milliseconds for latency in found.latencies} == {
        "a": (250.0,) * 4,
        "b": (250.0,) * 4,
    }


def test_a_strings_spelling_does_not_matter() -> None:
    lines = r.recording([r.client(0, r.request("é", "a"))])
    lines += '{"t":0,"from":"server","frame":{"id":"é","result":{}}}\n'.encode()
    assert b"\\u00e9" in lines
    rows = collect(r.parsed(lines)[1], 10).rows
    assert [row.pair for row in rows] == [[3], [2]]


def test_what_the_recorder_measured_wins() -> None:
    told = session(
        r.client(0, r.request(1, "a")), r.server(1, r.result(1), method="a", ms=3.5)
    )
    assert told.rows[1].ms == 3.5
    assert told.latencies[0].milliseconds == (3.5,) * 4
    not_told = session(r.client(0, r.request(1, "a")), r.server(1, r.result(1)))
    assert (not_told.rows[1].ms, not_told.rows[1].method) == (1000, "a")
    assert not_told.rows[0].ms is UNSET


# --- what it took ---------------------------------------------------------------------


def test_percentiles_are_by_nearest_rank() -> None:
    hundred = [float(n) for n in range(1, 101)]
    assert [percentile(hundred, p) for p in (50, 90, 99, 100)] == [50, 90, 99, 100]
    assert [percentile([15, 20, 35, 40, 50], p) for p in (5, 30, 40, 50, 100)] == [
        *(15, 20, 20, 35, 50)
    ]
    assert percentile([7.0], 50) == percentile([7.0], 99) == 7


def test_a_method_is_counted_per_side() -> None:
    entries: list[dict[str, Any]] = []
    for id in range(1, 101):
        entries += [
            r.client(0, r.request(id, "ping")),
            r.server(0, r.result(id), method="ping", ms=id),
        ]
    entries += [r.server(0, r.request(1, "ping")), r.client(0, r.request(101, "ping"))]
    by_client, by_server = session(*entries).latencies
    assert by_client == Latency(
        "ping",
        "client",
        requests=101,
        answers=100,
        errors=0,
        milliseconds=(50, 90, 99, 100),
    )
    assert by_client.unanswered == 1
    assert (by_server.source, by_server.milliseconds) == ("server", ())


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0.00 ms"),
        (1.234, "1.23 ms"),
        (12.34, "12.3 ms"),
        (123.4, "123 ms"),
        (1500, "1.5 s"),
        (90_000, "1 min 30 s"),
        (7_260_000, "2 h 1 min"),
    ],
)
def test_durations_are_short(ms: float, text: str) -> None:
    assert duration(ms) == text


def test_the_scale_holds_every_figure() -> None:
    latencies = [Latency("a", "client", 1, 1, 0, (0.4, 3, 50, 3000))]
    bars = scale(latencies)
    assert (bars.least, bars.most) == (pytest.approx(0.1), pytest.approx(10_000))
    places = [bars.at(ms) for ms in (0, 0.1, 0.4, 3, 50, 3000, 10_000, 10**9)]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0, 100)
    assert scale([]).at(5) >= 0
    assert scale([Latency("a", "client", 1, 1, 0, (0.0,) * 4)]).at(0) == 0


# --- long recordings ------------------------------------------------------------------


def test_of_many_entries_the_first_the_last_and_the_marked_are_kept() -> None:
    entries = [r.client(n, r.note("a")) for n in range(1000)]
    found = collect(r.parsed(r.recording(entries))[1], 10, {500, 7})
    assert [row.line for row in found.rows] == [
        *(2, 3, 4, 5, 6),
        *(7, 500),
        *(997, 998, 999, 1000, 1001),
    ]
    assert (found.entries, found.left_out, found.seconds) == (1000, 988, 999)
    marked = collect(r.parsed(r.recording(entries))[1], 10, range(1000))
    assert len(marked.rows) == 15
    assert len(session(*entries, limit=1).rows) == 1
    assert session(*entries, limit=1000).left_out == 0


def test_figures_are_about_all_entries() -> None:
    entries: list[dict[str, Any]] = []
    for id in range(500):
        entries += [r.client(id, r.request(id, "a")), r.server(id + 0.5, r.result(id))]
    assert session(*entries, limit=4).latencies == session(*entries).latencies
    text = page(*r.parsed(r.recording(entries)), limit=4)
    assert "4 of 1,000 entries" in text
    assert "--limit" in text
    assert "--limit" not in page(*r.parsed(r.recording(entries)))


def test_a_long_frame_is_clipped_and_says_so() -> None:
    found = row(r.client(0, r.note("a", x="y" * 2 * CLIP)))
    assert len(found.text) == CLIP
    assert found.size > 2 * CLIP


def test_all_frames_together_have_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.modules[page.__module__], "ROOM", 100_000)
    entries = [r.client(0, r.note("a", x="y" * 20_000)) for _ in range(50)]
    entries.append(r.client(0, r.note("short")))
    text = page(*r.parsed(r.recording(entries)))
    assert len(text) < 170_000
    rows = data_of(text)["rows"]
    assert all(row["size"] > len(row["text"]) > 1000 for row in rows[:-1])
    assert "size" not in rows[-1]


# --- the page -------------------------------------------------------------------------


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def data_of(text: str) -> Any:
    found = re.search(
        r'<script type="application/json" id="session">(.*?)</script>', text
    )
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize("text", HOSTILE)
def test_data_cannot_leave_its_element(text: str) -> None:
    value = {text: [text, {"a": text}]}
    written = embedded(value)
    assert json.loads(written) == value
    assert not set(written) & set("<>&\u2028\u2029\x00\x1b\x7f\n")


def test_hostile_recordings_stay_text() -> None:
    evil = "".join(HOSTILE)
    entries = [
        r.client(0, r.request(evil, evil, name=evil, clientInfo={"name": evil})),
        r.server(0, r.result(evil, serverInfo={"name": evil, "version": evil})),
        {"t": 0, "from": "server", "text": evil},
        {"t": 0, "from": "client", "http": {"exchange": 1, "path": evil}},
    ]
    findings = [Finding(evil, "error", 2, evil, evil, evil)]
    data = r.recording(entries, target=evil, started=evil)
    text = page(*r.parsed(data), findings)
    plain = page(
        *r.parsed(r.recording(r.opening())), [Finding("a", "error", 2, "$", "")]
    )
    tags = {tag for tag, _ in Page(text).tags}
    assert tags <= {tag for tag, _ in Page(plain).tags}
    assert sum(tag == "script" for tag, _ in Page(text).tags) == 2
    for char in "\u2028\u202e\x00\x1b":
        assert char not in text.partition("<body>")[2]
    rows = data_of(text)["rows"]
    assert json.loads(rows[0]["text"])["method"] == evil
    assert rows[2]["text"] == evil


def test_the_page_needs_nothing_else() -> None:
    text = page(*r.parsed(r.recording(r.opening())))
    for tag, attrs in Page(text).tags:
        assert not attrs.keys() & {"src", "href", "action", "style", "background"}, tag
        assert not any(name.startswith("on") for name in attrs)
    assert not re.search(r"https?://|@import|fetch\(|XMLHttpRequest", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy[1]


def test_the_script_makes_no_markup() -> None:
    script = (Path(__file__).parent.parent / "templates/view/page.js").read_text(
        "utf-8"
    )
    for danger in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "eval(",
        "document.write",
    ):
        assert danger not in script


def test_frames_are_in_the_page_to_the_digit() -> None:
    frame = '{"id":12345678901234567890,"a":1.50,"a":1E2,"b":"\\u00e9"}'
    data = r.recording([]) + b'{"t":0,"from":"client","frame":%s}\n' % frame.encode()
    assert data_of(page(*r.parsed(data)))["rows"][0]["text"] == frame


def test_colours_are_legible() -> None:
    """WCAG's 4.5 to 1, also on a badge and on a chosen row, which are tinted with it."""

    def luminance(colour: list[float]) -> float:
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour
        ]
        return sum(
            c * part for c, part in zip(linear, (0.2126, 0.7152, 0.0722), strict=True)
        )

    templates = Path(__file__).parent.parent / "templates"
    style = (templates / "page/page.css").read_text("utf-8")
    found = re.findall(r"--(\w+): #([0-9a-f]{6});", style)
    for palette in (dict(found[: len(found) // 2]), dict(found[len(found) // 2 :])):
        colours = {
            name: [int(code[at : at + 2], 16) / 255 for at in (0, 2, 4)]
            for name, code in palette.items()
        }
        paper = colours["paper"]
        for name in ("soft", "bad", "server", "client", "good", "warn"):
            text = colours[name]
            tinted = [c * 0.13 + p * 0.87 for c, p in zip(text, paper, strict=True)]
            dark, light = sorted([luminance(text), luminance(tinted)])
            assert (light + 0.05) / (dark + 0.05) >= 4.5, name


def test_findings_are_with_their_lines() -> None:
    findings = [
        Finding("r1", "warning", 3, "$.a", "m", "f"),
        Finding("r2", "error", 3, "$", "m2"),
        Finding("r1", "warning", 1, "$", "of the header"),
    ]
    text = page(*r.parsed(r.recording(r.opening())), findings)
    marks = data_of(text)["findings"]
    assert marks["3"][0] == {
        **{"rule": "r1", "severity": "warning", "path": "$.a"},
        **{"message": "m", "fix": "f"},
    }
    assert [mark["rule"] for mark in marks["3"]] == ["r1", "r2"]
    assert text.index(">r2<") < text.index(">r1<")  # errors first


def test_an_empty_recording_is_a_page_too() -> None:
    text = page(*r.parsed(r.recording([])))
    assert data_of(text)["rows"] == []
    assert ">Requests<" not in text


def test_a_recording_with_secrets_says_so() -> None:
    assert "may hold secrets" in page(*r.parsed(r.recording([], raw=True)))
    assert "may hold secrets" not in page(*r.parsed(r.recording([])))


# --- Mermaid --------------------------------------------------------------------------


def drawn(*entries: dict[str, Any], limit: int = 200, **header: Any) -> list[str]:
    text = mermaid(*r.parsed(r.recording(entries, **header)), limit=limit)
    first, *lines = text.splitlines()
    assert first == MARK
    return [line.strip() for line in lines]


def test_a_diagram() -> None:
    lines = drawn(
        *r.opening(),
        r.client(1, r.request(2, "tools/call", name="x")),
        r.server(2, r.error(2, -32602, "bad"), ms=12.5, method="tools/call"),
        {"t": 3, "from": "exit", "code": 0},
    )
    assert lines == [
        "sequenceDiagram",
        "participant C as desk 3.1.0",
        "participant S as weather 1.4.2",
        "note over S: stderr#58; weather 1.4.2 is listening",
        f"C->>S: initialize {r.VERSION}",
        f"S-->>C: initialize {r.VERSION} (46.3 ms)",
        "C-)S: notifications/initialized",
        "C->>S: tools/list",
        "S-->>C: tools/list 1 tool (1.30 ms)",
        "C->>S: tools/call x",
        "S--xC: tools/call -32602 bad (12.5 ms)",
        "note over S: the server ended with status 0",
    ]


@pytest.mark.parametrize(
    "text",
    [
        *HOSTILE,
        "a; participant X",
        "end",
        "the End",
        "%% comment",
        "#35;",
        "A->>B: x\nA->>B: y",
        "wrap: x",
        "<br/>",
        "x" * 500,
    ],
)
def test_no_text_is_read_as_mermaid(text: str) -> None:
    lines = drawn(
        r.client(0, r.request(1, text, name=text)),
        {"t": 0, "from": "stderr", "text": text},
        target=text,
    )
    assert len(lines) == 5
    labels = [
        lines[2].removeprefix("participant S as "),
        lines[3].removeprefix("C->>S: "),
        lines[4].removeprefix("note over S: "),
    ]
    for label in labels:
        plain = re.sub(r"#\d+;", "", label)
        assert not set(plain) & set(';#%<>:&"{}[]`\\$|*')
        assert not re.search(r"\bend\b", plain, re.IGNORECASE)
        assert len(re.sub(r"#\d+;", "x", label)) <= 80
    said = re.sub(r"#(\d+);", lambda found: chr(int(found[1])), labels[0])
    told = printable(" ".join(text.split()))
    assert said == told[:79] + "…" * (len(told) > 80)


def test_a_diagram_marks_findings_and_what_is_left_out() -> None:
    entries = [r.client(n, r.note("a")) for n in range(20)]
    findings = [Finding("rule", "warning", 3, "$", "m")]
    text = mermaid(*r.parsed(r.recording(entries)), findings, 4)
    assert "note over C,S: 16 entries are not shown" in text
    assert "note over C,S: warning rule#58; m" in text


# --- the command ----------------------------------------------------------------------

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command, beside a recording."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "session.jsonl").write_bytes(r.recording(r.opening()))

    def command(*words: str, code: int = 0, input: bytes | None = None) -> Result:
        result = CliRunner().invoke(app, ["view", *words], input=input)
        assert result.exit_code == code, result.output
        return result

    return command


def test_the_page_goes_beside_the_recording_for_nobody_else(
    run: Run, tmp_path: Path
) -> None:
    assert run("session.jsonl").stdout == "session.html\n"
    target = tmp_path / "session.html"
    first = target.read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    target.chmod(0o644)
    run("session.jsonl")  # it is ours: made anew
    assert target.read_bytes() == first
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(os.listdir()) == ["session.html", "session.jsonl"]


@pytest.mark.parametrize("words", [(), ("--mermaid", "-o", "session.html")])
def test_a_file_that_is_not_ours_stays(
    words: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    target = tmp_path / "session.html"
    target.write_text("<!doctype html>\nmy own")
    told = run("session.jsonl", *words, code=2).stderr
    assert "output-occupied" in told
    assert "--force" in told
    assert target.read_text().endswith("my own")
    run("session.jsonl", *words, "--force")
    run("session.jsonl", *words)


def test_the_recording_itself_is_never_replaced(run: Run, tmp_path: Path) -> None:
    before = (tmp_path / "session.jsonl").read_bytes()
    run("session.jsonl", "-o", "session.jsonl", "--force", code=2)
    (tmp_path / "link.html").symlink_to("session.jsonl")
    run("session.jsonl", "-o", "link.html", "--force", code=2)
    assert (tmp_path / "session.jsonl").read_bytes() == before


def test_standard_input_goes_to_standard_output(run: Run, tmp_path: Path) -> None:
    data = (tmp_path / "session.jsonl").read_bytes()
    piped = run("-", input=data).stdout
    run("session.jsonl", "-o", "page.html")
    assert piped == (tmp_path / "page.html").read_text("utf-8")
    assert run("session.jsonl", "-o", "-").stdout == piped
    run("-", "-o", "piped.html", input=data)
    assert (tmp_path / "piped.html").read_text("utf-8") == piped
    assert run("session.jsonl", "--mermaid").stdout.startswith(MARK)


def test_lint_is_asked(run: Run, tmp_path: Path) -> None:
    stray = {"t": 1, "from": "server", "text": "hello"}
    (tmp_path / "session.jsonl").write_bytes(r.recording([*r.opening(), stray]))
    marks = data_of(run("session.jsonl", "-o", "-").stdout)["findings"]
    assert [mark["severity"] for mark in marks["8"]] == ["error"]
    assert "note over C,S: error" in run("session.jsonl", "--mermaid").stdout


def test_limit_is_obeyed(run: Run) -> None:
    shown = run("session.jsonl", "-o", "-", "--limit", "2").stdout
    assert [row["line"] for row in data_of(shown)["rows"]] == [2, 7]
    assert (
        "4 entries are not shown"
        in run("session.jsonl", "--mermaid", "--limit", "2").stdout
    )
    run("session.jsonl", "--limit", "0", code=2)


def test_open_shows_the_page(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: bool(opened.append(url)) or True)
    run("session.jsonl", "--open")
    assert opened == [(tmp_path / "session.html").resolve().as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert "no browser" in run("session.jsonl", "--open").stderr
    for words in (("-o", "-"), ("--mermaid",), ("--mermaid", "-o", "x")):
        assert (
            "nothing-to-open" in run("session.jsonl", "--open", *words, code=2).stderr
        )
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "not-a-recording"),
        (b"{}\n", "not-a-recording"),
        (r.recording([], recording=99), "recording-format"),
        (r.recording([]) + b"{}\n", "recording-damaged"),
    ],
)
def test_what_is_no_recording_leaves_nothing(
    data: bytes, told: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "bad.jsonl").write_bytes(data)
    assert told in run("bad.jsonl", code=2).stderr
    assert sorted(os.listdir()) == ["bad.jsonl", "session.jsonl"]
    assert "file-unreadable" in run("missing.jsonl", code=2).stderr
    for directory in (".", "/", str(tmp_path)):
        assert "one of the files in it" in run(directory, code=2).stderr
    run("session.jsonl", "-o", "no/where.html", code=2)
