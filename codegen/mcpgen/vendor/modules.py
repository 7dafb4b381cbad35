"""Which generated modules a request takes, and how a package without the rest looks."""

from __future__ import annotations

from collections.abc import Iterable

from .request import Request

_NEEDED = {
    # What msgspec cannot judge, the types ask their validators.
    "types": ("types", "validators"),
    "validators": ("validators",),
    "stubs": ("client", "methods", "server", "types", "validators"),
    "runtime": ("client", "methods", "server", "types", "validators"),
}
_SHARED = {
    "types": ("_codec", "_issues"),
    "validators": ("_issues",),
    "stubs": ("_codec", "_issues", "_methods", "_stubs"),
    "runtime": ("_codec", "_issues", "_methods", "_stubs", "newest"),
}
_CODECS = {
    "msgspec": ("_codec",),
    "stdlib": ("_stdlib",),
    "pydantic": ("_pydantic", "_stdlib"),
}
ALL = _NEEDED["runtime"]

_EVERYTHING = "types, methods, stubs and validators"
_STAR = "    from .types import *\n"
_LOOKUP = '    return getattr(import_module(".types", __name__), name)\n'
_NO_LOOKUP = "    raise AttributeError(name)\n"
_DUNDERS = '    if name.startswith("__"):\n        raise AttributeError(name)\n'


def modules(request: Request) -> tuple[str, ...]:
    """The modules of each version package, sorted."""
    needed = {name for part in request.parts for name in _NEEDED[part]}
    return tuple(sorted(needed))


def shared(request: Request) -> tuple[str, ...]:
    """The modules beside the version packages, `__init__` aside; sorted."""
    needed = {name for part in request.parts for name in _SHARED[part]}
    if "_codec" in needed:
        needed = needed - {"_codec"} | set(_CODECS[request.flavour])
    return tuple(sorted(needed))


def narrow_package(text: str, kept: tuple[str, ...]) -> str:
    """The `__init__.py` of a version with only these modules in the package."""
    if kept == ALL:
        return text
    for name in set(ALL) - set(kept):
        text = _replace(text, f"    from . import {name} as {name}\n", "")
    text = _replace(text, _set_of(ALL), _set_of(kept))
    text = _replace(text, _EVERYTHING, " and ".join(kept))
    if "types" not in kept:
        text = _replace(text, _STAR, "")
        text = _replace(text, _DUNDERS + _LOOKUP, _NO_LOOKUP)
    return text


def _set_of(names: Iterable[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f"_MODULES = frozenset({{{listed}}})\n"


def _replace(text: str, old: str, new: str) -> str:
    """Exactly once: should the template change, this must not go unnoticed."""
    if text.count(old) != 1:
        raise AssertionError(f"the package template no longer holds {old!r}")
    return text.replace(old, new)
