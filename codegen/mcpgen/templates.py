"""The templates that a project renders with: the built-in ones, and its own over them.

Its own are its own code, and trusted like that; but a mistake in one is told with its
place, and never as a traceback through the compiler. docs/templates.md is the contract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from . import ir, resources, swap
from .diagnostics import CompileError, Diagnostic, clip, did_you_mean, fail
from .render import environment, plain_text
from .vendor.modules import ALL

if TYPE_CHECKING:
    import jinja2

    from .config import Config

EXTRA = "extra/"
"""Where templates of the project lie that stand for none of ours."""

_ELSEWHERE = ("client/", "diff/", "docs/", "page/", "project/", "view/")
"""Templates of commands that emit no bindings: nobody's to override."""
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_TAKEN = {"__init__.py", *(f"{module}.py" for module in ALL)}
_PARSED = re.compile(r".*?: (\d+):\d+(?::|\\n)\s*(.*?)(?:\\n.*|$)")
"""What black says, on one line: `cannot parse …: LINE:COLUMN\n TEXT\n …`."""
_NO_FIELD = re.compile(r"'mcpgen\.ir\.(\w+) object' has no attribute '(\w+)'")
_PAGE = "docs/templates.md tells what a template is given; values: mcpgen ir VERSION"


def built_in() -> dict[str, str]:
    """Name → text of every template that can be overridden, sorted."""
    root = resources.templates_dir()
    names = (
        path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()
    )
    return {
        name: (root / name).read_text(encoding="utf-8")
        for name in sorted(names)
        if not name.startswith(_ELSEWHERE)
    }


def export(
    texts: dict[str, str], root: Path, label: str, *, force: bool
) -> tuple[str, ...]:
    """Write templates below `root`, all or none; gives the names that were not there.

    They belong to the project from then on: one that differs is its work.
    """
    with swap.writing(root):
        changed = {}
        found = []
        for name, text in texts.items():
            path = root / name
            data = text.encode()
            if problem := _in_the_way(path, data, name, root, force):
                message, hint = problem
                shown = f"{label}/{name}"
                found.append(Diagnostic("template-exists", message, shown, hint=hint))
            elif not path.exists() or path.read_bytes() != data:
                changed[name] = data
        if found:
            raise CompileError(found)
        if changed:
            swap.apply(root, changed)
    return tuple(changed)


def _in_the_way(
    path: Path, data: bytes, name: str, root: Path, force: bool
) -> tuple[str, str] | None:
    """Why a template cannot be written there, and a hint; None when it can."""
    if not swap.is_inside(name, root) or path.is_symlink():
        return "a symbolic link is in the way", "replace the link by what it points to"
    if path.is_dir() or (path.parent.exists() and not path.parent.is_dir()):
        return "something else is in the way", "move it away"
    if path.exists() and path.read_bytes() != data and not force:
        return "is there, and differs", "--force overwrites it"
    return None


@dataclass(frozen=True)
class Templates:
    """What renders: our templates, and those of a directory over them."""

    directory: Path | None = None
    label: str = ""
    """How diagnostics call the directory: never an absolute path."""

    @classmethod
    def of(cls, config: Config | None) -> Templates:
        """Those that the settings name."""
        if config is None or config.templates is None:
            return cls()
        label = config.templates.relative_to(config.root).as_posix()
        return cls(config.templates, label)

    @cached_property
    def own(self) -> dict[str, str]:
        """Name → text of the project's templates; CompileError lists what is none."""
        if self.directory is None:
            return {}
        if not self.directory.is_dir():
            raise fail(
                "templates-missing",
                "there is no such directory of templates",
                file=self.label,
                hint="mcpgen templates export makes it, with what you want to change",
            )
        texts = {}
        found = []
        known = built_in()
        for path in sorted(self.directory.rglob("*")):
            relative = path.relative_to(self.directory)
            hidden = any(part.startswith(".") for part in relative.parts)
            if hidden or path.is_dir():
                continue
            name = relative.as_posix()
            problem = _problem(name, known)
            try:
                texts[name] = path.read_bytes().decode()
            except OSError as error:
                problem = problem or (f"cannot be read: {error.strerror}", "")
            except UnicodeDecodeError:
                problem = problem or ("is not UTF-8", "")
            if problem:
                message, hint = problem
                shown = self._shown(name)
                found.append(Diagnostic("template", message, shown, hint=hint))
        if found:
            raise CompileError(found)
        return texts

    @property
    def extras(self) -> tuple[str, ...]:
        """The project's templates that emit a file of their own."""
        return tuple(name for name in self.own if _is_extra(name))

    def environment(self) -> jinja2.Environment:
        """What every emitter renders with."""
        if self.directory is None or not self.own:
            return environment(resources.templates_dir())
        # Imported here: ours have no need of them.
        from .diff.markdown import code, words
        from .diff.types import show

        env = environment(self.directory, resources.templates_dir())
        env.filters |= {"plain": plain_text, "words": words, "code": code, "show": show}
        return env

    def emit(self, protocol: ir.Protocol, env: jinja2.Environment) -> dict[str, str]:
        """The extra files of a version: an emitter like those in `emit`."""
        return {
            _target(name): env.get_template(name).render(protocol=protocol)
            for name in self.extras
        }

    @contextmanager
    def located(self) -> Iterator[None]:
        """What goes wrong because of the project's templates gets a place in them."""
        try:
            yield
        except CompileError as error:
            if not self.own:
                raise
            raise CompileError(map(self._blamed, error.diagnostics)) from None
        except Exception as error:
            problem = self._located(error) if self.own else None
            if problem is None:
                raise
            raise CompileError([problem]) from error

    def _located(self, error: Exception) -> Diagnostic | None:
        """A diagnostic at the innermost template; None when none is on the way."""
        from jinja2 import TemplateNotFound, TemplateSyntaxError

        text = str(error)
        message, hint = f"{type(error).__name__}: {clip(text)}", _PAGE
        if isinstance(error, TemplateNotFound):
            message = f'there is no template "{clip(text)}"'
            hint = did_you_mean(text, [*built_in(), *self.own])
        elif type(error).__module__.startswith("jinja2"):
            message = clip(text)
            if field := _NO_FIELD.match(text):
                kind = getattr(ir, field[1])
                known = {*dir(kind), *kind.__match_args__}
                hint = did_you_mean(field[2], sorted(known)) or _PAGE
        if isinstance(error, TemplateSyntaxError):
            shown = self._template(error.filename or "")
            hint = "the syntax is that of Jinja: {{ value }}, {% if %}, {# comment #}"
            line = error.lineno
        else:
            shown, line = "", 0
            trace = error.__traceback__
            while trace is not None:
                if name := self._template(trace.tb_frame.f_code.co_filename):
                    shown, line = name, trace.tb_lineno
                trace = trace.tb_next
        if not shown:
            return None
        if not shown.startswith(f"{self.label}/"):
            hint = f"it is made for what ours give it: see {self._overriding()}"
        return Diagnostic("template", message, shown, hint=hint, line=line)

    def _blamed(self, found: Diagnostic) -> Diagnostic:
        """That a result is no Python is the project's business when it renders."""
        if found.code != "internal-syntax":
            return found
        names = [n for n in self.extras if _target(n) == Path(found.file).name]
        where = self._shown(names[0]) if names else self._overriding()
        parsed = _PARSED.match(found.message)
        line, text = (int(parsed[1]), parsed[2]) if parsed else (0, found.message)
        message = f"the text that results is not Python: {text}"
        hint = f"it is made by your templates: see {where}"
        return Diagnostic("template-output", message, found.file, hint=hint, line=line)

    def _template(self, filename: str) -> str:
        """A file as diagnostics call it, if it is a template; else nothing."""
        path = Path(filename)
        if self.directory and path.is_relative_to(self.directory):
            return self._shown(path.relative_to(self.directory).as_posix())
        root = resources.templates_dir()
        if path.is_relative_to(root):
            return f"builtin/{path.relative_to(root).as_posix()}"
        return ""

    def _overriding(self) -> str:
        names = [name for name in self.own if not name.startswith(EXTRA)]
        return ", ".join(map(self._shown, names)) or self.label

    def _shown(self, name: str) -> str:
        return f"{self.label}/{clip(name)}"


def _is_extra(name: str) -> bool:
    """Does it emit a file? One with a leading underscore is there to be included."""
    return name.startswith(EXTRA) and not name.startswith(f"{EXTRA}_")


def _target(name: str) -> str:
    return name.removeprefix(EXTRA).removesuffix(".jinja")


def _problem(name: str, known: dict[str, str]) -> tuple[str, str] | None:
    """Why a file of this name is no template, and a hint; None when it is one."""
    if name in known:
        return None
    if not name.startswith(EXTRA):
        if name.startswith(_ELSEWHERE):
            return "is a template that cannot be overridden", "remove it"
        hint = did_you_mean(name, known) or (
            f"mcpgen templates list has the names; what emits a file of its own is in {EXTRA}"
        )
        return "is not a template of mcpgen", hint
    target = _target(name)
    if not name.endswith(".jinja") or not _FILE.fullmatch(target):
        return (
            "cannot be an extra template",
            f"call it {EXTRA}NAME.jinja: letters, digits, dots, dashes, underscores",
        )
    if target.lower() in _TAKEN or target == "py.typed":
        return f"would emit {target}, which mcpgen does", "choose another name"
    return None
