"""What only some functions need: schemas written by hand, docstrings with sections.

Imported when such a function is registered, and jsonschema only for the former.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import Parameter
from itertools import islice
from typing import Any, get_origin

from msgspec import json

from .functions import (
    MAX_ISSUES,
    ArgumentError,
    Arguments,
    OutputError,
    Problem,
    Schema,
    encoded,
)

MAX_SCHEMA_BYTES = 1_000_000
MAX_SCHEMA_DEPTH = 64

_SECTION = re.compile(r"(?:Args|Arguments|(?:Other )?Parameters|Keyword Args)(:?)$")
_SPHINX = re.compile(r":param (?:[^:]* )?\**(\w+):\s*(.*)")
_GOOGLE = re.compile(r"\**(\w+)\s*(?:\(.*?\))?:\s*(.*)")
_NUMPY = re.compile(r"\**(\w+)\s*(?::.*)?$()")


class CheckedArguments(Arguments):
    """Arguments that a hand-written schema decides about; they stay as they are."""

    def __init__(
        self,
        name: str,
        schema: Schema,
        parameters: Mapping[str, Parameter],
        context: str | None,
        hints: Mapping[str, Any],
    ) -> None:
        super().__init__(parameters, dict.fromkeys(parameters, Any), context, True)
        self._checker = Checker(name, schema)
        where = f"{name}(): the input schema"
        if schema.get("type") != "object":
            raise TypeError(f'{where} must say "type": "object"')
        properties = schema.get("properties", {})
        self._whole = self._takes_all(properties, hints)
        if self._whole is None and not self.rest:
            for unknown in (n for n in properties if n not in self.fields):
                raise TypeError(f"{where} has `{unknown}`, which is no parameter")

    def _takes_all(self, properties: Schema, hints: Mapping[str, Any]) -> str | None:
        """The one parameter that gets all arguments in a dict, if there is one."""
        if self.rest or len(self.fields) != 1 or self.fields.keys() & properties.keys():
            return None
        (only,) = self.fields
        hint = hints.get(only)
        return only if (get_origin(hint) or hint) in (dict, Mapping) else None

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Checked by the schema; ArgumentError if they do not fit."""
        self._checker.check(arguments, ArgumentError)
        if self._whole is not None:
            return {self._whole: dict(arguments)}
        return super().bind(arguments)


class Checker:
    """A hand-written schema, and jsonschema to check values with it."""

    def __init__(self, name: str, schema: Schema) -> None:
        if not _is_bounded(schema):
            raise TypeError(
                f"{name}(): a schema has at most {MAX_SCHEMA_BYTES} bytes "
                f"and {MAX_SCHEMA_DEPTH} levels"
            )
        try:
            from jsonschema import Draft202012Validator, SchemaError
            from jsonschema.validators import validator_for
            from jsonschema_specifications import REGISTRY
        except ImportError as exc:
            raise ImportError(
                f"{name}() has a hand-written schema: pip install 'mcpgen[schema]'"
            ) from exc
        kind = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(schema)
        except SchemaError as exc:
            at = f"{exc.json_path}: {exc.message}"
            raise TypeError(f"{name}(): not a JSON Schema: {at}") from exc
        # This registry has the drafts' own schemas and fetches nothing.
        self._validator = kind(schema, registry=REGISTRY)

    def check(self, value: Any, error: type[Problem]) -> None:
        """Raise `error` with what the schema says against a value."""
        from referencing.exceptions import Unresolvable

        try:
            found = self._validator.iter_errors(value)
            issues = [(e.json_path, e.message[:300]) for e in islice(found, MAX_ISSUES)]
        except Unresolvable as exc:
            issues = [("$", f"the schema refers to `{exc.ref}`; nothing is fetched")]
        except RecursionError:
            issues = [("$", "nested too deeply")]
        if issues:
            raise error(issues)

    def result(self, value: Any) -> bytes:
        """A returned value as JSON text that fits the schema."""
        text = encoded(value)
        self.check(json.decode(text), OutputError)
        return text


def _is_bounded(schema: Schema) -> bool:
    """Neither too large nor too deep; what contains itself is."""
    stack: list[tuple[Any, int]] = [(schema, 1)]
    seen = 0
    while stack:
        value, depth = stack.pop()
        seen += 1
        if depth > MAX_SCHEMA_DEPTH or seen > MAX_SCHEMA_BYTES:
            return False
        inner = value.values() if isinstance(value, dict) else value
        if isinstance(value, dict | list):
            stack.extend((item, depth + 1) for item in inner)
    return len(json.encode(schema)) <= MAX_SCHEMA_BYTES


def parameter_docs(doc: str) -> dict[str, str]:
    """What a docstring in Google's, NumPy's or Sphinx's style says of parameters."""
    found: dict[str, str] = {}
    name, depth, entry = "", 0, _SPHINX
    for line in doc.splitlines():
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if section := _SECTION.match(text):
            name, entry = "", _GOOGLE if section[1] else _NUMPY
        elif set(text) <= {"-"}:
            if text and name:  # It underlines the name of another section.
                name, entry = "", _SPHINX
        elif name and indent > depth:
            found[name] = f"{found[name]} {text}".strip()
        elif match := entry.match(text):
            name, depth, found[match[1]] = match[1], indent, match[2]
        else:
            name, entry = "", _SPHINX
    return found
