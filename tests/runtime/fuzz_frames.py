"""Messages as nobody should send them: a seeded stream of good, bad and odd ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

PREFIX = "io.modelcontextprotocol/"
MODERN = "2026-07-28"

_STAND_IN = "\ue000%d\ue001"
"""Marks where text goes that no JSON writer would produce."""

STRINGS = (
    *("", " ", "0", "1", "2.0", "null", "ping", "a/b/c", "__proto__", "../../etc"),
    *("\0", "\x7f", "\u2028", "\ufeff", "\uffff", "é", "日本語", "🦀", "e\u0301"),
    *("%s%n", "{uri}", "a" * 300, "\r\n", '"', "\\", "</script>"),
)
NUMBERS = ("0", "-0", "1", "-1", "1.0", "1e2", "0.5", "1e400", "-1E-400", "1e-7")
INTEGERS = (2**31, 2**53, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**400)
RAW = (
    *NUMBERS,
    *(str(number) for number in INTEGERS),
    "9" * 4999,
    '"\\ud800"',
    '"\\ud83e\\udd80"',
    '"2\\u002e0"',
    '"\\u0070ing"',
    '"\\u0000"',
    "[]",
    "{}",
    "true",
    "false",
    "null",
)
NOT_JSON = (
    *(
        "NaN",
        "Infinity",
        "01",
        "1.",
        ".5",
        "+1",
        "0x1",
        "1e",
        "tru",
        "'a'",
        "undefined",
    ),
    *('"\\x"', '"\\u12"', '"\t"', "[1,]", '{"a":1,}', "{a:1}", "/**/1", "-", '"'),
)
BYTES = (
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xc0\x80"),
    *(
        b"\xef\xbb\xbf",
        b"\xfe\xff",
        b"\0",
        b"\x01",
        b"\x1b[0m",
        b"\x85",
        b"\xe2\x80\xa8",
    ),
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\r", b"\n", b"\x0c"),
)
METHODS = (
    *("ping", "tools/list", "tools/call", "resources/list", "resources/read"),
    *("resources/templates/list", "prompts/list", "prompts/get", "logging/setLevel"),
    *("completion/complete", "resources/subscribe", "resources/unsubscribe"),
    *("server/discover", "roots/list", "sampling/createMessage", "elicitation/create"),
    *("tasks/list", "tasks/get", "", " ", "rpc.discover", "$/cancelRequest", "PING"),
    *("notifications/cancelled", "notifications/initialized", "no/such", "__init__"),
)
NOTIFICATIONS = (
    *("notifications/initialized", "notifications/cancelled", "notifications/progress"),
    *("notifications/roots/list_changed", "notifications/message", "initialized"),
    *("ping", "tools/list", "tools/call", "initialize", "no/such", "", "$/progress"),
)


class Frames:
    """A stream of messages; the same seed gives the same stream."""

    def __init__(self, seed: int, *, modern: float, batches: bool = False) -> None:
        self.random = random.Random(seed)
        self._modern = modern
        """How many of the requests are modern ones."""
        self._batches = batches
        self._numbers = iter(range(1, 10**9))
        self._stand_ins: dict[str, bytes] = {}

    # --- good ones --------------------------------------------------------------------

    def fresh_id(self) -> str | int:
        """An id that was not used before."""
        number = next(self._numbers)
        return number if self.random.random() < 0.7 else f"id-{number}"

    def request(self, method: str, params: Json | None = None, id: Any = None) -> Json:
        """A request of one of the eras."""
        frame: Json = {"jsonrpc": "2.0", "id": id or self.fresh_id(), "method": method}
        if self.random.random() < self._modern:
            params = params or {}
            params["_meta"] = modern_meta() | params.get("_meta", {})
        if params is not None or self.random.random() < 0.2:
            frame["params"] = params or {}
        return frame

    def tool(self, name: str, id: Any = None, **arguments: Any) -> Json:
        """A call of a tool."""
        params: Json = {"name": name, "arguments": arguments}
        if self.random.random() < 0.3:
            number = next(self._numbers)
            token = self.random.choice((number, f"token {number}"))
            params["_meta"] = {"progressToken": token}
        return self.request("tools/call", params, id)

    def good(self) -> Json:
        """A request that can be served."""
        pick = self.random.choice
        makers: tuple[Callable[[], Json], ...] = (
            lambda: self.request(pick(("ping", "tools/list", "server/discover"))),
            lambda: self.tool("add", a=self.random.randrange(99), b=2),
            lambda: self.tool("add", a=pick(STRINGS), b=2),
            lambda: self.tool("sync_add", a=1, b=self.random.randrange(99)),
            lambda: self.tool(pick(("steps", "fail", "ask", "no such tool", ""))),
            lambda: self.tool("mirror", value=self.value()),
            lambda: self.request("resources/read", {"uri": pick(_URIS)}),
            lambda: self.request("prompts/get", {"name": pick(("greet", "", "x"))}),
            lambda: self.request(
                "prompts/get", {"name": "greet", "arguments": {"who": pick(STRINGS)}}
            ),
            lambda: self.request("completion/complete", _completion(pick(STRINGS))),
            lambda: self.request(
                "logging/setLevel", {"level": pick(("debug", "error", ""))}
            ),
            lambda: self.request("tools/list", {"cursor": pick(STRINGS)}),
            lambda: self.request("subscriptions/listen", {"notifications": _LISTEN}),
            lambda: self.request(pick(METHODS), pick((None, {}, {"a": 1}))),
        )
        return pick(makers)()

    def notification(self) -> Json:
        """A notification; most are of no use."""
        frame: Json = {"jsonrpc": "2.0", "method": self.random.choice(NOTIFICATIONS)}
        if self.random.random() < 0.7:
            frame["params"] = {"requestId": self.any_id()}
        return frame

    def answer(self) -> Json:
        """An answer to something that was perhaps never asked."""
        frame: Json = {"jsonrpc": "2.0", "id": self.any_id()}
        if self.random.random() < 0.5:
            return frame | {"result": self.random.choice(({}, {"roots": []}, 1, None))}
        return frame | {"error": self.random.choice((_ERROR, {}, "no", None))}

    def any_id(self) -> str | int:
        """An id that somebody may have used."""
        number = next(self._numbers) - self.random.randrange(1, 30)
        return self.random.choice((number, f"id-{number}", str(number)))

    # --- values -----------------------------------------------------------------------

    def raw(self, text: str | bytes) -> str:
        """A stand-in for text that goes into the message as it is."""
        name = _STAND_IN % len(self._stand_ins)
        self._stand_ins[name] = text if isinstance(text, bytes) else text.encode()
        return name

    def value(self, depth: int = 0) -> Any:
        """Any JSON value."""
        draw = self.random.random()
        if draw < 0.3:
            return self.random.choice(STRINGS)
        if draw < 0.5:
            return self.raw(self.random.choice(RAW))
        if draw < 0.6:
            return self.random.choice((None, True, False, 0, 1.5))
        count = self.random.randrange(3) if depth < 4 else 0
        if draw < 0.8:
            return [self.value(depth + 1) for _ in range(count)]
        pick = self.random.choice
        return {pick(STRINGS): self.value(depth + 1) for _ in range(count)}

    def extreme(self) -> Any:
        """A value that costs."""
        depth = self.random.choice((90, 450, *range(900, 1000), 5_000, 100_000))
        makers: tuple[Callable[[], str | bytes], ...] = (
            lambda: b"[" * depth + b"]" * depth,
            lambda: b'{"a":' * depth + b"1" + b"}" * depth,
            lambda: b"[" * depth + b"]" * (depth - 1),
            lambda: b'"' + b"x" * 2**20 + b'"',
            lambda: b'"' + "é\\n".encode() * 2**18 + b'"',
            lambda: b'"' + b"x" * 2**20,
            lambda: b"[" + b"0," * 50_000 + b"0]",
            lambda: b"{" + b",".join(b'"%d":0' % n for n in range(20_000)) + b"}",
            lambda: b"7" * self.random.choice((400, 4_300, 100_000)),
            lambda: b"0." + b"3" * 100_000,
            lambda: b"1e" + b"9" * 5_000,
        )
        return self.raw(self.random.choice(makers)())

    def write(self, frame: Any) -> bytes:
        """A message as bytes, stand-ins replaced."""
        text = json.dumps(
            frame,
            ensure_ascii=self.random.random() < 0.3,
            separators=self.random.choice(((",", ":"), (", ", ": "), (" ,\t", " : "))),
        )
        for name, raw in self._stand_ins.items():
            for written in (f'"{name}"', json.dumps(name)):
                text = text.replace(written, raw.decode("utf-8", "surrogateescape"))
        self._stand_ins.clear()
        return text.encode("utf-8", "surrogateescape")

    # --- bad ones ---------------------------------------------------------------------

    def bent(self, frame: Json) -> Any:
        """The same message, wrong in one or two places of its structure."""
        frame = json.loads(json.dumps(frame))
        for _ in range(self.random.choice((1, 1, 1, 2))):
            self.random.choice((self._envelope, self._somewhere, self._meta))(frame)
        if self.random.random() < 0.05:
            return self.random.choice(([frame], [[frame]], {"a": frame}, "ping"))
        return frame

    def _envelope(self, frame: Json) -> None:
        key = self.random.choice(("jsonrpc", "id", "method", "params", "result"))
        if self.random.random() < 0.3:
            frame.pop(key, None)
        elif key == "jsonrpc":
            frame[key] = self.random.choice(
                ("1.0", 2, 2.0, "2", None, True, self.raw('"2\\u002e0"'), "2.0 ")
            )
        else:
            frame[key] = self.random.choice((self.value, self.extreme_or_value))()

    def extreme_or_value(self) -> Any:
        """A costly value, sometimes."""
        return self.extreme() if self.random.random() < 0.15 else self.value()

    def _somewhere(self, frame: Json) -> None:
        places = list(_places(frame))
        home, key = self.random.choice(places)
        draw = self.random.random()
        if draw < 0.2:
            del home[key]
        elif draw < 0.3 and isinstance(home, dict):
            home[self.random.choice(STRINGS)] = home.pop(key)
        elif draw < 0.4:
            home[key] = [home[key]]
        elif draw < 0.5:
            home[key] = self.raw(self.random.choice(NOT_JSON))
        else:
            home[key] = self.extreme_or_value()

    def _meta(self, frame: Json) -> None:
        """Every way to be wrong about who asks."""
        if not isinstance(frame.get("params"), dict):
            frame["params"] = {}
        meta: Any = modern_meta()
        key = self.random.choice((*meta, PREFIX + "logLevel", "progressToken"))
        draw = self.random.random()
        if draw < 0.3:
            meta.pop(key, None)
        elif draw < 0.5:
            meta[key] = self.random.choice(_VERSIONS)
        elif draw < 0.9:
            meta[key] = self.extreme_or_value()
        else:
            meta = self.value()
        frame["params"]["_meta"] = meta

    def broken(self, data: bytes) -> bytes:
        """The same bytes, some of them wrong."""
        for _ in range(self.random.choice((1, 1, 2, 4))):
            data = self.random.choice(self._breakers)(self, data)
        return data

    def _flip(self, data: bytes) -> bytes:
        at = self.random.randrange(len(data) or 1)
        bit = 1 << self.random.randrange(8)
        return data[:at] + bytes(b ^ bit for b in data[at : at + 1]) + data[at + 1 :]

    def _cut(self, data: bytes) -> bytes:
        at = self.random.randrange(len(data) or 1)
        return data[:at] + data[at + self.random.choice((1, 1, 5, 1000)) :]

    def _insert(self, data: bytes) -> bytes:
        at = self.random.randrange(len(data) + 1)
        return data[:at] + self.random.choice(BYTES) + data[at:]

    def _repeat(self, data: bytes) -> bytes:
        at = self.random.randrange(len(data) or 1)
        end = at + self.random.randrange(1, 40)
        return data[:end] + data[at:end] + data[end:]

    def _prefix(self, data: bytes) -> bytes:
        return self.random.choice(BYTES) + data

    def _suffix(self, data: bytes) -> bytes:
        return data + self.random.choice((*BYTES, b" 1", b"{}", data, b"\n", b" "))

    def _twice(self, data: bytes) -> bytes:
        """A key that comes twice: the last one counts."""
        extra = self.random.choice(
            (b'"id":0,', b'"method":"ping",', b'"jsonrpc":"2.0",')
        )
        return data.replace(b"{", b"{" + extra, 1)

    def _quoteless(self, data: bytes) -> bytes:
        return data.replace(b'"', b"'")

    _breakers = (_flip, _cut, _insert, _repeat, _prefix, _suffix, _twice, _quoteless)

    def batch(self) -> list[Any]:
        """An array of messages, where that means something; else a refusal is due."""
        makers = (self.good, self.good, self.notification, self.answer, self.value)
        made = [self.random.choice(makers)() for _ in range(self.random.randrange(5))]
        return [m for m in made if not _is_lasting(m)]

    # --- the stream -------------------------------------------------------------------

    def message(self) -> bytes:
        """The next message, or what is left of one."""
        draw = self.random.random()
        if draw < 0.25:
            return self.write(self.good())
        if draw < 0.31:
            return self.write(self.notification())
        if draw < 0.35:
            return self.write(self.answer())
        if draw < 0.6:
            return self.write(self.bent(self.random.choice(self._kinds)(self)))
        if draw < 0.85:
            return self.broken(self.write(self.random.choice(self._kinds)(self)))
        if draw < (0.95 if self._batches else 0.87):
            return self.write(self.batch())
        if draw < 0.96:
            return self.write(self.value())
        if draw < 0.97:
            return self.write(self.good() | {"params": {"a": self.extreme()}})
        return self.random.randbytes(self.random.randrange(1, 200))

    _kinds = (good, good, good, notification, answer)


def modern_meta() -> Json:
    """What every modern request says."""
    return {
        PREFIX + "protocolVersion": MODERN,
        PREFIX + "clientCapabilities": {},
        PREFIX + "clientInfo": {"name": "fuzz", "version": "1"},
    }


def _is_lasting(frame: Any) -> bool:
    return isinstance(frame, dict) and frame.get("method") == "subscriptions/listen"


def _completion(value: str) -> Json:
    ref = {"type": "ref/prompt", "name": "greet"}
    return {"ref": ref, "argument": {"name": "who", "value": value}}


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    keys: Any = range(len(value)) if isinstance(value, list) else list(value)
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


_URIS = ("test://fixed", "test://user/1", "test://user/%ff", "nope:", "", "\0")
_LISTEN = {"toolsListChanged": True, "resourceSubscriptions": ["test://fixed"]}
_ERROR = {"code": -1, "message": "no"}
_VERSIONS = ("2024-11-05", "2025-11-25", MODERN, "1900-01-01", "", "DRAFT", "latest")
