"""The page of `mcpgen view`, in the browser that its readers use.

`make browser` runs these; the first run installs playwright-core, for which it needs the
network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcpgen.lint import Finding, lint
from mcpgen.lint.text import step
from mcpgen.view import page

from tests import recordings as r

from .driving import Browser

pytestmark = pytest.mark.browser

ENTRIES = 5000
SMOOTH_MS = 1500
"""For anything that the reader waits for; a tenth of it is what a quiet machine takes."""

Show = Callable[..., Browser]


@pytest.fixture(scope="module")
def long() -> tuple[bytes, list[Finding]]:
    data = r.busy(ENTRIES)
    return data, list(lint(*r.parsed(data)))


@pytest.fixture
def show(a_browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Opens the page of a recording; at the end it has been quiet and alone."""
    a_browser.call("page.setViewportSize", {"width": 1280, "height": 900})
    a_browser.call("page.emulateMedia", {"colorScheme": "light"})
    before = {kind: len(found) for kind, found in a_browser.call("seen").items()}
    address = (tmp_path / "session.html").as_uri()

    def opened(data: bytes, findings: list[Finding]) -> Browser:
        text = page(*r.parsed(data), findings)
        (tmp_path / "session.html").write_text(text, encoding="utf-8")
        a_browser.call("page.goto", address)
        return a_browser

    yield opened
    seen = a_browser.call("seen")
    new = {kind: found[before[kind] :] for kind, found in seen.items()}
    assert new["errors"] == []
    assert new["messages"] == []
    assert set(new["requests"]) <= {address}


@pytest.fixture
def shown(show: Show, long: tuple[bytes, list[Finding]]) -> Browser:
    """The long session."""
    return show(*long)


def entries(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()[1:]]


def count(browser: Browser) -> int:
    """How many rows the page says that it shows."""
    said = browser.call("page.textContent", "#shown")
    return int(said.partition(" ")[0].replace(",", ""))


def labels(browser: Browser) -> list[str]:
    """What is written on the rows that are drawn."""
    found: list[str] = browser.look(
        "[...document.querySelectorAll('.row .lane')].map((lane) => lane.textContent)"
    )
    return found


def opened_text(browser: Browser) -> str:
    """The frame that is open."""
    found: str = browser.look("document.querySelector('.open pre').textContent")
    return found


def chosen_line(browser: Browser) -> int:
    """The line of the recording that is open and chosen."""
    said = browser.look("document.querySelector('.chosen .facts').textContent")
    found = re.match(r"line ([\d,]+)", said)
    assert found
    return int(found[1].replace(",", ""))


def is_in_sight(browser: Browser) -> bool:
    """The chosen row, below the bar that stays on top."""
    found: bool = browser.look(
        "(() => { const row = document.querySelector('.chosen > .line');"
        " const { top, bottom } = row.getBoundingClientRect();"
        " const bar = document.querySelector('.bar').getBoundingClientRect().bottom;"
        " return top >= bar && bottom <= innerHeight; })()"
    )
    return found


def test_five_thousand_frames_are_drawn_as_they_are_looked_at(shown: Browser) -> None:
    assert count(shown) == ENTRIES
    drawn = shown.look("document.querySelectorAll('.row').length")
    assert 20 <= drawn < ENTRIES / 10
    assert labels(shown)[1].startswith("initialize")
    shown.look("scrollTo(0, document.body.scrollHeight)")
    # Not waitForFunction: to evaluate again and again is what the page's policy forbids.
    last = ".chunk:last-child .row:last-child"
    shown.call("page.waitForSelector", last, {"state": "attached"})
    last = f"document.querySelector('{last}')"
    shown.look(f"{last}.scrollIntoView()")
    assert shown.look(f"{last}.getBoundingClientRect().top < innerHeight")
    assert shown.look("document.querySelectorAll('.row').length") < ENTRIES / 5


def test_nobody_waits(shown: Browser) -> None:
    loaded = shown.look(
        "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
    )
    searched = shown.look("""(() => {
            const words = document.getElementById("words");
            const start = performance.now();
            for (const text of ["f", "fo", "for", "forecast oslo"]) {
                words.value = text;
                words.dispatchEvent(new Event("input", { bubbles: true }));
                document.body.getBoundingClientRect();
            }
            return (performance.now() - start) / 4;
        })()""")
    scrolled = shown.look("""(async () => {
            document.getElementById("words").value = "";
            document.getElementById("filters").dispatchEvent(new Event("input"));
            let longest = 0;
            for (let step = 0; step < 40; step += 1) {
                const start = performance.now();
                scrollBy(0, 900);
                await new Promise(requestAnimationFrame);
                longest = Math.max(longest, performance.now() - start);
            }
            return longest;
        })()""")
    print(f"load {loaded:.0f} ms, search {searched:.0f} ms, frame {scrolled:.0f} ms")
    assert max(loaded, searched, scrolled) < SMOOTH_MS


def test_filters_leave_what_was_asked_for(
    shown: Browser, long: tuple[bytes, list[Finding]]
) -> None:
    everything = entries(long[0])
    by_client = [e for e in everything if e["from"] == "client"]
    shown.call("page.selectOption", "#from", "client")
    assert count(shown) == len(by_client)
    shown.call("page.selectOption", "#kind", "request")
    requests = [e for e in by_client if "method" in e["frame"] and "id" in e["frame"]]
    assert count(shown) == len(requests)
    shown.call("page.selectOption", "#method", "ping")
    pings = [e for e in requests if e["frame"]["method"] == "ping"]
    assert count(shown) == len(pings)
    assert all(label.startswith("ping") for label in labels(shown))
    shown.call("page.check", "#problems")
    assert count(shown) == 0
    assert "Nothing is like that" in shown.call("page.textContent", "#rows")
    shown.press("Escape")
    assert count(shown) == ENTRIES


def test_problems_are_errors_and_findings(
    shown: Browser, long: tuple[bytes, list[Finding]]
) -> None:
    data, findings = long
    lines = {finding.line for finding in findings if finding.severity != "note"}
    for line, entry in enumerate(entries(data), 2):
        frame = entry.get("frame", {})
        if "error" in frame or frame.get("result", {}).get("isError"):
            lines.add(line)
        if entry["from"] == "server" and "text" in entry:
            lines.add(line)
    shown.call("page.check", "#problems")
    asked = {e["frame"]["id"] for e in entries(data) if _is_request(e)}
    told = {e["frame"]["id"] for e in entries(data) if _is_answer(e)}
    for line, entry in enumerate(entries(data), 2):
        if _is_request(entry) and entry["frame"]["id"] in asked - told:
            lines.add(line)
    assert count(shown) == len(lines)


def _is_request(entry: dict[str, Any]) -> bool:
    return {"id", "method"} <= entry.get("frame", {}).keys()


def _is_answer(entry: dict[str, Any]) -> bool:
    frame = entry.get("frame", {})
    return "id" in frame and "method" not in frame


def test_search_finds_words_inside_of_frames(
    shown: Browser, long: tuple[bytes, list[Finding]]
) -> None:
    # In the file it is Troms\u00f8.
    wanted = [
        e for e in entries(long[0]) if "Tromsø" in json.dumps(e, ensure_ascii=False)
    ]
    shown.press("/")
    shown.call("page.keyboard.type", "tromsø")
    assert count(shown) == len(wanted) > 50
    assert {"tromsø"} == set(
        shown.look(
            "[...document.querySelectorAll('.snippet mark')].map((e) => e.textContent.toLowerCase())"
        )
    )
    shown.call("page.fill", "#words", "tromsø (.*")
    assert count(shown) == 0
    shown.press("Escape")
    assert count(shown) == ENTRIES


def test_a_row_opens_to_the_frame_as_it_was_sent(show: Show) -> None:
    frame = '{"jsonrpc":"2.0","id":12345678901234567890,"id":1.50,"method":"a","params":{"x":[],"y":{},"z":[1,{"é":"\\u00e9 \\" {"}]}}'
    header = json.dumps(r.HEADER)
    data = f'{header}\n{{"t":0,"from":"client","frame":{frame}}}\n'.encode()
    browser = show(data, [])
    browser.press("j", "Enter")
    text = opened_text(browser)
    assert text.replace("\n", "").replace(" ", "") == frame.replace(" ", "")
    assert text.split("\n")[1:4] == [
        '  "jsonrpc": "2.0",',
        '  "id": 12345678901234567890,',
        '  "id": 1.50,',
    ]
    assert json.loads(text) == json.loads(frame)
    browser.call("context.grantPermissions", ["clipboard-read", "clipboard-write"])
    browser.call("page.click", ".copy")
    browser.call("page.waitForSelector", "text=Copied")
    assert browser.look("navigator.clipboard.readText()") == frame
    browser.call("page.focus", "button.line")
    browser.press("Enter")
    assert not browser.look("document.querySelector('pre')")


def test_the_keyboard_goes_from_row_to_row_and_to_the_other_half(
    shown: Browser, long: tuple[bytes, list[Finding]]
) -> None:
    shown.press("j", "j", "Enter")
    assert chosen_line(shown) == 3  # initialize
    shown.press("p", "Enter")
    assert chosen_line(shown) == 4
    assert shown.look("document.querySelectorAll('.paired').length") == 1
    shown.press("p", "k", "Enter")
    assert chosen_line(shown) == 2
    shown.press("n", "Enter")
    problem = chosen_line(shown)
    assert problem > 4
    assert shown.look("document.activeElement.matches('.chosen > .line')")


def test_what_is_said_between_a_request_and_its_answer_is_marked(show: Show) -> None:
    call = r.request(2, "tools/call", name="forecast")
    late = [r.client(1, call), r.server(2, r.note("a")), r.server(3, r.result(2))]
    browser = show(r.recording([*r.opening(), *late]), [])

    def marked(*names: str) -> list[int]:
        rows = "[...document.querySelectorAll('.row')]"
        found: list[int] = browser.look(
            f"{rows}.flatMap((e, n) => e.matches('.{'.'.join(names)}') ? [n] : [])"
        )
        return found

    browser.press(*"jjjjjjj")
    assert (marked("chosen"), marked("paired")) == ([6], [8])
    assert marked("between") == marked("between", "by-client") == [7]
    browser.press("j")
    assert (marked("chosen"), marked("paired"), marked("between")) == ([7], [], [])


def test_what_is_far_away_is_found(
    shown: Browser, long: tuple[bytes, list[Finding]]
) -> None:
    """The answer to a request may be filtered out, and not be drawn yet."""
    lines = {
        e["frame"]["id"]: n for n, e in enumerate(entries(long[0]), 2) if _is_answer(e)
    }
    last = max(lines, key=lambda id: lines[id] if isinstance(id, int) else 0)
    shown.call("page.selectOption", "#from", "client")
    shown.call("page.fill", "#words", f'"id": {last},')
    shown.press("Tab")
    shown.call("page.click", "button.line")
    shown.call("page.click", "text=its answer")
    assert chosen_line(shown) == lines[last]
    assert count(shown) == ENTRIES


def test_the_overview_leads_to_a_time(shown: Browser) -> None:
    seconds = float(entries(r.busy(ENTRIES))[-1]["t"])
    shown.call("page.click", "#overview svg")
    chosen = shown.look("document.querySelector('.chosen .time').textContent")
    assert float(chosen) == pytest.approx(seconds / 2, rel=0.05)
    assert shown.look(
        "(() => { const { top } = document.querySelector('.chosen').getBoundingClientRect();"
        " return top > 0 && top < innerHeight; })()"
    )


def test_findings_are_marked_where_they_are(show: Show) -> None:
    call = r.request(2, "tools/call", name="forecast", arguments={"days": [1, "x"]})
    data = r.recording([*r.opening(), r.client(1, call)])
    findings = [
        Finding(
            "days", "error", 8, "$.params.arguments.days[1]", "no number", "fix it"
        ),
        Finding("gone", "warning", 8, "$.params.missing", "is missing"),
    ]
    browser = show(data, findings)
    assert count(browser) == 7
    browser.press("n", "Enter")
    assert chosen_line(browser) == 8
    said = browser.look("document.querySelector('.chosen').innerText")
    for text in ("days", "$.params.arguments.days[1]", "no number", "fix it", "gone"):
        assert text in said
    marked = browser.look(
        "[...document.querySelectorAll('.wrong')].map((e) => e.textContent)"
    )
    assert marked == ['"params"', '"x"']
    browser.call("page.click", ".rules .pick")
    assert count(browser) == 1


def test_what_is_missing_is_marked_at_its_parent(show: Show) -> None:
    """And not at a neighbour whose name begins alike."""
    call = r.request(2, "tools/call", name="forecast", na=1, arguments={"a": {"b": 1}})
    data = r.recording([*r.opening(), r.client(1, call)])
    findings = [
        Finding("gone", "error", 8, "$.params.nam", "is missing"),
        Finding("gone", "error", 8, "$.params.arguments.ab", "is missing"),
    ]
    browser = show(data, findings)
    browser.press("n", "Enter")
    marked = browser.look(
        "[...document.querySelectorAll('.wrong')].map((e) => e.textContent)"
    )
    assert marked == ['"params"', '"arguments"']


@pytest.mark.parametrize("key", ["a b", "é", "x" * 100, "东京" * 40, 'say "x"', "a\\b"])
def test_odd_names_are_found_as_lint_writes_them(key: str, show: Show) -> None:
    call = r.request(2, "tools/call", name="forecast", arguments={key: {"to": 1}})
    path = f"$.params.arguments{step(key)}.to"
    data = r.recording([*r.opening(), r.client(1, call)])
    browser = show(data, [Finding("odd", "error", 8, path, "is odd")])
    browser.press("n", "Enter")
    assert browser.call("page.textContent", ".wrong") == '"to"'


def test_what_http_carries_besides_messages_is_no_problem_by_itself(show: Show) -> None:
    path = "/messages?session_id=1"
    told = {
        "t": 1,
        "from": "server",
        "text": path,
        "http": {"exchange": 1, "event": ""},
    }
    ended = {"exchange": 2, "ended": True}
    browser = show(
        r.recording(
            [
                {"t": 0, "from": "client", "http": {"exchange": 1, "method": "GET"}},
                told,
                r.client(2, r.request(1, "a"), http={"exchange": 2, "method": "POST"}),
                {"t": 3, "from": "client", "http": ended},
                {"t": 4, "from": "exit", "code": -9},
            ],
            transport="http",
        ),
        [],
    )
    assert path in labels(browser)[1]
    assert labels(browser)[3] == "hung up"
    assert browser.call("page.textContent", ".took.none") == "given up"
    spoken = "[...document.querySelectorAll('button.line')].map((e) => e.ariaLabel)"
    assert browser.look(spoken)[3:] == [
        "3.000 s, client to server: HTTP hung up",
        "4.000 s, server: exit the server ended by signal 9",
    ]
    browser.call("page.check", "#problems")
    assert path not in " ".join(labels(browser))


def test_where_there_is_little_room_http_still_says_what_it_said(show: Show) -> None:
    http = {"exchange": 1, "status": 202}
    browser = show(r.recording([{"t": 0, "from": "server", "http": http}]), [])
    browser.call("page.setViewportSize", {"width": 390, "height": 800})
    assert browser.look("document.querySelector('.lane').innerText") == "HTTP202"


def test_a_batch_has_one_other_half(show: Show) -> None:
    asked = r.client(0, [r.request(1, "a"), r.request(2, "b")])
    browser = show(
        r.recording([asked, r.server(1, [r.result(1), r.result(2)])]),
        [],
    )
    browser.press("j", "Enter")
    buttons = (
        "[...document.querySelectorAll('.facts button')].map((e) => e.textContent)"
    )
    assert browser.look(buttons) == ["its answer"]


def test_lines_of_a_traceback_begin_at_one_edge(show: Show) -> None:
    said = ["Traceback (most recent call last):", '  File "weather.py"', "x" * 500]
    lines = [{"t": 0, "from": "stderr", "text": text} for text in said]
    browser = show(r.recording(lines), [])
    for width in (390, 1280):
        browser.call("page.setViewportSize", {"width": width, "height": 800})
        edges = browser.look(
            "[...document.querySelectorAll('.said')]"
            ".map((element) => Math.round(element.getBoundingClientRect().left))"
        )
        assert len(set(edges)) == 1


def test_an_address_leads_to_a_line(
    show: Show, long: tuple[bytes, list[Finding]]
) -> None:
    browser = show(*long)
    browser.look("location.hash = '4321'")
    browser.call("page.waitForSelector", ".open")
    assert chosen_line(browser) == 4321
    assert is_in_sight(browser)
    link = browser.look("document.querySelector('.open .facts a').href")
    browser.look("location.hash = 'nothing'")
    browser.call("page.reload")
    browser.call("page.goto", link)
    browser.call("page.reload")
    assert chosen_line(browser) == 4321
    assert is_in_sight(browser)


def test_what_was_found_is_seen_among_what_is_around_it(shown: Browser) -> None:
    shown.call("page.check", "#problems")
    shown.look("document.activeElement.blur()")
    shown.press(*"j" * 60, "Enter")
    line = chosen_line(shown)
    shown.press("Escape")
    assert count(shown) == ENTRIES
    assert chosen_line(shown) == line
    assert is_in_sight(shown)
    assert shown.look("document.activeElement.matches('.chosen > .line')")


def test_times_are_rounded_as_a_whole(show: Show) -> None:
    browser = show(
        r.recording([r.client(0, r.note("a")), r.client(119.7, r.note("b"))]), []
    )
    assert browser.call("page.textContent", ".pause .lane") == "2 min 0 s later"


def test_hostile_frames_stay_text(show: Show) -> None:
    evil = "</script><img src=x onerror=alert(1)><!--<script>\u2028\u202e\x00"
    data = r.recording(
        [
            r.client(0, r.request(evil, evil, name=evil)),
            r.server(
                0, r.error(evil, 1, evil), http={"exchange": 1, "headers": {evil: evil}}
            ),
            {"t": 0, "from": "server", "text": evil},
            {"t": 0, "from": "stderr", "text": evil},
            r.client(0, [evil]),
        ],
        target=evil,
    )
    browser = show(data, [Finding(evil, "error", 2, evil, evil, evil)])
    assert count(browser) == 5
    for _ in range(5):
        browser.press("j", "Enter")
    assert browser.look("document.querySelectorAll('img, iframe').length") == 0
    assert browser.look("document.querySelectorAll('script').length") == 2
    visible = browser.look("document.body.innerText")
    assert visible.count("onerror=alert(1)") > 10
    assert "\u202e" not in visible


def test_depth_and_length_do_no_harm(show: Show) -> None:
    deep = json.loads("[" * 700 + "]" * 700)
    browser = show(
        r.recording(
            [
                {"t": 0, "from": "server", "text": "x" * 1_000_000},
                r.client(1, {"method": "a", "params": deep}),
            ]
        ),
        [],
    )
    browser.press("j", "Enter", "j", "Enter")
    assert count(browser) == 2
    said = browser.look("document.body.innerText")
    assert "the first part of 1,000,000 characters" in said
    assert said.count("[") >= 700


@pytest.mark.parametrize("width", [360, 700, 1600])
def test_nothing_is_wider_than_the_window(
    width: int, show: Show, long: tuple[bytes, list[Finding]]
) -> None:
    browser = show(*long)
    browser.call("page.setViewportSize", {"width": width, "height": 800})
    browser.press("n", "Enter")
    assert browser.look("document.documentElement.scrollWidth") <= width


def test_dark_is_dark_and_paper_has_every_row(
    shown: Browser,
) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = shown.look(background)
    shown.call("page.emulateMedia", {"colorScheme": "dark"})
    assert shown.look(background) != light
    shown.call("page.selectOption", "#method", "ping")
    shown.look("dispatchEvent(new Event('beforeprint'))")
    assert len(labels(shown)) == count(shown) > 100


def test_paper_has_every_column(shown: Browser) -> None:
    shown.call("page.setViewportSize", {"width": 660, "height": 900})
    shown.call("page.emulateMedia", {"media": "print"})
    right = shown.look("document.querySelector('table').getBoundingClientRect().right")
    shown.call("page.emulateMedia", {"media": None})
    assert right <= 660


def test_the_policy_lets_no_other_script_run_and_nothing_be_fetched(
    a_browser: Browser, tmp_path: Path
) -> None:
    text = page(*r.parsed(r.recording(r.opening())))
    bad = "<script>window.hacked = 1</script><img src='http://127.0.0.1:9/x'>"
    (tmp_path / "bad.html").write_text(text.replace("<main>", bad + "<main>"), "utf-8")
    before = len(a_browser.call("seen")["messages"])
    a_browser.call("page.goto", (tmp_path / "bad.html").as_uri())
    assert count(a_browser) == 6  # its own script runs
    assert a_browser.look("window.hacked === undefined")
    refused = "fetch('http://127.0.0.1:9/').then(() => 'sent', (error) => error.name)"
    assert a_browser.look(refused) == "TypeError"
    messages = " ".join(a_browser.call("seen")["messages"][before:])
    for directive in ("script-src", "img-src", "connect-src"):
        assert directive in messages
