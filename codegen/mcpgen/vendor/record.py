"""A copy written down in pyproject.toml, so that it can be repeated and checked."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config import FILE, find_config
from ..diagnostics import fail
from .request import Request


def project_root(start: Path) -> Path:
    """Where copies may go: the project around `start`, else `start` itself."""
    config = find_config(start)
    if config:
        return config.root
    start = start.resolve()
    for directory in (start, *start.parents):
        if (directory / FILE).is_file():
            return directory
    return start


def as_toml(path: str, request: Request) -> str:
    """The table that records a copy."""
    return table_as_toml("vendor", {"path": path, **request.table()})


def table_as_toml(kind: str, table: Mapping[str, Any]) -> str:
    """One `[[tool.mcpgen.KIND]]`."""
    rows = [f"{key} = {_toml(value)}" for key, value in table.items()]
    return "\n".join([f"[[tool.mcpgen.{kind}]]", *rows]) + "\n"


def with_copy(file: Path, path: str, request: Request) -> str:
    """A pyproject.toml with one more copy at its end; the rest stays as it is."""
    return with_table(file, "vendor", {"path": path, **request.table()})


def with_table(file: Path, kind: str, table: Mapping[str, Any]) -> str:
    """A pyproject.toml with one more `[[tool.mcpgen.KIND]]` at its end."""
    refuse_link(file, "leave --record out, and add the table to it yourself")
    try:
        text = file.read_bytes().decode()
    except FileNotFoundError:
        raise fail(
            "no-project",
            f"there is no {FILE} to record it in, here or above",
            hint="leave --record out",
        ) from None
    except UnicodeDecodeError as error:
        raise fail("config-syntax", f"is not TOML: {error}", file=FILE) from None
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    recorded = text + gap + table_as_toml(kind, table)
    try:
        tool = tomllib.loads(recorded.removeprefix("\ufeff"))["tool"]
        tables = tool["mcpgen"][kind]
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        tables = []
    if not isinstance(tables, list) or dict(table) not in tables:
        raise fail(
            "config-syntax",
            "does not take a table at its end",
            file=FILE,
            hint=f"write it with a table for each: [tool.mcpgen], [[tool.mcpgen.{kind}]]",
        )
    return recorded


def refuse_link(file: Path, hint: str) -> None:
    """What a link leads to outside of the project is not the project's to change."""
    if not file.resolve().is_relative_to(file.parent.resolve()):
        raise fail(
            "config-link",
            "is a symbolic link that leads outside of the project",
            file=FILE,
            hint=hint,
        )


def write(file: Path, text: str) -> None:
    """Replace a file in one step; its mode stays."""
    file = file.resolve()
    new = file.with_name(f".{file.name}.mcpgen")
    try:
        new.unlink(missing_ok=True)  # of a run that was killed here
        with new.open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
        new.chmod(file.stat().st_mode & 0o777)
        os.replace(new, file)
    except OSError as error:
        raise fail(
            "config-unwritable",
            f"cannot be written: {error.strerror or error}",
            file=file.name,
            hint="everything else is made; run this again when it can be written",
        ) from error
    finally:
        new.unlink(missing_ok=True)


def _toml(value: Any) -> str:
    """A string or a list of them; JSON's spelling, but for what only TOML refuses."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
