"""`validators.py` of a version: one function per definition that lists the issues.

All decisions fall here, at compile time. A type that one expression can decide is a
`_Test`; everything else is a call of a function: a definition's own, a shared one of
`_issues.py`, or a private one named by where the type stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import jinja2

from ..ir import (
    All,
    AnyType,
    Array,
    Boolean,
    Field,
    Literals,
    Map,
    Never,
    Not,
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

_VALUE = "\0"
"""Stands for the tested value in an expression; no literal contains it."""

_OPPOSITES = ((" == ", " != "), (" is ", " is not "), (" in ", " not in "))

_SHARED: dict[Type, str] = {
    AnyType(): "anything",
    Never(): "nothing",
    Null(): "null",
    Boolean(): "boolean",
    String(): "string",
    Number(): "number",
    Number(integer=True): "integer",
    Array(AnyType()): "array",
    Map(AnyType()): "mapping",
    Array(String()): "strings",
    Map(Map(AnyType())): "mappings",
}
"""Checks that `_issues.py` has ready."""

_QUICK: dict[Type, str] = {
    Array(String()): "is_strings",
    Map(Map(AnyType())): "is_mappings",
}
"""Questions that save the checks of common containers, when all is well."""


def emit(protocol: Protocol, env: jinja2.Environment) -> dict[str, str]:
    """The module with the validators of every definition."""
    plan = _Plan(protocol)
    for definition in protocol.definitions:
        plan.function(
            f"validate_{definition.name}",
            definition.type,
            f"_{definition.name}",
            about=definition.name,
        )
    text = env.get_template("validators/module.py.jinja").render(
        functions=plan.functions,
        patterns=[
            {"name": name, "text": pattern} for pattern, name in plan.patterns.items()
        ],
        tables=plan.tables,
        imports=sorted(plan.imports | {"Check", "Issue"}),
    )
    return {"validators.py": text}


# --- tests: types that one expression decides -----------------------------------------


@dataclass(frozen=True)
class _Test:
    """A conjunction of expressions over `_VALUE`, and how a person would call it."""

    terms: tuple[str, ...]
    what: str
    takes_null: bool = False
    python_class: str = ""
    """Set when the test asks for nothing but an instance of this class."""
    helpers: frozenset[str] = frozenset()
    """What it calls of `_issues.py`."""

    def passed(self, value: str) -> str:
        return " and ".join(self.terms).replace(_VALUE, value)

    def failed(self, value: str) -> str:
        if len(self.terms) > 1:
            return f"not ({self.passed(value)})"
        term = self.terms[0]
        for operator, opposite in _OPPOSITES:
            if term.startswith(_VALUE + operator):
                return value + opposite + term[len(_VALUE + operator) :]
        return f"not {self.passed(value)}"

    @property
    def uses(self) -> int:
        """How often the value occurs."""
        return sum(term.count(_VALUE) for term in self.terms)


# --- the plan -------------------------------------------------------------------------


@dataclass
class _Plan:
    """Collects what the module needs while walking the definitions."""

    protocol: Protocol
    functions: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    patterns: dict[str, str] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    private: dict[Type, str] = field(default_factory=dict)
    """Equal inline types share one function."""

    def __post_init__(self) -> None:
        self.types = {d.name: d.type for d in self.protocol.definitions}
        self.alike: dict[Type, str] = {}
        """The first function for each shape of object."""

    def use(self, helper: str) -> str:
        self.imports.add(helper)
        return helper

    def new_name(self, name: str) -> str:
        """The name, or the name with underscores if another path spells the same."""
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    # --- functions ------------------------------------------------------------------

    def function(self, name: str, type: Type, at: str, about: str = "") -> None:
        """Plan the function `name` that checks the type standing at the path `at`."""
        plan: dict[str, Any] = {
            "name": name,
            "about": about,
            "public": bool(about),
            "result": "",
            "test": "",
            "what": "",
            "steps": [],
        }
        self.functions.append(plan)
        if isinstance(type, Object) and type.fields:
            first = self.alike.setdefault(_shape(type), name)
            if first != name:
                plan["result"] = f"{first}(value, path)"
                return
        steps = self._object(type, at) if isinstance(type, Object) else []
        test = self.test(Map(AnyType()) if isinstance(type, Object) else type, at)
        if steps:
            self.use("expected")
            plan["steps"] = steps
        elif test:
            self.imports |= test.helpers | {"expected"}
            plan["test"], plan["what"] = test.passed("value"), test.what
        else:
            plan["result"] = self.call(type, "value", "path", at)

    def check(self, type: Type, at: str) -> str:
        """The name of a function that checks the type."""
        if isinstance(type, Ref):
            return f"validate_{type.name}"
        if isinstance(type, String) and type.format:
            type = String(type.min_length, type.max_length, type.pattern)
        if type in _SHARED:
            return self.use(_SHARED[type])
        if type not in self.private:
            self.private[type] = self.new_name(at)
            self.function(self.private[type], type, at)
        return self.private[type]

    def call(self, type: Type, value: str, path: str, at: str) -> str:
        """The expression that lists the issues of `value`."""
        if type in _SHARED:
            return f"{self.use(_SHARED[type])}({value}, {path})"
        match type:
            case Array(items=items) if not self.test(type, at):
                limits = self._limits(type.min_items, type.max_items)
                limits += ", unique=True" if type.unique else ""
                check = self.check(items, f"{at}_item")
                return f"{self.use('items')}({value}, {path}, {check}{limits})"
            case Map(values=values) if not self.test(type, at):
                limits = self._limits(type.min_properties, type.max_properties)
                check = self.check(values, f"{at}_value")
                return f"{self.use('values')}({value}, {path}, {check}{limits})"
            case Union() if not self.test(type, at):
                return self._union(type, value, path, at)
            case All(parts=parts) if not self.test(type, at):
                calls = [self.call(p, value, path, f"{at}_part") for p in parts]
                return " + ".join(calls)
            case Not(type=inner) if not self.test(type, at):
                check = self.check(inner, f"{at}_not")
                return f"{self.use('none_of')}({value}, {path}, {check})"
            case _:
                return f"{self.check(type, at)}({value}, {path})"

    def _limits(self, low: int | None, high: int | None) -> str:
        return (f", at_least={int(low)}" if low else "") + (
            f", at_most={int(high)}" if high is not None else ""
        )

    # --- objects --------------------------------------------------------------------

    def _object(self, object: Object, at: str) -> list[dict[str, Any]]:
        """The steps that check an object, once it is known to be one."""
        steps = _looped([step for f in object.fields if (step := self._field(f, at))])
        if (
            object.patterns
            or object.names
            or object.additional not in (None, AnyType())
        ):
            steps.append(self._keys(object, at))
        limits = self._limits(object.min_properties, object.max_properties)
        if limits:
            steps.append(
                {"kind": "also", "check": f"{self.use('size')}(value, path{limits})"}
            )
        for part in object.also:
            call = self.call(part, "value", "path", f"{at}_also")
            steps.append({"kind": "also", "check": call})
        return steps

    def _field(self, field: Field, at: str) -> dict[str, Any] | None:
        key = pystr(field.wire_name)
        at = f"{at}_{field.python_name}"
        if field.type == AnyType():
            if not field.required:
                return None
            self.use("missing")
            return {"kind": "need", "key": field.wire_name}
        test = self.test(field.type, at)
        if test:
            self.imports |= test.helpers | {"wrong"}
            return {
                "kind": "test",
                "key": field.wire_name,
                "failed": _failed_at(key, test, field.required),
                "failed_at_key": _failed_at("key", test, field.required),
                "what": test.what,
            }
        if field.required:
            self.use("missing")
        quick = _QUICK.get(field.type)
        return {
            "kind": "descend",
            "key": field.wire_name,
            "required": field.required,
            "unless": f"{self.use(quick)}(value[{key}])" if quick else "",
            "check": self.call(
                field.type, f"value[{key}]", self._child(field.wire_name), at
            ),
        }

    def _child(self, key: str) -> str:
        if key.isascii() and key.isidentifier():
            return f'f"{{path}}.{key}"'
        return f"{self.use('child')}(path, {pystr(key)})"

    def _keys(self, object: Object, at: str) -> dict[str, Any]:
        """The step that looks at every key: names, patterns and unknown keys."""
        closed = object.additional == Never()
        checked = object.additional not in (None, AnyType(), Never())
        inside = "child(path, key)"
        if checked or object.names or object.patterns:
            self.use("child")
        known = [f.wire_name for f in object.fields]
        patterns = [(self._pattern(p, at), type) for p, type in object.patterns]
        unknown = [f"key not in {{{', '.join(map(pystr, known))}}}"] if known else []
        unknown += [f"not {name}.search(key)" for name, _ in patterns]
        if closed:
            self.use("unknown")
        return {
            "kind": "keys",
            "uses_item": bool(patterns) or checked,
            "names": (
                self.call(object.names, "key", inside, f"{at}_key")
                if object.names
                else ""
            ),
            "patterns": [
                (name, self.call(type, "item", inside, f"{at}_matching"))
                for name, type in patterns
            ],
            "unknown": " and ".join(unknown),
            "closed": closed,
            "additional": (
                self.call(object.additional, "item", inside, f"{at}_value")
                if checked and object.additional
                else ""
            ),
        }

    def _pattern(self, pattern: str, at: str) -> str:
        """The name of the compiled pattern."""
        if pattern not in self.patterns:
            self.patterns[pattern] = self.new_name(f"{at}_pattern")
        return self.patterns[pattern]

    # --- unions ---------------------------------------------------------------------

    def _union(self, union: Union, value: str, path: str, at: str) -> str:
        told = self._told_by(union.arms)
        if told:
            key, constants = told
            table = self._table(key, constants, at)
            return f"{self.use('by_key')}({value}, {path}, {pystr(key)}, {table})"
        helper = "one_of" if union.exclusive else "any_of"
        arms = union.arms if union.exclusive else self._grouped(union.arms, at)
        checks = ", ".join(self.check(arm, at + self._suffix(arm)) for arm in arms)
        return f"{self.use(helper)}({value}, {path}, {checks})"

    def _grouped(self, arms: tuple[Type, ...], at: str) -> tuple[Type, ...]:
        """The same choice with fewer arms: tests as one, objects with a tag as one."""
        tests = tuple(arm for arm in arms if self.test(arm, at))
        tagged = tuple(arm for arm in arms if isinstance(arm, Ref))
        grouped = tuple(arm for arm in arms if arm not in tests and arm not in tagged)
        joined: tuple[Type, ...] = (Union(tests),) if len(tests) > 1 else tests
        if len(tagged) > 1 and len(tagged) < len(arms) and self._told_by(tagged):
            tagged = ()
            joined += (Union(tuple(arm for arm in arms if isinstance(arm, Ref))),)
        return joined + tagged + grouped

    def _suffix(self, arm: Type) -> str:
        match arm:
            case Union() if self.test(arm, ""):
                return "_scalar"
            case Union(arms=arms) if all(isinstance(a, Ref) for a in arms):
                return "_object"
            case Array():
                return "_array"
            case Map() | Object():
                return "_object"
            case _:
                return f"_{arm.kind}"

    def _table(self, key: str, constants: dict[str, Ref], at: str) -> str:
        arms = [(constant, self.check(ref, at)) for constant, ref in constants.items()]
        for table in self.tables:
            if table["key"] == key and table["arms"] == arms:
                return str(table["name"])
        name = self.new_name(f"{at}_arms")
        self.tables.append({"name": name, "key": key, "arms": arms})
        return name

    def _told_by(self, arms: tuple[Type, ...]) -> tuple[str, dict[str, Ref]] | None:
        """The key and its constants, if one key tells all arms apart."""
        if len(arms) < 2 or not all(isinstance(arm, Ref) for arm in arms):
            return None
        tags = [(arm, self._tags(arm, ())) for arm in arms if isinstance(arm, Ref)]
        for key in tags[0][1]:
            found: dict[str, Ref] = {}
            count = 0
            for arm, by_key in tags:
                constants = by_key.get(key, ())
                found |= dict.fromkeys(constants, arm)
                count += len(constants)
                if not constants or len(found) < count:
                    break
            else:
                return key, found
        return None

    def _tags(self, type: Type, above: tuple[Type, ...]) -> dict[str, tuple[str, ...]]:
        """Required keys that hold one of some strings, in every object of the type."""
        match type:
            case Ref(name=name) if type not in above:
                return self._tags(self.types[name], (*above, type))
            case Object(fields=fields):
                return {
                    f.wire_name: strings
                    for f in fields
                    if f.required and (strings := _strings(f.type))
                }
            case Union(arms=arms):
                tags = [self._tags(arm, above) for arm in arms]
                return {
                    key: tuple(dict.fromkeys(c for by_key in tags for c in by_key[key]))
                    for key in tags[0]
                    if all(key in by_key for by_key in tags)
                }
            case _:
                return {}

    # --- tests ----------------------------------------------------------------------

    def test(self, type: Type, at: str) -> _Test | None:
        """The test that decides the type exactly; None if it takes a function."""
        match type:
            case Null():
                return _Test((f"{_VALUE} is None",), "null", takes_null=True)
            case Boolean():
                return _instance("bool", "a boolean")
            case String():
                return self._string(type, at)
            case Number():
                return self._number(type)
            case Literals(values=values):
                return self._literals(values)
            case Map(values=AnyType()):
                size = _size("keys", type.min_properties, type.max_properties)
                return _instance("dict", "an object", size)
            case Array(items=AnyType()):
                extra = _size("items", type.min_items, type.max_items)
                if type.unique:
                    extra.append((f"is_unique({_VALUE})", "that all differ"))
                return _instance("list", "an array", extra)
            case Union(arms=arms):
                return self._choice(
                    [self.test(arm, at) for arm in arms], type.exclusive
                )
            case All(parts=parts):
                tests = [t for part in parts if (t := self.test(part, at))]
                if len(tests) < len(parts):
                    return None
                return _Test(
                    tuple(_grouped(t) for t in tests),
                    " and ".join(t.what for t in tests),
                    all(t.takes_null for t in tests),
                    helpers=frozenset[str]().union(*(t.helpers for t in tests)),
                )
            case Ref(name=name):
                # Short ones (an id, a cursor) are asked in place, without a call.
                test = self.test(self.types[name], at)
                return test if test and len(test.passed("value")) < 60 else None
            case Not(type=inner):
                test = self.test(inner, at)
                return test and _Test(
                    (f"(not {_grouped(test)})",),
                    f"anything but {test.what}",
                    not test.takes_null,
                    helpers=test.helpers,
                )
            case _:
                return None

    def _string(self, type: String, at: str) -> _Test:
        extra = _size("characters", type.min_length, type.max_length)
        if type.pattern is not None:
            name = self._pattern(type.pattern, at)
            shown = _clip(json.dumps(type.pattern))
            extra.append(
                (f"{name}.search({_VALUE}) is not None", f"that matches {shown}")
            )
        return _instance("str", "a string", extra)

    @staticmethod
    def _number(type: Number) -> _Test:
        helpers = {"is_integer" if type.integer else "is_number"}
        terms = [f"{helper}({_VALUE})" for helper in helpers]
        words: list[str] = []
        low, high = type.minimum, type.maximum
        if low is not None and high is not None:
            terms.append(f"{_literal(low)} <= {_VALUE} <= {_literal(high)}")
            words.append(f"from {_literal(low)} to {_literal(high)}")
        elif low is not None:
            terms.append(f"{_VALUE} >= {_literal(low)}")
            words.append(f"of at least {_literal(low)}")
        elif high is not None:
            terms.append(f"{_VALUE} <= {_literal(high)}")
            words.append(f"of at most {_literal(high)}")
        if type.exclusive_minimum is not None:
            terms.append(f"{_VALUE} > {_literal(type.exclusive_minimum)}")
            words.append(f"above {_literal(type.exclusive_minimum)}")
        if type.exclusive_maximum is not None:
            terms.append(f"{_VALUE} < {_literal(type.exclusive_maximum)}")
            words.append(f"below {_literal(type.exclusive_maximum)}")
        if type.multiple_of is not None:
            divisor = _literal(type.multiple_of)
            terms.append(f"is_multiple({_VALUE}, {divisor})")
            helpers.add("is_multiple")
            words.append(f"that is a multiple of {divisor}")
        what = "an integer" if type.integer else "a number"
        return _Test(tuple(terms), " ".join([what, *words]), helpers=frozenset(helpers))

    @staticmethod
    def _literals(values: tuple[str, ...]) -> _Test:
        constants = [json.loads(value) for value in values]
        shown = [_clip(value) for value in values[:12]]
        shown += ["..."] if len(values) > 12 else []
        what = " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
        if values == ("null",):
            term = f"{_VALUE} is None"
        elif not all(isinstance(constant, str) for constant in constants):
            # Python says that True == 1; JSON does not.
            if len(constants) == 1:
                term = f"equal({_VALUE}, {_literal(constants[0])})"
            else:
                listed = ", ".join(map(_literal, constants))
                term = f"is_one_of({_VALUE}, ({listed}))"
        elif len(constants) == 1:
            term = f"{_VALUE} == {_literal(constants[0])}"
        else:
            term = f"{_VALUE} in ({', '.join(map(_literal, constants))})"
        helpers = {"equal", "is_one_of"} & {term.partition("(")[0]}
        return _Test((term,), what, "null" in values, helpers=frozenset(helpers))

    @staticmethod
    def _choice(found: list[_Test | None], exclusive: bool) -> _Test | None:
        tests = [test for test in found if test]
        if len(tests) < len(found):
            return None
        what = " or ".join(dict.fromkeys(test.what for test in tests))
        helpers = frozenset[str]().union(*(test.helpers for test in tests))
        if exclusive:
            every = ", ".join(test.passed(_VALUE) for test in tests)
            return _Test(
                (f"exactly_one({every})",),
                f"only one of {what}",
                sum(test.takes_null for test in tests) == 1,
                helpers=helpers | {"exactly_one"},
            )
        classes = list(dict.fromkeys(t.python_class for t in tests if t.python_class))
        answers = [_grouped(test) for test in tests if not test.python_class]
        if len(classes) > 1:
            answers.insert(0, f"isinstance({_VALUE}, ({', '.join(classes)}))")
        elif classes:
            answers.insert(0, f"isinstance({_VALUE}, {classes[0]})")
        joined = answers[0] if len(answers) == 1 else f"({' or '.join(answers)})"
        takes_null = any(test.takes_null for test in tests)
        return _Test((joined,), what, takes_null, helpers=helpers)


def _instance(
    python_class: str, what: str, extra: list[tuple[str, str]] | None = None
) -> _Test:
    """An instance of a class, of which more may be asked: (expression, words)."""
    terms, words = zip(*extra, strict=True) if extra else ((), ())
    return _Test(
        (f"isinstance({_VALUE}, {python_class})", *terms),
        " ".join([what, *words]),
        python_class="" if extra else python_class,
        helpers=frozenset({"is_unique"} if "that all differ" in words else ()),
    )


def _size(what: str, low: int | None, high: int | None) -> list[tuple[str, str]]:
    """Limits on a length. They may be written as 3.0."""
    extra = []
    if low:
        extra.append((f"len({_VALUE}) >= {int(low)}", f"of at least {int(low)} {what}"))
    if high is not None:
        extra.append(
            (f"len({_VALUE}) <= {int(high)}", f"of at most {int(high)} {what}")
        )
    return extra


def _failed_at(key: str, test: _Test, required: bool) -> str:
    """The condition that an object does not hold at the key what it should."""
    if not required:
        return f"{key} in value and {test.failed(f'value[{key}]')}"
    if test.uses == 1 and not test.takes_null:
        return test.failed(f"value.get({key})")
    return f"{key} not in value or {test.failed(f'value[{key}]')}"


def _looped(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same steps, with one loop over the keys of which the same is asked."""
    made: dict[object, dict[str, Any]] = {}
    for step in steps:
        is_test = step["kind"] == "test"
        same = (step["failed_at_key"], step["what"]) if is_test else step["key"]
        first = made.setdefault(same, step | {"keys": []})
        first["keys"].append(step["key"])
        if len(first["keys"]) > 1:
            first["kind"] = "tests"
    return list(made.values())


def _grouped(test: _Test) -> str:
    joined = " and ".join(test.terms)
    return f"({joined})" if len(test.terms) > 1 else joined


def _shape(object: Object) -> Object:
    """The object without what validation does not look at."""
    fields = (Field(f.wire_name, f.type, f.required) for f in object.fields)
    return replace(object, fields=tuple(fields), pointer="", doc="")


def _strings(type: Type) -> tuple[str, ...]:
    """The constants of a type that allows only some strings."""
    if not isinstance(type, Literals):
        return ()
    constants = tuple(json.loads(value) for value in type.values)
    return constants if all(isinstance(c, str) for c in constants) else ()


def _clip(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _literal(value: Any) -> str:
    """A JSON value as a Python literal, in ASCII and on one line."""
    if isinstance(value, str):
        return pystr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        items = (f"{pystr(key)}: {_literal(item)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    return repr(value)
