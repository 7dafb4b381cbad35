"""What a project is made of, as one pure function: a request in, files out.

The templates are written in black's style, and what is vendored was formatted when
mcpgen was built: no formatter runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import resources
from ..catalog import Catalog
from ..diagnostics import fail
from ..render import environment
from ..vendor import plan as vendor
from ..vendor.record import as_toml
from ..vendor.request import Request as Vendored
from .names import package_name

if TYPE_CHECKING:
    from .sources import Source

VENDORED = "._mcp.runtime"
INSTALLED = "mcpgen.runtime"
"""Where the package of a project finds the runtime."""
MSGSPEC = "msgspec>=0.20"
HTTP = (
    "uvicorn>=0.30",
    "httptools>=0.6",
    "uvloop>=0.21; platform_system != 'Windows'",
)
"""As the extra `http` of mcpgen; a test compares."""


@dataclass(frozen=True)
class Request:
    """What is asked for; where it goes is another matter."""

    name: str
    versions: tuple[str, ...] = ()
    """Protocol versions; empty means every one."""
    http: bool = False
    """Is HTTP what it is for, and not only for trying things out?"""
    package: bool = False
    """Does it depend on mcpgen, rather than bring a copy of the runtime?"""
    source: Source | None = None
    """Where its tools come from; without one it begins with an example."""


def plan(request: Request, catalog: Catalog) -> dict[str, str]:
    """Path below the project → text, for every file."""
    needed = request.source.dependencies if request.source else ()
    package = package_name(request.name, tuple(map(_distribution, needed)))
    if request.package and request.versions:
        raise fail(
            "option-pointless",
            "--versions chooses what is copied, and with --package nothing is",
            hint="leave one of the two out: installed, mcpgen brings every version",
        )
    files = {}
    if not request.package:
        copy = Vendored(parts=("runtime",), versions=request.versions)
        inside = vendor.plan(copy, catalog)
        files = {f"src/{package}/_mcp/{path}": text for path, text in inside.items()}
    files |= _own(request, package)
    if request.source:
        modules, tests = request.source.modules, request.source.tests
        files |= {f"src/{package}/{path}": text for path, text in modules.items()}
        files |= {f"tests/{path}": text for path, text in tests.items()}
    return dict(sorted(files.items()))


def is_owned(path: str) -> bool:
    """Is a file of the plan one that mcpgen keeps, rather than the user's from now on?"""
    return path.split("/")[2:3] == ["_mcp"]


def _own(request: Request, package: str) -> dict[str, str]:
    """The files that are the user's from the first moment."""
    env = environment(resources.templates_dir())
    context = {
        "name": request.name,
        "package": package,
        "http": request.http,
        "runtime": INSTALLED if request.package else VENDORED,
        "is_vendored": not request.package,
        "source": request.source,
        "source_names": _names(request.source),
        "dependencies": _toml(_dependencies(request)),
        "http_dependencies": _toml(_http(request)),
        "record": "" if request.package else _record(request, package),
    }
    return {
        path: env.get_template(f"project/{template}.jinja").render(context)
        for path, template in {
            ".gitignore": "gitignore",
            ".mcp.json": "mcp.json",
            "Dockerfile": "Dockerfile",
            "Makefile": "Makefile",
            "README.md": "README.md",
            "pyproject.toml": "pyproject.toml",
            f"src/{package}/__init__.py": "init.py",
            f"src/{package}/__main__.py": "main.py",
            f"src/{package}/server.py": "server.py",
            **({} if request.source else {"tests/test_server.py": "test_server.py"}),
        }.items()
    }


def _dependencies(request: Request) -> tuple[str, ...]:
    """What is needed to run."""
    if request.package:
        extra = "[http]" if request.http else ""
        found = (f"mcpgen{extra}>={resources.VERSION}",)
    else:
        found = (MSGSPEC, *(HTTP if request.http else ()))
    more = request.source.dependencies if request.source else ()
    return found + tuple(text for text in more if text not in found)


def _http(request: Request) -> tuple[str, ...]:
    """What HTTP needs besides: the extra `http` of a project that is not about it."""
    if request.http:
        return ()
    return (f"mcpgen[http]>={resources.VERSION}",) if request.package else HTTP


def _record(request: Request, package: str) -> str:
    copy = Vendored(parts=("runtime",), versions=request.versions)
    return as_toml(f"src/{package}/_mcp", copy)


def _names(source: Source | None) -> str:
    """What `server.py` imports from `tools.py`."""
    names = (source.lifespan, source.register) if source else ()
    return ", ".join(sorted(filter(None, names)))


def _toml(requirements: tuple[str, ...]) -> str:
    """A list as it is usually written, a line for each if there are several."""
    shown = [json.dumps(requirement) for requirement in requirements]
    if len(shown) < 2:
        return "".join(f"[{one}]" for one in shown)
    return "[\n" + "".join(f"  {one},\n" for one in shown) + "]"


def _distribution(requirement: str) -> str:
    """The name in a requirement such as `httpx2>=2; python_version > "3"`."""
    end = next((i for i, c in enumerate(requirement) if c in "<>=!~;[ ("), None)
    return requirement[:end].replace("-", "_").lower()
