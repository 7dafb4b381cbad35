"""A Python function as a tool, a prompt or a resource sees it.

`inspect_function` looks at a function once, at registration, and gives a `Signature`: its
name and description, the JSON Schemas of its arguments and its result, and the two
conversions that every call needs. Nothing here knows a protocol version.

What only hand-written schemas and longer docstrings need is in `schemas`, imported then.

msgspec reads the annotations, strictly: `"5"` and `true` are no integers, `5.0` is one. An
annotation in which something of pydantic's occurs is pydantic's to read, by its own rules.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from inspect import Parameter
from itertools import islice
from types import CellType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Struct, ValidationError, json

Issue: TypeAlias = tuple[str, str]  # A JSON path, and what is wrong there.
Schema: TypeAlias = dict[str, Any]

MAX_ISSUES = 20

_REFS = "#/$defs/"
_ANNOTATED: Any = Annotated  # One that takes computed values.
_UNFIT = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError)


class Problem(Exception):
    """Something does not fit; `issues` says where and why."""

    def __init__(self, issues: Iterable[Issue]) -> None:
        self.issues = list(islice(issues, MAX_ISSUES))
        super().__init__("; ".join(f"{where}: {what}" for where, what in self.issues))


class ArgumentError(Problem):
    """The arguments do not fit the function; `issues` says where and why."""


class OutputError(Problem):
    """The function returned something else than it promised; `issues` says what."""


class Signature(Struct, frozen=True, eq=False):
    """What a registered function takes and gives."""

    name: str
    summary: str | None  # The first paragraph of the docstring, on one line.
    description: str | None  # The whole docstring.
    is_async: bool
    context_parameter: str | None
    input_schema: Schema
    output_schema: Schema | None
    _arguments: Arguments
    _result: Callable[[Any], bytes]

    def bind(self, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
        """Keyword arguments, checked and converted; ArgumentError if they do not fit.

        What was not given is not there: Python applies the defaults.
        """
        return self._arguments.bind({} if arguments is None else arguments)

    def written(self, value: Any) -> bytes:
        """A returned value as JSON text; OutputError if it breaks the promise."""
        try:
            return self._result(value)
        except _UNFIT as exc:
            raise OutputError(_issues(exc, "$")) from exc


def inspect_function(
    fn: Callable[..., Any],
    *,
    context_type: type,
    input_schema: Schema | None = None,
    output_schema: Schema | Literal[False] | None = None,
    is_content: Callable[[type], bool] = lambda kind: False,
    strict: bool = True,
) -> Signature:
    """Look at a function; TypeError says what about it cannot be served.

    A hand-written `input_schema` goes out verbatim and is checked with jsonschema. The
    function then gets the arguments unconverted, as keywords; or all of them in one dict,
    if it has one parameter, annotated dict or Mapping, that the schema does not name.

    `output_schema=False` promises nothing, and so does returning what `is_content`.
    `strict=False` reads numbers out of strings, for callers that only have strings.
    """
    callee = fn
    while isinstance(callee, partial):
        callee = callee.func
    call = type(callee).__call__
    function = callee if inspect.isroutine(callee) else call
    name = str(getattr(callee, "__name__", type(callee).__name__))
    hints = _hints(function, name, context_type)
    doc = inspect.cleandoc(function.__doc__ or callee.__doc__ or "")
    parameters = _parameters(fn, name)
    contexts = [p for p in parameters if _is_context(hints.get(p), context_type)]
    context = contexts[0] if contexts else None
    parameters = {p: parameters[p] for p in parameters if p != context}

    if input_schema is None:
        fields = {p: _readable(hints.get(p, Any)) for p in parameters}
        input_schema = _arguments_schema(name, parameters, fields, doc)
        arguments = Arguments(parameters, fields, context, strict)
    else:
        from .schemas import CheckedArguments

        arguments = CheckedArguments(name, input_schema, parameters, context, hints)

    result: Callable[[Any], bytes] = encoded
    promise = hints.get("return", Any)
    if output_schema:
        from .schemas import Checker

        result = Checker(name, output_schema).result
    elif output_schema is None and _is_structured(promise, is_content):
        promise = _readable(promise)
        output_schema = _result_schema(name, promise)
        result = _result_reader(promise)
    return Signature(
        name=name,
        summary=" ".join(doc.partition("\n\n")[0].split()) or None,
        description=doc or None,
        is_async=inspect.iscoroutinefunction(callee)
        or inspect.iscoroutinefunction(call),
        context_parameter=context,
        input_schema=input_schema,
        output_schema=output_schema or None,
        _arguments=arguments,
        _result=result,
    )


# Looking at the function


def _hints(function: Any, name: str, context_type: type) -> dict[str, Any]:
    inner: Any = inspect.unwrap(getattr(function, "__func__", function))
    # The context may be imported for type checkers only; the module's own names win.
    # Cells make known the classes that live beside a nested function.
    names = {context_type.__name__: context_type, **getattr(inner, "__globals__", {})}
    for cell in zip(
        getattr(getattr(inner, "__code__", None), "co_freevars", ()),
        getattr(inner, "__closure__", None) or (),
        strict=False,
    ):
        if cell[1] != CellType():  # Empty until assigned, as the function's own is.
            names[cell[0]] = cell[1].cell_contents
    try:
        return typing.get_type_hints(inner, globalns=names, include_extras=True)
    except Exception as exc:
        raise TypeError(
            f"{name}(): cannot resolve an annotation: {exc}; "
            "what it names must be known to the module when the function is registered"
        ) from exc


def _parameters(fn: Callable[..., Any], name: str) -> dict[str, Parameter]:
    found = dict(inspect.signature(fn).parameters)
    for parameter in found.values():
        where = f"{name}(): parameter `{parameter.name}`"
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            raise TypeError(f"{where} has no keyword, and arguments come by name only")
        if parameter.name.startswith("__"):
            raise TypeError(f"{where}: no name of an argument begins with `__`")
        if type(parameter.default).__name__ == "FieldInfo":
            raise TypeError(f"{where}: write Annotated[…, Field(…)] = a plain default")
    return found


def _is_context(hint: Any, context_type: type) -> bool:
    origin = get_origin(hint)
    if origin in (Annotated, Union, UnionType):
        return any(_is_context(arg, context_type) for arg in get_args(hint))
    kind = origin or hint
    return isinstance(kind, type) and issubclass(kind, context_type)


# Compiled when first needed, which is rarely: a server starts faster.
_PLACE = r"(?s)(.*) - at (?:`key` in )?`\$(.*)`"


# Schemas


def _of_pydantic(hint: Any) -> bool:
    """Whether something of pydantic's occurs in a hint; asked without importing it."""
    return (
        hasattr(hint, "__get_pydantic_core_schema__")
        or hasattr(hint, "__pydantic_validator__")
        or type(hint).__module__.startswith(("pydantic.", "annotated_types"))
        or any(map(_of_pydantic, get_args(hint)))
    )


def _readable(hint: Any) -> Any:
    """A hint for msgspec: strings become descriptions, pydantic's a custom type."""
    bare, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    metas = [Meta(description=e) if isinstance(e, str) else e for e in extras]
    metas = [meta for meta in metas if isinstance(meta, Meta)]
    if _of_pydantic(hint):
        bare = _Foreign("Pydantic", (), {"hint": hint})
    return _ANNOTATED[(bare, *metas)] if metas else bare


class _Foreign(type):
    """Types that stand for a hint that pydantic reads."""

    hint: Any

    def __instancecheck__(cls, value: object) -> bool:
        # msgspec asks whether it was given what it wants; pydantic has seen to that.
        return True


def _is_foreign(hint: Any) -> bool:
    return isinstance(_bare(hint), _Foreign)


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


@cache
def _adapter(kind: type) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind.hint if isinstance(kind, _Foreign) else kind)


def _from_json(kind: type, value: Any) -> Any:
    return _adapter(kind).validate_json(json.encode(value))


def _to_json(value: Any) -> Any:
    if not _of_pydantic(type(value)):
        raise TypeError(f"`{type(value).__name__}` is no JSON value")
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, by_alias=True)


def encoded(value: Any) -> bytes:
    """Any value that JSON can carry as JSON text; TypeError when it cannot."""
    return json.encode(value, enc_hook=_to_json)


def _schema(where: str, hint: Any, mode: str, defs: Schema) -> Schema:
    """The schema of a hint; what it refers to is added to `defs`."""

    def of_custom(kind: type) -> Schema:
        if not (isinstance(kind, _Foreign) or _of_pydantic(kind)):
            raise TypeError(f"`{kind.__name__}` is no type that JSON can carry")
        template = _REFS + "{model}"
        found: Schema = _adapter(kind).json_schema(mode=mode, ref_template=template)
        define(found.pop("$defs", {}))
        return found

    def define(found: Schema) -> None:
        for name, schema in found.items():
            if defs.setdefault(name, schema) != schema:
                raise TypeError(f"two different types are called `{name}`")

    try:
        (schema,), components = json.schema_components(
            [hint], schema_hook=of_custom, ref_template=_REFS + "{name}"
        )
        define(components)
    except Exception as exc:
        raise TypeError(f"{where}: {exc}") from exc
    return schema


def _arguments_schema(
    name: str, parameters: Mapping[str, Parameter], fields: Schema, doc: str
) -> Schema:
    properties: Schema = {}
    rest: Schema | bool = False
    defs: Schema = {}
    docs: Mapping[str, str] = {}
    if any(word in doc for word in (":param ", "Arg", "Parameters")):
        from .schemas import parameter_docs

        docs = parameter_docs(doc)
    for field, parameter in parameters.items():
        where = f"{name}(): parameter `{field}`"
        schema = _schema(where, fields[field], "validation", defs)
        if parameter.kind is Parameter.VAR_KEYWORD:
            rest = schema or True
            continue
        if docs.get(field) and "description" not in schema:
            schema = {"description": docs[field], **schema}
        properties[field] = schema | _default(parameter.default, fields[field])
    required = _required(parameters)
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": rest,
        **({"$defs": defs} if defs else {}),
    }


def _required(parameters: Mapping[str, Parameter]) -> list[str]:
    mandatory = [p for p in parameters.values() if p.default is Parameter.empty]
    return [p.name for p in mandatory if p.kind is not Parameter.VAR_KEYWORD]


def _default(value: Any, hint: Any) -> Schema:
    """A schema's `default`, if JSON can say it and it fits the annotation."""
    if value is Parameter.empty:
        return {}
    try:
        plain = json.decode(encoded(value))
        msgspec.convert(plain, hint, str_keys=True, dec_hook=_from_json)
        return {"default": plain}
    except _UNFIT:
        return {}


def _result_schema(name: str, hint: Any) -> Schema:
    defs: Schema = {}
    schema = _schema(f"{name}(): return annotation", hint, "serialization", defs)
    if ref := schema.pop("$ref", None):
        # The root says its type itself: older versions of the protocol want it there.
        root = ref.removeprefix(_REFS)
        schema = defs[root] | schema
        if json.encode(ref) not in json.encode([schema, defs]):
            del defs[root]
    return schema | ({"$defs": defs} if defs else {})


def _is_content(hint: Any, is_content: Callable[[type], bool]) -> bool:
    """Whether a value may be content (as anything may be)."""
    if get_origin(hint) in (Annotated, Union, UnionType):
        return any(_is_content(arg, is_content) for arg in get_args(hint))
    if isinstance(hint, type) and is_content(hint):
        return True
    return hint in (Any, object)


def _is_structured(hint: Any, is_content: Callable[[type], bool]) -> bool:
    """Whether a return annotation promises data, rather than text or content."""
    hint = getattr(hint, "__supertype__", hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _is_structured(args[0], is_content)
    if hint in (str, bytes, None, NoneType, typing.Never, typing.NoReturn):
        return False
    if _is_content(hint, is_content):
        return False
    if origin in (Union, UnionType):
        return any(_is_structured(arg, is_content) for arg in args)
    if (origin or hint) in (list, tuple, Sequence):
        return bool(args) and not any(_is_content(arg, is_content) for arg in args)
    return True


# Arguments and results


class Arguments:
    """From JSON to keyword arguments."""

    def __init__(
        self,
        parameters: Mapping[str, Parameter],
        fields: Schema,
        context: str | None,
        strict: bool,
    ) -> None:
        rest = [n for n, p in parameters.items() if p.kind is Parameter.VAR_KEYWORD]
        self.rest = [fields[name] for name in rest]
        self.fields = {n: hint for n, hint in fields.items() if n not in rest}
        self.required = _required(parameters)
        self.context = context
        members = [(n, t, UNSET) for n, t in self.fields.items()]
        self.optional = len(self.required) < len(members)
        self.type = msgspec.defstruct(
            "Arguments",
            [m[:2] if m[0] in self.required else m for m in members],
            forbid_unknown_fields=True,
            kw_only=True,
        )
        self.convert = partial(
            msgspec.convert, strict=strict, str_keys=True, dec_hook=_from_json
        )
        # Without options it takes a third of the time. What it then refuses is read
        # again one by one; but it would let pass what only pydantic can judge.
        plain = strict and not any(map(_is_foreign, fields.values()))
        self.quick = msgspec.convert if plain else self.convert

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Checked and converted; ArgumentError if they do not fit."""
        try:
            return self._given(self.quick(arguments, self.type))
        except (ValidationError, RecursionError):
            return self._bind_each(arguments)

    def _given(self, arguments: Any) -> dict[str, Any]:
        values = msgspec.structs.asdict(arguments)
        if self.optional:
            return {name: v for name, v in values.items() if v is not UNSET}
        return values

    def _bind_each(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """One by one: slower, but every problem is found and named."""
        missing = [name for name in self.required if name not in arguments]
        issues = [(_member(name), "required argument is missing") for name in missing]
        bound: dict[str, Any] = {}
        for name, value in arguments.items():
            hints = [self.fields[name]] if name in self.fields else self.rest
            if not hints or name == self.context:
                issues.append((_member(name), _unknown(name, list(self.fields))))
                continue
            try:
                bound[name] = self._read(value, hints[0])
            except ValidationError as exc:
                issues += _issues(exc, _member(name))
            except RecursionError:
                issues.append((_member(name), "nested too deeply"))
        if issues:
            raise ArgumentError(issues)
        return bound

    def _read(self, value: Any, hint: Any) -> Any:
        try:
            return self.convert(value, hint)
        except ValidationError as exc:
            try:
                return self.convert(whole(value), hint)
            except ValidationError:
                raise exc from exc.__cause__


def whole(value: Any) -> Any:
    """5 for 5.0, all through: JSON Schema calls both integers, msgspec only the first."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value


def _result_reader(hint: Any) -> Callable[[Any], bytes]:
    """What makes JSON text of a result and sees that it is what the hint says."""
    if _is_foreign(hint):
        adapter = _adapter(_bare(hint))
        return lambda value: json.encode(
            adapter.dump_python(
                adapter.validate_python(value), mode="json", by_alias=True
            )
        )
    decoder = json.Decoder(hint, dec_hook=_from_json)

    def read(value: Any) -> bytes:
        text = json.encode(value, enc_hook=_to_json)
        decoder.decode(text)
        return text

    return read


# What is wrong, and where


def _member(name: str) -> str:
    return f"$.{name}" if name.isidentifier() else f"$[{json.encode(name).decode()}]"


def _unknown(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    if close := get_close_matches(name, known, 1):
        return f"unknown argument; did you mean `{close[0]}`?"
    return f"unknown argument; known are: {', '.join(known) or 'none'}"


def _issues(exc: BaseException, path: str) -> list[Issue]:
    """From an exception of msgspec's, of pydantic's, or of a type's own code."""
    found = re.fullmatch(_PLACE, str(exc))
    message, inner = found.groups() if found else (str(exc), "")
    cause = exc.__cause__ or exc
    if hasattr(cause, "errors"):  # Of pydantic's; it knows more than one.
        return [(path + inner + _place(e["loc"]), e["msg"]) for e in cause.errors()]
    if cause is exc:
        message = message[:1].lower() + message[1:]
    return [(path + inner, message)]


def _place(steps: Iterable[str | int]) -> str:
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)
