"""The last stage before formatting: IR → text, one emitter per artefact.

An emitter plans in Python (everything a template needs is a ready field) and leaves
the text to a Jinja template.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import jinja2

from .. import resources
from ..diagnostics import clip, fail
from ..ir import Protocol
from ..pins import module_name
from ..render import environment
from . import methods, package, stubs, types, validators

Emitter = Callable[[Protocol, jinja2.Environment], dict[str, str]]

EMITTERS: tuple[Emitter, ...] = (
    package.emit,
    types.emit,
    methods.emit,
    stubs.emit,
    validators.emit,
)


def emit_shared(
    protocols: tuple[Protocol, ...], env: jinja2.Environment
) -> dict[str, str]:
    """The modules that stand once, beside the version packages."""
    versions = [
        {"name": p.version, "package": module_name(p.version), "era": p.era}
        for p in protocols
    ]
    speakable = [version for version in versions if version["era"] != "extension"]
    modules = {
        "__init__": "package",
        "_codec": "codec",
        "_issues": "issues",
        "_methods": "methods",
        "_stubs": "stubs",
    }
    context: dict[str, object] = {"traits": _traits(protocols), "versions": versions}
    if speakable:
        modules["newest"] = "newest"
        context["newest"] = speakable[-1]
    return {
        f"{name}.py": env.get_template(f"shared/{template}.py.jinja").render(context)
        for name, template in modules.items()
    } | {"py.typed": ""}


def rehearse(protocol: Protocol, file: str) -> None:
    """Emit everything once, to see that it can be done; CompileError otherwise."""
    env = environment(resources.templates_dir())
    for emit in EMITTERS:
        for name, text in emit(protocol, env).items():
            try:
                compile(text, name, "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as error:
                raise fail(
                    "internal-syntax",
                    f"{name} would not be Python: {clip(str(error))}",
                    file=file,
                    hint="this is a mistake in mcpgen or its templates; please report it",
                ) from None


def _traits(protocols: tuple[Protocol, ...]) -> list[dict[str, str]]:
    """Every trait with its type, which the values in all versions tell."""
    values: dict[str, set[str]] = {}
    docs: dict[str, str] = {}
    for trait in (trait for protocol in protocols for trait in protocol.traits):
        kind = type(json.loads(trait.value)).__name__
        values.setdefault(trait.name, set()).add(kind)
        docs[trait.name] = trait.doc
    return [
        {"name": name, "type": " | ".join(sorted(values[name])), "doc": docs[name]}
        for name in sorted(values)
    ]
