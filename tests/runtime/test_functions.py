"""A function becomes schemas, keyword arguments and structured results."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypedDict,
)
from uuid import UUID

import msgspec
import pytest
from jsonschema import Draft202012Validator
from mcpgen.runtime import functions
from mcpgen.runtime.functions import (
    ArgumentError,
    OutputError,
    Signature,
    inspect_function,
)
from msgspec import Meta
from pydantic import BaseModel, Field, HttpUrl, computed_field
from pydantic.dataclasses import dataclass as pydantic_dataclass


class Context:
    pass


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(msgspec.Struct):
    """A place."""

    x: int
    y: int = 0


class Tree(msgspec.Struct):
    label: str
    children: list[Tree] = []


@dataclass
class Size:
    width: float
    unit: str = "m"


class Options(TypedDict, total=False):
    depth: Required[int]
    note: str


class Loose(TypedDict):
    depth: int
    note: NotRequired[str]


class Pair(NamedTuple):
    left: int
    right: str


class Person(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0)] = 0
    home: Annotated[str | None, Field(alias="homeTown")] = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def adult(self) -> bool:
        return self.age >= 18


class Node(BaseModel):
    value: int
    next: Node | None = None


@pydantic_dataclass
class Strictly:
    count: Annotated[int, Field(ge=1)]


class Guest(msgspec.Struct):
    person: Person
    table: int


class Text(msgspec.Struct):
    text: str


UserId = NewType("UserId", int)
Markdown = NewType("Markdown", str)


def look(fn: Any, **options: Any) -> Signature:
    return inspect_function(fn, context_type=Context, **options)


def taking(hint: Any) -> Signature:
    def tool(value: Any) -> None: ...

    tool.__annotations__ = {"value": hint}
    return look(tool)


def giving(hint: Any, **options: Any) -> Signature:
    def tool() -> Any: ...

    tool.__annotations__ = {"return": hint}
    return look(tool, **options)


def structure(sig: Signature, value: Any) -> Any:
    return json.loads(sig.written(value))


def value_schema(sig: Signature) -> Any:
    return sig.input_schema["properties"]["value"]


# What it is called


def test_name_and_docstring() -> None:
    def forecast(city: str) -> None:
        """Forecast for
        a city.

        With details.
        """

    sig = look(forecast)
    assert (sig.name, sig.summary) == ("forecast", "Forecast for a city.")
    assert sig.description == "Forecast for\na city.\n\nWith details."
    assert not sig.is_async

    def silent() -> None: ...

    assert (look(silent).summary, look(silent).description) == (None, None)


async def asynchronous(a: int, b: int = 2) -> None:
    """Wait."""


class Asynchronous:
    """An object."""

    async def __call__(self, a: int) -> None: ...

    def method(self, a: int) -> None: ...


@functools.wraps(asynchronous)
async def wrapped(*args: Any, **kwargs: Any) -> None:
    return await asynchronous(*args, **kwargs)


@pytest.mark.parametrize(
    ("fn", "name", "is_async", "names", "description"),
    [
        (asynchronous, "asynchronous", True, ["a", "b"], "Wait."),
        (wrapped, "asynchronous", True, ["a", "b"], "Wait."),
        (functools.partial(asynchronous, 1), "asynchronous", True, ["b"], "Wait."),
        (
            functools.partial(asynchronous, b=3),
            "asynchronous",
            True,
            ["a", "b"],
            "Wait.",
        ),
        (Asynchronous(), "Asynchronous", True, ["a"], "An object."),
        (functools.partial(Asynchronous()), "Asynchronous", True, ["a"], "An object."),
        (Asynchronous().method, "method", False, ["a"], None),
        (lambda: None, "<lambda>", False, [], None),
    ],
)
def test_callables(
    fn: Any, name: str, is_async: bool, names: list[str], description: str | None
) -> None:
    sig = look(fn)
    assert (sig.name, sig.is_async, sig.description) == (name, is_async, description)
    assert list(sig.input_schema["properties"]) == names


# The schema of the arguments


def test_the_whole_schema_is_literal_and_ordered() -> None:
    def tool(
        zone: str, at: Point, *, ctx: Context, days: int = 3, home: Point | None = None
    ) -> None: ...

    assert json.dumps(look(tool).input_schema) == json.dumps(
        {
            "type": "object",
            "properties": {
                "zone": {"type": "string"},
                "at": {"$ref": "#/$defs/Point"},
                "days": {"type": "integer", "default": 3},
                "home": {
                    "anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}],
                    "default": None,
                },
            },
            "required": ["zone", "at"],
            "additionalProperties": False,
            "$defs": {
                "Point": {
                    "title": "Point",
                    "description": "A place.",
                    "type": "object",
                    "properties": {
                        "x": {"type": "integer"},
                        "y": {"type": "integer", "default": 0},
                    },
                    "required": ["x"],
                }
            },
        }
    )
    assert look(tool).context_parameter == "ctx"


def test_nothing_to_give() -> None:
    def tool() -> None: ...

    sig = look(tool)
    assert sig.input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    assert sig.bind(None) == sig.bind({}) == {}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (UserId, {"type": "integer"}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (date, {"type": "string", "format": "date"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (Annotated[int, "How many."], {"description": "How many.", "type": "integer"}),
        (
            Annotated[int, Meta(ge=1, description="Many.", examples=[2])],
            {"description": "Many.", "examples": [2], "type": "integer", "minimum": 1},
        ),
        (
            Annotated[str, Meta(pattern="^a"), "Starts with a."],
            {"description": "Starts with a.", "type": "string", "pattern": "^a"},
        ),
        (
            Annotated[int, Field(ge=1, description="Many.")],
            {"description": "Many.", "type": "integer", "minimum": 1},
        ),
        (
            list[Annotated[int, Field(ge=1)]],
            {"type": "array", "items": {"type": "integer", "minimum": 1}},
        ),
    ],
)
def test_schema_of_a_parameter(hint: Any, schema: Any) -> None:
    assert value_schema(taking(hint)) == schema


def test_unannotated_is_anything() -> None:
    def tool(a, b=1, *, c=None): ...  # type: ignore[no-untyped-def]

    sig = look(tool)
    assert sig.input_schema["properties"] == {
        "a": {},
        "b": {"default": 1},
        "c": {"default": None},
    }
    assert sig.bind({"a": [1, {}], "c": "x"}) == {"a": [1, {}], "c": "x"}
    assert sig.output_schema is None


def test_defaults_that_json_can_say() -> None:
    def tool(
        colour: Colour = Colour.RED,
        at: Point = Point(1),  # noqa: B008
        names: tuple[str, ...] = ("a",),
        limit: float = float("inf"),
        day: int = None,  # type: ignore[assignment]  # noqa: RUF013
        other: Any = object(),  # noqa: B008
    ) -> None: ...

    properties = look(tool).input_schema["properties"]
    assert {n: s.get("default", "none") for n, s in properties.items()} == {
        "colour": "red",
        "at": {"x": 1, "y": 0},
        "names": ["a"],
        "limit": "none",
        "day": "none",
        "other": "none",
    }


def google(city: str, days: int, *, ctx: Context, **more: Any) -> None:
    """Forecast.

    Args:
        city: Where it
            is: a town.
        days (int, optional): How long.
        ctx: Not told.

    Returns:
        days: not this one.
    """


def numpy(city: str, days: int) -> None:
    """Forecast.

    Parameters
    ----------
    city : str
        Where it
        is: a town.
    days
        How long.

    Returns
    -------
    days : int
        Ignored.
    """


def sphinx(city: str, days: int) -> None:
    """Forecast.

    :param city: Where it
        is: a town.
    :param int days: How long.
    :returns: nothing
    """


@pytest.mark.parametrize("fn", [google, numpy, sphinx])
def test_descriptions_from_docstrings(fn: Any) -> None:
    assert look(fn).input_schema["properties"] == {
        "city": {"description": "Where it is: a town.", "type": "string"},
        "days": {"description": "How long.", "type": "integer"},
    }


def test_an_annotation_describes_better_than_a_docstring() -> None:
    def tool(city: Annotated[str, "A town."]) -> None:
        """Args:
        city: Something else.
        """

    assert look(tool).input_schema["properties"]["city"]["description"] == "A town."


ROUND_TRIPS: list[tuple[Any, Any, Any]] = [
    (str, "a", "a"),
    (int, 5.0, 5),
    (int, 10**30, 10**30),
    (float, 5, 5.0),
    (bool, True, True),
    (None, None, None),
    (Any, {"a": [1.5]}, {"a": [1.5]}),
    (list[int], [1, 2.0], [1, 2]),
    (tuple[int, ...], [1, 2], (1, 2)),
    (tuple[int, str], [1, "a"], (1, "a")),
    (set[str], ["a"], {"a"}),
    (frozenset[str], ["a"], frozenset("a")),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (Optional[int], None, None),  # noqa: UP045
    (int | str, "a", "a"),
    (Literal["a", 1], 1, 1),
    (Colour, "blue", Colour.BLUE),
    (list[Colour], ["red"], [Colour.RED]),
    (datetime, "2026-07-28T00:00:00", datetime(2026, 7, 28)),
    (date, "2026-07-28", date(2026, 7, 28)),
    (
        UUID,
        "12345678-1234-5678-1234-567812345678",
        UUID(int=0x12345678123456781234567812345678),
    ),
    (Decimal, "1.5", Decimal("1.5")),
    (bytes, "aGk=", b"hi"),
    (Point, {"x": 1}, Point(1)),
    (Point, {"x": 1.0, "y": 2}, Point(1, 2)),
    (Tree, {"label": "a", "children": [{"label": "b"}]}, Tree("a", [Tree("b")])),
    (Size, {"width": 1}, Size(1.0)),
    (Options, {"depth": 1}, {"depth": 1}),
    (Loose, {"depth": 1, "note": "n"}, {"depth": 1, "note": "n"}),
    (Pair, [1, "a"], Pair(1, "a")),
    (UserId, 7, 7),
    (Annotated[int, Meta(ge=1)], 1, 1),
    (Person, {"name": "Ann", "homeTown": "Rome"}, Person(name="Ann", homeTown="Rome")),
    (Annotated[Person, "Who."], {"name": "Ann"}, Person(name="Ann")),
    (Person | None, None, None),
    (Person | Node, {"value": 1}, Node(value=1)),
    (Node, {"value": 1, "next": {"value": 2}}, Node(value=1, next=Node(value=2))),
    (list[Person], [{"name": "Ann"}], [Person(name="Ann")]),
    (dict[str, list[Person]], {"a": [{"name": "Ann"}]}, {"a": [Person(name="Ann")]}),
    (Guest, {"person": {"name": "Ann"}, "table": 1}, Guest(Person(name="Ann"), 1)),
    (Strictly, {"count": 1}, Strictly(1)),
    (HttpUrl, "https://a.example/", HttpUrl("https://a.example/")),
]


@pytest.mark.parametrize(("hint", "given", "expected"), ROUND_TRIPS)
def test_values_in(hint: Any, given: Any, expected: Any) -> None:
    sig = taking(hint)
    Draft202012Validator.check_schema(sig.input_schema)
    Draft202012Validator(sig.input_schema).validate({"value": given})
    bound = sig.bind({"value": given})
    assert bound == {"value": expected}
    assert type(bound["value"]) is type(expected)


@pytest.mark.parametrize(
    ("hint", "given", "path", "message"),
    [
        (int, "5", "$.value", "expected `int`, got `str`"),
        (int, True, "$.value", "expected `int`, got `bool`"),
        (int, 5.5, "$.value", "expected `int`, got `float`"),
        (float, "1", "$.value", "expected `float`, got `str`"),
        (bool, 1, "$.value", "expected `bool`, got `int`"),
        (str, None, "$.value", "expected `str`, got `null`"),
        (list[int], [1, "a"], "$.value[1]", "expected `int`, got `str`"),
        (dict[int, str], {"a": "b"}, "$.value", "expected `int`, got `str`"),
        (Point, {"x": 1, "y": "a"}, "$.value.y", "expected `int`, got `str`"),
        (Point, {}, "$.value", "object missing required field `x`"),
        (Options, {}, "$.value", "object missing required field `depth`"),
        (Colour, "green", "$.value", "invalid enum value 'green'"),
        (Literal["a"], "b", "$.value", "invalid enum value 'b'"),
        (Annotated[int, Meta(ge=1)], 0, "$.value", "expected `int` >= 1"),
        (
            Annotated[str, Meta(pattern="^a")],
            "b",
            "$.value",
            "expected `str` matching regex '^a'",
        ),
        (
            Annotated[int, Field(ge=1)],
            0,
            "$.value",
            "Input should be greater than or equal to 1",
        ),
        (Person, {}, "$.value.name", "Field required"),
        (list[Person], [{}], "$.value[0].name", "Field required"),
        (Guest, {"person": {}, "table": 1}, "$.value.person.name", "Field required"),
        (
            Strictly,
            {"count": 0},
            "$.value.count",
            "Input should be greater than or equal to 1",
        ),
    ],
)
def test_values_refused(hint: Any, given: Any, path: str, message: str) -> None:
    sig = taking(hint)
    with pytest.raises(ArgumentError) as caught:
        sig.bind({"value": given})
    assert caught.value.issues == [(path, message)]
    assert str(caught.value) == f"{path}: {message}"


def forecast(city: str, days: int = 3) -> None: ...


def test_every_problem_is_named() -> None:
    with pytest.raises(ArgumentError) as caught:
        look(forecast).bind({"dais": 1, "days": "5", "zzz": 1, "a b": 2})
    assert caught.value.issues == [
        ("$.city", "required argument is missing"),
        ("$.dais", "unknown argument; did you mean `days`?"),
        ("$.days", "expected `int`, got `str`"),
        ("$.zzz", "unknown argument; known are: city, days"),
        ('$["a b"]', "unknown argument; known are: city, days"),
    ]


def test_python_applies_the_defaults() -> None:
    assert look(forecast).bind({"city": "Rome"}) == {"city": "Rome"}


def test_many_problems_are_cut_short() -> None:
    with pytest.raises(ArgumentError) as caught:
        look(forecast).bind({f"x{i}": i for i in range(1000)})
    assert len(caught.value.issues) == functions.MAX_ISSUES


def test_arguments_too_deep() -> None:
    deep: dict[str, Any] = {"label": "x"}
    for _ in range(10_000):
        deep = {"label": "x", "children": [deep]}
    with pytest.raises(ArgumentError, match="nested too deeply"):
        taking(Tree).bind({"value": deep})
    with pytest.raises(ArgumentError, match="nested too deeply"):
        look(forecast, input_schema=TREE).bind({"city": deep})


def test_only_strings() -> None:
    sig = look(forecast, strict=False)
    assert sig.bind({"city": "5", "days": "5"}) == {"city": "5", "days": 5}


def test_more_keywords() -> None:
    def tool(city: str, ctx: Context, **more: int) -> None: ...

    sig = look(tool)
    assert sig.input_schema == {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": {"type": "integer"},
    }
    assert sig.bind({"city": "a", "x": 1.0}) == {"city": "a", "x": 1}
    with pytest.raises(ArgumentError, match=r"\$\.x: expected `int`, got `str`"):
        sig.bind({"city": "a", "x": "1"})
    with pytest.raises(ArgumentError, match=r"\$\.ctx: unknown argument"):
        sig.bind({"city": "a", "ctx": 1})

    def anything(**more: Any) -> None: ...

    assert look(anything).input_schema["additionalProperties"] is True


# The context


class Special(Context):
    pass


@pytest.mark.parametrize(
    "hint",
    [
        Context,
        Special,
        Optional[Context],  # noqa: UP045
        Context | None,
        "Context",
        Annotated[Context, "c"],
    ],
)
def test_context(hint: Any) -> None:
    def tool(city: str, context: Any) -> None: ...

    tool.__annotations__["context"] = hint
    sig = look(tool)
    assert sig.context_parameter == "context"
    assert list(sig.input_schema["properties"]) == ["city"]
    with pytest.raises(ArgumentError):
        sig.bind({"city": "a", "context": {}})


def test_context_imported_for_type_checkers_only() -> None:
    namespace: dict[str, Any] = {}
    exec("def tool(ctx: 'Context' = None): ...", namespace)
    assert look(namespace["tool"]).context_parameter == "ctx"


# What cannot be registered


class Opaque:
    pass


def positional(a: int, /, b: int) -> None: ...
def variadic(*values: int) -> None: ...
def unresolved(a: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def opaque(a: int, thing: Opaque) -> None: ...
def opaque_inside(thing: list[Opaque]) -> None: ...
def opaque_result() -> Opaque: ...  # type: ignore[empty-body]
def ambiguous(thing: Point | Tree) -> None: ...
def hidden(*, __days: int) -> None: ...
def field(days: int = Field(3)) -> None: ...


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (positional, ["positional()", "`a`", "keyword"]),
        (variadic, ["variadic()", "`values`", "keyword"]),
        (unresolved, ["unresolved()", "'Missing'"]),
        (opaque, ["opaque()", "`thing`", "`Opaque`"]),
        (opaque_inside, ["opaque_inside()", "`thing`", "`Opaque`"]),
        (opaque_result, ["opaque_result()", "return annotation", "`Opaque`"]),
        (ambiguous, ["ambiguous()", "`thing`", "Struct"]),
        (hidden, ["hidden()", "`__days`"]),
        (field, ["field()", "`days`", "Annotated"]),
    ],
)
def test_refused_at_registration(fn: Any, words: list[str]) -> None:
    with pytest.raises(TypeError) as caught:
        look(fn)
    for word in words:
        assert word in str(caught.value)


def test_two_types_of_one_name() -> None:
    other = msgspec.defstruct("Point", [("z", int)])

    def tool(a: Any, b: Any) -> None: ...

    tool.__annotations__ = {"a": Point, "b": other}
    with pytest.raises(TypeError, match="`b`: two different types are called `Point`"):
        look(tool)


def test_classes_beside_a_nested_function() -> None:
    class Local(msgspec.Struct):
        n: int

    def tool(n: int) -> Local:
        return tool(n) if n else Local(n)

    assert look(tool).output_schema == {
        "title": "Local",
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    }


# Results


@pytest.mark.parametrize(
    "hint",
    [
        str,
        None,
        Any,
        object,
        bytes,
        Markdown,
        str | None,
        list,
        list[Any],
        Text,
        list[Text],
        list[Text | str],
        tuple[Text, ...],
        Text | Point,
        Annotated[str, "Words."],
    ],
)
def test_results_without_a_promise(hint: Any) -> None:
    assert (
        giving(hint, is_content=lambda kind: issubclass(kind, Text)).output_schema
        is None
    )


def test_no_promise_wanted() -> None:
    sig = giving(Point, output_schema=False)
    assert sig.output_schema is None
    assert structure(sig, Point(1)) == {"x": 1, "y": 0}
    with pytest.raises(OutputError, match="`Opaque` is no JSON value"):
        sig.written(Opaque())


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (int, 1, 1),
        (float, 1, 1),
        (bool, True, True),
        (int | None, None, None),
        (list[str], ["a"], ["a"]),
        (list[int], (1, 2), [1, 2]),
        (set[int], {1}, [1]),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (dict[int, date], {1: date(2026, 7, 28)}, {"1": "2026-07-28"}),
        (dict, {"a": [1]}, {"a": [1]}),
        (Colour, Colour.RED, "red"),
        (Point, Point(1), {"x": 1, "y": 0}),
        (Point, {"x": 1}, {"x": 1}),
        (Point | None, None, None),
        (
            Tree,
            Tree("a", [Tree("b")]),
            {"label": "a", "children": [{"label": "b", "children": []}]},
        ),
        (Size, Size(1.0), {"width": 1.0, "unit": "m"}),
        (Options, {"depth": 1}, {"depth": 1}),
        (Pair, Pair(1, "a"), [1, "a"]),
        (
            Person,
            Person(name="Ann", homeTown="Rome"),
            {"name": "Ann", "age": 0, "homeTown": "Rome", "adult": False},
        ),
        (Node, Node(value=1), {"value": 1, "next": None}),
        (list[Node], [Node(value=1)], [{"value": 1, "next": None}]),
        (
            Guest,
            Guest(Person(name="Ann"), 1),
            {
                "person": {"name": "Ann", "age": 0, "homeTown": None, "adult": False},
                "table": 1,
            },
        ),
        (Annotated[int, Meta(ge=1)], 1, 1),
    ],
)
def test_results(hint: Any, value: Any, expected: Any) -> None:
    sig = giving(hint)
    assert sig.output_schema is not None
    Draft202012Validator.check_schema(sig.output_schema)
    assert structure(sig, value) == expected
    Draft202012Validator(sig.output_schema).validate(expected)


@pytest.mark.parametrize(
    "hint", [Point, Tree, Size, Options, Person, Node, Guest, dict[str, int]]
)
def test_the_root_of_a_result_says_its_type(hint: Any) -> None:
    schema = giving(hint).output_schema
    assert schema is not None
    assert schema["type"] == "object"
    assert "$ref" not in schema
    assert ("$defs" in schema) == (hint in (Tree, Node))


@pytest.mark.parametrize(
    ("hint", "value", "path", "message"),
    [
        (int, "1", "$", "expected `int`, got `str`"),
        (int, None, "$", "expected `int`, got `null`"),
        (float, float("nan"), "$", "expected `float`, got `null`"),
        (list[int], [1, "a"], "$[1]", "expected `int`, got `str`"),
        (Point, {"y": 1}, "$", "object missing required field `x`"),
        (Person, {"age": 1}, "$.name", "Field required"),
        (dict[str, Any], {"a": Opaque()}, "$", "`Opaque` is no JSON value"),
        (Annotated[int, Meta(ge=1)], 0, "$", "expected `int` >= 1"),
    ],
)
def test_broken_promises(hint: Any, value: Any, path: str, message: str) -> None:
    with pytest.raises(OutputError) as caught:
        giving(hint).written(value)
    assert caught.value.issues == [(path, message)]


# Schemas written by hand

TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"$ref": "#/$defs/tree"}},
    "$defs": {
        "tree": {"properties": {"children": {"items": {"$ref": "#/$defs/tree"}}}},
    },
}
CITY: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"city": {"$ref": "#/$defs/name"}, "days": {"type": "integer"}},
    "required": ["city"],
    "$defs": {"name": {"type": "string", "minLength": 2}},
    "x-own": [1],
}


def test_written_by_hand_goes_out_verbatim() -> None:
    sig = look(forecast, input_schema=CITY)
    assert sig.input_schema is CITY
    assert sig.bind({"city": "Rome", "days": 5.0}) == {"city": "Rome", "days": 5.0}


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        ({}, "$", "'city' is a required property"),
        ({"city": "R"}, "$.city", "'R' is too short"),
        ({"city": "Rome", "days": True}, "$.days", "True is not of type 'integer'"),
        (
            {"city": "Rome", "dais": 1},
            "$.dais",
            "unknown argument; did you mean `days`?",
        ),
    ],
)
def test_written_by_hand_is_checked(given: Any, path: str, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        look(forecast, input_schema=CITY).bind(given)
    assert caught.value.issues == [(path, message)]


@pytest.mark.parametrize("hint", [dict, dict[str, Any], Mapping[str, Any]])
def test_all_arguments_in_one_dict(hint: Any) -> None:
    def tool(arguments: Any, ctx: Context) -> None: ...

    tool.__annotations__["arguments"] = hint
    sig = look(tool, input_schema=CITY)
    assert sig.bind({"city": "Rome"}) == {"arguments": {"city": "Rome"}}
    named = {"type": "object", "properties": {"arguments": {"type": "object"}}}
    assert look(tool, input_schema=named).bind({"arguments": {}}) == {"arguments": {}}


def test_all_arguments_as_keywords() -> None:
    def tool(ctx: Context, **more: Any) -> None: ...

    sig = look(tool, input_schema=CITY)
    assert sig.bind({"city": "Rome", "x": 1}) == {"city": "Rome", "x": 1}
    with pytest.raises(ArgumentError, match=r"\$\.ctx"):
        sig.bind({"city": "Rome", "ctx": 1})


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth - 1):
        schema = {"type": "object", "not": schema}
    return schema


def endless() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    schema["not"] = schema
    return schema


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, '"type": "object"'),
        ({"type": "array"}, '"type": "object"'),
        ({"type": "object", "properties": {"zip": {}}}, "`zip`, which is no parameter"),
        ({"type": "object", "required": 7}, "not a JSON Schema: $.required"),
        ({"type": "object", "description": "x" * 1_000_000}, "1000000 bytes"),
        (nested(66), "64 levels"),
        (endless(), "64 levels"),
    ],
)
def test_schemas_refused_at_registration(schema: Any, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        look(forecast, input_schema=schema)
    assert "forecast()" in str(caught.value)
    assert words in str(caught.value)


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the network was asked")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("urllib.request.urlopen", refuse)
    url = "http://127.0.0.1:9/schema.json"
    schema = {"type": "object", "properties": {"city": {"$ref": url}}}
    with pytest.raises(ArgumentError, match="nothing is fetched"):
        look(forecast, input_schema=schema).bind({"city": "Rome"})


def test_a_schema_that_never_ends() -> None:
    with pytest.raises(ArgumentError, match="nested too deeply"):
        look(forecast, input_schema={"type": "object", "$ref": "#"}).bind({"city": "a"})


def test_result_schema_written_by_hand() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer", "maximum": 9}}}
    sig = giving(Any, output_schema=schema)
    assert sig.output_schema is schema
    assert structure(sig, Point(1)) == {"x": 1, "y": 0}
    with pytest.raises(OutputError) as caught:
        sig.written(Point(10))
    assert caught.value.issues == [("$.x", "10 is greater than the maximum of 9")]


def test_without_jsonschema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(ImportError, match=r"mcpgen\[schema\]"):
        look(forecast, input_schema=CITY)


def test_nothing_heavy_is_imported() -> None:
    program = (
        "import sys, mcpgen.runtime.functions as f\n"
        "def add(a: int, b: list[int] | None = None) -> dict[str, int]: 'Add.'\n"
        "s = f.inspect_function(add, context_type=type('Context', (), {}))\n"
        "s.bind({'a': 1}), s.written({'a': 1})\n"
        "heavy = {'pydantic', 'jsonschema', 'asyncio', 'difflib', 'json'}\n"
        "print((heavy | {'mcpgen.runtime.schemas'}) & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
