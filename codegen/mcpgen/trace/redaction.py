"""Secrets, and how they are kept out of a recording.

A value is replaced when its key looks secret, and a part of a string when it has the form
of a secret. What is replaced too much is a nuisance, what is replaced too little is a
leak; but what a reader of recordings needs stays: schemas, progress tokens, session ids.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode, encode, format

from ..headers import ARGUMENT, meaning

REDACTED = "[redacted]"

_HINTS = tuple(
    b"pass pwd secret token key credential auth cookie bearer basic jwt signature ://"
    b' verifier assertion grant_ redirect_ device "pin" "otp" "pat" "pw" sig= code= \\'
    b" eyj github_pat ghp_ gho_ ghs_ ghu_ ghr_ glpat- xox xapp akia asia aiza ya29. gocspx"
    b" sk- sk_ rk_ npm_ pypi- hf_ sg. :aa".split()
)
"""Without any of these, in lower case, there is no secret that we could tell."""
LONG = 16 * 1024
"""Bytes from which on it pays to leave images out before hints are sought."""
_SECRET = re.compile(
    "passw|passphrase|passcode|^pwd?$|^pin$|^otp$|^pat$|secret|credential"
    "|(?:api|access|private|signing|encryption|auth|account|ssh|shared|master|storage"
    "|subscription)key|authorization$|^auth$|cookies?$|bearer$|jwt$|signature$"
    "|tokens?$|tokenvalue$|codeverifier$|assertion$|(?:auth|authorization|device)code$"
)
_HARMLESS = {"progresstoken", "pagetoken", "nextpagetoken", "continuationtoken"}
_NAME, _VALUE = ("name", "key", "header", "variable"), ("value", "values")
_BESIDE_CODE = ("grant_type", "redirect_uri", "code_verifier")
"""Where one of these is, `code` is that of OAuth, else a number of an error or source."""

# What strings may hold. Quotes may be escaped there, as in JSON inside of a string.
_KEY = (
    r"[\w.-]{0,64}(?:passw(?:or)?d|passphrase|secret|credential|api[_-]?key|access[_-]?key"
    r"|(?:private|account|ssh|encryption|signing)[_-]?key|authorization|cookie|jwt"
    r"|signature|code[_-]?verifier|client[_-]?assertion|(?:auth|device)[_-]?code"
    r"|(?<!progress)(?<!page)token)[\w-]{0,24}|pwd"
    r"|(?<![^?&#])(?:key|sig|code|assertion)(?==)"
)
_ASSIGNED = re.compile(
    rf"""(?<![\w.-])((?:{_KEY})\\*+["']?\s*+(?::|=>?)\s*+|--(?:{_KEY})\s++(?!-))"""
    r"""(?:"(?P<quoted>(?:[^"\\\n]|\\.)*+)"?"""
    r"""|(?P<escape>\\++)"(?P<escaped>.*?)(?=(?P=escape)"|$)"""
    r"""|'(?P<single>[^'\n]*+)'?"""
    r"""|(?P<plain>(?:(?:bearer|basic|digest|token|negotiate|apikey)\s+)?[^\s"',;&\\}\]){[(]++))""",
    re.IGNORECASE | re.MULTILINE,
)
_HEADER = re.compile(
    r"(^[\s<>*]*(?:set-cookie|cookie|(?:proxy-)?authorization)\s*:\s*)\S[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
_SCHEME = re.compile(
    r"\b((?i:bearer)\s++)[\w.~+/=-]{6,}|\b((?i:basic)\s++)(?![a-z]+\b)[\w.~+/=-]{8,}"
)
_USER = re.compile(r"(?<=://)[^/?#\s\"']+@")
_KNOWN = re.compile(
    r"\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)*"  # a JSON web token
    r"|\b(?:sk|rk)[-_][\w-]{16,}|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}"
    r"|\b(?:xox[abeoprs]|xapp|glpat|pypi|GOCSPX)-[\w-]{10,}|\bA[KS]IA[0-9A-Z]{16}\b"
    r"|\bAIza[\w-]{30,}|\bya29\.[\w.-]{16,}|\bnpm_\w{30,}|\bhf_\w{20,}"
    r"|\bSG\.[\w-]{16,}\.[\w-]{16,}|\b[0-9]{8,12}:AA[\w-]{30,}"
    r"|(?<=hooks\.slack\.com/)[\w/]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_FLAGS = {"-u", "--user", "--key"}
"""Of a command: `user:password`, as curl has it, and a key or the file of one."""
_DATA = re.compile(r"[A-Za-z0-9+/\r\n]{1000,}+={0,2}\s*")
"""An image or the like, in base64: nothing in it has a form, and it may be long."""
_BLOB = re.compile(rb"[A-Za-z0-9+/]{1000,}+={0,2}")
"""The same in JSON."""
_PLAIN = {"null", "true", "false", "None", "True", "False"}
_DEEPEST = 5
"""So many times JSON may be a string inside of JSON."""

# --- schemas: their keys are names of values, and no value is there -------------------
_OF_SCHEMAS = {"properties", "patternProperties", "$defs", "definitions"}
_SAID = {"type", "title", "description", "format", "pattern", "$ref", "$schema", "$id"}
_SAID |= {"$comment", "$anchor", "contentEncoding", "contentMediaType", "required"}
_SAID |= {"x-mcp-header"}
"""Strings of a schema that are about a value."""


class Redaction:
    """Takes secrets out of what is recorded."""

    def frame(self, data: bytes) -> bytes:
        """A message as JSON; the same bytes if there is no secret in it."""
        if not _may_hold(data):
            return data
        return _json(data, 0)

    def text(self, text: str) -> str:
        """A line of a log, or of anything."""
        return _text(text, 0)

    def headers(self, headers: Iterable[tuple[str, str]]) -> dict[str, str]:
        """HTTP headers: what looks secret, and secrets in what does not."""
        return {name: self._header(name, value) for name, value in headers}

    def _header(self, name: str, value: str) -> str:
        if is_secret(name.removeprefix(ARGUMENT)):
            return REDACTED
        said = meaning(value)  # base64 may hide what looks secret
        if said is not None and (clean := self.text(said)) != said:
            return clean if said == value else REDACTED
        return value

    def command(self, words: Iterable[str]) -> str:
        """A command line: also `--token abc`, where the value is a word of its own."""
        shown, is_value = [], False
        for word in words:
            if is_value and not word.startswith("-"):
                shown.append(REDACTED)
                is_value = False
                continue
            name, equals, _ = word.partition("=")
            is_name = name in _FLAGS or is_secret(name.lstrip("-/"))
            if is_name and equals:
                shown.append(f"{name}={REDACTED}")
            else:
                shown.append(self.text(word))
            is_value = is_name and not equals and word.startswith("-")
        return " ".join(w if w == REDACTED else shlex.quote(w) for w in shown)


class Nothing(Redaction):
    """All stays as it is: `--raw`."""

    def frame(self, data: bytes) -> bytes:
        """The same."""
        return data

    def text(self, text: str) -> str:
        """The same."""
        return text

    def headers(self, headers: Iterable[tuple[str, str]]) -> dict[str, str]:
        """The same."""
        return dict(headers)

    def command(self, words: Iterable[str]) -> str:
        """The same."""
        return shlex.join(words)


@lru_cache(4096)
def is_secret(name: str) -> bool:
    """Does a key or the name of a header look as if its value were secret?"""
    ends = name if len(name) < 200 else name[:100] + name[-100:]
    plain = re.sub(r"[^a-z0-9]", "", ends.lower())
    return plain not in _HARMLESS and _SECRET.search(plain) is not None


def _may_hold(data: bytes) -> bool:
    if len(data) > LONG:
        strings = data.split(b'"')
        data = b'"'.join(s for s in strings if len(s) < 1000 or not _BLOB.fullmatch(s))
    lower = data.lower()
    # A loop, because a generator takes twice as long and this is done for every frame.
    for hint in _HINTS:  # noqa: SIM110
        if hint in lower:
            return True
    return False


def _json(data: bytes, depth: int) -> bytes:
    value = decode(data)
    clean = _clean(value, depth)
    # A key that is there twice was decoded once.
    is_all = encode(value) == format(data, indent=-1)
    return data if is_all and clean == value else encode(clean)


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _text(value, depth)
    if isinstance(value, list):
        return _list(value, depth)
    if not isinstance(value, dict):
        return value
    hidden: tuple[str, ...] = ()
    if any(is_secret(n) for k in _NAME if isinstance(n := value.get(k), str)):
        hidden = _VALUE
    if any(key in value for key in _BESIDE_CODE):
        hidden += ("code",)
    return {
        key: _hidden(item) if key in hidden else _member(key, item, depth)
        for key, item in value.items()
    }


def _list(value: list[Any], depth: int) -> list[Any]:
    """Also words of a command, `--token` before its value, and pairs as of headers."""
    before: Any = None
    clean = []
    for item in value:
        if isinstance(item, list) and len(item) == 2 and _is_secret_word(item[0]):
            clean.append([item[0], _hidden(item[1])])
        elif isinstance(item, str) and _is_secret_word(before, "-") and item[:1] != "-":
            clean.append(_hidden(item))
        else:
            clean.append(_clean(item, depth))
        before = item
    return clean


def _is_secret_word(value: Any, start: str = "") -> bool:
    return isinstance(value, str) and value.startswith(start) and is_secret(value)


def _member(key: str, value: Any, depth: int) -> Any:
    if is_secret(key) and not _is_count(key, value):
        return _hidden(value)
    if key in _OF_SCHEMAS and isinstance(value, dict):
        return {name: _named(name, schema, depth) for name, schema in value.items()}
    return _clean(value, depth)


def _is_count(key: str, value: Any) -> bool:
    """`maxTokens: 100` is about tokens of another kind."""
    return isinstance(value, int | float) and key.lower().endswith("tokens")


def _hidden(value: Any) -> Any:
    """A secret: the form stays, the content goes."""
    if isinstance(value, dict):
        return {key: _hidden(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    keeps = value is None or isinstance(value, bool) or value == ""
    return value if keeps else REDACTED


def _named(name: str, schema: Any, depth: int) -> Any:
    """What belongs to a name is a schema; that of a secret, or no schema, is cleaned."""
    if not is_secret(name):
        return _clean(schema, depth)
    return _schema(schema, depth) if isinstance(schema, dict) else _hidden(schema)


def _schema(value: Any, depth: int) -> Any:
    """The schema of a secret: its words stay, its values (a default, …) do not."""
    if isinstance(value, dict):
        return {
            key: _clean(item, depth) if key in _SAID else _schema(item, depth)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_schema(item, depth) for item in value]
    return REDACTED if isinstance(value, str) and value else value


def _text(text: str, depth: int) -> str:
    if _DATA.fullmatch(text):
        return text
    if not _may_hold(text.encode("utf-8", "surrogatepass")):
        return text
    begin = text.lstrip()[:1]
    if begin in ("{", "[") and depth < _DEEPEST:
        try:
            return _json(text.encode(), depth + 1).decode()
        except (DecodeError, UnicodeError, RecursionError):
            pass  # it is no JSON, or only a part of it is
    text = _KNOWN.sub(REDACTED, text)
    text = _HEADER.sub(rf"\1{REDACTED}", text)
    text = _SCHEME.sub(lambda found: f"{found[1] or found[2]}{REDACTED}", text)
    text = _ASSIGNED.sub(_assigned, text)
    return _USER.sub(f"{REDACTED}@", text)


def _assigned(found: re.Match[str]) -> str:
    name, plain = found[1], found["plain"]
    if plain is not None:
        return found[0] if plain in _PLAIN else f"{name}{REDACTED}"
    if (escape := found["escape"]) is not None:
        return f'{name}{escape}"{REDACTED}'
    mark = "'" if found["single"] is not None else '"'
    return f"{name}{mark}{REDACTED}{mark}"
