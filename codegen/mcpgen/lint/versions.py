"""The protocol versions: their method tables and validators, ready for quick checks.

A version is made when it is first spoken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias

from mcpgen.protocol import ERAS, PACKAGES

from .words import INITIALIZE

Issue: TypeAlias = tuple[str, str]
"""Path, and what is wrong there."""
Check: TypeAlias = Callable[[object, str], list[Any]]


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

    def __init__(
        self,
        name: str,
        *,
        traits: Any,
        requests: Mapping[str, Any],
        notifications: Mapping[str, Any],
        codes: dict[int, str],
        validators: dict[str, Check],
    ) -> None:
        self.name = name
        self.traits = traits
        self.modern: bool = traits.era == "modern"
        self._validators = validators
        self.requests = {n: self._row(row) for n, row in requests.items()}
        self.notifications = {n: self._row(row) for n, row in notifications.items()}
        self.codes = codes
        self.error_checks: dict[str, Check] = {
            name: check
            for name in codes.values()
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
            self._validators.get(params) if params else None,
            row.params_required,
            tuple((n, self._validators[n]) for n in names if n in self._validators),
            row.client_capability,
            row.server_capability,
            getattr(row, "embedded", False),
            row.deprecated,
        )

    def _error_check(self, name: str) -> Check | None:
        # HEADER_MISMATCH → HeaderMismatchError, a message whose `error` is what counts.
        wanted = name.replace("_", "").lower() + "errorerror"
        found = (check for n, check in self._validators.items() if n.lower() == wanted)
        return next(found, None)

    def knows(self, method: str) -> bool:
        """Has it this request or notification?"""
        return method in self.requests or method in self.notifications


class Versions:
    """The versions that are known: each by its name, in their order."""

    def __init__(self, eras: Mapping[str, str], make: Callable[[str], Version]) -> None:
        self.legacy = tuple(name for name, era in eras.items() if era == "legacy")
        self.modern = tuple(name for name, era in eras.items() if era == "modern")
        self.names = (*self.legacy, *self.modern)
        self._make = make
        self._made: dict[str, Version] = {}

    def __iter__(self) -> Iterator[Version]:
        return map(self.get, self.names)

    def get(self, name: str) -> Version:
        """A version that is one of these."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def known(self, name: object) -> Version | None:
        """The version of that name, if it is one of these."""
        if isinstance(name, str) and name in self.names:
            return self.get(name)
        return None

    def later(self, name: str) -> bool:
        """May it be a version of days to come, of which nothing is known here?"""
        dated = re.fullmatch(r"\d{4}-\d\d-\d\d", name, re.ASCII) is not None
        return dated and name > max(self.names)

    def having(self, method: str) -> list[str]:
        """The versions that have a method, in their order."""
        return [version.name for version in self if version.knows(method)]

    def usual(self) -> Version:
        """What is meant when nothing at all tells."""
        return self.get((self.legacy or self.modern)[-1])

    def likely(self, method: str) -> Version:
        """What is meant when nothing tells the version of a message."""
        modern_only = method != INITIALIZE and not any(
            self.get(name).knows(method) for name in self.legacy
        )
        if self.modern and modern_only and self.get(self.modern[-1]).knows(method):
            return self.get(self.modern[-1])
        return self.usual()

    def without_header(self) -> Version:
        """What is spoken over HTTP where no header says it: versions that had none yet."""
        silent = [n for n in self.legacy if not self.get(n).traits.version_header]
        return self.get(silent[-1]) if silent else self.usual()


def generated(name: str) -> Version:
    """A version whose modules are installed."""
    package = f"mcpgen.protocol.{PACKAGES[name]}"
    methods: Any = import_module(f"{package}.methods")
    return Version(
        name,
        traits=methods.TRAITS,
        requests=methods.REQUESTS,
        notifications=methods.NOTIFICATIONS,
        codes={code.value: code.name for code in methods.ErrorCode},
        validators=import_module(f"{package}.validators").VALIDATORS,
    )


INSTALLED: Final = Versions(ERAS, generated)


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
