"""Stage 1: bytes → `Document`, a JSON Schema that is known to be well formed.

Everything in the bytes is hostile until checked here: what comes out has a known
dialect, known keywords with values of the right shape, references that resolve, and
a bounded depth, so that later stages need no defensive code.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

from .diagnostics import CompileError, Diagnostic, clip, did_you_mean, fail

MAX_DEPTH = 64
"""Deepest nesting of schemas accepted; the official ones reach 12."""

MAX_BYTES = 16 * 1024 * 1024

DIALECTS = {
    "http://json-schema.org/draft-06/schema": "draft-06",
    "http://json-schema.org/draft-07/schema": "draft-07",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
}
_REF_STANDS_ALONE = {"draft-06", "draft-07"}
"""Dialects in which keywords beside `$ref` have no effect."""

DEFINITIONS = ("$defs", "definitions")

JSON_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


@dataclass(frozen=True)
class Document:
    """A schema file of one version, checked."""

    version: str
    file: str
    """How diagnostics call it; never an absolute path."""
    sha256: str
    dialect: str
    root: dict[str, Any]
    diagnostics: tuple[Diagnostic, ...] = ()
    """Warnings and notes so far."""

    @property
    def ref_stands_alone(self) -> bool:
        """Have keywords beside `$ref` no effect?"""
        return self.dialect in _REF_STANDS_ALONE

    @property
    def definitions(self) -> dict[str, tuple[str, Any]]:
        """Name → (JSON pointer, schema), in name order."""
        found = {
            name: (f"/{keyword}/{escape(name)}", schema)
            for keyword in DEFINITIONS
            for name, schema in self.root.get(keyword, {}).items()
        }
        return dict(sorted(found.items()))

    def with_notes(self, notes: list[Diagnostic]) -> Document:
        """The same document, with more to say about it."""
        return replace(self, diagnostics=self.diagnostics + tuple(notes))


def load(data: bytes, *, version: str, file: str) -> Document:
    """Parse and check the bytes of a schema; CompileError says all that is wrong."""
    root = parse_json(data, file)
    if not isinstance(root, dict):
        raise fail(
            "not-a-schema",
            f"the file holds {_describe(root)}, not an object",
            file=file,
            hint="a protocol schema is an object with `$schema` and `$defs`",
        )
    return check(
        Document(version, file, sha256(data).hexdigest(), _dialect(root, file), root)
    )


def parse_json(data: bytes, file: str) -> Any:
    """JSON text → value; refuses what JSON does not have and what hides mistakes."""
    if len(data) > MAX_BYTES:
        raise fail("too-large", f"more than {MAX_BYTES} bytes", file=file)
    try:
        text = data.decode("utf-8-sig")
        value = json.loads(
            text,
            object_pairs_hook=_no_duplicates,
            parse_float=finite,
            parse_constant=_no_constant,
        )
        if "\\u" in text:
            # Half of a surrogate pair is JSON, but no text that could be written.
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        raise fail(
            "not-text",
            "a string holds half of a surrogate pair (\\ud800 to \\udfff)",
            file=file,
        ) from None
    except UnicodeDecodeError as error:
        raise fail("not-utf8", f"byte {error.start} is not UTF-8", file=file) from None
    except json.JSONDecodeError as error:
        raise fail(
            "not-json",
            f"{error.msg} (line {error.lineno}, column {error.colno})",
            file=file,
        ) from None
    except RecursionError:
        raise fail("too-deep", "nested too deeply to be a schema", file=file) from None
    except ValueError as error:  # from the hooks, or an absurdly long number
        raise fail("not-json", clip(str(error)), file=file) from None


def check(document: Document) -> Document:
    """Check keywords, shapes, references and depth of a parsed document."""
    found = list(_check_root(document))
    names: dict[str, str] = {}
    for keyword in DEFINITIONS:
        for name, schema in document.root.get(keyword, {}).items():
            pointer = f"/{keyword}/{escape(name)}"
            if name in names:
                found.append(
                    _problem(
                        "name-collision",
                        f'"{clip(name)}" is also {names[name]}',
                        pointer,
                    )
                )
            names[name] = pointer
            found += _check_schema(schema, pointer, document, depth=1)
    found += _check_ref_cycles(document)
    found = [replace(d, file=document.file) for d in found]
    if any(d.severity == "error" for d in found):
        raise CompileError(found)
    return document.with_notes(found)


def ref_target(ref: str) -> str | None:
    """The definition that `#/$defs/X` or `#/definitions/X` names; None otherwise."""
    for keyword in DEFINITIONS:
        prefix = f"#/{keyword}/"
        if ref.startswith(prefix):
            name = ref[len(prefix) :]
            return None if "/" in name else unescape(unquote(name))
    return None


def escape(token: str) -> str:
    """A key as a JSON pointer token."""
    return token.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """A JSON pointer token as a key."""
    return token.replace("~1", "/").replace("~0", "~")


# --- parsing ------------------------------------------------------------------------


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"a key stands twice in one object: {twice}")
    return result


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def finite(text: str) -> float:
    """A number with a point or an exponent; 1e999 would become what is none."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {clip(text, 40)} is too large")
    return value


def _dialect(root: dict[str, Any], file: str) -> str:
    uri = root.get("$schema")
    if uri is None:
        return "2020-12" if "$defs" in root else "draft-07"
    known = DIALECTS.get(uri.removesuffix("#")) if isinstance(uri, str) else None
    if known is None:
        raise fail(
            "dialect-unknown",
            f'"$schema" is {clip(json.dumps(uri))}',
            file=file,
            pointer="/$schema",
            hint="known dialects: " + ", ".join(DIALECTS),
        )
    return known


# --- checking -----------------------------------------------------------------------


def _problem(code: str, message: str, pointer: str, hint: str = "") -> Diagnostic:
    return Diagnostic(code, message, pointer=pointer, hint=hint)


def _check_root(document: Document) -> Iterator[Diagnostic]:
    known = {"$schema", "$id", "$comment", "title", "description", *DEFINITIONS}
    for keyword in document.root.keys() - known:
        yield replace(
            _problem(
                "root-ignored",
                f'"{clip(keyword)}" beside the definitions is not compiled',
                f"/{escape(keyword)}",
                "move it into a definition",
            ),
            severity="warning",
        )
    for keyword in DEFINITIONS:
        if not isinstance(document.root.get(keyword, {}), dict):
            raise fail(
                "keyword-malformed",
                f'"{keyword}" must be an object',
                file=document.file,
                pointer=f"/{keyword}",
            )
    if not document.definitions:
        yield _problem(
            "no-definitions",
            "the schema defines nothing",
            "",
            "definitions are expected under `$defs` or `definitions`",
        )


def _check_schema(
    schema: Any, pointer: str, document: Document, depth: int
) -> Iterator[Diagnostic]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield _problem(
            "keyword-malformed", f"expected a schema, got {_describe(schema)}", pointer
        )
        return
    if depth > MAX_DEPTH:
        yield _problem("too-deep", f"more than {MAX_DEPTH} schemas deep", pointer)
        return
    for keyword, value in schema.items():
        place = f"{pointer}/{escape(keyword)}"
        if keyword not in KEYWORDS:
            yield _unknown_keyword(keyword, place)
        elif problem := KEYWORDS[keyword](value):
            yield _problem("keyword-malformed", f'"{keyword}" {problem}', place)
        else:
            for sub, subschema in _subschemas(keyword, value):
                yield from _check_schema(subschema, place + sub, document, depth + 1)
    if "$ref" in schema:
        yield from _check_ref(schema, pointer, document)


def _subschemas(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The schemas directly under a keyword, with the rest of their pointer."""
    if keyword in ("properties", "patternProperties"):
        for name, schema in value.items():
            yield f"/{escape(name)}", schema
    elif keyword in ("anyOf", "oneOf", "allOf"):
        for index, schema in enumerate(value):
            yield f"/{index}", schema
    elif keyword in ("items", "additionalProperties", "propertyNames", "not"):
        yield "", value


def _check_ref(
    schema: dict[str, Any], pointer: str, document: Document
) -> Iterator[Diagnostic]:
    ref = schema["$ref"]
    if not isinstance(ref, str):
        return  # reported as malformed
    place = f"{pointer}/$ref"
    target = ref_target(ref)
    if target is None:
        yield _problem(
            "ref-unsupported",
            f'"$ref": "{clip(ref)}" does not name a definition',
            place,
            "only references to definitions of the same file are followed, "
            "such as #/$defs/Tool; give the part a name of its own",
        )
    elif target not in document.definitions:
        yield _problem(
            "ref-unresolved",
            f'"$ref": "{clip(ref)}" names no definition',
            place,
            did_you_mean(target, document.definitions),
        )
    elif not ref.startswith(f"#{document.definitions[target][0].rpartition('/')[0]}/"):
        yield _problem(
            "ref-unresolved",
            f'"$ref": "{clip(ref)}" names no definition',
            place,
            f'did you mean "#{clip(document.definitions[target][0])}"?',
        )
    if document.ref_stands_alone:
        for keyword in schema.keys() - {"$ref"} - _ANNOTATIONS:
            yield replace(
                _problem(
                    "ref-sibling-ignored",
                    f'"{keyword}" beside "$ref" has no effect in {document.dialect}',
                    f"{pointer}/{escape(keyword)}",
                ),
                severity="warning",
            )


def _check_ref_cycles(document: Document) -> Iterator[Diagnostic]:
    """A definition that is only references must end at something."""
    aliases: dict[str, list[str]] = {}
    for name, (_, schema) in document.definitions.items():
        aliases[name] = list(_transparent_refs(schema))
    for start in aliases:
        seen, todo = set(), list(aliases[start])
        while todo:
            name = todo.pop()
            if name == start:
                yield _problem(
                    "ref-cyclic",
                    f'"{clip(start)}" is defined as itself',
                    document.definitions[start][0],
                    "break the cycle: one of its references must become a type",
                )
                break
            if name not in seen:
                seen.add(name)
                todo += aliases.get(name, [])


def _transparent_refs(schema: Any, depth: int = 0) -> Iterator[str]:
    """References reached without passing through an array or an object."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return
    ref = schema.get("$ref")
    if isinstance(ref, str) and (target := ref_target(ref)) is not None:
        yield target
    for keyword in ("anyOf", "oneOf", "allOf"):
        arms = schema.get(keyword)
        for arm in arms if isinstance(arms, list) else ():
            yield from _transparent_refs(arm, depth + 1)
    if "not" in schema:
        yield from _transparent_refs(schema["not"], depth + 1)


def _unknown_keyword(keyword: str, pointer: str) -> Diagnostic:
    if keyword.startswith("x-"):
        return replace(
            _problem(
                "keyword-ignored",
                f'"{clip(keyword)}" is an annotation unknown here',
                pointer,
            ),
            severity="warning",
        )
    if keyword in _UNSUPPORTED:
        return _problem(
            "keyword-unsupported",
            f'"{keyword}" cannot be compiled yet',
            pointer,
            _UNSUPPORTED[keyword] or "express the rule with the supported keywords",
        )
    return _problem(
        "keyword-unknown",
        f'"{clip(keyword)}" is not a keyword of JSON Schema known here',
        pointer,
        did_you_mean(keyword, KEYWORDS) or "annotations of your own start with x-",
    )


def _describe(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


# --- keywords: name → what is wrong with a value ("" when nothing) -------------------

Check = Callable[[Any], str]


def _anything(value: Any) -> str:
    return ""


def _is(kind: type | tuple[type, ...], words: str) -> Check:
    def check_kind(value: Any) -> str:
        # JSON booleans are ints in Python, and are never numbers in a schema.
        wrong_bool = isinstance(value, bool) and kind is not bool
        ok = isinstance(value, kind) and not wrong_bool
        return "" if ok else f"must be {words}, got {_describe(value)}"

    return check_kind


def _is_schema(value: Any) -> str:
    return "" if isinstance(value, dict | bool) else "must be a schema"


def _is_single_schema(value: Any) -> str:
    if isinstance(value, list):
        return "as a list of schemas is not supported: give one schema for all items"
    return _is_schema(value)


def _is_schema_map(value: Any) -> str:
    return "" if isinstance(value, dict) else "must be an object of schemas"


def _is_schema_list(value: Any) -> str:
    ok = isinstance(value, list) and value
    return "" if ok else "must be a non-empty array of schemas"


def _is_type(value: Any) -> str:
    names = value if isinstance(value, list) else [value]
    wrong = [name for name in names if name not in JSON_TYPES]
    if wrong or not names:
        shown = clip(json.dumps(wrong[0] if wrong else value))
        hint = (
            did_you_mean(wrong[0], JSON_TYPES)
            if wrong and isinstance(wrong[0], str)
            else ""
        )
        return f"names no JSON type: {shown} {hint}".rstrip()
    return "" if len(set(names)) == len(names) else "names a type twice"


def _is_string_list(value: Any) -> str:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        return "must be an array of strings"
    return "" if len(set(value)) == len(value) else "names a key twice"


def _is_enum(value: Any) -> str:
    return "" if isinstance(value, list) and value else "must be a non-empty array"


def _is_count(value: Any) -> str:
    ok = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not ok:
        return "must be a whole number, zero or more"
    return "" if value < 2**31 else "is larger than anything could be"


def _is_finite(value: Any) -> str:
    if problem := _is((int, float), "a number")(value):
        return problem
    return "" if math.isfinite(value) else "is out of range"


def _is_positive(value: Any) -> str:
    return _is_finite(value) or ("" if value > 0 else "must be greater than zero")


def _is_pattern(value: Any) -> str:
    if problem := _is(str, "a string")(value):
        return problem
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is not a regular expression that Python reads: {error}"
    return ""


def _are_patterns(value: Any) -> str:
    if problem := _is_schema_map(value):
        return problem
    return next((p for p in map(_is_pattern, value) if p), "")


KEYWORDS: dict[str, Check] = {
    # annotations
    "$comment": _anything,
    "title": _is(str, "a string"),
    "description": _is(str, "a string"),
    "default": _anything,
    "examples": _anything,
    "deprecated": _is(bool, "a boolean"),
    "readOnly": _is(bool, "a boolean"),
    "writeOnly": _is(bool, "a boolean"),
    "format": _is(str, "a string"),
    "contentEncoding": _is(str, "a string"),
    "contentMediaType": _is(str, "a string"),
    # assertions
    "$ref": _is(str, "a string"),
    "type": _is_type,
    "const": _anything,
    "enum": _is_enum,
    "properties": _is_schema_map,
    "required": _is_string_list,
    "additionalProperties": _is_schema,
    "patternProperties": _are_patterns,
    "propertyNames": _is_schema,
    "minProperties": _is_count,
    "maxProperties": _is_count,
    "items": _is_single_schema,
    "minItems": _is_count,
    "maxItems": _is_count,
    "uniqueItems": _is(bool, "a boolean"),
    "anyOf": _is_schema_list,
    "oneOf": _is_schema_list,
    "allOf": _is_schema_list,
    "not": _is_schema,
    "minimum": _is_finite,
    "maximum": _is_finite,
    "exclusiveMinimum": _is_finite,
    "exclusiveMaximum": _is_finite,
    "multipleOf": _is_positive,
    "minLength": _is_count,
    "maxLength": _is_count,
    "pattern": _is_pattern,
}

_ANNOTATIONS = {
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
}

_UNSUPPORTED = {
    "if": "",
    "then": "",
    "else": "",
    "dependencies": "",
    "dependentRequired": "",
    "dependentSchemas": "",
    "prefixItems": "use `items` with one schema for all",
    "additionalItems": "use `items` with one schema for all",
    "contains": "",
    "minContains": "",
    "maxContains": "",
    "unevaluatedProperties": "use `additionalProperties`",
    "unevaluatedItems": "use `items`",
    "contentSchema": "",
    "$id": "only the file itself may have an `$id`",
    "$schema": "only the file itself may have a `$schema`",
    "$anchor": "refer to definitions by name: #/$defs/Name",
    "$dynamicRef": "use `$ref`",
    "$dynamicAnchor": "use `$ref`",
    "$recursiveRef": "use `$ref`",
    "$recursiveAnchor": "use `$ref`",
    "$vocabulary": "",
    "$defs": "move the definitions to the top of the file",
    "definitions": "move the definitions to the top of the file",
}
