"""What mcpgen owns in a project: each tree as it is, and as it should be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..catalog import Catalog, module_name
from ..config import Config, Copy
from ..diagnostics import CompileError
from ..pipeline import MANIFEST, generate, inputs_digest, versions
from ..publish import (
    Difference,
    Published,
    compare,
    edited,
    is_current,
    made_by,
    publish,
    read_manifest,
    refuse_obstacles,
)
from ..swap import recover
from ..vendor.plan import chosen, digest, is_shipped, plan
from ..vendor.put import located, put, refuse_occupied
from ..vendor.shipped import constant


@dataclass(frozen=True)
class Before:
    """What a tree was made from; nothing where there is none."""

    mcpgen: str
    schemas: dict[str, str]
    """Version → sha256 of its schema."""


@dataclass(frozen=True)
class Tree:
    """One directory that mcpgen owns, with its plan."""

    path: Path
    shown: str
    before: Before
    schemas: dict[str, str]
    """What it is made from now: version → sha256."""
    every: bool
    """Is it every pinned version, because the settings list none?"""
    copy: bool
    """Is it a copy, with `protocol/` in it, or the bindings themselves?"""
    files: dict[str, str] | None
    """What it should hold; None when it does already."""

    @property
    def added(self) -> tuple[str, ...]:
        """Versions that were not there."""
        return tuple(v for v in self.schemas if v not in self.before.schemas)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Versions that are no longer wanted, or no longer pinned."""
        return tuple(v for v in self.before.schemas if v not in self.schemas)

    @property
    def repinned(self) -> tuple[str, ...]:
        """Versions whose schema is another one now."""
        then = self.before.schemas
        return tuple(
            v for v in self.schemas if then.get(v) not in (None, self.schemas[v])
        )

    def edited(self) -> list[str]:
        """What was edited by hand and would be replaced, as paths in the project."""
        found = [] if self.files is None else edited(self.files, self.path)
        return [f"{self.shown}/{path}" for path in found]

    def differences(self) -> list[Difference]:
        """What would change; files of others, and the MANIFEST, are not a part of it."""
        if self.files is None:
            return []
        owned = read_manifest(self.path)
        return [
            replace(found, path=f"{self.shown}/{found.path}")
            for found in compare(self.files, self.path)
            if found.path != MANIFEST and (found.kind != "extra" or found.path in owned)
        ]

    def write(self) -> Published:
        """Make it what it should be, all of it or nothing; edits are kept beside."""
        if self.files is None:
            return Published((), (), ())
        if self.copy:
            return put(self.files, self.path, self.shown, save_edited=True)
        with self._shown():
            return publish(self.files, self.path, save_edited=True)

    def refuse_obstacles(self) -> None:
        """Raise what `write` would, before anything is written anywhere."""
        with self._shown():
            refuse_obstacles(self.files or {}, self.path)

    @contextmanager
    def _shown(self) -> Iterator[None]:
        try:
            yield
        except CompileError as error:
            raise CompileError(
                replace(d, file=located(d, self.shown)) for d in error.diagnostics
            ) from error

    def modules(self, *, planned: bool) -> dict[str, str]:
        """Path → text of its modules as they are, or will be; as in a copy, everywhere."""
        files = self.files if planned else None
        if files is None:
            files = dict(_texts(self.path))
        inside = "" if self.copy else "protocol/"
        return {f"{inside}{p}": text for p, text in files.items() if p.endswith(".py")}


def trees(config: Config, catalog: Catalog) -> tuple[Tree, ...]:
    """Everything that the settings record, planned; nothing is written."""
    found = [_bindings(config, config.bindings, catalog)] if config.bindings else []
    return (*found, *(_copy(config, copy, catalog) for copy in config.copies))


def _bindings(config: Config, path: Path, catalog: Catalog) -> Tree:
    recover(path)  # nothing to do, unless a run was killed here
    current = is_current(path, inputs_digest(config, catalog))
    return Tree(
        path,
        path.relative_to(config.root).as_posix(),
        _before(path, ""),
        _schemas(versions(config, catalog), catalog),
        every=not config.versions,
        copy=False,
        files=None if current else _needed(generate(config, catalog), path),
    )


def _copy(config: Config, copy: Copy, catalog: Catalog) -> Tree:
    shown = copy.path.relative_to(config.root).as_posix()
    refuse_occupied(copy.path, shown)
    current = not is_shipped(copy.request, catalog) and is_current(
        copy.path, digest(copy.request, catalog)
    )
    return Tree(
        copy.path,
        shown,
        _before(copy.path, "protocol/"),
        _schemas(chosen(copy.request, catalog), catalog),
        every=not copy.request.versions,
        copy=True,
        files=None if current else _needed(plan(copy.request, catalog), copy.path),
    )


def _needed(files: dict[str, str], path: Path) -> dict[str, str] | None:
    """The files, unless a directory holds just them, whatever others put beside."""
    stale = read_manifest(path).keys() - files.keys()
    same = all(found.kind == "extra" for found in compare(files, path))
    return None if same and not stale else files


def _schemas(names: tuple[str, ...], catalog: Catalog) -> dict[str, str]:
    return {name: catalog.pin(name).sha256 for name in names}


def _before(path: Path, inside: str) -> Before:
    """Told by the MANIFEST, and by the packages that it names."""
    schemas = {}
    for name in sorted(read_manifest(path)):
        package = name.removeprefix(inside).split("/")
        if not name.startswith(inside) or package[1:] != ["__init__.py"]:
            continue
        try:
            version = str(constant(path / name, "PROTOCOL_VERSION"))
            schema = str(constant(path / name, "SCHEMA_SHA256"))
        except (OSError, LookupError, ValueError, SyntaxError, RecursionError):
            continue  # edited beyond recognition, or no version's
        if module_name(version) == package[0]:
            schemas[version] = schema
    return Before(made_by(path), schemas)


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    for name in read_manifest(path):
        try:
            yield name, (path / name).read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            continue  # gone or spoilt: it says nothing
