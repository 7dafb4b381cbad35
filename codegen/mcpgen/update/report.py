"""What an update did or would do: for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from ..diff.change import Change
from ..diff.report import BREAKS, clipped, printable
from ..publish import Published
from ..resources import VERSION
from .notes import Note, Place
from .trees import Tree

_CLIP = 140
_MOST = 12
"""Lines per note for people; JSON holds everything."""


@dataclass(frozen=True)
class Done:
    """A tree, and what happened to it; nothing yet, where `published` is None."""

    tree: Tree
    published: Published | None


@dataclass(frozen=True)
class Report:
    """Everything that one update has to say."""

    done: tuple[Done, ...]
    edited: tuple[str, ...]
    """Edited by hand, and in the way."""
    notes: tuple[Note, ...]
    settings: bool
    """Do the lists of versions in pyproject.toml change?"""
    read: bool
    """Has the project's code been looked at? Only where something changes."""
    untaken: tuple[str, ...] = ()
    """Pinned versions, newer than all that the project lists."""

    @property
    def current(self) -> bool:
        """Is there nothing to do?"""
        return not self.settings and all(d.tree.files is None for d in self.done)


def as_json(report: Report) -> str:
    """For machines. docs/update.md describes the shape: keep it stable."""
    content = {
        "mcpgen": VERSION,
        "current": report.current,
        "trees": [_tree(done) for done in report.done],
        "edited": list(report.edited),
        "notes": [_note(note) for note in report.notes],
        "untaken": list(report.untaken),
    }
    return json.dumps(content, indent=2) + "\n"


def _tree(done: Done) -> dict[str, Any]:
    tree, published = done.tree, done.published
    return {
        "path": tree.shown,
        "current": tree.files is None,
        "mcpgen": tree.before.mcpgen,
        "versions": list(tree.schemas),
        "added": list(tree.added),
        "dropped": list(tree.dropped),
        "repinned": list(tree.repinned),
        "pending": {} if published else {d.path: d.kind for d in tree.differences()},
        "written": list(published.written) if published else [],
        "removed": list(published.removed) if published else [],
        "saved": dict(published.saved) if published else {},
    }


def _note(note: Note) -> dict[str, Any]:
    return {
        "kind": note.kind,
        "subject": note.subject,
        "old": note.old,
        "new": note.new,
        "places": [asdict(place) for place in note.places],
        "changes": [
            {
                "rule": change.rule,
                "place": change.place,
                "before": change.before,
                "after": change.after,
                "breaking_for": list(change.breaking_for),
                "hint": change.hint,
            }
            for change in note.changes
        ],
        "through": dict(note.through),
    }


def as_text(report: Report) -> str:
    """For people: what happened to each tree, then what to look at."""
    lines = [line for done in report.done for line in _happened(done)]
    lines += _advice(report)
    lines += _told(report.notes)
    if report.read and not report.notes:
        lines += ["", "nothing that you use has changed"]
    return "".join(f"{line}\n" for line in lines)


def _happened(done: Done) -> Iterator[str]:
    tree, published = done.tree, done.published
    if tree.files is None:
        yield f"{tree.shown} is up to date"
        return
    made = printable(clipped(tree.before.mcpgen, 40))
    came = "" if made == VERSION else f"{made} → " if made else "(none yet) → "
    yield f"{tree.shown}: mcpgen {came}{VERSION}"
    for version in tree.added:
        why = ""
        if tree.every and tree.before.schemas:
            why = "  (new; no list of versions, so that every pinned one is taken)"
        yield f"  + {printable(version)}{why}"
    for version in tree.dropped:
        yield f"  - {printable(version)}"
    for version in tree.repinned:
        yield f"  ~ {printable(version)}  (from another schema now)"
    if published:
        total = len(tree.files) - 1  # the MANIFEST is not one of them
        yield (
            f"  {total} files: {len(published.written)} written, "
            f"{total - len(published.written)} unchanged, {len(published.removed)} removed"
        )
        for path, name in published.saved:
            yield f"  your edits of {path} are kept in {name}"
    else:
        count = len(tree.differences())
        yield f"  {count} files differ" if count != 1 else "  1 file differs"


def _advice(report: Report) -> Iterator[str]:
    if report.untaken:
        named = " ".join(f"--add {printable(v)}" for v in report.untaken)
        yield ""
        yield f"pinned, and not taken by this project: mcpgen update {named}"


def _told(notes: tuple[Note, ...]) -> Iterator[str]:
    for (kind, *pair), group in groupby(notes, key=lambda n: (n.kind, n.old, n.new)):
        old, new = map(printable, pair)
        yield ""
        if kind == "gone":
            yield "No longer there:"
        elif kind == "dropped":
            yield f"{old} is no longer there, and is named in:"
        elif kind == "repinned":
            yield f"{old} is made from another schema, which cannot be compared; used in:"
        else:
            yield f"What you use of {old} is different in {new}:"
        for note in group:
            yield ""
            if kind not in ("dropped", "repinned"):
                yield f"  {printable(note.subject)}"
            yield from _listed(list(_where(note.places)), "    ", note)
            if note.changes or note.through:
                yield from _listed([_change(c) for c in note.changes], "      ", note)
            if note.through:
                inner = ", ".join(f"{name} ({count})" for name, count in note.through)
                yield f"      changes in what it leads to: {clipped(inner, 2 * _CLIP)}"


def _where(places: tuple[Place, ...]) -> Iterator[str]:
    for place in places:
        yield f"{printable(place.file)}:{place.line}  {clipped(printable(place.text), 60)}"


def _listed(lines: list[str], indent: str, note: Note) -> Iterator[str]:
    yield from (f"{indent}{line}" for line in lines[:_MOST])
    if len(lines) > _MOST:
        more = f"mcpgen diff {note.old} {note.new}" if note.changes else "--format json"
        yield f"{indent}… {len(lines) - _MOST} more: {more}"


def _change(change: Change) -> str:
    what = f"{change.before} → {change.after or 'gone'}" if change.before else ""
    what = what or (f"+ {change.after}" if change.after else "")
    if change.hint:
        what += f"; {change.hint}"
    breaks = f" [breaks {BREAKS[change.verdict]}]" if change.breaking_for else ""
    shown = clipped(printable(f"{change.place}  {what}"), _CLIP)
    return f"{change.rule}{breaks}  {shown}"
