"""What the compiler has to say about its input: values, not prints.

Stages collect `Diagnostic`s; a stage that cannot go on raises `CompileError` with all
it found, so that one run shows every problem. Printing happens once, in the CLI.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Literal

Severity = Literal["error", "warning", "note"]
_RANK = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True)
class Diagnostic:
    """One finding: what, where, and what to do about it."""

    code: str
    message: str
    file: str = ""
    pointer: str = ""
    hint: str = ""
    severity: Severity = "error"
    line: int = 0
    """In a text file, counted from 1; 0 when there is none to name."""

    @property
    def place(self) -> str:
        """`file#/pointer` or `file:line`: forms that editors can follow."""
        if self.line:
            return f"{self.file}:{self.line}"
        return f"{self.file}#{self.pointer}" if self.pointer else self.file


class CompileError(Exception):
    """The input cannot be compiled; carries every diagnostic found so far."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = sort(diagnostics)
        super().__init__("; ".join(f"{d.place}: {d.message}" for d in self.diagnostics))


def fail(
    code: str, message: str, *, file: str = "", pointer: str = "", hint: str = ""
) -> CompileError:
    """An error made of a single diagnostic: `raise fail(...)`."""
    return CompileError([Diagnostic(code, message, file, pointer, hint)])


def sort(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Errors first, then by place: the order never depends on how they were found."""
    return tuple(
        sorted(
            set(diagnostics),
            key=lambda d: (
                _RANK[d.severity],
                d.file,
                d.line,
                d.pointer,
                d.code,
                d.message,
            ),
        )
    )


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the closest known word, or nothing when none is close."""
    # Names can be huge in hostile input; similarity of those helps nobody.
    close = difflib.get_close_matches(word[:80], list(known), n=1)
    return f'did you mean "{close[0]}"?' if close else ""


def clip(text: str, limit: int = 120) -> str:
    """Text from a schema, made fit for one line of output."""
    shown = text if len(text) <= limit else text[:limit] + "…"
    said = json.dumps(shown, ensure_ascii=False)[1:-1]
    # JSON leaves in what else a terminal obeys: C1 codes, and marks of direction.
    return "".join(c if c.isprintable() else _escaped(c) for c in said)


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1]


def as_text(diagnostics: Iterable[Diagnostic]) -> str:
    """For people: a block per place and hint, the place first, the hint last."""
    lines: list[str] = []
    for (head, hint), alike in groupby(diagnostics, lambda d: (_head(d), d.hint)):
        lines += [head, *(f"  {d.message}" for d in alike)]
        if hint:
            lines.append(f"  {hint}")
    return "\n".join(lines)


def _head(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.severity}[{diagnostic.code}] {diagnostic.place}".rstrip()


def as_json(diagnostics: Iterable[Diagnostic]) -> str:
    """For machines: one JSON array."""
    return json.dumps([asdict(d) for d in diagnostics], indent=2, ensure_ascii=False)


def escape_annotation(text: str) -> str:
    """Text as GitHub reads it after `::`."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Text as GitHub reads it in front of `::`."""
    return escape_annotation(text).replace(":", "%3A").replace(",", "%2C")


def as_github(diagnostics: Iterable[Diagnostic]) -> str:
    """For GitHub Actions: workflow commands that annotate the changed files."""
    level = {"error": "error", "warning": "warning", "note": "notice"}
    lines = []
    for d in diagnostics:
        text = " ".join(part for part in (d.pointer, d.message, d.hint) if part)
        line = f"line={d.line}," if d.line else ""
        lines.append(
            f"::{level[d.severity]} file={escape_property(d.file)},{line}"
            f"title={escape_property(d.code)}::{escape_annotation(text)}"
        )
    return "\n".join(lines)


FORMATS = {"text": as_text, "json": as_json, "github": as_github}
