"""The whole compiler as one pure function: settings and schemas in, files out.

`mcpgen generate` writes what `generate` returns, `mcpgen check` compares it, tests look
at it. Nothing here writes a file.
"""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version

from . import resources
from .catalog import ERRATA, OVERLAY, PINS, Catalog, module_name
from .config import Config
from .format import format_files
from .render import header, shared_header

MANIFEST = "MANIFEST"
"""Names every generated file with its hash: what mcpgen may overwrite and remove."""


def generate(config: Config, catalog: Catalog) -> dict[str, str]:
    """Path below `config.output` → text, for every file, MANIFEST included."""
    from .emit import EMITTERS, emit_shared

    names = versions(config, catalog)
    protocols = tuple(catalog.protocol(name)[0] for name in names)
    raw: dict[str, str] = {}
    with catalog.templates.located():
        env = catalog.templates.environment()
        for protocol in protocols:
            pin = catalog.pin(protocol.version)
            top = header(pin.name, protocol.sha256, pin.file, pin.license)
            for emit in (*EMITTERS, catalog.templates.emit):
                for file, body in emit(protocol, env).items():
                    path = f"{module_name(pin.name)}/{file}"
                    raw[path] = _with_header(file, top, body)
        top = shared_header(names)
        for file, body in emit_shared(protocols, env).items():
            raw[file] = _with_header(file, top, body)
        files = format_files(raw)
    hashes = {path: sha256(text.encode()).hexdigest() for path, text in files.items()}
    return {**files, MANIFEST: manifest(hashes, inputs_digest(config, catalog))}


def versions(config: Config, catalog: Catalog) -> tuple[str, ...]:
    """What the settings ask for, in the catalog's order."""
    wanted = set(config.versions) or set(catalog.names())
    for name in sorted(wanted):
        catalog.pin(name)
    return tuple(name for name in catalog.names() if name in wanted)


def inputs_digest(config: Config, catalog: Catalog) -> str:
    """One hash over everything that the output depends on, without making it."""
    digest = sha256()

    def feed(label: str, data: bytes) -> None:
        # Lengths keep one part from running into the next.
        for part in (label.encode(), data):
            digest.update(len(part).to_bytes(8, "big") + part)

    feed("mcpgen", resources.VERSION.encode())
    feed("black", _black_version().encode())
    names = versions(config, catalog)
    feed("versions", json.dumps(names).encode())
    # Predecessors count: a version inherits from them what it does not say itself.
    needed = dict.fromkeys(one for name in names for one in catalog.chain(name))
    for name in needed:
        feed(f"schema {name}", catalog.data(name))
    for number, layer in enumerate(catalog.layers):
        for name in (PINS, ERRATA, OVERLAY):
            path = layer.directory / name
            if path.is_file():
                feed(f"{number} {name}", path.read_bytes())
    templates = resources.templates_dir()
    for path in sorted(p for p in templates.rglob("*") if p.is_file()):
        feed(f"template {path.relative_to(templates).as_posix()}", path.read_bytes())
    for name, text in catalog.templates.own.items():
        feed(f"own template {name}", text.encode())
    for name, path in resources.compiler_sources():
        feed(f"source {name}", path.read_bytes())
    return digest.hexdigest()


def _with_header(file: str, top: str, body: str) -> str:
    return top + body if file.endswith(".py") else body


def manifest(hashes: dict[str, str], inputs: str) -> str:
    """The MANIFEST of files with these hashes, made from these inputs."""
    content = {"mcpgen": resources.VERSION, "inputs": inputs, "files": hashes}
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def _black_version() -> str:
    # Asked of the metadata: importing black takes longer than the whole fast path.
    try:
        return version("black")
    except PackageNotFoundError:
        return ""
