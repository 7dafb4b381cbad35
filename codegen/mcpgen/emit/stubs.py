"""`server.py` and `client.py`: typed handlers and callers for each side."""

from __future__ import annotations

import jinja2

from ..ir import ANY_OBJECT, Method, Protocol, Side
from .methods import constant

_OTHER: dict[Side, Side] = {"client": "server", "server": "client"}


def emit(protocol: Protocol, env: jinja2.Environment) -> dict[str, str]:
    """The stubs of both sides."""
    template = env.get_template("stubs/side.py.jinja")
    methods = sorted(protocol.methods, key=lambda m: (m.kind != "request", m.name))
    files = {}
    for side, other in _OTHER.items():
        incoming = [_stub(m) for m in methods if other in m.sent_by]
        # What travels inside a result is not sent on its own.
        sent = [_stub(m) for m in methods if side in m.sent_by and not m.embedded]
        files[f"{side}.py"] = template.render(
            version=protocol.version,
            side=side,
            other=other,
            incoming=incoming,
            outgoing=sent,
            uses_any=any(stub["uses_any"] for stub in incoming + sent),
        )
    return files


def _stub(method: Method) -> dict[str, object]:
    params = f"types.{method.params}" if method.params else "None"
    if method.params == ANY_OBJECT:
        params = "dict[str, Any]"
    results = " | ".join(f"types.{name}" for name in method.results)
    if not results:
        results = "Any" if method.kind == "request" else "None"
    return {
        "method": method,
        "name": method.python_name,
        "constant": constant(method),
        "params": (
            params
            if method.params_required or not method.params
            else f"{params} | None"
        ),
        "default": "" if method.params_required else " = None",
        "results": results,
        "uses_any": results == "Any" or method.params == ANY_OBJECT,
        "doc": method.doc
        + (f"\n\nDeprecated. {method.deprecated}" if method.deprecated else ""),
    }
