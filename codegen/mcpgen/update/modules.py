"""Which names some modules have, read from their text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping


class Modules:
    """Modules by their paths, as a type checker would see them."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.read: dict[str, set[str]] = {}

    def has(self, target: tuple[str, ...]) -> bool:
        """Is there such a module, or such a name in one?"""
        for length in range(len(target), 0, -1):
            base = "/".join(target[:length])
            for path in (f"{base}.py", f"{base}/__init__.py"):
                if path in self.texts:
                    rest = target[length:]
                    return not rest or rest[0] in self.names(path)
        return any(path.startswith("/".join(target) + "/") for path in self.texts)

    def names(self, path: str) -> set[str]:
        """What a module of these binds at its top."""
        if path not in self.read:
            self.read[path] = set()  # for modules that import each other
            try:
                nodes = ast.parse(self.texts.get(path, "")).body
            except (SyntaxError, ValueError, RecursionError):
                nodes = []
            self.read[path] = set(self._bound(path, nodes))
        return self.read[path]

    def _bound(self, path: str, nodes: list[ast.stmt]) -> Iterator[str]:
        for node in nodes:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    yield node.name
                case ast.Assign(targets=targets):
                    for target in targets:
                        yield from (
                            n.id for n in ast.walk(target) if isinstance(n, ast.Name)
                        )
                case ast.AnnAssign(target=ast.Name(id=name)):
                    yield name
                case ast.If(body=body, orelse=other) | ast.Try(body=body, orelse=other):
                    yield from self._bound(path, [*body, *other])
                case ast.Import(names=aliases):
                    yield from (a.asname or a.name.split(".")[0] for a in aliases)
                case ast.ImportFrom(module=module, names=aliases, level=level):
                    for alias in aliases:
                        if alias.name != "*":
                            yield alias.asname or alias.name
                        elif level == 1 and module:
                            folder = path.rpartition("/")[0]
                            below = module.replace(".", "/")
                            yield from self.names(f"{folder}/{below}.py")
