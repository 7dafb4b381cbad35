"""Who issues the tokens of an MCP server: RFC 9728, RFC 8414, OpenID Connect."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from ..client.web import origin
from ..errors import AuthError
from .bearer import WELL_KNOWN
from .endpoints import Endpoints
from .urls import site

OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"


class Resource(Struct):
    """The metadata of an MCP server."""

    resource: str
    """As the server writes it, and byte for byte what is sent (RFC 8707)."""
    authorization_servers: list[str] = []
    scopes_supported: list[str] = []


class Issuer(Struct):
    """The metadata of an authorization server."""

    issuer: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    registration_endpoint: str = ""
    code_challenge_methods_supported: list[str] = []
    scopes_supported: list[str] = []
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    client_id_metadata_document_supported: bool = False
    authorization_response_iss_parameter_supported: bool = False

    def method(self, *usable: str) -> str:
        """How to prove who we are: the first way it supports, or else let it say no."""
        known = self.token_endpoint_auth_methods_supported
        return next((method for method in usable if method in known), usable[0])


async def find_resource(endpoints: Endpoints, server_url: str, told: str) -> Resource:
    """Read a server's metadata, where it was told to be or else where it should be."""
    base = site(urlsplit(server_url))
    rest = server_url.removeprefix(base)
    rest = "" if rest == "/" else rest
    guesses = dict.fromkeys([base + WELL_KNOWN + rest, base + WELL_KNOWN])
    found = await endpoints.first([told] if told else guesses, Resource)
    if found is None and told:
        raise AuthError(f"{told!r:.200} is no metadata of a protected resource")
    found = found or Resource(base + rest)
    if not _covers(found.resource, server_url):
        raise AuthError(f"{server_url} says that it is {found.resource!r:.200}")
    return found


def _covers(resource: str, server_url: str) -> bool:
    """Is the resource the server, or a path above it? Only then its tokens are ours."""
    if not resource.isprintable() or "@" in resource:
        return False
    try:
        is_same = origin(resource) == origin(server_url) and "#" not in resource
        above = urlsplit(resource).path.rstrip("/") + "/"
    except ValueError:
        return False
    return is_same and f"{urlsplit(server_url).path}/".startswith(above)


async def find_issuer(
    endpoints: Endpoints, resource: Resource, server_url: str, preferred: str
) -> Issuer:
    """Read the metadata of who issues tokens for a resource, wherever it is."""
    named, own = resource.authorization_servers, site(urlsplit(server_url))
    if preferred and named and preferred not in named:
        raise AuthError(f"{server_url} relies on {named[0]!r:.200}, not on {preferred}")
    issuer = preferred or (named or [own])[0]
    endpoints.check(issuer)
    base = site(urlsplit(issuer))
    path = issuer.removeprefix(base).rstrip("/")
    urls = [base + OAUTH + path, base + OPENID + path, base + path + OPENID]
    found = await endpoints.first(dict.fromkeys(urls), Issuer)
    # Where nobody names an issuer, the server is its own: that once was the rule.
    is_legacy = not named and issuer == own
    if found is None and is_legacy:
        return Issuer(
            own, own + "/authorize", own + "/token", own + "/register", ["S256"]
        )
    if found is None:
        raise AuthError(f"{issuer} has no metadata of an authorization server")
    if found.issuer != issuer and not (is_legacy and found.issuer == own + "/"):
        raise AuthError(f"{issuer} has the metadata of {found.issuer!r:.200}")
    return found
