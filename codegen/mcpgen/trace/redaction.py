"""Secrets, and how they are kept out of a recording.

A value is replaced when its key looks secret, and a part of a string when it has the form
of a secret. What is replaced too much is a nuisance, what is replaced too little is a
leak; but what a reader of recordings needs stays: schemas, progress tokens, session ids.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode, encode, format

REDACTED = "[redacted]"

_HINTS = tuple(
    b"pass pwd secret token key credential auth cookie bearer basic jwt signature ://"
    b" eyj github_pat ghp_ gho_ ghs_ xox akia sk- sk_ \\".split()
)
"""Without any of these, in lower case, there is no secret that we could tell."""
_SECRET = re.compile(
    "passw|passphrase|^pwd$|secret|credential|apikey|accesskey|privatekey|signingkey"
    "|encryptionkey|authkey|authorization$|^auth$|cookies?$|bearer$|jwt$|signature$"
    "|tokens?$|tokenvalue$"
)
_HARMLESS = {"progresstoken", "pagetoken", "nextpagetoken", "continuationtoken"}
_NAME, _VALUE = ("name", "key", "header", "variable"), ("value", "values")

# What strings may hold. Quotes may be escaped there, as in JSON inside of a string.
_KEY = (
    r"[\w.-]{0,64}(?:passw(?:or)?d|passphrase|secret|credential|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|authorization|cookie|jwt|signature|(?<!progress)(?<!page)token)"
    r"[\w-]{0,24}"
)
_ASSIGNED = re.compile(
    rf"""(?<![\w.-])({_KEY}\\*+["']?\s*+(?::|=>?)\s*+)"""
    r"""(?:"(?P<quoted>(?:[^"\\\n]|\\.)*+)"?"""
    r"""|(?P<escape>\\++)"(?P<escaped>.*?)(?=(?P=escape)"|$)"""
    r"""|'(?P<single>[^'\n]*+)'?"""
    r"""|(?P<plain>(?:(?:bearer|basic)\s+)?[^\s"',;&\\}\]){[(]++))""",
    re.IGNORECASE | re.MULTILINE,
)
_COOKIES = re.compile(r"((?:^|\n)\s*(?:set-)?cookie\s*:\s*)[^\n\"']+", re.IGNORECASE)
_SCHEME = re.compile(
    r"\b((?i:bearer)\s++)[\w.~+/=-]{6,}|\b((?i:basic)\s++)(?![a-z]+\b)[\w.~+/=-]{8,}"
)
_USER = re.compile(r"(?<=://)[^/?#@\s\"']+@")
_KNOWN = re.compile(
    r"\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)*"  # a JSON web token
    r"|\b(?:sk|rk)[-_][\w-]{16,}|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
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
        value = decode(data)
        clean = _clean(value, 0)
        # A key that is there twice was decoded once.
        is_all = encode(value) == format(data, indent=-1)
        return data if is_all and clean == value else encode(clean)

    def text(self, text: str) -> str:
        """A line of a log, or of anything."""
        return _text(text, 0)

    def headers(self, headers: Iterable[tuple[str, str]]) -> dict[str, str]:
        """HTTP headers: what looks secret, and secrets in what does not."""
        return {
            name: REDACTED if is_secret(name) else self.text(value)
            for name, value in headers
        }

    def path(self, target: str) -> str:
        """The path and the query of an address."""
        return self.text(target)

    def command(self, words: Iterable[str]) -> str:
        """A command line: also `--token abc`, where the value is a word of its own."""
        shown, is_value = [], False
        for word in words:
            if is_value and not word.startswith("-"):
                shown.append(REDACTED)
                is_value = False
                continue
            name, equals, _ = word.partition("=")
            is_name = bool(name) and is_secret(name.lstrip("-/"))
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
    plain = re.sub(r"[^a-z0-9]", "", name[:200].lower())
    return plain not in _HARMLESS and _SECRET.search(plain) is not None


def _may_hold(data: bytes) -> bool:
    lower = data.lower()
    # A loop, because a generator takes twice as long and this is done for every frame.
    for hint in _HINTS:  # noqa: SIM110
        if hint in lower:
            return True
    return False


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _text(value, depth)
    if isinstance(value, list):
        return [_clean(item, depth) for item in value]
    if not isinstance(value, dict):
        return value
    named = any(is_secret(n) for k in _NAME if isinstance(n := value.get(k), str))
    return {
        key: (
            _hidden(item)
            if (is_secret(key) and not _is_count(key, item))
            or (named and key in _VALUE)
            else (
                _schemas(item, depth)
                if key in _OF_SCHEMAS and isinstance(item, dict)
                else _clean(item, depth)
            )
        )
        for key, item in value.items()
    }


def _is_count(key: str, value: Any) -> bool:
    """`maxTokens: 100` is about tokens of another kind."""
    return isinstance(value, int | float) and key.lower().endswith("tokens")


def _hidden(value: Any) -> Any:
    """A secret: the form stays, the content goes."""
    if isinstance(value, dict):
        return {key: _hidden(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return (
        value if value is None or isinstance(value, bool) or value == "" else REDACTED
    )


def _schemas(found: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Where keys are names: what belongs to a secret name is a schema, or a secret."""
    return {
        key: (
            (_schema(item, depth) if isinstance(item, dict) else _hidden(item))
            if is_secret(key)
            else _clean(item, depth)
        )
        for key, item in found.items()
    }


def _schema(value: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """The schema of a secret: its words stay, its values (a default, …) do not."""
    return {
        key: (
            _clean(item, depth)
            if key in _SAID
            else (
                _schemas(item, depth)
                if key in _OF_SCHEMAS and isinstance(item, dict)
                else _nested(item, depth)
            )
        )
        for key, item in value.items()
    }


def _nested(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return _schema(value, depth)
    if isinstance(value, list):
        return [_nested(item, depth) for item in value]
    return REDACTED if isinstance(value, str) and value else value


def _text(text: str, depth: int) -> str:
    if not _may_hold(text.encode("utf-8", "surrogatepass")):
        return text
    begin = text.lstrip()[:1]
    if begin in ("{", "[") and depth < _DEEPEST:
        try:
            value = decode(text)
            clean = _clean(value, depth + 1)
            return text if clean == value else encode(clean).decode()
        except (DecodeError, UnicodeError, RecursionError):
            pass  # it is no JSON, or only a part of it is
    text = _KNOWN.sub(REDACTED, text)
    text = _COOKIES.sub(rf"\1{REDACTED}", text)
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
