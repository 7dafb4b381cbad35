"""A comparison as one HTML page that needs nothing else.

Schema text is hostile: the template escapes everything, and the page's own policy lets
no script run and no style apply but the two that are named by their hash.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from ..ir import Protocol
from ..resources import VERSION, templates_dir
from .change import VERDICTS, Change, Verdict, count
from .history import matrix
from .report import BREAKS, HEADINGS, Report, printable, summary

_TOLD_BY_SUBJECT = ("methods", "definitions")
_COME_AND_GONE = ("DEFINITION_ADDED", "DEFINITION_REMOVED")


@dataclass(frozen=True)
class Card:
    """What is folded together: a method, a definition, or one rule's changes."""

    title: str
    changes: tuple[Change, ...]

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many of its changes have which verdict."""
        return {v: n for v, n in count(self.changes).items() if n}


def as_html(report: Report, protocols: Sequence[Protocol]) -> str:
    """The page; `protocols` are the columns of the matrix, oldest first."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = templates_dir() / "diff"
    env = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    style = (folder / "page.css").read_text(encoding="utf-8")
    script = (folder / "page.js").read_text(encoding="utf-8")
    return env.get_template("page.html.jinja").render(
        report=report,
        summary=summary(report),
        breaks=BREAKS,
        verdicts=VERDICTS,
        groups=[
            (HEADINGS[group], len(changes), list(_cards(group, changes)))
            for group, changes in report.grouped()
        ],
        versions=[protocol.version for protocol in protocols],
        matrix=matrix(protocols),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        mcpgen=VERSION,
    )


def _cards(group: str, changes: Sequence[Change]) -> Iterator[Card]:
    """By subject, the breaking ones first; what comes in numbers, by its rule."""
    found: dict[str, list[Change]] = {}
    for change in changes:
        by_subject = group in _TOLD_BY_SUBJECT and change.rule not in _COME_AND_GONE
        found.setdefault(change.subject if by_subject else change.rule, []).append(
            change
        )
    by_weight = sorted(
        found.items(),
        key=lambda item: (
            item[1][0].rule in _COME_AND_GONE,
            not any(change.breaking_for for change in item[1]),
        ),
    )
    for title, members in by_weight:
        yield Card(title, tuple(members))


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode("ascii")
