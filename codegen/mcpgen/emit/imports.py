"""What a module with types imports, whichever flavour it has."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir import Definition


class Imports:
    """Names of a few known modules, as far as they are used.

    A definition may have the name of one; it then gets another one in the module.
    """

    def __init__(
        self, known: Mapping[str, tuple[str, ...]], definitions: dict[str, Definition]
    ) -> None:
        self.known = known
        self.definitions = definitions
        self.used: set[str] = set()
        """What must be imported."""

    def use(self, name: str) -> str:
        """An imported name, to be imported."""
        self.used.add(name)
        return self.spelled(name)

    def spelled(self, name: str) -> str:
        """An imported name as the module spells it: a definition may have taken it."""
        while name in self.definitions:
            name = f"_{name}"
        return name

    def imported(self) -> list[tuple[str, str]]:
        """(module, what is imported from it): only what is used."""
        found = []
        for module, names in self.known.items():
            spelled = [
                name if (local := self.spelled(name)) == name else f"{name} as {local}"
                for name in names
                if name in self.used
            ]
            if spelled:
                found.append((module, ", ".join(spelled)))
        return found
