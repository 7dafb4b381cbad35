"""Stage 5: derive the method table, capabilities, error codes and era of a version.

A method is a definition with a constant `method` key. Who sends it follows from the
unions that list it; its result and capability follow from names, as the specification
uses them throughout; the overlay adds what cannot be derived.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from .diagnostics import CompileError, Diagnostic
from .ir import (
    ANY_OBJECT,
    Capability,
    Definition,
    ErrorCode,
    Field,
    Literals,
    Method,
    Object,
    Protocol,
    Ref,
    Side,
    Type,
    Union,
)
from .load import Document
from .names import constant_name, field_name, snake_case
from .overlay import Overlay

_SUFFIX = {"request": "Request", "notification": "Notification"}
_CAPABILITIES: dict[Side, str] = {
    "client": "ClientCapabilities",
    "server": "ServerCapabilities",
}


def derive_protocol(
    document: Document,
    definitions: tuple[Definition, ...],
    overlay: Overlay,
    *,
    inherited_era: str | None,
) -> tuple[Protocol, tuple[Diagnostic, ...]]:
    """The whole `Protocol`, and notes about what had to be assumed."""
    derivation = _Derivation(definitions, overlay, document)
    methods, errors = tuple(derivation.methods()), derivation.errors()
    if derivation.problems:
        raise CompileError(derivation.problems)
    names = {method.name for method in methods}
    era = next((era for offers, era in overlay.eras if offers in names), None)
    protocol = Protocol(
        version=document.version,
        sha256=document.sha256,
        era=era or (inherited_era if methods and inherited_era else "extension"),
        dialect=document.dialect,
        definitions=definitions,
        methods=methods,
        capabilities=tuple(derivation.capabilities()),
        errors=errors,
        traits=overlay.traits,
        replaced=tuple(r for r in overlay.replaced if r.method not in names),
    )
    return protocol, tuple(derivation.notes)


class _Derivation:
    def __init__(
        self, definitions: tuple[Definition, ...], overlay: Overlay, document: Document
    ) -> None:
        self.by_name = {d.name: d for d in definitions}
        self.overlay = overlay
        self.file = document.file
        self.notes: list[Diagnostic] = []
        self.problems: list[Diagnostic] = []
        # A union of one arm is inlined by some schema generators, so that membership
        # is told by the method constant, not by the definition's name.
        self.members = {
            (union, kind, sender): set(self._constants(Ref(union)))
            for union, kind, sender in overlay.directions
            if union in self.by_name
        }
        self.listed = {
            name
            for union, kind, _ in overlay.directions
            if union in self.by_name and kind != "embedded"
            for name in _ref_names(self.by_name[union].type)
        }

    # --- methods --------------------------------------------------------------------

    def methods(self) -> Iterator[Method]:
        names: dict[str, str] = {}
        for name, definition in self._messages().items():
            method = self._method(name, definition)
            # As handlers call it: a notification's handler has a prefix.
            called = method.python_name
            if method.kind == "notification":
                called = f"on_{called}"
            if called in names:
                self._problem(
                    "name-collision",
                    f'"{name}" and "{names[called]}" would both be called {called}',
                    definition,
                )
            names[called] = name
            yield method

    def _messages(self) -> dict[str, Definition]:
        """Method → its message. Of several, the one that a direction union lists."""
        found: dict[str, Definition] = {}
        for definition in self.by_name.values():
            name = self._method_constant(definition.type)
            if name is None or self._is_direction_union(definition.name):
                continue
            first = found.setdefault(name, definition)
            if first is definition:
                continue
            if first.name not in self.listed and definition.name in self.listed:
                found[name], first, definition = definition, definition, first
            self.notes.append(
                Diagnostic(
                    "method-twice",
                    f'the method "{name}" is also {first.name}, which is used',
                    self.file,
                    definition.pointer,
                    "list the one that is meant in ClientRequest or ServerRequest",
                    "note",
                )
            )
        return found

    def _method(self, name: str, definition: Definition) -> Method:
        kind, sent_by, embedded = self._direction(name, definition)
        base = definition.name.removesuffix(_SUFFIX[kind]) or definition.name
        params = self._field(definition.type, "params")
        request = kind == "request"
        return Method(
            name=name,
            kind="request" if request else "notification",
            definition=definition.name,
            python_name=field_name(base),
            sent_by=sent_by,
            params=self._params(params),
            params_required=params is not None and params.required,
            results=self._results(name, base) if request else (),
            client_capability=self._gate(name, request, sent_by, "client"),
            server_capability=self._gate(name, request, sent_by, "server"),
            embedded=embedded,
            deprecated=dict(self.overlay.deprecated).get(name, ""),
            doc=definition.doc,
        )

    def _direction(
        self, name: str, definition: Definition
    ) -> tuple[str, tuple[Side, ...], bool]:
        found = [key for key, names in self.members.items() if name in names]
        if found:
            kinds = {"request" if k == "embedded" else k for _, k, _ in found}
            senders = tuple(s for s in _CAPABILITIES if s in {f[2] for f in found})
            return kinds.pop(), senders, all(f[1] == "embedded" for f in found)
        request = not definition.name.endswith("Notification") and not name.startswith(
            "notifications/"
        )
        self.notes.append(
            Diagnostic(
                "direction-unknown",
                f'no union says who sends "{name}"; both sides are assumed',
                self.file,
                definition.pointer,
                "list it in ClientRequest, ServerRequest, ClientNotification or ServerNotification",
                "note",
            )
        )
        return "request" if request else "notification", ("client", "server"), False

    def _params(self, params: Field | None) -> str | None:
        if params is None:
            return None
        # What is not a definition has no known keys.
        return params.type.name if isinstance(params.type, Ref) else ANY_OBJECT

    def _results(self, method: str, base: str) -> tuple[str, ...]:
        response = self.by_name.get(f"{base}ResultResponse")
        result = self._field(response.type, "result") if response else None
        if result is not None:
            names = [n for n in _ref_names(result.type) if n in self.by_name]
        else:
            wanted = (f"{base}Result", "EmptyResult", "Result")
            names = [name for name in wanted if name in self.by_name][:1]
        names += [
            extra
            for name, extra in self.overlay.results
            if name == method and extra in self.by_name
        ]
        # The usual answer first: the one that is named after the method.
        return tuple(sorted(dict.fromkeys(names), key=lambda n: n != f"{base}Result"))

    # --- capabilities ---------------------------------------------------------------

    def _gate(
        self, method: str, request: bool, sent_by: tuple[Side, ...], owner: Side
    ) -> tuple[str, ...] | None:
        for gate in self.overlay.capabilities:
            if gate.method == method:
                known = gate.owner == owner and self._capability(owner, gate.path)
                return gate.path if known else None
        # The receiver of a request, or the sender of a notification, declares it.
        other: Side = "server" if owner == "client" else "client"
        if (other if request else owner) not in sent_by:
            return None
        segments = method.removeprefix("notifications/").split("/")
        for first in (segments[0], segments[0] + "s"):
            if not self._capability(owner, (first,)):
                continue
            last = _camel(segments[-1])
            flagged = (first, last)
            return flagged if self._capability(owner, flagged) else (first,)
        return None

    def _capability(self, owner: Side, path: tuple[str, ...]) -> Field | None:
        definition = self.by_name.get(_CAPABILITIES[owner])
        type: Type | None = definition.type if definition else None
        field = None
        for key in path:
            field = self._field(type, key)
            if field is None:
                return None
            type = field.type
        return field

    def capabilities(self) -> Iterator[Capability]:
        for owner, name in _CAPABILITIES.items():
            if name in self.by_name:
                yield from self._walk(owner, self.by_name[name].type, ())

    def _walk(
        self, owner: Side, type: Type, path: tuple[str, ...]
    ) -> Iterator[Capability]:
        resolved = self._resolve(type)
        if not isinstance(resolved, Object) or len(path) > 8:
            return
        for field in resolved.fields:
            here = (*path, field.wire_name)
            yield Capability(owner, here, field.doc)
            yield from self._walk(owner, field.type, here)

    # --- errors ---------------------------------------------------------------------

    def errors(self) -> tuple[ErrorCode, ...]:
        """The overlay's codes, and those that the schema defines as `XError`."""
        found = {error.code: error for error in self.overlay.errors}
        names = {error.name for error in self.overlay.errors}
        for definition in self.by_name.values():
            if definition.inline or not definition.name.endswith("Error"):
                continue
            inner = self._field(definition.type, "error")
            code = self._field(inner.type if inner else definition.type, "code")
            value = _single(code.type) if code else None
            if isinstance(value, int) and value not in found:
                name = constant_name(
                    definition.name.removesuffix("Error") or definition.name
                )
                if name in names:
                    self._problem(
                        "name-collision",
                        f"another error code is called {name}",
                        definition,
                    )
                names.add(name)
                found[value] = ErrorCode(name, value, definition.doc)
        return tuple(sorted(found.values(), key=lambda e: (-e.code, e.name)))

    # --- looking into types ---------------------------------------------------------

    def _resolve(self, type: Type | None) -> Type | None:
        while isinstance(type, Ref):
            type = self.by_name[type.name].type
        return type

    def _field(self, type: Type | None, name: str) -> Field | None:
        resolved = self._resolve(type)
        if not isinstance(resolved, Object):
            return None
        return next((f for f in resolved.fields if f.wire_name == name), None)

    def _method_constant(self, type: Type) -> str | None:
        if not isinstance(type, Object):
            return None
        field = self._field(type, "method")
        value = _single(field.type) if field and field.required else None
        return value if isinstance(value, str) else None

    def _constants(self, type: Type) -> Iterator[str]:
        resolved = self._resolve(type)
        if isinstance(resolved, Union):
            for arm in resolved.arms:
                yield from self._constants(arm)
        elif resolved is not None and (name := self._method_constant(resolved)):
            yield name

    def _is_direction_union(self, name: str) -> bool:
        return any(name == union for union, _, _ in self.overlay.directions)

    def _problem(self, code: str, message: str, definition: Definition) -> None:
        self.problems.append(Diagnostic(code, message, self.file, definition.pointer))


def _ref_names(type: Type) -> Iterator[str]:
    if isinstance(type, Ref):
        yield type.name
    elif isinstance(type, Union):
        for arm in type.arms:
            yield from _ref_names(arm)


def _single(type: Type) -> object:
    if isinstance(type, Literals) and len(type.values) == 1:
        return json.loads(type.values[0])
    return None


def _camel(segment: str) -> str:
    """`list_changed` → `listChanged`, as capabilities spell it."""
    first, *rest = snake_case(segment).split("_")
    return first + "".join(word.capitalize() for word in rest)
