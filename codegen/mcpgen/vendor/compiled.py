"""The protocol part of a copy that does not ship: cut down, or from other schemas."""

from __future__ import annotations

from ..catalog import Catalog, module_name
from ..format import format_files
from ..render import header, shared_header
from .modules import modules, narrow_package, shared
from .narrow import narrowed
from .request import Request


def compiled(
    request: Request, catalog: Catalog, names: tuple[str, ...]
) -> dict[str, str]:
    """Path below `protocol/` → formatted text."""
    # Imported here: what ships needs none of it.
    from ..emit import (
        emit_shared,
        methods,
        package,
        pydantic,
        stdlib,
        stubs,
        types,
        validators,
    )

    flavoured = {
        "msgspec": types.emit,
        "stdlib": stdlib.emit,
        "pydantic": pydantic.emit,
    }[request.flavour]
    protocols = narrowed(
        tuple(catalog.protocol(name)[0] for name in names),
        request.only,
        with_methods="stubs" in request.parts,
    )
    env = catalog.templates.environment()
    kept = modules(request)
    raw: dict[str, str] = {}
    for protocol in protocols:
        pin = catalog.pin(protocol.version)
        top = header(pin.name, pin.sha256, pin.file, pin.license)
        made = package.emit(protocol, env)
        made["__init__.py"] = narrow_package(made["__init__.py"], kept)
        for emit in (flavoured, methods.emit, stubs.emit, validators.emit):
            made |= emit(protocol, env)
        for module in ("__init__", *kept):
            path = f"{module_name(pin.name)}/{module}.py"
            raw[path] = top + made[f"{module}.py"]
        for file, text in catalog.templates.emit(protocol, env).items():
            path = f"{module_name(pin.name)}/{file}"
            raw[path] = top + text if file.endswith(".py") else text
    beside = emit_shared(protocols, env) | stdlib.emit_shared(protocols, env)
    beside |= pydantic.emit_shared(protocols, env)
    for module in ("__init__", *shared(request)):
        if f"{module}.py" in beside:
            raw[f"{module}.py"] = shared_header(names) + beside[f"{module}.py"]
    return format_files(raw) | {"py.typed": ""}
