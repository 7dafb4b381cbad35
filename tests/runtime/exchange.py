"""Scripted exchanges: what goes in and what must come out, as literal frames.

A script is a text file in `exchanges/VERSION/`, read from top to bottom:

    # a comment
    transports memory stdio       where it runs, if not everywhere its version goes
    server rich                   one of SERVERS, if not the fixture server
    include _opened               another script of the same folder comes here
    -> {"jsonrpc":"2.0", ...      sent as it stands; indented lines continue it
    ->hex 7b ff 7d                the same for bytes that are no text
    status 400                    the HTTP status of what is sent next
    <- {"jsonrpc":"2.0", ...      what must come now, and nothing else before it
    any order                     the frames up to `end` come in any order
    end

Over HTTP, messages travel on connections of their own. What is sent right after a
request may overtake it: wait for something that the request caused first.

Frames are compared as JSON, so that the order of keys does not matter, but `1`, `1.0`
and `"1"` are three things. The answers to a batch stand in their array in any order, as
JSON-RPC says. Besides, the validators of the version look at every frame that leaves.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from mcpgen.protocol import ERAS, PACKAGES

EXCHANGES = Path(__file__).parent / "exchanges"
SERVERS = {
    "fixture": "tests.conformance.server",
    "rich": "tests.runtime.exchanges.rich_server",
}
TRANSPORTS = {
    "2024-11-05": ("memory", "stdio", "sse"),
    "2025-03-26": ("memory", "stdio", "http"),
    "2025-06-18": ("memory", "stdio", "http"),
}
"""What each version can be spoken over."""
NEWEST = [version for version, era in ERAS.items() if era == "legacy"][-1]
"""Whose errors are sent while no version has been agreed on."""
PATIENCE = 60.0
"""Seconds until a frame that must come is given up."""


# --- scripts --------------------------------------------------------------------------


@dataclass(frozen=True)
class Send:
    """Something to send, whether it is a message or not."""

    where: str
    data: bytes
    status: int | None
    """What HTTP must answer, where that is not plain from the message."""


@dataclass(frozen=True)
class Expect:
    """What must come next: one frame, or several in any order."""

    where: str
    frames: tuple[Any, ...]


@dataclass
class Script:
    """One exchange."""

    name: str
    version: str
    server: str = "fixture"
    transports: tuple[str, ...] = ()
    steps: list[Send | Expect] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.version}-{self.name}"


class ScriptError(Exception):
    """A script that does not follow the rules."""


def load(path: Path) -> Script:
    """Read a script."""
    version = path.parent.name
    script = Script(path.stem, version, transports=TRANSPORTS[version])
    _Reader(script).read(path)
    return script


class _Reader:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.status: int | None = None
        self.group: list[Any] | None = None
        """The frames of a block in any order, while one is open."""

    def read(self, path: Path) -> None:
        for number, line in _logical_lines(path.read_text("utf-8")):
            where = f"{path.parent.name}/{path.name}:{number}"
            word, _, rest = line.partition(" ")
            try:
                self._line(where, word, rest, path)
            except (LookupError, ValueError) as error:
                raise ScriptError(f"{where}: {line[:80]}: {error!r}") from None
        if self.group is not None:
            raise ScriptError(f"{path.name}: a block has no end")

    def _line(self, where: str, word: str, rest: str, path: Path) -> None:
        steps = self.script.steps
        if word == "->":
            steps.append(Send(where, rest.encode("utf-8"), self._take_status()))
        elif word == "->hex":
            steps.append(Send(where, bytes.fromhex(rest), self._take_status()))
        elif word == "<-":
            frame = parse(rest)
            if self.group is None:
                steps.append(Expect(where, (frame,)))
            else:
                self.group.append(frame)
        elif word == "any" and rest == "order" and self.group is None:
            self.group = []
        elif word == "end" and self.group:
            steps.append(Expect(where, tuple(self.group)))
            self.group = None
        elif word == "status":
            self.status = int(rest)
        elif word == "include":
            self.read(path.with_name(f"{rest}.txt"))
        elif word == "transports":
            found = TRANSPORTS[self.script.version]
            self.script.transports = tuple(rest.split())
            if not {*self.script.transports} <= {*found}:
                raise ValueError(f"only {found}")
        elif word == "server" and rest in SERVERS:
            self.script.server = rest
        else:
            raise ValueError("not understood")

    def _take_status(self) -> int | None:
        status, self.status = self.status, None
        return status


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers: indented ones continue the one before."""
    number, pieces = 0, list[str]()
    for n, line in enumerate(text.splitlines(), 1):
        if line.startswith((" ", "\t")):
            pieces.append(line.strip())
            continue
        if pieces:
            yield number, "".join(pieces)
        stripped = line.rstrip()
        number, pieces = n, [stripped] if stripped and stripped[0] != "#" else []
    if pieces:
        yield number, "".join(pieces)


# --- frames ---------------------------------------------------------------------------


def parse(text: str | bytes) -> Any:
    """JSON in which no key stands twice."""
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError(f"a key stands twice in {pairs}")
    return made


def canonical(frame: Any) -> str:
    """A text that is the same for equal frames, and only for them."""
    if isinstance(frame, list):
        return "[" + ",".join(sorted(map(canonical, frame))) + "]"
    return json.dumps(frame, sort_keys=True, ensure_ascii=False)


def members(data: bytes) -> list[dict[str, Any]]:
    """The objects in what is sent, one or a batch; none if it is not even JSON."""
    try:
        found = json.loads(data)
    except ValueError:
        return []
    return [m for m in (found if isinstance(found, list) else [found]) if _is_object(m)]


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


class Checker:
    """Looks at each frame that leaves: is it one of the version that is spoken?"""

    def __init__(self, version: str) -> None:
        self._speak(version)
        self._agreed = False
        self._asked: dict[str, str] = {}
        """The id of each request that waits for its answer → its method."""

    def _speak(self, version: str) -> None:
        package = f"mcpgen.protocol.{PACKAGES[version]}"
        self.methods: Any = import_module(f"{package}.methods")
        self.validators: Any = import_module(f"{package}.validators").VALIDATORS

    def sent(self, data: bytes) -> None:
        """Remember what is asked, to know what an answer has to be."""
        for message in members(data):
            if "method" in message and "id" in message:
                # Where an id stands twice, it is the first request that is answered.
                key = canonical(message["id"])
                self._asked.setdefault(key, str(message["method"]))

    def received(self, frame: Any) -> None:
        """AssertionError when the frame is none of this version's."""
        if isinstance(frame, list):
            assert self.methods.TRAITS.batch, "a batch"
            assert frame, "an empty batch"
            for member in frame:
                self.received(member)
        elif "method" in frame and "id" in frame:
            self._call(frame, "Request", self.methods.REQUESTS)
        elif "method" in frame:
            self._call(frame, "Notification", self.methods.NOTIFICATIONS)
        elif "error" in frame:
            self._error(frame)
        else:
            self._result(frame)

    def _call(self, frame: Any, kind: str, table: Any) -> None:
        self._valid(f"JSONRPC{kind}", frame)
        self._valid(f"Server{kind}", frame)
        row = table[frame["method"]]
        assert "server" in row.sent_by, "no server sends this"
        if "params" in frame or row.params_required:
            self._valid(row.params, frame.get("params"))

    def _error(self, frame: Any) -> None:
        if frame.get("id", 0) is None:
            # The one message that the schemas of old do not cover.
            assert self.methods.TRAITS.unreadable_id == "null", "an id that is null"
            frame = frame | {"id": 0}
        elif "id" not in frame and not self._agreed:
            self._newest_error(frame)
            return
        else:
            self._asked.pop(canonical(frame.get("id")), None)
        self._valid("JSONRPCError", frame)

    def _newest_error(self, frame: Any) -> None:
        newest = Checker(NEWEST)
        newest._valid("JSONRPCErrorResponse", frame)

    def _result(self, frame: Any) -> None:
        method = self._asked.pop(canonical(frame["id"]), None)
        assert method is not None, "an answer that nobody waits for"
        if method == "initialize":
            self._speak(frame["result"]["protocolVersion"])
            self._agreed = True
        self._valid("JSONRPCResponse", frame)
        self._valid("ServerResult", frame["result"])
        (kind,) = self.methods.REQUESTS[method].results
        self._valid(kind, frame["result"])

    def _valid(self, kind: Any, value: Any) -> None:
        name = kind if isinstance(kind, str) else kind.__name__
        issues = self.validators[name](value)
        assert not issues, f"not a valid {name}: {issues}"


# --- playing --------------------------------------------------------------------------


class Client(Protocol):
    """One end of a connection over some transport."""

    async def send(self, data: bytes, status: int | None) -> None:
        """Send something; over HTTP, the status must be this one."""

    async def next_frame(self) -> bytes:
        """Wait for the next frame."""

    async def finish(self) -> list[bytes]:
        """End the connection; the frames that came and were not waited for."""


async def play(script: Script, client: Client) -> None:
    """Go through a script; AssertionError says where it went another way."""
    checker = Checker(script.version)
    for step in script.steps:
        if isinstance(step, Send):
            checker.sent(step.data)
            await client.send(step.data, step.status)
        else:
            await _expect(step, client, checker)
    left = await client.finish()
    assert not left, f"{script}: nobody expected {left}"


async def _expect(step: Expect, client: Client, checker: Checker) -> None:
    wanted = Counter(canonical(frame) for frame in step.frames)
    while wanted.total():
        text = await _next(step, client, wanted)
        frame = parse(text)
        got = canonical(frame)
        assert got in wanted, _difference(step, wanted, got)
        wanted -= Counter([got])
        try:
            checker.received(frame)
        except AssertionError as error:
            raise AssertionError(f"{step.where}: {error} in {got}") from None


async def _next(step: Expect, client: Client, wanted: Counter[str]) -> bytes:
    try:
        async with asyncio.timeout(PATIENCE):
            return await client.next_frame()
    except TimeoutError:
        raise AssertionError(_difference(step, wanted, "nothing")) from None


def _difference(step: Expect, wanted: Counter[str], got: str) -> str:
    expected = "\n      or ".join(wanted.elements())
    return f"{step.where}:\nexpected {expected}\ngot      {got}"
