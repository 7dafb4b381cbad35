"""`OAuth`: a user says yes in a browser (authorization code with PKCE)."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hmac import compare_digest
from urllib.parse import parse_qsl, urlencode

from msgspec.structs import replace

from ..errors import AuthError
from .clients import Client, register
from .discovery import Issuer
from .endpoints import refusal
from .flow import Authorizer
from .redirect import Redirect, listening
from .tokens import Grant
from .urls import secure

OFFLINE = "offline_access"


@dataclass(eq=False, repr=False, kw_only=True)
class OAuth(Authorizer):
    """Acts for a user.

    The client is the one that `client_id` names, else the one that
    `client_metadata_url` describes, else it registers itself as `client_name`.
    `redirect` shows a page to the user and gives back where that ended, which is at
    `redirect_uri`; without it the browser is opened, and awaited on loopback.
    """

    client_metadata_url: str = ""
    client_name: str = "mcpgen"
    redirect: Redirect | None = None
    redirect_uri: str = ""
    timeout: float = 300.0
    """Seconds for the user to answer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.client_metadata_url:
            secure(self.client_metadata_url, "client_metadata_url", local=False)
        if self.redirect_uri or self.redirect:
            parts = secure(self.redirect_uri, "redirect_uri")
            is_here = parts.scheme == "http" and parts.hostname != "::1"
            if not is_here and not self.redirect:
                raise ValueError("redirect_uri: not 127.0.0.1, so redirect= is needed")

    async def _form(self, grant: Grant) -> dict[str, str]:
        token = grant.refresh_token
        return {"grant_type": "refresh_token", "refresh_token": token} if token else {}

    async def _obtain(self, issuer: Issuer, wanted: Grant) -> Grant:
        self._endpoints.check(issuer.authorization_endpoint)
        if "S256" not in issuer.code_challenge_methods_supported:
            raise AuthError(f"{issuer.issuer} does not say that it does PKCE with S256")
        uri = self.redirect_uri
        before = wanted.client.redirect_uri or "http://127.0.0.1/callback"
        async with listening(uri, before, self.redirect) as (uri, redirect):
            client = await self._known(issuer, wanted.client, uri)
            wanted = replace(wanted, client=client)
            verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(32)
            url = _question(issuer, wanted, uri, verifier, state)
            try:
                async with asyncio.timeout(self.timeout):
                    code = _code(await redirect(url), state, issuer)
            except TimeoutError:
                text = f"the user did not answer in {self.timeout:g} seconds"
                raise AuthError(text) from None
        form = {"grant_type": "authorization_code", "code": code}
        form |= {"redirect_uri": uri, "code_verifier": verifier}
        return await self._request(wanted, form)

    async def _known(self, issuer: Issuer, client: Client, uri: str) -> Client:
        """A client that the authorization server knows."""
        if self.client_id:
            return client
        if self.client_metadata_url and issuer.client_id_metadata_document_supported:
            return replace(self._own(issuer), client_id=self.client_metadata_url)
        ends = client.client_secret_expires_at
        if client.redirect_uri == uri and (not ends or self.clock() < ends):
            return client
        if not issuer.registration_endpoint:
            raise AuthError(f"{issuer.issuer} registers nobody: give it a client_id=")
        return await register(self._endpoints, issuer, uri, self.client_name)


def _question(
    issuer: Issuer, wanted: Grant, redirect_uri: str, verifier: str, state: str
) -> str:
    """The URL of the login page."""
    digest = hashlib.sha256(verifier.encode()).digest()
    asked = {
        "response_type": "code",
        "client_id": wanted.client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": wanted.resource,
    }
    scopes = [scope for scope in wanted.scopes if scope != OFFLINE]
    if scopes and OFFLINE in issuer.scopes_supported:
        # OpenID Connect: no refresh token unless the user is asked for it.
        scopes, asked["prompt"] = [*scopes, OFFLINE], "consent"
    if scopes:
        asked["scope"] = " ".join(scopes)
    url = issuer.authorization_endpoint
    return url + ("&" if "?" in url else "?") + urlencode(asked)


def _code(answer: str, state: str, issuer: Issuer) -> str:
    """The code in the URL that came back, if that answers what was asked."""
    query = answer.partition("#")[0].partition("?")[2]
    pairs = parse_qsl(query, keep_blank_values=True)
    said = dict(pairs)
    if not compare_digest(said.get("state", "").encode(), state.encode()):
        raise AuthError("the answer from the browser is not to this request (state)")
    # Whose it is comes next (RFC 9207): nothing in another's is to be believed.
    whose = said.get("iss")
    must = issuer.authorization_response_iss_parameter_supported
    if whose != issuer.issuer and (must or whose is not None):
        raise AuthError(f"the answer from the browser is not {issuer.issuer}'s (iss)")
    if "error" in said or not said.get("code") or len(said) != len(pairs):
        raise refusal(f"{issuer.issuer} gave no code", said)
    return said["code"]
