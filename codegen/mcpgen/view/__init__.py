"""A recorded session, shown: as one HTML page, and as a Mermaid diagram."""

from __future__ import annotations

from .mermaid import mermaid
from .page import page

__all__ = ["mermaid", "page"]
