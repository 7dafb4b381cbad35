"""`methods.py` of a version: the method table, error codes and traits."""

from __future__ import annotations

import json

import jinja2

from ..ir import Method, Object, Protocol
from ..names import constant_name


def emit(protocol: Protocol, env: jinja2.Environment) -> dict[str, str]:
    classes = {d.name for d in protocol.definitions if isinstance(d.type, Object)}

    def decodable(name: str) -> str:
        """A class, or the name of an alias: what `codec.decode` takes."""
        return f"types.{name}" if name in classes else repr(name)

    def row(method: Method) -> dict[str, object]:
        return {
            "constant": (
                constant_name(method.definition.removesuffix("Request"))
                if method.kind == "request"
                else constant_name(method.definition.removesuffix("Notification"))
            ),
            "class": "Request" if method.kind == "request" else "Notification",
            "method": method,
            "params": decodable(method.params) if method.params else "None",
            "results": tuple(decodable(name) for name in method.results),
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
