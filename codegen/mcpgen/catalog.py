"""The pinned versions, and each one compiled.

Two layers: the schemas that ship with mcpgen (read-only, the base) and the project's
own schema directory, which may add versions, errata and overlay facts. A version is a
name *and* a hash: bytes that are not the pinned ones are never compiled.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, TypeAlias

from . import resources, swap
from .config import Config
from .diagnostics import CompileError, Diagnostic, clip, did_you_mean, fail
from .errata import Erratum, apply_errata, read_errata
from .ir import Definition, Protocol
from .load import Document, load
from .lower import lower
from .methods import derive_protocol
from .names import resolve_names
from .overlay import Overlay, read_overlay
from .pins import (
    PINS,
    Kind,
    Layer,
    Pin,
    Tables,
    check_name,
    module_name,
    read_pins,
    with_pin,
)
from .templates import Templates

ERRATA = "errata.toml"
OVERLAY = "overlay.toml"

Compiled: TypeAlias = tuple[Protocol, tuple[Diagnostic, ...]]


class Catalog:
    """Every pinned version of the base and of one project, and what renders it."""

    def __init__(
        self, config: Config | None = None, templates: Templates | None = None
    ) -> None:
        self.templates = templates or Templates.of(config)
        base = Layer(resources.schema_dir(), "schema")
        self.layers = [base]
        if config and config.schema_dir != base.directory.resolve():
            label = config.schema_dir.relative_to(config.root).as_posix()
            self.layers.append(Layer(config.schema_dir, label))
        self.pins: dict[str, Pin] = {}
        for layer in self.layers:
            for pin in read_pins(layer):
                if pin.name in self.pins and pin.sha256 != self.pins[pin.name].sha256:
                    raise fail(
                        "version-twice",
                        f"{pin.name} is pinned with other bytes in {self.pins[pin.name].layer.label}",
                        file=layer.shown(PINS),
                        hint="give your schema a version name of its own",
                    )
                self.pins.setdefault(pin.name, pin)
        self._check_packages()
        self._bytes: dict[str, bytes] = {}
        self._memo: dict[str, Compiled] = {}

    # --- which versions there are ---------------------------------------------------

    def names(self) -> tuple[str, ...]:
        """Every version after its predecessors; otherwise by name, extensions last."""
        ordered: dict[str, None] = {}
        by_name = sorted(
            self.pins.values(), key=lambda p: (p.kind != "protocol", p.name)
        )
        for pin in by_name:
            ordered.update(dict.fromkeys(self.chain(pin.name)))
        return tuple(ordered)

    def pin(self, name: str) -> Pin:
        """The pin of a version; CompileError when there is none."""
        if name not in self.pins:
            raise fail(
                "version-unknown",
                f'no version "{clip(name, 64)}" is pinned',
                hint=did_you_mean(name, self.pins)
                or f"pinned are: {', '.join(sorted(self.pins))}",
            )
        return self.pins[name]

    def predecessor(self, name: str) -> str | None:
        """What `name` came after: as its pin says, else the next older by name."""
        pin = self.pin(name)
        if pin.after is not None:
            return pin.after
        if pin.kind == "extension":
            return None
        # A version that says it came after this one or a later one is no predecessor,
        # however it is called.
        older = [
            other.name
            for other in self.pins.values()
            if other.kind == "protocol"
            and other.name < name
            and (other.after or "") < name
        ]
        return max(older, default=None)

    def chain(self, name: str) -> tuple[str, ...]:
        """`name` and all its predecessors, oldest first."""
        chain = [self.pin(name).name]
        while (before := self.predecessor(chain[-1])) is not None:
            pin = self.pins[chain[-1]]
            if before not in self.pins:
                raise fail(
                    "pin-after",
                    f'{pin.name} comes after "{clip(before, 64)}", which is not pinned',
                    file=pin.layer.shown(PINS),
                    hint=did_you_mean(before, self.pins),
                )
            if before in chain:
                raise fail(
                    "pin-cycle",
                    f"{pin.name} comes after {before}, which comes after it",
                    file=pin.layer.shown(PINS),
                    hint="correct `after`",
                )
            chain.append(before)
        return tuple(reversed(chain))

    # --- one version, stage by stage ------------------------------------------------

    def read(self, name: str) -> Document:
        """The pinned bytes, verified and checked."""
        pin = self.pin(name)
        return load(self.data(name), version=name, file=pin.shown)

    def data(self, name: str) -> bytes:
        """The bytes of a version, verified against its pin."""
        pin = self.pin(name)
        data = self._bytes[name] if name in self._bytes else pin.read()
        if sha256(data).hexdigest() != pin.sha256:
            raise fail(
                "pin-mismatch",
                f"the file is not the one that was pinned as {name}",
                file=pin.shown,
                hint="restore the file; a changed schema is added under a name of its own",
            )
        return data

    def corrected(self, name: str) -> Document:
        """The document with its errata applied.

        A version that errata name gets exactly those. One that none names is new: it is
        offered the errata of its nearest predecessor that has any. An extension stands
        on its own: what it comes after is another kind of document.
        """
        errata = self.errata()
        document = self.read(name)
        listed_as = name
        if self.pin(name).kind == "protocol":
            named = {version for erratum in errata for version in erratum.versions}
            chain = reversed(self.chain(name))
            listed_as = next((version for version in chain if version in named), name)
        try:
            return apply_errata(document, errata, listed_as=listed_as)
        except (TypeError, ValueError, LookupError) as error:
            raise fail(
                "errata-malformed",
                f"an erratum for {listed_as} points nowhere: {error}",
                file=self.layers[-1].shown(ERRATA),
                hint='`at` holds JSON pointers such as "/$defs/Tool/properties/name/type"',
            ) from None

    def errata(self) -> tuple[Erratum, ...]:
        """The base's, then the project's."""
        found: list[Erratum] = []
        for layer in self.layers:
            rows = layer.tables(ERRATA, "errata-malformed")
            for number, row in enumerate(rows.get("erratum", []), 1):
                for key in ("versions", "at"):
                    if not _is_strings(row.get(key, [])):
                        raise fail(
                            "errata-malformed",
                            f"erratum {number}: {key} must be a list of strings",
                            file=layer.shown(ERRATA),
                        )
            found += read_errata(rows, layer.shown(ERRATA))
        return tuple(found)

    def overlay(self, name: str) -> Overlay:
        """The facts that hold for a version; the project's extend the base's."""
        chain = self.chain(name)
        table: Tables = {}
        for layer in self.layers:
            rows = layer.tables(OVERLAY, "overlay-malformed")
            # Each file is checked alone, so that a mistake is reported where it is.
            _facts(rows, chain, layer.shown(OVERLAY))
            for key, more in rows.items():
                table[key] = _extend(key, table.get(key, []), more)
        return _facts(table, chain, self.layers[-1].shown(OVERLAY))

    def protocol(self, name: str) -> Compiled:
        """The compiled version, and notes about what had to be assumed."""
        if name not in self._memo:
            self._memo[name] = self._compile(name)
        return self._memo[name]

    def _compile(self, name: str) -> Compiled:
        document = self.corrected(name)
        overlay = self.overlay(name)
        definitions = resolve_names(lower(document), overlay.names, file=document.file)
        protocol, notes = self._derive(document, definitions, overlay)
        return protocol, document.diagnostics + notes

    def _derive(
        self, document: Document, definitions: tuple[Definition, ...], overlay: Overlay
    ) -> Compiled:
        derived = derive_protocol(document, definitions, overlay, inherited_era=None)
        before = self.predecessor(document.version)
        if derived[0].era != "extension" or not derived[0].methods or before is None:
            return derived
        # Its methods do not tell the era: only now is the predecessor worth compiling.
        era = self.protocol(before)[0].era
        return derive_protocol(document, definitions, overlay, inherited_era=era)

    # --- adding a version -----------------------------------------------------------

    def add(
        self,
        data: bytes,
        name: str,
        *,
        source: str,
        kind: Kind = "protocol",
        after: str | None = None,
        license: str = "",
    ) -> Compiled | None:
        """Pin `data` as a new version; None when exactly these bytes are already.

        The version is compiled first: nothing is written unless that succeeds.
        """
        check_name(name)
        layer = self.layers[-1]
        digest = sha256(data).hexdigest()
        if name in self.pins:
            if self.pins[name].sha256 == digest:
                self.data(name)
                return None
            raise _exists(self.pins[name])
        if after is not None:
            self.pin(after)
        file = f"{name}/schema.json"
        pin = Pin(name, file, digest, source, license, kind, after, layer)
        compiled = self._with(pin, data).protocol(name)
        # Imported here: who only reads the catalog needs no templates.
        from .emit import rehearse

        rehearse(compiled[0], pin.shown)
        if pin.path.exists() and pin.read() != data:
            raise fail(
                "file-exists",
                "another file is there already, without a pin",
                file=pin.shown,
                hint="move it away, or add that file",
            )
        with swap.exclusive(layer.directory):
            # Read again, in case another `schema add` was quicker.
            for other in read_pins(layer):
                if other.name == name:
                    raise _exists(other)
            pins = layer.directory / PINS
            text = pins.read_text(encoding="utf-8") if pins.exists() else ""
            changes = {pin.file: data, PINS: with_pin(text, pin).encode()}
            swap.apply(layer.directory, changes)
        self.pins[name] = pin
        self._memo.clear()
        return compiled

    def _with(self, pin: Pin, data: bytes) -> Catalog:
        """This catalog as it would be with one more version, held in memory."""
        trial = object.__new__(Catalog)
        trial.templates = self.templates
        trial.layers = self.layers
        trial.pins = {**self.pins, pin.name: pin}
        trial._bytes = {**self._bytes, pin.name: data}
        trial._memo = {}
        trial._check_packages()
        for name in trial.pins:
            trial.chain(name)
        return trial

    def _check_packages(self) -> None:
        taken: dict[str, str] = {}
        for name in sorted(self.pins):
            # Folded, because some file systems do not tell upper from lower case.
            package = module_name(name).lower()
            if package in taken:
                raise fail(
                    "version-collision",
                    f"{taken[package]} and {name} would both be the package {module_name(name)}",
                    file=self.pins[name].layer.shown(PINS),
                    hint="rename one of them",
                )
            taken[package] = name


def _exists(pin: Pin) -> CompileError:
    return fail(
        "version-exists",
        f"{pin.name} is pinned already, with other bytes",
        file=pin.layer.shown(PINS),
        hint=f"choose another name, such as {pin.name}-2; pins are never replaced",
    )


# --- tables of the two layers -------------------------------------------------------


def _is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _facts(table: dict[str, Any], chain: tuple[str, ...], shown: str) -> Overlay:
    """`read_overlay`, where a value of the wrong type is the file's fault."""
    try:
        return read_overlay(table, chain, shown)
    except (TypeError, ValueError, AttributeError, KeyError, StopIteration) as error:
        raise fail(
            "overlay-malformed", f"a value has the wrong type: {error}", file=shown
        ) from None


def _extend(
    key: str, rows: list[dict[str, Any]], more: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The base's rows with the project's; a project may give a trait further values."""
    if key in ("name", "field"):
        return more + rows  # the first that matches decides: the project's word
    if key != "trait":
        return rows + more
    merged = {row["name"]: row for row in rows}
    for row in more:
        values = {**merged.get(row["name"], row)["values"], **row["values"]}
        merged[row["name"]] = {**merged.get(row["name"], row), "values": values}
    return list(merged.values())


__all__ = [
    "ERRATA",
    "OVERLAY",
    "PINS",
    "Catalog",
    "Compiled",
    "module_name",
]
