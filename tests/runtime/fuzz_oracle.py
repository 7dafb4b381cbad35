"""What must a server send in return for these bytes?

Written from the rules of JSON-RPC and MCP alone, with the standard library's JSON and
nothing of the runtime's, so that the two can disagree. `duty` reads one message;
`Judge` keeps the account of a conversation and fails the moment it does not balance.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603

Key: TypeAlias = tuple[type, Any]
"""An id with its JSON type: 1 and "1" are two."""

DEEP = re.compile(rb"(\[{200,})(\]+)|((?:\{\"a\":){200,})1(\}+)")
"""Nesting that a reader may refuse (RFC 8259, 9) and Python's cannot follow."""

CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
LISTEN = "subscriptions/listen"


class Unreadable(Exception):
    """Not a JSON text."""


@dataclass(frozen=True)
class Huge:
    """An integer of more digits than a reader must take."""

    digits: str


class Fraction(float):
    """A number that is written with a point or an exponent, such as 1.0."""


def _integer(digits: str) -> int | Huge:
    return Huge(digits) if len(digits) > 4000 else int(digits)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def parse(data: bytes) -> Any:
    """A JSON text, strictly; numbers keep how they were written."""
    try:
        return json.loads(
            data.decode("utf-8"),
            parse_int=_integer,
            parse_float=Fraction,
            parse_constant=_refuse,
        )
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None


def key_of(id: Any) -> Key | None:
    """The id of a request; None when it cannot be one."""
    if isinstance(id, str):
        return (str, id)
    if isinstance(id, Huge) or (isinstance(id, int) and not isinstance(id, bool)):
        return (type(id), id)
    return None


def written(key: Key) -> bytes:
    """The id as JSON text."""
    id = key[1]
    return (id.digits if isinstance(id, Huge) else json.dumps(id)).encode()


@dataclass
class Duty:
    """What one message obliges the server to send."""

    answer: Key | None = None
    """An answer with this id."""
    refusal: int | None = None
    """An error without an id, of this code; 0 leaves the code open."""
    required: bool = True
    """False: it may be, and need not."""
    may_name: Key | None = None
    """The refusal may carry this id, which could be read."""
    or_refused: bool = False
    """Instead of the answer, an error without an id is as good."""
    batch: list[Duty] = field(default_factory=list)
    cancels: Key | None = None
    lasting: bool = False
    """It is answered when somebody ends it."""
    token: Any = None
    """The progress token that the request carries."""


def duty(data: bytes, *, batches: bool) -> Duty:
    """Read one message; `batches` says whether the version has them."""
    collapsed = DEEP.sub(_collapse, data)
    try:
        value = parse(collapsed)
    except Unreadable:
        # Too deep and broken besides: which of the two was seen first is open.
        return Duty(refusal=PARSE_ERROR if len(collapsed) == len(data) else 0)
    found = _value(value, batches)
    if collapsed != data or _beyond_limits(value):
        _loosen(found)
    return found


def _collapse(run: re.Match[bytes]) -> bytes:
    """The same nesting without its innermost levels."""
    arrays, ends, objects, closers = run.groups()
    opened = len(arrays) if arrays else objects.count(b"{")
    opener, closer, closed = (
        (b"[", b"]", len(ends)) if arrays else (b'{"a":', b"}", len(closers))
    )
    common = min(opened, closed)
    innermost = b"[]" if arrays else b"{}"
    return opener * (opened - common) + innermost + closer * (closed - common)


def _beyond_limits(value: Any) -> bool:
    """JSON that a reader may refuse: half a character, a number out of range.

    RFC 8259, 6 and 8.2.
    """
    if isinstance(value, str):
        return any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return any(map(_beyond_limits, (*value, *value.values())))
    if isinstance(value, list):
        return any(map(_beyond_limits, value))
    return isinstance(value, Huge) or value in (math.inf, -math.inf)


def _loosen(found: Duty) -> None:
    """Let it be refused as unreadable, too."""
    if found.answer is not None:
        found.or_refused = True
    elif found.batch:
        found.refusal, found.required = 0, False
        for member in found.batch:
            _loosen(member)
    elif found.refusal is None:
        found.refusal, found.required = PARSE_ERROR, False
    else:
        found.refusal = 0


def _value(value: Any, batches: bool) -> Duty:
    if isinstance(value, dict):
        return _message(value)
    if isinstance(value, list) and value and batches:
        return Duty(batch=[_value(member, False) for member in value])
    return Duty(refusal=INVALID_REQUEST)


def _message(frame: dict[str, Any]) -> Duty:
    key = key_of(frame.get("id"))
    # Only who asks can be answered by name.
    named = key if "method" in frame else None
    invalid = Duty(refusal=INVALID_REQUEST, may_name=named)
    answers = "result" in frame or "error" in frame
    if frame.get("jsonrpc") != "2.0":
        # Nothing says that a bad answer must be answered; nothing forbids it.
        invalid.required = "method" in frame or not answers
        return invalid
    if "method" in frame:
        if answers:
            invalid.required = "id" in frame
            return invalid
        return _request(frame, key) if "id" in frame else _notification(frame)
    if not answers:
        return invalid
    if "result" in frame and "error" in frame:
        return Duty(refusal=INVALID_REQUEST, required=False)
    if key is not None or ("error" in frame and frame.get("id") is None):
        return Duty(required=False)
    return Duty(refusal=INVALID_REQUEST, required=False)


def _request(frame: dict[str, Any], key: Key | None) -> Duty:
    method, params, id = frame["method"], frame.get("params", {}), frame["id"]
    if not isinstance(method, str) or not isinstance(params, dict):
        return Duty(refusal=INVALID_REQUEST, may_name=key)
    if isinstance(id, Fraction) and id.is_integer():
        # 1.0 is an integer to JSON Schema, and fractional to many a reader.
        found = Duty(answer=(int, int(id)), or_refused=True)
    elif key is None:
        return Duty(refusal=INVALID_REQUEST)
    else:
        found = Duty(answer=key)
    meta = params.get("_meta")
    found.token = meta.get("progressToken") if isinstance(meta, dict) else None
    found.lasting = method == LISTEN
    return found


def _notification(frame: dict[str, Any]) -> Duty:
    method, params = frame["method"], frame.get("params", {})
    if not isinstance(method, str):
        # JSON-RPC's own examples answer this one.
        return Duty(refusal=INVALID_REQUEST, required=False)
    if method == CANCELLED and isinstance(params, dict):
        return Duty(required=False, cancels=key_of(params.get("requestId")))
    return Duty(required=False)


# --- what leaves ----------------------------------------------------------------------


def check_frame(frame: Any) -> None:
    """One of the four messages of JSON-RPC, whole and with nothing else in it."""
    assert isinstance(frame, dict), f"no message: {frame!r:.200}"
    assert frame.get("jsonrpc") == "2.0", frame
    extra = set(frame) - {"jsonrpc", "id", "method", "params", "result", "error"}
    assert not extra, f"unknown keys {extra}"
    if "method" in frame:
        assert isinstance(frame["method"], str), frame
        assert isinstance(frame.get("params", {}), dict), frame
        assert "id" not in frame or key_of(frame["id"]) is not None, frame
        assert "result" not in frame, frame
        assert "error" not in frame, frame
    elif "result" in frame:
        assert "error" not in frame, frame
        assert "params" not in frame, frame
        assert isinstance(frame["result"], dict), frame
        assert key_of(frame.get("id")) is not None, frame
    else:
        _check_error(frame)


def _check_error(frame: dict[str, Any]) -> None:
    assert "params" not in frame, frame
    error = frame.get("error")
    assert isinstance(error, dict), frame
    assert not set(error) - {"code", "message", "data"}, frame
    assert type(error.get("code")) is int, frame
    assert isinstance(error.get("message"), str), frame
    # A handler's bug, or a reader's: none of the messages may provoke one.
    assert error["code"] != INTERNAL_ERROR, frame
    assert frame.get("id") is None or key_of(frame["id"]) is not None, frame


# --- the account ----------------------------------------------------------------------


SHARED = ("held", "lasting", "_known", "_tokens")
"""What the parts of an account have in common."""


class Judge:
    """The account of one connection, or of one exchange over HTTP.

    Tell it what was `sent` and what was `received`, in any order that causes allow.
    """

    def __init__(self, *, batches: bool = False, null_ids: bool | None = False) -> None:
        self.batches = batches
        self.null_ids = null_ids
        """Do errors without an id say `null`? None: that is open."""
        self.held: set[Key] = set()
        """Requests that are certainly in flight."""
        self.lasting: set[Key] = set()
        """Requests that go on until somebody ends them."""
        self.asked: list[dict[str, Any]] = []
        """What the server asked of the client, to be answered by somebody."""
        self.texts: dict[Key, str] = {}
        """What an answer has to contain."""
        self.loose = False
        """A batch that may as well be refused as a whole."""
        self._owed: Counter[Key] = Counter()
        """Answers that must come, and below, that may."""
        self._optional: Counter[Key] = Counter()
        self._waivable: Counter[Key] = Counter()
        """How many of those owed may be refused without an id instead."""
        self._refusals: Counter[int] = Counter()
        """Errors without an id that must come, by code, and how many more may."""
        self._may_refuse = 0
        self._refused: Counter[int] = Counter()
        """Those that came."""
        self._nameable: Counter[Key] = Counter()
        """How many of those due may come with an id, and below, those that did."""
        self._named: Counter[Key] = Counter()
        self._known: set[Key] = set()
        """Every id since the last balance."""
        self._ended: set[Key] = set()
        """Every id that was answered."""
        self._tokens: defaultdict[tuple[type, str], set[Key]] = defaultdict(set)
        """Progress token → the requests that carry it."""
        self._open_batches: list[Judge] = []
        """An account of its own for each batch that was not answered."""

    # --- what the client does ---------------------------------------------------------

    def sent(self, data: bytes) -> None:
        """Something that may be a message went to the server."""
        self._take(duty(data, batches=self.batches))

    def hold(self, data: bytes) -> Key:
        """A request that is in flight until it is let go or cancelled."""
        found = duty(data, batches=False)
        assert found.answer is not None
        self._take(found)
        self.held.add(found.answer)
        return found.answer

    def let_go(self, key: Key) -> None:
        """It may end now."""
        self.held.discard(key)

    def expect(self, key: Key, text: str) -> None:
        """The answer, which must be a result, contains this text."""
        self.texts[key] = text

    def _take(self, found: Duty) -> None:
        if found.cancels is not None:
            self.cancel(found.cancels)
        if found.batch:
            self._batch(found)
        elif found.answer is not None:
            self._request(found, found.answer)
        elif found.refusal is not None:
            if found.required:
                self._refusals[found.refusal] += 1
            else:
                self._may_refuse += 1
            if found.may_name is not None and found.may_name not in self.held:
                self._nameable[found.may_name] += 1

    def _request(self, found: Duty, key: Key) -> None:
        if key in self.held:  # to answer it by its id would answer the other one
            self._refusals[INVALID_REQUEST] += 1
            return
        if found.token is not None:
            self._tokens[type(found.token), str(found.token)].add(key)
        if found.lasting:
            self.lasting.add(key)
        self._ended.discard(key)
        self._owed[key] += 1
        if found.or_refused or key in self._known:  # the other is in flight, perhaps
            self._waivable[key] += 1
            self._may_refuse += found.lasting
        self._known.add(key)

    def _batch(self, found: Duty) -> None:
        part = Judge(null_ids=self.null_ids)
        for name in SHARED:
            setattr(part, name, getattr(self, name))
        self._open_batches.append(part)
        for member in found.batch:
            if member.cancels is not None:
                self.cancel(member.cancels)
                member.cancels = None
            part._take(member)
        if found.refusal is not None:  # or all of it is refused at once
            part.loose = True
            self._may_refuse += 1

    def _vagueness(self) -> int:
        """Who could take any answer must not take it from who needs it."""
        return self.loose * 1000 + self._optional.total() + self._may_refuse

    def cancel(self, key: Key) -> None:
        """Whatever runs under this id was told to stop."""
        for account in (self, *self._open_batches):
            owed = account._owed.pop(key, 0)
            if key not in self.held:  # else it cannot have been answered already
                account._optional[key] += owed
                account._may_refuse += min(owed, account._waivable[key])
        self.held.discard(key)
        self.lasting.discard(key)

    # --- what the server does ---------------------------------------------------------

    def received(self, data: bytes) -> None:
        """The server sent this."""
        frame = parse(data)
        if not isinstance(frame, list):
            self._one(frame)
            return
        assert frame, "an empty batch"
        for part in sorted(self._open_batches, key=Judge._vagueness):
            trial = copy.deepcopy(part)
            try:
                for member in frame:
                    trial._one(member)
                problem = trial.problem()
            except AssertionError:
                continue
            if problem is None:
                self._open_batches.remove(part)
                return
        raise AssertionError(f"an array that answers no batch: {data[:500]!r}")

    def _one(self, frame: Any) -> None:
        check_frame(frame)
        if "method" in frame:
            self._from_server(frame)
            return
        key = key_of(frame.get("id"))
        if key is None:
            self._refusal(frame)
            return
        self._ended.add(key)
        malformed = frame.get("error", {}).get("code") == INVALID_REQUEST
        if malformed and self._nameable[key] > 0:
            self._named[key] += 1  # a good request's answer, or a bad one's refusal
            return
        for account in (self._owed, self._optional):
            if account[key] > 0:
                account[key] -= 1
                break
        else:
            raise AssertionError(f"nobody asked for this: {frame!r:.500}")
        self.held.discard(key)
        self.lasting.discard(key)
        if key in self.texts:
            text = self.texts.pop(key)
            assert text in json.dumps(frame.get("result")), f"no {text} in {frame!r}"

    def _refusal(self, frame: dict[str, Any]) -> None:
        code = frame["error"]["code"]
        assert code in (PARSE_ERROR, INVALID_REQUEST), f"without an id: {frame!r:.500}"
        if self.null_ids is not None:
            assert ("id" in frame) == self.null_ids, f"id must be {self.null_ids=}"
        self._refused[code] += 1

    def _from_server(self, frame: dict[str, Any]) -> None:
        if "id" in frame:
            self.asked.append(frame)
        elif frame["method"] == PROGRESS:
            token = frame["params"]["progressToken"]
            keys = self._tokens[type(token), str(token)]
            assert keys, f"progress of nothing: {frame}"
            assert keys - self._ended, f"progress after the answer: {frame}"

    # --- the balance ------------------------------------------------------------------

    def problem(self) -> str | None:
        """What is missing yet; an AssertionError when there is too much."""
        missing: Counter[int] = Counter(self._refusals)
        leeway = missing.pop(0, 0)
        named = Counter(self._named)
        for key, owed in self._owed.items():
            met = min(owed, named[key])
            owed -= met
            named[key] -= met
            if owed <= 0 or key in self.lasting or key in self.held:
                continue
            if owed > self._waivable[key]:
                return f"{key[1]!r:.100} is not answered"
            leeway += owed
        for part in self._open_batches:
            problem = None if part.loose else part.problem()
            if problem is not None:
                return f"in a batch: {problem}"
        assert named <= self._nameable, f"answered twice: {named - self._nameable}"
        refused = self._refused + Counter({INVALID_REQUEST: named.total()})
        for code, count in missing.items():
            if refused[code] < count:
                return f"{count - refused[code]} errors {code} are missing"
        surplus = refused.total() - missing.total()
        if surplus < leeway:
            return "an error is missing"
        assert surplus <= leeway + self._may_refuse, "more errors than bad messages"
        return None

    def close(self) -> None:
        """All is balanced: begin a new page."""
        problem = self.problem()
        assert problem is None, problem
        for account in (
            *(self._nameable, self._named, self._waivable),
            *(self._refusals, self._refused),
        ):
            account.clear()
        for key in [k for k in self._owed if k not in self.lasting | self.held]:
            del self._owed[key]
        self._known = {k for k in self._known if k in self.lasting | self.held}
        self._may_refuse = 0
        # An array whose requests were cancelled may still come, or not.
        self._open_batches = [
            part for part in self._open_batches if part.loose or part._optional.total()
        ]
