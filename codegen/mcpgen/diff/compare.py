"""Two protocols → every change between them, each with its verdict.

Pure: the same two values always give the same changes in the same order. Nothing but
descriptions, pointers, order, and the versions' own names goes unreported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..ir import Definition, Method, Protocol, Ref, Side
from .change import (
    BOTH,
    GROUPS,
    NOBODY,
    Change,
    Group,
    Sides,
    make,
    others,
    verdict,
)
from .rules import ORDER
from .shapes import Shapes
from .sides import framed, writers
from .types import Values, pairs


def compare(old: Protocol, new: Protocol) -> tuple[Change, ...]:
    """Every change from `old` to `new`, in a fixed order."""
    values = Values(
        {d.name: d for d in old.definitions}, {d.name: d for d in new.definitions}
    )
    found = {
        *_whole(old, new),
        *_Methods(values, {r.method: r.by for r in new.replaced}).changes(old, new),
        *_definitions(old, new, values),
        *_listed("capabilities", "CAPABILITY", _capabilities(old), _capabilities(new)),
        *_listed("errors", "ERROR", _errors(old), _errors(new)),
        *_listed("traits", "TRAIT", _traits(old), _traits(new)),
    }
    return tuple(sorted(found, key=_order))


def _order(change: Change) -> tuple[object, ...]:
    return (
        *(GROUPS.index(change.group), ORDER[change.rule], change.place),
        *(change.before, change.after, change.breaking_for, change.hint),
    )


# --- the protocol as a whole --------------------------------------------------------


def _whole(a: Protocol, b: Protocol) -> Iterator[Change]:
    if a.era != b.era:
        yield make("ERA_CHANGED", "protocol", "era", a.era, b.era, BOTH)
    if a.dialect != b.dialect:
        yield make("DIALECT_CHANGED", "protocol", "dialect", a.dialect, b.dialect)


# --- what is a list of names --------------------------------------------------------


def _capabilities(protocol: Protocol) -> dict[str, str]:
    return {
        f"{c.owner} {'.'.join(c.path)}": f"declared by {c.owner}s"
        for c in protocol.capabilities
    }


def _errors(protocol: Protocol) -> dict[str, str]:
    found: dict[str, str] = {}
    for error in protocol.errors:
        # A schema may define one name twice, with a code each.
        codes = found.get(error.name, "")
        found[error.name] = f"{codes}, {error.code}" if codes else str(error.code)
    return found


def _traits(protocol: Protocol) -> dict[str, str]:
    return {trait.name: trait.value for trait in protocol.traits}


def _listed(
    group: Group, kind: str, before: dict[str, str], after: dict[str, str]
) -> Iterator[Change]:
    for name, a, b in pairs(before, after):
        if b is None:
            yield make(f"{kind}_REMOVED", group, name, a or "")
        elif a is None:
            yield make(f"{kind}_ADDED", group, name, "", b)
        elif a != b:
            yield make(f"{kind}_CHANGED", group, name, a, b, BOTH)


# --- definitions --------------------------------------------------------------------


def _definitions(old: Protocol, new: Protocol, values: Values) -> Iterator[Change]:
    old_writers, new_writers = writers(old), writers(new)
    old_frames, new_frames = framed(old), framed(new)
    for name, a, b in pairs(values.old, values.new):
        if a is None and b is not None:
            yield make("DEFINITION_ADDED", "definitions", name, "", _kind(b))
        elif b is None and a is not None:
            yield make("DEFINITION_REMOVED", "definitions", name, _kind(a), "")
        elif a is not None and b is not None:
            # Somebody must write it in both versions to send it to somebody who reads
            # the other; what only one version reaches is told where it is used.
            both = old_writers.get(name, NOBODY) & new_writers.get(name, NOBODY)
            frames = old_frames.get(name), new_frames.get(name)
            yield from Shapes(name, values, both, *frames).changes(a, b)


def _kind(definition: Definition) -> str:
    return f"{'inline ' if definition.inline else ''}{definition.category}"


# --- methods ------------------------------------------------------------------------


class _Methods:
    def __init__(self, values: Values, replaced: dict[str, str]) -> None:
        self.values = values
        self.replaced = replaced

    def changes(self, old: Protocol, new: Protocol) -> Iterator[Change]:
        before = {m.name: m for m in old.methods}
        after = {m.name: m for m in new.methods}
        for name, a, b in pairs(before, after):
            if a is None and b is not None:
                breaks = _added(b, b.sent_by)
                yield make("METHOD_ADDED", "methods", name, "", _describe(b), breaks)
            elif b is None and a is not None:
                breaks = _removed(a, a.sent_by)
                by = self.replaced.get(name)
                yield make(
                    *("METHOD_REMOVED", "methods", name, _describe(a), "", breaks),
                    hint=f"use {by}" if by else a.deprecated,
                )
            elif a is not None and b is not None:
                yield from self._method(name, a, b)

    def _method(self, name: str, a: Method, b: Method) -> Iterator[Change]:
        def change(
            rule: str, before: str = "", after: str = "", breaks: Sides = NOBODY
        ) -> Change:
            return make(rule, "methods", name, before, after, breaks)

        if a.kind != b.kind:
            yield change("METHOD_KIND_CHANGED", a.kind, b.kind, BOTH)
        senders = " and ".join(a.sent_by), " and ".join(b.sent_by)
        if gone := frozenset(a.sent_by) - frozenset(b.sent_by):
            yield change("METHOD_SENDER_REMOVED", *senders, _removed(a, gone))
        if come := frozenset(b.sent_by) - frozenset(a.sent_by):
            yield change("METHOD_SENDER_ADDED", *senders, _added(b, come))
        if a.embedded != b.embedded:
            yield change("METHOD_EMBEDDED_CHANGED", _travels(a), _travels(b), BOTH)

        common = frozenset(a.sent_by) & frozenset(b.sent_by)
        if a.definition != b.definition:
            effect = self.values.effect(Ref(a.definition), Ref(b.definition))
            breaks = verdict(effect, common)
            yield change(
                "METHOD_DEFINITION_CHANGED", a.definition, b.definition, breaks
            )
        if a.params != b.params:
            params = a.params or "none", b.params or "none"
            yield change("METHOD_PARAMS_CHANGED", *params)
        if a.params_required != b.params_required:
            words = "optional", "required"
            yield change(
                "METHOD_PARAMS_REQUIRED_CHANGED",
                words[a.params_required],
                words[b.params_required],
            )
        for result in set(b.results) - set(a.results):
            covered = any(self.values.known(Ref(result), Ref(r)) for r in a.results)
            breaks = NOBODY if covered else common
            yield change("METHOD_RESULT_ADDED", "", result, breaks)
        for result in set(a.results) - set(b.results):
            covered = any(self.values.kept(Ref(result), Ref(r)) for r in b.results)
            breaks = NOBODY if covered else others(common)
            yield change("METHOD_RESULT_REMOVED", result, "", breaks)
        if a.results != b.results and set(a.results) == set(b.results):
            orders = " | ".join(a.results), " | ".join(b.results)
            yield change("METHOD_RESULTS_REORDERED", *orders)

        for owner, x, y in (
            ("client", a.client_capability, b.client_capability),
            ("server", a.server_capability, b.server_capability),
        ):
            if x != y:
                gates = _gate(owner, x), _gate(owner, y)
                breaks = _gated(b, common, x, y)
                yield change("METHOD_GATE_CHANGED", *gates, breaks)
        if a.deprecated != b.deprecated:
            rule = "METHOD_DEPRECATION_CHANGED"
            if not (a.deprecated and b.deprecated):
                rule = "METHOD_DEPRECATED" if b.deprecated else "METHOD_UNDEPRECATED"
            yield change(rule, a.deprecated, b.deprecated)
        if a.python_name != b.python_name:
            yield change("PYTHON_NAME_CHANGED", a.python_name, b.python_name)


def _removed(method: Method, senders: Iterable[Side]) -> Sides:
    senders = frozenset(senders)
    # An unknown notification is ignored: only who waits for it is harmed.
    return others(senders) | (senders if method.kind == "request" else NOBODY)


def _added(method: Method, senders: Iterable[Side]) -> Sides:
    gated = method.client_capability or method.server_capability
    if method.kind == "notification" or gated or method.embedded:
        return NOBODY
    return others(frozenset(senders))


def _gated(
    method: Method,
    senders: Sides,
    before: tuple[str, ...] | None,
    after: tuple[str, ...] | None,
) -> Sides:
    """Who is harmed when a method needs another capability: `tools` implies none of
    its own flags, but each of them implies `tools`."""
    breaks = NOBODY
    if after is not None and (before or ())[: len(after)] != after:
        breaks |= senders  # they do not look for it
    unasked = before is not None and (after or ())[: len(before)] != before
    if unasked and method.kind == "request":
        breaks |= others(senders)  # they did not declare it, and are asked all the same
    return breaks


def _gate(owner: str, path: tuple[str, ...] | None) -> str:
    return "none" if path is None else f"{owner} {'.'.join(path)}"


def _describe(method: Method) -> str:
    inside = "embedded " if method.embedded else ""
    return f"{inside}{method.kind} sent by {' and '.join(method.sent_by) or 'nobody'}"


def _travels(method: Method) -> str:
    return "inside a result" if method.embedded else "a message of its own"


__all__ = ["compare"]
