"""A session over stdio, put together from what its pipes carried."""

from __future__ import annotations

from typing import cast

from .book import Book
from .frames import Lines
from .pairing import Side

LONGEST_TEXT = 64 * 1024
"""Bytes of a line of stderr that are kept."""


class Session:
    """Cuts what is noted into lines, and enters each into the book."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._lines = {
            "client": Lines(),
            "server": Lines(),
            "stderr": Lines(LONGEST_TEXT),
        }

    def take(self, t: float, what: tuple[str, bytes] | int) -> None:
        """What a pipe carried (nothing: it has ended), or the status of the server."""
        if isinstance(what, int):
            self._book.exit(t, what)
            return
        source, data = what
        lines = self._lines[source]
        for frame in lines.feed(data) if data else lines.end():
            if source == "stderr":
                self._book.text(t, "stderr", frame)
            else:
                self._book.frame(t, cast(Side, source), frame)

    def flush(self) -> None:
        """Nothing more is there for now."""
        self._book.flush()

    def close(self) -> None:
        """That was all."""
        self._book.close()
