"""Which methods each version has: the matrix on top of the HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ..ir import Method, Protocol
from .change import Change
from .compare import compare
from .rules import SPELLING

State = Literal["absent", "removed", "new", "changed", "same"]


@dataclass(frozen=True)
class Cell:
    """One method in one version, seen from the version before."""

    version: str
    state: State
    sent_by: tuple[str, ...] = ()
    embedded: bool = False
    deprecated: str = ""
    changes: int = 0
    """How many changes of the method, its message, its params and its results."""


@dataclass(frozen=True)
class Row:
    """One method in every version."""

    method: str
    kind: str
    cells: tuple[Cell, ...]


def matrix(protocols: Sequence[Protocol]) -> tuple[Row, ...]:
    """A row per method, a cell per version: requests first, each by name."""
    tables = [{m.name: m for m in protocol.methods} for protocol in protocols]
    changes: list[tuple[Change, ...]] = [()]
    for before, after in pairwise(protocols):
        changes.append(compare(before, after))
    kinds = {name: m.kind for table in tables for name, m in table.items()}
    rows = []
    for name in sorted(kinds, key=lambda name: (kinds[name] != "request", name)):
        previous: Method | None = None
        cells = []
        for number, protocol in enumerate(protocols):
            method = tables[number].get(name)
            touched = _touching(method, changes[number])
            cells.append(_cell(protocol.version, method, previous, number, touched))
            previous = method
        rows.append(Row(name, kinds[name], tuple(cells)))
    return tuple(rows)


def _cell(
    version: str,
    method: Method | None,
    previous: Method | None,
    number: int,
    touched: int,
) -> Cell:
    if method is None:
        return Cell(version, "removed" if previous else "absent")
    state: State = "same"
    if previous is None and number:
        state = "new"
    elif touched:
        state = "changed"
    return Cell(
        *(version, state, method.sent_by, method.embedded, method.deprecated),
        changes=touched if state == "changed" else 0,
    )


def _touching(method: Method | None, changes: Sequence[Change]) -> int:
    if method is None:
        return 0
    own = {method.definition, method.params, *method.results}
    return sum(
        (change.group == "methods" and change.subject == method.name)
        or (change.group == "definitions" and change.subject in own)
        for change in changes
        if change.rule not in SPELLING
    )
