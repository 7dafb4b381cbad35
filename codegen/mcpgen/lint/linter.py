"""From the lines of a recording to findings: who is told what, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from ..recording import Entry, Header
from . import frames, ids
from .families import FAMILIES
from .finding import Finding
from .messages import OTHER, Answer, Call, Side
from .process import Process
from .session import Journal, Session
from .text import short
from .traffic import Traffic
from .versions import INSTALLED, Version, Versions
from .words import INITIALIZE, PROTOCOL_VERSION, REDACTED

_decode = msgspec.json.Decoder().decode
_MISSING: Any = object()


def lint(
    header: Header,
    entries: Iterator[tuple[int, Entry]],
    *,
    version: str | None = None,
    versions: Versions = INSTALLED,
) -> Iterator[Finding]:
    """What is wrong in a recording, found while its entries are read.

    Findings come with the entry that shows them; those that only the end shows come
    last. With a version, the entries are messages out of their context, of that
    version: only what they say themselves is judged.
    """
    linter = Linter(header, version, versions)
    found = linter.journal.found
    for line, entry in entries:
        linter.entry(line, entry)
        if found:
            yield from found
            found.clear()
    linter.end()
    yield from found


class Linter:
    """Tells the rules what happens."""

    def __init__(self, header: Header, version: str | None, versions: Versions) -> None:
        self.journal = Journal(versions, whole=version is None)
        if not header.raw:
            self.journal.redacted = REDACTED
        self.http = header.transport == "http"
        self._version = version
        self.process = Process(self.journal)
        self.session = self._new()
        self.traffic = Traffic(self.journal, self.session, self._new, header.target)

    def _new(self) -> Session:
        session = Session(self.journal, http=self.http)
        session.join(*FAMILIES)
        if self._version is not None:
            session.version = self.journal.versions.get(self._version)
        return session

    def entry(self, line: int, entry: Entry) -> None:
        """Something happened."""
        side = entry.source
        if side == "stderr" or side == "exit":
            self.process.entry(line, entry)
            return
        if self.journal.later:
            self.process.explain()
        session: Session | None = self.session
        if entry.http is not UNSET:
            session = self.traffic.entry(line, entry)
        if session is None:
            pass
        elif entry.frame is not UNSET:
            self._frame(session, line, entry, side)
        elif entry.text is not UNSET:
            self._text(session, line, entry, side)
        elif entry.cut:
            session.parties[side].lost = True
        if entry.http is not UNSET and entry.http.ended:
            self.traffic.ended(line, entry)

    def end(self) -> None:
        """The recording is over."""
        self.process.explain()
        self.traffic.end()

    # --- frames -----------------------------------------------------------------------

    def _text(self, session: Session, line: int, entry: Entry, side: Side) -> None:
        text = entry.text or ""
        if self.http:
            self.traffic.text(line, entry)
        elif side == "server" and '"jsonrpc"' not in text:
            message = f'"{short(text)}" on standard output'
            self.journal.report(frames.STRAY_OUTPUT, line, message)
        else:
            session.parties[side].refuse()
            self.journal.report(frames.NOT_JSON, line, frames.unreadable(entry))

    def _frame(self, session: Session, line: int, entry: Entry, side: Side) -> None:
        try:
            value = _decode(entry.frame)  # type: ignore[arg-type]
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            session.parties[side].refuse()
            self.journal.report(frames.NOT_JSON, line, short(str(error)))
            return
        except RecursionError:
            session.parties[side].refuse()
            self.journal.report(frames.NOT_JSON, line, "it is nested too deeply")
            return
        if entry.http is not UNSET:
            self.traffic.frame(line, entry, side, value)
        try:
            if type(value) is list:
                self._batch(session, line, entry, side, value)
            else:
                self._message(session, line, entry, side, value, "$")
        except RecursionError:
            self.journal.report(frames.NOT_JSON, line, "it is nested too deeply")

    def _batch(
        self, session: Session, line: int, entry: Entry, side: Side, batch: list[Any]
    ) -> None:
        sound = frames.check_batch(session, line, batch, side)
        for index, member in enumerate(batch[: frames.MEMBERS]):
            self._message(session, line, entry, side, member, f"$[{index}]")
        if not sound:
            party = session.parties[side]
            party.refuse()
            ids.excuse(party, line)

    def _message(
        self,
        session: Session,
        line: int,
        entry: Entry,
        side: Side,
        frame: Any,
        path: str,
    ) -> None:
        if type(frame) is not dict:
            session.parties[side].refuse()
            message = f"it is {frames.kind(frame)}"
            self.journal.report(frames.NOT_A_MESSAGE, line, message, path)
            return
        if frame.get("jsonrpc") != "2.0":
            session.parties[side].refuse()
            frames.check_jsonrpc(self.journal, line, path, frame)
        if "method" in frame:
            self._call(session, line, entry, side, frame, path)
        elif "result" in frame or "error" in frame or (entry.cut and "id" in frame):
            self._answer(session, line, entry, side, frame, path)
        else:
            session.parties[side].refuse(frame.get("id"))
            rule = frames.NOT_A_MESSAGE
            if "id" in frame:
                rule = frames.NEITHER
                ids.void(session.parties[OTHER[side]], frame["id"])
            told = "neither a method, nor a result, nor an error is there"
            self.journal.report(rule, line, told, path)

    # --- requests and notifications ---------------------------------------------------

    def _call(
        self,
        session: Session,
        line: int,
        entry: Entry,
        side: Side,
        frame: dict[str, Any],
        path: str,
    ) -> None:
        party = session.parties[side]
        method = frame["method"]
        if type(method) is not str:
            party.refuse(frame.get("id"))
            told = f"the method is {frames.kind(method)}"
            self.journal.report(frames.METHOD_TYPE, line, told, f"{path}.method")
            return
        if "result" in frame or "error" in frame:
            party.refuse(frame.get("id"))
            told = "a method beside a result or an error"
            self.journal.report(frames.CALL_AND_ANSWER, line, told, path)
            return
        id = frame.get("id", _MISSING)
        if id is not _MISSING and type(id) is not int:
            id = frames.check_id(self.journal, line, path, id)
            if id is None:
                party.refuse()
                return
        call = Call(line, entry, side, method, None if id is _MISSING else id, path)
        params = frame.get("params", _MISSING)
        if params is not _MISSING:
            if type(params) is not dict:
                party.refuse()
                call.garbled = True
                told = f"params are {frames.kind(params)}"
                self.journal.report(frames.PARAMS_TYPE, line, told, f"{path}.params")
            else:
                call.params = params
                meta = params.get("_meta")
                if type(meta) is dict:
                    call.meta = meta
        version = call.version = self._version_of(session, call)
        if id is _MISSING:
            call.row = version.notifications.get(method)
            party.notified = call
            for tell in session.on_notification:
                tell(call)
        else:
            call.row = version.requests.get(method)
            party.notified = None
            if not ids.asked(session, party, call):
                return
            for tell in session.on_request:
                tell(call)
            call.forget()

    def _version_of(self, session: Session, call: Call) -> Version:
        versions = self.journal.versions
        version = None
        if self._version is not None:
            return versions.get(self._version)
        if call.meta is not None and PROTOCOL_VERSION in call.meta:
            # Only stateless versions say it there.
            version = versions.known(call.meta[PROTOCOL_VERSION])
            if version is None and versions.modern:
                version = versions.get(versions.modern[-1])
        elif call.entry.http and call.entry.http.headers:
            version = versions.known(
                call.entry.http.headers.get("mcp-protocol-version")
            )
        if version is not None and version.modern:
            if not session.agreed:
                session.version = version
            return version
        if call.method == INITIALIZE:
            wanted = call.params.get("protocolVersion") if call.params else None
            version = versions.known(wanted)
            if version is not None and not version.modern:
                return version
            return versions.usual()
        return session.version or session.offered or versions.likely(call.method)

    # --- responses --------------------------------------------------------------------

    def _answer(
        self,
        session: Session,
        line: int,
        entry: Entry,
        side: Side,
        frame: dict[str, Any],
        path: str,
    ) -> None:
        if "result" in frame and "error" in frame:
            told = "a result beside an error"
            self.journal.report(frames.BOTH, line, told, path)
        asker = session.parties[OTHER[side]]
        call = ids.answered(session, asker, line, entry, side, frame, path)
        session.parties[side].notified = None
        if call is not None:
            self._settle(session, call)
        answer = Answer(line, entry, side, frame, call, path)
        if "error" in frame:
            for tell in session.on_refusal:
                tell(answer, frame["error"])
        elif call is not None:
            for tell in session.on_result:
                tell(answer, frame.get("result"))

    def _settle(self, session: Session, call: Call) -> None:
        """What was asked before there was a version is answered in the one agreed on."""
        version = session.version
        if session.agreed and version is not None and not call.version.modern:
            call.version, call.row = version, version.requests.get(call.method)
