"""Do the generated bindings agree with `jsonschema` on the corrected schemas?

For every definition: the generated validator and the msgspec decode path must give the
oracle's verdict, and an instance without keys that the schema is silent about must
come back from decode → encode unchanged.
"""

from __future__ import annotations

import copy
import json
import typing
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import msgspec
from mcpgen.catalog import Catalog, module_name
from mcpgen.emit.schema import schema

from .instances import JSON, cases
from .oracle import Oracle


@dataclass(frozen=True)
class Disagreement:
    """One instance on which the bindings and the oracle differ."""

    version: str
    pointer: str
    problem: str
    instance: JSON

    def __str__(self) -> str:
        shown = json.dumps(self.instance, ensure_ascii=False)
        return f"{self.version}#{self.pointer}: {self.problem}\n    {shown}"


class Judge(typing.Protocol):
    """Whatever has an opinion on instances."""

    def problems(self, name: str, instance: JSON, verdict: bool) -> Iterator[str]:
        """What it says other than the verdict, of an instance of a definition."""
        ...


class Bindings:
    """The generated modules of one version beside its corrected schema."""

    def __init__(
        self, catalog: Catalog, version: str, package: str = "mcpgen.protocol"
    ) -> None:
        self.version = version
        self.document = catalog.corrected(version)
        self.oracle = Oracle(self.document.root)
        self.strict = Oracle(strict(self.document.root))
        self.names = {
            d.schema_name: d.name
            for d in catalog.protocol(version)[0].definitions
            if d.schema_name
        }
        module = f"{package}.{module_name(version)}"
        self.codec = import_module(f"{module}.types").codec
        self.validators = import_module(f"{module}.validators").VALIDATORS
        self.verdicts: Counter[bool] = Counter()
        """How many instances were valid, and how many were not."""

    def compare(
        self, name: str, count: int, seed: int, *others: Judge
    ) -> Iterator[Disagreement]:
        """All disagreements on `count` instances of a definition, those of others too."""
        pointer = self.document.definitions[name][0]
        for instance, verdict in cases(
            self.document.root, name, count, seed, oracle=self.oracle
        ):
            self.verdicts[verdict] += 1
            for judge in (self, *others):
                for problem in judge.problems(name, instance, verdict):
                    yield Disagreement(self.version, pointer, problem, instance)

    def problems(self, name: str, instance: JSON, verdict: bool) -> Iterator[str]:
        issues = self.validators[self.names[name]](instance)
        if bool(issues) == verdict:
            yield f"oracle says {verdict}, validator says {issues}"
        try:
            self.codec.convert(instance, self.names[name])
        except msgspec.ValidationError as error:
            if verdict:
                yield f"oracle says valid, convert says {error}"
        else:
            if not verdict:
                yield "oracle says invalid, convert takes it"
        try:
            value = self.codec.decode(json.dumps(instance), self.names[name])
        except msgspec.ValidationError as error:
            if verdict:
                yield f"oracle says valid, decode says {error}"
            return
        if not verdict:
            yield f"oracle says invalid, decode gives {value!r}"
        elif self.strict.is_valid(self._chosen(name, value), instance):
            back = json.loads(self.codec.encode(value))
            if not same(back, instance):
                yield f"came back as {json.dumps(back, ensure_ascii=False)}"

    def _chosen(self, name: str, value: object) -> str:
        """Of a union, the arm that was decided on: its rules say what is kept."""
        chosen = type(value).__name__
        return next((s for s, n in self.names.items() if n == chosen), name)


class Normalised:
    """The schema that the IR writes back."""

    def __init__(self, catalog: Catalog, version: str) -> None:
        protocol = catalog.protocol(version)[0]
        self.oracle = Oracle(schema(protocol))
        self.names = {d.schema_name: d.name for d in protocol.definitions}

    def problems(self, name: str, instance: JSON, verdict: bool) -> Iterator[str]:
        if self.oracle.is_valid(self.names[name], instance) != verdict:
            yield f"oracle says {verdict}, the schema written back does not"


class LosslessBindings(Bindings):
    """Another flavour: with all its keys, a message comes back as it was."""

    def problems(self, name: str, instance: JSON, verdict: bool) -> Iterator[str]:
        text = json.dumps(instance)
        for how, given in (("decode", text), ("convert", instance)):
            try:
                value = getattr(self.codec, how)(given, self.names[name])
            except ValueError as error:
                if verdict or not error.issues:  # type: ignore[attr-defined]
                    yield f"oracle says {verdict}, {how} says {error}"
                continue
            if not verdict:
                yield f"oracle says invalid, {how} takes it"
            back = self.codec.encode(value)
            if not same(json.loads(back), instance):
                yield f"{how}: came back as {back!r}"


def strict(root: dict[str, Any]) -> dict[str, Any]:
    """The schema with every silent object closed: what it accepts must not be lost."""

    def close(schema: Any) -> None:
        if isinstance(schema, list):
            for item in schema:
                close(item)
        elif isinstance(schema, dict):
            for key, item in schema.items():
                if key not in ("const", "enum", "default", "examples", "required"):
                    close(item)
            if (
                isinstance(schema.get("properties"), dict)
                and schema.get("type") == "object"
            ):
                schema.setdefault("additionalProperties", False)

    closed = copy.deepcopy(root)
    for keyword in ("$defs", "definitions"):
        for definition in closed.get(keyword, {}).values():
            close(definition)
    return closed


def same(a: JSON, b: JSON) -> bool:
    """Equal as JSON: 1 is 1.0, true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b
