"""The project's settings: `[tool.mcpgen]` of the nearest pyproject.toml that has it.

Few keys, all checked here: a typing error is reported by name, never ignored.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .client import put as placing
from .client import request as client_request
from .diagnostics import CompileError, Diagnostic, clip, did_you_mean, fail
from .vendor import request
from .vendor.place import destination

FILE = "pyproject.toml"
KEYS = ("output", "schema-dir", "versions", "templates", "vendor", "client")
VENDOR_KEYS = ("path", *request.KEYS)
CLIENT_KEYS = ("path", "from", *client_request.KEYS)


@dataclass(frozen=True)
class Copy:
    """One `[[tool.mcpgen.vendor]]`: a tree that `mcpgen vendor` keeps up to date."""

    path: Path
    request: request.Request


@dataclass(frozen=True)
class ClientModule:
    """One `[[tool.mcpgen.client]]`: a module that `mcpgen client` keeps up to date."""

    path: Path
    listing: Path
    """What the server said it offers, kept in the project."""
    request: client_request.Request


@dataclass(frozen=True)
class Config:
    """What `[tool.mcpgen]` says; paths are absolute and lie inside `root`."""

    root: Path
    bindings: Path | None
    """Where the version packages go; None in a project that only vendors."""
    schema_dir: Path
    """The project's own schemas; need not exist."""
    versions: tuple[str, ...] = ()
    """What to generate; empty means every pinned version."""
    copies: tuple[Copy, ...] = ()
    """What is vendored here."""
    clients: tuple[ClientModule, ...] = ()
    """The typed clients of servers that are kept here."""
    templates: Path | None = None
    """The project's own templates, over the built-in ones."""

    @property
    def output(self) -> Path:
        """Where the version packages go, for commands that cannot do without."""
        if self.bindings is None:
            raise CompileError([_NO_OUTPUT])
        return self.bindings


def find_config(start: Path) -> Config | None:
    """The settings that hold in `start`, or None outside of any project."""
    start = start.resolve()
    for directory in (start, *start.parents):
        table = _read(directory / FILE)
        if table is not None:
            return parse_config(table, directory)
    return None


def require_config(start: Path) -> Config:
    """The same for commands that need a project."""
    config = find_config(start)
    if config is None:
        raise fail(
            "no-project",
            "there is no pyproject.toml with a [tool.mcpgen] table here or above",
            hint="run this inside your project; bindings begin with [tool.mcpgen] "
            'output = "src/…", copies with: mcpgen vendor src/package/_mcp --record',
        )
    return config


def parse_config(table: dict[str, Any], root: Path) -> Config:
    """The parsed table as a value; CompileError lists everything wrong with it."""
    root = root.resolve()
    found = [
        _problem("config-unknown-key", key, "is not a setting of mcpgen", _known(key))
        for key in table
        if key not in KEYS
    ]
    for key in ("output", "schema-dir", "templates"):
        if not isinstance(table.get(key, "x"), str) or table.get(key) == "":
            found.append(_problem("config-type", key, "must be a directory name"))
        elif "\0" in table.get(key, ""):
            found.append(_problem("config-type", key, "holds a NUL character"))
    versions = table.get("versions", [])
    if not isinstance(versions, list) or not all(isinstance(v, str) for v in versions):
        found.append(_problem("config-type", "versions", "must be a list of strings"))
    elif len(set(versions)) != len(versions):
        found.append(_problem("config-type", "versions", "names a version twice"))
    if "versions" in table and not versions:
        found.append(
            _problem(
                "config-type",
                "versions",
                "is empty",
                "leave the key out to generate every pinned version",
            )
        )
    if table.keys().isdisjoint(("output", "vendor", "client")):
        found.append(_NO_OUTPUT)
    if found:
        raise CompileError(found)
    schema_dir = _inside(root, "schema-dir", table.get("schema-dir", "schema"))
    output = _inside(root, "output", table["output"]) if "output" in table else None
    if output == root:
        raise CompileError([_problem("config-path", "output", "is the project itself")])
    if output and _overlap(output, schema_dir):
        raise CompileError(
            [_problem("config-path", "output", "and schema-dir lie inside each other")]
        )
    others = [("schema-dir", schema_dir)] + ([("output", output)] if output else [])
    templates = None
    if "templates" in table:
        templates = _inside(root, "templates", table["templates"])
        for name, other in others:
            if _overlap(templates, other):
                message = f"and {name} lie inside each other"
                raise CompileError([_problem("config-path", "templates", message)])
        others.append(("templates", templates))
    copies = _copies(table.get("vendor", []), root)
    for copy in copies:
        for name, other in others:
            if _overlap(copy.path, other):
                message = f"and {name} lie inside each other"
                raise CompileError([_problem("config-path", "vendor.path", message)])
        others.append(("another", copy.path))
    clients = _clients(table.get("client", []), root)
    for client in clients:
        for file in (client.path, client.listing):
            for name, other in others:
                if file.is_relative_to(other):
                    message = f"lies inside of {name}"
                    problem = _problem("config-path", "client.path", message)
                    raise CompileError([problem])
            others.append(("another", file))
    return Config(root, output, schema_dir, tuple(versions), copies, clients, templates)


def templates_path(config: Config, start: Path, value: str) -> Path:
    """Another directory of templates, named in `start`: the same rules hold."""
    root = config.root
    path = root if "\0" in value else (start / value).resolve()
    others = [config.schema_dir, *(copy.path for copy in config.copies)]
    others += [file for c in config.clients for file in (c.path, c.listing)]
    others += [config.bindings] if config.bindings else []
    if path == root or not path.is_relative_to(root):
        message = "lies outside of the project, or is the project itself"
    elif any(_overlap(path, other) for other in others):
        message = f"has another use: {FILE} tells"
    else:
        return path
    hint = "name a directory of its own, below the one that holds pyproject.toml"
    raise fail("templates-path", message, file=clip(value), hint=hint)


def _copies(tables: Any, root: Path) -> tuple[Copy, ...]:
    """What `[[tool.mcpgen.vendor]]` says, every table of it."""
    read = [_copy(table, root) for table in _tables("vendor", tables)]
    found = [problem for _, problems in read for problem in problems]
    if found:
        raise CompileError(found)
    return tuple(copy for copy, _ in read if copy)


def _tables(key: str, tables: Any) -> list[dict[str, Any]]:
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        message, hint = "must be tables", f"write [[tool.mcpgen.{key}]]"
        raise CompileError([_problem("config-type", key, message, hint)])
    return tables


def _clients(tables: Any, root: Path) -> tuple[ClientModule, ...]:
    """What `[[tool.mcpgen.client]]` says, every table of it."""
    read = [_client(table, root) for table in _tables("client", tables)]
    found = [problem for _, problems in read for problem in problems]
    if found:
        raise CompileError(found)
    return tuple(client for client, _ in read if client)


def _client(
    table: dict[str, Any], root: Path
) -> tuple[ClientModule | None, list[Diagnostic]]:
    """One table as a value, and everything wrong with it."""
    asked, problems = client_request.read(table)
    found = _unknown_keys("client", table, CLIENT_KEYS)
    found += [
        _problem("config-client", f"client.{p.key}", p.message, p.hint)
        for p in problems
    ]
    paths = {"path": "src/weather_client.py", "from": "src/weather_client.json"}
    for key, example in paths.items():
        if not isinstance(table.get(key), str):
            hint = f'such as: {key} = "{example}"'
            found.append(
                _problem("config-type", f"client.{key}", "must name a file", hint)
            )
    if found:
        return None, found
    try:
        path = placing.module_path(root, root, table["path"])
        listing = placing.listing_path(root, table["from"])
    except CompileError as error:
        return None, [
            _problem("config-path", "client", f'"{d.file}" {d.message}', d.hint)
            for d in error.diagnostics
        ]
    return ClientModule(path, listing, asked), []


def _copy(table: dict[str, Any], root: Path) -> tuple[Copy | None, list[Diagnostic]]:
    """One table as a value, and everything wrong with it."""
    asked, problems = request.read(table)
    found = _unknown_keys("vendor", table, VENDOR_KEYS)
    found += [
        _problem("config-vendor", f"vendor.{p.key}", p.message, p.hint)
        for p in problems
    ]
    path = table.get("path")
    if not isinstance(path, str):
        hint = 'say where the copy is: path = "src/package/_mcp"'
        message = "must name a directory"
        return None, [*found, _problem("config-type", "vendor.path", message, hint)]
    try:
        return Copy(destination(root, root, path), asked), found
    except CompileError as error:
        return None, found + [
            _problem("config-path", "vendor.path", f'"{d.file}" {d.message}', d.hint)
            for d in error.diagnostics
        ]


def _unknown_keys(
    name: str, table: dict[str, Any], keys: tuple[str, ...]
) -> list[Diagnostic]:
    """The keys of a `[[tool.mcpgen.NAME]]` that are no settings."""
    known = "the settings are: " + ", ".join(keys)
    return [
        _problem(
            "config-unknown-key",
            f"{name}.{key}",
            "is not a setting of mcpgen",
            did_you_mean(key, keys) or known,
        )
        for key in table
        if key not in keys
    ]


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _read(path: Path) -> dict[str, Any] | None:
    """The [tool.mcpgen] table of a pyproject.toml; None when there is none."""
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise fail("config-unreadable", str(error.strerror), file=FILE) from None
    if b"mcpgen" not in text:
        return None
    try:
        tool = tomllib.loads(text.decode("utf-8-sig")).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise fail("config-syntax", f"is not TOML: {error}", file=FILE) from None
    table = tool.get("mcpgen") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise fail("config-type", "tool.mcpgen must be a table", file=FILE)
    return table


def _inside(root: Path, key: str, value: str) -> Path:
    """`value` below `root`, symbolic links followed: output never leaves the project."""
    path = (root / value).resolve()
    if not path.is_relative_to(root):
        raise CompileError(
            [
                _problem(
                    "config-path",
                    key,
                    f'"{clip(value)}" lies outside of the project',
                    "name a directory below the one that holds pyproject.toml",
                )
            ]
        )
    return path


def _problem(code: str, key: str, message: str, hint: str = "") -> Diagnostic:
    return Diagnostic(code, f"tool.mcpgen.{clip(key, 40)} {message}", FILE, "", hint)


_NO_OUTPUT = _problem(
    "config-missing",
    "output",
    "is missing",
    'say where the bindings go: output = "src/package/protocol"',
)


def _known(key: str) -> str:
    return did_you_mean(key, KEYS) or "the settings are: " + ", ".join(KEYS)
