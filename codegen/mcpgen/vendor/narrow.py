"""A protocol cut down to some definitions and what they need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..diagnostics import CompileError, Diagnostic, clip, did_you_mean, fail
from ..ir import ANY_OBJECT, Protocol, refs


def narrowed(
    protocols: tuple[Protocol, ...], only: tuple[str, ...], *, with_methods: bool
) -> tuple[Protocol, ...]:
    """Each protocol with the definitions called `only`, and those they refer to.

    A name has to be known to one of the versions; not all have the same ones.
    """
    if not only:
        return protocols
    known = {d.name for protocol in protocols for d in protocol.definitions}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise CompileError(
            Diagnostic(
                "definition-unknown",
                f'no chosen version has a definition "{clip(name, 64)}"',
                hint=did_you_mean(name, sorted(known)) or "see: mcpgen ir VERSION",
            )
            for name in unknown
        )
    return tuple(_narrow(protocol, only, with_methods) for protocol in protocols)


def _narrow(protocol: Protocol, only: tuple[str, ...], with_methods: bool) -> Protocol:
    needed = _closure(protocol, only)
    if not needed:
        raise fail(
            "definition-unknown",
            f"{protocol.version} has none of the chosen definitions",
            hint="leave that version out, or choose one of its definitions",
        )
    methods = tuple(m for m in protocol.methods if m.definition in needed)
    if with_methods:
        # A stub takes params and gives results.
        named = {n for m in methods for n in (m.params, *m.results) if n}
        needed |= _closure(protocol, named - {ANY_OBJECT})
    return replace(
        protocol,
        definitions=tuple(d for d in protocol.definitions if d.name in needed),
        methods=methods if with_methods else (),
    )


def _closure(protocol: Protocol, names: Iterable[str]) -> set[str]:
    """The definitions of these names, and all that they lead to."""
    types = {d.name: d.type for d in protocol.definitions}
    found: set[str] = set()
    waiting = [name for name in names if name in types]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += refs(types[name])
    return found
