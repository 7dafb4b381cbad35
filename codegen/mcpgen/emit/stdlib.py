"""`types.py`, stdlib flavour: TypedDicts with wire names, and nothing to install.

A message stays the dict that `json` made of it, so that nothing is lost or renamed;
`validators.py` says whether it fits. Annotations are evaluated when the module is
imported, which takes less time than keeping them as strings (typing compiles each),
and lets Python see which keys are required. For that, definitions come in an order in
which each finds what it is made of; only what is recursive is quoted.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from keyword import iskeyword

import jinja2

from ..ir import (
    All,
    AnyType,
    Array,
    Boolean,
    Definition,
    Field,
    Literals,
    Map,
    Never,
    Null,
    Number,
    Object,
    Protocol,
    Ref,
    String,
    Type,
    Union,
)
from ..render import pystr
from .imports import Imports
from .reading import described, reading_order

_IMPORTED = {
    "typing": (
        *("TYPE_CHECKING", "Any", "Literal", "Never", "NotRequired"),
        *("TypeAlias", "TypedDict"),
    ),
    ".._stdlib": ("Codec", "InvalidMessage", "NotJson"),
}
_EXPORTED = ("InvalidMessage", "NotJson", "convert", "decode", "encode")


def emit(protocol: Protocol, env: jinja2.Environment) -> dict[str, str]:
    """The module with a TypedDict or an alias for every definition."""
    module = _Module(protocol)
    entries = module.entries()
    names = [module.spelled(name) for name in _EXPORTED]
    context = {
        "protocol": protocol,
        "entries": entries,
        "imports": module.imported(),
        "use": module.spelled,
        "exported": sorted([*module.definitions, *names]),
    }
    return {"types.py": env.get_template("stdlib/types.py.jinja").render(context)}


def emit_shared(
    protocols: tuple[Protocol, ...], env: jinja2.Environment
) -> dict[str, str]:
    """The modules that stand once, beside the version packages of this flavour."""
    return {
        "_issues.py": env.get_template("shared/issues.py.jinja").render(),
        "_stdlib.py": env.get_template("stdlib/codec.py.jinja").render(),
    }


# --- what the templates print ---------------------------------------------------------


@dataclass(frozen=True)
class _Key:
    """A key of a TypedDict, ready to print."""

    name: str
    annotation: str
    doc: str


@dataclass(frozen=True)
class _Entry:
    """A definition, ready to print by the template that `kind` names."""

    kind: str
    name: str
    doc: str
    keys: tuple[_Key, ...] = ()
    annotation: str = ""


# --- the plan ---------------------------------------------------------------------------


class _Module(Imports):
    """Collects what the module says, and what it must import for that."""

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(_IMPORTED, {d.name: d for d in protocol.definitions})
        self.protocol = protocol
        self.used |= {"Codec", "InvalidMessage", "NotJson"}
        self.aliases = {
            name: self.annotation(_alias_type(d.type))
            for name, d in self.definitions.items()
            if not _is_typed_dict(d.type)
        }
        self.keys = {
            name: self._annotations(d.type)
            for name, d in self.definitions.items()
            if _is_typed_dict(d.type)
        }
        """TypedDict → what each of its keys holds."""
        self.made_of = {
            name: frozenset(self._definitions_in(name)) for name in self.definitions
        }

    def _definitions_in(self, name: str) -> Iterator[str]:
        """The definitions that a definition's annotations name."""
        annotations = self.keys.get(name) or {"": self.aliases.get(name, "None")}
        for annotation in annotations.values():
            yield from _names(annotation) & self.definitions.keys()

    # --- annotations --------------------------------------------------------------------

    def annotation(self, type: Type) -> str:
        match type:
            case Null():
                return "None"
            case Boolean():
                return "bool"
            case String():
                return "str"
            case Number(integer=integer):
                return "int" if integer else "int | float"
            case Literals(values=values):
                return self._literal(values)
            case Array(items=items):
                return f"list[{self.annotation(items)}]"
            case Map(values=values):
                return f"dict[str, {self.annotation(values)}]"
            case Ref(name=name):
                return name
            case Union(arms=arms):
                return _either([self.annotation(arm) for arm in arms])
            case All(parts=(first, *_)):
                return self.annotation(first)  # true of the value, if not all of it
            case Never():
                return self.use("Never")
            case _:
                return self.use("Any")

    def _literal(self, values: tuple[str, ...]) -> str:
        constants = [json.loads(value) for value in values]
        if any(isinstance(constant, (float, list, dict)) for constant in constants):
            return self.use("Any")  # no Literal of these
        written = (pystr(c) if isinstance(c, str) else repr(c) for c in constants)
        return f"{self.use('Literal')}[{', '.join(written)}]"

    def _annotations(self, type: Type) -> dict[str, str]:
        assert isinstance(type, Object)
        return {f.wire_name: self._held(f.type) for f in type.fields}

    def _held(self, type: Type) -> str:
        """What a key holds: an open object is also any dict, to a type checker.

        It knows no TypedDict with further keys, and would refuse each of them.
        """
        annotation = self.annotation(type)
        arms = type.arms if isinstance(type, Union) else (type,)
        if not any(self._is_open(arm) for arm in arms):
            return annotation
        return _either([annotation, f"dict[str, {self.use('Any')}]"])

    def _is_open(self, type: Type) -> bool:
        if not isinstance(type, Ref) or type.name in self.aliases:
            return False
        target = self.definitions[type.name].type
        return isinstance(target, Object) and target.is_open

    # --- order --------------------------------------------------------------------------

    def _needs(self, name: str) -> frozenset[str]:
        """What must be there for an alias to be evaluated, other aliases looked into."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current in self.aliases:
                new = self.made_of[current] - found
                found |= new
                waiting += new
        return frozenset(found)

    def _order(self) -> tuple[list[str], frozenset[str]]:
        """Every definition after those it is made of; and the recursive aliases."""
        needs = {name: self._needs(name) for name in self.aliases}
        recursive = frozenset(name for name in needs if name in needs[name])
        # Recursive aliases are any value at run time, which needs nothing.
        needs |= dict.fromkeys(recursive, frozenset())
        # A dict, for its order.
        done: dict[str, None] = {}
        for root in self.definitions:
            above: dict[str, Iterator[str]] = {root: iter(sorted(self.made_of[root]))}
            while above:
                name, below = next(reversed(above.items()))
                for other in below:
                    waits = needs.get(other, frozenset()) & above.keys()
                    if other not in done and other not in above and not waits:
                        above[other] = iter(sorted(self.made_of[other]))
                        break
                else:
                    del above[name]
                    done[name] = None
        return list(done), recursive

    # --- output -------------------------------------------------------------------------

    def entries(self) -> list[_Entry]:
        """Every definition, in an order in which Python can evaluate them."""
        order, recursive = self._order()
        entries = []
        later = set(order)
        for name in order:
            if name in self.keys:
                entries.append(self._typed_dict(name, later))
            else:
                entries.append(self._alias(name, name in recursive))
            later.remove(name)
        return entries

    def _alias(self, name: str, recursive: bool) -> _Entry:
        self.use("TypeAlias")
        if recursive:
            self.used |= {"TYPE_CHECKING", "Any"}
        kind = "recursive" if recursive else "alias"
        doc = self.definitions[name].doc
        return _Entry(kind, name, doc, annotation=self.aliases[name])

    def _typed_dict(self, name: str, later: set[str]) -> _Entry:
        self.use("TypedDict")
        definition = self.definitions[name]
        type = definition.type
        assert isinstance(type, Object)
        annotations = self.keys[name]
        mentioned = {n for text in annotations.values() for n in _names(text)}
        in_class = all(
            _can_be_declared(key) and key not in mentioned for key in annotations
        )
        return _Entry(
            "class" if in_class else "keys",
            name,
            self._doc(definition),
            tuple(
                _Key(f.wire_name, self._line(f, annotations[f.wire_name], later), f.doc)
                for f in sorted(type.fields, key=reading_order)
            ),
        )

    def _line(self, f: Field, annotation: str, later: set[str]) -> str:
        if _names(annotation) & later:
            annotation = pystr(annotation)
        return annotation if f.required else f"{self.use('NotRequired')}[{annotation}]"

    def _doc(self, definition: Definition) -> str:
        """What the schema says, or what can be said; and whether there may be more."""
        assert isinstance(definition.type, Object)
        doc = described(definition, self.protocol)
        note = "Further keys are allowed." if definition.type.is_open else ""
        return "\n\n".join(filter(None, (doc, note)))


# --- small questions --------------------------------------------------------------------


def _is_typed_dict(type: Type) -> bool:
    """An object with known keys; or without any, where none may be."""
    if not isinstance(type, Object):
        return False
    if any(not f.wire_name for f in type.fields):
        return False  # type checkers refuse the empty key
    return bool(type.fields) or (type.additional == Never() and not type.patterns)


def _alias_type(type: Type) -> Type:
    """What is no TypedDict: an object without known keys is a map."""
    if not isinstance(type, Object):
        return type
    if type.fields or type.patterns or type.additional is None:
        return Map(AnyType())
    return Map(type.additional)


def _either(annotations: list[str]) -> str:
    return " | ".join(dict.fromkeys(annotations))


def _names(annotation: str) -> set[str]:
    """The names that an annotation is made of, not what stands in its strings."""
    tree = ast.parse(annotation, mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _can_be_declared(key: str) -> bool:
    """Can a class body name this key? Python changes some names that it reads there."""
    plain = key.isascii() and key.isidentifier() and not iskeyword(key)
    return plain and not key.startswith("__")
