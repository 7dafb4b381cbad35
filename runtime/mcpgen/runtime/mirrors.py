"""Arguments that HTTP clients repeat in headers: `x-mcp-header` in an input schema.

A client must refuse a tool whose annotations break the rules, so that the tool would be
gone without a word: they are checked when it is registered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

ANNOTATION = "x-mcp-header"
PREFIX = "mcp-param-"

Path = tuple[str, ...]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_TYPES = ("integer", "string", "boolean")
_SCHEMAS_BY_NAME = ("$defs", "definitions", "patternProperties", "dependentSchemas")
_DATA = ("const", "default", "enum", "examples", ANNOTATION)


def header_parameters(schema: dict[str, Any]) -> dict[str, Path]:
    """Lower-case header name → where in the arguments its value is.

    ValueError says which annotation cannot be.
    """
    found: dict[str, Path] = {}
    for path, annotated in _annotated(schema, ()):
        where = f"`{'.'.join(path)}`" if path else "somewhere"
        name = annotated[ANNOTATION]
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{where}: {ANNOTATION} {name!r} is no name of a header")
        if not path:
            raise ValueError(
                f"{where}: {ANNOTATION} {name!r} stands where no argument is reached "
                "through `properties` alone"
            )
        if annotated.get("type") not in _TYPES:
            raise ValueError(
                f"{where}: {ANNOTATION} {name!r} needs a `type`, one of "
                + ", ".join(_TYPES)
            )
        header = PREFIX + name.lower()
        if header in found:
            raise ValueError(f"{where}: {ANNOTATION} {name!r} is used twice")
        found[header] = path
    return found


def value_at(path: Path, arguments: Any) -> Any:
    """The argument that a header repeats; None when it is not there."""
    for key in path:
        arguments = arguments.get(key) if isinstance(arguments, dict) else None
    return arguments


def _annotated(
    schema: Any, path: Path | None
) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Every schema with an annotation; no path when `properties` do not lead there."""
    if isinstance(schema, list):
        for each in schema:
            yield from _annotated(each, None)
    if not isinstance(schema, dict):
        return
    if ANNOTATION in schema:
        yield path, schema
    for key, inner in schema.items():
        if key in _DATA:
            continue
        if key == "properties" and isinstance(inner, dict):
            for name, each in inner.items():
                yield from _annotated(each, None if path is None else (*path, name))
        elif key in _SCHEMAS_BY_NAME and isinstance(inner, dict):
            for each in inner.values():
                yield from _annotated(each, None)
        else:
            yield from _annotated(inner, None)
