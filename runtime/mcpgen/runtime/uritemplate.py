"""URI templates (RFC 6570): expansion of all four levels, and matching.

Matching finds the values that expand to a URI. A value is never empty outside a query.
What an operator puts a sign before (`{/x}`, `{.x}`, `{#x}`, each query variable) may be
absent, and then has no value. An unknown query name is no match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

MAX_URI = 2**14  # a longer one matches nothing: time is linear in length, but not free

Value: TypeAlias = str | list[str]

_LITERAL = re.compile(r"(?:[^\x00-\x20\x7f\"%<>\\^`{|}]|%[0-9A-Fa-f]{2})+")
_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_VARIABLE = re.compile(r"((?:\.?(?:\w|%[0-9A-F]{2}))+)(\*|:[1-9]\d{0,3})?", re.A | re.I)
_UNSAFE = re.compile(r"[^\w.~-]", re.A)
_UNRESERVED = re.compile(r"[^\w.~:/?#\[\]@!$&'()*+,;=%-]|%(?![0-9A-F]{2})", re.A | re.I)
_SEPARATORS = {"": ",", "+": ",", "#": ",", ".": ".", "/": "/", ";": ";", "?": "&"}


class _Variable(NamedTuple):
    name: str
    explode: bool
    prefix: int | None


class _Part(NamedTuple):
    """The text `lead` and then, but for a literal, what the variables expand to."""

    lead: str
    operator: str = ""
    variables: tuple[_Variable, ...] = ()
    stop: str = ""  # for matching: these characters end a value
    optional: bool = False

    @property
    def separator(self) -> str:
        return _SEPARATORS.get(self.operator, "&")

    @property
    def named(self) -> bool:
        return self.operator in (";", "?", "&")


class Template:
    """A parsed template; `variables` are its names in order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = list(_parse(text))
        self._steps = list(_steps(self._parts))
        names = [variable.name for part in self._parts for variable in part.variables]
        self.variables = tuple(dict.fromkeys(names))

    def expand(self, /, **values: object) -> str:
        """The URI for strings, numbers, lists and dicts; None is as good as absent."""
        return "".join(_expand(part, values) for part in self._parts)

    def match(self, uri: str) -> dict[str, Value] | None:
        """The decoded values that expand to `uri` (lists where exploded), or None.

        A decoded value may hold anything, `/` and `..` too: look before opening files.
        """
        uri = uri if uri.isascii() else _encode(uri, _UNRESERVED)
        values: dict[str, Value] = {}
        try:
            found = [pair for text in _walk(self._steps, uri) for pair in _bind(*text)]
        except ValueError:  # no way through, a wrong name, or not UTF-8
            return None
        # Whole values first, so that `{x:1}/{x}` compares the short with the long.
        for variable, value in sorted(found, key=lambda pair: bool(pair[0].prefix)):
            if values.setdefault(variable.name, value)[: variable.prefix] != value:
                return None
        return values


def _parse(text: str) -> Iterator[_Part]:
    at = 0
    while at < len(text):
        if found := _LITERAL.match(text, at):
            yield _Part(_encode(found[0], _UNRESERVED))
        elif found := _EXPRESSION.match(text, at):
            sign = found[1].replace("+", "")
            yield _Part(sign, found[1], tuple(_variables(found)))
        else:
            raise ValueError(f"URI template {text!r}: bad {text[at]!r} at {at}")
        at = found.end()


def _variables(found: re.Match[str]) -> Iterator[_Variable]:
    at = found.start(2)
    for spec in found[2].split(","):
        parsed = _VARIABLE.fullmatch(spec)
        if parsed is None or spec[0] == ".":
            where = f"URI template {found.string!r}"
            raise ValueError(f"{where}: bad variable {spec!r} at {at}")
        name, modifier = parsed[1], parsed[2] or ""
        yield _Variable(name, modifier == "*", int(modifier.strip(":*") or 0) or None)
        at += len(spec) + 1


def _encode(text: str, unsafe: re.Pattern[str]) -> str:
    def escape(found: re.Match[str]) -> str:
        return "".join(f"%{b:02X}" for b in found[0].encode("utf-8", "surrogatepass"))

    return unsafe.sub(escape, text)


def _expand(part: _Part, values: dict[str, object]) -> str:
    if not part.variables:
        return part.lead
    items = [i for v in part.variables for i in _items(part, v, values.get(v.name))]
    return part.lead + part.separator.join(items) if items else ""


def _items(part: _Part, variable: _Variable, value: object) -> list[str]:
    """What one variable puts between the separators."""
    name, explode, prefix = variable
    unsafe = _UNRESERVED if part.operator in ("+", "#") else _UNSAFE
    if prefix and isinstance(value, list | tuple | dict):
        raise ValueError(f"{name}:{prefix} needs a string, not {value!r}")
    if isinstance(value, dict):
        pairs = [[_encode(str(x), unsafe) for x in pair] for pair in value.items()]
        if explode:
            return ["=".join(pair) for pair in pairs]
        texts = [text for pair in pairs for text in pair]
    else:
        many = value if isinstance(value, list | tuple) else [value]
        texts = [_encode(str(x)[:prefix], unsafe) for x in many if x is not None]
    if texts and not explode:
        texts = [",".join(texts)]
    if part.named:
        bare = name if part.operator == ";" else f"{name}="
        texts = [f"{name}={text}" if text else bare for text in texts]
    return texts


def _steps(parts: list[_Part]) -> Iterator[_Part]:
    """The parts as matching takes them: a query whole, other variables one by one."""
    for index, part in enumerate(parts):
        operator, variables, later = part.operator, part.variables, parts[index + 1 :]
        stop = {"#": "", "?": "#", "&": "#"}.get(operator, "/?#")
        if operator == "+":  # what comes later in the template gets its own
            stop = "".join(p.operator for p in later if p.operator in ("?", "&", "#"))
        elif operator in ("", "/", "."):
            stop += "".join(p.operator for p in later[:1] if p.operator in (".", ";"))
            stop += "&" if any("?" in p.lead for p in parts[:index]) else ""
        if part.named:
            more = [p.variables for p in later if operator + p.operator in ("?&", "&&")]
            yield _Part(part.lead, operator, sum(more, variables), stop, True)
        elif not variables:
            yield part
        optional = operator in ("/", ".") or (operator == "#" and len(variables) == 1)
        for variable in () if part.named else variables:
            lead = part.lead if variable is variables[0] else part.separator
            ends = stop if variable is variables[-1] else stop + part.separator
            if variable.explode:
                ends = ends.replace(part.separator, "")
            yield _Part(lead, operator, (variable,), ends, optional)


def _walk(steps: list[_Part], uri: str) -> Iterator[tuple[_Part, str]]:
    """Each step that has a value, with it; ValueError when there is no way through.

    First mark, from the end, where each step can start; then take, from the start, the
    longest value that leads on. So nothing is tried twice, whatever the URI.
    """
    if len(uri) > MAX_URI or not uri.startswith(_opening(steps)):
        raise ValueError("too long, or another beginning")
    ways = [bytearray(len(uri)) + b"\1"]
    for step in reversed(steps):
        ways.append(_starts(step, uri, ways[-1]))
    at = 0
    if not ways.pop()[at]:
        raise ValueError("no way through")
    for step in steps:
        after, start = ways.pop(), at + len(step.lead)
        if not uri.startswith(step.lead, at):
            continue
        if not step.variables:
            at = start
            continue
        ends = [uri.find(sign, start) for sign in step.stop]
        limit = min((end for end in ends if end >= 0), default=len(uri))
        end = after.rfind(1, start + 1, limit + 1)
        if end > 0:
            yield step, uri[start:end]
            at = end


def _opening(steps: list[_Part]) -> str:
    return steps[0].lead if steps and not steps[0].optional else ""


def _starts(step: _Part, uri: str, after: bytearray) -> bytearray:
    """Where the step can start, if what follows can start at `after`."""
    value = after
    if step.variables:
        value = bytearray(len(after))
        for at in range(len(uri) - 1, -1, -1):
            value[at] = (after[at + 1] or value[at + 1]) and uri[at] not in step.stop
    here = bytearray(after) if step.optional else bytearray(len(after))
    at = uri.find(step.lead)
    while at >= 0:
        here[at] |= value[at + len(step.lead)]
        at = uri.find(step.lead, at + 1)
    return here


def _bind(step: _Part, text: str) -> Iterator[tuple[_Variable, Value]]:
    """The variables that a step's text gives values to."""
    texts = text.split(step.separator)
    if not step.named:
        (variable,) = step.variables
        yield variable, (
            [_decode(t) for t in texts] if variable.explode else _decode(text)
        )
        return
    pairs = [pair.partition("=") for pair in texts]
    for variable in step.variables:
        values = [_decode(value) for name, _, value in pairs if name == variable.name]
        if variable.explode and values:
            yield variable, values
        elif values:
            (value,) = values
            yield variable, value
    if not {name for name, _, _ in pairs} <= {v.name for v in step.variables}:
        raise ValueError("unknown name")


def _decode(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote  # here, as few need it and it imports ipaddress

    return unquote(text, errors="strict")
