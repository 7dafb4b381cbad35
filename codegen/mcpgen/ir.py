"""The intermediate representation: what a protocol version *is*, free of JSON Schema.

Frozen dataclasses all the way down, so that every stage is a function from one value
to the next. `mcpgen ir VERSION` prints it as JSON (`to_json`); others may build on it.

A `Type` says which JSON values are allowed. A `Definition` is a named type. After the
`names` stage every object with known keys is a definition of its own and is reached
through a `Ref`; nothing is anonymous but scalars, arrays, maps and unions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


# --- types --------------------------------------------------------------------------


@dataclass(frozen=True)
class AnyType:
    """Every JSON value."""

    kind: Literal["any"] = "any"


@dataclass(frozen=True)
class Never:
    """No JSON value at all (the schema `false`)."""

    kind: Literal["never"] = "never"


@dataclass(frozen=True)
class Null:
    """`null`."""

    kind: Literal["null"] = "null"


@dataclass(frozen=True)
class Boolean:
    """`true` or `false`."""

    kind: Literal["boolean"] = "boolean"


@dataclass(frozen=True)
class String:
    """A string, perhaps of a certain length or look."""

    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    """An annotation only: the official validators do not assert formats."""
    kind: Literal["string"] = "string"


@dataclass(frozen=True)
class Number:
    """A number, perhaps whole or within bounds."""

    integer: bool = False
    minimum: int | float | None = None
    maximum: int | float | None = None
    exclusive_minimum: int | float | None = None
    exclusive_maximum: int | float | None = None
    multiple_of: int | float | None = None
    kind: Literal["number"] = "number"


@dataclass(frozen=True)
class Literals:
    """One of some constants (`const` and `enum`); the JSON text keeps it hashable."""

    values: tuple[str, ...]
    """Each constant as canonical JSON text, in the schema's order."""
    kind: Literal["literals"] = "literals"


@dataclass(frozen=True)
class Array:
    """An array whose items are all of one type."""

    items: Type
    min_items: int | None = None
    max_items: int | None = None
    unique: bool = False
    kind: Literal["array"] = "array"


@dataclass(frozen=True)
class Map:
    """An object without known keys."""

    values: Type
    min_properties: int | None = None
    max_properties: int | None = None
    kind: Literal["map"] = "map"


@dataclass(frozen=True)
class Union:
    """At least one arm matches (`anyOf`), or exactly one (`oneOf`)."""

    arms: tuple[Type, ...]
    exclusive: bool = False
    kind: Literal["union"] = "union"


@dataclass(frozen=True)
class All:
    """Every part matches, where the parts could not be merged into one type."""

    parts: tuple[Type, ...]
    kind: Literal["all"] = "all"


@dataclass(frozen=True)
class Not:
    """Every value but those of a type."""

    type: Type
    kind: Literal["not"] = "not"


@dataclass(frozen=True)
class Ref:
    """A definition, by its resolved name."""

    name: str
    kind: Literal["ref"] = "ref"


@dataclass(frozen=True)
class Field:
    """A known key of an object."""

    wire_name: str
    type: Type
    required: bool
    doc: str = ""
    default: str | None = None
    """The schema's `default`, as JSON text: an annotation, used by constructors."""
    python_name: str = ""
    """Filled in by the `names` stage."""


@dataclass(frozen=True)
class Object:
    """An object with known keys. Inline ones become definitions in `names`."""

    fields: tuple[Field, ...]
    additional: Type | None = None
    """What unknown keys may hold; None when the schema is silent (anything, ignored)."""
    patterns: tuple[tuple[str, Type], ...] = ()
    """`patternProperties`."""
    names: Type | None = None
    """`propertyNames`."""
    min_properties: int | None = None
    max_properties: int | None = None
    also: tuple[Type, ...] = ()
    """What else must match: the parts of a conjunction that are not fields."""
    pointer: str = ""
    doc: str = ""
    kind: Literal["object"] = "object"

    @property
    def is_open(self) -> bool:
        """Does the schema say outright that unknown keys mean something?"""
        return self.additional not in (None, Never()) or bool(self.patterns)


Type: TypeAlias = (
    AnyType
    | Never
    | Null
    | Boolean
    | String
    | Number
    | Literals
    | Array
    | Map
    | Union
    | All
    | Not
    | Ref
    | Object
)


def children(type: Type | None) -> tuple[Type, ...]:
    """The types that a type is made of, one step down."""
    match type:
        case Array(items=inner) | Map(values=inner) | Not(type=inner):
            return (inner,)
        case Union(arms=parts) | All(parts=parts):
            return parts
        case Object():
            optional = (type.additional, type.names)
            return (
                *(field.type for field in type.fields),
                *(inner for inner in optional if inner is not None),
                *(inner for _, inner in type.patterns),
                *type.also,
            )
        case _:
            return ()


def refs(type: Type | None) -> Iterator[str]:
    """The definitions that a type names."""
    if isinstance(type, Ref):
        yield type.name
    for child in children(type):
        yield from refs(child)


# --- definitions --------------------------------------------------------------------


@dataclass(frozen=True)
class Definition:
    """A named type; `name` is both the schema's name and a safe Python class name."""

    name: str
    type: Type
    pointer: str
    doc: str = ""
    schema_name: str = ""
    """The schema's own spelling; empty for an inline object that was given a name."""

    @property
    def inline(self) -> bool:
        """Was it written inside another definition, without a name of its own?"""
        return not self.schema_name

    @property
    def category(self) -> str:
        """How people would call it: struct, union, enum, constant or alias."""
        match self.type:
            case Object():
                return "struct"
            case Union():
                return "union"
            case Literals(values=values):
                return "enum" if len(values) > 1 else "constant"
            case _:
                return "alias"


# --- the protocol -------------------------------------------------------------------

Side = Literal["client", "server"]

ANY_OBJECT = "object"
"""Stands for params that may be any object; no definition can be called that."""


@dataclass(frozen=True)
class Method:
    """A request or a notification."""

    name: str
    """On the wire: `tools/call`."""
    kind: Literal["request", "notification"]
    definition: str
    """The message definition: `CallToolRequest`."""
    python_name: str
    """For stubs: `call_tool`."""
    sent_by: tuple[Side, ...]
    params: str | None
    """The params definition, or ANY_OBJECT; None when the method takes none."""
    params_required: bool
    results: tuple[str, ...] = ()
    """Every definition that may answer it, the usual one first."""
    client_capability: tuple[str, ...] | None = None
    """What the client must have declared for it to be used; None asks nothing."""
    server_capability: tuple[str, ...] | None = None
    embedded: bool = False
    """Travels inside a result (`InputRequest`), without `id` and `jsonrpc`."""
    deprecated: str = ""
    """Why, and what to use instead."""
    doc: str = ""


@dataclass(frozen=True)
class Capability:
    """A capability that a side may declare: its path, and how the schema types it."""

    owner: Side
    path: tuple[str, ...]
    doc: str = ""


@dataclass(frozen=True)
class ErrorCode:
    """An error code that a version gives a meaning."""

    name: str
    """As a Python constant: `METHOD_NOT_FOUND`."""
    code: int
    doc: str = ""


@dataclass(frozen=True)
class Trait:
    """A difference between versions that the schema does not hold."""

    name: str
    value: str
    """As JSON text."""
    doc: str = ""


@dataclass(frozen=True)
class Replacement:
    """What took the place of a method that this version no longer has."""

    method: str
    by: str
    """Another method, or a few words: what to use instead."""


@dataclass(frozen=True)
class Protocol:
    """One protocol version (or extension), whole."""

    version: str
    sha256: str
    era: str
    """`legacy` (a session opened by initialize), `modern` (stateless) or `extension`."""
    dialect: str
    definitions: tuple[Definition, ...]
    methods: tuple[Method, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    errors: tuple[ErrorCode, ...] = ()
    traits: tuple[Trait, ...] = ()
    replaced: tuple[Replacement, ...] = ()

    def definition(self, name: str) -> Definition:
        """The definition called `name`; KeyError when there is none."""
        for definition in self.definitions:
            if definition.name == name:
                return definition
        raise KeyError(name)


def to_json(value: Any) -> Any:
    """The IR as plain JSON data; fields that say nothing are left out."""
    if is_dataclass(value):
        items = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {k: to_json(v) for k, v in items if v not in (None, (), "")}
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    return value
