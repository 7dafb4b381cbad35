"""A recorded session as a Mermaid sequence diagram."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import UNSET

from ..diff.report import clipped
from ..lint.finding import Finding
from ..recording import Entry, Header
from .frames import Implementation
from .session import Row, Session, collect
from .timing import duration

LIMIT: Final = 200
"""Entries that are drawn when nobody says how many: renderers refuse long texts."""
_TEXT: Final = 80
"""Characters of a label."""
_HARMLESS: Final = frozenset(" _-./,()[]'!?=+*@")
_ARROWS: Final = {
    "request": "->>",
    "notification": "-)",
    "result": "-->>",
    "error": "--x",
    "batch": "->>",
    "invalid": "-x",
    "http": "->>",
}


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
        if row.line > before + 1:
            left_out = row.line - before - 1
            lines.append(f"note over C,S: {_escaped(f'{left_out} entries left out')}")
        before = row.line
        lines.append(_row(row))
        for finding in marks.get(row.line, ()):
            text = f"{finding.severity} {finding.rule}: {finding.message}"
            lines.append(f"note over C,S: {_label(text)}")
    return "\n    ".join(lines) + "\n"


def _participants(header: Header, session: Session) -> Iterator[str]:
    yield f"participant C as {_label(_name(session.client, 'client'))}"
    yield f"participant S as {_label(_name(session.server, header.target))}"


def _name(who: Implementation | None, otherwise: str) -> str:
    return f"{who.name} {who.version}".strip() if who else otherwise


def _row(row: Row) -> str:
    if row.kind == "exit":
        status = "" if row.code is UNSET else f" with status {row.code}"
        return f"note over S: the server ended{_escaped(status)}"
    if row.kind in ("stderr", "text"):
        side = "C" if row.source == "client" else "S"
        said = "stderr" if row.kind == "stderr" else "not JSON"
        return f"note over {side}: {_label(f'{said}: {row.text}')}"
    ends = "CS" if row.source == "client" else "SC"
    return f"{ends[0]}{_ARROWS[row.kind]}{ends[1]}: {_label(' '.join(_words(row)))}"


def _words(row: Row) -> Iterator[str]:
    if row.kind == "http" and row.http is not UNSET:
        yield from (part for part in (row.http.method, row.http.path) if part)
    if row.http is not UNSET and row.http.status is not UNSET:
        yield f"HTTP {row.http.status}"
    yield row.method or ("" if row.kind == "http" else row.kind)
    if row.detail:
        yield row.detail
    if row.ms is not UNSET:
        yield f"({duration(row.ms)})"


def _label(text: str) -> str:
    return _escaped(clipped(" ".join(text[: 10 * _TEXT].split()), _TEXT)) or "#32;"


def _escaped(text: str) -> str:
    """Any text so that Mermaid reads none of it as its own: as entities where in doubt.

    A semicolon ends a statement there, `#` begins an entity, `%%` a comment, and some
    words, such as `end`, close what is open wherever they stand.
    """
    # One letter of each word as an entity would be unreadable: of those that mean
    # something to Mermaid it is enough.
    return "".join(
        _keyword(word) for word in _words_and_gaps(text)
    )


_KEYWORDS: Final = frozenset(
    "end style classdef linkstyle note loop alt else opt par and rect critical option "
    "break box activate deactivate participant actor create destroy title autonumber "
    "wrap nowrap over as left right links link properties details".split()
)


def _keyword(part: str) -> str:
    if part.lower() in _KEYWORDS:
        return f"#{ord(part[0])};{part[1:]}"
    return "".join(map(_char, part))


def _words_and_gaps(text: str) -> Iterator[str]:
    import re

    return (match[0] for match in re.finditer(r"\w+|\W", text))


def _char(char: str) -> str:
    return char if char.isalnum() or char in _HARMLESS else f"#{ord(char)};"
