"""All families of rules that follow a session, in the order in which they are told."""

from __future__ import annotations

from .ids import Ends
from .methods import Methods
from .session import Family

FAMILIES: tuple[type[Family], ...] = (Methods, Ends)
