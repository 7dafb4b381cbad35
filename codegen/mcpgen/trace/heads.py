"""The heads of HTTP/1.1 messages (RFC 9112), as far as a reverse proxy has to know them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_TEXT = rb"[^\x00-\x08\x0a-\x1f\x7f]*"
_FIELD = re.compile(rb"(%b):(%b)" % (_TOKEN, _TEXT))
_REQUEST = re.compile(rb"(%b) (/[!-~\x80-\xff]*|\*) HTTP/1\.[01]" % _TOKEN)
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: %b)?" % _TEXT)
_LENGTH = re.compile(rb"[0-9]{1,15}")
_HOP_BY_HOP = {b"connection", b"proxy-connection", b"keep-alive", b"te", b"upgrade"}
_HOP_BY_HOP |= {b"http2-settings"}
_FRAMING = {b"host", b"content-length", b"transfer-encoding"}
_OPTIONS = {b"close", b"keep-alive"}
_READABLE = (b"gzip", b"x-gzip", b"deflate", b"identity")
_LOOPBACK = re.compile(
    rb"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE
)


class Field(NamedTuple):
    """A header: its name in lower case, its value, and the line that it was."""

    name: bytes
    value: bytes
    line: bytes


class Head(NamedTuple):
    """The first line and the headers of a message, in their order."""

    start: bytes
    fields: tuple[Field, ...]

    @property
    def method(self) -> str:
        """Of a request."""
        return self.start.partition(b" ")[0].decode("latin-1")

    @property
    def target(self) -> str:
        """Of a request: its path and query."""
        return self.start.split(b" ")[1].decode("latin-1")

    @property
    def status(self) -> int:
        """Of a response."""
        return int(self.start[9:12])

    def values(self, name: bytes) -> list[bytes]:
        """All values of a header."""
        return [field.value for field in self.fields if field.name == name]

    def text(self, name: bytes) -> str:
        """A header that may be there once; empty if it is not."""
        return b", ".join(self.values(name)).decode("latin-1")

    def shown(self) -> Iterable[tuple[str, str]]:
        """The headers as text, each name once."""
        names = dict.fromkeys(field.name for field in self.fields)
        return [(name.decode("latin-1"), self.text(name)) for name in names]


def request(data: bytes) -> Head:
    """The head of a request; ValueError if it is none that we pass on."""
    head = _parse(data)
    if not _REQUEST.fullmatch(head.start):
        raise ValueError("no request for a path, of HTTP/1.1")
    return head


def response(data: bytes) -> Head:
    """The head of a response; ValueError if it is none."""
    head = _parse(data)
    if not _STATUS.fullmatch(head.start):
        raise ValueError("no status line of HTTP/1.1")
    return head


def _parse(data: bytes) -> Head:
    start, *lines = data.split(b"\r\n")
    fields = []
    for line in lines:
        if (found := _FIELD.fullmatch(line)) is None:
            raise ValueError("a header that is none")
        fields.append(Field(found[1].lower(), found[2].strip(b" \t"), line))
    return Head(start, tuple(fields))


def body_size(head: Head) -> int | None:
    """The bytes of the body, -1 for chunks, None if nothing is said.

    ValueError if two things are said: who believes the other one sees other messages.
    """
    codings, lengths = head.values(b"transfer-encoding"), head.values(b"content-length")
    if codings:
        if lengths or len(codings) > 1 or codings[0].lower() != b"chunked":
            raise ValueError("a transfer-encoding that is unknown or contradicted")
        return -1
    if not lengths:
        return None
    if len(set(lengths)) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise ValueError("a bad content-length")
    return int(lengths[0])


def is_loopback(head: Head) -> bool:
    """Is a request for this machine? A page elsewhere may have had its name changed."""
    hosts = head.values(b"host")
    return len(hosts) == 1 and _LOOPBACK.fullmatch(hosts[0]) is not None


def passed_on(head: Head, changes: dict[bytes, bytes]) -> bytes:
    """The head as it goes on: what is between two neighbours only is left out.

    `changes` are new values of headers that are there.
    """
    options = {
        option.strip().lower()
        for value in head.values(b"connection")
        for option in value.split(b",")
    }
    dropped = _HOP_BY_HOP | (options - _FRAMING)
    lines = [head.start]
    for name, _, line in head.fields:
        if name in changes:
            lines.append(b"%b: %b" % (line.partition(b":")[0], changes[name]))
        elif name not in dropped:
            lines.append(line)
    lines += [b"Connection: %b" % option for option in sorted(options & _OPTIONS)]
    return b"\r\n".join([*lines, b"", b""])


def readable(head: Head) -> dict[bytes, bytes]:
    """As a change: only those encodings of an answer that a recorder can read."""
    accepted = b",".join(head.values(b"accept-encoding"))
    if not accepted:
        return {}
    wanted = [part.strip() for part in accepted.split(b",")]
    kept = [p for p in wanted if p.partition(b";")[0].strip().lower() in _READABLE]
    return (
        {b"accept-encoding": b", ".join(kept) or b"identity"} if kept != wanted else {}
    )
