"""From what a project uses, and what changes between versions: what to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from ..catalog import Catalog
from ..diagnostics import Diagnostic
from ..diff.change import Change
from ..diff.compare import compare
from ..diff.rules import SPELLING
from ..ir import Protocol, refs
from .calls import sender
from .modules import Modules
from .trees import Tree
from .uses import NEWEST, Use, uses

Kind: TypeAlias = Literal["changed", "dropped", "repinned", "gone"]
Leads: TypeAlias = tuple[tuple[str, int], ...]

_FELT = {
    *("METHOD_REMOVED", "METHOD_KIND_CHANGED", "METHOD_EMBEDDED_CHANGED"),
    *("METHOD_SENDER_REMOVED", "METHOD_DEPRECATED", "METHOD_DEPRECATION_CHANGED"),
}
"""What reaches through the runtime, which takes care of how messages look."""
_RUNS_AGAIN = "the runtime sees to it; code before the call may run again"


@dataclass(frozen=True)
class Place:
    """Where the project's code is affected."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Note:
    """One thing that the project uses, and what becomes of it."""

    kind: Kind
    subject: str
    """A definition, a method, a version, or a name of the runtime."""
    old: str
    new: str
    """The versions that are compared; nothing where none are."""
    places: tuple[Place, ...]
    changes: tuple[Change, ...] = ()
    through: Leads = ()
    """Definitions that it leads to, with how many changes each has."""


def affected(
    root: Path, trees: tuple[Tree, ...], catalog: Catalog
) -> tuple[tuple[Note, ...], list[Diagnostic]]:
    """What of the code below `root` bringing the trees up to date is felt by.

    Also the files that cannot be read, of which nothing is known.
    """
    held = {version for tree in trees for version in tree.before.schemas}
    names = [name for name in catalog.names() if name in held]
    protocols = {name: catalog.protocol(name)[0] for name in names}
    speakable = [name for name in names if catalog.pin(name).kind == "protocol"]
    if speakable:
        protocols[NEWEST] = protocols[speakable[-1]]
    owned = {tree.shown: tree.copy for tree in trees}
    found, unread = uses(root, owned, protocols)
    return _notes(found, trees, catalog), unread


def _notes(
    uses: list[Use], trees: tuple[Tree, ...], catalog: Catalog
) -> tuple[Note, ...]:
    made = [
        *_changed(uses, trees, catalog),
        *_versions(uses, trees),
        *_gone(uses, trees),
    ]
    order = ("gone", "dropped", "repinned", "changed")
    return tuple(
        sorted(made, key=lambda n: (order.index(n.kind), n.old, n.new, n.subject))
    )


# --- what changes from one version to another ---------------------------------------


def _changed(
    uses: list[Use], trees: tuple[Tree, ...], catalog: Catalog
) -> Iterator[Note]:
    steps = {tree.shown: _Steps(tree, catalog) for tree in trees}
    affected: dict[tuple[str, str, str, bool, str], set[Place]] = {}
    for use in uses:
        if not use.name:
            continue
        asked = [steps[use.tree]] if use.tree in steps else list(steps.values())
        step = next((s for one in asked if (s := one.step(use.version))), None)
        if step:
            through = sender(use.owner, use.name) if use.kind == "call" else ""
            key = (*step, use.name, use.kind == "definition", through)
            place = Place(use.file, use.line, use.text)
            affected.setdefault(key, set()).add(place)
    compared: dict[tuple[str, str], _Compared] = {}
    for (old, new, name, is_definition, side), places in affected.items():
        if (old, new) not in compared:
            both = catalog.protocol(old)[0], catalog.protocol(new)[0]
            compared[old, new] = _Compared(*both)
        between = compared[old, new]
        leads: Leads = ()
        if side:
            changes = between.call(name, side)
        elif is_definition:
            changes, leads = between.definitions({name})
        else:
            changes, leads = between.method(name)
        if changes or leads:
            ordered = tuple(sorted(places, key=lambda p: (p.file, p.line, p.text)))
            yield Note("changed", name, old, new, ordered, changes, leads)


class _Steps:
    """From which version to which a tree goes, for code that uses one of them."""

    def __init__(self, tree: Tree, catalog: Catalog) -> None:
        names = [n for n in catalog.names() if catalog.pin(n).kind == "protocol"]
        self.order = {name: number for number, name in enumerate(names)}
        self.old = [name for name in names if name in tree.before.schemas]
        self.new = [name for name in names if name in tree.schemas]
        added = [name for name in self.new if name in tree.added]
        self.added = added[-1] if added else ""
        self.dropped = tree.dropped

    def step(self, version: str) -> tuple[str, str] | None:
        """The version that is used, and the one to look at instead; None: no change."""
        if not self.old or not self.new:
            return None
        if version in ("", NEWEST):
            old, new = self.old[-1], self.new[-1]
            return (old, new) if old != new else None
        if version not in self.old:
            return None
        later = [n for n in self.new if self.order[n] > self.order[version]]
        if version in self.dropped:
            return version, (
                self.added if self.added in later else (later or self.new)[0]
            )
        return (version, self.added) if self.added in later else None


class _Compared:
    """The changes between two versions, by what they belong to."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self.old = old
        self.types = {d.name: d.type for d in old.definitions}
        self.by_subject: dict[tuple[str, str], list[Change]] = {}
        for change in compare(old, new):
            if change.rule not in SPELLING:
                key = (change.group, change.subject)
                self.by_subject.setdefault(key, []).append(change)

    def call(self, method: str, side: str) -> tuple[Change, ...]:
        """What a program feels that leaves the messages to the runtime."""
        return tuple(
            (
                replace(change, breaking_for=(), hint=_RUNS_AGAIN)
                if change.rule == "METHOD_EMBEDDED_CHANGED"
                else change
            )
            for change in self.by_subject.get(("methods", method), ())
            if change.rule in _FELT
            and (
                change.rule != "METHOD_SENDER_REMOVED"
                or side not in change.after.split(" and ")
            )
        )

    def method(self, name: str) -> tuple[tuple[Change, ...], Leads]:
        """What happens to a method, its message, its params and its results."""
        own = tuple(self.by_subject.get(("methods", name), ()))
        method = next((m for m in self.old.methods if m.name == name), None)
        if method is None or any(c.rule == "METHOD_REMOVED" for c in own):
            return own, ()
        named = {method.definition, method.params or "", *method.results}
        more, through = self.definitions(named)
        return own + more, through

    def definitions(self, names: set[str]) -> tuple[tuple[Change, ...], Leads]:
        """What happens to definitions, and how much to those that they lead to."""
        own = [
            c
            for n in sorted(names)
            for c in self.by_subject.get(("definitions", n), ())
        ]
        reached: set[str] = set()
        waiting = sorted(names & self.types.keys())
        while waiting:
            name = waiting.pop()
            for inner in refs(self.types[name]):
                if inner in self.types and inner not in reached:
                    reached.add(inner)
                    waiting.append(inner)
        counted = {
            name: len(self.by_subject.get(("definitions", name), ()))
            for name in sorted(reached - names)
        }
        return tuple(own), tuple((n, count) for n, count in counted.items() if count)


# --- what is no longer there --------------------------------------------------------


def _versions(uses: list[Use], trees: tuple[Tree, ...]) -> Iterator[Note]:
    """Code that names a version whose package goes, or is made from another schema."""
    for tree in trees:
        kinds: tuple[tuple[Kind, tuple[str, ...]], ...] = (
            ("dropped", tree.dropped),
            ("repinned", tree.repinned),
        )
        for kind, versions in kinds:
            for version in versions:
                places = _places(
                    u for u in uses if u.tree == tree.shown and u.version == version
                )
                if places:
                    yield Note(kind, version, version, "", places)


def _gone(uses: list[Use], trees: tuple[Tree, ...]) -> Iterator[Note]:
    """Names that the code imports, which are in a tree and will not be."""
    for tree in trees:
        mine = [
            u for u in uses if u.tree == tree.shown and u.version not in tree.dropped
        ]
        if tree.files is None or not mine:
            continue
        now = Modules(tree.modules(planned=False))
        then = Modules(tree.modules(planned=True))
        # What a schema defines is there as long as its version is.
        targets = {u.target for u in mine if u.target and u.kind != "definition"}
        for target in sorted(targets):
            if now.has(target) and not then.has(target):
                places = _places(use for use in mine if use.target == target)
                yield Note("gone", ".".join(target), "", "", places)


def _places(found: Iterable[Use]) -> tuple[Place, ...]:
    places = {Place(use.file, use.line, use.text) for use in found}
    return tuple(sorted(places, key=lambda p: (p.file, p.line, p.text)))
