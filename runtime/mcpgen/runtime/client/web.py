"""HTTP for both transports that need it: who asks, with which headers, and where to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

from ..errors import ConnectionClosed, HttpError
from .deadlines import Limit
from .http1 import Requester, Response, locate

TRIES = 5
"""So often is one request sent in all, for redirects and for new credentials."""
EXCERPT = 64 * 1024
"""How much of an answer that says no is read."""


class Authorization(Protocol):
    """Who knows the credentials, and how to get better ones."""

    async def header(self) -> str | None:
        """The value of `Authorization` for the next request, if there is one yet."""

    async def refused(self, status: int, challenges: str, sent: str | None) -> bool:
        """A request with that value was refused: is it worth to send it again?"""


class Web:
    """Sends requests to one server."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: Authorization | None = None,
        http: Any = None,
    ) -> None:
        locate(url)  # which says what is wrong with it, if something is
        self.url = url
        self._headers = {k.lower(): v for k, v in (headers or {}).items()}
        self._auth = auth
        self._http = http
        self._requester: Requester | None = None
        self._authorization: str | None = None

    async def send(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        url: str = "",
        deadline: Limit | None = None,
        renew: bool = True,
    ) -> Response:
        """The answer, whatever its status; not read yet.

        A deadline does not count what new credentials take: a user may log in.
        Without `renew` those that are there must do.
        """
        url = url or self.url
        requester = self._requester or self._connect()
        said = {**self._headers, **headers}
        for _ in range(TRIES):
            if self._auth is not None and renew:
                self._authorization = await self._auth.header()
            authorization = self._authorization
            if authorization is not None:
                said["authorization"] = authorization
            response = await requester.send(method, url, said, body)
            status = response.status
            if status in (307, 308):
                response.close()
                url = _redirected(url, response)
            elif status in (401, 403) and self._auth is not None and renew:
                with _paused(deadline):
                    if not await self._has_better(response, authorization):
                        return response
                response.close()
            else:
                return response
        raise HttpError(response.status, "it says so again and again")

    async def _has_better(self, response: Response, sent: str | None) -> bool:
        """A request was refused: are there other credentials by now?"""
        challenges = response.headers.get("www-authenticate", "")
        if self._auth is None:
            return False
        if response.status == 403 and "insufficient_scope" not in challenges:
            return False
        try:
            return await self._auth.refused(response.status, challenges, sent)
        except BaseException:
            response.close()
            raise

    def _connect(self) -> Requester:
        from .http1 import Http1, proxied

        requester: Requester
        if self._http is not None and not hasattr(self._http, "build_request"):
            requester = self._http
        elif self._http is not None or proxied(self.url):
            from .httpx import Httpx

            requester = Httpx(self._http)
        else:
            requester = Http1()
        self._requester = requester
        return requester

    async def close(self) -> None:
        """Close the connections, unless they are somebody else's."""
        if self._requester is not None and self._requester is not self._http:
            await self._requester.close()


@contextmanager
def _paused(deadline: Limit | None) -> Iterator[None]:
    end = None if deadline is None else deadline.when()
    if deadline is None or end is None:
        yield
        return
    time = asyncio.get_running_loop().time
    left = end - time()
    deadline.reschedule(None)
    try:
        yield
    finally:
        deadline.reschedule(time() + left)


def _redirected(url: str, response: Response) -> str:
    """Where to send it instead: on the same server, or credentials would leak."""
    if "location" not in response.headers:
        raise HttpError(response.status, "it redirects to nowhere")
    try:
        target = urljoin(url, response.headers["location"])
        scheme, host, port = origin(target)
        if (scheme, host, port) == origin(url):
            locate(target)
            return target
    except ValueError:
        raise HttpError(response.status, "it redirects to what is no URL") from None
    elsewhere = f"{scheme}://{host}:{port}"  # the rest may hold secrets
    message = f"it redirects to another server, {elsewhere}: use its URL"
    raise HttpError(response.status, message)


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what credentials belong to."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", parts.port or default


def media_type(response: Response) -> str:
    """The type of the body, without parameters."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


async def refusal(response: Response) -> HttpError:
    """An answer that nothing can be made of, as an error."""
    after = response.headers.get("retry-after", "")
    try:
        message = excerpt(await response.read(EXCERPT))
    except ConnectionClosed as problem:
        message = str(problem)  # the status says more than that
    seconds = float(after) if after.isascii() and after.isdigit() else None
    return HttpError(response.status, message, retry_after=seconds)


def excerpt(body: bytes) -> str:
    """The beginning of a body, to be shown to people."""
    return " ".join(body.decode("utf-8", "replace").split())[:200] or "no explanation"
