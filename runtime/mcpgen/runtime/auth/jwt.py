"""`JwtVerifier`: access tokens that are JSON Web Tokens (RFC 7519, RFC 9068).

Needs joserfc, the extra `auth`. Nothing is fetched: the keys are given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from ..peer import log
from .bearer import Principal

Keys: TypeAlias = Any
"""A JWK set or one JWK (as parsed JSON), a PEM text, or a key of joserfc's."""

_KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP", "HS": "oct"}


class JwtVerifier:
    """Says who a token stands for: call it with one.

    The signature must be by one of the `keys`, with one of the `algorithms`; the token
    must be from the `issuer`, **for the `audience`** (this server's own URL, usually)
    and valid now, with `leeway` seconds for clocks that disagree.
    """

    def __init__(
        self,
        keys: Keys,
        *,
        issuer: str,
        audience: str | Sequence[str],
        algorithms: Sequence[str] = ("RS256", "ES256"),
        leeway: int = 0,
    ) -> None:
        _check_algorithms(algorithms)
        audiences = [audience] if isinstance(audience, str) else list(audience)
        if not issuer or not audiences or not all(audiences):
            raise ValueError("issuer and audience must be named")
        jws, jwt = joserfc("jws"), joserfc("jwt")
        self._decode = jwt.decode
        self._problem: type[Exception] = joserfc("errors").JoseError
        self._registry = jws.JWSRegistry(
            algorithms=list(algorithms), strict_check_header=False
        )
        self._claims = jwt.JWTClaimsRegistry(
            leeway=leeway,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "values": audiences},
            exp={"essential": True},
            sub={"essential": True},
        )
        self._leeway = leeway
        self._algorithms = algorithms
        self.replace_keys(keys)

    def replace_keys(self, keys: Keys) -> None:
        """Use these from now on: issuers change theirs now and then."""
        self._keys = imported(keys, self._algorithms)

    def __call__(self, token: str) -> Principal | None:
        """Who the token stands for; None when it is not good here."""
        try:
            claims = self._decode(token, self._keys, registry=self._registry).claims
            self._claims.validate(claims)
            expires_at = float(claims["exp"]) + self._leeway
        except (self._problem, ValueError, TypeError, OverflowError) as error:
            # Its kind only: what else it says may be the words of whoever sent it.
            log.info("a token was refused: %s", type(error).__name__)
            return None
        subject, client = claims["sub"], claims.get("client_id", claims.get("azp", ""))
        if not math.isfinite(expires_at) or not (
            isinstance(subject, str) and isinstance(client, str)
        ):
            return None
        return Principal(
            subject=subject,
            client_id=client,
            scopes=_scopes(claims),
            claims=claims,
            expires_at=expires_at,
        )


def _check_algorithms(algorithms: Sequence[str]) -> None:
    if isinstance(algorithms, str) or not algorithms:
        raise ValueError("algorithms: name those that the issuer signs with")
    for algorithm in algorithms:
        if algorithm[:2] not in _KEY_TYPES:
            raise ValueError(f"algorithms: {algorithm!r} is no signature to rely on")
    if len({algorithm.startswith("HS") for algorithm in algorithms}) > 1:
        # Otherwise a public key could be taken for a shared secret.
        raise ValueError("algorithms: either with shared secrets (HS…), or without")


def imported(keys: Keys, algorithms: Sequence[str]) -> Any:
    """Keys of joserfc's."""
    jwk = joserfc("jwk")
    if isinstance(keys, Mapping):
        if "keys" in keys:
            return jwk.KeySet.import_key_set(keys)
        return jwk.import_key(keys)
    if isinstance(keys, str | bytes):
        kinds = {_KEY_TYPES[algorithm[:2]] for algorithm in algorithms}
        if len(kinds) > 1:
            raise ValueError(
                f"algorithms: the kind of key is not clear ({', '.join(sorted(kinds))}):"
                " name only those that this key is for"
            )
        return jwk.import_key(keys, kinds.pop())
    return keys


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    """`scope` as RFC 9068 has it, or `scp` as some issuers do."""
    found = claims.get("scope", claims.get("scp", ""))
    if isinstance(found, str):
        found = found.split()
    if not isinstance(found, list):
        return frozenset()
    return frozenset(scope for scope in found if isinstance(scope, str))


def joserfc(module: str) -> Any:
    """A module of the library, or an error that names what to install."""
    try:
        return import_module(f"joserfc.{module}")
    except ImportError:
        raise ImportError(
            "JSON Web Tokens need joserfc: pip install 'mcpgen[auth]'"
        ) from None
