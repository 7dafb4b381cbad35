"""TARGET: a command line, a URL, or a name in the configuration file of a host."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..diagnostics import CompileError, clip, did_you_mean, fail

MAX_BYTES = 4 * 1024 * 1024
SERVERS = ("mcpServers", "servers")
"""What hosts call the table of their servers; the second is VS Code's."""
FORMS = "a TARGET is a command line in quotes, a URL, or a name with --config FILE"

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://\S*")
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7E\t]*)")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[\]}])')


@dataclass(frozen=True)
class Target:
    """Where a server is, and how it is reached: by a command or by a URL."""

    shown: str
    """For messages: what may be secret (arguments, a query) is not in it."""
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    is_sse: bool = False
    """Has it only HTTP+SSE, the transport of the oldest version?"""

    def with_env(self, settings: Iterable[str]) -> Target:
        """The same with more in its environment: NAME=VALUE, or NAME for our value."""
        more = dict(_setting(text) for text in settings)
        if more and self.url:
            raise fail("option-pointless", "--env is for servers that are started here")
        return replace(self, env={**self.env, **more})

    def with_headers(self, lines: Iterable[str], bearer_env: str | None) -> Target:
        """The same with more HTTP headers."""
        more = dict(_header(line) for line in lines)
        if bearer_env is not None:
            token = _ours(bearer_env).strip()
            more |= [_header(f"Authorization: Bearer {token}")]
        if more and not self.url:
            raise fail("option-pointless", "HTTP headers and tokens are for URLs")
        return replace(self, headers={**self.headers, **more})


def find_target(text: str, config: Path | None) -> Target:
    """What a TARGET stands for."""
    if config is not None:
        return _of_host(text, config)
    if url := _URL.fullmatch(text.strip()):
        return _at(url[0])
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise fail("target-malformed", f"the command line: {error}") from None
    if not command:
        raise fail("target-malformed", "the target is empty", hint=FORMS)
    return Target(Path(command[0]).name, command=command)


def _at(url: str, *, is_sse: bool = False) -> Target:
    try:
        parts = urlsplit(url)
        is_usable = (
            parts.scheme in ("http", "https") and parts.hostname and "@" not in url
        )
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        _ = parts.port
    except ValueError:
        is_usable, shown = False, url.partition("?")[0].rpartition("@")[2]
    if not is_usable:
        raise fail(
            "target-malformed",
            f'"{clip(shown)}" is not a URL of http or https, without a password',
            hint=FORMS,
        )
    return Target(shown, url=url, is_sse=is_sse)


# --- the files of hosts ---------------------------------------------------------------


class _Entry(msgspec.Struct):
    """A server in the file of a host; what else a host writes there is its own."""

    type: str = ""
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}


def _of_host(name: str, path: Path) -> Target:
    table, found = _servers(path)
    if name not in found:
        names = ", ".join(clip(known, 64) for known in found) or "none"
        raise fail(
            "server-unknown",
            f'there is no server "{clip(name, 64)}"; there are: {names}',
            file=path.name,
            hint=did_you_mean(name, found),
        )
    try:
        entry = msgspec.convert(found[name], _Entry)
        return _described(name, _expanded(entry), path)
    except (msgspec.ValidationError, CompileError) as error:
        why = error.diagnostics[0] if isinstance(error, CompileError) else None
        raise fail(
            why.code if why else "config-malformed",
            why.message if why else str(error),
            file=path.name,
            pointer=f"/{table}/{clip(name, 64)}",
            hint=why.hint if why else "",
        ) from None


def _described(name: str, entry: _Entry, path: Path) -> Target:
    if entry.url and not entry.command:
        lines = [f"{key}: {value}" for key, value in entry.headers.items()]
        return _at(entry.url, is_sse=entry.type == "sse").with_headers(lines, None)
    if not entry.command or entry.url:
        raise fail("config-malformed", 'a server has either a "command" or a "url"')
    return Target(
        name,
        command=(entry.command, *entry.args),
        env=entry.env,
        cwd=str(path.parent / entry.cwd) if entry.cwd else None,
    )


def _servers(path: Path) -> tuple[str, dict[str, Any]]:
    """The table of servers, and what it is called."""
    content = _content(path)
    for key in SERVERS:
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            return key, content[key]
    raise fail(
        "config-malformed",
        f"it has no table of servers: {' or '.join(SERVERS)}",
        file=path.name,
        hint="give the file in which a host keeps its servers, such as .mcp.json",
    )


def _content(path: Path) -> Any:
    """Its JSON, which in VS Code may have comments and one comma too many."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise fail("too-large", f"more than {MAX_BYTES} bytes", file=path.name)
        text = _COMMENT.sub(_blank, data.decode("utf-8-sig"))
        return json.loads(_LAST_COMMA.sub(_blank, text))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise fail("not-json", f"{where}: {error.msg}", file=path.name) from None
    except RecursionError:
        raise fail("not-json", "it is nested too deeply", file=path.name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise fail("file-unreadable", reason, file=path.name) from None


def _blank(found: re.Match[str]) -> str:
    """Nothing moves: positions in error messages must hold."""
    return found[1] or re.sub(r"[^\n]", " ", found[0])


def _expanded(entry: _Entry) -> _Entry:
    return _Entry(
        type=entry.type,
        command=_fill_in(entry.command),
        args=[_fill_in(text) for text in entry.args],
        env={key: _fill_in(text) for key, text in entry.env.items()},
        cwd=_fill_in(entry.cwd),
        url=_fill_in(entry.url),
        headers={key: _fill_in(text) for key, text in entry.headers.items()},
    )


def _fill_in(text: str) -> str:
    """With `${NAME}` and `${NAME:-default}` replaced from the environment."""
    return _VARIABLE.sub(_variable, text)


def _variable(found: re.Match[str]) -> str:
    name, has_default, default = found[1].partition(":-")
    name = name.removeprefix("env:")  # as VS Code and Cursor write it
    value = os.environ.get(name)
    if value or (value is not None and not has_default):
        return value
    if has_default:
        return default
    if not _NAME.fullmatch(name):
        raise fail("variable-unknown", f"only the host knows ${{{clip(name, 64)}}}")
    raise _unset(name)


# --- options --------------------------------------------------------------------------


def _setting(text: str) -> tuple[str, str]:
    name, is_given, value = text.partition("=")
    if not name or "\0" in text:
        raise fail(
            "option-malformed", "a variable is NAME=VALUE, or NAME to pass it on"
        )
    return name, value if is_given else _ours(name)


def _ours(name: str) -> str:
    """A variable of our own environment."""
    if not _NAME.fullmatch(name):  # perhaps a secret, so it is not repeated
        raise fail("option-malformed", "the name of a variable is expected, no value")
    if name not in os.environ:
        raise _unset(name)
    return os.environ[name]


def _header(line: str) -> tuple[str, str]:
    """A header; what is wrong with it is said without its value."""
    if not (found := _HEADER.fullmatch(line)):
        raise fail(
            "option-malformed",
            "an HTTP header is NAME: VALUE, of visible ASCII characters on one line",
        )
    return found[1], found[2].strip()


def _unset(name: str) -> CompileError:
    return fail(
        "variable-unset",
        f"{clip(name, 64)} is not set in the environment",
        hint=f"set it: {clip(name, 64)}=… mcpgen …",
    )
