"""Grants without a user: a program acts for itself, or somebody vouches for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import TypeAlias

from .flow import Authorizer
from .tokens import Grant

Assertion: TypeAlias = Callable[[str, str], str | Awaitable[str]]
"""Takes an issuer and a resource; gives a JWT for them by somebody it trusts."""


@dataclass(eq=False, repr=False, kw_only=True)
class ClientCredentials(Authorizer):
    """A program that acts for itself (RFC 6749, 4.4)."""

    client_id: str = field()

    async def _form(self, grant: Grant) -> dict[str, str]:
        return {"grant_type": "client_credentials"} | _scope(grant)


@dataclass(eq=False, repr=False, kw_only=True)
class JwtBearer(Authorizer):
    """A program for which a platform or a company's login vouches (RFC 7523)."""

    assertion: Assertion

    async def _form(self, grant: Grant) -> dict[str, str]:
        made = self.assertion(grant.issuer, grant.resource)
        token = await made if isawaitable(made) else made
        kind = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        return {"grant_type": kind, "assertion": token} | _scope(grant)


def _scope(grant: Grant) -> dict[str, str]:
    return {"scope": " ".join(grant.scopes)} if grant.scopes else {}
