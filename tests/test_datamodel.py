"""Models of other people's schemas: named by path, harmless, and usable at run time."""

from __future__ import annotations

import ast
import random
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import msgspec
import pydantic
import pytest
from mcpgen.datamodel import FLAVOURS, Flavour, Models, models
from mcpgen.diagnostics import CompileError
from mcpgen.flatten import Flat, flatten
from mcpgen.names import distinct, field_name, snake_case, spelled
from mcpgen.runtime.client.typed import _fitted

from .test_hostile import TEXTS


def source(made: Models) -> str:
    lines = [
        f"from {name} import {', '.join(names)}" for name, names in made.imports.items()
    ]
    return "\n".join(["from __future__ import annotations", *lines, made.code])


@pytest.fixture
def load() -> Iterator[Any]:
    """Run the text as the module that its annotations are looked up in."""
    loaded: list[str] = []

    def run(made: Models) -> Any:
        name = f"models_of_a_test_{len(loaded)}"
        module = sys.modules[name] = ModuleType(name)
        loaded.append(name)
        exec(compile(source(made), name, "exec"), module.__dict__)
        return module

    yield run
    for name in loaded:
        del sys.modules[name]


def made(flavour: Flavour, **schemas: Any) -> tuple[Flat, Models]:
    flat = flatten(schemas, flavour)
    return flat, models(flat.definitions, flavour, fields=flat.fields)


def obj(required: Any = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


# --- what a model is made of ----------------------------------------------------------


def test_names_come_from_paths() -> None:
    place = obj(at=obj(lat={"type": "number"}))
    root = obj(
        stops={"type": "array", "items": place},
        by_name={"type": "object", "additionalProperties": obj(x={})},
        either={
            "anyOf": [
                obj(kind={"const": "car"}, a={}),
                obj(("b",), b={}),
                {"type": "null"},
            ]
        },
    )
    flat, _ = made("msgspec", Trip=root)
    assert sorted(flat.definitions) == [
        "Trip",
        "TripByNameValue",
        "TripEitherCar",
        "TripEitherWithB",
        "TripStopsItem",
        "TripStopsItemAt",
    ]


def test_what_is_called_alike_and_is_alike_is_one() -> None:
    def document(**place: Any) -> dict[str, Any]:
        here = {"$ref": "#/$defs/Place"}
        return obj(a=here, b=here) | {"$defs": {"Place": obj(next=here, **place)}}

    flat, _ = made("msgspec", One=document(x={}), Two=document(x={}))
    assert sorted(flat.definitions) == ["One", "Place", "Two"]
    flat, _ = made("msgspec", One=document(x={}), Two=document(y={}))
    assert sorted(flat.definitions) == ["One", "OnePlace", "Two", "TwoPlace"]


def test_names_are_distinct_and_depend_on_no_order() -> None:
    wires = ["a_b", "a-b", "a.b", "aB", "class", "", "1", "日本", "x" * 500, "x" * 501]
    found = distinct(wires, field_name, spelled)
    assert found["a_b"] == "a_b"
    assert found["a-b"] == "a_x2d_b"
    assert found["class"] == "class_"
    assert len(set(found.values())) == len(wires)
    assert all(name.isidentifier() and name.isascii() for name in found.values())
    assert distinct(wires[::-1], field_name, spelled) == found
    assert distinct(["name", "Name"], snake_case, spelled)["name"] == "name"


def test_msgspec(load: Any) -> None:
    arms = [
        obj(("t",), t={"const": "a"}, x={"type": "integer"}),
        obj(("t",), t={"const": "b"}),
    ]
    root = obj(
        ("class",),
        **{"class": {"type": "string"}, "inWords": {"type": "string", "default": "no"}},
        either={"anyOf": [*arms, {"type": "null"}]},
        unclear={"anyOf": [obj(x={}), obj(y={})]},
        texts={"type": ["string", "null"], "enum": ["a", None]},
    )
    _, found = made("msgspec", Thing=root)
    thing = load(found)
    data = b'{"class": "c", "either": {"t": "a", "x": 1}, "unclear": {"y": 2}, "texts": null}'
    value = msgspec.json.decode(data, type=thing.Thing)
    assert (value.class_, value.in_words, value.either.x) == ("c", "no", 1)
    assert msgspec.json.decode(msgspec.json.encode(value))["class"] == "c"
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"class": "c", "texts": "b"}', type=thing.Thing)


def test_pydantic(load: Any) -> None:
    _, found = made(
        "pydantic", Thing=obj(("class",), **{"class": {}, "json": {"type": "integer"}})
    )
    thing = load(found).Thing
    assert thing(class_=1, json_=2).model_dump(by_alias=True) == {"class": 1, "json": 2}
    with pytest.raises(pydantic.ValidationError):
        thing.model_validate({"class": 1, "json": "x"})


@pytest.mark.parametrize("other", ["class", "b"])
def test_typeddict_keys_are_those_of_the_wire(other: str, load: Any) -> None:
    root = obj(("oldText",), **{"oldText": {}, other: {"type": "integer"}})
    _, found = made("typeddict", Thing=root)
    thing = load(found).Thing
    hints = typing.get_type_hints(thing, include_extras=True)
    assert hints == {"oldText": Any, other: typing.NotRequired[int]}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_choice_can_hold_itself(flavour: Flavour, load: Any) -> None:
    """By way of an object, whichever of them is met first."""
    expr = {"$ref": "#/$defs/Expr"}
    defs = {
        "Expr": {"oneOf": [{"$ref": "#/$defs/Sum"}, {"$ref": "#/$defs/Number"}]},
        "Sum": obj(("op", "terms"), op={"const": "+"}, terms={"$ref": "#/$defs/Terms"}),
        "Terms": {"type": "array", "items": expr},
        "Number": obj(("op", "n"), op={"const": "n"}, n={"type": "integer"}),
        "Same": {"allOf": [{"$ref": "#/$defs/Other"}]},
        "Other": obj(again={"$ref": "#/$defs/Same"}),
    }
    same = {"$ref": "#/$defs/Same"}
    for met in ({"a": expr}, {"a": {"$ref": "#/$defs/Terms"}}, {"a": same, "b": expr}):
        flat, found = made(flavour, Root=obj(**met) | {"$defs": defs})
        assert "Any" not in found.code
        assert_usable(flavour, flat, load(found))
    n = {"op": "n", "n": 1}
    value = {"a": {"again": {"again": {}}}, "b": {"op": "+", "terms": [n, n]}}
    root = load(found).Root
    if flavour == "msgspec":
        assert msgspec.to_builtins(msgspec.convert(value, root)) == value
        value["b"]["terms"][1] = {"op": "n", "n": "one"}
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(value, root)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_definition_can_be_an_object_or_nothing(flavour: Flavour, load: Any) -> None:
    node = {"type": ["object", "null"], "required": ["next"]}
    node["properties"] = {"next": {"$ref": "#/$defs/Node"}}
    leaf = {"type": "object", "nullable": True, "properties": {"x": {}}}
    root = obj(("node",), node={"$ref": "#/$defs/Node"}, leaf={"$ref": "#/$defs/Leaf"})
    flat, found = made(flavour, Root=root | {"$defs": {"Node": node, "Leaf": leaf}})
    module = load(found)
    assert_usable(flavour, flat, module)
    assert {"Node", "NodeObject", "Leaf", "LeafObject"} <= flat.definitions.keys()
    if flavour == "msgspec":
        value = {"node": {"next": {"next": None}}, "leaf": None}
        assert msgspec.to_builtins(msgspec.convert(value, module.Root)) == value


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_choice_can_be_part_of_a_choice(flavour: Flavour, load: Any) -> None:
    def animal(name: str) -> dict[str, Any]:
        return obj(("kind",), kind={"const": name})

    fish = {"$ref": "#/$defs/Fish"}
    defs = {
        "Pet": {"oneOf": [animal("cat"), animal("dog")]},
        "Fish": animal("fish"),
        "Bird": {"anyOf": [animal("bird"), {"type": "null"}]},
    }
    bird = {"$ref": "#/$defs/Bird"}
    root = obj(a={"anyOf": [{"$ref": "#/$defs/Pet"}, fish]}, b=bird) | {"$defs": defs}
    flat, found = made(flavour, Root=root)
    module = load(found)
    assert_usable(flavour, flat, module)
    assert {"PetCat", "PetDog", "Fish", "Bird", "BirdObject"} <= flat.definitions.keys()
    if flavour == "msgspec":
        value = msgspec.convert({"a": {"kind": "fish"}, "b": None}, module.Root)
        assert isinstance(value.a, module.Fish)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_list_can_be_of_a_choice(flavour: Flavour, load: Any) -> None:
    """What tells the objects apart stands in the list itself, under no name."""
    arms = [obj(("kind",), kind={"const": name}, **{name: {}}) for name in ("a", "b")]
    list_ = {"type": "array", "items": {"oneOf": arms}}
    nullable = {"anyOf": [list_, {"type": "null"}]}
    root = obj((), p=list_, q={"type": "array", "items": list_}, r=nullable)
    flat, found = made(flavour, Root=root)
    module = load(found)
    assert_usable(flavour, flat, module)
    assert "list[RootPItemA | RootPItemB]" in found.annotations["Root"]["p"]
    assert "list[list[RootQItemItemA |" in found.annotations["Root"]["q"]
    assert "list[RootRItemA | RootRItemB] | None" in found.annotations["Root"]["r"]
    if flavour == "msgspec":
        value = msgspec.convert({"p": [{"kind": "b"}, {"kind": "a"}]}, module.Root)
        assert isinstance(value.p[0], module.RootPItemB)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_alias_that_is_read_by_two_ways_is_no_circle(
    flavour: Flavour, load: Any
) -> None:
    """An object leads to it first, and what it is made of then does without."""
    again = {"$ref": "#/properties/p"}
    inner = {"type": ["object", "array"], "properties": {"x": again}, "items": again}
    root = obj(p={"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]})
    flat, found = made(flavour, Root=root | {"$defs": {"A": inner}})
    assert_usable(flavour, flat, load(found))


def test_what_speaks_of_some_values_does_not_speak_of_all() -> None:
    number = {"type": "integer"}
    root = obj(
        open={"patternProperties": {"^x": number}, "type": "object"},
        closed={"patternProperties": {"^x": number}, "additionalProperties": False},
        row={"type": "array", "prefixItems": [{"type": "string"}], "items": number},
    )
    code = made("typeddict", Root=root)[1].code
    assert "open: NotRequired[dict[str, Any]]\n" in code
    assert "closed: NotRequired[dict[str, int]]\n" in code
    assert "row: NotRequired[list[Any]]\n" in code


def test_what_is_required_is_there_even_if_nothing_is_said_of_it() -> None:
    root = obj(("a", "b", 7), a={"type": "string"})
    assert made("msgspec", Root=root)[1].annotations["Root"] == {"a": "str", "b": "Any"}


def test_what_has_a_default_is_never_absent() -> None:
    root = obj(
        ("c",),
        a={"type": "string", "default": "x"},
        b={"type": "string"},
        c={"type": "integer", "default": 3},
    )
    assert made("msgspec", Root=root)[1].annotations["Root"] == {
        "c": "int",
        "a": "str",
        "b": "str | UnsetType",
    }


@pytest.mark.parametrize("flavour", ["msgspec", "pydantic"])
def test_a_default_of_null_is_kept_under_any_name(flavour: Flavour, load: Any) -> None:
    nothing = {"type": ["string", "null"], "default": None}
    _, found = made(flavour, Root=obj(("dueDate",), dueDate={}, endDate=nothing))
    value = load(found).Root(due_date=1)
    assert value.end_date is None
    if flavour == "msgspec":
        assert msgspec.to_builtins(value) == {"dueDate": 1, "endDate": None}


def test_whatever_is_nullable_can_be_null() -> None:
    defs = {"Place": obj(x={"type": "integer"}), "Sky": {"enum": ["clear", "grey"]}}
    kinds: dict[str, Any] = {
        "a": {"$ref": "#/$defs/Place"},
        "b": {"allOf": [{"$ref": "#/$defs/Place"}]},
        "c": {"allOf": [{"$ref": "#/$defs/Place"}, obj(y={"type": "integer"})]},
        "d": {"enum": ["x", "y"]},
        "e": {"const": 1},
        "f": {"$ref": "#/$defs/Sky"},
        "g": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    }
    root = obj(kinds, **{key: kind | {"nullable": True} for key, kind in kinds.items()})
    assert made("typeddict", Root=root | {"$defs": defs})[1].annotations["Root"] == {
        "a": "Place | None",
        "b": "Place | None",
        "c": "RootC | None",
        "d": "Literal['x', 'y'] | None",
        "e": "Literal[1] | None",
        "f": "Literal['clear', 'grey'] | None",
        "g": "str | int | None",
    }


def test_properties_beside_a_reference_count() -> None:
    base = obj(("a",), a={"type": "string"}) | {"description": "The base."}
    more = obj(("b",), b={"type": "integer"}) | {"$ref": "#/$defs/Base"}
    itself = {"$ref": "#", "properties": {"c": {}}}
    root = obj(more=more, all={"allOf": [more]}, self={"$ref": "#/$defs/Self"})
    flat, _ = made("msgspec", Root=root | {"$defs": {"Base": base, "Self": itself}})
    for name in ("RootMore", "RootAll"):
        found = flat.definitions[name]
        assert found["properties"].keys() == {"a", "b"}
        assert found["required"] == ["b", "a"]
    assert flat.notes == ()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_object_has_what_any_of_its_choices_has(flavour: Flavour, load: Any) -> None:
    """And its own; of what one choice does not speak, there it can be anything."""
    text = {"type": "string"}
    cat = obj(("kind",), kind={"const": "cat"}, lives={"type": "integer"}, name=text)
    dog = obj(("kind",), kind={"const": "dog"}, tricks={"type": "array"}, name=text)
    named = {"$ref": "#/$defs/Named"}
    pet = obj(("id",), id={"type": "integer"}) | {"oneOf": [cat, dog, named]}
    fish = obj(kind={"const": "fish"}, name=text)
    defs = {"Named": {"allOf": [fish, {"$ref": "#/$defs/Pet"}]}}
    root = {"$ref": "#/$defs/Pet", "$defs": defs | {"Pet": pet}}
    flat, found = made(flavour, Root=root)
    pet = flat.definitions["Pet"]
    assert pet["required"] == ["id"]
    assert pet["properties"] == {
        "id": {"type": "integer"},
        "kind": {"enum": ["cat", "dog", "fish"]},
        "name": text,
        "lives": {},
        "tricks": {},
    }
    assert_usable(flavour, flat, load(found))


def test_keys_that_no_typeddict_has_make_it_any_dict() -> None:
    """Type checkers refuse an empty one, and Any cannot be both a key and a type."""
    for key in ("", "Any"):
        root = obj(a=obj(**{key: {}}), b={})
        code = made("typeddict", Root=root)[1].code
        assert "a: NotRequired[dict[str, Any]]\n" in code


def test_bounds_are_for_the_server_to_check() -> None:
    _, found = made(
        "msgspec",
        A=obj(
            a={"type": "integer", "minimum": 1, "maximum": 10**99},
            b={"type": "string", "pattern": "("},
        ),
    )
    assert "Meta" not in found.code


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_prose_is_put_back(flavour: Flavour, load: Any) -> None:
    root = obj(a={"type": "string", "description": "The first."}) | {
        "description": "A thing."
    }
    code = made(flavour, Thing=root)[1].code
    assert '"""A thing."""' in code
    assert '"""The first."""' in code


def test_an_unfolded_class_gives_its_annotations_only() -> None:
    flat = flatten({"Thing": obj(("a",), a={"type": ["integer", "null"]})}, "msgspec")
    found = models(flat.definitions, "msgspec", unfolded=["Thing"])
    assert not found.code.strip()
    assert found.annotations["Thing"] == {"a": "int | None"}


# --- what is no schema that anybody meant ---------------------------------------------


ODD: dict[str, Any] = {
    "not-a-schema": 7,
    "false": False,
    "types": {"type": ["string", 7, "nonsense", {}]},
    "loop": {"$ref": "#"},
    "loops": {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"},
    "itself": {"anyOf": [{"$ref": "#"}, {"type": "array", "items": {"$ref": "#"}}]},
    "elsewhere": obj(a={"$ref": "http://localhost/x"}, b={"$ref": "other.json#/a"}),
    "file": obj(a={"$ref": "file:///etc/passwd"}, b={"$ref": "/etc/passwd"}),
    "nowhere": obj(a={"$ref": "#/$defs/Missing"}, b={"$ref": 7}, c={"$ref": "#/properties/a/$ref"}),
    "code": obj(
        a={"type": "string", "customTypePath": "os.system"},
        b={"type": "string", "x-python-type": "os.PathLike", "format": "uuid"},
        c={"x-python-import": {"module": "os", "name": "system"}, "type": "object"},
        d={"enum": ["a", "b"], "x-enum-varnames": ["import os", "b"]},
    )
    | {"customBasePath": "os.PathLike", "title": "x; import os"},
    "shapes": {"type": "object", "properties": [], "required": 7, "anyOf": 3, "enum": {}},
    "patterns": {"patternProperties": {"^x": {"type": "integer"}}, "type": "object"},
    "huge-enum": {"enum": [f"value {n}" for n in range(1000)]},
    "numbers": {"enum": [10**40, 1e400, -0.0]},
    "same-arms": {"anyOf": [{"type": "array", "items": obj(a={})}] * 2 + [obj(b={})] * 2},
    "all": {"allOf": [obj(a={}), obj(("b",), b={}), {"$ref": "#/allOf/0"}]},
    "all-loop": {"allOf": [{"$ref": "#"}, obj(a={})]},
    "tuple": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
    "imports": obj(a={"$ref": "#/$defs/Any"}) | {"$defs": {"Any": obj(b={"$ref": "#/$defs/Struct"}), "Struct": obj(c={}), "": obj(d={})}},
}  # fmt: skip


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_odd_schema_becomes_less_exact(flavour: Flavour, load: Any) -> None:
    schemas = {f"Root{n}": schema for n, schema in enumerate(ODD.values())}
    inside = {f"In{name}": obj(x=schema) for name, schema in schemas.items()}
    flat, found = made(flavour, **schemas, **inside)
    assert_usable(flavour, flat, load(found))
    assert "os." not in found.code
    assert "import os" not in found.code


def assert_usable(flavour: Flavour, flat: Flat, module: Any) -> None:
    for name in flat.definitions:
        if flavour == "msgspec":
            msgspec.json.Decoder(getattr(module, name))
        elif flavour == "pydantic":
            pydantic.TypeAdapter(getattr(module, name)).json_schema()


def test_what_leads_elsewhere_is_said() -> None:
    flat, found = made("msgspec", Root=ODD["elsewhere"])
    assert [note.code for note in flat.notes] == ["ref-not-followed"] * 2
    assert "a: Any" in found.code
    both = {"allOf": [{"$ref": "other.json"}, obj(x={})]}
    flat, _ = made("msgspec", Root=obj(both=both))
    (note,) = flat.notes
    assert (note.code, note.place) == ("ref-not-followed", "Root#/properties/both")
    flat, _ = made("pydantic", Root=obj(**{"\x1b[31m": {"$ref": "other.json"}}))
    assert flat.notes[0].place == "Root#/properties/\\u001b[31m"


def test_long_chains_are_told_apart_by_their_ends() -> None:
    """Thousands of definitions, each like the one of the other document but for one."""
    count = 5000

    def document(end: str) -> dict[str, Any]:
        defs = {f"D{n}": obj(n={"$ref": f"#/$defs/D{n + 1}"}) for n in range(count)}
        defs[f"D{count}"] = obj(x={"type": end})
        # Met from the end, a bit at a time: references are not followed without end.
        starts = {f"s{n:04}": {"$ref": f"#/$defs/D{n}"} for n in range(0, count, 50)}
        return obj(**dict(reversed(starts.items()))) | {"$defs": defs}

    flat = flatten({"A": document("string"), "B": document("integer")}, "msgspec")
    assert {"AD0", "BD0", f"AD{count}"} <= flat.definitions.keys()
    flat = flatten({"A": document("string"), "B": document("string")}, "msgspec")
    assert len(flat.definitions) == count + 3


def test_references_cannot_be_unrolled_without_end() -> None:
    defs: dict[str, Any] = {"A0": {"type": "string"}}
    for n in range(1, 40):
        ref = {"$ref": f"#/$defs/A{n - 1}"}
        defs[f"A{n}"] = {"anyOf": [{"type": "array", "items": ref}, ref]}
    flat = flatten({"Root": {"$defs": defs, "$ref": "#/$defs/A39"}}, "msgspec")
    assert len(flat.definitions) <= 40


def test_a_schema_without_end_is_refused() -> None:
    wide = obj(**{f"p{n}": {"type": "string"} for n in range(60_000)})
    with pytest.raises(CompileError, match="more than"):
        flatten({"Root": wide}, "msgspec")


def test_a_deep_schema_ends() -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"type": "array", "items": deep}
    _, found = made("msgspec", Root=obj(a=deep))
    assert "Any" in found.code


def said_everywhere(text: str) -> dict[str, Any]:
    """A schema that says it wherever something can be said."""
    words = {"type": "string", "description": text, "title": text, "default": text}
    root = obj(
        (text,),
        **{text: words},
        other={"enum": [text, "b"], "default": text, "pattern": text, "format": text},
        inner={"$ref": "#/$defs/Inner"},
    )
    root |= {"title": text, "description": text, "$id": text, "$comment": text}
    root["$defs"] = {"Inner": obj(x={}), text: obj(y={"const": text})}
    return root


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_text_stays_data(flavour: Flavour, load: Any) -> None:
    roots = {f"Root{n}": said_everywhere(text) for n, text in enumerate(TEXTS.values())}
    roots["Text"] = {"$defs": {text: {"enum": [text, "b"]} for text in TEXTS.values()}}
    flat = flatten(roots, flavour)
    found = models(flat.definitions, flavour, fields=flat.fields)
    for node in ast.walk(ast.parse(found.code)):
        assert not isinstance(node, ast.Import | ast.ImportFrom)
        assert not isinstance(node, ast.Attribute) or node.attr == "model_rebuild"
    module = load(found)
    for name, text in zip(roots, TEXTS.values(), strict=False):
        if flavour == "msgspec" and name in flat.definitions:
            data = {text: text, "other": text}
            value = msgspec.convert(data, getattr(module, name))
            assert msgspec.to_builtins(value) == data


# --- what the generator is kept from --------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://localhost/x"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#/$defs/Other"},
        {"type": "string", "customTypePath": "os.system"},
        {"type": "string", "x-python-type": "os.PathLike"},
        {"type": "array", "items": {"$id": "http://localhost/"}},
        {"anyOf": [{"allOf": [{"properties": {"a": {"format": "uuid"}}}]}]},
        {
            "oneOf": [],
            "discriminator": {"propertyName": "a", "mapping": {"a": "x.json"}},
        },
        {"properties": {"a": 7}},
    ],
    ids=str,
)
def test_the_generator_gets_nothing_else(schema: Any) -> None:
    with pytest.raises(CompileError) as caught:
        models({"Thing": schema}, "msgspec")
    assert caught.value.diagnostics[0].code == "model-refused"


@pytest.mark.parametrize("name", ["a b", "a.b", "", "../a", "é"])
def test_a_name_is_a_class_name(name: str) -> None:
    with pytest.raises(CompileError, match="no class name"):
        models({name: {"type": "string"}}, "msgspec")


BAD_OUTPUT = [
    "import os\nclass Thing: pass",
    "from os import system\nclass Thing: pass",
    "from msgspec import Struct as S\nclass Thing: pass",
    "class Thing:\n    a: eval('1')",
    "class Thing:\n    a: int = print()",
    "class Thing:\n    a: int = [].append",
    "class Thing:\n    a: int = (lambda: 1)",
    "class Thing:\n    def a(self): pass",
    "class Thing(object): pass",
    "class Other: pass",
    "class Thing: pass\nprint(1)",
    "class Thing: pass\nThing.model_rebuild(1)",
    "@Thing\nclass Thing: pass",
    "class Thing(",
]


@pytest.mark.parametrize("text", BAD_OUTPUT)
def test_only_declarations_come_back(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datamodel_code_generator

    monkeypatch.setattr(datamodel_code_generator, "generate", lambda *_, **__: text)
    with pytest.raises(CompileError) as caught:
        models({"Thing": {"type": "object", "properties": {}}}, "msgspec")
    assert caught.value.diagnostics[0].code == "model-distrusted"


def test_nothing_is_fetched_read_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events of the interpreter while it works: no file but its own, no socket."""
    (tmp_path / "pyproject.toml").write_text(
        "[tool.datamodel-codegen]\nreuse-model = true\n"
    )
    (tmp_path / "other.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    harmless = ("itself", "same-arms", "all", "numbers")
    for flavour in FLAVOURS:  # what it imports, it may import
        made(flavour, Warm=obj(**{name: ODD[name] for name in harmless}))
    seen: list[tuple[str, Any]] = []
    watching = True

    def watch(event: str, arguments: Any) -> None:
        # A hook stays until the process ends; this one only as long as it watches.
        if watching and event.startswith(("open", "socket", "subprocess", "os.")):
            seen.append((event, arguments))

    sys.addaudithook(watch)
    try:
        for flavour in FLAVOURS:
            made(
                flavour, **{f"Root{n}": schema for n, schema in enumerate(ODD.values())}
            )
    finally:
        watching = False
    library = str(Path(msgspec.__file__).parent.parent)
    stdlib = str(Path(ast.__file__).parent)
    strange = [
        (event, arguments)
        for event, arguments in seen
        if not (
            event in ("open", "os.listdir", "os.scandir")
            and str(arguments[0]).startswith((library, stdlib))
            and (event != "open" or arguments[1] in ("r", "rb"))
        )
    ]
    assert not strange


# --- any schema at all ----------------------------------------------------------------


REFS = ("#", "#/$defs/A", "#/$defs/B", "#/properties/p")


def some_schema(rng: random.Random, depth: int, refs: tuple[str, ...] = REFS) -> Any:
    leaves: list[Any] = [
        True,
        {},
        *({"$ref": rng.choice(refs)} for _ in refs[:1]),
        {"type": rng.choice(["string", "integer", "number", "boolean", "null"])},
        {"enum": rng.sample(["a", "b", 1, 2, None, True, 1.5], 2)},
        {"const": rng.choice(["a", "b"])},
    ]
    if depth == 0:
        return rng.choice(leaves)

    def inner() -> Any:
        return some_schema(rng, depth - 1, refs)

    def tagged(tag: str) -> Any:
        return obj(("t",), t={"const": tag}, **{rng.choice("xy"): inner()})

    names = rng.sample(["p", "q", "p-q", "list", "t"], rng.randint(1, 3))
    return rng.choice(
        [
            *leaves,
            {"type": "array", "items": inner()},
            {"type": "object", "additionalProperties": inner()},
            obj(tuple(rng.sample(names, 1)), **{name: inner() for name in names}),
            obj(("t",), t={"const": rng.choice("ab")}, x=inner()),
            {"type": "array", "items": {"oneOf": [tagged("a"), tagged("b")]}},
            obj(p=inner()) | {"anyOf": [tagged("a"), tagged("b")]},
            obj(**{"p-q": {"type": ["string", "null"], "default": None}}, p=inner()),
            {
                rng.choice(["anyOf", "oneOf"]): [
                    inner() for _ in range(rng.randint(1, 4))
                ]
            },
            {"allOf": [inner(), inner()]},
            {"type": ["null", "object", "array"], "items": inner()},
            {"type": ["null", "object"], "properties": {names[0]: inner()}},
            {"type": "object", "nullable": True, "properties": {"p": inner()}},
        ]
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_any_schema_has_models(flavour: Flavour, seed: int, load: Any) -> None:
    rng = random.Random(seed)
    schemas = {
        f"Root{n}": obj(p=some_schema(rng, 3), q=some_schema(rng, 2))
        | {"$defs": {"A": some_schema(rng, 3), "B": some_schema(rng, 2)}}
        for n in range(8)
    }
    flat, found = made(flavour, **schemas)
    assert_usable(flavour, flat, load(found))
    again = flatten(dict(reversed(schemas.items())), flavour)
    assert models(again.definitions, flavour, fields=again.fields).code == found.code


def some_value(rng: random.Random, schema: Any, defs: Any) -> Any:
    """A value that often fits."""
    if schema is True or not schema:
        return rng.choice([None, "x", 1.5, [1], {"q": True}])
    if "$ref" in schema:
        return some_value(rng, defs[schema["$ref"].removeprefix("#/$defs/")], defs)
    if "const" in schema or "enum" in schema:
        return rng.choice(schema.get("enum") or [schema["const"]])
    value: Any = {}
    for keyword in ("allOf", "anyOf", "oneOf"):
        arms = schema.get(keyword, [])
        for arm in arms if keyword == "allOf" else [rng.choice(arms)] if arms else []:
            part = some_value(rng, arm, defs)
            value = value | part if isinstance(part, dict) and value != part else part
            if not isinstance(value, dict):
                return value
    kind = schema.get("type", "object")
    match rng.choice(kind) if isinstance(kind, list) else kind:
        case "array":
            items = schema.get("items", True)
            return [some_value(rng, items, defs) for _ in range(rng.randint(0, 2))]
        case "object":
            for name, inner in schema.get("properties", {}).items():
                if name in schema.get("required", ()) or rng.random() < 0.6:
                    value[name] = some_value(rng, inner, defs)
            if more := schema.get("additionalProperties"):
                value["more"] = some_value(rng, more, defs)
            return value
        case "string":
            return rng.choice(["", "a", "text"])
        case "integer" | "number" as number:
            return rng.choice([0, -3, 2**40, 1.5 if number == "number" else 7])
        case "boolean":
            return rng.random() < 0.5
    return None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("flavour", ["msgspec", "pydantic"])
def test_what_fits_a_schema_fits_its_models(
    flavour: Flavour, seed: int, load: Any
) -> None:
    """They may be wider than the schema, and never narrower."""
    rng = random.Random(seed)
    tried = 0
    schemas = {}
    for n in range(8):
        defs = {"A": some_schema(rng, 2, ("#/$defs/B",)), "B": some_schema(rng, 2, ())}
        root = obj(p=some_schema(rng, 3, REFS[1:3]), q=some_schema(rng, 2, ()))
        schemas[f"Root{n}"] = root | {"$defs": defs}
    module = load(made(flavour, **schemas)[1])
    for name, schema in schemas.items():
        validator = jsonschema.Draft202012Validator(schema)
        for _ in range(30):
            value = some_value(rng, schema, schema["$defs"])
            if validator.is_valid(value):
                tried += 1
                _fitted(value, getattr(module, name), "a tool")
    assert tried > 100
