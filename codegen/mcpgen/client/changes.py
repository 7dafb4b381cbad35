"""What is different between two texts of a typed client, in words.

The texts are read as syntax trees. An old one may come from anywhere, and is never run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..diagnostics import clip

_KINDS = {
    "_content": "tool",
    "_structured": "tool",
    "_value": "tool",
    "_prompt": "prompt",
    "_read": "resource",
    "_expanded": "resource template",
}


@dataclass(frozen=True)
class _Method:
    shown: str
    """What it is for, as the server calls it."""
    name: str
    parameters: Mapping[str, str]
    returns: str
    doc: str


def changes(old: str, new: str) -> list[str]:
    """From the old text to the new one, most important first; empty if it is the same."""
    try:
        before, after = ast.parse(old), ast.parse(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ["it is not Python any more"]
    found = [
        *_methods_changed(_methods(before), _methods(after)),
        *_models_changed(_models(before), _models(after)),
    ]
    if found or ast.dump(before) == ast.dump(after):
        return found
    if ast.get_docstring(before) != ast.get_docstring(after):
        return ["the server's name or its instructions are others"]
    return ["a model's description, or the order of arguments, is another"]


def _methods(module: ast.Module) -> dict[str, _Method]:
    found = {}
    for node in ast.walk(module):
        if isinstance(node, ast.AsyncFunctionDef):
            kind, target = _purpose(node)
            arguments = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            sent = dict(_renamed(node))
            found[f"{kind} {target}"] = _Method(
                f'{kind} "{clip(target, 80)}"',
                node.name,
                {
                    a.arg: _said(a.annotation, d) + sent.get(a.arg, "")
                    for a, d in arguments
                },
                _said(node.returns, None),
                ast.get_docstring(node) or "",
            )
    return found


def _purpose(node: ast.AsyncFunctionDef) -> tuple[str, str]:
    for part in ast.walk(node):
        match part:
            case ast.Call(
                func=ast.Attribute(attr=name),
                args=[ast.Constant(value=str(target)), *_],
            ) if (
                name in _KINDS
            ):
                return _KINDS[name], target
    return "method", node.name


def _renamed(node: ast.AsyncFunctionDef) -> Iterator[tuple[str, str]]:
    """The arguments that are called otherwise on the wire, and how."""
    for part in ast.walk(node):
        if isinstance(part, ast.Dict):
            for key, value in zip(part.keys, part.values, strict=True):
                match key, value:
                    case ast.Constant(value=str(wire)), ast.Name(id=name):
                        if wire != name:
                            yield name, f", sent as {wire!r}"


def _said(annotation: ast.expr | None, default: ast.expr | None) -> str:
    text = ast.unparse(annotation) if annotation else ""
    return f"{text} = {ast.unparse(default)}" if default else text


def _methods_changed(
    old: Mapping[str, _Method], new: Mapping[str, _Method]
) -> Iterator[str]:
    for key in sorted(old.keys() - new.keys()):
        yield f"{old[key].shown} is gone"
    for key in sorted(new.keys() - old.keys()):
        yield f"{new[key].shown} is new"
    for key in sorted(old.keys() & new.keys()):
        before, after = old[key], new[key]
        for text in _parts_changed("argument", before.parameters, after.parameters):
            yield f"{after.shown}: {text}"
        if before.name != after.name:
            yield f"{after.shown}: its method is now called {clip(after.name, 80)}"
        if before.returns != after.returns:
            what = _arrow(before.returns, after.returns)
            yield f"{after.shown}: its result is another: {what}"
        if before.doc != after.doc:
            yield f"{after.shown}: its description is another"


def _models(module: ast.Module) -> dict[str, dict[str, str]]:
    """Class → what it has; an alias has one part, which has no name."""
    found: dict[str, dict[str, str]] = {}
    for node in module.body:
        match node:
            case ast.ClassDef(name=name) if not _methods(ast.Module([node], [])):
                found[name] = {
                    part.target.id: _said(part.annotation, part.value)
                    for part in node.body
                    if isinstance(part, ast.AnnAssign)
                    and isinstance(part.target, ast.Name)
                }
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = {"": ast.unparse(value)}
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = {"": ast.unparse(value)}
    return found


def _models_changed(
    old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    for name in sorted(old.keys() - new.keys()):
        yield f"model {name} is gone"
    for name in sorted(new.keys() - old.keys()):
        yield f"model {name} is new"
    for name in sorted(old.keys() & new.keys()):
        for text in _parts_changed("field", old[name], new[name]):
            yield f"model {name}: {text}"


def _parts_changed(
    what: str, old: Mapping[str, str], new: Mapping[str, str]
) -> Iterator[str]:
    for name in old:
        if name not in new:
            yield f"{what} {name} is gone"
    for name in new:
        if name not in old:
            yield f"{what} {name} is new: {clip(new[name], 100)}"
        elif old[name] != new[name]:
            where = f"{what} {name}" if name else "it is another"
            yield f"{where}: {_arrow(old[name], new[name])}"


def _arrow(old: str, new: str) -> str:
    return f"{clip(old, 100)} → {clip(new, 100)}"
