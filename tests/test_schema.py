"""What comes in: the official bytes, the errata, and the facts beside them."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from mcpgen.catalog import Catalog
from mcpgen.diagnostics import CompileError
from mcpgen.errata import Erratum, apply_errata
from mcpgen.load import Document, load

SCHEMA = Path(__file__).parents[1] / "schema"
CATALOG = Catalog()

OFFICIAL = {
    "2024-11-05": "61cea2392d4f284092d09bc84b9ac488c0d5618ac2b38a56942fc5b99fd960ce",
    "2025-03-26": "e720669548c8100a4282c49e580efd6ddf7f28899ea786fc8db251dbdb356131",
    "2025-06-18": "af845e7e5b9d27107d1690f0936022546177a1403e63ffb11470135b296a2e01",
    "2025-11-25": "268a5f82ba70fd7e4b6dc4aa1e64f116f74b4d0edcb69dc046829c79dd4e97e7",
    "2026-07-28": "ef70b61f99b6d2e5e3b46863822eab08dff6a45bedc7a08914e0e5b133f40203",
}


@pytest.mark.parametrize(("version", "digest"), OFFICIAL.items())
def test_the_official_bytes_are_unchanged(version: str, digest: str) -> None:
    data = (SCHEMA / version / "schema.json").read_bytes()
    assert sha256(data).hexdigest() == digest == CATALOG.pin(version).sha256
    assert CATALOG.pin(version).source
    assert CATALOG.pin(version).license


def test_nothing_is_pinned_or_lies_about_beyond_the_five() -> None:
    assert CATALOG.names() == tuple(OFFICIAL)
    assert {path.parent.name for path in SCHEMA.glob("*/*")} == set(OFFICIAL)


# --- errata ---------------------------------------------------------------------------


def test_errata_are_told_apart_and_explained() -> None:
    errata = CATALOG.errata()
    assert len({erratum.id for erratum in errata}) == len(errata) > 20
    for erratum in errata:
        assert erratum.versions
        assert set(erratum.versions) <= set(OFFICIAL)
        assert erratum.at
        assert len(erratum.reason) > 40, erratum.id


@pytest.mark.parametrize("version", OFFICIAL)
def test_each_erratum_applies_and_changes_something(version: str) -> None:
    document = CATALOG.read(version)
    for erratum in CATALOG.errata():
        if version in erratum.versions:
            corrected = apply_errata(document, (erratum,), listed_as=version)
            assert corrected.root != document.root, erratum.id
            document = corrected


def _document(**definitions: object) -> Document:
    data = json.dumps({"$defs": definitions}).encode()
    return load(data, version="x", file="x.json")


def test_an_erratum_asserts_what_it_replaces() -> None:
    document = _document(A={"type": "string"})
    right = Erratum("e", "why", ("x",), ("/$defs/A/type",), "integer", "string")
    corrected = apply_errata(document, (right,), listed_as="x")
    assert corrected.root["$defs"]["A"] == {"type": "integer"}
    assert document.root["$defs"]["A"] == {"type": "string"}, "the input is not touched"
    wrong = Erratum("e", "why", ("x",), ("/$defs/A/type",), "integer", "number")
    with pytest.raises(CompileError) as caught:
        apply_errata(document, (wrong,), listed_as="x")
    (found,) = caught.value.diagnostics
    assert (found.code, found.pointer) == ("erratum-mismatch", "/$defs/A/type")


def test_references_follow_the_keyword_of_the_schema() -> None:
    data = json.dumps({"definitions": {"A": {}, "B": {"type": "string"}}}).encode()
    document = load(data, version="x", file="x.json")
    erratum = Erratum("e", "why", ("x",), ("/$defs/A/anyOf",), [{"$ref": "#/$defs/B"}])
    corrected = apply_errata(document, (erratum,), listed_as="x")
    assert corrected.root["definitions"]["A"]["anyOf"] == [{"$ref": "#/definitions/B"}]


def test_a_correction_is_checked_like_any_schema() -> None:
    document = _document(A={"type": "string"})
    wrong = Erratum("e", "why", ("x",), ("/$defs/A/type",), "strin", "string")
    with pytest.raises(CompileError) as caught:
        apply_errata(document, (wrong,), listed_as="x")
    assert caught.value.diagnostics[0].pointer == "/$defs/A/type"


# --- what is derived ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "era", "named", "requests", "notifications"),
    [
        ("2024-11-05", "legacy", 79, 15, 9),
        ("2025-03-26", "legacy", 83, 15, 9),
        ("2025-06-18", "legacy", 91, 16, 9),
        ("2025-11-25", "legacy", 145, 20, 11),
        ("2026-07-28", "modern", 155, 13, 8),
    ],
)
def test_what_a_version_holds(
    version: str, era: str, named: int, requests: int, notifications: int
) -> None:
    protocol, notes = CATALOG.protocol(version)
    kinds = [method.kind for method in protocol.methods]
    assert protocol.era == era
    assert sum(not d.inline for d in protocol.definitions) == named
    assert (kinds.count("request"), kinds.count("notification")) == (
        requests,
        notifications,
    )
    assert notes == ()


METHODS = {
    "tools/call": (
        ("client",),
        "CallToolRequestParams",
        ("CallToolResult", "CreateTaskResult"),
        (None, ("tools",)),
    ),
    "sampling/createMessage": (
        ("server",),
        "CreateMessageRequestParams",
        ("CreateMessageResult", "CreateTaskResult"),
        (("sampling",), None),
    ),
    "resources/subscribe": (
        ("client",),
        "SubscribeRequestParams",
        ("EmptyResult",),
        (None, ("resources", "subscribe")),
    ),
    "tasks/list": (
        ("client", "server"),
        "PaginatedRequestParams",
        ("ListTasksResult",),
        (("tasks", "list"), ("tasks", "list")),
    ),
    "ping": (("client", "server"), "RequestParams", ("EmptyResult",), (None, None)),
    "notifications/roots/list_changed": (
        ("client",),
        "NotificationParams",
        (),
        (("roots", "listChanged"), None),
    ),
    "notifications/message": (
        ("server",),
        "LoggingMessageNotificationParams",
        (),
        (None, ("logging",)),
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_the_method_table(name: str) -> None:
    protocol, _ = CATALOG.protocol("2025-11-25")
    (method,) = (m for m in protocol.methods if m.name == name)
    gates = method.client_capability, method.server_capability
    assert (method.sent_by, method.params, method.results, gates) == METHODS[name]


def test_requests_inside_results_are_embedded_and_deprecations_are_told() -> None:
    methods = {m.name: m for m in CATALOG.protocol("2026-07-28")[0].methods}
    embedded = {name for name, method in methods.items() if method.embedded}
    assert embedded == {"elicitation/create", "roots/list", "sampling/createMessage"}
    deprecated = {name for name, method in methods.items() if method.deprecated}
    assert deprecated == {
        "notifications/message",
        "roots/list",
        "sampling/createMessage",
    }


def test_log_levels_are_in_order_of_severity() -> None:
    for version in OFFICIAL:
        level = CATALOG.protocol(version)[0].definition("LoggingLevel").type
        assert [json.loads(v) for v in level.values] == [  # type: ignore[union-attr]
            *("debug", "info", "notice", "warning"),
            *("error", "critical", "alert", "emergency"),
        ]


def test_traits_are_what_the_specification_says() -> None:
    def trait(name: str) -> list[object]:
        return [
            json.loads(t.value)
            for version in OFFICIAL
            for t in CATALOG.protocol(version)[0].traits
            if t.name == name
        ]

    assert trait("batch") == [False, True, False, False, False]
    assert trait("resource_not_found") == [-32002, -32002, -32002, -32002, -32602]
    assert trait("version_header") == [False, False, True, True, True]
    assert trait("method_headers") == [False, False, False, False, True]
    assert trait("bad_arguments") == ["error", "error", "error", "result", "result"]
