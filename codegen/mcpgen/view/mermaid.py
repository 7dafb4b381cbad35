"""A recorded session as a Mermaid sequence diagram."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import UNSET

from ..diff.report import clipped, printable
from ..lint.finding import Finding
from ..recording import Entry, Header
from .frames import Implementation
from .session import Row, Session, collect
from .timing import duration

LIMIT: Final = 200
"""Entries that are drawn when nobody says how many: renderers refuse long texts."""
MARK: Final = "%% Made by mcpgen view."
"""The first line."""
_TEXT: Final = 80
"""Characters of a label."""
_ARROWS: Final = {
    "request": "->>",
    "notification": "-)",
    "result": "-->>",
    "error": "--x",
    "batch": "->>",
    "invalid": "-x",
    "http": "->>",
}
_HARMLESS: Final = frozenset(" _-./,()'!?=")
_PARTS: Final = re.compile(r"\w+|\W")
_KEYWORD: Final = "end"
"""It closes what is open, wherever it stands."""


def mermaid(
    header: Header,
    entries: Iterable[tuple[int, Entry]],
    findings: Iterable[Finding] = (),
    limit: int = LIMIT,
) -> str:
    """The diagram of a recording: pure, and the same for the same recording."""
    marks: dict[int, list[Finding]] = {}
    for finding in findings:
        marks.setdefault(finding.line, []).append(finding)
    session = collect(entries, limit, marks)
    lines = ["sequenceDiagram", *_participants(header, session)]
    before = 1
    for row in session.rows:
        if missing := row.line - before - 1:
            lines.append(_note("C,S", f"{missing:,} entries are not shown"))
        before = row.line
        lines.append(_row(row))
        for finding in marks.get(row.line, ()):
            text = f"{finding.severity} {finding.rule}: {finding.message}"
            lines.append(_note("C,S", text))
    return f"{MARK}\n" + "\n    ".join(lines) + "\n"


def _participants(header: Header, session: Session) -> Iterator[str]:
    clients = ", ".join(map(_name, session.clients)) or "client"
    server = _name(session.server) if session.server else header.target
    yield f"participant C as {_label(clients)}"
    yield f"participant S as {_label(server)}"


def _name(who: Implementation) -> str:
    return f"{who.name} {who.version}".strip()


def _row(row: Row) -> str:
    if row.kind == "exit":
        status = "" if row.code is UNSET else f" with status {row.code}"
        return _note("S", f"the server ended{status}")
    if row.kind in ("stderr", "text"):
        said = "stderr" if row.kind == "stderr" else "not JSON"
        return _note("C" if row.source == "client" else "S", f"{said}: {row.text}")
    ends = ("C", "S") if row.source == "client" else ("S", "C")
    return f"{ends[0]}{_ARROWS[row.kind]}{ends[1]}: {_label(' '.join(_words(row)))}"


def _note(over: str, text: str) -> str:
    return f"note over {over}: {_label(text)}"


def _words(row: Row) -> Iterator[str]:
    if row.kind == "http":
        yield "HTTP"
        if row.http is not UNSET:
            yield from (part for part in (row.http.method, row.http.path) if part)
            if row.http.ended and row.http.status is UNSET:
                yield "hung up" if row.source == "client" else "ended"
    if row.http is not UNSET and row.http.status is not UNSET:
        yield str(row.http.status)
    if row.kind != "http":
        yield row.method or row.kind
    if row.detail:
        yield row.detail
    if row.ms is not UNSET:
        yield f"({duration(row.ms)})"


def _label(text: str) -> str:
    """One line of anything, so that Mermaid reads none of it as its own.

    What is not seen, or turns the text around it, is spelled out: an entity would not.
    """
    line = clipped(printable(" ".join(text[: 10 * _TEXT].split())), _TEXT)
    return "".join(_escaped(part) for part in _PARTS.findall(line)) or "#32;"


def _escaped(part: str) -> str:
    """Entities where in doubt.

    A semicolon ends a statement, `#` begins an entity, `%%` a comment, `<` an element.
    """
    if part.lower() == _KEYWORD:
        return f"#{ord(part[0])};{part[1:]}"
    return "".join(
        char if char.isalnum() or char in _HARMLESS else f"#{ord(char)};"
        for char in part
    )
