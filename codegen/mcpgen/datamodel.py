"""One JSON Schema document → the text of its models, by datamodel-code-generator.

The one place that knows it, and that knows how little it may be trusted with. It gets
one document of named definitions, with references among these and nothing else, so that
it has nothing to fetch or to read; no prose; and only the keywords below, so that no
extension of a schema (`customTypePath`, `x-python-import`) names code to import. What
it gives back is read as a syntax tree before anyone sees it: declarations made of known
names and literals. Prose is put back afterwards, through the filters of `render`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from .diagnostics import CompileError, clip, fail
from .render import comment, docstring

if TYPE_CHECKING:
    from pathlib import Path

Flavour = Literal["msgspec", "pydantic", "typeddict"]
FLAVOURS: Final[tuple[Flavour, ...]] = get_args(Flavour)

KEYWORDS: Final = frozenset(
    {
        *("$ref", "type", "enum", "const", "default", "description"),
        *("properties", "required", "additionalProperties", "items", "prefixItems"),
        *("anyOf", "oneOf", "allOf", "discriminator"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"),
    }
)
"""What a definition may be made of; a caller that has more takes it out first."""

MODEL_NAMES: Final = frozenset(
    {
        *("construct", "copy", "dict", "from_orm", "json", "parse_file", "parse_obj"),
        *("parse_raw", "schema", "schema_json", "update_forward_refs", "validate"),
        *("model_computed_fields", "model_config", "model_construct", "model_copy"),
        *("model_dump", "model_dump_json", "model_extra", "model_fields"),
        *("model_fields_set", "model_json_schema", "model_parametrized_name"),
        *("model_post_init", "model_rebuild", "model_validate", "model_validate_json"),
        *("model_validate_strings",),
    }
)
"""What a pydantic model inherits: a field of that name would hide it."""

_PREFIX = "#/$defs/"
_MODELS = {
    "msgspec": "msgspec.Struct",
    "pydantic": "pydantic_v2.BaseModel",
    "typeddict": "typing.TypedDict",
}
_MODULES = {
    "__future__",
    "datetime",
    "msgspec",
    "pydantic",
    "typing",
    "typing_extensions",
}
_BUILTINS = {"None", "bool", "bytes", "dict", "float", "int", "list", "str", "tuple"}
_CALLED = {
    *("ConfigDict", "Field", "Meta", "TypeAliasType", "TypedDict", "field"),
    *("RootModel", "model_rebuild"),
}
_MADE_OF = (
    *(ast.Name, ast.Constant, ast.Subscript, ast.Tuple, ast.List, ast.Dict),
    *(ast.BinOp, ast.BitOr, ast.UnaryOp, ast.USub, ast.Call, ast.keyword, ast.Load),
)
"""The expressions in a declaration: annotations, literals, and calls of `_CALLED`."""


@dataclass(frozen=True)
class Models:
    """The models of a document."""

    code: str
    """Classes and aliases in an order in which Python can read them; not yet black's."""
    imports: Mapping[str, tuple[str, ...]]
    """Module → the names that `code` needs from it, sorted."""
    annotations: Mapping[str, Mapping[str, str]]
    """Class → attribute → the source of its type."""


def models(
    definitions: Mapping[str, Any],
    flavour: Flavour,
    *,
    fields: Mapping[str, Mapping[str, str]] | None = None,
    unfolded: Collection[str] = (),
    options: Mapping[str, Any] | None = None,
    templates: Path | None = None,
) -> Models:
    """A class or an alias for each of the named definitions, under that very name.

    A definition's name is a class name already, and every object is a definition: then
    nothing has to be given a name here, and nothing is numbered. `fields` says what
    keys are called as attributes where they cannot keep their own name. `unfolded` are
    definitions of which only the annotations are wanted, and no class. `options` are
    datamodel-code-generator's, on top of those set here; `templates` replace its own.
    """
    if not definitions:
        return Models("", {}, {})
    for name, schema in definitions.items():
        if not (name.isascii() and name.isidentifier()):
            raise _refused(f'"{clip(name, 40)}" is no class name', name)
        _check(schema, definitions, _PREFIX + name)
    has_attributes = flavour != "typeddict"  # a dict has its keys, and no other names
    aliases = {
        f"{name}.{wire}": python
        for name, names in (fields or {}).items()
        if has_attributes
        for wire, python in names.items()
        if wire != python
    }
    bare = {name: _without_prose(schema) for name, schema in definitions.items()}
    if flavour == "msgspec":
        # What has a default is always there; or it would be called absent, besides.
        bare = {name: _defaulted(schema) for name, schema in bare.items()}
        options = {"apply_default_values_for_required_fields": True, **(options or {})}
    unions = dict(_tagged(bare)) if flavour == "msgspec" else {}
    text = _generate({**bare, **unions}, flavour, aliases, options or {}, templates)
    made = _Module(text, {**definitions, **unions}, flavour)
    return made.models({*unfolded, *unions})


# --- what goes in ---------------------------------------------------------------------


def _check(schema: Any, names: Mapping[str, Any], place: str) -> None:
    """Refuse all that could make the generator look elsewhere or do something else."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise _refused("is not a schema", place)
    for key, value in schema.items():
        here = f"{place}/{clip(str(key), 40)}"
        if key not in KEYWORDS:
            raise _refused("is not a keyword that models are made of", here)
        if key == "$ref":
            is_local = isinstance(value, str) and value.startswith(_PREFIX)
            if not is_local or value.removeprefix(_PREFIX) not in names:
                raise _refused("refers to no definition of this document", here)
        elif key == "discriminator":
            if set(value) != {"propertyName"}:
                raise _refused("maps values to references", here)
        elif key == "properties":
            for name, inner in value.items():
                _check(inner, names, f"{here}/{clip(name, 40)}")
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for inner in value:
                _check(inner, names, here)
        elif key in ("items", "additionalProperties"):
            _check(value, names, here)


def _without_prose(schema: Any) -> Any:
    """The same without descriptions, and nothing that a default shares with the caller."""
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            made[key] = {name: _without_prose(inner) for name, inner in value.items()}
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            made[key] = [_without_prose(inner) for inner in value]
        elif key in ("items", "additionalProperties"):
            made[key] = _without_prose(value)
            if key == "items" and "discriminator" in made[key]:
                # On its own it would become an alias with a name that nobody gave.
                made[key] = {"anyOf": [made[key]]}
        elif key == "enum" and len(value) == 1:
            made["const"] = value[0]  # which may be a tag
        elif key != "description":
            made[key] = value
    return made


def _defaulted(schema: Any) -> Any:
    """The same, what has a default being required, and only that having a default."""
    if not isinstance(schema, dict) or "properties" not in schema:
        return schema
    needed = schema.get("required", [])
    properties = {
        name: (
            {k: v for k, v in inner.items() if k != "default" or name not in needed}
            if isinstance(inner, dict)
            else inner
        )
        for name, inner in schema["properties"].items()
    }
    more = [
        name
        for name, inner in properties.items()
        if isinstance(inner, dict) and "default" in inner
    ]
    return {**schema, "properties": properties, "required": [*needed, *more]}


def _tagged(schema: Any) -> Iterator[tuple[str, Any]]:
    """Unions told apart by a tag, as definitions: elsewhere tags are not noticed."""
    if isinstance(schema, dict):
        if "discriminator" in schema:
            names = (arm["$ref"].removeprefix(_PREFIX) for arm in schema["oneOf"])
            yield "_".join(["OneOf", *names]), schema
        for value in schema.values():
            yield from _tagged(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _tagged(value)


def _refused(message: str, place: str) -> CompileError:
    return fail("model-refused", message, pointer=place.removeprefix("#"))


# --- the generator --------------------------------------------------------------------


def _generate(
    definitions: Mapping[str, Any],
    flavour: Flavour,
    aliases: Mapping[str, str],
    options: Mapping[str, Any],
    templates: Path | None,
) -> str:
    from datamodel_code_generator import Error, generate
    from datamodel_code_generator.config import GenerateConfig
    from datamodel_code_generator.enums import DataModelType, InputFileType
    from datamodel_code_generator.format import PythonVersion

    settings: dict[str, Any] = {
        "input_file_type": InputFileType.JsonSchema,
        "output_model_type": DataModelType(_MODELS[flavour]),
        "output": None,  # it returns the text, and writes nothing
        "formatters": [],
        "allow_remote_refs": False,
        "strict_refs": True,
        "custom_template_dir": templates,
        "custom_file_header": "#",
        "target_python_version": PythonVersion.PY_311,
        "aliases": aliases,
        "custom_class_name_generator": str,  # definitions keep their names
        "enum_field_as_literal": "all",
        "use_standard_collections": True,
        "use_union_operator": True,
        "use_annotated": True,
        "use_type_alias": True,
        "use_closed_typed_dict": False,
        "use_double_quotes": True,
        "keyword_only": flavour == "msgspec",
        "allow_population_by_field_name": flavour == "pydantic",
        "strict_nullable": True,
        "skip_root_model": True,
        "disable_timestamp": True,
        **options,
    }
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": dict(definitions),
    }
    try:
        with warnings.catch_warnings():
            # What it warns of is what annotations cannot say, which they then do not.
            warnings.simplefilter("ignore")
            made = generate(document, config=GenerateConfig(**settings))
    except (Error, RecursionError) as error:
        message = f"datamodel-code-generator: {clip(str(error), 300)}"
        raise fail("model-failed", message) from None
    if not isinstance(made, str):
        raise fail("model-failed", "datamodel-code-generator made several modules")
    return made


# --- what comes out -------------------------------------------------------------------


class _Module:
    """The generated text, taken apart: nothing but declarations is let through."""

    def __init__(
        self, text: str, definitions: Mapping[str, Any], flavour: Flavour
    ) -> None:
        self.lines = text.split("\n")  # as `ast` counts them, which is not splitlines()
        self.definitions = definitions
        self.flavour = flavour
        self.imports: dict[str, set[str]] = {}
        self.annotations: dict[str, dict[str, str]] = {}
        self.before: dict[int, str] = {}
        self.behind: dict[int, str] = {}
        """Line number → what is put there; prose, back in its place."""
        self.dropped: set[int] = set()
        try:
            self.statements = ast.parse(text).body
        except (SyntaxError, ValueError) as error:
            raise _distrusted(f"it is not Python: {error}") from None

    def models(self, unfolded: Collection[str]) -> Models:
        rest = [node for node in self.statements if not self._is_import(node)]
        known = {name for names in self.imports.values() for name in names}
        self.known = known | _BUILTINS | set(self.definitions)
        named = [(self._declaration(node), node) for node in rest]
        if self.flavour == "msgspec":
            named = list(self._aliases_last(named))
        if lost := sorted(set(self.definitions).difference(name for name, _ in named)):
            raise _distrusted(f"it has no {clip(', '.join(lost), 200)}")
        chunks = [
            "\n".join(self._lines(node)) for name, node in named if name not in unfolded
        ]
        imports = {
            module: tuple(sorted(names))
            for module, names in sorted(self.imports.items())
            if module != "__future__"
        }
        return Models("\n\n\n".join(chunks) + "\n", imports, self.annotations)

    def _aliases_last(
        self, named: list[tuple[str, ast.stmt]]
    ) -> Iterator[tuple[str, ast.stmt]]:
        """Classes, which are looked into later; then aliases, each after its parts.

        So no alias needs quotes, which msgspec would look up in nothing but a class.
        """
        aliases = {
            name: node for name, node in named if isinstance(node, ast.AnnAssign)
        }
        yield from (each for each in named if each[0] not in aliases)

        def after_parts(name: str) -> Iterator[tuple[str, ast.stmt]]:
            if (node := aliases.pop(name, None)) and node.value:
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Name | ast.Constant):
                        inner = part.id if isinstance(part, ast.Name) else part.value
                        yield from after_parts(str(inner))
                self._unquote(node.value)
                yield name, node

        for name in list(aliases):
            yield from after_parts(name)

    def _unquote(self, value: ast.expr) -> None:
        for part in sorted(_quoted(value), key=lambda p: p.col_offset, reverse=True):
            name = str(part.value)
            if name not in self.definitions:
                raise _distrusted(f"line {part.lineno} quotes what is no name")
            self._replace(part, name)

    def _replace(self, node: ast.expr, text: str) -> None:
        """Other text for what stands on one line."""
        line = self.lines[node.lineno - 1].encode()  # columns are of UTF-8
        before, after = line[: node.col_offset], line[node.end_col_offset :]
        self.lines[node.lineno - 1] = (before + text.encode() + after).decode()

    def _lines(self, node: ast.stmt) -> Iterator[str]:
        assert node.end_lineno is not None
        for number in range(node.lineno, node.end_lineno + 1):
            if number in self.before:
                yield self.before[number]
            if number not in self.dropped:
                yield self.lines[number - 1]
            if number in self.behind:
                yield self.behind[number]

    def _is_import(self, node: ast.stmt) -> bool:
        if not isinstance(node, ast.ImportFrom):
            return False
        if node.module not in _MODULES or node.level:
            raise _distrusted(f"it imports from {node.module}")
        for alias in node.names:
            if alias.asname:
                raise _distrusted(f"it renames {alias.name}")
            self.imports.setdefault(node.module, set()).add(alias.name)
        return True

    def _declaration(self, node: ast.stmt) -> str:
        """Check a statement, and put prose to it; the name that it declares, if any."""
        match node:
            case ast.ClassDef(name=name):
                self._class(node)
                return name
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._expressions(node.annotation, value)
                self._after(node, self._doc(name), 0)
                return name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                self._expressions(call)
                self._functional(name, call)
                return name
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="model_rebuild"),
                    args=[],
                    keywords=[],
                )
            ) if (
                name in self.definitions
            ):
                return ""
        raise _distrusted(f"line {node.lineno} is no declaration")

    def _class(self, node: ast.ClassDef) -> None:
        if node.decorator_list:
            raise _distrusted(f"{node.name} is decorated")
        self._expressions(*node.bases, *(k.value for k in node.keywords))
        properties = self._properties(node.name)
        if doc := self._doc(node.name):
            self.before[node.body[0].lineno] = f"    {docstring(doc, 4)}\n"
        annotations = self.annotations.setdefault(node.name, {})
        nulls = self._null_defaults(node.name) if self.flavour == "msgspec" else ()
        settings: ast.Assign | None = None
        renames = False
        for part in node.body:
            match part:
                case ast.Pass():
                    pass
                case ast.AnnAssign(target=ast.Name(id=attribute), simple=1):
                    self._expressions(part.annotation, part.value)
                    annotations[attribute] = ast.unparse(part.annotation)
                    wire = _wire_name(part)
                    renames |= wire is not None
                    if part.value and wire in nulls:
                        # A default of null looks like none to who wrote `field(name=…)`.
                        call = ast.unparse(part.value).removesuffix(")")
                        self._replace(part.value, f"{call}, default=None)")
                    doc = properties.get(attribute if wire is None else wire, "")
                    self._after(part, doc, 4)
                case ast.Assign(
                    targets=[ast.Name(id="model_config")],
                    value=ast.Call(func=ast.Name(id="ConfigDict")) as call,
                ):
                    self._expressions(call)
                    only = [k.arg for k in call.keywords] == ["populate_by_name"]
                    settings = part if only else None
                case _:
                    raise _distrusted(f"line {part.lineno} is no field")
        if settings and not renames and len(node.body) > 1:
            # It is for attributes with a name of their own, and here are none.
            assert settings.end_lineno is not None
            self.dropped |= set(range(settings.lineno, settings.end_lineno + 1))

    def _functional(self, name: str, call: ast.Call) -> None:
        """`T = TypedDict("T", {"a key": …})`, which has no place for docstrings."""
        for argument in call.args:
            if isinstance(argument, ast.Dict) and self.flavour == "typeddict":
                docs = self._properties(name)
                for key in argument.keys:
                    if key and (doc := docs.get(ast.literal_eval(key))):
                        self.before[key.lineno] = f"    {comment(doc, 4)}"
        self._after(call, self._doc(name), 0)

    def _after(self, node: ast.stmt | ast.expr, doc: str, indent: int) -> None:
        if doc:
            assert node.end_lineno is not None
            self.behind[node.end_lineno] = " " * indent + docstring(doc, indent)

    def _expressions(self, *nodes: ast.expr | None) -> None:
        for node in filter(None, nodes):
            for part in ast.walk(node):
                if not isinstance(part, _MADE_OF):
                    raise _distrusted(f"line {node.lineno} has a {type(part).__name__}")
                if isinstance(part, ast.Name) and part.id not in self.known:
                    raise _distrusted(f"line {node.lineno} uses {part.id}")
                if isinstance(part, ast.Call) and not (
                    isinstance(part.func, ast.Name) and part.func.id in _CALLED
                ):
                    raise _distrusted(f"line {node.lineno} calls something")

    # --- prose ------------------------------------------------------------------------

    def _doc(self, name: str) -> str:
        return _description(self.definitions.get(name))

    def _properties(self, name: str) -> dict[str, str]:
        return {key: _description(inner) for key, inner in self._schemas(name).items()}

    def _null_defaults(self, name: str) -> set[str]:
        """The keys that are null when they are not given."""
        return {
            key
            for key, inner in self._schemas(name).items()
            if isinstance(inner, dict) and inner.get("default", ...) is None
        }.difference(self.definitions.get(name, {}).get("required", ()))

    def _schemas(self, name: str) -> dict[str, Any]:
        schema = self.definitions.get(name)
        return schema.get("properties", {}) if isinstance(schema, dict) else {}


def _quoted(node: ast.AST) -> Iterator[ast.Constant]:
    """The names in quotes in an annotation, which the values of a Literal are not."""
    match node:
        case ast.Constant(value=str()):
            yield node
        case ast.Subscript(value=ast.Name(id="Literal")):
            pass
        case _:
            for part in ast.iter_child_nodes(node):
                yield from _quoted(part)


def _wire_name(node: ast.AnnAssign) -> str | None:
    """What `field(name=…)` or `Field(alias=…)` gives an attribute as its key."""
    for part in ast.walk(node):
        if (
            isinstance(part, ast.keyword)
            and part.arg in ("name", "alias")
            and isinstance(part.value, ast.Constant)
        ):
            return str(part.value.value)
    return None


def _description(schema: Any) -> str:
    text = schema.get("description", "") if isinstance(schema, dict) else ""
    return text.strip() if isinstance(text, str) else ""


def _distrusted(why: str) -> CompileError:
    return fail(
        "model-distrusted",
        f"what datamodel-code-generator made is not used: {why}",
        hint="this is a mistake in mcpgen; please report it with the schema",
    )
