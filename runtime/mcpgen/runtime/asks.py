"""What a handler may ask of its client, and whether the client can be asked it.

A question is put in the words of the client's version. What the version has no words
for, or the client did not declare, raises before anything is sent.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from msgspec import Struct

from . import versions
from .errors import INTERNAL_ERROR, INVALID_REQUEST, AnswerError, NotSupported
from .names import ELICITATION, ROOTS, SAMPLING
from .versions import Version

URL = ("elicitation", "url")
FORM = ("elicitation", "form")
NEEDS: dict[str, dict[str, tuple[str, ...]]] = {
    SAMPLING: {
        "tools": ("sampling", "tools"),
        "toolChoice": ("sampling", "tools"),
        "task": ("tasks", "requests", "sampling", "createMessage"),
    },
    ELICITATION: {
        "url": URL,
        "requestedSchema": FORM,
        "task": ("tasks", "requests", "elicitation", "create"),
    },
}
"""What a client must have declared for a parameter, beside what the method needs."""


class Ask(Struct, frozen=True):
    """Something to ask of the client: a method, and its params."""

    method: str
    params: dict[str, Any]


def Sample(messages: Any, *, max_tokens: int = 1024, **options: Any) -> Ask:
    """Ask the client's model. `messages` may be a text, or messages of the protocol."""
    if isinstance(messages, str):
        content = {"type": "text", "text": messages}
        messages = [{"role": "user", "content": content}]
    params = {"messages": messages, "maxTokens": max_tokens, **options}
    return Ask(SAMPLING, params)


def Elicit(message: str, schema: dict[str, Any], **options: Any) -> Ask:
    """Ask the user; `schema` is a flat JSON Schema of what is wanted."""
    params = {"message": message, "requestedSchema": schema, **options}
    return Ask(ELICITATION, params)


def ElicitUrl(message: str, url: str, elicitation_id: str, **options: Any) -> Ask:
    """Send the user to a page, for what the client must not see.

    The id is yours to choose, once per question; not every version transmits it.
    """
    params = {"mode": "url", "message": message, "url": url, **options}
    return Ask(ELICITATION, params | {"elicitationId": elicitation_id})


def Roots() -> Ask:
    """Ask which directories the client works in."""
    return Ask(ROOTS, {})


class Client(Struct, frozen=True):
    """Who is asking."""

    version: Version
    capabilities: dict[str, Any]
    info: dict[str, Any]

    def can(self, path: tuple[str, ...]) -> bool:
        """Did the client declare this capability?"""
        return versions.declared(self.capabilities, path)


class Question(Struct, frozen=True):
    """An ask as the client's version writes it."""

    method: str
    params: bytes | None


class Refuses(Protocol):
    """How an era says that a client lacks a capability."""

    def unsupported(self, message: str, needed: dict[str, Any]) -> NotSupported:
        """The error for asking what the client did not offer."""


def question(ask: Ask, client: Client, era: Refuses) -> Question:
    """The ask in the words of the client's version; NotSupported when it cannot be."""
    version = client.version
    row = version.requests.get(ask.method)
    if row is None or "server" not in row.sent_by:
        raise NotSupported(
            INVALID_REQUEST, f"protocol version {version.name} has no {ask.method}"
        )
    params = _params(version, row, ask)
    lacking = [path for path in _needs(row, ask, client) if not client.can(path)]
    if lacking:
        names = ", ".join(".".join(path) for path in lacking)
        message = f"the client did not declare the capability {names}"
        raise era.unsupported(message, _nested(lacking))
    return Question(ask.method, params)


def read_answer(version: Version, method: str, raw: Any) -> Any:
    """An answer of the client as one of the version's types; AnswerError if it is none."""
    read = version.types.convert if isinstance(raw, dict) else version.types.decode
    problem: Exception | None = None
    for kind in version.requests[method].results:
        try:
            return read(raw, kind)
        except (ValueError, RecursionError) as error:
            problem = problem or error  # the usual result comes first
    raise AnswerError(INTERNAL_ERROR, f"a bad answer to {method}: {problem}")


def _params(version: Version, row: Any, ask: Ask) -> bytes | None:
    """The params as the version writes them; NotSupported when it cannot say it all."""
    if not ask.params and not row.params_required:
        return None
    try:
        typed = version.types.convert(ask.params, row.params)
    except ValueError as error:
        if _is_known_elsewhere(ask):
            message = f"protocol version {version.name} cannot ask it so: {error}"
            raise NotSupported(INVALID_REQUEST, message) from None
        raise ValueError(f"{ask.method} cannot be asked so: {error}") from None
    text: bytes = version.types.encode(typed)
    lost = ask.params.keys() - msgspec.json.decode(text).keys()
    lost -= {"elicitationId"}  # some versions do without, and nothing is missed
    if ask.params.get("mode") == "form":  # what older versions mean anyway
        lost -= {"mode"}
    if lost:
        names = ", ".join(sorted(lost))
        message = f"{ask.method} has no {names} in protocol version {version.name}"
        raise NotSupported(INVALID_REQUEST, message)
    return text


def _is_known_elsewhere(ask: Ask) -> bool:
    """Could a client of another version be asked this?"""
    for name in (*versions.LEGACY, *versions.MODERN):
        version = versions.get(name)
        if ask.method in version.requests:
            try:
                version.types.convert(ask.params, version.requests[ask.method].params)
                return True
            except ValueError:
                pass
    return False


def _needs(row: Any, ask: Ask, client: Client) -> list[tuple[str, ...]]:
    """The capabilities that a question takes, those of its parameters included."""
    needs = [row.client_capability] if row.client_capability else []
    for param, path in NEEDS.get(ask.method, {}).items():
        # Who declares `elicitation` and no mode at all can show forms.
        if param in ask.params and (path != FORM or client.can(URL)):
            needs.append(path)
    return needs


def _nested(paths: list[tuple[str, ...]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for path in paths:
        inner = made
        for key in path:
            inner = inner.setdefault(key, {})
    return made
