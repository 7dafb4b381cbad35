"""`types.py`, pydantic flavour: models by datamodel-code-generator.

The generator is asked with stand-ins: `D3` for a definition, `t5` for a key or a
constant. So it has nothing to rename or to number, and no text of a schema goes through
it. Of what it answers the annotations are taken, in terms that are known here and none
else; names, documentation, order and looks are those of the other flavours.

Annotations may be wider than the schema, never narrower: whether a message is valid is
said by `validators.py`, which every decoding asks first.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import jinja2

from ..datamodel import MODEL_NAMES, models
from ..diagnostics import CompileError, clip, fail
from ..ir import (
    All,
    AnyType,
    Array,
    Definition,
    Field,
    Literals,
    Map,
    Never,
    Not,
    Number,
    Object,
    Protocol,
    Ref,
    String,
    Type,
    Union,
    refs,
)
from ..render import pystr
from .drawers import Drawers, has_default, has_plain_bounds, is_constant
from .imports import Imports
from .reading import camel, described, reading_order
from .schema import schema

_IMPORTED = {
    "typing": ("TYPE_CHECKING", "Annotated", "Any", "Literal", "TypeAlias"),
    "pydantic": ("Field",),
    ".._pydantic": ("MISSING", "Codec", "InvalidMessage", "Model", "NotJson"),
}
_BUILTINS = frozenset({"bool", "dict", "int", "list", "str"})
_KNOWN = _BUILTINS | {"Annotated", "Any", "Field", "Literal", "MISSING"}
"""The terms of which annotations are made, definitions aside."""
_LIMITS = {"discriminator", "ge", "gt", "le", "lt", "max_length", "min_length"}
_ALWAYS = ("Codec", "InvalidMessage", "MISSING", "NotJson")
_EXPORTED = ("InvalidMessage", "MISSING", "NotJson", "convert", "decode", "encode")
_OPTIONS = {
    "use_missing_sentinel": True,
    "extra_fields": "allow",
    "target_pydantic_version": "2.14",
}
"""What keeps the models faithful; that types are strict says `Model`, for all of them."""


def emit(protocol: Protocol, env: jinja2.Environment) -> dict[str, str]:
    """The module with a model or an alias for every definition."""
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
    return {"types.py": env.get_template("pydantic/types.py.jinja").render(context)}


def emit_shared(
    protocols: tuple[Protocol, ...], env: jinja2.Environment
) -> dict[str, str]:
    """The module that stands once, beside the version packages of this flavour."""
    return {"_pydantic.py": env.get_template("pydantic/codec.py.jinja").render()}


@dataclass(frozen=True)
class _Line:
    """A field of a model, ready to print."""

    name: str
    annotation: str
    default: str
    doc: str


@dataclass(frozen=True)
class _Entry:
    """A definition, ready to print."""

    kind: str
    """The template: model, alias, or recursive for an alias that is made of itself."""
    name: str
    doc: str
    lines: tuple[_Line, ...] = ()
    options: str = ""
    annotation: str = ""


class _Module(Imports):
    """Collects what the module says, and what it must import for that."""

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(_IMPORTED, {d.name: d for d in protocol.definitions})
        self.protocol = protocol
        self.drawers = Drawers(protocol)
        self.used |= set(_ALWAYS)
        self.names = {name: f"D{n}" for n, name in enumerate(self.definitions)}
        """Definition → its stand-in."""
        self.texts: dict[str, str] = {}
        """Key or constant → its stand-in."""

    # --- what is asked for --------------------------------------------------------------

    def asked(self) -> dict[str, Any]:
        """The normalised schema of what pydantic can hold, in stand-ins."""
        definitions = tuple(
            Definition(self.names[name], self._top(definition.type), "")
            for name, definition in self.definitions.items()
        )
        made = schema(replace(self.protocol, definitions=definitions))["$defs"]
        unions: dict[str, Any] = {}
        return {
            n: _hoisted(part, unions, top=True) for n, part in made.items()
        } | unions

    def _top(self, type: Type) -> Type:
        if not isinstance(type, Object):
            return self._held(type)
        if not _is_model(type):
            return Map(AnyType())
        return Object(
            tuple(
                Field(self._text(f.python_name), self._held(f.type), f.required)
                for f in _fields(type)
            )
        )

    def _held(self, type: Type) -> Type:
        """The type of a field or an alias: only here, limits can be said in a `Field`."""
        match type:
            case String():
                return replace(type, pattern=None, format=None)
            case Number():
                plain = type.multiple_of is None and has_plain_bounds(type)
                return type if plain else Number(type.integer)
            case Array():
                items = self._inside(type.items)
                return Array(items, type.min_items, type.max_items)
            case _:
                return self._inside(type)

    def _inside(self, type: Type) -> Type:
        match type:
            case Ref(name=name):
                return Ref(self.names[name])
            case String():
                return String()
            case Number(integer=integer):
                return Number(integer)
            case Literals(values=values):
                return self._literals([json.loads(value) for value in values])
            case Array(items=items):
                return Array(self._inside(items))
            case Map(values=values):
                return Map(self._inside(values))
            case Union(arms=arms):
                # Of `oneOf` it is for the validators to say that only one fits.
                inside = tuple(dict.fromkeys(self._inside(arm) for arm in arms))
                return AnyType() if AnyType() in inside else Union(inside)
            case All(parts=(first, *_)):
                return self._inside(first)  # true of the value, if not all of it
            case Never() | Not() | Object():
                return AnyType()
            case _:
                return type

    def _literals(self, constants: list[Any]) -> Type:
        kinds = {type(constant) for constant in constants}
        # Python says that True == 1, and no Literal holds fractions or arrays.
        if not kinds <= {str, type(None), bool} and kinds != {int}:
            return AnyType()
        return Literals(
            tuple(
                json.dumps(self._text(c) if isinstance(c, str) else c)
                for c in constants
            )
        )

    def _text(self, text: str) -> str:
        return self.texts.setdefault(text, f"t{len(self.texts)}")

    # --- what is answered ---------------------------------------------------------------

    def entries(self) -> list[_Entry]:
        """Models in name order, then aliases in an order in which Python can evaluate them."""
        try:
            made = models(self.asked(), "pydantic", options=_OPTIONS)
            return self._entries(_Answer(made.code, self))
        except (KeyError, SyntaxError, ValueError) as error:
            raise _unexpected(str(error)) from error

    def _entries(self, answer: _Answer) -> list[_Entry]:
        aliases = {d.name for d in self.definitions.values() if not _is_model(d.type)}
        recursive = self._recursive(aliases)
        entries = {
            name: (
                self._alias(definition, answer, name in recursive)
                if name in aliases
                else self._model(definition, answer)
            )
            for name, definition in self.definitions.items()
        }
        order = [name for name in entries if name not in aliases]
        order += self._ordered(sorted(aliases), recursive)
        return [entries[name] for name in order]

    def _model(self, definition: Definition, answer: _Answer) -> _Entry:
        type = definition.type
        assert isinstance(type, Object)
        self.used.add("Model")
        annotations = answer.annotations(self.names[definition.name])
        closed = type.additional == Never() and not type.patterns
        return _Entry(
            "model",
            definition.name,
            described(definition, self.protocol),
            lines=tuple(
                _Line(
                    f.python_name,
                    annotations[self._text(f.python_name)],
                    self._default(f),
                    f.doc,
                )
                for f in _fields(type)
            ),
            options=', extra="forbid"' if closed else "",
        )

    def _default(self, f: Field) -> str:
        """What the field is when it is not given, and a key that is no plain camelCase."""
        default = "" if f.required else self.spelled("MISSING")
        if f.required and is_constant(f.type):
            default = _literal(f.type.values[0])
        elif f.required and has_default(f):
            default = _literal(f.default or "null")
        if _is_regular(f):
            return default
        # `alias` would also name the argument, to type checkers.
        self.used.add("Field")
        wire = pystr(f.wire_name)
        arguments = [f"default={default}"] if default else []
        arguments += [f"validation_alias={wire}", f"serialization_alias={wire}"]
        return f"{self.spelled('Field')}({', '.join(arguments)})"

    def _alias(
        self, definition: Definition, answer: _Answer, recursive: bool
    ) -> _Entry:
        self.used |= {"TypeAlias"} | ({"TYPE_CHECKING", "Any"} if recursive else set())
        return _Entry(
            "recursive" if recursive else "alias",
            definition.name,
            definition.doc,
            annotation=answer.alias(self.names[definition.name]),
        )

    def _recursive(self, aliases: set[str]) -> set[str]:
        """The aliases that are made of themselves: at run time those are any value."""
        needs = {n: set(refs(self.definitions[n].type)) & aliases for n in aliases}
        # What allows any value anyway goes first: the others may then be made of it.
        freely = {
            n for n in aliases if self.drawers.is_any(Ref(n)) and _in_cycle(n, needs)
        }
        needs |= {name: set() for name in freely}
        return freely | {name for name in aliases if _in_cycle(name, needs)}

    def _ordered(self, aliases: list[str], recursive: set[str]) -> list[str]:
        """Each after those it is made of; those that are any value at run time first."""
        done = dict.fromkeys(name for name in aliases if name in recursive)
        for root in aliases:
            above = [root]
            while above:
                needed = set(refs(self.definitions[above[-1]].type))
                missing = [n for n in aliases if n in needed and n not in done]
                if missing and above[-1] not in done:
                    above.append(missing[0])
                else:
                    done.setdefault(above.pop())
        return list(done)


class _Answer:
    """What the generator wrote, read as a tree: annotations in a few known terms."""

    def __init__(self, text: str, module: _Module) -> None:
        self.module = module
        self.real = {stand_in: name for name, stand_in in module.names.items()}
        self.texts = {stand_in: text for text, stand_in in module.texts.items()}
        self._models: dict[str, ast.ClassDef] = {}
        self._aliases: dict[str, ast.expr] = {}
        for node in ast.parse(text).body:
            match node:
                case ast.ClassDef(name=name):
                    self._models[name] = node
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(func=ast.Name(id="TypeAliasType"), args=[_, meant]),
                ):
                    self._aliases[name] = meant
                case ast.ImportFrom() | ast.Expr():
                    pass  # what to import, and when to build a model, is ours to say
                case _:
                    raise _unexpected(ast.unparse(node))

    def annotations(self, model: str) -> dict[str, str]:
        """Field → annotation."""
        return {
            node.target.id: self._said(node.annotation)
            for node in self._models[model].body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }

    def alias(self, name: str) -> str:
        return self._said(self._aliases[name])

    def _said(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id="float"):  # an integer shall stay one
                return "int | float"
            case ast.Name(id=name):
                # A hoisted union goes back to where it was taken from.
                inline = name in self._aliases and name not in self.real
                return self.alias(name) if inline else self._name(name)
            case ast.Constant(value=None):
                return "None"
            case ast.Constant(value=str(text)):  # quoted, because it comes later
                return self._said(ast.parse(text, mode="eval").body)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return _either([self._said(left), self._said(right)])
            case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=arms)):
                return _either([self._said(arm) for arm in arms])
            case ast.Subscript(value=ast.Name(id="Optional"), slice=inside):
                return _either([self._said(inside), "None"])
            case ast.Subscript(value=ast.Name(id="Literal"), slice=inside):
                return f"{self._name('Literal')}[{self._constants(inside)}]"
            case ast.Subscript(value=ast.Name(id=name), slice=inside):
                return f"{self._name(name)}[{self._said(inside)}]"
            case ast.Tuple(elts=parts):
                return ", ".join(map(self._said, parts))
            case ast.Call(func=ast.Name(id="Field"), args=[], keywords=keywords):
                if {k.arg for k in keywords} - _LIMITS:
                    raise _unexpected(ast.unparse(node))
                limits = [f"{k.arg}={self._constants(k.value)}" for k in keywords]
                return f"{self._name('Field')}({', '.join(limits)})"
            case _:
                raise _unexpected(ast.unparse(node))

    def _constants(self, node: ast.expr) -> str:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return ", ".join(self._constant(ast.literal_eval(part)) for part in parts)

    def _constant(self, value: Any) -> str:
        if isinstance(value, str):
            return pystr(self.texts[value])
        return repr(int(value) if isinstance(value, float) else value)

    def _name(self, name: str) -> str:
        if name in self.real:
            return self.real[name]
        if name in _KNOWN:
            self.module.used |= {name} - _BUILTINS
            return self.module.spelled(name)
        raise _unexpected(name)


# --- small questions --------------------------------------------------------------------


def _is_model(type: Type) -> TypeGuard[Object]:
    """An object with known keys; or without any, where none may be."""
    return isinstance(type, Object) and (
        bool(type.fields) or (type.additional == Never() and not type.patterns)
    )


def _fields(type: Object) -> list[Field]:
    """The fields as they are printed, none with a name that a model needs itself."""
    taken = {f.python_name for f in type.fields}
    fields = []
    for f in sorted(type.fields, key=reading_order):
        name = f.python_name
        while name in MODEL_NAMES or (name != f.python_name and name in taken):
            name += "_"
        fields.append(replace(f, python_name=name))
    return fields


def _is_regular(f: Field) -> bool:
    """Is the key what `Model` makes of the name?"""
    made = "_meta" if f.python_name == "meta" else camel(f.python_name)
    return made == f.wire_name


def _hoisted(schema: Any, unions: dict[str, Any], *, top: bool = False) -> Any:
    """The schema with each union that has a discriminator as a definition of its own."""
    if isinstance(schema, list):
        return [_hoisted(item, unions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "discriminator" in schema and not top:
        name = f"U{len(unions)}"
        unions[name] = schema
        return {"$ref": f"#/$defs/{name}"}
    return {key: _hoisted(item, unions) for key, item in schema.items()}


def _in_cycle(name: str, needs: Mapping[str, set[str]]) -> bool:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = needs[waiting.pop()] - found
        found |= new
        waiting += new
    return name in found


def _either(annotations: list[str]) -> str:
    return " | ".join(dict.fromkeys(annotations))


def _literal(value: str) -> str:
    """A JSON scalar as Python source."""
    made = json.loads(value)
    return pystr(made) if isinstance(made, str) else repr(made)


def _unexpected(found: str) -> CompileError:
    return fail(
        "internal-models",
        f"datamodel-code-generator wrote something unexpected: {clip(found)}",
        hint="this is a mistake in mcpgen; please report it",
    )
