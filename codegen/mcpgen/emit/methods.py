"""`methods.py` of a version: the method table, error codes and traits."""

from __future__ import annotations

import json

import jinja2

from ..ir import ANY_OBJECT, Method, Protocol
from ..names import constant_name
from .types import struct_names


def emit(protocol: Protocol, env: jinja2.Environment) -> dict[str, str]:
    """The module with the method table."""
    classes = struct_names(protocol)

    def decodable(name: str) -> str:
        """A class, or the name of an alias: what `codec.decode` takes."""
        if name == ANY_OBJECT:
            return "dict"
        return f"types.{name}" if name in classes else f'"{name}"'

    def row(method: Method) -> dict[str, object]:
        return {
            "constant": constant(method),
            "class": "Request" if method.kind == "request" else "Notification",
            "method": method,
            "params": decodable(method.params) if method.params else "None",
            "results": [decodable(name) for name in method.results],
        }

    template = env.get_template("methods/methods.py.jinja")
    rows = [row(method) for method in sorted(protocol.methods, key=lambda m: m.name)]
    return {
        "methods.py": template.render(
            protocol=protocol,
            requests=[r for r in rows if r["class"] == "Request"],
            notifications=[r for r in rows if r["class"] == "Notification"],
            traits={t.name: json.loads(t.value) for t in protocol.traits},
        )
    }


def constant(method: Method) -> str:
    """What the method's row is called: `CallToolRequest` → `CALL_TOOL`."""
    suffix = "Request" if method.kind == "request" else "Notification"
    return constant_name(method.definition.removesuffix(suffix) or method.definition)
