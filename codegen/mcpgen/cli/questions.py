"""Questions of a server, put to the user: forms and pages to visit.

Where nobody can be asked, the answer is no. Everything goes to standard error: standard
output is for the result.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from .parameters import Schema, typed
from .terminal import block, compact, is_interactive, line, tell

LONGEST = 64 * 1024
"""Characters of a question, and of an answer."""


class Deadline:
    """Time for a server to answer, which does not run while the user is asked."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.Timeout | None = None
        """While it runs; a server may report and ask at other times, too."""
        self._asking = 0

    @property
    def is_paused(self) -> bool:
        """Is the user being asked?"""
        return self._asking > 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Time runs; TimeoutError when it is over."""
        try:
            async with asyncio.timeout(self._seconds) as self._timer:
                yield
        finally:
            self._timer = None

    def again(self) -> None:
        """The server shows that it is alive: its time begins anew."""
        if not self.is_paused:
            self._reschedule(asyncio.get_running_loop().time() + self._seconds)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time is the user's now."""
        self._asking += 1
        self._reschedule(None)
        try:
            yield
        finally:
            self._asking -= 1
            self.again()

    def _reschedule(self, when: float | None) -> None:
        if self._timer is not None:
            with suppress(RuntimeError):  # it is over at this very moment
                self._timer.reschedule(when)


class Questions:
    """Asks the user, one thing after another; `make_room` is called before."""

    def __init__(self, deadline: Deadline, make_room: Callable[[], None]) -> None:
        self._deadline = deadline
        self._make_room = make_room
        self._turn = asyncio.Lock()

    async def form(self, asked: Any) -> dict[str, Any] | str:
        """Let the user fill in a form: what is in it, or `decline` or `cancel`."""
        return await self._put(asked, lambda: _fill_in(asked.requested_schema))

    async def page(self, asked: Any) -> dict[str, Any] | str:
        """Let the user visit a page; whether they do so is theirs to say."""
        return await self._put(asked, lambda: _visit(asked.url))

    async def _put(
        self, asked: Any, question: Callable[[], Awaitable[dict[str, Any] | str]]
    ) -> dict[str, Any] | str:
        async with self._turn:
            self._make_room()
            tell(f"The server asks: {block(asked.message[:LONGEST])}")
            with self._deadline.paused():
                try:
                    return await question()
                except _Nobody:
                    tell("declined: there is no terminal to ask on")
                    return "decline"
                except EOFError:
                    tell("")
                    return "cancel"


class _Nobody(Exception):
    """There is nobody to ask."""


async def _visit(url: str) -> str:
    tell(f"Page:   {line(url, 10_000)}\nServer: {_host(url)}")
    return "accept" if await _yes("Have you opened it in a browser?") else "decline"


def _host(url: str) -> str:
    try:
        return line(urlsplit(url).hostname or "unknown")
    except ValueError:
        return "unknown"


async def _fill_in(requested: dict[str, Any]) -> dict[str, Any] | str:
    if not is_interactive():
        raise _Nobody
    schema = Schema(requested)
    tell("(Enter takes the default or skips; Ctrl-D cancels)")
    answers = {}
    for name, about in schema.properties.items():
        answer = await _Field(schema, name, about).ask()
        if answer is not None:
            answers[name] = answer
    tell(line(compact(answers), 2000))
    return answers if await _yes("Send this?") else "decline"


class _Field:
    """One field of a form."""

    def __init__(self, schema: Schema, name: str, about: Any) -> None:
        about = about if isinstance(about, dict) else {}
        self._name = name
        self._about = about
        self._is_required = name in schema.required
        self._kinds = schema.types(about)
        self._is_list = "array" in self._kinds
        self._choices = _choices(about.get("items") if self._is_list else about)
        self._type = schema.type_name(about)

    async def ask(self) -> Any:
        """What the user says; None: nothing."""
        self._introduce()
        while True:
            text = (await read_line(f"{self._label()}: ")).strip()
            if not text:
                if "default" in self._about or not self._is_required:
                    return self._about.get("default")
                tell("this is required")
                continue
            try:
                return self._read(text)
            except ValueError as error:
                tell(str(error) or f"expected: {line(self._type)}")

    def _introduce(self) -> None:
        for key in ("title", "description"):
            if isinstance(text := self._about.get(key), str):
                tell(f"  {line(text, 500)}")
        for number, (value, title) in enumerate(self._choices.items(), 1):
            more = f"  {line(title)}" if title != value else ""
            tell(f"    {number}  {line(value)}{more}")

    def _label(self) -> str:
        if self._choices:
            kind = "several, with commas" if self._is_list else "one of them"
        else:
            kind = self._type
        needed = ", required" if self._is_required else ""
        has_default = "default" in self._about
        default = f" [{compact(self._about['default'])}]" if has_default else ""
        return line(f"{self._name} ({kind}{needed}){default}", 500)

    def _read(self, text: str) -> Any:
        if self._is_list:
            return [self._chosen(part.strip()) for part in text.split(",")]
        if self._choices:
            return self._chosen(text)
        if self._kinds == {"boolean"}:
            return _truth(text)
        value = typed(text, self._kinds or {"string"})
        _check_size(value, self._about)
        return value

    def _chosen(self, text: str) -> str:
        values = list(self._choices)
        if text in values or not values:
            return text
        if text.isdecimal() and 1 <= int(text) <= len(values):
            return values[int(text) - 1]
        raise ValueError(f"choose: 1 to {len(values)}")


def _choices(about: Any) -> dict[str, str]:
    """What can be chosen: value → title."""
    about = about if isinstance(about, dict) else {}
    values = about.get("enum")
    titles = about.get("enumNames")
    if isinstance(values, list):
        is_named = isinstance(titles, list) and len(titles) == len(values)
        named = titles if is_named else values
        return {str(v): str(t) for v, t in zip(values, named, strict=True)}
    options = about.get("oneOf") or about.get("anyOf") or []
    return {
        str(option["const"]): str(option.get("title", option["const"]))
        for option in options
        if isinstance(option, dict) and "const" in option
    }


def _truth(text: str) -> bool:
    if text.lower() in ("y", "yes", "true"):
        return True
    if text.lower() in ("n", "no", "false"):
        return False
    raise ValueError("yes or no?")


def _check_size(value: Any, about: dict[str, Any]) -> None:
    is_text = isinstance(value, str)
    size = len(value) if is_text else value
    least, most = ("minLength", "maxLength") if is_text else ("minimum", "maximum")
    if size < about.get(least, size):
        raise ValueError(f"{least} is {about[least]}")
    if size > about.get(most, size):
        raise ValueError(f"{most} is {about[most]}")


async def _yes(question: str) -> bool:
    while True:
        try:
            return _truth(await read_line(f"{question} [y/n] "))
        except ValueError as error:
            tell(str(error))


async def read_line(prompt: str) -> str:
    """A line of the user; EOFError at Ctrl-D. The loop goes on meanwhile.

    No thread is left to read on when the question is withdrawn: it would take the next
    line, and keep the process from ending.
    """
    if not is_interactive():
        raise _Nobody
    print(prompt, end="", file=sys.stderr, flush=True)
    loop = asyncio.get_running_loop()
    typed_in: asyncio.Future[bytes] = loop.create_future()
    descriptor = sys.stdin.fileno()

    def read() -> None:
        data = b""
        loop.remove_reader(descriptor)
        with suppress(OSError):  # the terminal is gone
            data = os.read(descriptor, LONGEST)
        if not typed_in.done():
            typed_in.set_result(data)

    try:
        loop.add_reader(descriptor, read)
    except NotImplementedError:  # Windows
        return await asyncio.to_thread(input)
    try:
        data = await typed_in
    finally:
        loop.remove_reader(descriptor)
    if not data:
        raise EOFError
    return data.decode("utf-8", "replace").rstrip("\r\n")
