"""The parameters of a tool, and arguments for them as people type them.

Schemas come from a server: nothing in them is relied on.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..diagnostics import did_you_mean, fail
from .terminal import compact, line

MAX_BYTES = 64 * 1024 * 1024
REFERENCES = 8
"""So many references in a row are followed."""
PARTS = 200
"""So many parts of a schema are looked at."""
NESTED = 2
"""So deep goes the name of a type…"""
MANY = 12
"""…and so many alternatives has it."""
MOST = 100
"""So many parameters are told to who does not know them."""

_TOGETHER = ("allOf", "anyOf", "oneOf")
_APART = ("anyOf", "oneOf")
_OPEN = ("patternProperties", "unevaluatedProperties")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tool, or one argument of a prompt."""

    name: str
    type: str = ""
    is_required: bool = False
    default: str = ""
    """As JSON; empty if there is none."""
    description: str = ""

    def __str__(self) -> str:
        kind = f": {self.type}" if self.type else ""
        default = f" = {self.default}" if self.default else ""
        return f"{self.name}{kind}{default}{' (required)' if self.is_required else ''}"


class Schema:
    """The input schema of a tool, or any object's."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self.properties: dict[str, Any] = {}
        self.required: set[str] = set()
        for part in self._parts(root, _TOGETHER):
            for name, schema in _mapping(part.get("properties")).items():
                self.properties.setdefault(name, schema)
        for part in self._parts(root, ("allOf",)):
            self.required |= {
                n for n in _list(part.get("required")) if isinstance(n, str)
            }

    def parameters(self) -> list[Parameter]:
        """All that have a name, those that are required first."""
        names = [*self.properties, *sorted(self.required - self.properties.keys())]
        found = [self._parameter(name, self.properties.get(name)) for name in names]
        return sorted(found, key=lambda parameter: not parameter.is_required)

    def takes(self, name: str) -> bool:
        """May there be an argument of that name?"""
        if name in self.properties or name in self.required:
            return True
        more = self._root.get("additionalProperties")
        if (
            more is None
        ):  # what is not forbidden is a typing error where there are names
            return not self.properties or any(key in self._root for key in _OPEN)
        return more is not False

    def types(self, schema: Any) -> set[str]:
        """The JSON types that a value may have; none if that is open."""
        found: set[str] = set()
        for part in self._parts(schema, _TOGETHER):
            named = part.get("type")
            found |= {t for t in (named, *_list(named)) if isinstance(t, str)}
            found |= {_type_of(value) for value in _members(part)}
        return found

    def type_name(self, schema: Any, depth: int = 0) -> str:
        """What a value may be, in as few words as possible."""
        schema = self._resolved(schema)
        members = _members(schema)
        if members:
            more = [] if len(members) <= MANY else ["…"]
            return " | ".join([*map(compact, members[:MANY]), *more])
        found = [
            self.type_name(option, depth + 1)
            for key in _APART
            for option in _list(schema.get(key))[:MANY]
            if depth < NESTED
        ]
        named = schema.get("type")
        for kind in (named, *_list(named)):
            if kind == "array" and depth < NESTED:
                of = self.type_name(schema.get("items"), depth + 1)
                found.append(f"({of})[]" if " | " in of else f"{of}[]")
            elif isinstance(kind, str):
                found.append(kind)
        return " | ".join(dict.fromkeys(found)) or "any"

    def _parameter(self, name: str, schema: Any) -> Parameter:
        resolved = self._resolved(schema)
        described = _mapping(schema).get("description", resolved.get("description"))
        return Parameter(
            name=name,
            type=self.type_name(schema),
            is_required=name in self.required,
            default=compact(resolved["default"]) if "default" in resolved else "",
            description=described if isinstance(described, str) else "",
        )

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        """A schema after its references within the same document."""
        found = _mapping(schema)
        for _ in range(REFERENCES):
            reference = found.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            place: Any = self._root
            for step in reference[2:].split("/"):
                key = step.replace("~1", "/").replace("~0", "~")
                place = _mapping(place).get(key)
            rest = {key: value for key, value in found.items() if key != "$ref"}
            found = {**_mapping(place), **rest}
        return found

    def _parts(self, schema: Any, keys: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """A schema, and those that it is made of."""
        queue = [schema]
        for part in queue:
            resolved = self._resolved(part)
            yield resolved
            for key in keys if len(queue) < PARTS else ():
                queue += _list(resolved.get(key))[:PARTS]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _members(schema: Mapping[str, Any]) -> list[Any]:
    return [schema["const"]] if "const" in schema else _list(schema.get("enum"))


def _type_of(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    kinds |= {type(None): "null", list: "array", dict: "object"}
    return kinds[type(value)]


# --- arguments ------------------------------------------------------------------------


class Arguments:
    """The arguments of a call as they were typed; files and standard input are read.

    `words` are name=value, name:=JSON and name=@FILE; `whole` is JSON, @FILE or -.
    """

    def __init__(self, words: Iterable[str], whole: str | None) -> None:
        self._ready: dict[str, Any] = {} if whole is None else _object(whole)
        self._texts: dict[str, str] = {}
        seen: set[str] = set()
        for word in words:
            name, text, is_json = _split(word)
            if name in seen:
                raise fail("arguments", f"{line(name)} is given twice")
            seen.add(name)
            self._ready.pop(name, None)
            if is_json:
                self._ready[name] = _json(text, name)
            else:
                self._texts[name] = text

    def fit(self, tool: str, schema: Schema) -> dict[str, Any]:
        """What to send; nothing if one is unknown, missing, or not of its type."""
        values, problems = dict(self._ready), []
        for name, text in self._texts.items():
            about = schema.properties.get(name)
            try:
                values[name] = typed(text, schema.types(about))
            except ValueError:
                values[name] = text
                kind = line(schema.type_name(about))
                problems.append(f"{line(name)} is {kind}, not {line(text, 40)}")
        for name in values:
            if not schema.takes(name):
                meant = line(did_you_mean(name, schema.properties))
                problems.append(f"{line(name)} is unknown{meant and f'; {meant}'}")
        for name in sorted(schema.required - values.keys()):
            problems.append(f"{line(name)} is missing")
        if problems:
            hint = _takes(line(tool), schema)
            raise fail("arguments", "; ".join(problems), file=line(tool), hint=hint)
        return values


def typed(text: str, kinds: set[str]) -> Any:
    """What is typed as the value of a JSON type; a string only if nothing else fits.

    ValueError: it is of none of them. Where the types are open, JSON counts as such.
    """
    if kinds != {"string"}:
        try:
            value = _strict(text)
        except (ValueError, RecursionError):
            pass
        else:
            kind = _type_of(value)
            if kind != "string" and (
                not kinds or kind in kinds or (kind == "integer" and "number" in kinds)
            ):
                return value
    if kinds and "string" not in kinds:
        raise ValueError
    return text


def _split(word: str) -> tuple[str, str, bool]:
    name, is_given, text = word.partition("=")
    is_json = name.endswith(":")
    name = name.removesuffix(":")
    if not is_given or not name:
        raise fail(
            "arguments",
            f'"{line(word, 40)}" is no argument',
            hint="write name=value, name:=JSON or name=@FILE",
        )
    return name, _read(text[1:]) if text.startswith("@") else text, is_json


def _object(text: str) -> dict[str, Any]:
    if text == "-":
        text = _decoded(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input")
    elif text.startswith("@"):
        text = _read(text[1:])
    found = _json(text, "--arguments")
    if not isinstance(found, dict):
        raise fail("arguments", "--arguments is not a JSON object")
    return found


def _json(text: str, name: str) -> Any:
    try:
        return _strict(text)
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError as error:
        why = str(error)
    raise fail("arguments", f"{line(name)} is not JSON: {why}")


def _strict(text: str) -> Any:
    """JSON without Infinity and NaN, however they are written."""

    def number(digits: str) -> float:
        if not math.isfinite(value := float(digits)):
            raise ValueError(f"{line(digits, 40)} is out of range")
        return value

    return json.loads(text, parse_constant=number, parse_float=number)


def _read(name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            return _decoded(file.read(MAX_BYTES + 1), Path(name).name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise fail("file-unreadable", reason, file=Path(name).name) from None


def _decoded(data: bytes, name: str) -> str:
    if len(data) > MAX_BYTES:
        raise fail("too-large", f"more than {MAX_BYTES} bytes", file=name)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise fail("not-utf8", "it is not UTF-8 text", file=name) from None


def _takes(tool: str, schema: Schema) -> str:
    lines = [f"    {line(str(p), 200)}" for p in schema.parameters()[:MOST]]
    return "\n".join([f"{tool} takes:", *lines]) if lines else f"{tool} takes nothing"
