"""`__init__.py` of a version: a lazy surface that type checkers see in full."""

from __future__ import annotations

import jinja2

from ..ir import Protocol


def emit(protocol: Protocol, env: jinja2.Environment) -> dict[str, str]:
    """The `__init__.py` of a version."""
    template = env.get_template("package/init.py.jinja")
    return {"__init__.py": template.render(protocol=protocol)}
