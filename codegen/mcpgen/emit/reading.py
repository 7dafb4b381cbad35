"""How every flavour of the types reads: the order of keys, and what is said of a class."""

from __future__ import annotations

from ..ir import Definition, Field, Protocol
from .drawers import is_constant


def reading_order(f: Field) -> tuple[bool, bool, bool]:
    """Constants, then what must be given, then what may; `_meta` last."""
    return (f.wire_name.startswith("_"), not f.required, not is_constant(f.type))


def described(definition: Definition, protocol: Protocol) -> str:
    """What the schema says of a class; failing that, what its place says."""
    if definition.doc:
        return definition.doc
    methods = sorted(
        {f"`{m.name}`" for m in protocol.methods if m.params == definition.name}
    )
    if methods:
        return f"Parameters of {' and '.join(methods)}."
    _, _, owner, *path = definition.pointer.split("/")
    keys = path[1::2] if path[::2] == ["properties"] * len(path[::2]) else []
    return f"What `{'.'.join([owner, *keys])}` holds." if keys else ""


def camel(name: str) -> str | None:
    """What libraries make of a snake_case name; None where it is not worth guessing."""
    first, *rest = name.split("_")
    if not first or not all(part.isalpha() for part in (first, *rest)):
        return None
    return first + "".join(part.title() for part in rest)
