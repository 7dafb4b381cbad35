"""Findings as SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from ..resources import VERSION
from .finding import Finding
from .rule import Rule
from .rules import RULES

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_INDEX: Final = {id: index for index, id in enumerate(RULES)}


def as_sarif(findings: Iterable[Finding], file: PurePath) -> Iterator[str]:
    """One run, written as its results are found."""
    uri = _uri(file)
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "mcpgen",
                        "version": VERSION,
                        "semanticVersion": VERSION,
                        "rules": [_rule(rule) for rule in RULES.values()],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [],
            }
        ],
    }
    # The only empty list in it is the one that is filled here.
    head, tail = json.dumps(log, indent=1).split("[]")
    yield head + "["
    for index, found in enumerate(findings):
        yield ("," if index else "") + "\n" + json.dumps(_result(found, uri))
    yield f"\n]{tail}\n"


def _uri(file: PurePath) -> str:
    """Relative, as the services want it: an absolute path tells of a machine."""
    parts = file.parts if not file.is_absolute() else (file.name,)
    return "/".join(quote(os.fsencode(part)) for part in parts) or "stdin"


def _rule(rule: Rule) -> dict[str, Any]:
    text = f"{rule.why}\n\nFix: {rule.fix}."
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(found: Finding, uri: str) -> dict[str, Any]:
    text = f"{found.message}\nFix: {found.fix}" if found.fix else found.message
    return {
        "ruleId": found.rule,
        "ruleIndex": _INDEX[found.rule],
        "level": found.severity,
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": found.line},
                },
                "logicalLocations": [{"fullyQualifiedName": found.path}],
            }
        ],
    }
