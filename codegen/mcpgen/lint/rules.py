"""The table of all rules, from the modules that check them."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from . import (
    capabilities,
    errors,
    frames,
    handshake,
    http,
    ids,
    methods,
    process,
    progress,
    stateless,
)
from .rule import Rule

MODULES: Final[tuple[tuple[str, ModuleType], ...]] = (
    ("Messages", frames),
    ("The beginning of a session", handshake),
    ("Requests and answers", ids),
    ("Methods and schema", methods),
    ("Capabilities", capabilities),
    ("Progress, cancellation, logs", progress),
    ("Stateless versions", stateless),
    ("HTTP", http),
    ("Error responses, explained", errors),
    ("The process", process),
)
"""The modules, each under the heading that its rules have in the documentation."""

RULES: Final[dict[str, Rule]] = {
    rule.id: rule
    for _, module in MODULES
    for rule in vars(module).values()
    if isinstance(rule, Rule)
}
"""Id → rule."""
