"""What is wrong in a session: each frame against its version's schema, all against the rules."""

from __future__ import annotations

from .finding import Finding
from .linter import lint

__all__ = ["Finding", "lint"]
