"""The table of all rules, from the modules that check them."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from . import (
    capabilities,
    errors,
    frames,
    handshake,
    headers,
    ids,
    methods,
    process,
    progress,
    stateless,
    structured,
    traffic,
)
from .rule import Rule

MODULES: Final[tuple[tuple[str, ModuleType], ...]] = (
    ("Messages", frames),
    ("The beginning of a session", handshake),
    ("Requests and answers", ids),
    ("Methods and schema", methods),
    ("Methods and schema", structured),
    ("Capabilities", capabilities),
    ("Progress, cancellation, logs", progress),
    ("Stateless versions", stateless),
    ("HTTP", headers),
    ("HTTP", traffic),
    ("Error responses, explained", errors),
    ("The process", process),
)
"""The modules, each under the heading that its rules have in the documentation."""


def _table() -> tuple[dict[str, Rule], dict[str, str]]:
    rules: dict[str, Rule] = {}
    families: dict[str, str] = {}
    for heading, module in MODULES:
        for value in vars(module).values():
            # A module may also import the rule of another.
            if isinstance(value, Rule) and value.id not in rules:
                rules[value.id] = value
                families[value.id] = heading
    return rules, families


_TABLE: Final = _table()
RULES: Final[dict[str, Rule]] = _TABLE[0]
"""Id → rule."""
FAMILY: Final[dict[str, str]] = _TABLE[1]
"""Id → the heading that the rule stands under."""


def as_markdown() -> str:
    """The rules for the documentation, under the headings of their families."""
    headings = dict.fromkeys(heading for heading, _ in MODULES)
    return "\n\n".join(map(_family, headings))


def _family(heading: str) -> str:
    blocks = [
        f"**`{rule.id}`** ({rule.severity}): {rule.title}. {rule.why} Fix: {rule.fix}."
        for rule in RULES.values()
        if FAMILY[rule.id] == heading
    ]
    return "\n\n".join([f"### {heading}", *blocks])
