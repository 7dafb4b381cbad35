"""What a document gives, and how its modules are written."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ...diagnostics import Diagnostic
from ...names import field_name
from .shapes import spelled

JSONSCHEMA = "jsonschema>=4.20"


@dataclass(frozen=True)
class Source:
    """What a document gives a new project."""

    kind: Literal["tools", "openapi"]
    modules: dict[str, str]
    """File name in the package → formatted text; `tools.py` has `register`."""
    tests: dict[str, str]
    """File name among the tests → formatted text."""
    dependencies: tuple[str, ...]
    """Requirements beyond msgspec."""
    tools: tuple[str, ...]
    """The names of the tools, in the document's order."""
    register: str = "register"
    """The function of `tools.py` that offers them all: it takes the server."""
    lifespan: str = ""
    """A function of `tools.py` for `Server(lifespan=…)`, if there is one."""
    notes: tuple[Diagnostic, ...] = ()
    """What is worth knowing, and did not stop anything."""


def function_names(tools: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """A Python name for the function of each tool; alike ones are spelled out."""
    tools = list(tools)
    names = {tool: field_name(tool) for tool in tools}
    folded = list(names.values())
    reserved = {*dir(builtins), *keyword.kwlist, *taken}
    for tool, name in names.items():
        if folded.count(name) > 1:
            name = spelled(tool)
        names[tool] = f"{name}_" if name in reserved else name
    return names


def names_in(parameters: Iterable[str]) -> list[str]:
    """Which names annotations and defaults use, so that a module imports just those."""
    return sorted(
        {
            node.id
            for text in parameters
            for node in ast.walk(ast.parse(f"def f({text}): ..."))
            if isinstance(node, ast.Name)
        }
    )


def says(literal: str, text: str) -> bool:
    """Is a docstring, as it is read back, just that text?"""
    try:
        return inspect.cleandoc(ast.literal_eval(literal)) == text and (
            # A section about arguments would be taken for more than text.
            not any(word in text for word in (":param ", "Arg", "Parameters"))
        )
    except (SyntaxError, ValueError):
        return False


def render(templates: dict[str, str], context: dict[str, Any]) -> dict[str, str]:
    """File name → text, each from a template of `project/`, in black's style."""
    from ...format import format_files
    from ...render import environment
    from ...resources import templates_dir

    env = environment(templates_dir())
    return format_files(
        {
            name: env.get_template(f"project/{template}.jinja").render(context)
            for name, template in templates.items()
        }
    )
