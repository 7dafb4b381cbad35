"""Stage 4: give everything its Python name.

Names come from paths (`CallToolRequestParams`, `ServerCapabilitiesTools`), never from
counters, so that a name does not change when something else is added. The overlay can
override a name by JSON pointer. Two things with one name are an error, unless the
overlay gave both that name and they are the same.
"""

from __future__ import annotations

import builtins
import fnmatch
import json
import keyword
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from .diagnostics import CompileError, Diagnostic, clip
from .ir import (
    All,
    Array,
    Definition,
    Field,
    Literals,
    Map,
    Not,
    Object,
    Ref,
    Type,
    Union,
)
from .load import escape

MAX_NAME = 120
"""Longer names are refused: no reader and no file system is helped by them."""

_FIELD_RESERVED = frozenset(keyword.kwlist) | {
    # Struct annotations are evaluated with the class body in scope: a field with
    # one of these names would shadow the type that another field needs.
    *("list", "dict", "str", "int", "float", "bool", "field", "typing"),
}
_CLASS_RESERVED = (
    frozenset(keyword.kwlist)
    | set(dir(builtins))
    - {
        # Exceptions and warnings are not used in generated types: their names are free.
        name
        for name in dir(builtins)
        if name[0].isupper() and name not in ("None", "True", "False")
    }
    | {
        # What generated modules have at their top, in lower case.
        *("annotations", "codec", "convert", "decode", "encode", "typing"),
        *("client", "methods", "server", "types", "validators"),
    }
)
_PLAIN = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@dataclass(frozen=True)
class NameOverride:
    """The overlay's word on the name of a definition, an inline object or a field."""

    at: str
    """A pattern of JSON pointers."""
    name: str
    kind: str = "name"
    """`name` for classes, `field` for attributes."""


def resolve_names(
    definitions: tuple[Definition, ...],
    overrides: tuple[NameOverride, ...] = (),
    *,
    file: str = "",
) -> tuple[Definition, ...]:
    """Definitions with Python names throughout and every inline object hoisted."""
    return _Names(definitions, overrides, file).resolve()


def snake_case(name: str) -> str:
    """`mimeType` → `mime_type`, `URLElicitation` → `url_elicitation`."""
    return "_".join(word.lower() for word in _words(name))


def pascal_case(name: str) -> str:
    """`inputSchema` → `InputSchema`, `_meta` → `Meta`; an acronym stays one."""
    return "".join(word[0].upper() + word[1:] for word in _words(name))


def class_name(name: str) -> str:
    """A definition's name as a Python class name: unchanged wherever possible."""
    if name.isascii() and name.isidentifier() and not name.startswith("__"):
        return f"{name}_" if name in _CLASS_RESERVED else name
    made = pascal_case(name)
    return f"Definition{made}" if not made or made[0].isdigit() else made


def field_name(wire_name: str, reserved: frozenset[str] = frozenset()) -> str:
    """A wire key as a Python attribute name.

    Of a namespaced key (`io.modelcontextprotocol/clientInfo`) the last part names it.
    """
    short = wire_name.rsplit("/", 1)[-1]
    name = snake_case(short) or snake_case(wire_name) or "field"
    if name[0].isdigit():
        name = f"field_{name}"
    return f"{name}_" if name in _FIELD_RESERVED or name in reserved else name


def constant_name(name: str) -> str:
    """`CallTool` → `CALL_TOOL`."""
    return snake_case(name).upper()


def distinct(
    names: Iterable[str],
    *ways: Callable[[str], str],
    reserved: Iterable[str] = (),
) -> dict[str, str]:
    """Each name with a Python name of its own, whatever the names are.

    The ways to make one are tried in turn. What already is the name that it would get
    keeps it; others that want the same try the next way, and a digest in the end. So
    no name depends on the order, or is counted.
    """
    made: dict[str, str] = {}
    taken = {*reserved, *keyword.kwlist}
    left = sorted(set(names))
    for way in ways:
        wanted: dict[str, list[str]] = {}
        for name in left:
            wanted.setdefault(way(name), []).append(name)
        left = []
        for python, group in wanted.items():
            owner = group[0] if len(group) == 1 else python
            free = python.isidentifier() and python not in taken
            if free and len(python) <= MAX_NAME and owner in group:
                made[owner] = python
                group = [name for name in group if name != owner]
            left += group
        taken |= set(made.values())
    for name in left:
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        made[name] = f"{ways[0](name)[: MAX_NAME // 2]}_{digest[:8]}"
    return made


def is_plain(name: str) -> bool:
    """Is it a name that Python code would choose by itself?"""
    return bool(_PLAIN.fullmatch(name)) and not keyword.iskeyword(name)


def spelled(name: str) -> str:
    """A name in lower case that no other has: what a name may not hold is in hex."""
    text = re.sub(r"[^a-z0-9_]", lambda m: f"_x{ord(m[0]):x}_", name).strip("_")
    return text if text and not text[0].isdigit() else f"x_{text}"


def _words(name: str) -> list[str]:
    # Python folds look-alike letters into one identifier; spelling them out in hex
    # keeps different names different.
    ascii_name = re.sub(r"[^\x00-\x7f]", lambda m: f" u{ord(m[0]):x} ", name)
    return _WORD.findall(ascii_name)


class _Names:
    def __init__(
        self,
        definitions: tuple[Definition, ...],
        overrides: tuple[NameOverride, ...],
        file: str,
    ) -> None:
        self.definitions = definitions
        self.overrides = overrides
        self.file = file
        # Patterns are for inline objects; a definition is renamed by its own pointer.
        exact = {o.at: o.name for o in overrides if o.kind == "name"}
        self.renamed = {
            d.schema_name: exact.get(_generic(d.pointer)) or class_name(d.schema_name)
            for d in definitions
        }
        self.reserved = frozenset(self.renamed.values())
        self.taken: dict[str, Definition] = {}
        self.problems: list[Diagnostic] = []

    def resolve(self) -> tuple[Definition, ...]:
        for definition in self.definitions:
            name = self.renamed[definition.schema_name]
            self._take(replace(definition, name=name))
        for definition in list(self.taken.values()):
            named = self._children(definition.type, definition.name, definition.pointer)
            self.taken[definition.name] = replace(definition, type=named)
        if self.problems:
            raise CompileError(self.problems)
        return tuple(self.taken[name] for name in sorted(self.taken))

    def _take(self, definition: Definition) -> None:
        """Claim a name that nothing else may have."""
        name = definition.name
        other = self.taken.get(name)
        if len(name) > MAX_NAME:
            self._complain(
                "name-too-long",
                f'"{clip(name, 40)}" is too long a name',
                definition.pointer,
            )
        elif other is None:
            self.taken[name] = definition
        else:
            self._complain(
                "name-collision",
                f"would be called {name}, as is {other.pointer}",
                definition.pointer,
            )

    def _override(self, kind: str, pointer: str) -> str:
        """The overlay's word on a name; empty when it has none."""
        generic = _generic(pointer)
        return next(
            (
                o.name
                for o in self.overrides
                if o.kind == kind and fnmatch.fnmatchcase(generic, o.at)
            ),
            "",
        )

    def _complain(
        self, code: str, message: str, pointer: str, table: str = "name"
    ) -> None:
        self.problems.append(
            Diagnostic(
                code,
                message,
                self.file,
                pointer,
                f"give it a name of its own: [[{table}]] in overlay.toml, "
                f'with at = "{clip(_generic(pointer))}"',
            )
        )

    # --- walking --------------------------------------------------------------------

    def _type(self, type: Type, path: str, pointer: str) -> Type:
        """The same type with its inline objects hoisted and references renamed."""
        if isinstance(type, Object):
            return self._hoist(type, path, type.pointer or pointer)
        return self._children(type, path, pointer)

    def _children(self, type: Type, path: str, pointer: str) -> Type:
        match type:
            case Ref(name=name):
                return Ref(self.renamed[name])
            case Object():
                return self._object(type, path, pointer)
            case Array(items=items):
                return replace(
                    type, items=self._type(items, f"{path}Item", f"{pointer}/items")
                )
            case Map(values=values):
                return replace(
                    type,
                    values=self._type(
                        values, f"{path}Value", f"{pointer}/additionalProperties"
                    ),
                )
            case Union(arms=arms):
                return replace(type, arms=self._arms(arms, path, pointer))
            case All(parts=parts):
                return All(self._arms(parts, path, pointer))
            case Not(type=inner):
                return Not(self._type(inner, f"{path}Not", f"{pointer}/not"))
            case _:
                return type

    def _object(self, object: Object, path: str, pointer: str) -> Object:
        fields = self._fields(object, pointer)
        return replace(
            object,
            fields=tuple(
                replace(
                    f,
                    type=self._type(
                        f.type,
                        path + pascal_case(f.wire_name),
                        f"{pointer}/properties/{f.wire_name}",
                    ),
                )
                for f in fields
            ),
            additional=self._optional(object.additional, f"{path}Value", pointer),
            patterns=tuple(
                (p, self._type(t, f"{path}Matching{pascal_case(p)}", pointer))
                for p, t in object.patterns
            ),
            names=self._optional(object.names, f"{path}Name", pointer),
            also=self._arms(object.also, f"{path}Also", pointer),
        )

    def _optional(self, type: Type | None, path: str, pointer: str) -> Type | None:
        return None if type is None else self._type(type, path, pointer)

    def _arms(
        self, arms: tuple[Type, ...], path: str, pointer: str
    ) -> tuple[Type, ...]:
        suffixes = _arm_suffixes(arms)
        return tuple(
            self._type(arm, path + suffix, pointer)
            for arm, suffix in zip(arms, suffixes, strict=True)
        )

    def _hoist(self, object: Object, path: str, pointer: str) -> Ref:
        override = self._override("name", pointer)
        if override:
            shared = self._inline(object, override, pointer)
            other = self.taken.get(shared.name)
            if other is None or _shape(other.type) == _shape(shared.type):
                self.taken.setdefault(shared.name, shared)
                return Ref(shared.name)
            # Another object than the override was meant for: it keeps its own name.
        # What spells the name of a definition is told apart from it.
        definition = self._inline(
            object, f"{path}Object" if path in self.reserved else path, pointer
        )
        self._take(definition)
        return Ref(definition.name)

    def _inline(self, object: Object, name: str, pointer: str) -> Definition:
        inside = self._object(object, name, pointer)
        return Definition(name, inside, pointer, object.doc)

    def _fields(self, object: Object, pointer: str) -> tuple[Field, ...]:
        """Python names for the keys; two keys that fold into one name use their all."""
        # In a class body a field hides the class of the same name.
        reserved = self.reserved | ({"extra"} if object.is_open else set())
        short = [field_name(f.wire_name, reserved) for f in object.fields]
        fields = []
        for field, name in zip(object.fields, short, strict=True):
            if short.count(name) > 1 and "/" in field.wire_name:
                name = field_name(field.wire_name.replace("/", "_"), reserved)
            place = f"{pointer}/properties/{escape(field.wire_name)}"
            name = self._override("field", place) or name
            fields.append(replace(field, python_name=name))
        seen: dict[str, str] = {}
        for field in fields:
            if field.python_name in seen:
                self._complain(
                    "name-collision",
                    f'the keys "{clip(seen[field.python_name])}" and "{clip(field.wire_name)}" '
                    f"would both be called {clip(field.python_name)}",
                    f"{pointer}/properties/{escape(field.wire_name)}",
                    "field",
                )
            elif len(field.python_name) > MAX_NAME:
                self._complain(
                    "name-too-long",
                    f'the key "{clip(field.wire_name, 40)}" is too long',
                    pointer,
                )
            seen[field.python_name] = field.wire_name
        return tuple(fields)


def _generic(pointer: str) -> str:
    """Pointers in overrides say `/$defs/`, whatever the dialect's keyword is."""
    return re.sub("^/definitions/", "/$defs/", pointer)


def _arm_suffixes(arms: tuple[Type, ...]) -> list[str]:
    """What tells inline arms apart: constants, then keys; one alone needs nothing."""
    objects = [arm for arm in arms if isinstance(arm, Object)]
    if len(objects) < 2:
        return [""] * len(arms)
    constants = {arm: _constants(arm) for arm in objects}
    suffixes = []
    for arm in arms:
        if not isinstance(arm, Object):
            suffixes.append("")
            continue
        alike = [o for o in objects if o != arm and constants[o] == constants[arm]]
        suffix = constants[arm]
        if alike or not suffix:
            suffix += "With" + "".join(map(pascal_case, _own_keys(arm, alike)))
        suffixes.append(suffix)
    return suffixes


def _constants(arm: Object) -> str:
    return "".join(
        pascal_case(str(json.loads(f.type.values[0])))
        for f in arm.fields
        if f.required and isinstance(f.type, Literals) and len(f.type.values) == 1
    )


def _own_keys(arm: Object, others: list[Object]) -> list[str]:
    """What tells an arm apart: keys only it has, keys only it needs, keys inside."""
    needed = [_key_paths(each, 1, required=True) for each in (arm, *others)]
    for depth in (1, 2, 3):
        theirs = {path for other in others for path in _key_paths(other, depth)}
        own = [
            path for path in _key_paths(arm, depth, required=True) if path not in theirs
        ]
        if not own and depth == 1 and needed[0] not in needed[1:]:
            own = needed[0]
        if own:
            return ["".join(map(pascal_case, path)) for path in own]
    return [f.wire_name for f in arm.fields]


def _key_paths(
    object: Object, depth: int, *, required: bool = False
) -> list[tuple[str, ...]]:
    """Paths of keys, `depth` objects deep."""
    paths: list[tuple[str, ...]] = []
    for f in object.fields:
        if required and not f.required:
            continue
        if depth == 1:
            paths.append((f.wire_name,))
        elif isinstance(f.type, Object):
            inner = _key_paths(f.type, depth - 1, required=required)
            paths += [(f.wire_name, *path) for path in inner]
    return paths


def _shape(type: Type) -> Type:
    """A type without its prose, to see whether two are the same."""
    match type:
        case Object():
            return replace(
                type,
                doc="",
                pointer="",
                fields=tuple(replace(f, doc="") for f in type.fields),
            )
        case _:
            return type
