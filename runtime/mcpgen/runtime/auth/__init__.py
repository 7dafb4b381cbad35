"""Who may call a server: bearer tokens, for those who check them and those who get them.

    from mcpgen.runtime.auth import Bearer, JwtVerifier

    resource, issuer = "https://example.com/mcp", "https://login.example.com"
    verify = JwtVerifier(jwks, issuer=issuer, audience=resource)
    auth = Bearer(verify, resource=resource, authorization_servers=[issuer])
    server.run("http", auth=auth)

    from mcpgen.runtime.auth import OAuth

    client = Client.http("https://example.com/mcp", auth=OAuth("https://example.com/mcp"))

Who authenticates nobody imports nothing of this; servers and clients import their half.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..errors import AuthError as AuthError
    from .bearer import Bearer as Bearer
    from .bearer import Principal as Principal
    from .bearer import Unauthorized as Unauthorized
    from .grants import ClientCredentials as ClientCredentials
    from .grants import JwtBearer as JwtBearer
    from .jwt import JwtVerifier as JwtVerifier
    from .oauth import OAuth as OAuth
    from .storage import FileStorage as FileStorage
    from .storage import MemoryStorage as MemoryStorage
    from .storage import TokenStorage as TokenStorage
    from .tokens import StaticToken as StaticToken

_HOMES = {
    name: module
    for module, names in {
        "bearer": ("Bearer", "Principal", "Unauthorized"),
        ".errors": ("AuthError",),
        "grants": ("ClientCredentials", "JwtBearer"),
        "jwt": ("JwtVerifier",),
        "oauth": ("OAuth",),
        "storage": ("FileStorage", "MemoryStorage", "TokenStorage"),
        "tokens": ("StaticToken",),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
