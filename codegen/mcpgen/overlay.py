"""The overlay: facts that no schema holds, as data (`schema/overlay.toml`).

A fact holds from the version it is written for until a later version says otherwise.
"Later" follows the chain of predecessors, so that a version added tomorrow inherits
from the one it came after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .diagnostics import fail
from .ir import ErrorCode, Replacement, Side, Trait
from .lower import canonical
from .names import NameOverride


@dataclass(frozen=True)
class CapabilityGate:
    """Which capability a method needs, where its name does not say so."""

    method: str
    owner: Side
    path: tuple[str, ...]


@dataclass(frozen=True)
class Overlay:
    """What holds for one version."""

    names: tuple[NameOverride, ...]
    capabilities: tuple[CapabilityGate, ...]
    results: tuple[tuple[str, str], ...]
    """(method, a further definition that may answer it)."""
    deprecated: tuple[tuple[str, str], ...]
    """(method, why and what to use instead)."""
    replaced: tuple[Replacement, ...]
    errors: tuple[ErrorCode, ...]
    eras: tuple[tuple[str, str], ...]
    """(method that a schema offers, the era this makes it)."""
    directions: tuple[tuple[str, str, str], ...]
    """(union definition, kind of its members, who sends them)."""
    traits: tuple[Trait, ...]


_TABLES = {
    "name": {"at", "name"},
    "field": {"at", "name"},
    "capability": {"method", "owner", "path"},
    "result": {"method", "result"},
    "deprecated": {"methods", "note", "since"},
    "replaced": {"method", "by", "since"},
    "error": {"name", "code", "doc", "since"},
    "era": {"offers", "era"},
    "direction": {"union", "kind", "sent_by"},
    "trait": {"name", "doc", "values"},
}
_OPTIONAL = {"since", "until"}


def read_overlay(table: dict[str, Any], chain: tuple[str, ...], file: str) -> Overlay:
    """The facts of `overlay.toml` for the version that ends `chain`, oldest first."""
    _check(table, file)

    def holds(fact: dict[str, Any]) -> bool:
        begun = "since" not in fact or fact["since"] in chain
        return begun and fact.get("until") not in chain

    def rows(name: str) -> list[dict[str, Any]]:
        return [row for row in table.get(name, []) if holds(row)]

    return Overlay(
        names=tuple(
            NameOverride(r["at"], r["name"], kind)
            for kind in ("name", "field")
            for r in rows(kind)
        ),
        capabilities=tuple(
            CapabilityGate(r["method"], r["owner"], tuple(r["path"]))
            for r in rows("capability")
        ),
        results=tuple((r["method"], r["result"]) for r in rows("result")),
        deprecated=tuple(
            (method, r["note"]) for r in rows("deprecated") for method in r["methods"]
        ),
        replaced=tuple(Replacement(r["method"], r["by"]) for r in rows("replaced")),
        errors=tuple(ErrorCode(r["name"], r["code"], r["doc"]) for r in rows("error")),
        eras=tuple((r["offers"], r["era"]) for r in rows("era")),
        directions=tuple(
            (r["union"], r["kind"], r["sent_by"]) for r in rows("direction")
        ),
        traits=tuple(_traits(rows("trait"), chain)),
    )


def _traits(rows: list[dict[str, Any]], chain: tuple[str, ...]) -> list[Trait]:
    traits = []
    for row in rows:
        values = [row["values"][v] for v in chain if v in row["values"]]
        # A chain without a value is an extension or a version older than all facts:
        # the oldest value is the most conservative one known.
        value = values[-1] if values else next(iter(row["values"].values()))
        traits.append(Trait(row["name"], canonical(value), row["doc"]))
    return traits


def _check(table: dict[str, Any], file: str) -> None:
    for name, rows in table.items():
        if name not in _TABLES:
            raise fail("overlay-malformed", f"unknown table [[{name}]]", file=file)
        for number, row in enumerate(rows, 1):
            missing = _TABLES[name] - row.keys() - _OPTIONAL
            unknown = row.keys() - _TABLES[name] - _OPTIONAL
            for key in sorted(missing):
                raise fail(
                    "overlay-malformed", f"[[{name}]] {number} has no {key}", file=file
                )
            for key in sorted(unknown):
                raise fail(
                    "overlay-malformed",
                    f"[[{name}]] {number}: unknown key {key}",
                    file=file,
                )
