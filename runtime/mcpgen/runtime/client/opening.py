"""Which version? The newest that both sides speak, found as the specification says."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from .. import versions
from ..errors import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    AnswerError,
    ConnectionClosed,
    HttpError,
    NotSupported,
    RequestTimeout,
)
from .connections import Connection
from .service import Service
from .sessions import Legacy, Modern, Profile, Session

PROBE_SECONDS = 5.0
"""A legacy server may say nothing at all to a question of the other era."""
NOT_LEGACY = (401, 403, 429, 500, 502, 503, 504)
"""Statuses that tell nothing about the era."""
TRIES = 3

_legacy_servers: set[str] = set()
"""Those that need not be asked again whether they are modern, for a process's life."""

Connect: TypeAlias = Callable[[], Awaitable[Connection]]


class Opening:
    """Opens a session, whatever the server turns out to be."""

    def __init__(
        self,
        profile: Profile,
        service: Service,
        connect: Connect,
        oldest: Connect | None,
        key: str,
    ) -> None:
        self._profile = profile
        self._service = service
        self._connect = connect
        self._oldest = oldest
        """Connects over HTTP as the oldest version does, where that can be tried."""
        self._key = key
        self._modern = [v for v in versions.MODERN if v in profile.versions]
        self._legacy = [v for v in versions.LEGACY if v in profile.versions]
        self._connection: Connection | None = None

    async def session(self) -> Session:
        """The session; if none can be had, nothing is left open."""
        try:
            return await self._find()
        except BaseException:
            if self._connection is not None:
                await self._connection.close()
            raise

    async def _find(self) -> Session:
        await self._here()  # if nobody is there, that tells nothing about an era
        if not self._modern:
            return await self._initialized()
        if self._legacy and self._key in _legacy_servers:
            try:
                return await self._initialized()
            except (AnswerError, HttpError):
                _legacy_servers.discard(self._key)  # it is another one by now
        silent = False
        try:
            longest = PROBE_SECONDS if self._legacy else math.inf
            session = await self._discovered(min(self._profile.timeout, longest))
            if session is not None:
                return session
        except RequestTimeout:
            if not self._legacy:
                raise
            silent = True
        try:
            session = await self._initialized()
        except AnswerError:
            # A modern server that took long to start, and has nothing to initialize?
            again = await self._discovered(self._profile.timeout) if silent else None
            if again is None:
                raise
            return again
        if self._key and not silent:
            _legacy_servers.add(self._key)
        return session

    async def _here(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = await self._connect()
        return self._connection

    # --- the modern era -------------------------------------------------------------------

    async def _discovered(self, seconds: float) -> Session | None:
        """A session with a modern server; None when it is none."""
        name = self._modern[-1]
        offered: list[str] = []
        for _ in range(TRIES):
            session = Modern(await self._here(), self._service, self._profile)
            try:
                offered = await session.open(versions.get(name), seconds)
                if name in offered:
                    return session
            except AnswerError as error:
                if not self._is_modern(error):
                    if self._legacy:
                        return None
                    raise
                offered = _supported(error)
            except (HttpError, ConnectionClosed) as problem:
                if self._tells_nothing(problem):
                    raise
                return None
            common = [v for v in self._modern if v in offered]
            if not common:
                break
            name = common[-1]
        if self._legacy:
            return None
        ours, theirs = ", ".join(self._profile.versions), ", ".join(offered) or "none"
        message = f"the server speaks {theirs}, this client {ours}"
        raise NotSupported(INVALID_REQUEST, message)

    def _is_modern(self, error: AnswerError) -> bool:
        """Does an error tell of a modern server? Raised when it is our fault."""
        codes = versions.get(self._modern[-1]).errors
        if error.code == codes.UNSUPPORTED_PROTOCOL_VERSION:
            return True
        ours = (codes.HEADER_MISMATCH, codes.MISSING_REQUIRED_CLIENT_CAPABILITY)
        if error.code in ours or (error.code, error.status) == (METHOD_NOT_FOUND, 404):
            raise error
        return False

    def _tells_nothing(self, problem: Exception) -> bool:
        if not self._legacy:
            return True
        if isinstance(problem, HttpError):
            return problem.status in NOT_LEGACY
        # Nobody answers there; but a child that died of the question is a legacy one.
        return getattr(problem, "sent", None) is False

    # --- the legacy era -------------------------------------------------------------------

    async def _initialized(self) -> Session:
        session = Legacy(await self._here(), self._service, self._profile)
        newest = versions.get(self._legacy[-1])
        try:
            await session.open(newest)
        except (HttpError, AnswerError) as error:
            if self._oldest is None or error.status not in (400, 404, 405):
                raise
            await session.connection.close()
            try:
                self._connection = await self._oldest()
            except (HttpError, ConnectionClosed, RequestTimeout):
                raise error from None  # what helps is what was said to the POST
            session = Legacy(self._connection, self._service, self._profile)
            await session.open(newest)
        return session


def _supported(error: AnswerError) -> list[str]:
    """The versions that a modern server names when it does not speak ours."""
    named = error.data.get("supported") if isinstance(error.data, dict) else None
    return named if isinstance(named, list) else []
