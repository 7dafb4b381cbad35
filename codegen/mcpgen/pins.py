"""Directories of schemas, and the pins.toml in each: which bytes are which version.

A version is a name *and* a hash. Names become directories and Python packages, so they
are checked here, before anything is made of them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from .diagnostics import clip, did_you_mean, fail

PINS = "pins.toml"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHA256 = re.compile(r"[0-9a-f]{64}")

Kind: TypeAlias = Literal["protocol", "extension"]
Tables: TypeAlias = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Layer:
    """A directory of schemas, and how diagnostics call it."""

    directory: Path
    label: str

    def shown(self, name: str) -> str:
        """A file as diagnostics call it: never an absolute path."""
        return f"{self.label}/{name}"

    def tables(self, name: str, code: str) -> Tables:
        """A TOML file of [[tables]]; an absent file has none. `code` is for mistakes."""
        shown = self.shown(name)
        try:
            tables = tomllib.loads(
                (self.directory / name).read_bytes().decode("utf-8-sig")
            )
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise fail("file-unreadable", str(error.strerror), file=shown) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise fail(code, f"is not TOML: {error}", file=shown) from None
        for key, rows in tables.items():
            if not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
                message = f"{clip(key)} must be [[{clip(key)}]] tables"
                raise fail(code, message, file=shown)
        return tables


@dataclass(frozen=True)
class Pin:
    """One pinned schema; the fields up to `after` are the keys of pins.toml."""

    name: str
    file: str
    sha256: str
    source: str
    license: str = ""
    kind: Kind = "protocol"
    after: str | None = None
    layer: Layer = Layer(Path(), "")

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.layer.directory / self.file

    @property
    def shown(self) -> str:
        """How diagnostics call the file."""
        return self.layer.shown(self.file)

    def read(self) -> bytes:
        """What the file holds now, pinned or not."""
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise fail(
                "file-unreadable",
                str(error.strerror),
                file=self.shown,
                hint="restore it, or remove its pin",
            ) from None


_KEYS = [f.name for f in fields(Pin) if f.name != "layer"]
_REQUIRED = ("name", "file", "sha256", "source")


def module_name(version: str) -> str:
    """The Python package of a version: `2030-01-31` → `v2030_01_31`."""
    return "v" + re.sub("[^0-9A-Za-z]", "_", version)


def check_name(version: str) -> None:
    """A version becomes a directory: refuse whatever could mean another place."""
    if not _NAME.fullmatch(version) or ".." in version:
        raise fail(
            "version-name",
            f'"{clip(version, 64)}" cannot name a version',
            hint="use letters, digits, dots, dashes and underscores, 64 at most",
        )


def read_pins(layer: Layer) -> Iterator[Pin]:
    """The pins of one directory; a directory without pins.toml has none."""
    shown = layer.shown(PINS)
    seen: set[str] = set()
    tables = layer.tables(PINS, "pin-malformed")
    for key in tables.keys() - {"version"}:
        raise fail("pin-malformed", f"unknown table [[{clip(key)}]]", file=shown)
    for number, row in enumerate(tables.get("version", []), 1):
        problem, hint = _problem(row)
        if not problem and row["name"] in seen:
            problem = "the name is pinned twice"
        if problem:
            message = f"[[version]] {number}: {problem}"
            raise fail("pin-malformed", message, file=shown, hint=hint)
        check_name(row["name"])
        seen.add(row["name"])
        yield replace(Pin(**row), layer=layer)


def with_pin(text: str, pin: Pin) -> str:
    """A pins.toml with one more table at the end; what people wrote stays as it is."""
    rows = [f"{key} = {_toml(getattr(pin, key))}" for key in _KEYS if getattr(pin, key)]
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return text + gap + "\n".join(["[[version]]", *rows]) + "\n"


def _problem(row: dict[str, Any]) -> tuple[str, str]:
    """What is wrong with a [[version]], and a hint; nothing when it is fine."""
    for key, value in row.items():
        if key not in _KEYS:
            return f"unknown key {clip(key)}", did_you_mean(key, _KEYS)
        if not isinstance(value, str):
            return f"{key} must be a string", ""
    for key in _REQUIRED:
        if key not in row:
            return f"{key} is missing", ""
    if row.get("kind", "protocol") not in ("protocol", "extension"):
        return 'kind must be "protocol" or "extension"', ""
    if not _SHA256.fullmatch(row["sha256"]):
        return "sha256 must be 64 lower-case hex digits", "write what sha256sum prints"
    parts = row["file"].split("/")
    if not all(_NAME.fullmatch(part) and ".." not in part for part in parts):
        return "file must be a plain path beside pins.toml", ""
    return "", ""


def _toml(text: str) -> str:
    """A TOML basic string: JSON's, but for what only TOML refuses."""
    clean = text.encode("utf-8", "replace").decode()
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")
