"""The protocol versions: their generated tables and validators, ready for quick checks.

A version's modules are imported when it is first spoken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from mcpgen.protocol import ERAS, PACKAGES

from .words import INITIALIZE

Issue: TypeAlias = tuple[str, str]
"""Path, and what is wrong there."""
Check: TypeAlias = Callable[[object, str], list[Any]]

LEGACY = tuple(name for name, era in ERAS.items() if era == "legacy")
MODERN = tuple(name for name, era in ERAS.items() if era == "modern")


class Row(NamedTuple):
    """A method of a version, with the validators of all that it carries."""

    sent_by: tuple[str, ...]
    check: Check | None
    """Of its params; None when it has none that are known."""
    required: bool
    """Must there be params?"""
    results: tuple[tuple[str, Check], ...]
    """By the names of their definitions; none for a notification."""
    client_capability: tuple[str, ...] | None
    server_capability: tuple[str, ...] | None
    embedded: bool
    deprecated: str


class Version:
    """One protocol version."""

    def __init__(self, name: str) -> None:
        package = f"mcpgen.protocol.{PACKAGES[name]}"
        methods: Any = import_module(f"{package}.methods")
        self.name = name
        self.validators: dict[str, Check] = import_module(
            f"{package}.validators"
        ).VALIDATORS
        self.traits: Any = methods.TRAITS
        self.modern: bool = self.traits.era == "modern"
        self.requests = {n: self._row(row) for n, row in methods.REQUESTS.items()}
        self.notifications = {
            n: self._row(row) for n, row in methods.NOTIFICATIONS.items()
        }
        self.codes: dict[int, str] = {
            code.value: code.name for code in methods.ErrorCode
        }
        self.error_checks: dict[str, Check] = {
            name: check
            for name in self.codes.values()
            if (check := self._error_check(name)) is not None
        }
        """What a code is called → the validator of its error, where there is one."""

    def __repr__(self) -> str:
        return f"Version({self.name!r})"

    def _row(self, row: Any) -> Row:
        names = [_name(kind) for kind in getattr(row, "results", ())]
        params = _name(row.params)
        return Row(
            row.sent_by,
            self.validators.get(params) if params else None,
            row.params_required,
            tuple((name, self.validators[name]) for name in names),
            row.client_capability,
            row.server_capability,
            getattr(row, "embedded", False),
            row.deprecated,
        )

    def _error_check(self, name: str) -> Check | None:
        # HEADER_MISMATCH → HeaderMismatchError, a message whose `error` is what counts.
        wanted = name.replace("_", "").lower() + "errorerror"
        found = (check for n, check in self.validators.items() if n.lower() == wanted)
        return next(found, None)

    def knows(self, method: str) -> bool:
        """Has it this request or notification?"""
        return method in self.requests or method in self.notifications


@cache
def get(name: str) -> Version:
    """A version by its name; KeyError when there is none."""
    return Version(name)


def known(name: object) -> Version | None:
    """The version of that name, if it is one of a protocol."""
    if isinstance(name, str) and (name in LEGACY or name in MODERN):
        return get(name)
    return None


def having(method: str) -> list[str]:
    """The versions that have a method, in their order."""
    return [name for name in (*LEGACY, *MODERN) if get(name).knows(method)]


@cache
def likely(method: str) -> Version:
    """What is meant when nothing tells the version of a message."""
    modern_only = method != INITIALIZE and not any(
        get(name).knows(method) for name in LEGACY
    )
    if MODERN and modern_only and get(MODERN[-1]).knows(method):
        return get(MODERN[-1])
    return get((LEGACY or MODERN)[-1])


def without_header() -> Version:
    """What is spoken over HTTP where no header says it: versions that had none yet."""
    silent = [name for name in LEGACY if not get(name).traits.version_header]
    return get((silent or LEGACY or MODERN)[-1])


def declared(capabilities: Any, path: tuple[str, ...]) -> bool:
    """Do these capabilities hold this one?"""
    for key in path:
        if not isinstance(capabilities, dict) or capabilities.get(key, False) is False:
            return False
        capabilities = capabilities[key]
    return True


def _name(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    return "" if kind is None or kind is dict else str(kind.__name__)
