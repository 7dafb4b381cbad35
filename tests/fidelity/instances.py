"""Seeded JSON instances for the definitions of a schema document.

Two sources feed the differential tests. Instances *constructed* from a definition
reach every optional property, union arm and boundary, which blind generation would
not. *Mutations* of them sit just beside the boundary between valid and invalid,
where a compiled validator is most likely to be wrong.

Everything is a function of the document, the definition's name and the seed, so a
failing case is found again by running the same call. Yielded instances may share
parts with each other: treat them as read-only.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product
from typing import Any, TypeAlias, TypeVar

from .oracle import Oracle, Schema

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
Path: TypeAlias = tuple[str | int, ...]
T = TypeVar("T")

_SCALARS = ("null", "boolean", "integer", "number", "string")
_TYPES = (*_SCALARS, "array", "object")

# Keywords that speak of one type only: what a schema without `type` is about.
_SUBJECTS = {
    "object": ("properties", "required", "additionalProperties", "propertyNames"),
    "array": ("items", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern"),
    "integer": ("minimum", "maximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}

# Keywords dissolved into alternatives before anything is built.
_DISSOLVED = frozenset({"$ref", "allOf", "anyOf", "oneOf"})

# Keywords the builder satisfies by construction, or that assert nothing. A schema
# with any other keyword is built by trial: draw, ask the oracle, draw again.
_EXACT = frozenset(
    (
        *("type", "const", "enum", "properties", "required", "additionalProperties"),
        *("items", "minItems", "maxItems", "minProperties", "maxProperties"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minLength", "maxLength", "format", "title", "description", "default"),
        *("examples", "deprecated", "readOnly", "writeOnly", "$comment"),
    )
)

_STRINGS = (
    "",
    "x",
    "two words",
    " padded ",
    "ünïcödé 日本語",
    "😀👩‍🚀",
    "\"double\" and 'single'",
    "back\\slash / slash",
    "line\nfeed\ttab\r",
    "\u0000\u001f\u007f",
    "\u2028\ufeff",
    '"""',
    "null",
    "1",
    "https://example.com/ä?q=1#f",
    "long " * 60,
)

_ALPHABET = "abcXYZ019-_./ é\\\"'"

# Guesses for `pattern`: the usual identifiers, numbers, dates and codes.
_PATTERN_GUESSES = (
    *("a", "A", "0", "abc", "ABC", "Abc", "a-b", "a_b", "a.b", "a/b", "abc123", "x-y"),
    *("123", "-1", "1.5", "1.2.3", "2025-06-18", "12:30:00", "2025-06-18T12:30:00Z"),
    *("a@example.com", "https://example.com", "text/plain", "/path", "#a1b2c3"),
    *("00000000-0000-4000-8000-000000000000", "deadbeef", "YWJj", "$ref", "en-GB"),
)

_KEYS = (
    *("", "a/b", "~", "__proto__", "ü", "x-extra", "a b", "0", "$ref", "class"),
    *("self", "__class__", 'quo"te', "com.example/key", "\n", "日本"),
)

_INTEGERS = (0, 1, -1, 7, 42, -32600, 255, 2**31, 2**53 + 1, -(2**53) - 1, 2**70)
_FLOATS = (0.5, -0.25, 0.1, 1e-7, 2.0, -3.75, math.pi, 1e16, 1.5e300)

_REPLACEMENTS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 1.0, 0.5, -1, "", "x", "1"),
    *([], {}, [None], {"x": 1}),
)

_DEPTH_LIMIT = 6
_TRIALS = 30
_PATIENCE = 40
_INVALID_MUTATIONS = 0.7
_UNREACHABLE = math.inf


@dataclass(frozen=True, eq=False)
class _Shape:
    """One conjunction of plain schemas: no reference and no choice is left in it."""

    parts: tuple[dict[str, Any], ...]
    types: tuple[str, ...]
    values: tuple[JSON, ...] | None
    members: dict[str, Schema]
    required: tuple[str, ...]
    additional: Schema
    items: Schema
    exact: bool

    def bounds(self, subject: str) -> tuple[int, float]:
        """The tightest `min<subject>` and `max<subject>` of all parts."""
        low = max((part.get(f"min{subject}", 0) for part in self.parts), default=0)
        highs = (part.get(f"max{subject}", math.inf) for part in self.parts)
        return low, min(highs, default=math.inf)

    def stated(self, keyword: str) -> list[Any]:
        """The values of `keyword` in the parts that have it."""
        return [part[keyword] for part in self.parts if keyword in part]

    def fits_number(self, number: float) -> bool:
        """Whether `number` is within all limits and a multiple of all divisors."""
        return (
            all(number >= limit for limit in self.stated("minimum"))
            and all(number <= limit for limit in self.stated("maximum"))
            and all(number > limit for limit in self.stated("exclusiveMinimum"))
            and all(number < limit for limit in self.stated("exclusiveMaximum"))
            and all(number % divisor == 0 for divisor in self.stated("multipleOf"))
        )

    def fits_text(self, text: str) -> bool:
        """Whether `text` has an allowed length and matches all patterns."""
        low, high = self.bounds("Length")
        return low <= len(text) <= high and all(
            re.search(pattern, text) for pattern in self.stated("pattern")
        )


class _Catalogue:
    """The shapes of the schemas of one document, worked out once and kept.

    Keeping them makes identity a safe key, here and for the sampler's decks.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._shapes: dict[int, tuple[Schema, list[_Shape]]] = {}
        self._heights: dict[_Shape, float] = {}
        self._memo: dict[tuple[str, _Shape], Any] = {}

    def remember(self, what: str, shape: _Shape, make: Callable[[], T]) -> T:
        """The value of `make()`, called once for each shape and purpose."""
        key = (what, shape)
        if key not in self._memo:
            self._memo[key] = make()
        value: T = self._memo[key]
        return value

    def shapes(self, schema: Schema) -> list[_Shape]:
        """The satisfiable alternatives of `schema`; none if it admits nothing."""
        known = self._shapes.get(id(schema))
        if known is None:
            candidates = (self._shape(parts) for parts in self._alternatives(schema))
            # Stored before the filter, which may meet the same schema again.
            known = self._shapes[id(schema)] = (schema, list(candidates))
            known[1][:] = [s for s in known[1] if self.height(s) < _UNREACHABLE]
        return known[1]

    def types(self, shape: _Shape) -> list[str]:
        """The types of `shape` that some instance can have."""
        return self.remember(
            "types",
            shape,
            lambda: [t for t in shape.types if self.type_height(shape, t) < math.inf],
        )

    def numbers(self, shape: _Shape, kind: str) -> list[float]:
        """Numbers of type `kind` that fit; none between 0 and 1 for an integer."""
        pool = _integer_pool if kind == "integer" else _float_pool
        return self.remember(kind, shape, lambda: pool(shape))

    def optional(self, shape: _Shape) -> list[str]:
        """The names of the members that may, but need not, be present."""
        return self.remember(
            "optional",
            shape,
            lambda: [
                name
                for name, member in shape.members.items()
                if name not in shape.required and self.shapes(member)
            ],
        )

    def height(self, shape: _Shape) -> float:
        """The nesting of the flattest instance: what ends a recursive definition."""
        if shape not in self._heights:
            self._heights[shape] = self._shape_height(shape, ())
        return self._heights[shape]

    def type_height(
        self, shape: _Shape, kind: str, above: tuple[_Shape, ...] = ()
    ) -> float:
        """The nesting of the flattest instance of type `kind`.

        `above` holds the shapes being measured: a shape inside itself is never
        the flattest way to build it.
        """
        if kind in ("integer", "number"):
            return 0 if self.numbers(shape, kind) else _UNREACHABLE
        if kind in _SCALARS:
            return 0
        needed: Iterable[Schema] = (shape.members[name] for name in shape.required)
        if kind == "array":
            needed = [shape.items] if shape.bounds("Items")[0] > 0 else []
        return 1 + max((self._schema_height(s, above) for s in needed), default=0)

    def _schema_height(self, schema: Schema, above: tuple[_Shape, ...]) -> float:
        known = self._shapes.get(id(schema))
        shapes = known[1] if known else self.shapes(schema)
        return min((self._shape_height(s, above) for s in shapes), default=math.inf)

    def _shape_height(self, shape: _Shape, above: tuple[_Shape, ...]) -> float:
        if shape in above:
            return _UNREACHABLE
        if shape.values is not None:
            return 0 if shape.values else _UNREACHABLE
        above = (*above, shape)
        heights = (self.type_height(shape, kind, above) for kind in shape.types)
        return min(heights, default=_UNREACHABLE)

    def _alternatives(self, schema: Schema) -> list[tuple[dict[str, Any], ...]]:
        """The disjunctive normal form of `schema`, through references and unions."""
        if isinstance(schema, bool):
            return [()] if schema else []
        if "$ref" in schema and self._oracle.ref_hides_siblings:
            return self._alternatives(self._oracle.resolve(schema["$ref"]))
        plain = {k: v for k, v in schema.items() if k not in _DISSOLVED}
        conjuncts: list[Schema] = list(schema.get("allOf", ()))
        if "$ref" in schema:
            conjuncts.append(self._oracle.resolve(schema["$ref"]))
        if "oneOf" in schema:
            plain["oneOf"] = schema["oneOf"]  # arms may overlap: left to a trial
        factors: list[list[tuple[dict[str, Any], ...]]] = [[(plain,)]]
        factors += map(self._alternatives, conjuncts)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                arms = map(self._alternatives, schema[keyword])
                factors.append(list(chain.from_iterable(arms)))
        return [tuple(chain.from_iterable(choice)) for choice in product(*factors)]

    def _shape(self, parts: tuple[dict[str, Any], ...]) -> _Shape:
        required = dict.fromkeys(chain(*(part.get("required", ()) for part in parts)))
        names = dict.fromkeys(chain(*(part.get("properties", ()) for part in parts)))
        return _Shape(
            parts=parts,
            types=_common_types(parts),
            values=self._listed_values(parts),
            members={name: _member(parts, name) for name in names | required},
            required=tuple(required),
            additional=_all_of(
                part["additionalProperties"]
                for part in parts
                if "additionalProperties" in part
            ),
            items=_all_of(
                part["items"] for part in parts if _is_schema(part.get("items"))
            ),
            exact=all(_is_exact(part) for part in parts),
        )

    def _listed_values(
        self, parts: tuple[dict[str, Any], ...]
    ) -> tuple[JSON, ...] | None:
        """The `const` or `enum` values that satisfy all parts; None if none lists."""
        for part in parts:
            if "const" in part or "enum" in part:
                values = [part["const"]] if "const" in part else part["enum"]
                whole: Schema = {"allOf": list(parts)}
                return tuple(v for v in values if self._oracle.accepts(whole, v))
        return None


def _is_schema(value: object) -> bool:
    return isinstance(value, (dict, bool))


def _is_exact(part: dict[str, Any]) -> bool:
    return part.keys() <= _EXACT and _is_schema(part.get("items", True))


def _all_of(schemas: Iterable[Schema]) -> Schema:
    conjuncts = list(schemas)
    if not conjuncts:
        return True
    return conjuncts[0] if len(conjuncts) == 1 else {"allOf": conjuncts}


def _member(parts: tuple[dict[str, Any], ...], name: str) -> Schema:
    """What all parts together ask of the member `name`.

    A part that does not list the name speaks of it through `additionalProperties`.
    """
    return _all_of(
        listed[name] if name in listed else part["additionalProperties"]
        for part in parts
        for listed in [part.get("properties", {})]
        if name in listed or "additionalProperties" in part
    )


def _common_types(parts: tuple[dict[str, Any], ...]) -> tuple[str, ...]:
    """The types all parts allow; types are repeated to weight the choice.

    Without `type` every type is allowed, but mostly the one the keywords speak of
    is wanted: the others satisfy the schema vacuously.
    """
    declared = [part["type"] for part in parts if "type" in part]
    allowed: Sequence[str] = _TYPES
    for types in declared:
        listed = [types] if isinstance(types, str) else types
        number = "number" in listed
        allowed = [t for t in allowed if t in listed or (t == "integer" and number)]
    if declared:
        return tuple(allowed)
    keywords = set(chain.from_iterable(parts))
    subjects = [kind for kind, about in _SUBJECTS.items() if keywords & {*about}]
    return (*allowed, *(subject for subject in subjects for _ in _TYPES))


@dataclass(frozen=True)
class _Style:
    """How full an instance gets: the chances of optional and of unknown members."""

    fill: float
    extras: float = 0.0


_MINIMAL = _Style(0.0)
_MAXIMAL = _Style(1.0)
_RANDOM = (_Style(0.2), _Style(0.2, 0.3), _Style(0.5, 0.3), _Style(0.9, 0.1))


class _Sampler:
    """Builds valid instances; all its chances come from one random generator."""

    def __init__(self, oracle: Oracle, rng: random.Random) -> None:
        self._oracle = oracle
        self._catalogue = _Catalogue(oracle)
        self._rng = rng
        self._decks: dict[int, list[Any]] = {}

    def stream(self, name: str) -> Iterator[JSON]:
        """Instances of a definition without end; none if it admits nothing.

        Directed and random ones alternate, so that a short run has both kinds.
        """
        schema = self._oracle.schema(name)
        directed = self._directed(schema)
        while self._catalogue.shapes(schema):
            yield from islice(directed, 1)
            yield self._sample(schema, self._deal(_RANDOM), 0)

    def _directed(self, schema: Schema) -> Iterator[JSON]:
        """Each arm minimal, then maximal, then with each single optional member."""
        shapes = self._catalogue.shapes(schema)
        for style in (_MINIMAL, _MAXIMAL):
            for shape in shapes:
                yield self._build(shape, style, 0)
        paths = [(s, p) for s in shapes for p in self._optional_paths(s, 0)]
        self._rng.shuffle(paths)
        for shape, path in paths:
            yield self._build(shape, _MINIMAL, 0, path)

    def _optional_paths(self, shape: _Shape, depth: int) -> Iterator[tuple[str, ...]]:
        """Paths to the optional members of the object and its required objects."""
        if shape.values is not None or "object" not in shape.types:
            return
        for name in self._catalogue.optional(shape):
            yield (name,)
        for name in shape.required if depth < _DEPTH_LIMIT else ():
            inner = self._catalogue.shapes(shape.members[name])
            if len(inner) == 1:
                for path in self._optional_paths(inner[0], depth + 1):
                    yield (name, *path)

    def _deal(self, options: Sequence[T]) -> T:
        """A random option, with every one dealt once before any is dealt again.

        Decks belong to the identity of `options`, which must therefore be kept.
        """
        deck = self._decks.get(id(options))
        if not deck:
            deck = self._decks[id(options)] = list(options)
            self._rng.shuffle(deck)
        option: T = deck.pop()
        return option

    def _sample(
        self, schema: Schema, style: _Style, depth: int, forced: tuple[str, ...] = ()
    ) -> JSON:
        shapes = self._catalogue.shapes(schema)
        if depth < _DEPTH_LIMIT:
            shape = self._deal(shapes)
        else:
            shape = min(shapes, key=self._catalogue.height)
        return self._build(shape, style, depth, forced)

    def _build(
        self, shape: _Shape, style: _Style, depth: int, forced: tuple[str, ...] = ()
    ) -> JSON:
        """An instance of `shape`, by trial where construction is not exact.

        `forced` is a path of members to include, whatever the style says.
        """
        value = self._construct(shape, style, depth, forced)
        if not shape.exact:
            whole: Schema = {"allOf": list(shape.parts)}
            for _ in range(_TRIALS):
                if self._oracle.accepts(whole, value):
                    break
                value = self._construct(shape, self._deal(_RANDOM), depth, forced)
        return value

    def _construct(
        self, shape: _Shape, style: _Style, depth: int, forced: tuple[str, ...]
    ) -> JSON:
        if shape.values is not None:
            return self._deal(shape.values)
        match self._choose_type(shape, depth, forced):
            case "null":
                return None
            case "boolean":
                return self._rng.random() < 0.5
            case "integer":
                return self._integer(shape)
            case "number":
                return self._float(shape)
            case "string":
                return self._string(shape)
            case "array":
                return self._array(shape, style, depth)
            case _:
                return self._object(shape, style, depth, forced)

    def _choose_type(self, shape: _Shape, depth: int, forced: tuple[str, ...]) -> str:
        if forced:
            return "object"
        types = self._catalogue.types(shape)
        if depth < _DEPTH_LIMIT:
            return self._deal(types)
        return min(types, key=lambda kind: self._catalogue.type_height(shape, kind))

    def _integer(self, shape: _Shape) -> float:
        """An integer, now and then spelled `1.0`, which JSON Schema calls integer."""
        number = self._deal(self._catalogue.numbers(shape, "integer"))
        if self._rng.random() < 0.3:
            low, high = _window(shape)
            drawn = self._rng.randint(math.ceil(low), max(math.ceil(low), int(high)))
            number = drawn if shape.fits_number(drawn) else number
        if self._rng.random() < 0.15 and abs(number) < 2**53:
            return float(number)
        return number

    def _float(self, shape: _Shape) -> float:
        number = self._deal(self._catalogue.numbers(shape, "number"))
        if self._rng.random() < 0.3:
            drawn = round(self._rng.uniform(*_window(shape)), 4)
            number = drawn if shape.fits_number(drawn) else number
        return number

    def _string(self, shape: _Shape) -> str:
        pool = self._catalogue.remember("string", shape, lambda: _string_pool(shape))
        text = self._deal(pool)
        if self._rng.random() < 0.4:
            length = self._rng.randint(1, 12)
            drawn = "".join(self._rng.choices(_ALPHABET, k=length))
            text = drawn if shape.fits_text(drawn) else text
        return text

    def _array(self, shape: _Shape, style: _Style, depth: int) -> list[JSON]:
        length = self._length(shape, style, depth)
        items = [self._sample(shape.items, style, depth + 1) for _ in range(length)]
        return _distinct(items) if any(shape.stated("uniqueItems")) else items

    def _length(self, shape: _Shape, style: _Style, depth: int) -> int:
        low, high = shape.bounds("Items")
        if depth >= _DEPTH_LIMIT or style is _MINIMAL:
            return low
        if not self._catalogue.shapes(shape.items):
            return 0
        if style is _MAXIMAL:
            wanted = 3 if depth < 3 else 1
        elif high <= 128 and self._rng.random() < 0.1:
            wanted = int(high)
        else:
            wanted = self._deal(_LENGTHS)
        return int(min(max(low, wanted), high))

    def _object(
        self, shape: _Shape, style: _Style, depth: int, forced: tuple[str, ...]
    ) -> dict[str, JSON]:
        names = self._present(shape, style, depth, forced[:1])
        built: dict[str, JSON] = {}
        for name in names:
            onward = forced[1:] if (name,) == forced[:1] else ()
            built[name] = self._sample(shape.members[name], style, depth + 1, onward)
        self._add_extras(built, shape, style, depth)
        if style in _RANDOM and self._rng.random() < 0.5:
            order = list(built)
            self._rng.shuffle(order)
            return {name: built[name] for name in order}
        return built

    def _present(
        self, shape: _Shape, style: _Style, depth: int, forced: tuple[str, ...]
    ) -> list[str]:
        """The names of the listed members to include, within min/maxProperties."""
        low, high = shape.bounds("Properties")
        chance = style.fill if depth < _DEPTH_LIMIT else 0.0
        taken = list(forced)
        left: list[str] = []
        for name in self._catalogue.optional(shape):
            if name not in forced:
                (taken if self._rng.random() < chance else left).append(name)
        taken = [name for name in taken if name not in shape.required]
        self._rng.shuffle(left)
        missing = low - len(shape.required) - len(taken)
        taken += left[: max(0, missing)]
        room = max(0, min(len(taken), high - len(shape.required)))
        return [*shape.required, *taken[: int(room)]]

    def _add_extras(
        self, built: dict[str, JSON], shape: _Shape, style: _Style, depth: int
    ) -> None:
        """Add unknown members to `built`, if the object is open to any."""
        if not self._catalogue.shapes(shape.additional):
            return
        low, high = shape.bounds("Properties")
        target = max(low, min(len(built) + self._extras(shape, style, depth), high))
        for _ in range(_TRIALS):
            if len(built) >= target:
                break
            key = self._extra_key(shape)
            if key not in shape.members and key not in built:
                built[key] = self._sample(shape.additional, style, depth + 1)

    def _extras(self, shape: _Shape, style: _Style, depth: int) -> int:
        """How many unknown members to add; an object that lists none is a map."""
        if depth >= _DEPTH_LIMIT or style is _MINIMAL:
            return 0
        if not shape.members:
            return self._deal(_LENGTHS)
        return self._rng.randint(1, 2) if self._rng.random() < style.extras else 0

    def _extra_key(self, shape: _Shape) -> str:
        rules: list[Schema] = shape.stated("propertyNames")
        if not rules:
            return self._deal(_KEYS)
        names = self._catalogue.remember("names", shape, lambda: _name_schema(rules))
        key = self._sample(names, _MINIMAL, 0) if self._catalogue.shapes(names) else ""
        return str(key)


_LENGTHS = (0, 1, 1, 3)


def _name_schema(rules: list[Schema]) -> Schema:
    return {"type": "string", "allOf": rules}


def _distinct(items: list[JSON]) -> list[JSON]:
    return list({_text(item): item for item in items}.values())


def _window(shape: _Shape) -> tuple[float, float]:
    """A finite range for drawing numbers: the schema's limits, or a thousand wide."""
    lows = shape.stated("minimum") + shape.stated("exclusiveMinimum")
    highs = shape.stated("maximum") + shape.stated("exclusiveMaximum")
    low = max(lows, default=min([-1000.0, *(h - 1000 for h in highs)]))
    return low, min(highs, default=max(1000.0, low + 1000))


def _landmarks(shape: _Shape) -> list[float]:
    """The numbers around which the limits and divisors of `shape` decide."""
    low, high = _window(shape)
    marks: list[float] = []
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        marks += shape.stated(keyword)
    for divisor in shape.stated("multipleOf"):
        marks += [divisor * (low // divisor + step) for step in range(3)]
        marks += [divisor * step for step in (-2, 1, 2, 3)]
    return [*marks, (low + high) / 2] if marks else []


def _integer_pool(shape: _Shape) -> list[float]:
    near = [
        math.floor(mark) + step for mark in _landmarks(shape) for step in (-1, 0, 1)
    ]
    return [n for n in dict.fromkeys((*near, *_INTEGERS)) if shape.fits_number(n)]


def _float_pool(shape: _Shape) -> list[float]:
    near = [float(mark) + d for mark in _landmarks(shape) for d in (-0.5, 0.0, 0.5)]
    return [x for x in dict.fromkeys((*near, *_FLOATS)) if shape.fits_number(x)]


def _string_pool(shape: _Shape) -> list[str]:
    """Texts with the wanted lengths; for patterns the guesses that happen to match."""
    low, high = shape.bounds("Length")
    longest = int(min(high, 10_000))
    guesses = _PATTERN_GUESSES if shape.stated("pattern") else ()
    padded = [text.ljust(low, "é") for text in (*_STRINGS, *guesses)]
    if low or high < math.inf:
        padded.append("é" * longest)
    fitted = dict.fromkeys(text[:longest] for text in padded)
    return [text for text in fitted if shape.fits_text(text)] or list(fitted)


def valid_instances(
    document: dict[str, Any],
    name: str,
    count: int,
    seed: int,
    oracle: Oracle | None = None,
) -> Iterator[JSON]:
    """`count` instances built to satisfy a definition, different where possible.

    Nothing is yielded for a definition that admits nothing. The exotic keywords are
    met by trial and can fail, so ask the oracle where it matters. Pass `oracle` to
    share the one of `document` between calls.
    """
    sampler = _Sampler(oracle or Oracle(document), random.Random(f"{seed}:{name}"))
    stream = sampler.stream(name)
    seen: set[str] = set()
    for _ in range(count):
        for instance in islice(stream, _PATIENCE):
            if _is_new(instance, seen):
                break
        else:
            if not seen:
                return
        yield instance


def _text(instance: JSON) -> str:
    return json.dumps(instance, sort_keys=True)


def _is_new(instance: JSON, seen: set[str]) -> bool:
    """Whether `instance` was not asked about before; it is from now on."""
    size = len(seen)
    seen.add(_text(instance))
    return len(seen) > size


def mutations(instance: JSON, rng: random.Random) -> Iterator[JSON]:
    """Every small change of `instance`, one place at a time, in random order.

    Shallow places tend to come first: deep inside free-form data no change matters
    to a verdict. Only the containers on the way to the change are copied, and a
    change is made when it is asked for: mostly the first few are.
    """
    places = sorted(
        _places(instance, ()), key=lambda place: rng.random() * max(1, len(place[0]))
    )
    pending = deque((path, _edits(value, rng)) for path, value in places)
    while pending:
        path, edits = pending.popleft()
        for edited in islice(edits, 1):
            yield _replaced(instance, path, edited)
            pending.append((path, edits))


def _places(value: JSON, path: Path) -> Iterator[tuple[Path, JSON]]:
    yield path, value
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _places(member, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*path, index))


def _replaced(instance: JSON, path: Path, value: JSON) -> JSON:
    """A copy of `instance` with `value` at `path`, sharing all that is beside it."""
    if not path:
        return value
    container: Any = instance
    copy = container.copy()
    copy[path[0]] = _replaced(container[path[0]], path[1:], value)
    result: JSON = copy
    return result


def _edits(value: JSON, rng: random.Random) -> Iterator[JSON]:
    """The changed forms of one value, in random order and each unlike the value."""
    edits: list[JSON] = [*_REPLACEMENTS, [value], {"x": value}]
    match value:
        case bool():
            edits += [not value, int(value), str(value).lower()]
        case int() | float():
            edits += _number_edits(value)
        case str():
            edits += _string_edits(value)
        case list():
            edits += _array_edits(value)
        case dict():
            edits += _object_edits(value, rng)
    rng.shuffle(edits)
    for edit in edits:
        if type(edit) is not type(value) or edit != value:
            yield edit


def _number_edits(value: float) -> list[JSON]:
    edits: list[JSON] = [value + 1, value - 1, value + 0.5, str(value), bool(value)]
    edits += [2**53 + 1, -(2**70), 1e300]
    if value == int(value):  # the same number in its other spelling
        edits.append(float(value) if isinstance(value, int) else int(value))
    return edits


def _string_edits(value: str) -> list[JSON]:
    return [value + "x", value[:-1], " " + value, value.swapcase(), value + "\u0000"]


def _array_edits(value: list[JSON]) -> list[JSON]:
    extras: list[JSON] = [None, "x", 0, {}]
    edits: list[JSON] = [[*value, extra] for extra in extras]
    if value:
        edits += [value[1:], value[:-1], [*value, value[-1]], value[0], [value]]
        edits.append({str(index): item for index, item in enumerate(value)})
    if value and isinstance(value[0], str):
        edits.append([value[0]] * 101)  # one more than the largest `maxItems` in use
    return edits


def _object_edits(value: dict[str, JSON], rng: random.Random) -> list[JSON]:
    edits: list[JSON] = [{**value, rng.choice(_KEYS): rng.choice(_REPLACEMENTS)}]
    edits.append({**value, "unknown": {"nested": [1, None]}})
    edits.append(list(value.values()))
    for key, member in value.items():
        rest = {k: v for k, v in value.items() if k != key}
        renamed = rng.choice([key + "x", key[:-1], key.swapcase(), "_" + key])
        edits += [rest, {**rest, renamed: member}]
    return edits


class _Mixer:
    """Mixes constructed instances and their mutations, each new where possible."""

    def __init__(self, oracle: Oracle, name: str, rng: random.Random) -> None:
        self._oracle = oracle
        self._name = name
        self._rng = rng
        self._stream = _Sampler(oracle, rng).stream(name)
        self._seen: set[str] = set()
        self._constructed: list[JSON] = []
        self._mutated: list[JSON] = []

    def case(self, mutate: bool) -> tuple[JSON, bool]:
        """The next case; a mutation also when no new instance can be constructed."""
        if not mutate:
            for instance in islice(self._stream, _PATIENCE):
                if _is_new(instance, self._seen):
                    self._constructed.append(instance)
                    return instance, self._oracle.is_valid(self._name, instance)
        return self._mutation()

    def _mutation(self) -> tuple[JSON, bool]:
        """A new mutation, preferably invalid: the constructed ones are valid.

        Some valid ones are kept all the same, as the most tempting to refuse.
        """
        any_verdict = self._rng.random() >= _INVALID_MUTATIONS
        best: tuple[JSON, bool] | None = None
        for attempt in range(_PATIENCE):
            instance = next(mutations(self._base(attempt), self._rng))
            if _text(instance) in self._seen:
                continue
            best = instance, self._oracle.is_valid(self._name, instance)
            if any_verdict or not best[1]:
                break
        if best is None:
            best = instance, self._oracle.is_valid(self._name, instance)
        self._seen.add(_text(best[0]))
        self._mutated.append(best[0])
        return best

    def _base(self, attempt: int) -> JSON:
        """What to mutate: mostly constructed, mutated ones when that is used up."""
        again = attempt > _PATIENCE // 4 or self._rng.random() < 0.05
        pool = self._mutated if again and self._mutated else self._constructed
        base = self._rng.choice(pool or [{}])
        return next(mutations(base, self._rng)) if again else base


def cases(
    document: dict[str, Any],
    name: str,
    count: int,
    seed: int,
    oracle: Oracle | None = None,
) -> Iterator[tuple[JSON, bool]]:
    """Exactly `count` instances for a definition, each with the oracle's verdict.

    Constructed instances and mutations alternate. Definitions with few valid values
    (an enumeration) get more mutations rather than repetitions.
    """
    rng = random.Random(f"{seed}:{name}")
    mixer = _Mixer(oracle or Oracle(document), name, rng)
    for index in range(count):
        yield mixer.case(mutate=index % 2 == 1)
