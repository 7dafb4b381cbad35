"""One line on a terminal for everything that happens, as it happens."""

from __future__ import annotations

import os
from collections.abc import Callable
from shutil import get_terminal_size
from typing import Any

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder

from ..diff.report import clipped, printable
from ..recording import Entry
from .stderr import STDERR, say

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
    subject = clipped(printable(subject), max(width - 12, 1))
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
        cut = f"too large: {entry.size:,} bytes" if entry.cut else ""
        return " ".join(filter(None, (_of_http(entry), cut))), "", colour
    text = _text(entry.frame)
    try:
        shown = _SHOWN.decode(entry.frame)
    except (DecodeError, RecursionError):
        what = "batch" if text.startswith("[") else "no message:"
        return _of_http(entry) or what, text, colour
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
    if shown.method is UNSET and shown.result is UNSET and not entry.cut:
        return "no message:", text, colour
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
    is_terminal = os.isatty(STDERR) and os.environ.get("TERM") != "dumb"
    coloured = is_terminal and "NO_COLOR" not in os.environ

    def show(entry: Entry) -> None:
        width = get_terminal_size((WIDTH, 0)).columns - 1 if is_terminal else WIDTH
        say(line(entry, max(width, 20), coloured=coloured))

    return show
