"""What a project uses of the protocol, found by reading its Python; nothing is run.

This is a reading, not a type check: a name is followed through imports, assignments,
annotations and `with`, inside of one file. What is handed on in other ways is not seen.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from ..diagnostics import Diagnostic, clip
from ..diff.report import printable
from ..emit.methods import constant
from ..ir import Method, Protocol
from ..pins import module_name
from ..publish import MARK
from .calls import ASKS, CALLS

Kind: TypeAlias = Literal["definition", "method", "call", "version"]

NEWEST = "newest"
"""The module of the newest version, whichever that is."""
INSTALLED = ""
"""The tree that is the installed mcpgen itself."""

_MODULES = {"client", "methods", "server", "types", "validators"}
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "build", "dist"}
_MAX_BYTES = 2_000_000


@dataclass(frozen=True)
class Use:
    """One place in the project's code that rests on the protocol."""

    file: str
    line: int
    text: str
    """As the code spells it."""
    kind: Kind
    name: str = ""
    """A definition, or a method as it is called on the wire; of a version: nothing."""
    version: str = ""
    """Of which version; nothing where any may be meant. NEWEST is one of them."""
    tree: str = INSTALLED
    """In which tree of mcpgen's; INSTALLED also where no tree is named."""
    target: tuple[str, ...] = ()
    """What it names there, as a path of modules and names."""
    owner: str = ""
    """Of a call: the class of the runtime that it goes through."""


@dataclass(frozen=True)
class Value:
    """What an expression stands for, as far as reading tells."""

    tree: str | None
    """None while it leads to no tree: then `path` is a dotted name from the top."""
    path: tuple[str, ...]
    instance: int = 0
    """Where attributes of an instance begin in `path`; 0 for what is none."""


Protocols: TypeAlias = Mapping[str, Protocol]
_Test: TypeAlias = Callable[[Method], bool]


def uses(
    root: Path, owned: Mapping[str, bool], protocols: Protocols
) -> tuple[list[Use], list[Diagnostic]]:
    """Every use in the Python files below `root`, and the files that cannot be read.

    `owned` holds each tree by its path in the project: is it a copy, or bindings? They
    are not the project's own code.
    """
    found: list[Use] = []
    notes = []
    hidden = {root / tree for tree in owned}
    for path in _files(root, hidden):
        shown = path.relative_to(root).as_posix()
        try:
            found += _Reader(shown, owned, protocols).read(path)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = f"cannot be read, so what it uses is not known: {clip(str(error))}"
            notes.append(
                Diagnostic(
                    "update-unread", reason, printable(shown), severity="warning"
                )
            )
    return sorted(set(found), key=lambda u: (u.file, u.line, u.text, u.name)), notes


def _files(root: Path, hidden: set[Path]) -> Iterator[Path]:
    for directory, below, names in os.walk(root):
        here = Path(directory)
        below[:] = sorted(
            name
            for name in below
            if not name.startswith(".")
            and name not in _SKIPPED
            and here / name not in hidden
            and not (here / name / "pyvenv.cfg").exists()
        )
        for name in sorted(names):
            path = here / name
            if name.endswith(".py") and path.is_file() and not path.is_symlink():
                yield path


class _Reader(ast.NodeVisitor):
    """The uses of one file."""

    def __init__(
        self, shown: str, owned: Mapping[str, bool], protocols: Protocols
    ) -> None:
        self.shown = shown
        self.owned = owned
        self.protocols = protocols
        self.packages = {module_name(version): version for version in protocols}
        self.methods = {m.name for p in protocols.values() for m in p.methods}
        self.names: dict[str, Value] = {}
        self.found: list[Use] = []

    def read(self, path: Path) -> list[Use]:
        """What is used; raises whatever makes a file no Python."""
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("too large to be a module")
        data = path.read_bytes()
        if data.startswith(MARK):
            return []  # ours, wherever it lies
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about their code, which is theirs
            module = ast.parse(data)
        nodes = list(ast.walk(module))
        for _ in range(2):  # a name may be bound below where it is handed on
            for node in nodes:
                self._bind(node)
        self.visit(module)
        if any(value.tree is not None for value in self.names.values()):
            return self.found
        # A word such as "ping" says nothing in a file that has to do with none of this.
        return [use for use in self.found if use.target or "/" in use.name]

    # --- what names stand for -----------------------------------------------------------

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    path = tuple(alias.name.split("."))
                    if alias.asname:
                        self.names[alias.asname] = self._known(path)
                    else:
                        self.names[path[0]] = self._known(path[:1])
            case ast.ImportFrom():
                for name, value in self._imported(node):
                    self.names[name] = value
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._name(name, self._value(value))
            case ast.AnnAssign(target=ast.Name(id=name)):
                self._name(name, self._instance(node.annotation))
            case ast.withitem(context_expr=value, optional_vars=ast.Name(id=name)):
                self._name(name, self._value(value))
            case ast.arg(arg=name, annotation=ast.expr() as annotation):
                self._name(name, self._instance(annotation))

    def _name(self, name: str, value: Value | None) -> None:
        if value is not None and value.tree is not None:
            self.names[name] = value

    def _imported(self, node: ast.ImportFrom) -> Iterator[tuple[str, Value]]:
        module = tuple(node.module.split(".")) if node.module else ()
        if node.level:
            above = Path(self.shown).parts[: -node.level]
            found = self._inside((*above, *module), exact=True)
            if found is None:
                # One more step may lead into a tree: `from . import _mcp`.
                for alias in node.names:
                    path = (*above, *module, alias.name)
                    if value := self._inside(path, exact=True):
                        yield alias.asname or alias.name, value
                return
        else:
            found = self._known(module)
        for alias in node.names:
            if alias.name == "*":
                yield from self._everything(found)
            else:
                path = (*found.path, alias.name)
                value = self._known(path) if found.tree is None else None
                yield (
                    alias.asname or alias.name,
                    value or replace(found, path=path),
                )

    def _everything(self, module: Value) -> Iterator[tuple[str, Value]]:
        version = self._version(module)
        if module.tree is not None and version in self.protocols:
            for definition in self.protocols[version].definitions:
                path = (*module.path, definition.name)
                yield definition.name, replace(module, path=path)

    def _known(self, path: tuple[str, ...]) -> Value:
        """An absolute name, and the tree that it leads into, if any."""
        if path[:1] == ("mcpgen",) and path[1:2] in (("protocol",), ("runtime",)):
            return Value(INSTALLED, path[1:])
        return self._inside(path, exact=False) or Value(None, path)

    def _inside(self, path: tuple[str, ...], *, exact: bool) -> Value | None:
        """A path of names as one below a tree.

        Where imports start is not known, so that any ending of the tree's own path may be
        its name; the longest is the best guess.
        """
        best: tuple[int, Value] | None = None
        for tree, copy in self.owned.items():
            parts = tuple(tree.split("/"))
            for start in range(1 if exact else len(parts)):
                name = parts[start:]
                if path[: len(name)] == name and (not best or len(name) > best[0]):
                    inside = path[len(name) :]
                    found = Value(tree, inside if copy else ("protocol", *inside))
                    best = len(name), found
        return best[1] if best else None

    def _value(self, node: ast.expr) -> Value | None:
        match node:
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Await(value=inner):
                return self._value(inner)
            case ast.Attribute(value=inner, attr=attribute):
                value = self._value(inner)
                if value is None:
                    return None
                path = (*value.path, attribute)
                if value.tree is None:
                    return self._known(path)
                return replace(value, path=path)
            case ast.Call(func=function, args=arguments):
                return self._called(self._value(function), arguments)
        return None

    def _called(self, value: Value | None, arguments: list[ast.expr]) -> Value | None:
        if value is None or value.tree is None or value.instance:
            return None
        match arguments:
            case [ast.Constant(value=str(version)), *_] if value.path[-2:] == (
                "protocol",
                "load",
            ):
                return replace(value, path=("protocol", module_name(version)))
        for length in (len(value.path), len(value.path) - 1):
            # A class, or what makes one of itself: `Client.connect(…)`.
            if length > 1 and value.path[length - 1][:1].isupper():
                return replace(value, path=value.path[:length], instance=length)
        return None

    def _instance(self, annotation: ast.expr) -> Value | None:
        """What a variable so annotated holds."""
        match annotation:
            case ast.Constant(value=str(text)):
                try:
                    return self._instance(ast.parse(text, mode="eval").body)
                except (SyntaxError, ValueError):
                    return None
            case ast.BinOp(left=left, right=right):
                return self._instance(left) or self._instance(right)
            case ast.Subscript(slice=inner):
                return self._instance(inner)
        value = self._value(annotation)
        if value is None or value.tree is None or value.instance:
            return None
        return replace(value, instance=len(value.path))

    # --- what is used -------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        """`import package._mcp.protocol.v…`: the module itself."""
        for alias in node.names:
            self._use(
                node.lineno, alias.name, self._known(tuple(alias.name.split(".")))
            )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Every name that is imported, under its own name."""
        values = dict(self._imported(node))
        for alias in node.names:
            if alias.name != "*":
                value = values.get(alias.asname or alias.name)
                self._use(alias.lineno, alias.name, value)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """The longest chain: `types.Tool`, `ctx.sample`."""
        if not self._use(node.lineno, ast.unparse(node), self._value(node)):
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """A name that an import or an assignment gave a meaning."""
        value = self.names.get(node.id)
        if isinstance(node.ctx, ast.Load) and value and not value.instance:
            self._use(node.lineno, node.id, value)

    def visit_Call(self, node: ast.Call) -> None:
        """`protocol.load("VERSION")`."""
        value = self._value(node)
        if value is not None and not value.instance:
            self._use(node.lineno, ast.unparse(node), value)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A method by its name on the wire."""
        if isinstance(node.value, str) and node.value in self.methods:
            text = f'"{node.value}"'
            self.found.append(Use(self.shown, node.lineno, text, "method", node.value))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """The handlers that a subclass overrides."""
        for base in node.bases:
            value = self._value(base)
            if value is None or value.path[-1:] not in (
                ("ServerHandlers",),
                ("ClientHandlers",),
            ):
                continue
            for item in node.body:
                if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                    called = item.name.removeprefix("on_")
                    method = self._method(value, _called(called))
                    if method:
                        text = f"{node.name}.{item.name}"
                        self._add(item.lineno, text, "method", method.name, value)
        self.generic_visit(node)

    def _use(self, line: int, text: str, value: Value | None) -> bool:
        """Note what a value is of the protocol's; False when it is nothing."""
        if value is None or value.tree is None or not value.path:
            return False
        if value.path[0] == "runtime":
            return self._call(line, text, value)
        if value.path[0] != "protocol" or len(value.path) < 2:
            return False
        kind, name = self._meaning(value)
        self._add(line, text, kind, name, value)
        return True

    def _meaning(self, value: Value) -> tuple[Kind, str]:
        rest = value.path[2:]
        module = rest[0] if rest and rest[0] in _MODULES else "types"
        names = rest[1:] if rest and rest[0] in _MODULES else rest
        protocol = self.protocols.get(self._version(value))
        if protocol is None or not names:
            return "version", ""
        name = names[0].removeprefix("validate_" if module == "validators" else "")
        if module in ("types", "validators"):
            known = any(d.name == name for d in protocol.definitions)
            return ("definition", name) if known else ("version", "")
        method = None
        if module == "methods":
            method = self._method(value, lambda m: constant(m) == name)
        elif value.instance and len(names) > 1:
            called = names[1].removeprefix("on_")
            method = self._method(value, _called(called))
        return ("method", method.name) if method else ("version", "")

    def _call(self, line: int, text: str, value: Value) -> bool:
        owner = value.path[value.instance - 1] if value.instance else value.path[-1]
        member = (
            value.path[value.instance] if 0 < value.instance < len(value.path) else ""
        )
        behind = CALLS.get(owner, {}).get(member, ())
        if not value.instance and owner in ASKS:
            behind = (ASKS[owner],)
        for method in behind:
            self._add(line, text, "call", method, value, owner)
        if not behind:
            self._add(line, text, "call", "", value, owner)
        return True

    def _add(
        self, line: int, text: str, kind: Kind, name: str, value: Value, owner: str = ""
    ) -> None:
        target = value.path[: value.instance or None]
        version = self._version(value)
        assert value.tree is not None
        self.found.append(
            Use(
                *(
                    self.shown,
                    line,
                    text,
                    kind,
                    name,
                    version,
                    value.tree,
                    target,
                    owner,
                )
            )
        )

    def _version(self, value: Value) -> str:
        if value.path[:1] != ("protocol",) or len(value.path) < 2:
            return ""
        package = value.path[1]
        return self.packages.get(package, NEWEST if package == NEWEST else "")

    def _method(self, value: Value, wanted: _Test) -> Method | None:
        protocol = self.protocols.get(self._version(value))
        return (
            next((m for m in protocol.methods if wanted(m)), None) if protocol else None
        )


def _called(name: str) -> _Test:
    return lambda method: method.python_name == name
