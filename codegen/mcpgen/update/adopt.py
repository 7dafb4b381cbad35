"""Versions taken into, or out of, the lists that pyproject.toml holds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from ..config import FILE
from ..diagnostics import CompileError, clip, fail

_BOM = "\ufeff"


def with_versions(text: str, add: tuple[str, ...], drop: tuple[str, ...]) -> str:
    """A pyproject.toml with other versions in each list of them; the rest as it was.

    Lists that are not there mean every pinned version, and stay away.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    before = tomllib.loads(text.removeprefix(_BOM))
    wanted = deepcopy(before)
    for versions in _lists(wanted):
        versions[:] = _changed(versions, add, drop)
        if not versions:
            raise fail(
                "update-empty",
                "a list of versions would be empty",
                file=FILE,
                hint="remove that table, or keep a version in it",
            )
    if wanted == before:
        return text
    bare = text.removeprefix(_BOM)
    changed = ""
    try:
        document = tomlkit.parse(bare)
        done = tomlkit.dumps(document) == bare
        for versions in _lists(document):
            for version in drop:
                while version in versions:
                    versions.remove(version)
            for version in add:
                if version not in versions:
                    versions.append(version)
        changed = tomlkit.dumps(document)
        done = done and tomllib.loads(changed) == wanted
    except (TOMLKitError, tomllib.TOMLDecodeError, TypeError, ValueError, KeyError):
        done = False
    if not done:  # what is not understood to the letter is not touched
        raise _unchanged(add, drop)
    return (_BOM if text.startswith(_BOM) else "") + changed


def listed(text: str) -> set[str]:
    """Every version that some list in a pyproject.toml names."""
    found = _lists(tomllib.loads(text.removeprefix(_BOM)))
    return {version for versions in found for version in versions}


def _changed(
    versions: list[str], add: tuple[str, ...], drop: tuple[str, ...]
) -> list[str]:
    kept = [version for version in versions if version not in drop]
    return kept + [version for version in add if version not in kept]


def _lists(document: Any) -> Iterator[Any]:
    """The lists of the bindings and of each copy; the settings have been checked."""
    table = document["tool"]["mcpgen"]
    if "output" in table and "versions" in table:
        yield table["versions"]
    for copy in table.get("vendor", []):
        if "versions" in copy:
            yield copy["versions"]


def _unchanged(add: tuple[str, ...], drop: tuple[str, ...]) -> CompileError:
    words = [f"add {clip(version)}" for version in add]
    words += [f"take out {clip(version)}" for version in drop]
    return fail(
        "update-settings",
        "its lists of versions cannot be changed without changing something else",
        file=FILE,
        hint=f"change them by hand ({', '.join(words)}), and run: mcpgen update",
    )
