"""Schemas of users and servers → one flat document that models can be made of.

What people write as JSON Schema has no bounds: references in circles or to other
machines, objects inside of unions inside of arrays, keywords of other dialects. Here
each becomes definitions in which every object has a name (from its path, or the one it
has in `$defs`), references lead to these alone, and only what annotations can say is
left. What they cannot say becomes less exact, never wrong: in the end, any value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

from .datamodel import MODEL_NAMES, Flavour
from .diagnostics import Diagnostic, clip, fail
from .load import MAX_DEPTH, escape, unescape
from .names import distinct, field_name, is_plain, pascal_case, spelled
from .unions import OBJECT, Unions

MAX_NODES = 50_000
"""So many (sub)schemas are read: circles of references can be unrolled without end."""
MAX_VALUES = 200
"""An enumeration with more values than these is no help as a type."""
MAX_SIZE = 100
"""So much may stand at once where a reference is; references to references multiply."""

ANY: dict[str, Any] = {}
_INNER = ("items", "additionalProperties")
_SCALARS = ("string", "integer", "number", "boolean", "null")
_DEFS = re.compile(r"/(?:\$defs|definitions)/([^/]+)")

_UNFIT: Mapping[Flavour, re.Pattern[str]] = {
    "msgspec": re.compile(r'[\\"\0-\x1f]'),
    "pydantic": re.compile(r"(?!)"),
    # Type checkers know no empty key, and one called Any hides what it is.
    "typeddict": re.compile(r"\A(?:Any)?\Z"),
}
"""Keys that no class of the flavour can have."""

CLASS_RESERVED = frozenset(
    {
        *("Annotated", "Any", "Awaitable", "Dict", "List", "Literal", "Mapping"),
        *("NotRequired", "Optional", "Self", "TypeAlias", "TypeAliasType", "TypedDict"),
        *("Union", "BaseModel", "ConfigDict", "Field", "RootModel"),
        *("Meta", "Struct", "UNSET", "UnsetType", "None", "True", "False"),
    }
)
"""Names of what a module with models imports."""
_PROTECTED = ("model_dump", "model_validate")
"""With these no field of a pydantic model can begin without a warning."""
FIELD_RESERVED = frozenset(
    {
        *("list", "dict", "str", "int", "float", "bool"),
        *("self", "cls", "field", "bytes", "tuple", "date", "datetime", "time"),
        *(name for name in MODEL_NAMES if not name.startswith(_PROTECTED)),
    }
)


@dataclass(frozen=True)
class Flat:
    """What `models` takes."""

    definitions: Mapping[str, Any]
    roots: Mapping[str, Any]
    """Name asked for → the schema it became: a reference to its definition, or less."""
    fields: Mapping[str, Mapping[str, str]]
    """Definition → key on the wire → name of the attribute."""
    notes: tuple[Diagnostic, ...]
    """What could not be followed."""


def flatten(
    schemas: Mapping[str, Any],
    flavour: Flavour,
    *,
    parameters: frozenset[str] = frozenset(),
    reserved: frozenset[str] = frozenset(),
    file: str = "",
) -> Flat:
    """All schemas as one document; each is a document of its own to begin with.

    The keys are the class names wanted for their roots. `parameters` are roots that
    become the parameters of a function, and can have keys that no class can.
    """
    return _Flattening(schemas, flavour, parameters, reserved, file).flat()


@dataclass(frozen=True)
class _Place:
    """Where a schema stands, and the words that name what is found there."""

    root: str
    pointer: str
    words: tuple[str, ...]
    is_shared: bool = False
    """Does its name come from `$defs`, where other documents may have the same?"""
    depth: int = 0

    def under(self, pointer: str, *words: str) -> _Place:
        return replace(
            self,
            pointer=f"{self.pointer}/{pointer}",
            words=(*self.words, *words),
            depth=self.depth + 1,
        )

    @property
    def key(self) -> str:
        return f"{self.root}#{self.pointer}"


class _Flattening:
    def __init__(
        self,
        schemas: Mapping[str, Any],
        flavour: Flavour,
        parameters: frozenset[str],
        reserved: frozenset[str],
        file: str,
    ) -> None:
        self.schemas = schemas
        self.needs_tags = flavour == "msgspec"
        self.unfit_keys = _UNFIT[flavour]
        self.parameters = parameters
        self.reserved = reserved
        self.file = file
        self.places: dict[str, _Place] = {}
        """Key of a definition → where it is."""
        self.found: dict[str, dict[str, Any]] = {}
        """Key of a definition → what it is; references are keys."""
        self.targets: dict[str, dict[str, Any] | None] = {}
        """What references lead to; None while that is being read."""
        self.reading: list[str] = []
        """The keys of those that are being read, the innermost last."""
        self.closed = 0
        """So many of them are outside of the object that is being read."""
        self.circular: set[str] = set()
        """Those that were referred to while they were being read."""
        self.merging: set[str] = set()
        """References that `allOf` has made one object of, outside of this one."""
        self.unfit: set[str] = set()
        """Keys of definitions that can be parameters but no class."""
        self.notes: list[Diagnostic] = []
        self.nodes = 0

    def flat(self) -> Flat:
        roots = {
            name: self._target(_Place(name, "", (name,)), schema)
            for name, schema in sorted(self.schemas.items())
        }
        known = _without_circles(self.found)
        unions = Unions(known, needs_tags=self.needs_tags)
        known = {key: unions.readable(schema) for key, schema in known.items()}
        roots = {name: unions.readable(schema) for name, schema in roots.items()}
        roots, found = _direct(roots, known), _direct(known, known)
        found = {key: found[key] for key in found if "$ref" not in known[key]}
        names = self._names(_alike(found, self.places))
        definitions = {
            names[key]: _renamed(schema, names) for key, schema in found.items()
        }
        return Flat(
            dict(sorted(definitions.items())),
            {name: _renamed(schema, names) for name, schema in roots.items()},
            {name: _field_names(d) for name, d in sorted(definitions.items())},
            tuple(self.notes),
        )

    # --- reading ------------------------------------------------------------------------

    def _schema(self, schema: Any, at: _Place) -> dict[str, Any]:
        """Anything that stands where a schema belongs, in the words of `models`."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise fail(
                "schema-too-large",
                f"more than {MAX_NODES} schemas, references followed",
                file=self.file or at.root,
                pointer=clip(at.pointer, 200),
            )
        if not isinstance(schema, dict) or at.depth > MAX_DEPTH:
            return ANY
        if schema.get("nullable") is True:
            rest = {key: value for key, value in schema.items() if key != "nullable"}
            made = self._schema(rest, at)
            return {"anyOf": [made, {"type": "null"}]} if made else ANY
        refers = "$ref" in schema
        if refers and not _properties(schema):
            return self._reference(schema["$ref"], at)
        if refers or (isinstance(schema.get("allOf"), list) and schema["allOf"]):
            return self._all(schema, at)
        if "const" in schema:
            return _values([schema["const"]])
        if isinstance(schema.get("enum"), list):
            return _values(schema["enum"])
        return self._typed(schema, at)

    def _typed(self, schema: dict[str, Any], at: _Place) -> dict[str, Any]:
        types = schema.get("type")
        if isinstance(types, list):
            arms = [self._of_type(str(t), schema, at) for t in types]
            return {"anyOf": arms} if arms else ANY
        if not _properties(schema):
            for keyword in ("anyOf", "oneOf"):
                choices = schema.get(keyword)
                if isinstance(choices, list) and any(map(_says_something, choices)):
                    return self._arms(choices, keyword, at)
        if isinstance(types, str):
            return self._of_type(types, schema, at)
        if _properties(schema) or "additionalProperties" in schema:
            return self._of_type("object", schema, at)
        return self._of_type("array", schema, at) if "items" in schema else ANY

    def _of_type(self, type: str, schema: dict[str, Any], at: _Place) -> dict[str, Any]:
        if type == "object":
            return self._object(schema, at)
        if type == "array":
            # With `prefixItems`, `items` speaks of the rest, and nothing of them all.
            items = True if "prefixItems" in schema else schema.get("items", True)
            made = self._schema(items, at.under("items", "item"))
            return {"type": "array", "items": made}
        return {"type": type} if type in _SCALARS else ANY

    def _object(self, schema: dict[str, Any], at: _Place) -> dict[str, Any]:
        properties = _properties(schema)
        if not properties:
            return self._map(schema, at)
        properties = properties | self._by_choice(schema, at)
        required = schema.get("required")
        listed = required if isinstance(required, list) else []
        needed = dict.fromkeys(name for name in listed if isinstance(name, str))
        properties = properties | {n: True for n in needed if n not in properties}
        if any(map(self.unfit_keys.search, properties)):
            if not (at.key.endswith("#") and at.key[:-1] in self.parameters):
                return OBJECT
            self.unfit.add(at.key)
        if at.key not in self.found:
            made: dict[str, Any] = {"type": "object"}
            self.places[at.key], self.found[at.key] = at, made
            closed, self.closed = self.closed, len(self.reading)
            made["properties"] = {
                name: self._property(
                    inner, at.under(f"properties/{escape(name)}", name)
                )
                for name, inner in properties.items()
            }
            self.closed = closed
            made["required"] = [name for name in properties if name in needed]
            made |= _described(schema)
        return {"$ref": at.key}

    def _by_choice(self, schema: dict[str, Any], at: _Place) -> dict[str, Any]:
        """What an object may have besides its own: of what not all choices speak, anything."""
        found: dict[str, Any] = {}
        for keyword in ("anyOf", "oneOf"):
            listed = schema.get(keyword)
            arms = listed if isinstance(listed, list) else []
            said: dict[str, list[Any]] = {}
            for arm in arms:
                for name, inner in self._listed(arm, at).items():
                    said.setdefault(name, []).append(inner)
            for name, kinds in said.items():
                is_one = all(kind == kinds[0] for kind in kinds)
                kind = kinds[0] if is_one else {"anyOf": kinds}
                found[name] = kind if len(kinds) == len(arms) else True
        own = _properties(schema)
        return {name: kind for name, kind in found.items() if name not in own}

    def _listed(self, arm: Any, at: _Place) -> dict[str, Any]:
        """The properties of a choice, references followed."""
        found: dict[str, Any] = {}
        for part in self._parts(arm, at, set()) if isinstance(arm, dict) else ():
            found = _properties(part) | found
        return found

    def _property(self, schema: Any, at: _Place) -> dict[str, Any]:
        made = dict(self._schema(schema, at)) | _described(schema)
        if isinstance(schema, dict) and "default" in schema:
            made["default"] = schema["default"]
        return made

    def _map(self, schema: dict[str, Any], at: _Place) -> dict[str, Any]:
        values = schema.get("additionalProperties", True)
        where = at.under("additionalProperties", "value")
        patterns = schema.get("patternProperties")
        if isinstance(patterns, dict) and patterns:
            # One pattern speaks of all values only where no other keys may be.
            is_all = len(patterns) == 1 and values is False
            only, values = next(iter(patterns.items())) if is_all else ("", True)
            where = at.under(f"patternProperties/{escape(only)}", "value")
        return {"type": "object", "additionalProperties": self._schema(values, where)}

    def _arms(self, arms: list[Any], keyword: str, at: _Place) -> dict[str, Any]:
        # What gets a definition takes its name; an object inside of it needs another.
        is_named = at.is_shared and at.key in self.targets
        words = _arm_words(arms, ("object",) if is_named else ())
        return {
            "anyOf": [
                self._schema(arm, at.under(f"{keyword}/{number}", *words[number]))
                for number, arm in enumerate(arms)
            ]
        }

    def _all(self, schema: dict[str, Any], at: _Place) -> dict[str, Any]:
        """Several at once: objects become one that has all their properties."""
        own = {key: value for key, value in schema.items() if key != "allOf"}
        listed = schema.get("allOf")
        all_of = listed if isinstance(listed, list) else []
        parts = [part for part in all_of if isinstance(part, dict)]
        if len(parts) == 1 and not _says_something(own):
            return self._schema(parts[0], at.under("allOf/0"))
        seen: set[str] = set()
        merged: dict[str, Any] = {}
        for part in self._parts(schema, at, seen):
            merged = _merged(merged, part)
        if inside := sorted(seen & self.merging):
            # An object that holds itself, and more: only itself can be said.
            return self._reference(inside[0], at)
        before, self.merging = self.merging, self.merging | seen
        made = self._schema(merged, replace(at, depth=at.depth + 1))
        self.merging = before
        return made

    def _parts(
        self, schema: dict[str, Any], at: _Place, seen: set[str]
    ) -> Iterator[dict[str, Any]]:
        """What is to hold at once: what `allOf` lists, references followed."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            return  # which is said as soon as the next is read
        above = ("allOf", "$ref")
        ref = schema.get("$ref")
        if _properties(schema) or not isinstance(ref, str):
            yield {key: value for key, value in schema.items() if key not in above}
        if isinstance(ref, str):
            target = None if ref in seen else self._raw(at.root, ref)
            if target is None and ref not in seen:
                self._lost(ref, at, "what it adds to the rest is missing")
            seen.add(ref)
            if target and isinstance(target[1], dict):
                yield from self._parts(target[1], at, seen)
        listed = schema.get("allOf")
        for part in listed if isinstance(listed, list) else ():
            if isinstance(part, dict):
                yield from self._parts(part, at, seen)

    # --- references -----------------------------------------------------------------------

    def _reference(self, ref: Any, at: _Place) -> dict[str, Any]:
        target = self._raw(at.root, ref)
        if target is None:
            self._lost(ref, at, "what stands there is any value")
            return ANY
        pointer, schema = target
        short = _DEFS.fullmatch(pointer)
        place = _Place(at.root, pointer, (at.root,))
        if short:
            place = replace(place, words=(unescape(short[1]),), is_shared=True)
        elif pointer:
            place = replace(place, words=(at.root, *_words(pointer)))
        return self._target(place, schema)

    def _lost(self, ref: Any, at: _Place, hint: str) -> None:
        self.notes.append(
            Diagnostic(
                "ref-not-followed",
                f'"$ref": "{clip(str(ref), 80)}" leads out of the schema, or nowhere',
                self.file or at.root,
                clip(at.pointer, 200),
                hint,
                severity="warning",
            )
        )

    def _target(self, at: _Place, schema: Any) -> dict[str, Any]:
        if at.key in self.unfit:
            return OBJECT
        if at.key in self.targets:
            known = self.targets[at.key]
            return self._circle(at.key) if known is None else known
        self.targets[at.key] = None
        self.reading.append(at.key)
        made = self._schema(schema, at)
        self.reading.pop()
        is_object = made == {"$ref": at.key} and at.key in self.found
        is_circular = at.key in self.circular and not is_object
        if is_circular or (at.is_shared and _is_choice(made)):
            made = self._named(at, made, schema)
        made = made if _size(made) <= MAX_SIZE else ANY
        self.targets[at.key] = made
        return made

    def _circle(self, key: str) -> dict[str, Any]:
        """What is still being read: a name inside of an object, and nothing outside."""
        if self.reading.index(key) >= self.closed:
            return ANY
        self.circular.add(key)
        return {"$ref": key}

    def _named(self, at: _Place, made: dict[str, Any], schema: Any) -> dict[str, Any]:
        """A definition for what is no object: a choice, or what is part of itself."""
        if at.key in self.found:
            # An object or something else: the object makes room for the two of them.
            inside = at.under("type", "object")
            self.places[inside.key] = inside
            self.found[inside.key] = self.found[at.key]
            made = _moved(made, at.key, inside.key)
        self.places[at.key], self.found[at.key] = at, made | _described(schema)
        return made if "$ref" in made else {"$ref": at.key}

    def _raw(self, root: str, ref: Any) -> tuple[str, Any] | None:
        """Where a local reference leads, and what is there."""
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            return None
        pointer = unquote(ref[1:])
        value = self.schemas[root]
        for token in pointer.split("/")[1:]:
            key = unescape(token)
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            else:
                return None
        return pointer, value

    # --- names ----------------------------------------------------------------------------

    def _names(self, alike: Mapping[str, str]) -> dict[str, str]:
        """Key → class name; what is alike and called alike is one class."""
        blocks: dict[tuple[str, ...], set[str]] = {}
        for key, first in alike.items():
            blocks.setdefault(self.places[key].words, set()).add(first)
        wanted: dict[str, str] = {}
        for first in sorted(set(alike.values())):
            place = self.places[first]
            rivals = blocks[place.words]
            words = place.words
            if len(rivals) > 1 and place.is_shared:
                words = (place.root, *words)
            if any(self.places[key].root == place.root for key in rivals - {first}):
                words = (*words, _digest(place.pointer))
            wanted["/".join(words)] = first
        made = distinct(
            wanted, _class_name, _joined, reserved=self.reserved | CLASS_RESERVED
        )
        named = {wanted[path]: name for path, name in made.items()}
        return {key: named[first] for key, first in alike.items()}


def _alike(found: Mapping[str, Any], places: Mapping[str, _Place]) -> dict[str, str]:
    """Key → the first of those that are the same: under one name in `$defs`, equal inside.

    They start as one group by name and are told apart by what they are made of, until
    no group falls apart any more; so circles of references do no harm. When a group
    does, only those that refer to it are looked at again: chains can be long.
    """
    group: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    users: dict[str, list[str]] = {}
    for key in sorted(found):
        group[key] = repr(places[key].words) if places[key].is_shared else key
        members.setdefault(group[key], []).append(key)
        for target in _references(found[key]):
            users.setdefault(target, []).append(key)
    inside: dict[str, str] = {}
    unsure = sorted(found)
    while unsure:
        for key in unsure:
            inside[key] = json.dumps(_renamed(found[key], group), sort_keys=True)
        moved: list[str] = []
        for name in dict.fromkeys(group[key] for key in unsure):
            parts: dict[str, list[str]] = {}
            for key in members[name]:
                parts.setdefault(inside[key], []).append(key)
            members[name], *others = parts.values()
            for part in others:
                members[part[0]] = part
                group |= dict.fromkeys(part, part[0])
                moved += part
        unsure = sorted({user for key in moved for user in users.get(key, ())})
    return {key: members[group[key]][0] for key in sorted(found)}


def _references(schema: Any) -> Iterator[str]:
    """The keys that a definition refers to."""
    if "$ref" in schema:
        yield schema["$ref"]
    inner = [schema[key] for key in _INNER if key in schema]
    inner += [*_properties(schema).values(), *schema.get("anyOf", ())]
    inner += schema.get("oneOf", ())
    for each in inner:
        yield from _references(each)


def _without_circles(found: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Without definitions that hold themselves, but by way of an object: no alias can."""
    made = {key: schema for key, schema in found.items() if "properties" in schema}
    above: set[str] = set()

    def settled(key: str) -> None:
        above.add(key)
        made[key] = cut(found[key])
        above.remove(key)

    def cut(schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in schema:
            if schema["$ref"] in above:
                return ANY
            if schema["$ref"] not in made:
                settled(schema["$ref"])
        changed: dict[str, Any] = {k: cut(schema[k]) for k in _INNER if k in schema}
        if "anyOf" in schema:
            changed["anyOf"] = [cut(arm) for arm in schema["anyOf"]]
        return {**schema, **changed}

    for key in sorted(found):
        if key not in made:
            settled(key)
    return made


def _direct(
    schemas: Mapping[str, dict[str, Any]], found: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """With references past definitions that are but a reference themselves."""

    def last(key: str) -> str:
        while "$ref" in found[key]:
            key = found[key]["$ref"]
        return key

    return {key: _referring(schema, last) for key, schema in schemas.items()}


def _renamed(schema: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """With every reference renamed, at any depth."""
    return _referring(schema, lambda key: f"#/$defs/{names[key]}")


def _referring(
    schema: Mapping[str, Any], rename: Callable[[str], str]
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$ref":
            made[key] = rename(value)
        elif key == "properties":
            made[key] = {
                name: _referring(inner, rename) for name, inner in value.items()
            }
        elif key in ("anyOf", "oneOf"):
            made[key] = [_referring(inner, rename) for inner in value]
        elif key in _INNER:
            made[key] = _referring(value, rename)
        else:
            made[key] = value
    return made


def _class_name(path: str) -> str:
    name = "".join(map(pascal_case, path.split("/")))
    return f"Definition{name}" if not name or name[0].isdigit() else name


def _joined(path: str) -> str:
    return "_".join(map(pascal_case, path.split("/")))


def attribute_name(wire: str) -> str:
    """A key as the name of an attribute or a parameter: its own, wherever possible."""
    is_own = is_plain(wire) and wire not in FIELD_RESERVED
    name = wire if is_own else field_name(wire, FIELD_RESERVED)
    return f"field_{name}" if name.startswith(_PROTECTED) else name


def _field_names(schema: Mapping[str, Any]) -> dict[str, str]:
    """How the attributes of a class are called."""
    return distinct(
        schema.get("properties", {}),
        attribute_name,
        spelled,
        reserved=FIELD_RESERVED,
    )


# --- small questions ----------------------------------------------------------------------


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _described(schema: Any) -> dict[str, Any]:
    text = schema.get("description") if isinstance(schema, dict) else None
    return {"description": text} if isinstance(text, str) and text.strip() else {}


def _is_choice(schema: Mapping[str, Any]) -> bool:
    return "enum" in schema or "anyOf" in schema


def _moved(schema: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """The same, or the same choice, with another key for one of its parts."""
    if schema == {"$ref": old}:
        return {"$ref": new}
    if "anyOf" in schema:
        return {"anyOf": [_moved(arm, old, new) for arm in schema["anyOf"]]}
    return schema


def _size(schema: Any) -> int:
    """How many schemas are written out in one that was read."""
    inside = [schema.get("items"), schema.get("additionalProperties")]
    inside += [*_properties(schema).values(), *schema.get("anyOf", ())]
    return 1 + sum(_size(each) for each in inside if each)


def _says_something(schema: Any) -> bool:
    """Does it say what a value is, not only what must hold of it?"""
    known = ("$ref", "type", "properties", "items", "enum", "const")
    nested = ("anyOf", "oneOf", "allOf")
    return isinstance(schema, dict) and not schema.keys().isdisjoint(known + nested)


def _values(values: list[Any]) -> dict[str, Any]:
    """Constants that annotations can say; of others, and of too many, the types."""
    is_sayable = all(
        v is None or type(v) is str or (type(v) is int and abs(v) < 2**63)
        for v in values
    )
    if (
        is_sayable
        and 0 < len(values) <= MAX_VALUES
        and any(v is not None for v in values)
    ):
        return {"enum": list(dict.fromkeys(values))}
    types = {
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "string",
        type(None): "null",
    }
    arms = [{"type": types[type(v)]} if type(v) in types else ANY for v in values]
    return {"anyOf": arms} if arms else ANY


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    made = {**other, **one}
    if both := {**_properties(one), **_properties(other)}:
        made["properties"] = both
    needed = [
        name
        for part in (one, other)
        if isinstance(part.get("required"), list)
        for name in part["required"]
    ]
    return made | ({"required": needed} if needed else {})


def _words(pointer: str) -> tuple[str, ...]:
    """What names the schema at a pointer that somebody refers to."""
    tokens = iter(pointer.split("/")[1:])
    words = []
    for token in tokens:
        if token in ("properties", "$defs", "definitions"):
            words.append(unescape(next(tokens, "")))
        elif token in ("items", "additionalProperties"):
            words.append("item" if token == "items" else "value")
    return tuple(words)


def _arm_words(arms: list[Any], alone: tuple[str, ...]) -> list[tuple[str, ...]]:
    """What tells the arms of a union apart, never their number.

    Their title; a constant; or the keys that they need; if all this is the same, a
    digest of what they say. A single object is what `alone` says.
    """
    objects = [arm for arm in arms if isinstance(arm, dict) and _properties(arm)]
    if len(objects) < 2:
        return [alone if arm in objects else () for arm in arms]
    words: list[tuple[str, ...]] = [()] * len(arms)
    left = [number for number, arm in enumerate(arms) if arm in objects]
    for describe in (_title, _constants, _needed, _digest):
        said = {number: describe(arms[number]) for number in left}
        for number, text in said.items():
            if text and list(said.values()).count(text) == 1:
                words[number] = (text,)
        left = [number for number in left if not words[number]]
    return words


def _title(arm: dict[str, Any]) -> str:
    title = arm.get("title")
    return title if isinstance(title, str) and len(title) < 60 else ""


def _constants(arm: dict[str, Any]) -> str:
    found = [p.get("const") for p in _properties(arm).values() if isinstance(p, dict)]
    return " ".join(value for value in found if isinstance(value, str))


def _needed(arm: dict[str, Any]) -> str:
    needed = arm.get("required")
    names = needed if isinstance(needed, list) and needed else list(_properties(arm))
    return " ".join(["with", *map(str, names)])


def _digest(arm: Any) -> str:
    return sha256(json.dumps(arm, sort_keys=True).encode()).hexdigest()[:8]
