"""`mcpgen diff`: every change is found, judged, and shown without harm."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from mcpgen.catalog import Catalog
from mcpgen.cli import app
from mcpgen.diff import command
from mcpgen.diff.change import GROUPS, VERDICTS, Change, count, narrow
from mcpgen.diff.compare import compare
from mcpgen.diff.history import matrix
from mcpgen.diff.markdown import as_markdown
from mcpgen.diff.page import as_html
from mcpgen.diff.report import Report, as_json
from mcpgen.diff.rules import ORDER, RULES, SPELLING
from mcpgen.diff.sides import writers
from mcpgen.diff.text import as_text
from mcpgen.diff.types import Values, show
from mcpgen.ir import (
    All,
    AnyType,
    Array,
    Boolean,
    Capability,
    Definition,
    ErrorCode,
    Field,
    Literals,
    Map,
    Method,
    Never,
    Not,
    Null,
    Number,
    Object,
    Protocol,
    Ref,
    Replacement,
    String,
    Trait,
    Type,
    Union,
)
from typer.testing import CliRunner

V1, V2, V3, V4, V5 = (
    *("2024-11-05", "2025-03-26", "2025-06-18"),
    *("2025-11-25", "2026-07-28"),
)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture(scope="session")
def versions(catalog: Catalog) -> dict[str, Protocol]:
    return {name: catalog.protocol(name)[0] for name in (V1, V2, V3, V4, V5)}


@pytest.fixture(scope="session")
def newest_changes(versions: dict[str, Protocol]) -> tuple[Change, ...]:
    return compare(versions[V4], versions[V5])


# --- a small protocol: a request to the server, a notification from it --------------

CLOSED = Object((Field("x", String(), False, python_name="x"),), additional=Never())
THING = Object(
    (
        Field("name", String(min_length=1), True, python_name="name"),
        Field("size", Number(integer=True, minimum=0), False, python_name="size"),
        Field("mode", Literals(('"a"', '"b"')), False, python_name="mode"),
        Field("tag", Literals(('"t"',)), False, python_name="tag"),
        Field("many", Array(String(), max_items=9), False, python_name="many"),
        Field("map", Map(String()), False, python_name="map"),
        Field("any", Union((String(), Null())), False, python_name="any"),
        Field("closed", Ref("Closed"), False, python_name="closed"),
    )
)


def message(method: str, params: str) -> Object:
    return Object(
        (
            Field("method", Literals((json.dumps(method),)), True, python_name="m"),
            Field("params", Ref(params), True, python_name="params"),
        )
    )


def define(name: str, type: Type) -> Definition:
    return Definition(name, type, f"/$defs/{name}", schema_name=name)


def small(params: Type = THING, result: Type = THING) -> Protocol:
    """`do` is sent by clients and answered by servers; `told` is sent by servers."""
    return Protocol(
        *("one", "0" * 64, "legacy", "2020-12"),
        definitions=(
            define("DoRequest", message("do", "DoParams")),
            define("DoParams", params),
            define("DoResult", result),
            define("ToldNotification", message("told", "ToldParams")),
            define("ToldParams", Object(())),
            define("Closed", CLOSED),
            define("Other", Object((Field("name", String(), True),))),
            define("Unused", Object((Field("x", String(), False),))),
            define("JSONRPCRequest", Object((Field("id", String(), True),))),
        ),
        methods=(
            Method(
                *("do", "request", "DoRequest", "do", ("client",), "DoParams", True),
                results=("DoResult",),
            ),
            Method(
                *("told", "notification", "ToldNotification", "told", ("server",)),
                *("ToldParams", True),
            ),
        ),
        capabilities=(Capability("server", ("things",)),),
        errors=(ErrorCode("LOST", -1),),
        traits=(Trait("batch", "true"),),
    )


SMALL = small()


def field(name: str, **new: Any) -> Object:
    """THING with another field, or without it."""
    kept = [replace(f, **new) if f.wire_name == name else f for f in THING.fields]
    if not new:
        kept = [f for f in kept if f.wire_name != name]
    return replace(THING, fields=tuple(kept))


def more(*added: Field, base: Object = THING) -> Object:
    return replace(base, fields=base.fields + added)


def method(name: str, **new: Any) -> Protocol:
    changed = [replace(m, **new) if m.name == name else m for m in SMALL.methods]
    return replace(SMALL, methods=tuple(changed))


def definition(name: str, type: Type | None, **new: Any) -> Protocol:
    changed = [
        replace(d, type=type or d.type, **new) if d.name == name else d
        for d in SMALL.definitions
    ]
    return replace(SMALL, definitions=tuple(changed))


def told(old: Protocol, new: Protocol) -> dict[str, str]:
    return {change.rule: change.verdict for change in compare(old, new)}


# Each shape change, written by the client (params) and by the server (result): the rule
# there and back, whether fewer (-), more (+), other (x) or the same (=) values fit after.
SHAPES: dict[str, tuple[Object, Object, str, str, str]] = {
    "field removed": (THING, field("size"), "FIELD_REMOVED", "FIELD_ADDED", "="),
    "required field removed": (
        *(THING, field("name"), "REQUIRED_FIELD_REMOVED", "FIELD_NOW_REQUIRED", "+"),
    ),
    "required flipped": (
        *(THING, field("size", required=True)),
        *("FIELD_NOW_REQUIRED", "FIELD_NOW_OPTIONAL", "-"),
    ),
    "type changed": (
        *(THING, field("name", type=Boolean()), "TYPE_CHANGED", "TYPE_CHANGED", "x"),
    ),
    "type narrowed": (
        *(THING, field("any", type=String()), "TYPE_NARROWED", "TYPE_WIDENED", "-"),
    ),
    "integer to number": (
        *(THING, field("size", type=Number(minimum=0))),
        *("TYPE_WIDENED", "TYPE_NARROWED", "+"),
    ),
    "type respelled": (
        *(THING, field("map", type=Union((Map(String()),)))),
        *("TYPE_RESPELLED", "TYPE_RESPELLED", "="),
    ),
    "enum value removed": (
        *(THING, field("mode", type=Literals(('"a"',)))),
        *("ENUM_VALUE_REMOVED", "ENUM_VALUE_ADDED", "-"),
    ),
    "constant changed": (
        *(THING, field("tag", type=Literals(('"u"',)))),
        *("CONSTANT_CHANGED", "CONSTANT_CHANGED", "x"),
    ),
    "arm removed": (
        *(THING, field("any", type=Union((String(),)))),
        *("UNION_ARM_REMOVED", "UNION_ARM_ADDED", "-"),
    ),
    "exactly one arm": (
        *(THING, field("any", type=Union((String(), Null()), exclusive=True))),
        *("UNION_EXCLUSIVE_CHANGED", "UNION_EXCLUSIVE_CHANGED", "-"),
    ),
    "lower bound raised": (
        *(THING, field("name", type=String(min_length=2))),
        *("BOUND_TIGHTENED", "BOUND_RELAXED", "-"),
    ),
    "upper bound dropped": (
        *(THING, field("many", type=Array(String()))),
        *("BOUND_RELAXED", "BOUND_TIGHTENED", "+"),
    ),
    "unique": (
        *(THING, field("many", type=Array(String(), max_items=9, unique=True))),
        *("BOUND_TIGHTENED", "BOUND_RELAXED", "-"),
    ),
    "items": (
        *(THING, field("many", type=Array(AnyType(), max_items=9))),
        *("TYPE_WIDENED", "TYPE_NARROWED", "+"),
    ),
    "map values": (
        *(THING, field("map", type=Map(Number()))),
        *("TYPE_CHANGED", "TYPE_CHANGED", "x"),
    ),
    "pattern": (
        field("name", type=String(pattern="a")),
        field("name", type=String(pattern="b")),
        *("BOUND_CHANGED", "BOUND_CHANGED", "x"),
    ),
    "format": (
        *(THING, field("name", type=String(min_length=1, format="uri"))),
        *("FORMAT_CHANGED", "FORMAT_CHANGED", "="),
    ),
    "default": (
        *(THING, field("size", default="1")),
        *("FIELD_DEFAULT_CHANGED", "FIELD_DEFAULT_CHANGED", "="),
    ),
    "python name": (
        *(THING, field("size", python_name="size_")),
        *("PYTHON_NAME_CHANGED", "PYTHON_NAME_CHANGED", "="),
    ),
    "closed": (
        *(THING, replace(THING, additional=Never())),
        *("OBJECT_NOW_CLOSED", "OBJECT_NOW_OPEN", "-"),
    ),
    "additional typed": (
        *(THING, replace(THING, additional=String())),
        *("ADDITIONAL_CHANGED", "ADDITIONAL_CHANGED", "-"),
    ),
    "additional said": (
        *(THING, replace(THING, additional=AnyType())),
        *("ADDITIONAL_CHANGED", "ADDITIONAL_CHANGED", "="),
    ),
    "condition": (
        *(THING, replace(THING, also=(Not(Ref("Other")),))),
        *("CONSTRAINT_ADDED", "CONSTRAINT_REMOVED", "-"),
    ),
    "key names": (
        *(THING, replace(THING, names=String(max_length=3))),
        *("CONSTRAINT_ADDED", "CONSTRAINT_REMOVED", "-"),
    ),
    "key pattern": (
        *(THING, replace(THING, patterns=(("^x-", String()),))),
        *("CONSTRAINT_ADDED", "CONSTRAINT_REMOVED", "-"),
    ),
    "number of keys": (
        *(THING, replace(THING, min_properties=1)),
        *("BOUND_TIGHTENED", "BOUND_RELAXED", "-"),
    ),
    "optional field in a closed object": (
        replace(THING, additional=Never()),
        replace(more(Field("new", String(), False)), additional=Never()),
        *("FIELD_ADDED", "FIELD_REMOVED", "+"),
    ),
    "field among typed keys": (
        replace(THING, additional=String()),
        replace(more(Field("new", Number(), False)), additional=String()),
        *("FIELD_ADDED", "FIELD_REMOVED", "x"),
    ),
    "required field in a closed object": (
        replace(THING, additional=Never()),
        replace(more(Field("new", String(), True)), additional=Never()),
        *("FIELD_NOW_REQUIRED", "REQUIRED_FIELD_REMOVED", "x"),
    ),
}
REVERSED = {"-": "+", "+": "-", "x": "x", "=": "="}


def whom(effect: str, writer: str) -> str:
    reader = "server" if writer == "client" else "client"
    return {"-": writer, "+": reader, "x": "both", "=": "none"}[effect]


@pytest.mark.parametrize("name", SHAPES)
def test_a_changed_shape_breaks_its_writers_or_its_readers(name: str) -> None:
    before, after, there, back, effect = SHAPES[name]
    for writer, make in (
        ("client", lambda shape: small(params=shape)),
        ("server", lambda shape: small(result=shape)),
    ):
        old, new = make(before), make(after)
        assert told(old, new) == {there: whom(effect, writer)}
        assert told(new, old) == {back: whom(REVERSED[effect], writer)}


def test_what_both_sides_write_breaks_both() -> None:
    both = field("size", type=Number(integer=True, minimum=1))
    shared = method("do", results=("DoParams",))
    new = replace(small(params=both), methods=shared.methods)
    assert told(shared, new) == {"BOUND_TIGHTENED": "both"}


def test_a_definition_that_no_message_reaches_breaks_nobody() -> None:
    new = definition("Unused", Object((Field("x", Number(), True),)))
    assert told(SMALL, new) == {"FIELD_NOW_REQUIRED": "none", "TYPE_CHANGED": "none"}


WHOLES: dict[str, tuple[Protocol, dict[str, str], dict[str, str]]] = {
    "era": (
        replace(SMALL, era="modern"),
        *({"ERA_CHANGED": "both"}, {"ERA_CHANGED": "both"}),
    ),
    "dialect": (
        replace(SMALL, dialect="draft-07"),
        *({"DIALECT_CHANGED": "none"}, {"DIALECT_CHANGED": "none"}),
    ),
    "request gone": (
        replace(SMALL, methods=SMALL.methods[1:]),
        *({"METHOD_REMOVED": "both"}, {"METHOD_ADDED": "server"}),
    ),
    "notification gone": (
        replace(SMALL, methods=SMALL.methods[:1]),
        *({"METHOD_REMOVED": "client"}, {"METHOD_ADDED": "none"}),
    ),
    "kind": (
        method("told", kind="request"),
        *({"METHOD_KIND_CHANGED": "both"}, {"METHOD_KIND_CHANGED": "both"}),
    ),
    "sender of a request": (
        method("do", sent_by=("client", "server")),
        *({"METHOD_SENDER_ADDED": "client"}, {"METHOD_SENDER_REMOVED": "both"}),
    ),
    "sender of a notification": (
        method("told", sent_by=("client", "server")),
        *({"METHOD_SENDER_ADDED": "none"}, {"METHOD_SENDER_REMOVED": "server"}),
    ),
    "embedded": (
        method("do", embedded=True),
        *({"METHOD_EMBEDDED_CHANGED": "both"}, {"METHOD_EMBEDDED_CHANGED": "both"}),
    ),
    "definition": (
        method("do", definition="Other"),
        {"METHOD_DEFINITION_CHANGED": "both"},
        {"METHOD_DEFINITION_CHANGED": "both"},
    ),
    "params": (
        method("do", params=None),
        *({"METHOD_PARAMS_CHANGED": "none"}, {"METHOD_PARAMS_CHANGED": "none"}),
    ),
    "params required": (
        method("do", params_required=False),
        {"METHOD_PARAMS_REQUIRED_CHANGED": "none"},
        {"METHOD_PARAMS_REQUIRED_CHANGED": "none"},
    ),
    "a further result": (
        method("do", results=("DoResult", "Closed")),
        *({"METHOD_RESULT_ADDED": "client"}, {"METHOD_RESULT_REMOVED": "server"}),
    ),
    "a new gate": (
        method("do", server_capability=("things",)),
        *({"METHOD_GATE_CHANGED": "client"}, {"METHOD_GATE_CHANGED": "server"}),
    ),
    "a new gate of a notification": (
        method("told", server_capability=("things",)),
        *({"METHOD_GATE_CHANGED": "server"}, {"METHOD_GATE_CHANGED": "none"}),
    ),
    "deprecated": (
        method("do", deprecated="Do not."),
        *({"METHOD_DEPRECATED": "none"}, {"METHOD_UNDEPRECATED": "none"}),
    ),
    "python name of a method": (
        method("do", python_name="do_"),
        *({"PYTHON_NAME_CHANGED": "none"}, {"PYTHON_NAME_CHANGED": "none"}),
    ),
    "definition gone": (
        replace(
            SMALL,
            definitions=tuple(d for d in SMALL.definitions if d.name != "Unused"),
        ),
        *({"DEFINITION_REMOVED": "none"}, {"DEFINITION_ADDED": "none"}),
    ),
    "definition of another kind": (
        definition("ToldParams", Union((Object(()), Null()))),
        *({"DEFINITION_KIND_CHANGED": "client"}, {"DEFINITION_KIND_CHANGED": "server"}),
    ),
    "definition named": (
        definition("Unused", None, schema_name=""),
        *({"DEFINITION_NAMED": "none"}, {"DEFINITION_NAMED": "none"}),
    ),
    "field of the frame": (
        definition(
            "DoRequest",
            more(Field("id", String(), True), base=message("do", "DoParams")),
        ),
        *({"FRAME_FIELD_ADDED": "none"}, {"FRAME_FIELD_REMOVED": "none"}),
    ),
    "capability": (
        replace(SMALL, capabilities=()),
        *({"CAPABILITY_REMOVED": "none"}, {"CAPABILITY_ADDED": "none"}),
    ),
    "error": (
        replace(SMALL, errors=()),
        *({"ERROR_REMOVED": "none"}, {"ERROR_ADDED": "none"}),
    ),
    "error code": (
        replace(SMALL, errors=(ErrorCode("LOST", -2),)),
        *({"ERROR_CHANGED": "both"}, {"ERROR_CHANGED": "both"}),
    ),
    "trait": (
        replace(SMALL, traits=(Trait("batch", "false"),)),
        *({"TRAIT_CHANGED": "both"}, {"TRAIT_CHANGED": "both"}),
    ),
    "trait gone": (
        replace(SMALL, traits=()),
        *({"TRAIT_REMOVED": "none"}, {"TRAIT_ADDED": "none"}),
    ),
}


@pytest.mark.parametrize("name", WHOLES)
def test_a_changed_protocol_is_reported_there_and_back(name: str) -> None:
    new, there, back = WHOLES[name]
    assert told(SMALL, new) == there
    assert told(new, SMALL) == back


def test_what_needs_two_changed_protocols() -> None:
    deprecated = method("do", deprecated="Do not."), method("do", deprecated="Stop.")
    assert told(*deprecated) == {"METHOD_DEPRECATION_CHANGED": "none"}
    results = ("DoResult", "Other"), ("Other", "DoResult")
    ordered = method("do", results=results[0]), method("do", results=results[1])
    assert told(*ordered) == {"METHOD_RESULTS_REORDERED": "none"}
    # A flag of a capability implies the capability.
    gates = ("things",), ("things", "all")
    wide, fine = (method("do", server_capability=gate) for gate in gates)
    assert told(wide, fine) == {"METHOD_GATE_CHANGED": "client"}
    assert told(fine, wide) == {"METHOD_GATE_CHANGED": "server"}


def test_an_answer_that_another_covers_breaks_nobody() -> None:
    wide = Object((Field("name", Union((String(), Null())), False),))
    old = definition("Closed", wide)
    old = replace(old, methods=method("do", results=("Closed",)).methods)
    new = replace(old, methods=method("do", results=("Closed", "Other")).methods)
    assert told(old, new) == {"METHOD_RESULT_ADDED": "none"}
    assert told(new, old) == {"METHOD_RESULT_REMOVED": "none"}


def test_a_removed_method_names_what_to_use_instead() -> None:
    gone = replace(SMALL, methods=SMALL.methods[1:])
    (change,) = compare(SMALL, replace(gone, replaced=(Replacement("do", "make"),)))
    assert change.hint == "use make"
    (change,) = compare(method("do", deprecated="Do not."), gone)
    assert change.hint == "Do not."


def test_one_name_with_two_codes_is_compared_as_a_whole() -> None:
    old = replace(SMALL, errors=(ErrorCode("LOST", -1), ErrorCode("LOST", -2)))
    (change,) = compare(old, SMALL)
    assert (change.rule, change.before, change.after) == (
        *("ERROR_CHANGED", "-1, -2", "-1"),
    )


def test_every_rule_is_documented_and_reachable() -> None:
    reached = {
        *("METHOD_DEPRECATION_CHANGED", "METHOD_RESULTS_REORDERED"),
        *(rule for _, there, back in WHOLES.values() for rule in (*there, *back)),
        *(rule for _, _, there, back, _ in SHAPES.values() for rule in (there, back)),
    }
    assert reached == set(RULES)
    assert set(RULES) > SPELLING
    assert all(len(rule.says) > 15 for rule in RULES.values())
    assert list(ORDER) == list(RULES)


# --- completeness: whatever is changed in a real version is reported ----------------

ENDS = {
    **{"client": "server", "server": "client"},
    **{"request": "notification", "notification": "request"},
}
UNTOLD = {"doc", "pointer", "version", "sha256", "replaced"}


def mutations(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The value with one thing changed, for every single thing in it."""
    if is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            if f.name in UNTOLD or (f.name == "kind" and not isinstance(value, Method)):
                continue
            for where, new in mutations(getattr(value, f.name), f"{path}.{f.name}"):
                yield where, replace(value, **{f.name: new})
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            rest = value[:number] + value[number + 1 :]
            yield f"{path}[{number}] gone", rest
            for where, new in mutations(item, f"{path}[{number}]"):
                yield where, (*value[:number], new, *value[number + 1 :])
    elif isinstance(value, bool):
        yield path, not value
    elif isinstance(value, int):
        yield path, value + 1
    elif isinstance(value, str):
        yield path, ENDS.get(value, f"{value}x")


def one_of_each_kind(protocol: Protocol) -> Iterator[tuple[str, Protocol]]:
    """Mutations of the same sort of thing differ only in their numbers: a few do."""
    seen: dict[str, int] = {}
    for where, new in mutations(protocol):
        sort = re.sub(r"\d+", "", where)
        seen[sort] = seen.get(sort, 0) + 1
        if seen[sort] <= 6:
            yield where, new


@pytest.mark.parametrize("version", [V2, V5])
def test_every_mutation_of_a_real_version_is_reported(
    versions: dict[str, Protocol], version: str
) -> None:
    protocol = versions[version]
    silent = []
    tried = 0
    for where, mutant in one_of_each_kind(protocol):
        tried += 1
        if not compare(protocol, mutant) or not compare(mutant, protocol):
            silent.append(where)
    assert tried > 100
    assert not silent


@pytest.mark.parametrize("version", [V1, V2, V3, V4, V5])
def test_equal_protocols_do_not_differ(
    versions: dict[str, Protocol], version: str
) -> None:
    protocol = versions[version]
    assert compare(protocol, protocol) == ()
    renamed = replace(protocol, version="x", sha256="1" * 64)
    shuffled = replace(
        renamed,
        definitions=tuple(
            replace(d, doc="x", pointer="/x") for d in reversed(protocol.definitions)
        ),
        methods=protocol.methods[::-1],
        traits=protocol.traits[::-1],
    )
    assert compare(protocol, shuffled) == ()


def dual(rule: str) -> str:
    """One word for a rule and its opposite."""
    for a, b in (
        ("REQUIRED_FIELD_REMOVED", "FIELD_NOW_REQUIRED"),
        ("FIELD_NOW_OPTIONAL", "FIELD_NOW_REQUIRED"),
        ("OBJECT_NOW_CLOSED", "OBJECT_NOW_OPEN"),
        ("UNDEPRECATED", "DEPRECATED"),
        ("_REMOVED", "_ADDED"),
        ("NARROWED", "WIDENED"),
        ("TIGHTENED", "RELAXED"),
    ):
        if a in rule:
            return rule.replace(a, b)
    return rule


def test_comparing_backwards_finds_the_opposite(versions: dict[str, Protocol]) -> None:
    for a, b in permutations(versions.values(), 2):
        there, back = compare(a, b), compare(b, a)
        assert sorted((dual(c.rule), c.place) for c in there) == sorted(
            (dual(c.rule), c.place) for c in back
        )
        # What an old writer may no longer send is what an old reader now may get.
        shapes = [
            sorted(
                (dual(c.rule), c.place, ends.get(c.verdict, c.verdict))
                for c in changes
                if c.group == "definitions"
            )
            for changes, ends in ((there, {}), (back, ENDS))
        ]
        assert shapes[0] == shapes[1]


def test_the_order_is_fixed(versions: dict[str, Protocol]) -> None:
    changes = compare(versions[V4], versions[V5])
    assert changes == compare(versions[V4], versions[V5])
    groups = [GROUPS.index(change.group) for change in changes]
    assert groups == sorted(groups)
    assert len(set(changes)) == len(changes)


# --- facts about the real versions --------------------------------------------------


def find(changes: tuple[Change, ...], rule: str, place: str) -> list[Change]:
    return [c for c in changes if c.rule == rule and c.place == place]


FACTS = [
    (V1, V2, "METHOD_GATE_CHANGED", "completion/complete", "client"),
    (V1, V2, "UNION_ARM_ADDED", "CallToolResult.content[]", "client"),
    (V1, V2, "UNION_ARM_ADDED", "CreateMessageResult.content", "server"),
    (V1, V2, "UNION_ARM_ADDED", "JSONRPCMessage", "both"),
    (V1, V2, "TRAIT_CHANGED", "batch", "both"),
    (V1, V2, "FIELD_ADDED", "ProgressNotificationParams.message", "none"),
    (V2, V3, "UNION_ARM_REMOVED", "JSONRPCMessage", "both"),
    (V2, V3, "METHOD_ADDED", "elicitation/create", "none"),
    (V2, V3, "FIELD_ADDED", "CallToolResult.structuredContent", "none"),
    (V2, V3, "TRAIT_CHANGED", "version_header", "both"),
    (V3, V4, "METHOD_ADDED", "tasks/get", "none"),
    (V3, V4, "METHOD_RESULT_ADDED", "tools/call", "client"),
    (V3, V4, "FRAME_FIELD_ADDED", "CallToolRequest.id", "none"),
    (V3, V4, "FIELD_NOW_OPTIONAL", "CancelledNotificationParams.requestId", "both"),
    (V3, V4, "ERROR_ADDED", "URL_ELICITATION_REQUIRED", "none"),
    (V4, V5, "ERA_CHANGED", "era", "both"),
    (V4, V5, "METHOD_REMOVED", "initialize", "both"),
    (V4, V5, "METHOD_REMOVED", "notifications/initialized", "server"),
    (V4, V5, "METHOD_REMOVED", "ping", "both"),
    (V4, V5, "METHOD_ADDED", "server/discover", "server"),
    (V4, V5, "METHOD_ADDED", "subscriptions/listen", "server"),
    (V4, V5, "METHOD_EMBEDDED_CHANGED", "elicitation/create", "both"),
    (V4, V5, "METHOD_RESULT_ADDED", "tools/call", "client"),
    (V4, V5, "METHOD_SENDER_REMOVED", "notifications/progress", "server"),
    (V4, V5, "METHOD_DEPRECATED", "sampling/createMessage", "none"),
    (V4, V5, "FIELD_NOW_REQUIRED", "ListToolsResult.ttlMs", "server"),
    (V4, V5, "FIELD_NOW_REQUIRED", "CallToolResult.resultType", "server"),
    (V4, V5, "FIELD_NOW_REQUIRED", "CallToolRequestParams._meta", "client"),
    (V4, V5, "TYPE_WIDENED", "CallToolResult.structuredContent", "client"),
    (V4, V5, "BOUND_TIGHTENED", "CompleteResultCompletion.values", "server"),
    (V4, V5, "TYPE_RESPELLED", "ServerCapabilities.logging", "none"),
    (V4, V5, "CAPABILITY_REMOVED", "server tasks", "none"),
    (V4, V5, "ERROR_REMOVED", "RESOURCE_NOT_FOUND", "none"),
    (V4, V5, "TRAIT_CHANGED", "resource_not_found", "both"),
]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact[1]} {fact[3]}")
def test_what_the_specification_says_changed(
    versions: dict[str, Protocol], fact: tuple[str, str, str, str, str]
) -> None:
    old, new, rule, place, verdict = fact
    found = find(compare(versions[old], versions[new]), rule, place)
    assert found
    assert {change.verdict for change in found} == {verdict}


def test_how_much_each_version_breaks(versions: dict[str, Protocol]) -> None:
    names = [V1, V2, V3, V4, V5]
    broken = {
        new: sum(bool(c.breaking_for) for c in compare(versions[old], versions[new]))
        for old, new in pairwise(names)
    }
    assert broken == {V2: 10, V3: 7, V4: 19, V5: 80}


def test_the_replacements_of_the_newest_version(
    newest_changes: tuple[Change, ...], versions: dict[str, Protocol]
) -> None:
    hints = {c.place: c.hint for c in newest_changes if c.rule == "METHOD_REMOVED"}
    assert hints["initialize"] == "use server/discover"
    assert hints["resources/subscribe"] == "use subscriptions/listen"
    assert "logLevel" in hints["logging/setLevel"]
    assert versions[V4].replaced == ()


def test_who_writes_what(versions: dict[str, Protocol]) -> None:
    found = writers(versions[V4])
    assert found["CallToolRequestParams"] == {"client"}
    assert found["CallToolResult"] == {"server"}
    assert found["ElicitRequestParams"] == {"server"}
    assert found["JSONRPCErrorResponse"] == {"client", "server"}
    assert found["RequestId"] == {"client", "server"}
    assert "PaginatedRequest" not in found


# --- values -------------------------------------------------------------------------

JSON_VALUE = Union(
    (
        *(Null(), Boolean(), String(), Number()),
        *(Array(Ref("JSONValue")), Map(Ref("JSONValue"))),
    )
)
TREE = Object((Field("next", Union((Ref("Tree"), Null())), True),))


@pytest.mark.parametrize(
    ("a", "b", "kept", "known"),
    [
        (String(min_length=1), String(), True, False),
        (String(max_length=1), String(), True, False),
        (Number(minimum=1), Number(minimum=0), True, False),
        (Number(integer=True), Number(), True, False),
        (Number(maximum=3), Number(exclusive_maximum=9), False, False),
        (Array(String(), min_items=1), Array(AnyType()), True, False),
        (Literals(('"a"', "1")), Union((String(), Number())), True, False),
        (Literals(('"a"',)), String(min_length=2), False, False),
        (Literals(("true",)), Number(), False, False),
        (Never(), String(), True, False),
        (String(), All((String(), String(max_length=2))), False, True),
        (Map(AnyType()), Object(()), True, True),
        (Map(String()), Object((), additional=Never()), False, True),
        (Object((), patterns=(("a", Number()),)), Map(String()), False, False),
        (
            Object((), additional=String(), patterns=(("a", Number()),)),
            Map(String()),
            *(False, False),
        ),
        (Ref("Tree"), Ref("Twig"), True, True),
        (Ref("Tree"), Ref("Leaf"), False, True),
        (AnyType(), Ref("JSONValue"), True, True),
        (AnyType(), Union((String(), Null())), False, True),
        (Ref("nowhere"), AnyType(), False, False),
    ],
    ids=lambda value: show(value) if is_dataclass(value) else str(value),
)
def test_inclusion_of_values(a: Type, b: Type, kept: bool, known: bool) -> None:
    definitions = {
        "JSONValue": define("JSONValue", JSON_VALUE),
        "Tree": define("Tree", TREE),
        "Twig": define(
            "Twig", Object((Field("next", Union((Null(), Ref("Twig"))), True),))
        ),
        "Leaf": define("Leaf", Object((Field("next", Ref("Leaf"), True),))),
    }
    new = {k: v for k, v in definitions.items() if k != "Tree"}
    old = {"Tree": definitions["Tree"]}
    values = Values(old, new)
    assert values.kept(a, b) is kept
    assert values.known(b, a) is known


def test_a_fallen_assumption_takes_its_proofs_along() -> None:
    # A ⊆ B fails in its second field; what its first proved on the way rested on it.
    old = {
        "A": define(
            "A", Object((Field("c", Ref("C"), True), Field("s", String(), True)))
        ),
        "C": define("C", Object((Field("a", Ref("A"), True),))),
    }
    new = {
        "B": define(
            "B", Object((Field("c", Ref("D"), True), Field("s", Null(), True)))
        ),
        "D": define("D", Object((Field("a", Ref("B"), True),))),
    }
    pair = Union((Ref("A"), Ref("C")))
    assert not Values(old, new).kept(pair, Union((Ref("B"), Ref("D"))))
    assert not Values(old, new).kept(Ref("C"), Union((Ref("B"), Ref("D"))))


# --- narrowing and counting ---------------------------------------------------------


def test_narrowing_and_counting(newest_changes: tuple[Change, ...]) -> None:
    counted = count(newest_changes)
    assert list(counted) == list(VERDICTS)
    assert sum(counted.values()) == len(newest_changes)
    broken = narrow(newest_changes, breaking=True)
    assert len(broken) == len(newest_changes) - counted["none"]
    server = narrow(newest_changes, breaking=True, side="server")
    assert {c.verdict for c in server} == {"server", "both"}
    client = narrow(newest_changes, side="client")
    assert {c.verdict for c in client} == {"client", "both", "none"}


# --- formats ------------------------------------------------------------------------

HOSTILE = "<script>alert(1)</script> | `x` \\| [a](b) @all\n\x1b[31m\u202e\udc80 &amp;"


@pytest.fixture(scope="session")
def hostile() -> Report:
    change = Change(
        *("METHOD_REMOVED", "methods", HOSTILE, HOSTILE, HOSTILE, HOSTILE),
        breaking_for=("client",),
        hint=HOSTILE,
    )
    return Report("a", "b", (change,))


@pytest.fixture(scope="session")
def newest(newest_changes: tuple[Change, ...]) -> Report:
    return Report(V4, V5, newest_changes)


@pytest.fixture(scope="session")
def page(newest: Report, versions: dict[str, Protocol]) -> str:
    return as_html(newest, list(versions.values()))


def test_json_has_the_documented_shape(newest: Report) -> None:
    content = json.loads(as_json(newest))
    assert list(content) == ["from", "to", "summary", "changes"]
    assert (content["from"], content["to"]) == (V4, V5)
    assert list(content["summary"]) == ["both", "server", "client", "none", "total"]
    assert content["summary"]["total"] == len(content["changes"])
    for change in content["changes"]:
        assert set(change) == {
            *("rule", "group", "subject", "place", "before", "after"),
            *("breaking_for", "verdict", "explanation", "hint"),
        }
        assert change["explanation"] == RULES[change["rule"]].says
    (change,) = [c for c in content["changes"] if c["place"] == "initialize"]
    assert change["breaking_for"] == ["client", "server"]
    assert change["verdict"] == "both"


def test_hostile_text_stays_text_in_json(hostile: Report) -> None:
    text = as_json(hostile)
    text.encode()
    assert json.loads(text)["changes"][0]["place"] == HOSTILE


def test_markdown_has_a_row_per_change(newest: Report) -> None:
    lines = as_markdown(newest).splitlines()
    assert lines[0] == f"# {V4} → {V5}"
    rows = [line for line in lines if re.search(r"\| `[A-Z_]+` \|$", line)]
    assert len(rows) == len(newest.changes)
    assert {line.count("|") for line in rows} == {6}


def test_hostile_text_breaks_no_markdown_table(hostile: Report) -> None:
    text = as_markdown(hostile)
    text.encode()
    (row,) = [
        line for line in text.splitlines() if "METHOD&#95;" in line or "<code>" in line
    ]
    assert row.count("|") == 6
    assert row.count("`") == 2  # around the rule
    for danger in ("<script", "\x1b", "\u202e", "@all", "](", "&amp; "):
        assert danger not in text


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def test_the_page_needs_nothing_else(page: str) -> None:
    parsed = Page(page)
    for _, attrs in parsed.tags:
        assert not attrs.keys() & {"src", "href", "action", "style", "background"}
        assert not any(name.startswith("on") for name in attrs)
    assert not re.search(r"https?://|url\(|@import|fetch\(|//[a-z]+\.", page)
    (policy,) = [
        a["content"] or ""
        for a in parsed.named("meta")
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "prefers-color-scheme: dark" in page


def test_the_policy_names_the_script_and_the_style_of_the_page(page: str) -> None:
    for tag in ("script", "style"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in page


def test_the_page_shows_every_change_and_version(page: str, newest: Report) -> None:
    parsed = Page(page)
    shown = [a for a in parsed.named("li") if a.get("class") == "change"]
    assert len(shown) == len(newest.changes)
    for version in (V1, V2, V3, V4, V5):
        assert f">{version}</th>" in page
    (form,) = parsed.named("form")
    assert "hidden" in form  # shown by the script: without it there is no filter
    assert all("open" not in a for a in parsed.named("details"))


def test_hostile_text_stays_text_on_the_page(
    hostile: Report, versions: dict[str, Protocol]
) -> None:
    bad = replace(
        versions[V5],
        version='"><img src=x>',
        methods=(replace(versions[V5].methods[0], name=HOSTILE, deprecated=HOSTILE),),
    )
    text = as_html(replace(hostile, old='"><img src=x>'), [bad])
    text.encode()
    parsed = Page(text)
    assert len(parsed.named("script")) == 1
    assert not parsed.named("img")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "&lt;script&gt;" in text


def test_an_empty_comparison_is_written_too(versions: dict[str, Protocol]) -> None:
    nothing = Report(V5, V5, ())
    assert json.loads(as_json(nothing))["changes"] == []
    assert "| **all** | **0** |" in as_markdown(nothing)
    assert "Nothing changed." in as_html(nothing, [versions[V5]])
    assert as_text(nothing, io.StringIO()).endswith("neither 0\n")


def test_the_matrix(versions: dict[str, Protocol]) -> None:
    rows = {row.method: row for row in matrix(list(versions.values()))}
    states = {name: [cell.state for cell in row.cells] for name, row in rows.items()}
    assert states["initialize"][-2:] == ["same", "removed"]
    assert states["server/discover"] == ["absent"] * 4 + ["new"]
    assert states["tasks/get"] == ["absent"] * 3 + ["new", "removed"]
    assert states["tools/call"][1:] == ["changed"] * 4
    assert rows["ping"].cells[0].sent_by == ("client", "server")
    assert rows["sampling/createMessage"].cells[-1].embedded
    assert rows["sampling/createMessage"].cells[-1].deprecated
    kinds = [row.kind for row in matrix(list(versions.values()))]
    assert kinds == sorted(kinds, reverse=True)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_text_in_a_pipe_is_plain_and_a_line_per_change(
    newest: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = as_text(newest, io.StringIO())
    lines = text.splitlines()
    assert "\x1b" not in text
    assert lines[0] == f"{V4} → {V5}"
    assert lines[1].startswith(f"{len(newest.changes)} changes: breaking for both ")
    rows = [
        line for line in lines if re.match("  (both|servers|clients|neither) ", line)
    ]
    assert len(rows) == len(newest.changes)
    assert all(line == line.rstrip() for line in lines)
    assert max(map(len, rows)) < 180


def test_text_on_a_terminal_is_coloured_and_fits(
    newest: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = as_text(newest, Terminal())
    assert "\x1b[31m" in text
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert max(map(len, plain.splitlines())) <= 80
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[(3[1-7]|9)", as_text(newest, Terminal()))


def test_hostile_text_gives_the_terminal_no_orders(
    hostile: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    for file in (io.StringIO(), Terminal()):
        text = as_text(hostile, file)
        text.encode()
        assert "\x1b[31m" not in text
        assert "\u202e" not in text


# --- the command --------------------------------------------------------------------

Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalog: Catalog) -> Run:
    """The command in an empty directory; the versions are compiled once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "here", lambda: catalog)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, ["diff", *words])


def test_it_runs_outside_of_any_project(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mcpgen", "diff", V4, V5, "--breaking"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert f"{V4} → {V5}, breaking changes only\n80 changes: " in done.stdout


def test_exit_status(run: Run) -> None:
    assert run(V4, V5).exit_code == 0
    assert run(V4, V5, "--breaking").exit_code == 1
    assert run(V5, V5, "--breaking").exit_code == 0
    assert run(V2, V3, "--breaking", "--for", "server").exit_code == 1
    assert run(V4, "nothing").exit_code == 2
    assert run(V4, V5, "--format", "pdf").exit_code == 2
    assert run(V4).exit_code == 2


def test_an_unknown_version_is_explained(run: Run) -> None:
    result = run(V4, V5[:-1])
    assert "error[version-unknown]" in result.stderr
    assert V5 in result.stderr
    assert result.stdout == ""


def test_options_narrow_the_output(run: Run) -> None:
    def verdicts(*options: str) -> set[str]:
        content = json.loads(run(V4, V5, "--format", "json", *options).stdout)
        return {change["verdict"] for change in content["changes"]}

    assert verdicts() == {"both", "server", "client", "none"}
    assert verdicts("--breaking") == {"both", "server", "client"}
    assert verdicts("--for", "server") == {"both", "server", "none"}
    assert verdicts("--breaking", "--for", "client") == {"both", "client"}
    assert f"{V4} → {V5}, breaking changes for servers" in (
        run(V4, V5, "--breaking", "--for", "server").stdout
    )


@pytest.mark.parametrize("layout", ["text", "markdown", "json", "html"])
def test_a_file_holds_what_would_be_printed(
    run: Run, tmp_path: Path, layout: str
) -> None:
    printed = run(V4, V5, "--format", layout)
    written = run(V4, V5, "--format", layout, "-o", "out")
    assert (printed.exit_code, written.exit_code) == (0, 0)
    assert written.stdout == ""
    assert (tmp_path / "out").read_text(encoding="utf-8") == printed.stdout
    assert "\x1b" not in printed.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_file_is_replaced_whole_or_not_at_all(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    target.write_text("before")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device", "out")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        assert run(V4, V5, "-o", "out").exit_code == 2
    assert target.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert run(V4, V5, "--breaking", "-o", "out").exit_code == 1
    assert target.read_text() != "before"
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert run(V4, V5, "-o", "no/such/directory").exit_code == 2


def test_a_link_and_a_device_stay_what_they_are(run: Run, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("before")
    (tmp_path / "link").symlink_to("real")
    assert run(V4, V5, "-o", "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() != "before"
    assert run(V4, V5, "-o", os.devnull).exit_code == 0
    assert not Path(os.devnull).is_file()
    assert run(V4, V5, "-o", ".").exit_code == 2


def test_help_is_a_manual(run: Run) -> None:
    text = run("--help").stdout
    for word in ("--breaking", "--for", "--format", "--output", "Exit status", "json"):
        assert word in text
    assert "mcpgen diff OLD NEW --breaking --for server" in text
