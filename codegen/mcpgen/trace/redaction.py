"""Secrets, and how they are kept out of a recording.

A value is replaced when its key looks secret, and a part of a string when it has the form
of a secret. What is replaced too much is a nuisance, what is replaced too little is a
leak; but what a reader of recordings needs stays: schemas, progress tokens, session ids.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode, encode, format

from ..headers import ARGUMENT, meaning
from .secrets import REDACTED, PrivateKeys, among, is_secret, may_hold, without

_NAME = {"name", "key", "header", "variable", "field", "label", "element", "id"}
_NAME |= {"Name", "Key"}
_VALUE = ("value", "values", "val", "Value")
_BESIDE_CODE = ("grant_type", "redirect_uri", "code_verifier")
"""Where one of these is, `code` is that of OAuth, else a number of an error or source."""
_DATA = re.compile(r"[A-Za-z0-9+/\r\n]{1000,}+={0,2}\s*")
"""An image or the like, in base64: nothing in it has a form, and it may be long."""
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

    def __init__(self) -> None:
        self._keys = PrivateKeys()

    def frame(self, data: bytes) -> bytes:
        """A message as JSON; the same bytes if there is no secret in it."""
        if not may_hold(data):
            return data
        return _json(data, 0)

    def text(self, text: str) -> str:
        """A line of a log, or of anything."""
        return _text(self._keys.without(text), 0)

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
        every = list(words)
        hidden = among(every)
        shown = [hidden.get(n) or self._word(word) for n, word in enumerate(every)]
        return " ".join(w if w == REDACTED else shlex.quote(w) for w in shown)

    def _word(self, word: str) -> str:
        name, equals, _ = word.partition("=")
        if equals and (name == "--key" or is_secret(name.lstrip("-/"))):
            return f"{name}={REDACTED}"
        return self.text(word)


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
    if isinstance(where := value.get("element"), str) and is_secret(where):
        hidden += ("text",)  # what a browser is told to type there
    if any(key in value for key in _BESIDE_CODE):
        hidden += ("code",)
    command = value.get("command")
    return {
        key: _hidden(item) if key in hidden else _member(key, item, depth, command)
        for key, item in value.items()
    }


def _list(value: list[Any], depth: int, command: Any = "") -> list[Any]:
    """Also words of a command, `--token` before its value, and pairs as of headers."""
    hidden = among([command, *value])
    clean: list[Any] = []
    for place, item in enumerate(value, 1):
        if place in hidden:
            clean.append(hidden[place])
        elif _is_pair(item) and is_secret(item[0]):
            clean.append([item[0], _hidden(item[1])])
        else:
            clean.append(_clean(item, depth))
    return clean


def _is_pair(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)


def _member(key: str, value: Any, depth: int, command: Any) -> Any:
    if is_secret(key) and not _is_count(key, value):
        return _hidden(value)
    if key in _OF_SCHEMAS and isinstance(value, dict):
        return {name: _named(name, schema, depth) for name, schema in value.items()}
    if key == "args" and isinstance(value, list):  # as hosts write it
        return _list(value, depth, command)
    return _clean(value, depth)


def _is_count(key: str, value: Any) -> bool:
    """`maxTokens: 100` is about tokens of another kind."""
    name = key.lower()
    if isinstance(value, int | float):
        return name.endswith("tokens") or name == "pass"  # and so many fail
    return isinstance(value, str) and value.isdigit() and name.endswith("tokens")


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
    if not may_hold(text.encode("utf-8", "surrogatepass")):
        return text
    begin = text.lstrip()[:1]
    if begin in ("{", "[") and depth < _DEEPEST:
        try:
            return _json(text.encode(), depth + 1).decode()
        except (DecodeError, UnicodeError, RecursionError):
            pass  # it is no JSON, or only a part of it is
    return without(text)
