"""The protocol versions at hand: their generated tables, loaded when first spoken."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..protocol import ERAS, load

LEGACY = tuple(name for name, era in ERAS.items() if era == "legacy")
MODERN = tuple(name for name, era in ERAS.items() if era == "modern")


class Version:
    """One version: how its messages are typed, and what is special about it."""

    def __init__(self, name: str) -> None:
        self._package = package = load(name)
        self.name = name
        self.types: Any = package.types
        self.requests: dict[str, Any] = package.methods.REQUESTS
        self.notifications: dict[str, Any] = package.methods.NOTIFICATIONS
        self.traits: Any = package.methods.TRAITS
        self.errors: Any = package.methods.ErrorCode

    def __repr__(self) -> str:
        return f"Version({self.name!r})"

    @property
    def client(self) -> Any:
        """The stubs of a client."""
        return self._package.client

    def knows(self, definition: str, field: str = "") -> bool:
        """Has the version this definition, and it this field?"""
        found = getattr(self.types, definition, None)
        if found is None or not field:
            return found is not None
        return field in getattr(found, "__struct_fields__", ())


@cache
def get(name: str) -> Version:
    """A version by its name, one of LEGACY or MODERN."""
    return Version(name)


@cache
def is_modern_only(method: str) -> bool:
    """Has only the newest era this request?"""
    modern, legacy = MODERN[-1:], LEGACY[-1:]
    return any(method in get(name).requests for name in modern) and not any(
        method in get(name).requests for name in legacy
    )


def declared(capabilities: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Do these capabilities hold this one, itself or as a part of another?"""
    found: Any = capabilities
    for key in path:
        if not isinstance(found, dict) or key not in found or found[key] is False:
            return False
        found = found[key]
    return True
