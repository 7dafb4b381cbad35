"""What a typed client is made like: a value that the command line and settings can say.

Both are read by `read`, so that the same mistake gets the same answer.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ..datamodel import FLAVOURS, Flavour
from ..diagnostics import clip, did_you_mean
from ..names import pascal_case
from ..vendor.request import Problem

RUNTIME = "mcpgen"
VENDORED = "._mcp"
KEYS = ("flavour", "include", "exclude", "runtime")


@dataclass(frozen=True)
class Request:
    """How a module is made from a listing; where both are is another matter."""

    flavour: Flavour = "msgspec"
    include: tuple[str, ...] = ()
    """Patterns of names; empty means all."""
    exclude: tuple[str, ...] = ()
    runtime: str = RUNTIME
    """The package that `runtime` is imported from; one with dots is beside the module."""

    def table(self) -> dict[str, Any]:
        """The same as settings hold it; what says nothing is left out."""
        table: dict[str, Any] = {}
        table |= {"flavour": self.flavour} if self.flavour != "msgspec" else {}
        table |= {"include": list(self.include)} if self.include else {}
        table |= {"exclude": list(self.exclude)} if self.exclude else {}
        table |= {"runtime": self.runtime} if self.runtime != RUNTIME else {}
        return table


def read(table: Mapping[str, Any]) -> tuple[Request, list[Problem]]:
    """The request that a table says, and everything wrong with it."""
    found = [*_patterns(table), *_flavour(table), *_runtime(table)]
    if found:
        return Request(), found
    return (
        Request(
            table.get("flavour", "msgspec"),
            tuple(table.get("include", ())),
            tuple(table.get("exclude", ())),
            table.get("runtime", RUNTIME),
        ),
        [],
    )


def class_name(path: str) -> str:
    """`src/weather_client.py` → `WeatherClient`."""
    name = pascal_case(PurePosixPath(path).stem) or "Server"
    name = name if name.endswith("Client") else f"{name}Client"
    # The base of them all has its name already.
    return f"Server{name}" if name[0].isdigit() or name == "TypedClient" else name


def _patterns(table: Mapping[str, Any]) -> Iterator[Problem]:
    for key in ("include", "exclude"):
        value = table.get(key, ["*"])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            yield Problem(key, "must be a list of strings")
        elif not value or not all(value):
            yield Problem(key, "is empty", 'a pattern is like "get_*"')


def _flavour(table: Mapping[str, Any]) -> Iterator[Problem]:
    value = table.get("flavour", "msgspec")
    if value not in FLAVOURS:
        known = f"flavours are: {', '.join(FLAVOURS)}"
        hint = did_you_mean(value, FLAVOURS) if isinstance(value, str) else ""
        yield Problem(
            "flavour", f'"{clip(str(value), 40)}" is not known', hint or known
        )


def _runtime(table: Mapping[str, Any]) -> Iterator[Problem]:
    value = table.get("runtime", RUNTIME)
    names = value.lstrip(".").split(".") if isinstance(value, str) else [""]
    if not all(
        n.isascii() and n.isidentifier() and not keyword.iskeyword(n) for n in names
    ):
        hint = f'such as "{RUNTIME}", or "{VENDORED}" for a copy beside the module'
        yield Problem("runtime", "must be the name of a package", hint)
