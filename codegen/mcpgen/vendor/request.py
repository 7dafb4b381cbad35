"""What to vendor: a value that the command line, the settings and a copy itself can say.

All three are read by `read`, so that the same mistake gets the same answer everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..diagnostics import clip, did_you_mean

PARTS = ("types", "validators", "stubs", "runtime")
FLAVOURS = ("msgspec", "stdlib", "pydantic")
_LISTS = ("parts", "versions", "only")
KEYS = (*_LISTS, "flavour")


@dataclass(frozen=True)
class Request:
    """What a copy holds; where it goes is another matter."""

    parts: tuple[str, ...] = ("types", "validators")
    versions: tuple[str, ...] = ()
    """Empty means every pinned version."""
    only: tuple[str, ...] = ()
    """Definitions; empty means all."""
    flavour: str = "msgspec"

    def table(self) -> dict[str, Any]:
        """The same as settings hold it; what says nothing is left out."""
        table: dict[str, Any] = {"parts": list(self.parts)}
        table |= {"versions": list(self.versions)} if self.versions else {}
        table |= {"only": list(self.only)} if self.only else {}
        table |= {"flavour": self.flavour} if self.flavour != "msgspec" else {}
        return table


@dataclass(frozen=True)
class Problem:
    """What is wrong with one key."""

    key: str
    message: str
    hint: str = ""


def read(table: Mapping[str, Any]) -> tuple[Request, list[Problem]]:
    """The request that a table says, and everything wrong with it."""
    found = [
        problem
        for key in _LISTS
        if key in table
        for problem in _list_problems(key, table[key])
    ]
    flavour = table.get("flavour", "msgspec")
    if not isinstance(flavour, str):
        found.append(Problem("flavour", "must be a string"))
    if found:
        return Request(), found
    lists = {key: tuple(table[key]) for key in _LISTS if key in table}
    asked = lists.get("parts", Request.parts)
    unknown = [part for part in asked if part not in PARTS]
    request = Request(
        parts=tuple(part for part in PARTS if part in asked),
        versions=lists.get("versions", ()),
        only=tuple(sorted(lists.get("only", ()))),
        flavour=flavour,
    )
    found += [_unknown("parts", part, PARTS) for part in unknown]
    return request, [*found, *_conflicts(request)]


def _list_problems(key: str, value: object) -> Iterator[Problem]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        yield Problem(key, "must be a list of strings")
    elif not all(value):
        yield Problem(key, "holds an empty name")
    elif len(set(value)) != len(value):
        yield Problem(key, "names something twice")
    elif not value:
        yield Problem(key, "is empty", "leave it out for the default")


def _conflicts(request: Request) -> Iterator[Problem]:
    if request.flavour not in FLAVOURS:
        yield _unknown("flavour", request.flavour, FLAVOURS)
    elif request.flavour != "msgspec":
        for part in ("stubs", "runtime"):
            if part in request.parts:
                yield Problem(
                    "flavour",
                    f'"{request.flavour}" does not go with the {part}: '
                    "they are made for the msgspec types",
                    f"leave the flavour out, or the {part}",
                )
    if request.only and "runtime" in request.parts:
        yield Problem(
            "only",
            "does not go with the runtime, which needs every definition",
            "leave one of the two out",
        )


def _unknown(key: str, value: str, known: tuple[str, ...]) -> Problem:
    hint = did_you_mean(value, known) or f"known are: {', '.join(known)}"
    return Problem(key, f'"{clip(value, 40)}" is not known', hint)
