"""HTML pages that need nothing else: one file, no network, one house style.

What a page shows is hostile: the templates escape everything, and the page's own policy
lets no script run and no style apply but the two that are named by their hash.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any

from .diff.report import printable
from .resources import VERSION, templates_dir


def render(command: str, **values: Any) -> str:
    """The page of a command, from `templates/<command>/page.{html.jinja,css,js}`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = templates_dir()
    env = Environment(
        loader=FileSystemLoader(templates),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    shared = (templates / "page" / "page.css").read_text(encoding="utf-8")
    style = shared + (templates / command / "page.css").read_text(encoding="utf-8")
    script = (templates / command / "page.js").read_text(encoding="utf-8")
    return env.get_template(f"{command}/page.html.jinja").render(
        values,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        mcpgen=VERSION,
        generator=generator(command),
    )


def generator(command: str) -> str:
    """By what a page says that it is ours, near its beginning."""
    return f"mcpgen {command}"


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode("ascii")
