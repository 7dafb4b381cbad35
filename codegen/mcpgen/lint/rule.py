"""What a rule is: everything that is to be said about it, once."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be wrong; a module of rules keeps each beside its check."""

    id: str
    severity: Severity
    title: str
    """What is wrong, in a few words."""
    why: str
    """What the protocol says, and what goes wrong otherwise."""
    fix: str
    """What to do about it."""
    whole: bool = False
    """It needs the whole session: messages out of context cannot break it."""
