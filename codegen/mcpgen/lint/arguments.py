"""Values of a tool against its schema; the schema is a stranger's, too.

jsonschema, an extra, decides when it is there. Without it, what a glance shows is told:
keys that are missing, unknown, or of another type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from .text import short

AT_MOST: Final = 5
REFERENCES: Final = 1_000
"""So many are followed in a schema."""
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def problems(schema: Any, value: Any) -> list[tuple[str, str]]:
    """Paths inside the value, and what is wrong there."""
    if not isinstance(schema, dict):
        return []
    try:
        return list(islice(_by_jsonschema(schema, value), AT_MOST))
    except ImportError:
        return list(islice(_at_a_glance(schema, value), AT_MOST))
    except Exception:
        # A schema can be wrong in any way, and this is about the value.
        return []


class _TooMuch(Exception):
    """A schema that refers to itself so often that it would never end."""


def _by_jsonschema(schema: dict[str, Any], value: Any) -> Iterator[tuple[str, str]]:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend, validator_for
    from jsonschema_specifications import REGISTRY

    kind: Any = validator_for(schema, default=Draft202012Validator)
    left = REFERENCES

    def counted(rule: Callable[..., Any]) -> Callable[..., Any]:
        def follow(*arguments: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise _TooMuch
            return rule(*arguments)

        return follow

    # A stranger's regular expressions may take for ever.
    rules = dict.fromkeys(("pattern", "patternProperties"), _ignored)
    for key in ("$ref", "$dynamicRef", "$recursiveRef"):
        if key in kind.VALIDATORS:
            rules[key] = counted(kind.VALIDATORS[key])
    bounded: Any = extend(kind, rules)  # type: ignore[no-untyped-call]
    # This registry fetches nothing.
    for error in bounded(schema, registry=REGISTRY).iter_errors(value):
        yield error.json_path, short(error.message, 200)


def _ignored(*_: Any) -> Any:
    return None


def _at_a_glance(schema: dict[str, Any], value: Any) -> Iterator[tuple[str, str]]:
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _TYPES and not _is(value, kind):
        yield "$", f"{kind} is expected"
    if not isinstance(value, dict):
        return
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    for key in required if isinstance(required, list) else ():
        if isinstance(key, str) and key not in value:
            yield f"$.{short(key)}", "required, but missing"
    for key, item in value.items():
        at = f"$.{short(key)}"
        if key not in properties:
            closed = schema.get("additionalProperties") is False
            if closed and "patternProperties" not in schema:
                yield at, "not allowed"
            continue
        wanted = properties[key].get("type") if isinstance(properties[key], dict) else 0
        if isinstance(wanted, str) and wanted in _TYPES and not _is(item, wanted):
            yield at, f"{wanted} is expected"


def _is(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    if wanted == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[wanted])
