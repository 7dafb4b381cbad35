"""Who may call a server: bearer tokens, and where clients get them.

    from mcpgen.runtime.auth import Bearer, JwtVerifier

    resource, issuer = "https://example.com/mcp", "https://login.example.com"
    verify = JwtVerifier(jwks, issuer=issuer, audience=resource)
    auth = Bearer(verify, resource=resource, authorization_servers=[issuer])
    server.run("http", auth=auth)

A server that authenticates nobody imports nothing of this.
"""

from __future__ import annotations

from .bearer import Bearer as Bearer
from .bearer import Principal as Principal
from .bearer import Unauthorized as Unauthorized
from .jwt import JwtVerifier as JwtVerifier
