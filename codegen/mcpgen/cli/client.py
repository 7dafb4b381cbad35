"""`mcpgen client`, and the part of `mcpgen check` that looks at typed clients."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..client import put as placing
from ..client.request import RUNTIME, VENDORED, Request, class_name, read
from ..config import FILE, ClientModule, Config, find_config
from ..diagnostics import CompileError, Diagnostic, clip, fail
from .bindings import MAX_DIFF_LINES
from .common import Format, FormatOption, report, reporting
from .live import (
    BearerOption,
    ConfigOption,
    EnvOption,
    HeaderOption,
    OAuthOption,
    TimeoutOption,
    VersionOption,
    access_to,
)

if TYPE_CHECKING:
    from ..client.listing import Listing
    from ..client.module import Module
    from .connecting import Access


def client(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            help="A command line in quotes, a URL, or a name in --config.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The module: src/weather_client.py"
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare; write nothing.")
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", help="A listing in a file, rather than TARGET."
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only what has such a name. Repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Not what has such a name. Repeatable."),
    ] = None,
    flavour: Annotated[
        str | None,
        typer.Option(help="What models are made of: msgspec, pydantic, typeddict."),
    ] = None,
    vendor: Annotated[
        bool,
        typer.Option("--vendor", help="Copy the runtime beside the module, as _mcp."),
    ] = False,
    runtime: Annotated[
        str | None,
        typer.Option(
            metavar="PACKAGE", help=f"Where the runtime is: {RUNTIME}, or {VENDORED}."
        ),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Write it down in pyproject.toml.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a module that was edited.")
    ] = False,
    config: ConfigOption = None,
    env: EnvOption = None,
    header: HeaderOption = None,
    bearer_env: BearerOption = None,
    oauth: OAuthOption = False,
    version: VersionOption = None,
    timeout: TimeoutOption = 60.0,
    format: FormatOption = Format.text,
) -> None:
    """Write a typed Python client of a server.

    Asks the server for its tools, prompts, resources and resource templates, and writes
    one module: a class with an async method for each, with arguments and results typed
    as their schemas say. Without -o the module is printed. A file that mcpgen did not
    write, or that was edited since, is not overwritten.

    --check asks the server again, and says what has changed since the module was made.
    --record keeps the listing beside the module and writes both down in pyproject.toml:
    then `mcpgen client` alone makes the module again, and `mcpgen check` tells whether
    that is needed, both without the server.

    \b
    Examples:
        mcpgen client "python -m weather" -o src/weather_client.py --record
        mcpgen client https://example.com/mcp -o search_client.py --include 'search*'
        mcpgen client "python -m weather" -o src/weather_client.py --check
        mcpgen client --from listing.json -o weather_client.py --flavour pydantic
        mcpgen client    every module that pyproject.toml records, anew

    \b
    Exit status:
        0    fine
        1    --check: the server no longer matches the module
        2    an error; nothing was written
        130  Ctrl-C
    """
    if vendor and runtime is None and output is not None:
        runtime = _vendored_beside(output)
    table: dict[str, object] = {
        key: value
        for key, value in (
            ("include", include),
            ("exclude", exclude),
            ("flavour", flavour),
            ("runtime", runtime),
        )
        if value
    }
    is_current = True
    with reporting(format) as notes:
        if target is None and source is None:
            _refuse_options(table, output, record)
            is_current = _repeat(check, force, format)
        else:
            access = None
            if target is not None:
                if source is not None:
                    message = "there is a TARGET and --from: give one of them"
                    raise fail("option-pointless", message)
                access = access_to(
                    target, config, env, header, bearer_env, oauth, version, timeout
                )
            place = _place(output, table, record)
            if place is None and (check or record or vendor):
                message = "name the module: -o weather_client.py"
                raise fail("option-missing", message)
            listing = _listing(access, source)
            if place is None:
                _print(listing, table, notes)
            elif check:
                origin = source.name if source else "the server"
                is_current = _matches(place, listing, origin, format)
            else:
                _write(place, listing, source, vendor, record, force, notes)
    if not is_current:
        raise typer.Exit(1)


# --- where, and made like what --------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """A module: where it is, and how it is made."""

    path: Path
    shown: str
    root: Path
    request: Request
    recorded: ClientModule | None


def _place(output: str | None, table: dict[str, object], record: bool) -> _Place | None:
    """The module that is meant; None when it is to be printed."""
    if output is None:
        return None
    from ..vendor.record import project_root

    config = find_config(Path.cwd())
    root = project_root(Path.cwd())
    if not (record or (Path.cwd() / output).is_relative_to(root)):
        root = Path(root.anchor)  # it is somewhere else, and nobody's project
    name = _seen_from(root, output)
    path = placing.module_path(root, root, name)
    recorded = (
        next((c for c in config.clients if c.path == path), None) if config else None
    )
    asked = _asked(table)
    if recorded and table and asked != recorded.request:
        raise fail(
            "client-recorded",
            f"{FILE} records something else for this module",
            file=_shown(path, root),
            hint="change it there, and run: mcpgen client",
        )
    request = recorded.request if recorded else asked
    return _Place(path, _shown(path, root), root, request, recorded)


def _vendored_beside(output: str) -> str:
    """What a module calls the copy beside it: relative in a package, and only there."""
    from ..vendor.record import project_root

    folder, root = (Path.cwd() / output).parent, project_root(Path.cwd())
    is_on_path = folder in (root, root / "src")
    is_package = not is_on_path or (folder / "__init__.py").is_file()
    return VENDORED if is_package else VENDORED.removeprefix(".")


def _seen_from(root: Path, output: str) -> str:
    """`output` as a path below `root`, where it is one; symbolic links stay."""
    path = Path.cwd() / output
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        raise fail(
            "client-path",
            "lies outside of the project",
            file=clip(output),
            hint="run this elsewhere, or name a file below the project",
        ) from None


def _asked(table: dict[str, object]) -> Request:
    request, problems = read(table)
    if problems:
        raise CompileError(
            Diagnostic("client-option", f"--{p.key} {p.message}", hint=p.hint)
            for p in problems
        )
    return request


def _shown(path: Path, root: Path) -> str:
    if path.is_relative_to(Path.cwd()):
        return path.relative_to(Path.cwd()).as_posix()
    is_project = root != Path(root.anchor)
    return path.relative_to(root).as_posix() if is_project else path.name


# --- listings -------------------------------------------------------------------------


def _listing(access: Access | None, source: Path | None) -> Listing:
    """From the server, or from a file."""
    from ..client.listing import parse

    if access is None:
        assert source is not None
        hint = "give what this prints: mcpgen inspect TARGET --json"
        return _kept(source, source.name or str(source), hint)
    from .connecting import explaining, run
    from .page import look

    with explaining(access.target) as said:
        found = run(lambda: look(access, said))
    if found.problems:
        raise CompileError(found.problems)
    return parse(found.as_json().encode(), access.target.shown)


def _kept(path: Path, shown: str, hint: str) -> Listing:
    from ..client.listing import parse
    from ..load import MAX_BYTES

    try:
        with path.open("rb") as file:
            return parse(file.read(MAX_BYTES + 1), shown)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise fail("listing-unreadable", message, file=shown, hint=hint) from None


def _generated(listing: Listing, request: Request, file: str) -> Module:
    # Imported here: --help must not wait for jinja2 and its like.
    from ..client.module import generate

    return generate(listing, request, class_name(file))


# --- doing it -------------------------------------------------------------------------


def _print(listing: Listing, table: dict[str, object], notes: list[Diagnostic]) -> None:
    made = _generated(listing, _asked(table), listing.server or "server")
    notes += made.notes
    typer.echo(made.text, nl=False)


def _write(
    place: _Place,
    listing: Listing,
    source: Path | None,
    vendor: bool,
    record: bool,
    force: bool,
    notes: list[Diagnostic],
) -> None:
    """Make all first, then look whether it may be written, then write."""
    from ..vendor.record import table_as_toml, with_table, write

    made = _generated(listing, place.request, place.path.name)
    kept = place.path.with_suffix(".json")
    if place.recorded:
        kept = place.recorded.listing
    elif record and source is not None and source.resolve().is_relative_to(place.root):
        kept = source.resolve()
    keeps = record or place.recorded is not None
    if not force:
        placing.refuse_module(place.path, place.shown)
    if keeps:
        placing.refuse_listing(kept, _shown(kept, place.root))
    table = {
        "path": place.path.relative_to(place.root).as_posix(),
        "from": kept.relative_to(place.root).as_posix(),
        **place.request.table(),
    }
    is_new = record and place.recorded is None
    text = with_table(place.root / FILE, "client", table) if is_new else ""
    if vendor:
        _vendor_beside(place, record, notes)
    if keeps and (source is None or source.resolve() != kept):
        placing.put(kept, listing.text, _shown(kept, place.root))
    _put(place.path, made, place.shown, notes)
    if is_new:
        if vendor:  # which has written its own table there
            text = with_table(place.root / FILE, "client", table)
        write(place.root / FILE, text)
        typer.echo(f"recorded in {FILE}")
    elif not keeps and (place.root / FILE).is_file():
        typer.echo(f"\nFor `mcpgen check`, use --record, which adds to {FILE}:\n")
        typer.echo(table_as_toml("client", table), nl=False)


def _put(path: Path, made: Module, shown: str, notes: list[Diagnostic]) -> None:
    notes += made.notes
    is_written = placing.put(path, made.text, shown)
    typer.echo(f"{shown}: {'written' if is_written else 'unchanged'}")


def _vendor_beside(place: _Place, record: bool, notes: list[Diagnostic]) -> None:
    from .vendor import copy_runtime

    beside = place.path.parent / VENDORED.removeprefix(".")
    notes += copy_runtime(beside, record)


def _refuse_options(table: dict[str, object], output: str | None, record: bool) -> None:
    if table or output or record:
        raise fail(
            "target-missing",
            "options say what to make, but not of which server",
            hint="name a TARGET, or a listing: --from FILE",
        )


def _repeat(check: bool, force: bool, format: Format) -> bool:
    """Every recorded module anew; with `check`, whether that would change something."""
    config = find_config(Path.cwd())
    if config is None or not config.clients:
        raise fail(
            "client-nothing",
            f"no [[tool.mcpgen.client]] in {FILE} says what to make",
            hint='mcpgen client "python -m weather" -o weather_client.py --record',
        )
    if check:
        found = [is_current(client, config, format) for client in config.clients]
        return all(found)
    made = [(client, _remade(client, config)) for client in config.clients]
    for client, _ in made:
        if not force:
            placing.refuse_module(client.path, _shown(client.path, config.root))
    notes: list[Diagnostic] = []
    for client, module in made:
        _put(client.path, module, _shown(client.path, config.root), notes)
    report(notes, format)
    return True


def _remade(client: ClientModule, config: Config) -> Module:
    shown = client.listing.relative_to(config.root).as_posix()
    hint = "this writes it: mcpgen client TARGET -o FILE --record"
    listing = _kept(client.listing, shown, hint)
    return _generated(listing, client.request, client.path.name)


# --- comparing ------------------------------------------------------------------------


def _matches(place: _Place, listing: Listing, origin: str, format: Format) -> bool:
    """Is the module what would be made of the server as it is now?"""
    from ..client.changes import changes

    text = placing.read_text(place.path)
    if text is None:
        message, hint = "is not there", "make it: the same without --check"
        raise fail("client-missing", message, file=place.shown, hint=hint)
    old = placing.body(text)
    if old is None:
        message = "is no client that mcpgen wrote"
        raise fail("client-missing", message, file=place.shown)
    new = placing.body(_generated(listing, place.request, place.path.name).text) or ""
    found = changes(old, new) if old != new else []
    hint = "to follow the server, run the same without --check"
    if placing.is_edited(text):
        found = ["was edited by hand", *found]
    elif found and placing.listing_sha256(text) == listing.sha256:
        # Its differences are none of the server's, and would only mislead.
        found = ["was made in another way; the server still says the same"]
        hint = (
            "check with the --flavour, --include, --exclude and --runtime that it was made "
            "with, or run the same without --check"
        )
    if not found:
        typer.echo(f"{place.shown} matches {origin}")
        return True
    shown = place.shown
    report(
        [Diagnostic("client-stale", what, shown, hint=hint) for what in found], format
    )
    return False


def is_current(client: ClientModule, config: Config, format: Format) -> bool:
    """Is a recorded module what would be made of the listing kept beside it?"""
    from ..publish import Difference, unified

    shown = client.path.relative_to(config.root).as_posix()
    new = _remade(client, config).text
    old = placing.read_text(client.path)
    if old == new:
        typer.echo(f"{shown} is up to date")
        return True
    difference = Difference(
        shown, "missing" if old is None else "changed", old or "", new
    )
    lines = list(itertools.islice(unified([difference]), MAX_DIFF_LINES + 1))
    for line in lines[:MAX_DIFF_LINES]:
        typer.echo(line)
    if len(lines) > MAX_DIFF_LINES:
        typer.echo(f"… only the first {MAX_DIFF_LINES} lines are shown")
    if old is None:
        what, hint = "is missing", "run: mcpgen client"
    elif placing.is_edited(old):
        what, hint = (
            "was edited by hand",
            "to lose the changes, run: mcpgen client --force",
        )
    else:
        what, hint = "differs", "run: mcpgen client"
    report([Diagnostic("stale", what, shown, hint=hint)], format)
    return False
