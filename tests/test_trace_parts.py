"""The parts of `mcpgen trace`: frames, events, pairs, secrets, live lines."""

from __future__ import annotations

import json
import random
import re
import subprocess
import threading
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from mcpgen.recording import Entry, Http
from mcpgen.trace import secrets
from mcpgen.trace.backlog import MOST as MOST_NOTED
from mcpgen.trace.backlog import Backlog
from mcpgen.trace.exchanges import Events
from mcpgen.trace.frames import Frame, Gathering, Lines, envelope
from mcpgen.trace.heads import body_size, is_loopback, passed_on, readable, request
from mcpgen.trace.live import line
from mcpgen.trace.pairing import MOST, Asked, Pairing, Place
from mcpgen.trace.recorder import Here
from mcpgen.trace.redaction import Nothing, Redaction
from mcpgen.trace.secrets import REDACTED, is_secret
from msgspec import Raw

from .tracing import TIME_LIMIT, program

REDACTION = Redaction()

# --- the backlog, and who records it ---------------------------------------------------


class Taken:
    """Takes, until it fails."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.times: list[float] = []

    def take(self, t: float, what: Any) -> None:
        if len(self.times) == self.most:
            raise RuntimeError("no more")
        self.times.append(t)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.times.append(-1)


def test_all_who_note_something_are_heard_in_order() -> None:
    taken = Taken(10**9)
    backlog = Backlog(Here(lambda since: taken))
    backlog.start()
    # More than there is room for: they have to wait for the one who takes.
    threads = [
        threading.Thread(
            target=lambda came: [
                backlog.note(n, MOST_NOTED // 50, came) for n in range(200)
            ],
            args=(came,),
        )
        for came in (0.0, time.perf_counter(), 0.0)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    backlog.close()
    *times, end = taken.times
    assert len(times) == 600
    assert times == sorted(times)
    assert end == -1


@pytest.mark.parametrize(("quiet", "longest"), [(0.0, 1e6), (1e6, 0.0), (1e6, 0.1)])
def test_it_is_recorded_in_a_quiet_moment_or_after_a_while(
    quiet: float, longest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpgen.trace.backlog.QUIET", quiet)
    monkeypatch.setattr("mcpgen.trace.backlog.LONGEST", longest)
    is_taken = threading.Event()

    class Told(Taken):
        def flush(self) -> None:
            if self.times:
                is_taken.set()

    backlog = Backlog(Here(lambda since: Told(10)))
    backlog.start()
    backlog.note("a", 1)
    assert is_taken.wait(TIME_LIMIT)
    backlog.close()


@pytest.mark.parametrize("most", [0, 5])
def test_a_recorder_that_fails_holds_nobody_up(
    most: int, capfd: pytest.CaptureFixture[str]
) -> None:
    taken = Taken(most)
    backlog = Backlog(Here(lambda since: taken))
    backlog.start()
    for number in range(100):
        backlog.note(number, MOST_NOTED // 4)
    backlog.close()
    assert len(taken.times) == most
    said = capfd.readouterr().err
    assert said.count("not recorded") == 1
    assert "no more" in said


def test_what_is_not_recorded_in_time_is_told_of(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mcpgen.trace.backlog.FAREWELL", 0.01)
    go_on = threading.Event()

    class Slow(Taken):
        def take(self, t: float, what: Any) -> None:
            go_on.wait()

    backlog = Backlog(Here(lambda since: Slow(0)))
    backlog.start()
    backlog.note("a", 1)
    backlog.close()
    assert "the end of the session is not recorded" in capfd.readouterr().err
    go_on.set()


APART = """
import os, signal, sys
from mcpgen.trace import backlog as queue
from mcpgen.trace.recorder import recorder

class Taker:
    def take(self, t, what): {take}
    def flush(self): pass
    def close(self): os.write(file, b"closed")

file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
queue.FAREWELL = float(sys.argv[2])
backlog = queue.Backlog(recorder(lambda since: Taker(), file))
backlog.start()
for number in range(100):
    backlog.note(b"%d " % number, queue.MOST // 10)
backlog.close()
print("done")
"""
"""What a session does, with a recorder of its own making."""


def apart(
    file: Path, take: str, farewell: float = TIME_LIMIT
) -> subprocess.CompletedProcess[str]:
    """Have it done."""
    return subprocess.run(
        [*program(APART.replace("{take}", take)), str(file), str(farewell)],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=True,
    )


def test_a_process_of_its_own_records(tmp_path: Path) -> None:
    done = apart(tmp_path / "file", "os.write(file, what)")
    numbers = "".join(f"{number} " for number in range(100))
    assert (tmp_path / "file").read_text() == numbers + "closed"
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.parametrize(
    "take", ["1 / 0", "os.kill(os.getpid(), signal.SIGKILL)"], ids=["fails", "killed"]
)
def test_without_it_the_session_goes_on(tmp_path: Path, take: str) -> None:
    done = apart(tmp_path / "file", take)
    assert (tmp_path / "file").read_text() == ""
    assert done.stdout == "done\n"
    assert done.stderr.count("the rest of the session is not recorded: ") == 1
    assert done.stderr.count("\n") == 1


def test_a_process_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """Else the pipes of this test would stay open, and `apart` would not return."""
    done = apart(tmp_path / "file", "signal.pause()", farewell=0.01)
    assert "the end of the session is not recorded" in done.stderr
    assert done.stdout == "done\n"


# --- frames ---------------------------------------------------------------------------


def test_lines_are_the_same_however_they_come() -> None:
    chance = random.Random(11)
    data = (
        b'{"a":1}\r\n\n \t\n  indented\n'
        + chance.randbytes(5000)
        + b"\nlast without an end"
    )
    lines = [line.rstrip(b" \t\r") for line in data.split(b"\n")]
    expected = [line for line in lines if line]
    for most in (1, 2, 7, 100, 10_000):
        cutter, at, found = Lines(), 0, []
        while at < len(data):
            step = chance.randint(1, most)
            found += cutter.feed(data[at : at + step])
            at += step
        found += cutter.end()
        assert [frame.data for frame in found] == expected
        assert not any(frame.is_cut for frame in found)


@pytest.mark.parametrize("step", [1000, 64 * 1024, 10**9])
def test_a_huge_line_is_cut_and_the_next_is_whole(step: int) -> None:
    largest, size = 200_000, 1_000_000
    data = b'{"id":1,' + b"x" * size + b',"method":"m"}\n{"id":2}\n'
    cutter, found = Lines(largest), []
    for at in range(0, len(data), step):
        found += cutter.feed(data[at : at + step])
    huge, small = found
    assert huge.is_cut
    assert huge.size == data.index(b"\n")
    assert len(huge.data) <= largest
    assert huge.data.startswith(b'{"id":1,xx')
    assert huge.tail.endswith(b'xx,"method":"m"}')
    assert small == Frame(b'{"id":2}', 8)


def gathered(data: bytes, step: int = 60_000) -> Frame:
    gathering = Gathering(100_000)
    for at in range(0, len(data), step):
        gathering.add(data[at : at + step])
    return gathering.take()


HUGE = json.dumps({"text": 'a"},{"id":9,"method":"no"}\\' * 10_000, "id": 8})
FOUND: dict[str, tuple[str, dict[str, Any]]] = {
    "in front": (
        '{"jsonrpc":"2.0","id":1,"method":"x","params":%s}',
        {"jsonrpc": "2.0", "id": 1, "method": "x"},
    ),
    "behind": (
        '{"method":"x","params":%s , "jsonrpc": "2.0","id":"a\\"b"} \r',
        {"jsonrpc": "2.0", "id": 'a"b', "method": "x"},
    ),
    "both": (
        ' {"jsonrpc":"2.0","result":%s,"id":null}',
        {"jsonrpc": "2.0", "id": None},
    ),
    "an error": (
        '{"jsonrpc":"2.0","id":3,"error":{"code":-5,"message":"m","data":%s}}',
        {"jsonrpc": "2.0", "id": 3, "error": {"code": -5, "message": "m"}},
    ),
    "after small params": (
        '{"params":{"id":7},"id":1,"jsonrpc":"2.0","result":%s}',
        {"jsonrpc": "2.0", "id": 1},
    ),
    "nothing": ('{"params":%s}', {}),
    "a batch": ('[{"jsonrpc":"2.0","id":1,"result":%s}]', {}),
    "no message": ("%s,", {}),
}


@pytest.mark.parametrize(("text", "expected"), FOUND.values(), ids=FOUND)
def test_the_envelope_of_a_cut_frame(text: str, expected: dict[str, Any]) -> None:
    frame = gathered((text % HUGE).encode())
    assert frame.is_cut
    found = envelope(frame)
    if text == "%s,":  # whatever it is, its members are not a frame's
        found.pop("id", None)
    assert found == expected


def test_a_number_that_is_cut_is_not_taken_for_a_smaller_one() -> None:
    frame = gathered(b'{"id":' + b"1" * 300_000 + b"}")
    assert envelope(frame) == {}


# --- events ---------------------------------------------------------------------------

STREAM = (
    b"\xef\xbb\xbf: hello\r\n\r\nevent: endpoint\ndata: /messages?a=1\n\n"
    b"id: 1\ndata:\n\nid:2\rdata: {\rdata:  }\r\r"
    b"retry: 5\ndatax: no\ndata: last\r\n\r\ndata: not ended"
)
EVENTS = [("", b"/messages?a=1"), ("1", b""), ("2", b"{\n }"), ("", b"last")]


def test_events_are_the_same_however_they_come() -> None:
    chance = random.Random(3)
    for most in (1, 2, 5, 1000):
        events, at, found = Events(), 0, []
        at = 3  # a mark that comes in pieces is not looked for
        found += events.feed(STREAM[:at])
        while at < len(STREAM):
            step = chance.randint(1, most)
            found += events.feed(STREAM[at : at + step])
            at += step
        assert [(event.id, event.data.data) for event in found] == EVENTS


def test_a_huge_event_is_cut() -> None:
    events = Events()
    data = b"x" * 5_000_000
    stream = b"id: 7\ndata: " + data + b"\n\ndata: {}\n\n"
    pieces = [stream[at : at + 65536] for at in range(0, len(stream), 65536)]
    found = [event for piece in pieces for event in events.feed(piece)]
    assert [(e.id, e.data.size, e.data.is_cut) for e in found] == [
        ("7", len(data), True),
        ("", 2, False),
    ]


# --- pairs ----------------------------------------------------------------------------


def test_ids_of_the_two_sides_are_not_the_same() -> None:
    pairing = Pairing()
    pairing.ask("client", 1, Asked(1.0, "a", Place()))
    pairing.ask("server", 1, Asked(2.0, "b", Place()))
    pairing.ask("client", "1", Asked(3.0, "c", Place()))
    answers = [("client", 1), ("server", "1"), ("server", 1), ("server", 1)]
    found = [pairing.answer(side, id, Place()) for side, id in answers]  # type: ignore[arg-type]
    assert [asked and asked.method for asked in found] == ["b", "c", "a", None]


def test_the_same_id_in_several_exchanges_and_sessions() -> None:
    pairing = Pairing()
    for number, session in ((1, "s"), (2, "t"), (3, "s")):
        pairing.ask("client", 0, Asked(0, f"in {number}", Place(number, session)))
    places = [Place(3, "s"), Place(9, "t"), Place(1, ""), Place(1, "s")]
    found = [pairing.answer("server", 0, place) for place in places]
    assert [a and a.method for a in found] == ["in 3", "in 2", "in 1", None]


@pytest.mark.parametrize("id", [None, [1], {"a": 1}])
def test_ids_that_are_none(id: object) -> None:
    pairing = Pairing()
    pairing.ask("client", id, Asked(0, "x", Place()))
    assert pairing.answer("server", id, Place()) is None


def test_unanswered_requests_are_forgotten_in_the_end() -> None:
    pairing = Pairing()
    for number in range(MOST + 1):
        pairing.ask("client", number, Asked(0, "x", Place()))
    assert pairing.answer("server", 0, Place()) is None
    assert pairing.answer("server", 1, Place())


# --- secrets --------------------------------------------------------------------------

SECRET = "hunter2-Zq81xk"
SECRETS: dict[str, Any] = {
    "a key": {"password": SECRET},
    "nested": {"a": [{"b": {"clientSecret": SECRET}}]},
    "any case": {"API_KEY": SECRET, "X-Api-Key": SECRET, "refreshToken": SECRET},
    "an array": {"tokens": [SECRET, [SECRET]]},
    "an object": {"credentials": {"user": SECRET, "more": [{"x": SECRET}]}},
    "a number": {"password": 4711_0815},
    "escaped": {"passw\u00f6rd": 1, "p\u0061ssword": SECRET},
    "name and value": {"env": [{"name": "API_TOKEN", "value": SECRET}]},
    "a string of JSON": {"text": json.dumps({"password": SECRET})},
    "twice": {"text": json.dumps({"t": json.dumps([{"api_key": SECRET}])})},
    "five times": {"a": json.dumps(json.dumps({"b": json.dumps({"secret": SECRET})}))},
    "JSON among text": {"text": f'config: {{"token": "{SECRET}"}} done'},
    "escaped JSON among text": {"text": f'say "{{\\"token\\": \\"{SECRET}\\"}}" done'},
    "a quote inside": {"text": f'x "password": "a\\"{SECRET}" y'},
    "an assignment": {"text": f"export DB_PASSWORD={SECRET}\nPATH=/bin"},
    "a shell's quotes": {"text": f"export MY_SECRET='{SECRET} {SECRET}'"},
    "a header": {"text": f"> Authorization: Bearer {SECRET}"},
    "another header": {"text": f"Authorization: Basic {SECRET}"},
    "a digest": {"text": f'Authorization: Digest user="a", response="{SECRET}"'},
    "a signed address": {"uri": f"/blob?sv=1&sig={SECRET}&key={SECRET}"},
    "a long key": {"x" * 1000 + "_password": SECRET},
    "cookies": {"text": f'Cookie: a=1; b="c"; d={SECRET}\r\nHost: x'},
    "set cookies": {"headers": {"Set-Cookie": f"sid={SECRET}; Path=/"}},
    "a query": {"uri": f"https://example.com/?a=1&access_token={SECRET}&b=2"},
    "a user": {"uri": f"https://me:{SECRET}@example.com/"},
    "prose": {"text": f"use bearer {SECRET} for it"},
    "a default in a schema": {
        "inputSchema": {
            "properties": {"password": {"type": "string", "default": SECRET}}
        }
    },
    "an enum in a schema": {
        "properties": {"token": {"anyOf": [{"enum": [SECRET]}, {"const": SECRET}]}}
    },
    "words of a command": {"args": ["--api-key", SECRET, "--password=" + SECRET]},
    "a pair": {"headers": [["Authorization", SECRET], ["Accept", "*/*"]]},
    "the word of a command": {"text": f"run --token {SECRET} now"},
    "a connection": {"text": f"Server=x;Pwd={SECRET};"},
    "a connection of Azure": {"text": f"AccountName=x;AccountKey={SECRET};"},
    "an @ in a password": {"text": f"postgres://me:a@{SECRET}@host/x"},
    "a verifier": {"code_verifier": SECRET},
    "a form": {"text": f"code={SECRET}&code_verifier={SECRET}&assertion={SECRET}"},
    "a code": {"grant_type": "authorization_code", "code": SECRET},
    "a code of a device": {"device_code": SECRET},
    "few letters": {"pin": SECRET, "otp": SECRET, "pw": SECRET, "pat": SECRET},
    "keys of all sorts": {"ssh_key": SECRET, "accountKey": SECRET},
    "no schema": {"properties": {"password": SECRET}},
    "a schema that is none": {"properties": {"password": {"value": SECRET}}},
    "the environment": {
        "env": {"DB_PASS": SECRET, "MYSQL_PWD": SECRET, "REDIS_AUTH": SECRET},
        "more": {"STRIPE_KEY": SECRET, "smtpPass": SECRET, "session_key": SECRET},
    },
    "the environment as text": {
        "text": f"DB_PASS={SECRET}\nMYSQL_PWD={SECRET}\nSTRIPE_KEY={SECRET}\n_auth={SECRET}"
    },
    "a field": {"form": [{"field": "password", "value": SECRET}]},
    "capitals": {"Environment": [{"Key": "DB_PASSWORD", "Value": SECRET}]},
    "words that only curl understands": {"args": ["-u", f"me:{SECRET}"]},
    "curl in a text": {"text": f"curl -u me:{SECRET} x; curl --user=me:{SECRET} x"},
    "a login": {"args": ["login", "-u", "me", "-p", SECRET]},
    "a login in a text": {
        "text": f"$ docker login -u me -p {SECRET}\n$ mysql -p{SECRET}"
    },
    "a login by name": {"command": "sshpass", "args": ["-p", SECRET, "ssh", "host"]},
    "one dash": {"text": f"java -password {SECRET} --auth {SECRET}"},
    "bytes of Python": {"text": f"{{b'x-api-key': b'{SECRET}', 'token': u'{SECRET}'}}"},
    "pairs of Python": {
        "text": f"[(b'Set-Cookie', b'a={SECRET}; Path=/'), ('x-api-key', '{SECRET}')]"
    },
    "cookies inside of a line": {"text": f"curl -H 'Cookie: a={SECRET}; b={SECRET}' x"},
    "an element": {"text": f"<db><ns:password>{SECRET}</ns:password></db>"},
    "statements": {
        "sql": f"ALTER USER a WITH PASSWORD '{SECRET}'",
        "more": f"CREATE USER a IDENTIFIED BY '{SECRET}'",
    },
    "a query of few letters": {"uri": f"/x?auth={SECRET}&otp={SECRET}&pw={SECRET}"},
    "a login of a mailer": {"text": f"auth: {{ user: 'a', pass: '{SECRET}' }}"},
    "a subscription": {"text": f"Ocp-Apim-Subscription-Key: {SECRET}"},
    "two words": {"text": f"API key: {SECRET}"},
    "brackets inside": {"text": f"password=ab{{c}}d,e){SECRET}"},
    "a block of YAML": {"text": f"password: |\n  {SECRET}\n"},
    "a wallet": {"mnemonic": SECRET, "seed_phrase": SECRET},
    "a personal access token": {"env": {"GITHUB_PAT": SECRET}},
    "the same as text": {"text": f"export GITHUB_PAT={SECRET}"},
    "an address in an address": {
        "uri": f"/?next=https%3A%2F%2Fx%2F%3Faccess_token%3D{SECRET}%26b%3D1",
        "twice": f"/?to=%2Flogin%253Ftoken%253D{SECRET}",
        "user": f"/?next=https%3A%2F%2Fme%3A{SECRET}%40example.com%2F",
    },
    "a database of Go": {"dsn": f"me:{SECRET}@tcp(127.0.0.1:3306)/db"},
    "programs": {
        "go": f'token := "{SECRET}"',
        "python": f"os.environ['API_KEY'] = '{SECRET}'\npassword: str = '{SECRET}'",
        "rust": f'let password: &str = "{SECRET}";',
    },
    "Markdown": {"text": f"- **Password:** {SECRET}\n- **API key**: `{SECRET}`"},
    "what a browser is told to type": {
        "element": "Password field",
        "ref": "e12",
        "text": SECRET,
    },
    "fields of a page": {"fields": [{"label": "Password", "value": SECRET}]},
}


@pytest.mark.parametrize("params", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("ascii", [True, False])
def test_secrets_are_redacted(params: Any, ascii: bool) -> None:
    frame = {"jsonrpc": "2.0", "id": 1, "method": "x", "params": params}
    data = json.dumps(frame, ensure_ascii=ascii).encode()
    clean = REDACTION.frame(data)
    assert SECRET.encode() not in clean
    assert b"47110815" not in clean
    assert REDACTED.encode() in clean
    found = json.loads(clean)
    assert found.keys() == frame.keys()
    assert found["params"].keys() == params.keys()
    assert Nothing().frame(data) == data


@pytest.mark.parametrize("size", [3000, 3 * 10**6])
def test_an_image_is_not_searched_for_secrets(size: int) -> None:
    image = b64encode(random.Random(size).randbytes(size)).decode()
    began = time.process_time()
    assert REDACTION.text(image) is image
    data = json.dumps({"data": image, "text": "a bearer"}).encode()
    assert REDACTION.frame(data) == data
    # Searching takes seconds, in which nothing would be passed on.
    assert time.process_time() - began < 1


def test_a_key_that_is_there_twice() -> None:
    text = f'{{"password":"{SECRET}","password":null}}'
    assert SECRET not in REDACTION.text(text)
    assert SECRET.encode() not in REDACTION.frame(text.encode())


def test_a_key_written_with_escapes() -> None:
    data = rb'{"\u0070assword":"' + SECRET.encode() + b'"}'
    assert SECRET.encode() not in REDACTION.frame(data)


@pytest.mark.parametrize(
    "token",
    [
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "sk-proj-0123456789abcdefghij",
        "xoxb-123456789012-abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "ASIAIOSFODNN7EXAMPLE",
        "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
        "ya29.a0AfH6SMBx1234567890abcdefghijkl",
        "glpat-abcdefghij1234567890",
        "xapp-1-A123-456-abcdef0123456789",
        "npm_abcdefghijklmnopqrstuvwxyz0123456789",
        "pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw",
        "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
        "SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789ABCD",
        "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
        "ntn_0123456789abcdefghijABCDEFGHIJ0123456789ab",
        "gsk_0123456789abcdefghijABCDEFGHIJ0123456789ab",
        "ATATT3xFfGF0abcdefghijABCDEFGHIJ0123",
        "hvs.0123456789abcdefghijABCD",
        "lin_api_0123456789abcdefghijABCDEFGHIJ0123456789",
        "figd_0123456789-abcdefghijABCDEFGHIJ_0123456789",
        "shpat_0123456789abcdef0123456789abcdef",
        "sbp_0123456789abcdef0123456789abcdef01234567",
        "glsa_0123456789abcdefghijABCDEFGHIJ_01234567",
        "sntrys_0123456789abcdefghijABCDEFGHIJ0123456789",
        "pplx-0123456789abcdefghijABCDEFGHIJ0123456789",
        "tvly-dev-0123456789abcdefghijABCDEFGHIJ",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ\n-----END PGP PRIVATE KEY BLOCK-----",
    ],
)
def test_tokens_of_a_known_form_wherever_they_are(token: str) -> None:
    assert REDACTION.text(f"it is {token} .") == f"it is {REDACTED} ."
    assert token[:30].encode() not in REDACTION.frame(json.dumps([token]).encode())


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("api.telegram.org/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1/getMe",
         f"api.telegram.org/bot{REDACTED}/getMe"),
        ("discord.com/api/webhooks/123456789/abcdefghij-klmnopqrst_0123",
         f"discord.com/api/webhooks/{REDACTED}"),
    ],
)  # fmt: skip
def test_addresses_that_hold_a_secret(address: str, shown: str) -> None:
    assert REDACTION.text(f"POST https://{address}") == f"POST https://{shown}"


BODY = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB"


@pytest.mark.parametrize("before", ["", "2026-11-18 DEBUG "])
@pytest.mark.parametrize("kind", ["RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
def test_a_private_key_that_comes_line_by_line(before: str, kind: str) -> None:
    redaction = Redaction()
    lines = [f"-----BEGIN {kind}-----", BODY, BODY + "==", f"-----END {kind}-----"]
    shown = [redaction.text(before + line) for line in lines]
    assert not any("MII" in line for line in shown)
    assert all(REDACTED in line for line in shown)
    assert redaction.text(BODY) == BODY  # it has ended


def test_a_log_goes_on_beside_a_private_key() -> None:
    redaction = Redaction()
    whole = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----"
    assert redaction.text(whole) == REDACTED
    assert redaction.text(BODY) == BODY
    redaction.text("-----BEGIN PRIVATE KEY-----")
    assert redaction.text("listening on port 8000") == "listening on port 8000"
    assert redaction.text("aB3=") == REDACTED
    for _ in range(1000):
        redaction.text("no end")
    assert redaction.text(BODY) == BODY


KEPT: dict[str, Any] = {
    "progress": {"_meta": {"progressToken": "abc-123"}},
    "pages": {"nextCursor": "abc", "pageToken": "abc"},
    "counts": {"maxTokens": 100, "usage": {"inputTokens": 3}},
    "a schema": {
        "inputSchema": {
            "type": "object",
            "properties": {
                "password": {"type": "string", "title": "Password", "format": "x"},
                "token": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "secret": True,
            },
            "required": ["password", "token"],
        }
    },
    "nothing": {"password": None, "token": "", "secret": False},
    "an argument": {"arguments": [{"name": "token", "required": True}]},
    "metadata": {
        "authorization_servers": ["https://a/"],
        "token_endpoint": "https://b",
    },
    "text": {"text": "Basic information about keys, and a secretary"},
    "a list of names": {"required": ["password", "user"], "args": ["token", "x"]},
    "other codes": {"code": -32602, "text": "exit code: 5, key: value, pin: 3"},
    "an assertion that failed": {"text": "AssertionError: 1 is not 2"},
    "code": {"text": "token = None; password: null; x(password: str)"},
    "a comparison": {"text": "if (token === other || token == x)"},
    "counts in a text": {"text": "max_tokens=100, prompt_tokens: 12", "tokens": "12"},
    "progress in a text": {"text": "progress_token=5 next_page_token=a nextToken=b"},
    "pages of others": {"nextToken": "abc"},
    "what a token is": {"text": "token_endpoint: https://a/b token_type=bearer"},
    "an error of OAuth": {"text": "invalid_token: it is too old"},
    "a challenge": {"text": 'Bearer resource_metadata="https://a/b", scope="c"'},
    "prose": {"text": "a bearer authentication, and the secretary: Ann"},
    "other words": {"compass": "a", "oauth": {"url": "b"}, "sort_key": "c", "pass": 3},
    "names of code": {
        "text": "sk_buff_head_init_class npm_config_registry_is_set_to_it"
    },
    "flags of others": {"args": ["-u", "server.py", "-p", "8080:80", "--user", "me"]},
    "flags in a text": {"text": "python -u x.py; docker run -u 1 -p 80:80; mkdir -p a"},
    "where a shell is": {"text": "PWD=/home/me"},
    "titles": {"text": "Basic Information, Basic AUTHENTICATION"},
    "paths of code": {"text": "std::token::Kind, password::verify(x)"},
    "elements of a page": {"element": "Search field", "text": "weather"},
    "an address of somebody": {"uri": "/?to=https%3A%2F%2Fexample.com%2F%40me%2Fkey"},
}


@pytest.mark.parametrize("params", KEPT.values(), ids=KEPT)
def test_what_readers_need_is_kept_to_the_byte(params: Any) -> None:
    data = json.dumps({"params": params}, separators=(",", ":")).encode()
    assert REDACTION.frame(data) == data


def test_without_a_secret_not_a_byte_changes() -> None:
    data = b'{ "a" : 1.0, "b":1e5, "c":"\xc3\xa9", "a":2 }'
    assert REDACTION.frame(data) is data


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["python", "-m", "weather"], "python -m weather"),
        (["x", "--token", SECRET, "y"], f"x --token {REDACTED} y"),
        (["x", "--api-key=" + SECRET], f"x '--api-key={REDACTED}'"),
        (["env", "DB_PASSWORD=" + SECRET, "x"], f"env 'DB_PASSWORD={REDACTED}' x"),
        (["x", "--password", "--next"], "x --password --next"),
        (
            ["x", f"https://u:{SECRET}@h/?key=1"],
            f"x 'https://{REDACTED}@h/?key={REDACTED}'",
        ),
        (["sh", "-c", f"TOKEN={SECRET} run"], f"sh -c 'TOKEN={REDACTED}'"),
        (["x", "-H", f"Authorization: Bearer {SECRET}"], None),
        (["curl", "-u", f"me:{SECRET}"], f"curl -u {REDACTED}"),
        (["x", "--key", SECRET], f"x --key {REDACTED}"),
        (["x", "a b"], "x 'a b'"),
        (["python", "-u", "server.py"], "python -u server.py"),
        (
            ["mysql", "-uroot", "-p" + SECRET, "-P", "1"],
            f"mysql -uroot '-p{REDACTED}' -P 1",
        ),
        (["x", "--user", "me", "-p", SECRET], f"x --user me -p {REDACTED}"),
        (["docker", "run", "-p", "80:80", "x"], "docker run -p 80:80 x"),
        (["python", "-u", "a.py", "-p", "data"], "python -u a.py -p data"),
        (["x", "-url", "a", "-p", "data"], "x -url a -p data"),
        (["mariadb", "-uroot", "-p" + SECRET], f"mariadb -uroot '-p{REDACTED}'"),
    ],
)
def test_command_lines(words: list[str], shown: str | None) -> None:
    found = REDACTION.command(words)
    assert SECRET not in found
    assert shown is None or found == shown


def test_headers() -> None:
    names = [
        "authorization",
        "cookie",
        "set-cookie",
        "x-api-key",
        "proxy-authorization",
    ]
    headers = [(name, SECRET) for name in names]
    kept = [("accept", "*/*"), ("mcp-session-id", "abc"), ("content-type", "a/b")]
    found = REDACTION.headers([*headers, *kept, ("x", f"Bearer {SECRET}")])
    assert found == dict.fromkeys(names, REDACTED) | dict(kept) | {
        "x": f"Bearer {REDACTED}"
    }


def test_a_header_that_repeats_an_argument() -> None:
    coded = f"=?base64?{b64encode(f'Bearer {SECRET} –'.encode()).decode()}?="
    secret = [("mcp-param-auth", SECRET), ("mcp-param-x", coded)]
    found = REDACTION.headers(secret)
    assert found == {name: REDACTED for name, _ in secret}
    kept = [("mcp-param-x", "=?base64?w6k=?="), ("mcp-param-y", "=?base64?/?=")]
    assert REDACTION.headers(kept) == dict(kept)


@pytest.mark.parametrize(
    "name", ["token", "X-Auth-Token", "db.password", "ApiKey", "JWT"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


def test_expressions_mean_the_same_to_all_versions_of_python() -> None:
    """Before 3.11.5, groups that repeat possessively may miss what they should find."""
    expressions = [v for v in vars(secrets).values() if isinstance(v, re.Pattern)]
    assert len(expressions) > 10
    for expression in expressions:
        text = expression.pattern
        text = text if isinstance(text, str) else text.decode()
        assert not re.search(r"(?<!\\)\)(?:[*+?]|\{[\d,]+\})\+", text)


@pytest.mark.parametrize(
    "text",
    ["a" * 10**6, "token" * 10**4, '"token":"' * 10**4, "://" * 10**4, "-" * 10**4,
     "token=" * 10**4, "eyJ" * 10**4, "\\" * 10**5 + '"', "bearer " * 10**4,
     "--token " * 10**4, "--" * 10**5, "://a@" * 10**4, "SG." * 10**4,
     "\n" * 10**5, " \n<" * 10**5, "cookie:" * 10**5, "-----BEGIN " * 10**4,
     "-u -p " * 10**4, "<password>" * 10**4, "('token', '" * 10**4, "token=a,(" * 10**4,
     "%2F%2Fa" * 10**5, "token:str " * 10**4, "a:b@tcp" * 10**5, "key a%25" * 10**5],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_hostile_text_takes_linear_time(text: str) -> None:
    """A quadratic expression would not come to an end here."""
    REDACTION.text(f"key {text}")
    REDACTION.frame(json.dumps({"key": text}).encode())
    redaction = Redaction()
    redaction.text("-----BEGIN PRIVATE KEY-----")
    redaction.text(text)


def test_depth_takes_linear_time() -> None:
    """Work that is done twice on every level would not come to an end here."""
    for begin, end in (('{"args":[', "]}"), ('{"properties":{"a":', "}}"), ("[", "]")):
        data = (begin * 60 + '"key token=x"' + end * 60).encode()
        assert REDACTED.encode() in REDACTION.frame(data)


# --- heads of HTTP ----------------------------------------------------------------------


def test_a_head_goes_on_with_what_is_between_neighbours_left_out() -> None:
    head = request(
        b"POST /mcp?a=%20b HTTP/1.1\r\nHost:  LOCALHOST:80 \r\nConnection: close, X-Hop\r\n"
        b"X-Hop: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\nUpgrade: h2c\r\nX-Odd:\t a  b\t\r\n"
        b"accept-Encoding: gzip, br;q=0.5, deflate\r\nContent-Length: 3\r\nX-\xe9"[
            :-4
        ].rstrip()
    )
    assert is_loopback(head)
    assert body_size(head) == 3
    changes = readable(head) | {b"host": b"example.com"}
    assert passed_on(head, changes) == (
        b"POST /mcp?a=%20b HTTP/1.1\r\nHost: example.com\r\nX-Odd:\t a  b\t\r\n"
        b"accept-Encoding: gzip, deflate\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    "head",
    [
        b"GET http://example.com/ HTTP/1.1",
        b"GET / HTTP/2",
        b"GET  / HTTP/1.1",
        b"GET / HTTP/1.1\r\n folded: x",
        b"GET / HTTP/1.1\r\nbad header: x",
        b"GET / HTTP/1.1\r\nx: a\nb",
        b"GET / HTTP/1.1\r\nx : a",
    ],
)
def test_what_is_no_request(head: bytes) -> None:
    with pytest.raises(ValueError, match=r"no request|a header"):
        request(head)


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 3\r\nTransfer-Encoding: chunked",
        b"Content-Length: 3\r\nContent-Length: 4",
        b"Content-Length: +3",
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    ],
)
def test_a_body_whose_size_is_said_twice(lines: bytes) -> None:
    with pytest.raises(ValueError, match=r"bad|unknown or contradicted"):
        body_size(request(b"POST / HTTP/1.1\r\n" + lines))


@pytest.mark.parametrize(
    "host",
    [
        "evil.com",
        "127.0.0.1.evil.com",
        "localhost.evil",
        "127.0.0.1:x",
        "",
        "a@localhost",
    ],
)
def test_hosts_that_are_elsewhere(host: str) -> None:
    assert not is_loopback(request(f"GET / HTTP/1.1\r\nHost: {host}".encode()))


# --- live -----------------------------------------------------------------------------


def test_a_live_line_is_one_line_of_a_certain_width() -> None:
    frame = Raw(
        b'{"id":1,"method":"a\\n\x7f","params":"' + "é\u202e".encode() * 5000 + b'"}'
    )
    entry = Entry(t=1.5, source="client", frame=frame)
    shown = line(entry, 80)
    assert len(shown) <= 80
    assert shown.startswith("    1.500 → a\\n\\x7f #1  ")
    assert shown.isprintable()
    assert len(line(entry, 20)) <= 20


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        (Entry(t=0, source="exit", code=-9), "■ the server ended: signal 9"),
        (Entry(t=0, source="stderr", text="a\x1b[1m"), "!   a\\x1b[1m"),
        (Entry(t=0, source="client", http=Http(exchange=3, method="GET", path="/m")),
         "→ GET /m [3]"),
        (Entry(t=0, source="server", http=Http(exchange=3, status=202, ended=True)),
         "← HTTP 202 [3]"),
        (Entry(t=0, source="server", http=Http(exchange=3, ended=True)), "← end [3]"),
        (Entry(t=0, source="server", frame=Raw(b"[1]")), "← batch  [1]"),
        (Entry(t=0, source="server", frame=Raw(b'{"id":1}'), cut=True, size=12345678,
               method="x", ms=3.14159), "← x #1 3.1 ms (12,345,678 bytes)"),
        (Entry(t=0, source="server", cut=True, size=5_000_000),
         "← too large: 5,000,000 bytes"),
        (Entry(t=0, source="server", frame=Raw(b"7")), "← no message:  7"),
        (Entry(t=0, source="server", frame=Raw(b'{"a":1}')), '← no message:  {"a":1}'),
        (Entry(t=0, source="server", frame=Raw(b'{"id":1,"result":{}}')), "← ? #1  {}"),
        (Entry(t=0, source="client", frame=Raw(b'{"method":"a","id":2}')), "→ a #2"),
    ],
    ids=range(12),
)  # fmt: skip
def test_live_lines(entry: Entry, shown: str) -> None:
    assert line(entry) == f"    0.000 {shown}"
