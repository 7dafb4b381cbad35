"""The versions that a project has added, beside those that are installed.

They need not be generated: their pinned schemas are compiled in memory, by the stages that
`mcpgen generate` writes files with.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from mcpgen.protocol import ERAS

from .. import resources
from ..catalog import Catalog
from ..ir import Protocol
from .versions import INSTALLED, Check, Version, Versions, generated


def versions(catalog: Catalog) -> Versions:
    """All versions of a catalog; CompileError where a pinned schema is not as it was."""
    added = {
        name: catalog.protocol(name)[0]
        for name in catalog.names()
        if name not in ERAS and catalog.pin(name).kind == "protocol"
    }
    if not added:
        return INSTALLED
    eras = ERAS | {name: protocol.era for name, protocol in added.items()}

    def make(name: str) -> Version:
        return compiled(added[name]) if name in added else generated(name)

    return Versions({n: eras[n] for n in catalog.names() if n in eras}, make)


def compiled(protocol: Protocol) -> Version:
    """A version of which there are no modules."""
    traits = {trait.name: json.loads(trait.value) for trait in protocol.traits}
    methods = protocol.methods
    return Version(
        protocol.version,
        traits=SimpleNamespace(era=protocol.era, **traits),
        requests={m.name: m for m in methods if m.kind == "request"},
        notifications={m.name: m for m in methods if m.kind == "notification"},
        codes={error.code: error.name for error in protocol.errors},
        validators=_validators(protocol),
    )


def _validators(protocol: Protocol) -> dict[str, Check]:
    from ..emit import validators
    from ..render import environment

    (text,) = validators.emit(protocol, environment(resources.templates_dir())).values()
    # As if it stood beside the installed versions, whose helpers it imports.
    module: dict[str, Any] = {"__name__": "mcpgen.protocol.compiled.validators"}
    module["__package__"] = "mcpgen.protocol.compiled"
    exec(compile(text, "validators.py", "exec", dont_inherit=True), module)
    found: dict[str, Check] = module["VALIDATORS"]
    return found
