"""One line on a terminal for everything that happens, as it happens."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder

from ..diff.report import clipped, printable
from ..recording import Entry

_ARROWS = {"client": "→", "server": "←", "stderr": "!", "exit": "■"}
_COLOURS = {"client": "36", "server": "32", "stderr": "33", "exit": "1"}
_ERROR, _FAINT = "31", "2"
WIDTH = 160
"""Characters of a line, where the terminal does not say."""


class _Shown(Struct):
    id: Raw | UnsetType = UNSET
    method: Any = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_SHOWN = Decoder(_Shown)


def line(entry: Entry, width: int = WIDTH, *, coloured: bool = False) -> str:
    """An entry as one line; nothing in it is obeyed by a terminal."""
    subject, detail, colour = _said(entry)
    subject = printable(subject)
    start = f"{entry.t:9.3f} {_ARROWS[entry.source]} {subject}"
    room = max(width - len(start) - 2, 0)
    # Only what will be shown is made printable: a frame may have megabytes.
    rest = (
        clipped(printable(" ".join(detail[: 2 * room].split())), room) if room else ""
    )
    if not coloured:
        return f"{start}  {rest}".rstrip()
    end = f"  \x1b[{_FAINT}m{rest}\x1b[0m" if rest else ""
    return f"{entry.t:9.3f} \x1b[{colour}m{_ARROWS[entry.source]} {subject}\x1b[0m{end}"


def _said(entry: Entry) -> tuple[str, str, str]:
    """What it is, what it says, and in which colour."""
    colour = _COLOURS[entry.source]
    if entry.source == "exit":
        code = entry.code
        ended = (
            f"status {code}"
            if isinstance(code, int) and code >= 0
            else f"signal {-(code or 0)}"
        )
        return f"the server ended: {ended}", "", colour
    if entry.frame is UNSET:
        if entry.text is not UNSET:
            return (
                ("" if entry.source == "stderr" else "no message:"),
                entry.text,
                colour,
            )
        return _of_http(entry), "", colour
    try:
        shown = _SHOWN.decode(entry.frame)
    except (DecodeError, RecursionError):
        return _of_http(entry) or "batch", _text(entry.frame), colour
    name = shown.method if isinstance(shown.method, str) else entry.method
    subject = clipped(name, 80) if isinstance(name, str) else "?"
    if shown.id is not UNSET:
        subject += f" #{clipped(_text(shown.id), 40)}"
    if entry.ms is not UNSET:
        subject += f" {entry.ms:.1f} ms"
    if entry.cut:
        subject += f" ({entry.size:,} bytes)"
    if shown.error is not UNSET:
        return f"{subject} error", _text(shown.error), _ERROR
    said = shown.params if shown.params is not UNSET else shown.result
    return subject, _text(said) if said is not UNSET else "", colour


def _of_http(entry: Entry) -> str:
    http = entry.http
    if http is UNSET:
        return ""
    if http.method is not UNSET:
        return f"{http.method} {clipped(http.path or '', 80)} [{http.exchange}]"
    if http.status is not UNSET:
        return f"HTTP {http.status} [{http.exchange}]"
    return f"end [{http.exchange}]" if http.ended else f"event [{http.exchange}]"


def _text(raw: Raw) -> str:
    return bytes(memoryview(raw)[: 8 * WIDTH]).decode("utf-8", "replace")


def printer() -> Callable[[Entry], None]:
    """Prints lines on standard error; it never waits for who reads them."""
    out = 2
    is_terminal = os.isatty(out) and os.environ.get("TERM") != "dumb"
    coloured = is_terminal and "NO_COLOR" not in os.environ
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"

    def show(entry: Entry) -> None:
        with suppress(OSError, ValueError):
            width = os.get_terminal_size(out).columns - 1 if is_terminal else WIDTH
            width = width if width > 20 else WIDTH  # some terminals do not know it
            text = line(entry, width, coloured=coloured) + "\n"
            # Standard error may be a pipe that nobody empties: lines are left out then.
            if select.select([], [out], [], 0)[1]:
                os.write(out, text.encode(encoding, "replace"))

    return show
