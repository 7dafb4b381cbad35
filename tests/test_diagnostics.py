"""How problems are told: each with its place, and what to do said once."""

from __future__ import annotations

from mcpgen.diagnostics import Diagnostic, as_text


def test_what_has_the_same_place_and_hint_is_told_together() -> None:
    found = [
        Diagnostic("stale", "one is new", "a.py", hint="make it again"),
        Diagnostic("stale", "two is gone", "a.py", hint="make it again"),
        Diagnostic("stale", "three is another", "a.py"),
        Diagnostic("stale", "is not there", "b.py", hint="make it"),
    ]
    assert as_text(found) == (
        "error[stale] a.py\n"
        "  one is new\n"
        "  two is gone\n"
        "  make it again\n"
        "error[stale] a.py\n"
        "  three is another\n"
        "error[stale] b.py\n"
        "  is not there\n"
        "  make it"
    )
