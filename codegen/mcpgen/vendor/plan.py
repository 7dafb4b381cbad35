"""What a copy is made of, as one pure function: a request in, files out.

Where the versions are those that ship, and whole, the text is the one that was formatted
when mcpgen was built, and no formatter runs; of some versions, only the two small modules
that list them are rendered. Anything else is compiled as `mcpgen generate` does.
"""

from __future__ import annotations

import json
import re
import sys
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from .. import resources
from ..catalog import ERRATA, OVERLAY, PINS, Catalog, module_name
from ..config import Config
from ..diagnostics import fail
from ..pipeline import MANIFEST, inputs_digest, manifest, versions
from ..render import environment, shared_header
from . import shipped
from .compiled import compiled
from .modules import modules, narrow_package, shared
from .put import PROVENANCE
from .request import Request

_GENERATE = "# Do not edit: run `mcpgen generate`.\n"
_VENDOR = "# Do not edit: run `mcpgen vendor`.\n"
_IMPORT = re.compile(
    r"^[ ]*(?:from ([A-Za-z]\w*)[\w.]* import |import ([A-Za-z]\w*)[\w.]*(?: as \w+)?$)",
    re.MULTILINE,
)
_LENIENT = (
    '# mypy: disable-error-code="import-not-found,import-untyped,misc,has-type"\n'
)
"""An extra that is not installed has no types; a strict check must not fail for that."""


def plan(request: Request, catalog: Catalog) -> dict[str, str]:
    """Path below the destination → text, for every file, MANIFEST included."""
    names = chosen(request, catalog)
    _refuse_speechless(request, catalog, names)
    if is_shipped(request, catalog):
        protocol = _shipped_protocol(request, names)
    else:
        with catalog.templates.located():
            protocol = compiled(request, catalog, names)
    files = {
        f"protocol/{path}": text.replace(_GENERATE, _VENDOR, 1)
        for path, text in protocol.items()
    }
    if "runtime" in request.parts:
        for path, text in shipped.runtime().items():
            files[f"runtime/{path}"] = _runtime_text(path, text)
    files |= shipped.licences()
    files["__init__.py"] = _package_text()
    files[PROVENANCE] = _provenance(request, catalog, names)
    hashes = {path: sha256(text.encode()).hexdigest() for path, text in files.items()}
    files[MANIFEST] = manifest(hashes, digest(request, catalog))
    return dict(sorted(files.items()))


def chosen(request: Request, catalog: Catalog) -> tuple[str, ...]:
    """The versions of the copy; CompileError when one is not pinned."""
    return versions(_settings(request), catalog)


def is_shipped(request: Request, catalog: Catalog) -> bool:
    """Is the text ready, because it is what mcpgen brings?"""
    if request.only or request.flavour != "msgspec" or catalog.templates.own:
        return False
    if any(
        (layer.directory / name).is_file()
        for layer in catalog.layers[1:]
        for name in (PINS, ERRATA, OVERLAY)
    ):
        return False  # the project has a say in what the versions are
    return all(
        name in shipped.eras()
        and shipped.sha256(module_name(name)) == catalog.pin(name).sha256
        for name in chosen(request, catalog)
    )


def digest(request: Request, catalog: Catalog) -> str:
    """One hash over all that the copy depends on, or what stands for it."""
    base = resources.VERSION
    if not is_shipped(request, catalog):
        base = inputs_digest(_settings(request), catalog)
    if request.flavour == "pydantic":
        base += f" {version('datamodel-code-generator')}"
    asked = json.dumps(request.table(), sort_keys=True)
    return sha256(f"{base}\n{asked}".encode()).hexdigest()


def _refuse_speechless(
    request: Request, catalog: Catalog, names: tuple[str, ...]
) -> None:
    kinds = {catalog.pin(name).kind for name in names}
    if "runtime" in request.parts and kinds == {"extension"}:
        raise fail(
            "vendor-version",
            "the runtime needs a protocol version to speak, not only extensions",
            hint=f"choose one of: {', '.join(shipped.eras())}",
        )


def _settings(request: Request) -> Config:
    """The request in the words of the compiler, which asks for nothing but versions."""
    return Config(Path(), None, Path(), request.versions)


def _shipped_protocol(request: Request, names: tuple[str, ...]) -> dict[str, str]:
    source = shipped.protocol()
    kept = modules(request)
    files = {"py.typed": source["py.typed"]}
    for name in names:
        package = module_name(name)
        init = source[f"{package}/__init__.py"]
        files[f"{package}/__init__.py"] = narrow_package(init, kept)
        for module in kept:
            files[f"{package}/{module}.py"] = source[f"{package}/{module}.py"]
    beside = {name: source[f"{name}.py"] for name in ("__init__", *shared(request))}
    if names != tuple(shipped.eras()):
        beside = _fitting(beside, names)
    return files | {f"{name}.py": text for name, text in beside.items()}


def _fitting(beside: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """The shared modules for some of the versions only."""
    eras = shipped.eras()
    rows = [{"name": n, "package": module_name(n), "era": eras[n]} for n in names]
    newest = [row for row in rows if row["era"] != "extension"][-1:]
    env = environment(resources.templates_dir())
    made = {"__init__": "package", "newest": "newest"}
    fitting = {}
    for name, text in beside.items():
        if name in made:
            template = env.get_template(f"shared/{made[name]}.py.jinja")
            body = template.render(versions=rows, newest=newest and newest[0])
        else:
            body = text.partition("\n\n")[2]
        fitting[name] = shared_header(names) + body
    return fitting


def _runtime_text(path: str, text: str) -> str:
    """A module of the runtime as it stands in a copy: its own text below a header."""
    if not path.endswith(".py"):
        return text
    lenient = _LENIENT if _imports_extras(text) else ""
    return _header("Vendored from", lenient) + text


def _imports_extras(text: str) -> bool:
    """Does a module import, somewhere, what a project need not have installed?"""
    roots = {a or b for a, b in _IMPORT.findall(text)}
    return bool(roots - sys.stdlib_module_names - {"msgspec", "mcpgen"})


def _package_text() -> str:
    words = "The Model Context Protocol, vendored: it needs no mcpgen to run."
    return f'{_header("Generated by")}"""{words}"""\n'


def _header(verb: str, more: str = "") -> str:
    return (
        f"# {verb} mcpgen {resources.VERSION}, licensed under MIT (LICENSE).\n"
        f"{_VENDOR}{more}\n"
    )


def _provenance(request: Request, catalog: Catalog, names: tuple[str, ...]) -> str:
    content = {
        "mcpgen": resources.VERSION,
        "request": request.table(),
        "schemas": {name: catalog.pin(name).sha256 for name in names},
    }
    return json.dumps(content, indent=2, sort_keys=True) + "\n"
