"""An OpenAPI document → what can be called: `Operation`s, and how to be let in.

What a tool cannot do (an upload, an unusual style of a parameter) leaves out that
operation with a warning; what is wrong with the document is an error with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlsplit

from ...diagnostics import CompileError, Diagnostic, clip, did_you_mean
from ...load import escape
from ...names import constant_name, snake_case
from .dialect import json_schema
from .shapes import Inexact, Json, target

MAX_TOOL_NAME = 64
"""Characters: some hosts take no more."""

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_PLACES = ("path", "query", "header", "cookie")
_STYLES = {
    "path": ("simple",),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
_IGNORED_HEADERS = ("accept", "content-type", "authorization")


@dataclass(frozen=True)
class Argument:
    """A parameter of an operation."""

    wire: str
    place: str
    required: bool
    schema: Json
    style: str
    explode: bool
    is_json: bool
    pointer: str


@dataclass(frozen=True)
class Body:
    """What a request carries."""

    required: bool
    media_type: str
    schema: Any
    pointer: str


@dataclass(frozen=True)
class Operation:
    """One method of one path."""

    tool: str
    method: str
    path: str
    pointer: str
    title: str
    description: str
    tags: tuple[str, ...]
    deprecated: bool
    arguments: tuple[Argument, ...]
    body: Body | None
    result: tuple[Any, str] | None
    """The schema of what comes back as JSON, and its pointer; None for text."""
    security: tuple[tuple[str, ...], ...]
    base_url: str | None


@dataclass(frozen=True)
class Scheme:
    """A way to be let in, with credentials from an environment variable."""

    kind: str
    """`header`, `query` or `cookie` for an API key; `bearer`; `basic`."""
    key: str
    variable: str


@dataclass
class Api:
    """What an OpenAPI document describes."""

    title: str
    prefix: str
    """Of environment variables."""
    base_url: str
    root: Json
    """The document, with the schemas of its components as JSON Schema."""
    operations: list[Operation] = field(default_factory=list)
    schemes: dict[str, Scheme] = field(default_factory=dict)
    shown: str = ""
    notes: list[Diagnostic] = field(default_factory=list)

    def warn(self, code: str, message: str, pointer: str) -> None:
        """Say what was left out."""
        self.notes.append(
            Diagnostic(code, message, self.shown, pointer, severity="warning")
        )


class _Left(Exception):
    """An operation that no tool can be made of."""


def operations(document: Json, shown: str) -> Api:
    """What can be called; CompileError with all that is wrong with the document."""
    return _Reader(document, shown).read()


class _Reader:
    def __init__(self, document: Json, shown: str) -> None:
        self.document = document
        self.shown = shown
        self.problems: list[Diagnostic] = []
        self.is_3_0 = str(document.get("openapi")).startswith("3.0")
        info = document.get("info")
        title = info.get("title") if isinstance(info, dict) else None
        title = title if isinstance(title, str) else "API"
        prefix = constant_name(title)[:40].strip("_") or "API"
        if prefix[0].isdigit():
            prefix = f"API_{prefix}"
        self.api = Api(title, prefix, "", self._root(), shown=shown)

    def read(self) -> Api:
        version = self.document.get("openapi")
        if not isinstance(version, str) or not re.match(r"3\.[01](\.|$)", version):
            self._complain(
                "source-version",
                f"OpenAPI {clip(str(version), 20)} is not known here",
                "/openapi",
                "known are 3.0 and 3.1",
            )
        else:
            self._check_references()
        if self.problems:
            raise CompileError(self.problems)
        self.api.base_url = self._server(self.document, "") or ""
        self._schemes()
        for path, item, pointer in self._paths():
            self._path(path, item, pointer)
        if not self.api.operations and not self.problems:
            self._complain("source-empty", "there is nothing to call", "/paths")
        if self.problems:
            raise CompileError([*self.problems, *self.api.notes])
        self.api.operations = self._named(self.api.operations)
        if self.problems:
            raise CompileError(self.problems)
        return self.api

    def _complain(self, code: str, message: str, pointer: str, hint: str = "") -> None:
        self.problems.append(Diagnostic(code, message, self.shown, pointer, hint))

    def _root(self) -> Json:
        components = _object(self.document.get("components"))
        schemas = {
            name: self._schema(schema)
            for name, schema in _object(components.get("schemas")).items()
        }
        return {**self.document, "components": {**components, "schemas": schemas}}

    def _schema(self, schema: Any) -> Any:
        return json_schema(schema, nullable=self.is_3_0)

    # --- references -------------------------------------------------------------------

    def _check_references(self) -> None:
        """Every reference leads somewhere inside of the document."""
        for ref, pointer in _references(self.document, ""):
            try:
                target(self.document, ref, "")
            except Inexact as found:
                schemas = _object(
                    _object(self.document.get("components")).get("schemas")
                )
                outside = not str(ref).startswith("#")
                self._complain(
                    "ref-unsupported" if outside else "ref-unresolved",
                    f'"{clip(str(ref))}" {found}',
                    f"{pointer}/$ref",
                    (
                        "bundle the documents into one first, for example with "
                        "`redocly bundle`"
                        if outside
                        else did_you_mean(str(ref).rsplit("/", 1)[-1], schemas)
                    ),
                )

    def _followed(self, value: Any, pointer: str) -> tuple[Json, str]:
        """What a reference stands for."""
        for _ in range(16):
            if not isinstance(value, dict):
                break
            if not isinstance(value.get("$ref"), str):
                return value, pointer
            try:
                value, pointer = target(self.document, value["$ref"], pointer)
            except Inexact:
                raise _Left("a reference leads nowhere") from None
        raise _Left("no object")

    # --- paths ------------------------------------------------------------------------

    def _paths(self) -> Iterator[tuple[str, Json, str]]:
        paths = self.document.get("paths", {})
        if not isinstance(paths, dict):
            self._complain("source-malformed", "no object", "/paths")
            return
        for path, item in paths.items():
            pointer = f"/paths/{escape(path)}"
            if path.startswith("x-"):
                continue
            if not path.startswith("/"):
                self._complain("source-path", 'a path begins with "/"', pointer)
                continue
            try:
                found, pointer = self._followed(item, pointer)
            except _Left as why:
                self._complain("source-malformed", str(why), pointer)
                continue
            yield path, found, pointer

    def _path(self, path: str, item: Json, pointer: str) -> None:
        for method in _METHODS:
            place = f"{pointer}/{method}"
            operation = item.get(method)
            if operation is None or method in ("options", "head", "trace"):
                continue
            if not isinstance(operation, dict):
                self._complain("source-malformed", "no object", place)
                continue
            try:
                made = self._operation(method, path, item, operation, pointer)
            except _Left as why:
                self.api.warn(
                    "operation-left-out",
                    f"{method.upper()} {clip(path, 60)} is no tool: {why}",
                    place,
                )
            else:
                self.api.operations.append(made)

    def _operation(
        self, method: str, path: str, item: Json, operation: Json, pointer: str
    ) -> Operation:
        place = f"{pointer}/{method}"
        arguments = self._arguments(item, operation, pointer, place)
        wanted = set(re.findall(r"\{([^{}]*)\}", path))
        known = {a.wire for a in arguments if a.place == "path"}
        for name in sorted(wanted - known):
            self._complain(
                "source-path", f'"{clip(name)}" is no parameter of the path', place
            )
        return Operation(
            tool=_text(operation.get("operationId")),
            method=method.upper(),
            path=quote(path, safe="/{}:@!$&'()*+,;=~%"),
            pointer=place,
            title=_text(operation.get("summary")).strip(),
            description=_text(operation.get("description")).strip(),
            tags=tuple(filter(None, map(_text, _list(operation.get("tags"))))),
            deprecated=operation.get("deprecated") is True,
            arguments=tuple(
                a for a in arguments if a.place != "path" or a.wire in wanted
            ),
            body=self._body(operation, place),
            result=self._result(operation, place),
            security=self._security(operation),
            base_url=self._server(operation, place) or self._server(item, pointer),
        )

    # --- parameters -------------------------------------------------------------------

    def _arguments(
        self, item: Json, operation: Json, pointer: str, place: str
    ) -> list[Argument]:
        found: dict[tuple[str, str], Argument] = {}
        for owner, where in ((item, pointer), (operation, place)):
            for number, parameter in enumerate(_list(owner.get("parameters"))):
                made = self._argument(parameter, f"{where}/parameters/{number}")
                if made is not None:
                    found[made.wire, made.place] = made
        return list(found.values())

    def _argument(self, parameter: Any, pointer: str) -> Argument | None:
        parameter, pointer = self._followed(parameter, pointer)
        name, place = parameter.get("name"), parameter.get("in")
        if not isinstance(name, str) or not name or place not in _PLACES:
            self._complain(
                "source-malformed", "a parameter needs a name and a place", pointer
            )
            return None
        if place == "header" and name.lower() in _IGNORED_HEADERS:
            return None
        required = parameter.get("required") is True or place == "path"
        if place == "header" and not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            self._complain("source-malformed", "no name of a header", f"{pointer}/name")
            return None
        schema = parameter.get("schema", {})
        is_json = False
        content = parameter.get("content")
        if isinstance(content, dict) and content:
            media_type, inner = next(iter(content.items()))
            if not _is_json(media_type):
                raise _Left(f"a parameter is {clip(media_type, 40)}")
            schema, is_json = _object(inner).get("schema", {}), True
        style = parameter.get("style") or _STYLES[place][0]
        if style not in _STYLES[place]:
            raise _Left(f"a parameter has the style {clip(str(style), 40)}")
        explode = parameter.get("explode")
        schema = self._schema(schema)
        schema = schema if isinstance(schema, dict) else {}
        said = {}
        if "description" not in schema and _text(parameter.get("description")):
            said["description"] = parameter["description"]
        if parameter.get("deprecated") is True:
            said["deprecated"] = True
        return Argument(
            name,
            place,
            required,
            schema | said,
            style,
            explode if isinstance(explode, bool) else style == "form",
            is_json,
            pointer,
        )

    # --- bodies and results -----------------------------------------------------------

    def _body(self, operation: Json, place: str) -> Body | None:
        if operation.get("requestBody") is None:
            return None
        body, pointer = self._followed(operation["requestBody"], f"{place}/requestBody")
        content = _object(body.get("content"))
        for kind in (_is_json, _is_form, _is_text):
            for media_type, inner in content.items():
                if kind(media_type):
                    schema = self._schema(_object(inner).get("schema", {}))
                    if kind is _is_text:
                        schema = {"type": "string"}
                    at = f"{pointer}/content/{escape(media_type)}/schema"
                    required = body.get("required") is True
                    return Body(required, media_type, schema, at)
        if body.get("required") is True or content:
            kinds = ", ".join(content) or "unknown"
            raise _Left(f"its body is {clip(kinds, 60)}")
        return None

    def _result(self, operation: Json, place: str) -> tuple[Any, str] | None:
        found: list[tuple[Any, str]] = []
        responses = _object(operation.get("responses"))
        for status, response in sorted(responses.items()):
            if not re.fullmatch(r"2(\d\d|XX)", str(status)):
                continue
            inner, pointer = self._followed(
                response, f"{place}/responses/{escape(status)}"
            )
            for media_type, media in _object(inner.get("content")).items():
                if _is_json(media_type):
                    at = f"{pointer}/content/{escape(media_type)}/schema"
                    schema = self._schema(_object(media).get("schema", {}))
                    if schema not in [known for known, _ in found]:
                        found.append((schema, at))
        if len(found) > 1:
            return {}, place  # one of several, and nothing says which
        return found[0] if found else None

    # --- where it is, and who is let in -------------------------------------------------

    def _server(self, owner: Json, pointer: str) -> str | None:
        servers = _list(owner.get("servers"))
        if not servers or not isinstance(servers[0], dict):
            return None
        url = _text(servers[0].get("url"))
        for name, variable in _object(servers[0].get("variables")).items():
            url = url.replace(f"{{{name}}}", str(_object(variable).get("default", "")))
        at = f"{pointer}/servers/0/url"
        if not url or url.startswith("/"):
            self.api.warn("server-relative", "says no host", at)
            return None
        try:
            parts = urlsplit(url)
            is_fine = (
                parts.scheme in ("http", "https")
                and bool(parts.hostname)
                and "@" not in parts.netloc
                and not (parts.query or parts.fragment)
                and parts.port != 0
                and re.fullmatch(r"[!-~]+", url) is not None
            )
        except ValueError:
            is_fine = False
        if not is_fine:
            self._complain(
                "server-url",
                f'"{clip(url, 80)}" is no address of an API',
                at,
                "an http or https URL without credentials, query or fragment",
            )
            return None
        return url.rstrip("/")

    def _schemes(self) -> None:
        schemes = _object(
            _object(self.document.get("components")).get("securitySchemes")
        )
        for name, scheme in schemes.items():
            at = f"/components/securitySchemes/{escape(name)}"
            try:
                scheme, at = self._followed(scheme, at)
            except _Left:
                continue
            made = self._scheme(name, scheme)
            if made is None:
                self.api.warn(
                    "scheme-unknown", f'"{clip(name, 40)}" is not known here', at
                )
            else:
                self.api.schemes[name] = made

    def _scheme(self, name: str, scheme: Json) -> Scheme | None:
        word = constant_name(name)[:40].strip("_") or "KEY"
        variable = f"{self.api.prefix}_{word}"
        if variable in {known.variable for known in self.api.schemes.values()}:
            # Told apart by what it is called in full, not by a number.
            variable += f"_{sha256(name.encode()).hexdigest()[:8].upper()}"
        kind, key = scheme.get("type"), _text(scheme.get("name"))
        if (
            kind == "apiKey"
            and scheme.get("in") in ("header", "query", "cookie")
            and key
        ):
            if scheme["in"] != "query" and not re.fullmatch(
                r"[!#$%&'*+.^_`|~\w-]+", key, re.A
            ):
                return None
            return Scheme(scheme["in"], key, variable)
        if kind == "http" and _text(scheme.get("scheme")).lower() in (
            "bearer",
            "basic",
        ):
            return Scheme(scheme["scheme"].lower(), "", variable)
        if kind in ("oauth2", "openIdConnect"):
            return Scheme("bearer", "", variable)
        return None

    def _security(self, operation: Json) -> tuple[tuple[str, ...], ...]:
        """Alternatives, each a number of schemes; nothing when all may come in."""
        asked = operation.get("security", self.document.get("security"))
        found = [tuple(one) for one in _list(asked) if isinstance(one, dict)]
        known = [one for one in found if set(one) <= self.api.schemes.keys()]
        if found and not known:
            raise _Left("it asks for credentials of an unknown kind")
        return tuple(known)

    # --- names --------------------------------------------------------------------------

    def _named(self, found: list[Operation]) -> list[Operation]:
        """Each operation by its own id; alike and missing ones by method and path."""
        names = {o.pointer: _tool_name(o.tool) for o in found}
        taken = [name.lower() for name in names.values()]
        for operation in found:
            name = names[operation.pointer]
            if not name or taken.count(name.lower()) > 1:
                names[operation.pointer] = _by_path(operation)
        owners: dict[str, str] = {}
        for pointer, name in names.items():
            if name.lower() in owners:
                self._complain(
                    "name-collision",
                    f'would be the tool "{name}", as is {owners[name.lower()]}',
                    pointer,
                    "give it an operationId of its own",
                )
            owners[name.lower()] = pointer
        return [replace(o, tool=names[o.pointer]) for o in found]


def _tool_name(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_")
    return _bounded(name) if re.search("[A-Za-z0-9]", name) else ""


def _by_path(operation: Operation) -> str:
    """`GET /pets/{petId}` → `get_pets_by_pet_id`."""
    words = [operation.method.lower()]
    for part in operation.path.split("/"):
        for piece in re.split(r"(\{[^{}]*\})", part):
            name = snake_case(piece)
            if name:
                words.append(f"by_{name}" if piece.startswith("{") else name)
    return _bounded("_".join(words))


def _bounded(name: str) -> str:
    if len(name) <= MAX_TOOL_NAME:
        return name
    return f"{name[: MAX_TOOL_NAME - 9]}_{sha256(name.encode()).hexdigest()[:8]}"


# --- values that may be anything ----------------------------------------------------------


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_json(media_type: str) -> bool:
    essence = media_type.partition(";")[0].strip().lower()
    return essence in ("application/json", "*/*") or essence.endswith("+json")


def _is_form(media_type: str) -> bool:
    essence = media_type.partition(";")[0].strip().lower()
    return essence == "application/x-www-form-urlencoded"


def _is_text(media_type: str) -> bool:
    return bool(re.fullmatch(r"text/[a-z0-9.+-]+", media_type.strip().lower()))


def _references(value: Any, pointer: str) -> Iterator[tuple[Any, str]]:
    """Every `$ref` but those in examples and values, which are none."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"], pointer
        for key, inner in value.items():
            if key not in ("example", "examples", "default", "enum", "const"):
                yield from _references(inner, f"{pointer}/{escape(key)}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _references(inner, f"{pointer}/{number}")
