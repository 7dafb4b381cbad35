"""Pins: a version is a name and a hash; predecessors; adding one, all or nothing."""

from __future__ import annotations

import json
import os
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from mcpgen import resources
from mcpgen.catalog import Catalog, module_name
from mcpgen.config import Config, parse_config
from mcpgen.diagnostics import CompileError
from mcpgen.pins import Layer, Pin, read_pins, with_pin

from .compiling import schema, tree

SCHEMA = json.dumps(schema(A={"type": "string"})).encode()
OTHER = json.dumps(schema(B={"type": "string"})).encode()


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return parse_config({"output": "out"}, tmp_path)


def add(config: Config, name: str, data: bytes = SCHEMA, **options: Any) -> Catalog:
    catalog = Catalog(config)
    catalog.add(data, name, source="a test", **options)
    return catalog


def code_of(error: pytest.ExceptionInfo[CompileError]) -> str:
    (problem,) = error.value.diagnostics
    return problem.code


# --- the schemas that ship ----------------------------------------------------------


def test_the_shipped_schemas_are_as_pinned() -> None:
    catalog = Catalog()
    assert len(catalog.names()) >= 5
    for name in catalog.names():
        assert sha256(catalog.data(name)).hexdigest() == catalog.pin(name).sha256
        assert catalog.read(name).version == name


def test_each_version_follows_the_one_before() -> None:
    catalog = Catalog()
    names = catalog.names()
    assert list(names) == sorted(names)
    assert catalog.chain(names[-1]) == names
    assert [catalog.predecessor(name) for name in names] == [None, *names[:-1]]


def test_every_file_of_the_shipped_directory_is_pinned() -> None:
    directory = resources.schema_dir()
    files = {p.relative_to(directory).as_posix() for p in directory.glob("*/*")}
    assert files == {pin.file for pin in Catalog().pins.values()}


# --- predecessors -------------------------------------------------------------------


def test_a_new_version_comes_after_the_next_older_by_name(config: Config) -> None:
    newest = Catalog().names()[-1]
    catalog = add(config, "9999-01-01")
    assert catalog.predecessor("9999-01-01") == newest
    assert Catalog(config).names()[-1] == "9999-01-01"


def test_a_version_in_between_changes_no_predecessor(config: Config) -> None:
    """What says what it came after is not moved by a newcomer."""
    before = {name: Catalog().predecessor(name) for name in Catalog().names()}
    catalog = add(config, "2025-07-01")
    for name, predecessor in before.items():
        assert catalog.predecessor(name) == predecessor
    assert catalog.predecessor("2025-07-01") == "2025-06-18"


def test_after_decides(config: Config) -> None:
    catalog = add(config, "draft", after="2025-06-18")
    assert catalog.chain("draft")[-2:] == ("2025-06-18", "draft")
    with pytest.raises(CompileError) as caught:
        add(config, "draft2", OTHER, after="2025-06-19")
    assert code_of(caught) == "version-unknown"
    assert "2025-06-18" in caught.value.diagnostics[0].hint


def test_an_extension_stands_alone_and_last(config: Config) -> None:
    catalog = add(config, "0-ext", kind="extension")
    assert catalog.predecessor("0-ext") is None
    assert catalog.names()[-1] == "0-ext"
    assert catalog.protocol("0-ext")[0].era == "extension"


def test_a_circle_of_predecessors_is_refused(config: Config, tmp_path: Path) -> None:
    add(config, "x-1", SCHEMA, kind="extension")
    add(config, "x-2", OTHER, kind="extension", after="x-1")
    pins = tmp_path / "schema/pins.toml"
    text = pins.read_text()
    first, second = text.split("\n\n")
    pins.write_text(first + '\nafter = "x-2"\n\n' + second)
    with pytest.raises(CompileError) as caught:
        Catalog(config).chain("x-1")
    assert code_of(caught) == "pin-cycle"


# --- adding -------------------------------------------------------------------------


def test_adding_copies_the_bytes_and_pins_them(config: Config, tmp_path: Path) -> None:
    add(config, "x-1")
    assert (tmp_path / "schema/x-1/schema.json").read_bytes() == SCHEMA
    (pin,) = read_pins(Layer(tmp_path / "schema", "schema"))
    assert (pin.name, pin.sha256) == ("x-1", sha256(SCHEMA).hexdigest())
    assert (pin.source, pin.kind, pin.after) == ("a test", "protocol", None)
    assert sorted(os.listdir(tmp_path)) == ["schema"]


def test_the_same_again_changes_nothing(config: Config, tmp_path: Path) -> None:
    add(config, "x-1")
    before = tree(tmp_path)
    assert Catalog(config).add(SCHEMA, "x-1", source="elsewhere") is None
    assert tree(tmp_path) == before


def test_other_bytes_need_another_name(config: Config, tmp_path: Path) -> None:
    add(config, "x-1")
    before = tree(tmp_path)
    with pytest.raises(CompileError) as caught:
        add(config, "x-1", OTHER)
    assert code_of(caught) == "version-exists"
    with pytest.raises(CompileError) as caught:
        add(config, Catalog().names()[0], OTHER)
    assert code_of(caught) == "version-exists"
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["X-1", "x.1", "x_1"])
def test_two_versions_cannot_share_a_package(config: Config, name: str) -> None:
    add(config, "x-1")
    with pytest.raises(CompileError) as caught:
        add(config, name, OTHER)
    assert code_of(caught) == "version-collision"


def test_a_file_without_a_pin_is_not_overwritten(
    config: Config, tmp_path: Path
) -> None:
    file = tmp_path / "schema/x-1/schema.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(OTHER)
    with pytest.raises(CompileError) as caught:
        add(config, "x-1")
    assert code_of(caught) == "file-exists"
    assert file.read_bytes() == OTHER
    add(config, "x-1", OTHER)
    assert "x-1" in Catalog(config).names()


def test_a_failed_write_leaves_neither_file_nor_pin(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(config, "x-1")
    before = tree(tmp_path)
    replace = os.replace

    def fails_on_pins(source: Any, target: Any) -> None:
        if Path(target).name == "pins.toml":
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails_on_pins)
    with pytest.raises(OSError, match="No space"):
        add(config, "x-2", OTHER)
    assert tree(tmp_path) == before
    assert not (tmp_path / "schema/x-2").exists()


def test_two_adds_at_once_lose_nothing(config: Config) -> None:
    """Both have read the same pins before either writes."""
    catalogs = [Catalog(config) for _ in range(4)]
    threads = [
        threading.Thread(
            target=catalog.add,
            args=(json.dumps(schema(A={"const": i})).encode(), f"x-{i}"),
            kwargs={"source": "a test"},
        )
        for i, catalog in enumerate(catalogs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {"x-0", "x-1", "x-2", "x-3"} < set(Catalog(config).names())


def test_what_people_wrote_in_pins_stays(config: Config, tmp_path: Path) -> None:
    pins = tmp_path / "schema/pins.toml"
    pins.parent.mkdir()
    pins.write_text("# mine, without a line end")
    add(config, "x-1")
    assert pins.read_text().startswith("# mine, without a line end\n\n[[version]]\n")


def test_any_source_survives_the_file(tmp_path: Path) -> None:
    source = 'a "b" \\ \n \x7f \u2028 é'
    pin = Pin("x", "x/schema.json", "0" * 64, source)
    (tmp_path / "pins.toml").write_text(with_pin("", pin), encoding="utf-8")
    (again,) = read_pins(Layer(tmp_path, "schema"))
    assert again.source == source


# --- mistakes in the files ----------------------------------------------------------

GOOD = {"name": "x", "file": "x.json", "sha256": "0" * 64, "source": "s"}


def _row(**changes: Any) -> str:
    row = {**GOOD, **changes}
    lines = [f"{k} = {json.dumps(v)}" for k, v in row.items() if v is not None]
    return "[[version]]\n" + "\n".join(lines) + "\n"


BAD = {
    "toml": "[[version]\n",
    "table": "[version]\n",
    "other-table": "[[versions]]\n",
    "unknown-key": _row(sha265="x"),
    "number": _row(source=1),
    "no-source": _row(source=None),
    "kind": _row(kind="draft"),
    "sha256": _row(sha256="ABC"),
    "above": _row(file="../x.json"),
    "absolute": _row(file="/x.json"),
    "twice": _row() + _row(),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_malformed_pins_are_reported(config: Config, tmp_path: Path, text: str) -> None:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema/pins.toml").write_text(text)
    with pytest.raises(CompileError) as caught:
        Catalog(config)
    assert code_of(caught) == "pin-malformed"
    assert caught.value.diagnostics[0].file == "schema/pins.toml"


def test_a_missing_file_is_named_without_its_place(
    config: Config, tmp_path: Path
) -> None:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema/pins.toml").write_text(_row())
    with pytest.raises(CompileError) as caught:
        Catalog(config).data("x")
    assert code_of(caught) == "file-unreadable"
    assert caught.value.diagnostics[0].file == "schema/x.json"
    assert str(tmp_path) not in str(caught.value)


def test_a_project_cannot_repin_a_shipped_version(
    config: Config, tmp_path: Path
) -> None:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema/pins.toml").write_text(_row(name=Catalog().names()[0]))
    with pytest.raises(CompileError) as caught:
        Catalog(config)
    assert code_of(caught) == "version-twice"


@pytest.mark.parametrize(
    ("file", "text", "code"),
    [
        ("errata.toml", "erratum = 1\n", "errata-malformed"),
        ("errata.toml", '[[erratum]]\nversions = "a"\n', "errata-malformed"),
        ("errata.toml", "[[", "errata-malformed"),
        ("overlay.toml", "trait = 1\n", "overlay-malformed"),
        ("overlay.toml", "[[", "overlay-malformed"),
        ("overlay.toml", '[[trait]]\nname = "x"\nvalues = 1\n', "overlay-malformed"),
    ],
)
def test_malformed_facts_are_reported(
    config: Config, tmp_path: Path, file: str, text: str, code: str
) -> None:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / file).write_text(text)
    catalog = Catalog(config)
    with pytest.raises(CompileError) as caught:
        catalog.protocol(catalog.names()[0])
    assert code_of(caught) == code
    assert caught.value.diagnostics[0].file == f"schema/{file}"


def test_package_names() -> None:
    assert module_name("2026-07-28") == "v2026_07_28"
    assert module_name("apps-1.0") == "vapps_1_0"
