"""What all grants share: one flow at a time, its outcome kept and renewed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace

from ..errors import AuthError
from ..peer import log
from .bearer import SCOPE
from .challenge import parse_challenge
from .clients import Client, prove
from .discovery import Issuer, find_issuer, find_resource
from .endpoints import Endpoints
from .storage import MemoryStorage, TokenStorage
from .tokens import Answer, Grant
from .urls import secure

TRIES = 3
LOGINS = 6  # whatever they are for
WINDOW = 600.0


@dataclass(eq=False, repr=False)
class Authorizer:
    """Gets tokens for one MCP server, from whoever issues them."""

    server_url: str
    _: KW_ONLY
    client_id: str = ""
    client_secret: str = ""
    private_key: Any = None
    """PEM text or a JWK, to prove with (RFC 7523) that it is us (`mcpgen[auth]`)."""
    algorithm: str = "ES256"
    issuer: str = ""
    """The one authorization server to use; else the first that gets the `client_id`."""
    scopes: Sequence[str] = ()
    """Asked for instead of those that the server's metadata names."""
    storage: TokenStorage = field(default_factory=MemoryStorage)
    http: Any = None
    """A `Requester`, or an httpx2 client."""
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        secure(self.server_url, "server_url")
        if isinstance(self.scopes, str):
            raise TypeError("scopes is a list of strings")
        self._grant: Grant | None = None
        self._is_loaded = False
        self._work: asyncio.Task[bool] | None = None
        self._waiting = 0
        self._tries: dict[Hashable, list[float]] = {}

    async def header(self) -> str | None:
        """The value of `Authorization`, once there is a token; renewed in time."""
        if not self._is_loaded:
            await self._load()
        grant = self._grant
        if grant and 0 < grant.renew_at <= self.clock() and not self._work:
            with suppress(AuthError):
                await self._alone(self._renew)
        return _header(self._grant)

    async def refused(self, status: int, challenges: str, sent: str | None) -> bool:
        """A request was refused: get a token that will do. Is it worth a new try?"""
        said = parse_challenge(challenges)
        if _header(self._grant) not in (None, sent):
            return True
        if status == 403 and said.get("error") != "insufficient_scope":
            return False
        told, scopes = said.get("resource_metadata", ""), said.get("scope", "").split()
        scopes = list(filter(SCOPE.fullmatch, scopes))
        return await self._alone(lambda: self._authorize(status, sent, told, scopes))

    async def _alone(self, work: Callable[[], Coroutine[Any, Any, bool]]) -> bool:
        """Do it, or wait for who is at it already. The last to give up ends it."""

        async def run() -> bool:
            self._endpoints = Endpoints(self.server_url, self.http)
            try:
                return await work()
            finally:
                await self._endpoints.close()

        task = self._work = self._work or asyncio.ensure_future(run())
        self._waiting += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._work = None
                task.cancel()
                await asyncio.wait([task])

    async def _authorize(
        self, status: int, sent: str | None, told: str, needed: list[str]
    ) -> bool:
        await self._load()
        if _header(self._grant) not in (None, sent):
            return True  # another program, with which we share the storage, was faster
        url, endpoints, grant = self.server_url, self._endpoints, self._grant
        resource = await find_resource(endpoints, url, told)
        issuer = await find_issuer(endpoints, resource, url, self.issuer)
        place = issuer.issuer, resource.resource
        if grant and (grant.issuer, grant.resource) != place:
            grant = None  # nothing of one issuer is for another to see
        is_renewable = status == 401 and grant and grant.refresh_token
        if is_renewable and self._may("renew") and await self._renew():
            return True
        needed = [*self.scopes, *needed] or resource.scopes_supported
        scopes = list(dict.fromkeys([*(grant.scopes if grant else ()), *needed]))
        if not self._may((place, frozenset(scopes))) or not self._may("login", LOGINS):
            raise AuthError(f"{url} refuses what {place[0]} gives, again and again")
        if self.client_id:
            self.issuer = issuer.issuer
        client = grant.client if grant and not self.client_id else self._own(issuer)
        if status == 401:
            await self._keep(None)
        wanted = Grant(*place, issuer.token_endpoint, scopes, client)
        await self._keep(await self._obtain(issuer, wanted))
        return True

    def _may(self, what: Hashable, most: int = TRIES) -> bool:
        """Not the fourth time in ten minutes: that would be going round in circles."""
        since = self.clock() - WINDOW
        recent = {k: [at for at in v if at > since] for k, v in self._tries.items()}
        self._tries = {key: times for key, times in recent.items() if times}
        times = self._tries.setdefault(what, [])
        times.append(self.clock())
        return len(times) <= most

    def _own(self, issuer: Issuer) -> Client:
        """The client that people registered beforehand."""
        usable = ["none"]
        if self.private_key is not None:
            usable = ["private_key_jwt"]
        elif self.client_secret:
            usable = ["client_secret_basic", "client_secret_post"]
        return Client(self.client_id, self.client_secret, issuer.method(*usable))

    async def _form(self, grant: Grant) -> dict[str, str]:
        """What asks for a token without the user; empty if that is not possible."""
        raise NotImplementedError

    async def _obtain(self, issuer: Issuer, wanted: Grant) -> Grant:
        return await self._request(wanted, await self._form(wanted))

    async def _renew(self) -> bool:
        assert self._grant is not None
        # If it fails the old one may do; nobody shall wait for this at every request.
        grant = self._grant = replace(self._grant, renew_at=0)
        try:
            if form := await self._form(grant):
                await self._keep(await self._request(grant, form))
            return bool(form)
        except AuthError as error:
            if not error.code:  # nobody answered: the refresh token may be good
                raise
            log.info("a token was not renewed: %s", error.code)
            return False

    async def _request(self, wanted: Grant, form: dict[str, str]) -> Grant:
        """Ask the token endpoint."""
        client, key, now = wanted.client, self.private_key, self.clock()
        form = {**form, "resource": wanted.resource}
        headers = prove(client, wanted.issuer, form, key, self.algorithm)
        headers["content-type"] = "application/x-www-form-urlencoded"
        url, body = wanted.token_endpoint, urlencode(form).encode()
        return wanted.filled(
            await self._endpoints.post(url, Answer, body, **headers), now
        )

    async def _load(self) -> None:
        kept = await self.storage.load(self.server_url)
        self._is_loaded, self._grant = True, None
        with suppress(msgspec.ValidationError):  # of another version, perhaps
            self._grant = msgspec.convert(kept, Grant | None)
        if self._grant and self._grant.client.client_id == self.client_id:
            self.issuer = self.issuer or self._grant.issuer

    async def _keep(self, grant: Grant | None) -> None:
        self._grant = grant
        await self.storage.save(self.server_url, msgspec.to_builtins(grant))


def _header(grant: Grant | None) -> str | None:
    return f"Bearer {grant.access_token}" if grant else None
