"""One thing that `lint` found, and `view` marks."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """What, where, why, and what to do about it."""

    rule: str
    """The id of the rule: `mcpgen lint --explain RULE` tells all of it."""
    severity: Severity
    line: int
    """Of the recording, counted from 1 (its header)."""
    path: str
    """The JSON path inside the frame, `$` for all of it."""
    message: str
    fix: str = ""
