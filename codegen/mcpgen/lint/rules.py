"""The table of all rules, from the modules that check them."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from . import frames, ids, methods, process
from .rule import Rule

MODULES: Final[tuple[tuple[str, ModuleType], ...]] = (
    ("Messages", frames),
    ("Requests and answers", ids),
    ("Methods and schema", methods),
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
