"""Stage 2: apply the published corrections of a schema.

Errata are data (`schema/errata.toml`). Each says where, what must stand there now,
what to put there instead, and why. On a version that an erratum names a mismatch is an
error: the pinned bytes are not what the erratum was written for. A version added later
is offered its predecessor's errata; what does not apply is only noted.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

from .diagnostics import CompileError, Diagnostic, fail
from .load import DEFINITIONS, Document, check, ref_target, unescape

ABSENT: Any = object()
"""Stands for "nothing may be there" in `Erratum.old`."""


@dataclass(frozen=True)
class Erratum:
    """One correction, at one or more places, for one or more versions."""

    id: str
    reason: str
    versions: tuple[str, ...]
    at: tuple[str, ...]
    new: Any
    old: Any = ABSENT


def read_errata(table: dict[str, Any], file: str) -> tuple[Erratum, ...]:
    """The parsed `errata.toml` as values; CompileError names a malformed entry."""
    errata = []
    for number, entry in enumerate(table.get("erratum", []), 1):
        missing = {"id", "reason", "versions", "at", "new"} - entry.keys()
        unknown = entry.keys() - {"id", "reason", "versions", "at", "new", "old"}
        if missing or unknown:
            raise fail(
                "errata-malformed",
                f"erratum {number} ({entry.get('id', 'without id')}): "
                + (
                    f"{sorted(missing)[0]} is missing"
                    if missing
                    else f"unknown key {sorted(unknown)[0]}"
                ),
                file=file,
            )
        errata.append(
            Erratum(
                entry["id"],
                entry["reason"],
                tuple(entry["versions"]),
                tuple(entry["at"]),
                entry["new"],
                entry.get("old", ABSENT),
            )
        )
    return tuple(errata)


def apply_errata(
    document: Document, errata: tuple[Erratum, ...], *, listed_as: str
) -> Document:
    """The corrected document, checked again.

    `listed_as` is the version whose errata are tried: the document's own, or its
    nearest predecessor that has any.
    """
    strict = listed_as == document.version
    root = copy.deepcopy(document.root)
    found: list[Diagnostic] = []
    for erratum in errata:
        if listed_as not in erratum.versions:
            continue
        for pointer in erratum.at:
            problem = _apply(root, erratum, pointer)
            if problem:
                found.append(
                    Diagnostic(
                        "erratum-mismatch",
                        f"erratum {erratum.id} did not apply: {problem}",
                        document.file,
                        pointer,
                        (
                            "the pinned file is not the one that the errata were written for"
                            if strict
                            else f"it was written for {listed_as}; see whether this version still needs it"
                        ),
                        "error" if strict else "note",
                    )
                )
    if strict and found:
        raise CompileError(found)
    return check(replace(document, root=root)).with_notes(found)


def _apply(root: dict[str, Any], erratum: Erratum, pointer: str) -> str:
    """Correct one place of `root` in place; says what is wrong, or ""."""
    *path, last = (unescape(token) for token in pointer.split("/")[1:])
    if path and path[0] in DEFINITIONS:
        # "/$defs/" stands for whichever keyword this dialect uses.
        path[0] = _keyword(root, (*path, last)[1])
    node: Any = root
    for token in path:
        node = _child(node, token)
        if node is ABSENT:
            return f"there is no {token!r} there"
    actual = _child(node, last)
    if erratum.old is ABSENT and actual is not ABSENT:
        return "something is there already"
    if erratum.old is not ABSENT and (actual is ABSENT or actual != erratum.old):
        return "the old value is another"
    new = _localised(erratum.new, root)
    if isinstance(node, list):
        node[int(last)] = new
    elif isinstance(node, dict):
        node[last] = new
    else:
        return "there is no object there"
    return ""


def _localised(value: Any, root: dict[str, Any]) -> Any:
    """A copy in which references use the keyword under which their target stands."""
    if isinstance(value, list):
        return [_localised(item, root) for item in value]
    if not isinstance(value, dict):
        return value
    copied = {key: _localised(item, root) for key, item in value.items()}
    target = ref_target(value["$ref"]) if isinstance(value.get("$ref"), str) else None
    if target is not None:
        _, _, name = value["$ref"].rpartition("/")
        copied["$ref"] = f"#/{_keyword(root, target)}/{name}"
    return copied


def _keyword(root: dict[str, Any], name: str) -> str:
    """The definitions keyword that holds `name`: errata are written for either."""
    return next((k for k in DEFINITIONS if name in root.get(k, {})), DEFINITIONS[0])


def _child(node: Any, token: str) -> Any:
    if isinstance(node, dict):
        return node.get(token, ABSENT)
    if isinstance(node, list) and token.isdecimal() and int(token) < len(node):
        return node[int(token)]
    return ABSENT
