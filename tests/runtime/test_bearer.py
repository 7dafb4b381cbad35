"""Bearer tokens: who is let in, what the others are told, and that no token leaks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from mcpgen.runtime.auth import Bearer, JwtVerifier, Principal, Unauthorized

RESOURCE = "https://example.com/mcp"
ISSUER = "https://login.example.com"
METADATA = "https://example.com/.well-known/oauth-protected-resource/mcp"
SECRET = b"0123456789abcdef0123456789abcdef"
ADA = Principal("ada", "app", frozenset({"mcp", "more"}))


def make(verify: Any = lambda token: ADA, **settings: Any) -> Bearer:
    given: dict[str, Any] = {"resource": RESOURCE, "authorization_servers": [ISSUER]}
    return Bearer(verify, **given | settings)


def authenticate(bearer: Bearer, header: str | None) -> Principal:
    return asyncio.run(asyncio.wait_for(bearer.authenticate(header), 10))


def refusal(bearer: Bearer, header: str | None) -> Unauthorized:
    with pytest.raises(Unauthorized) as raised:
        authenticate(bearer, header)
    return raised.value


# --- who is let in --------------------------------------------------------------------


def test_a_good_token() -> None:
    seen: list[str] = []

    def verify(token: str) -> Principal:
        seen.append(token)
        return ADA

    for header in ("Bearer abc-._~+/9==", "bearer t", "BEARER   t"):
        assert authenticate(make(verify), header) is ADA
    assert seen == ["abc-._~+/9==", "t", "t"]


def test_an_async_verifier() -> None:
    async def verify(token: str) -> Principal | None:
        await asyncio.sleep(0)
        return ADA if token == "good" else None

    assert authenticate(make(verify), "Bearer good") is ADA
    assert refusal(make(verify), "Bearer bad").status == 401


@pytest.mark.parametrize("header", [None, "", "Basic YTpi", "Bearerx y", "token"])
def test_without_a_token(header: str | None) -> None:
    refused = refusal(make(), header)
    assert refused.status == 401
    assert refused.www_authenticate == f'Bearer resource_metadata="{METADATA}"'


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Bearer a,b",
        "Bearer a, Bearer b",
        "Bearer =a",
        "Bearer a=b",
        "Bearer a\n",
        "Bearer a\r\nX-Evil: 1",
        "Bearer\ta",
        'Bearer "a"',
        "Bearer ä",
        "Bearer " + "a" * 20_000,
    ],
)
def test_a_malformed_header_never_reaches_the_verifier(header: str) -> None:
    def verify(token: str) -> Principal:
        raise AssertionError("called")

    refused = refusal(make(verify), header)
    assert refused.status == 401
    assert refused.www_authenticate == (
        f'Bearer error="invalid_token", resource_metadata="{METADATA}"'
    )


def test_the_length_of_a_token_is_a_setting() -> None:
    bearer = make(max_token=20)
    assert authenticate(bearer, "Bearer " + "a" * 13) is ADA
    assert refusal(bearer, "Bearer " + "a" * 14).status == 401


@pytest.mark.parametrize("result", [None, "ada", {"subject": "ada"}, True])
def test_only_a_principal_is_let_in(result: Any) -> None:
    refused = refusal(make(lambda token: result), "Bearer t")
    assert 'error="invalid_token"' in refused.www_authenticate


def test_a_verifier_that_fails_refuses_and_tells_only_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def verify(token: str) -> Principal:
        raise RuntimeError("the database is at 10.0.0.1")

    refused = refusal(make(verify), "Bearer s3cret")
    assert refused.status == 401
    assert "10.0.0.1" in caplog.text
    assert "10.0.0.1" not in str(refused) + refused.www_authenticate
    assert "s3cret" not in caplog.text + str(refused) + refused.www_authenticate


def test_cancelling_is_not_a_refusal() -> None:
    async def verify(token: str) -> Principal:
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> None:
        task = asyncio.create_task(make(verify).authenticate("Bearer t"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 10))


@pytest.mark.parametrize(
    ("expires_at", "good"),
    [(None, True), (101.0, True), (100.0, False), (99.0, False), (float("nan"), False)],
)
def test_expiry(expires_at: float | None, good: bool) -> None:
    principal = Principal("ada", expires_at=expires_at)
    bearer = make(lambda token: principal, clock=lambda: 100.0)
    if good:
        assert authenticate(bearer, "Bearer t") is principal
    else:
        refused = refusal(bearer, "Bearer t")
        assert refused.status == 401
        assert 'error="invalid_token"' in refused.www_authenticate


def test_scopes() -> None:
    assert authenticate(make(scopes=["mcp"]), "Bearer t") is ADA
    bearer = make(scopes=["mcp", "admin"])
    refused = refusal(bearer, "Bearer t")
    assert refused.status == 403
    assert refused.www_authenticate == (
        'Bearer error="insufficient_scope", scope="mcp admin", '
        f'resource_metadata="{METADATA}"'
    )
    refused = refusal(bearer, None)
    assert refused.www_authenticate == (
        f'Bearer scope="mcp admin", resource_metadata="{METADATA}"'
    )


def test_the_key_of_a_principal_is_its_own() -> None:
    named = [
        Principal("a", "b"),
        Principal("b", "a"),
        Principal("", "ab"),
        Principal('a","b'),
        Principal("a", "b", claims={"iss": "x"}),
        Principal("b", "x", claims={"iss": "a"}),
    ]
    assert len({principal.key for principal in named}) == len(named)
    renewed = Principal("a", "b", frozenset({"more"}), {"iat": 5}, expires_at=9)
    assert renewed.key == named[0].key


# --- what everybody may know ----------------------------------------------------------


def test_the_metadata() -> None:
    bearer = make(
        scopes=["mcp"],
        scopes_supported=["mcp", "admin"],
        name="Weather “now”",
        documentation="https://example.com/docs",
        policy="https://example.com/policy",
        terms="https://example.com/terms",
    )
    assert json.loads(bearer.metadata()) == {
        "resource": RESOURCE,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["mcp", "admin"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Weather “now”",
        "resource_documentation": "https://example.com/docs",
        "resource_policy_uri": "https://example.com/policy",
        "resource_tos_uri": "https://example.com/terms",
    }
    assert json.loads(make().metadata()) == {
        "resource": RESOURCE,
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
    }


@pytest.mark.parametrize(
    ("resource", "path", "url"),
    [
        (RESOURCE, "/mcp", METADATA),
        ("https://h", "", "https://h/.well-known/oauth-protected-resource"),
        ("https://h/", "", "https://h/.well-known/oauth-protected-resource"),
        (
            "http://127.0.0.1:8000/a/mcp/",
            "/a/mcp/",
            "http://127.0.0.1:8000/.well-known/oauth-protected-resource/a/mcp/",
        ),
        (
            "https://[::1]:8000/mcp",
            "/mcp",
            "https://[::1]:8000/.well-known/oauth-protected-resource/mcp",
        ),
        (
            "https://h/mcp?tenant=a",
            "/mcp",
            "https://h/.well-known/oauth-protected-resource/mcp?tenant=a",
        ),
    ],
)
def test_where_the_metadata_is(resource: str, path: str, url: str) -> None:
    bearer = make(resource=resource)
    assert bearer.metadata_path == "/.well-known/oauth-protected-resource" + path
    assert bearer.metadata_url == url


@pytest.mark.parametrize(
    "resource",
    [
        "",
        "/mcp",
        "example.com/mcp",
        "//example.com/mcp",
        "https://",
        "https:///mcp",
        "ftp://example.com",
        "https://example.com/mcp#part",
        "https://example.com/mcp#",
        "https://user@example.com/mcp",
        "https://example.com:port/mcp",
        "https://[::1/mcp",
        'https://example.com/"mcp',
        "https://example.com/a b",
        "https://example.com/mcp\r\nX-Evil: 1",
        "https://exämple.com/mcp",
    ],
)
def test_a_resource_must_be_an_absolute_url(resource: str) -> None:
    with pytest.raises(ValueError, match=r"resource: .* must be an absolute URL"):
        make(resource=resource)
    with pytest.raises(ValueError, match="authorization_servers"):
        make(authorization_servers=[resource])


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"authorization_servers": []}, ValueError),
        ({"authorization_servers": ISSUER}, TypeError),
        ({"scopes": "mcp"}, TypeError),
        ({"scopes": ["a b"]}, ValueError),
        ({"scopes": ['a"b']}, ValueError),
        ({"scopes": ["a\\b"]}, ValueError),
        ({"scopes": ["a\r\nX-Evil: 1"]}, ValueError),
        ({"scopes": [""]}, ValueError),
        ({"scopes_supported": ["ä"]}, ValueError),
    ],
)
def test_bad_settings_are_refused(
    settings: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make(**settings)


# --- JSON Web Tokens ------------------------------------------------------------------


@pytest.fixture(scope="module")
def keys() -> dict[str, Any]:
    from joserfc import jwk

    return {
        "RSA": jwk.RSAKey.generate_key(2048, {"kid": "rsa"}),
        "EC": jwk.ECKey.generate_key("P-256", {"kid": "ec"}),
        "other": jwk.ECKey.generate_key("P-256", {"kid": "ec"}),
        "oct": jwk.OctKey.import_key(SECRET, {"kid": "oct"}),
    }


@pytest.fixture
def sign(keys: dict[str, Any]) -> Callable[..., str]:
    from joserfc import jwt  # type: ignore[import-not-found, unused-ignore]

    def signed(key: str = "EC", alg: str = "ES256", **claims: Any) -> str:
        now = int(time.time())
        said = {
            "iss": ISSUER,
            "aud": RESOURCE,
            "sub": "ada",
            "exp": now + 60,
            "iat": now,
            "client_id": "app",
            "scope": "mcp more",
        } | claims
        said = {name: value for name, value in said.items() if value is not None}
        header = {"alg": alg, "kid": keys[key].kid, "typ": "at+jwt"}
        token: str = jwt.encode(header, said, keys[key], algorithms=[alg])
        return token

    return signed


def verifier(keys: dict[str, Any], by: Any = None, **settings: Any) -> JwtVerifier:
    jwks = {"keys": [keys[name].as_dict(private=False) for name in ("RSA", "EC")]}
    given: dict[str, Any] = {"issuer": ISSUER, "audience": RESOURCE}
    return JwtVerifier(by or jwks, **given | settings)


@pytest.mark.parametrize(("key", "alg"), [("EC", "ES256"), ("RSA", "RS256")])
def test_a_good_jwt(
    keys: dict[str, Any], sign: Callable[..., str], key: str, alg: str
) -> None:
    token = sign(key, alg)
    bearer = make(verifier(keys), scopes=["mcp"])
    principal = authenticate(bearer, f"Bearer {token}")
    assert (principal.subject, principal.client_id) == ("ada", "app")
    assert principal.scopes == {"mcp", "more"}
    assert principal.claims["iss"] == ISSUER
    assert principal.expires_at == principal.claims["exp"]


def test_what_issuers_do_differently(
    keys: dict[str, Any], sign: Callable[..., str]
) -> None:
    check = verifier(keys, audience=["https://other", RESOURCE])
    token = sign(aud=["x", RESOURCE], scope=None, scp=["a", 1], client_id=None, azp="p")
    principal = check(token)
    assert principal is not None
    assert (principal.client_id, principal.scopes) == ("p", frozenset({"a"}))
    plain = check(sign(scope=None, client_id=None))
    assert plain is not None
    assert (plain.client_id, plain.scopes) == ("", frozenset())


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example.com"},
        {"iss": None},
        {"iss": [ISSUER]},
        {"aud": "https://example.com/other"},
        {"aud": RESOURCE + "/more"},
        {"aud": []},
        {"aud": None},
        {"aud": ["https://example.com"]},
        {"exp": 1},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": 10**400},
        {"nbf": 10**10},
        {"sub": None},
        {"sub": 5},
        {"client_id": {"a": 1}},
    ],
)
def test_a_jwt_that_is_not_for_us_or_not_now(
    keys: dict[str, Any], sign: Callable[..., str], claims: dict[str, Any]
) -> None:
    assert verifier(keys)(sign(**claims)) is None


def test_a_jwt_by_somebody_else(
    keys: dict[str, Any], sign: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    check = verifier(keys)
    forged = sign("other")
    good = sign()
    head, body, signature = good.split(".")
    other_body = sign(sub="eve").split(".")[1]
    unsigned = "eyJhbGciOiJub25lIn0"  # {"alg":"none"}
    for token in (
        forged,
        f"{head}.{other_body}.{signature}",
        f"{unsigned}.{body}.",
        f"{unsigned}.{body}.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}",
        "opaque",
        "a.b.c",
        "..",
    ):
        assert check(token) is None, token
        assert token not in caplog.text
    assert check(good) is not None


def test_only_the_named_algorithms(
    keys: dict[str, Any], sign: Callable[..., str]
) -> None:
    assert verifier(keys, algorithms=["ES256"])(sign("RSA", "RS256")) is None
    assert verifier(keys)(sign("RSA", "RS512")) is None
    assert verifier(keys, algorithms=["RS512"])(sign("RSA", "RS512")) is not None


@pytest.mark.parametrize(
    "algorithms",
    [[], ["none"], ["ES256", "none"], ["None"], "ES256", ["RS256", "HS256"]],
)
def test_algorithms_that_are_none(algorithms: Any) -> None:
    with pytest.raises(ValueError, match="algorithms"):
        JwtVerifier({}, issuer=ISSUER, audience=RESOURCE, algorithms=algorithms)


@pytest.mark.parametrize(
    "settings", [{"issuer": ""}, {"audience": ""}, {"audience": []}]
)
def test_issuer_and_audience_must_be_named(settings: dict[str, Any]) -> None:
    given: dict[str, Any] = {"issuer": ISSUER, "audience": RESOURCE}
    with pytest.raises(ValueError, match="issuer and audience"):
        JwtVerifier({}, **given | settings)


def test_leeway(keys: dict[str, Any], sign: Callable[..., str]) -> None:
    ended = int(time.time()) - 30
    token = sign(exp=ended)
    assert verifier(keys)(token) is None
    bearer = make(verifier(keys, leeway=3600))
    assert authenticate(bearer, f"Bearer {token}").expires_at == ended + 3600


def test_every_way_to_give_a_key(
    keys: dict[str, Any], sign: Callable[..., str]
) -> None:
    public = keys["EC"].as_pem(private=False)
    for key in (public, public.decode(), keys["EC"].as_dict(private=False), keys["EC"]):
        assert verifier(keys, key, algorithms=["ES256"])(sign()) is not None
    with pytest.raises(ValueError, match="kind of key is not clear"):
        verifier(keys, public)
    secret = verifier(keys, SECRET, algorithms=["HS256"])
    assert secret(sign("oct", "HS256")) is not None
    assert secret(sign()) is None


def test_keys_can_be_replaced(keys: dict[str, Any], sign: Callable[..., str]) -> None:
    check = verifier(keys)
    token = sign("other")
    assert check(token) is None
    check.replace_keys({"keys": [keys["other"].as_dict(private=False)]})
    assert check(token) is not None
    assert check(sign()) is None


def test_without_joserfc_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['joserfc'] = None\n"
        "from mcpgen.runtime.auth import Bearer, JwtVerifier\n"
        "try:\n"
        "    JwtVerifier({}, issuer='https://i', audience='https://a')\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert "mcpgen[auth]" in done.stdout, done.stderr
