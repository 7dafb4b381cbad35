"""OAuth for clients: every flow to its end, every attack to its refusal."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import os
import queue
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import pytest
from mcpgen.runtime.auth.challenge import parse_challenge
from mcpgen.runtime.auth.grants import ClientCredentials, JwtBearer
from mcpgen.runtime.auth.oauth import OAuth
from mcpgen.runtime.auth.storage import FileStorage, MemoryStorage
from mcpgen.runtime.auth.tokens import StaticToken
from mcpgen.runtime.client.web import Web
from mcpgen.runtime.errors import AuthError

from tests.runtime.oauth_world import (
    BROKEN,
    CALLBACK,
    ISSUER,
    MCP,
    OAUTH,
    OPENID,
    RESOURCE,
    Answer,
    Issuer,
    Seen,
    World,
    call,
    no,
    on_loopback,
    says,
)

T = TypeVar("T")
CIMD = "https://app.example/client.json"
SITE = "https://mcp.example"


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 20))


def oauth(world: World, **settings: Any) -> OAuth:
    given: dict[str, Any] = {"redirect": world.browse, "redirect_uri": CALLBACK}
    return OAuth(world.mcp, **{**given, "http": world, **settings})


def failure(auth: Any, world: World) -> AuthError:
    with pytest.raises(AuthError) as raised:
        run(call(auth, world))
    return raised.value


def posts(world: World, end: str) -> list[Seen]:
    return [seen for seen in world.seen if seen.url.endswith(end)]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


# --- challenges -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("", {}),
        ("Bearer", {}),
        ('Bearer realm="x", scope="a b"', {"realm": "x", "scope": "a b"}),
        (
            "bearer SCOPE=a,error=invalid_token",
            {"scope": "a", "error": "invalid_token"},
        ),
        ('Basic realm="b", Bearer scope = "s"', {"scope": "s"}),
        ('Bearer scope="s", Basic scope="t"', {"scope": "s"}),
        ('Bearer scope="1", Bearer scope="2", error="e"', {"scope": "1", "error": "e"}),
        (r'Bearer realm="a \"b\", scope=\"no\""', {"realm": 'a "b", scope="no"'}),
        ('Negotiate YWJj==, Bearer error="e"', {"error": "e"}),
        ('DPoP algs="ES256", scope="d"', {}),
        ('Bearer scope=""', {"scope": ""}),
        ('scope="nobody"', {}),
    ],
)
def test_challenges(header: str, said: dict[str, str]) -> None:
    assert parse_challenge(header) == said


def test_no_challenge_takes_long_or_fails() -> None:
    chance = random.Random(4)
    begin = time.monotonic()
    for alphabet in ('a="\\, ', 'Bearer ="\\,\n', '"', "\\", 'a="', "é=\x00"):
        for _ in range(20):
            header = "Bearer " + "".join(chance.choices(alphabet, k=20_000))
            assert isinstance(parse_challenge(header), dict)
    assert time.monotonic() - begin < 10


# --- discovery ------------------------------------------------------------------------


def test_a_whole_flow() -> None:
    world = World(Issuer(iss="url"))
    assert run(call(oauth(world), world)) == 200
    assert world.asked == [
        f"GET {SITE}{RESOURCE}/mcp",
        f"GET {ISSUER}{OAUTH}",
        f"POST {ISSUER}/register",
        f"POST {ISSUER}/token",
    ]
    (asked,) = world.issuer.questions
    assert asked["resource"] == MCP
    assert "scope" not in asked
    assert "prompt" not in asked
    assert world.closed == 0  # it is not ours to close


@pytest.mark.parametrize(
    ("mcp", "where", "tried"),
    [
        (MCP, f"{RESOURCE}/mcp", [f"{RESOURCE}/mcp"]),
        (MCP, RESOURCE, [f"{RESOURCE}/mcp", RESOURCE]),
        (f"{SITE}/a/b?c=1", f"{RESOURCE}/a/b?c=1", [f"{RESOURCE}/a/b?c=1"]),
        (SITE, RESOURCE, [RESOURCE]),
        (f"{SITE}/", RESOURCE, [RESOURCE]),
    ],
)
def test_where_the_metadata_of_the_server_is(
    mcp: str, where: str, tried: list[str]
) -> None:
    world = World(mcp=mcp)
    world.pages = {SITE + where: world.resource, ISSUER + OAUTH: world.issuer.metadata}
    assert run(call(oauth(world), world)) == 200
    assert world.asked[: len(tried)] == [f"GET {SITE}{path}" for path in tried]
    assert world.asked[len(tried)] == f"GET {ISSUER}{OAUTH}"


def test_announced_metadata_is_used_and_nothing_else() -> None:
    world = World()
    world.challenge = {"resource_metadata": f"{SITE}/custom/place.json"}
    world.pages[f"{SITE}/custom/place.json"] = world.resource
    assert run(call(oauth(world), world)) == 200
    assert world.asked[0] == f"GET {SITE}/custom/place.json"
    assert f"GET {SITE}{RESOURCE}/mcp" not in world.asked
    del world.pages[f"{SITE}/custom/place.json"]
    assert "no metadata" in str(failure(oauth(world), world))


@pytest.mark.parametrize(
    ("issuer", "tried"),
    [
        (ISSUER, [OAUTH, OPENID]),
        (f"{ISSUER}/", [OAUTH, OPENID]),
        (f"{ISSUER}/t", [f"{OAUTH}/t", f"{OPENID}/t", f"/t{OPENID}"]),
        (f"{ISSUER}/t/u/", [f"{OAUTH}/t/u", f"{OPENID}/t/u", f"/t/u{OPENID}"]),
    ],
)
def test_where_the_metadata_of_the_issuer_is(issuer: str, tried: list[str]) -> None:
    for number, place in enumerate(tried):
        world = World(Issuer(issuer))
        world.pages = {
            f"{SITE}{RESOURCE}/mcp": world.resource,
            ISSUER + place: world.issuer.metadata,
        }
        assert run(call(oauth(world), world)) == 200
        expected = [f"GET {ISSUER}{path}" for path in tried[: number + 1]]
        assert world.asked[1 : number + 2] == expected
        assert world.asked[number + 2].startswith("POST")
    world = World(Issuer(issuer))
    world.pages = {f"{SITE}{RESOURCE}/mcp": world.resource}
    assert "no metadata" in str(failure(oauth(world), world))
    assert world.asked[1:] == [f"GET {ISSUER}{path}" for path in tried]


def test_a_page_for_everything_is_no_metadata() -> None:
    """Some sites answer 200 and their front page whatever is asked."""
    world = World()
    page = Answer(200, {"content-type": "text/html"}, b"<html>Welcome")
    world.pages[f"{SITE}{RESOURCE}/mcp"] = page
    world.pages[SITE + RESOURCE] = world.resource
    world.pages[ISSUER + OAUTH] = page
    world.pages[ISSUER + OPENID] = world.issuer.metadata
    assert run(call(oauth(world), world)) == 200


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_server_that_names_nobody_is_its_own_issuer(slash: str) -> None:
    world = World(Issuer(SITE))
    world.issuer.metadata["issuer"] = SITE + slash
    world.issuer.metadata["token_endpoint"] = f"{SITE}/oauth/token"
    world.pages = {SITE + OAUTH: world.issuer.metadata}
    assert run(call(oauth(world), world)) == 200
    assert world.issuer.questions[0]["resource"] == MCP
    assert posts(world, "/oauth/token")


@pytest.mark.parametrize("named", [None, []])
def test_the_default_endpoints_of_old(named: list[str] | None) -> None:
    world = World(Issuer(SITE))
    world.pages = {}
    if named is not None:
        world.pages[f"{SITE}{RESOURCE}/mcp"] = {**world.resource}
        world.pages[f"{SITE}{RESOURCE}/mcp"]["authorization_servers"] = named
    auth = oauth(world)
    assert run(call(auth, world)) == 200
    assert f"POST {SITE}/register" in world.asked
    assert f"POST {SITE}/token" in world.asked
    world.issuer.tokens.clear()  # the server has forgotten it, but not us
    assert run(call(auth, world)) == 200
    assert len(world.issuer.questions) == 1


@pytest.mark.parametrize("where", [f"{SITE}{RESOURCE}/mcp", ISSUER + OAUTH])
@pytest.mark.parametrize("page", [says({}, 503), BROKEN, TimeoutError()])
def test_a_server_in_trouble_is_not_one_without_metadata(where: str, page: Any) -> None:
    world = World()
    world.pages[where] = page
    assert where in str(failure(oauth(world), world))
    assert world.asked[-1] == f"GET {where}"


@pytest.mark.parametrize(
    "resource",
    [
        "https://evil.example/mcp",
        "http://mcp.example/mcp",
        "https://mcp.example:444/mcp",
        "https://mcp.example/mc",
        "https://mcp.example/mcp/deeper",
        "https://mcp.example/other",
        "https://mcp.example/mcp#fragment",
        "https://mcp.example.evil.example/mcp",
        "https://[bad/mcp",
        "https://mcp.example:99999/mcp",
        "mcp",
        "",
    ],
)
def test_metadata_of_another_resource_is_refused(resource: str) -> None:
    world = World()
    world.resource["resource"] = resource
    failure(oauth(world), world)
    assert world.asked == [f"GET {SITE}{RESOURCE}/mcp"]


@pytest.mark.parametrize(
    "resource",
    [MCP, SITE, f"{SITE}/", f"{MCP}/", "https://MCP.example:443/mcp", f"{MCP}?a=%20b"],
)
def test_the_resource_is_sent_as_it_is_written(resource: str) -> None:
    world = World()
    world.resource["resource"] = resource
    assert run(call(oauth(world), world)) == 200
    assert world.issuer.questions[0]["resource"] == resource
    assert posts(world, "/token")[0].form["resource"] == resource


def test_metadata_of_another_issuer_is_refused() -> None:
    for issuer in ("https://attacker.example", f"{ISSUER}/", "https://LOGIN.example"):
        world = World()
        world.issuer.metadata["issuer"] = issuer
        assert issuer in str(failure(oauth(world), world))
        assert not [line for line in world.asked if line.startswith("POST")]
        assert not world.issuer.questions


@pytest.mark.parametrize(
    "url",
    [
        "http://login.example/x",
        "http://127.0.0.1:9/x",
        "http://localhost/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://user@login.example/x",
        "https://login.example/x#y",
        'https://login.example/"x',
        "https://login.example/x y",
        "https://login.example\\x",
        "https://",
        "//login.example/x",
        "",
        "https://login.example/\u202ex",
        "https://login.example/x\r\nX-Evil: 1",
    ],
)
@pytest.mark.parametrize(
    "field", ["authorization_endpoint", "token_endpoint", "registration_endpoint"]
)
def test_bad_endpoints_are_never_asked(url: str, field: str) -> None:
    world = World()
    world.issuer.metadata[field] = url
    shown: list[str] = []

    async def browse(page: str) -> str:
        shown.append(page)
        return world.issuer.authorize(page)

    failure(oauth(world, redirect=browse), world)
    assert url not in [seen.url for seen in world.seen]
    assert not [page for page in shown if field == "authorization_endpoint"]


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/x", "http://localhost:1/x", "ftp://a/b", "x"]
)
def test_bad_places_of_metadata_are_never_asked(url: str) -> None:
    world = World()
    world.challenge = {"resource_metadata": url}
    failure(oauth(world), world)
    world = World()
    world.resource["authorization_servers"] = [url]
    failure(oauth(world), world)
    assert all(seen.url.startswith(SITE) for seen in world.seen)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_metadata_does_not_lead_elsewhere(status: int) -> None:
    world = World()
    away = "https://evil.example/metadata"
    world.pages[away] = world.resource
    moved = Answer(status, {"location": away}, b"")
    world.pages[f"{SITE}{RESOURCE}/mcp"] = world.pages[SITE + RESOURCE] = moved
    world.issuers.clear()
    failure(oauth(world), world)
    assert not posts(world, away)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'{"resource": 1}',
        b'{"resource": "https://mcp.example/mcp", "authorization_servers": "x"}',
        b'{"resource": "https://mcp.example/mcp", "authorization_servers": [1]}',
        b'{"issuer": 1, "resource": null}',
        b"[" * 100_000,
        b"{" + b'"a":1,' * 100_000,
        b"\xff" * 100,
    ],
)
@pytest.mark.parametrize("where", [f"{SITE}{RESOURCE}/mcp", ISSUER + OAUTH])
def test_nonsense_is_a_clear_failure(where: str, body: bytes) -> None:
    world = World()
    world.pages[where] = Answer(200, {}, body)
    assert len(str(failure(oauth(world), world))) < 600
    assert not world.issuer.questions


def test_nulls_are_as_good_as_nothing() -> None:
    world = World()
    world.resource["scopes_supported"] = None
    world.issuer.metadata |= {
        "scopes_supported": None,
        "client_id_metadata_document_supported": None,
    }
    assert run(call(oauth(world), world)) == 200


@pytest.mark.parametrize("methods", [None, [], ["plain"], ["s256"]])
def test_no_pkce_no_login(methods: list[str] | None) -> None:
    world = World()
    world.issuer.metadata["code_challenge_methods_supported"] = methods
    assert "PKCE" in str(failure(oauth(world), world))
    assert not world.issuer.questions


# --- who the client is ----------------------------------------------------------------


def test_registration_says_what_we_are() -> None:
    world = World()
    assert run(call(oauth(world, client_name="Weather"), world)) == 200
    (seen,) = posts(world, "/register")
    assert seen.headers["content-type"] == "application/json"
    assert json.loads(seen.body) == {
        "client_name": "Weather",
        "redirect_uris": [CALLBACK],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }


def test_a_page_on_the_web_is_no_native_application() -> None:
    world = World()
    auth = oauth(world, redirect_uri="https://app.example/callback")
    assert run(call(auth, world)) == 200
    assert json.loads(posts(world, "/register")[0].body)["application_type"] == "web"


def test_a_metadata_document_is_preferred_to_registration() -> None:
    world = World()
    known = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    world.issuer.clients[CIMD] = known
    world.issuer.metadata["client_id_metadata_document_supported"] = True
    assert run(call(oauth(world, client_metadata_url=CIMD), world)) == 200
    assert world.issuer.questions[0]["client_id"] == CIMD
    assert not posts(world, "/register")
    world.issuer.metadata["client_id_metadata_document_supported"] = False
    assert run(call(oauth(world, client_metadata_url=CIMD), world)) == 200
    assert posts(world, "/register")


def preregistered(world: World, method: str = "client_secret_basic") -> dict[str, Any]:
    world.issuer.metadata["token_endpoint_auth_methods_supported"] = [method]
    world.issuer.clients["me:&é"] = {
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": method,
        "client_secret": "s:e/c+r e%t",
    }
    return {"client_id": "me:&é", "client_secret": "s:e/c+r e%t"}


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_that_people_registered(method: str) -> None:
    world = World()
    known = preregistered(world, method)
    world.issuer.metadata["client_id_metadata_document_supported"] = True
    auth = oauth(world, **known, client_metadata_url=CIMD)
    assert run(call(auth, world)) == 200
    assert not posts(world, "/register")
    seen = posts(world, "/token")[0]
    assert ("authorization" in seen.headers) == (method == "client_secret_basic")
    assert ("client_secret" in seen.form) == (method == "client_secret_post")


def test_basic_credentials_are_encoded_first() -> None:
    """RFC 6749, 2.3.1."""
    world = World()
    assert run(call(oauth(world, **preregistered(world)), world)) == 200
    header = posts(world, "/token")[0].headers["authorization"]
    pair = base64.b64decode(header.removeprefix("Basic ")).decode()
    assert pair == "me%3A%26%C3%A9:s%3Ae%2Fc%2Br%20e%25t"


@pytest.mark.parametrize(
    ("supported", "answered", "used"),
    [
        (["none"], None, "none"),
        (["client_secret_post", "none"], None, "none"),
        (["client_secret_basic"], None, "client_secret_basic"),
        (["client_secret_post"], None, "client_secret_post"),
        (None, None, "client_secret_basic"),
        (["none", "client_secret_post"], "client_secret_post", "client_secret_post"),
    ],
)
def test_how_a_registered_client_proves_itself(
    supported: list[str] | None, answered: str | None, used: str
) -> None:
    world = World()
    world.issuer.metadata["token_endpoint_auth_methods_supported"] = supported

    def register(seen: Seen) -> Answer:
        answer = world.issuer.register(seen)
        made = json.loads(answer.body)
        if answered is None:
            del made["token_endpoint_auth_method"]
        else:
            made |= {"client_secret": "hush", "token_endpoint_auth_method": answered}
            world.issuer.clients[made["client_id"]] = made
        return says(made, 201)

    world.pages[f"{ISSUER}/register"] = register
    assert run(call(oauth(world), world)) == 200
    seen = posts(world, "/token")[0]
    found = "client_secret_post" if "client_secret" in seen.form else "none"
    found = "client_secret_basic" if "authorization" in seen.headers else found
    assert found == used


@pytest.mark.parametrize(
    "answer",
    [
        no("invalid_redirect_uri", "not to \x1b[31mloopback"),
        says({}, 201),
        says({"client_id": 5}, 201),
        says({"client_id": "c", "client_secret": []}, 201),
        Answer(404, {}, b"gone"),
        says({"error": "no"}, 200),
        Answer(201, {}, b"x" * 300_000),
    ],
)
def test_registration_that_fails(answer: Answer) -> None:
    world = World()
    world.pages[f"{ISSUER}/register"] = lambda seen: answer
    error = failure(oauth(world), world)
    assert "/register" in str(error)
    assert "\x1b" not in str(error)
    assert not world.issuer.questions


def test_a_method_nobody_asked_for_does_no_harm() -> None:
    world = World()
    odd = {"client_id": "c", "token_endpoint_auth_method": "private_key_jwt"}
    world.issuer.clients["c"] = {**odd, "redirect_uris": [CALLBACK]}
    world.pages[f"{ISSUER}/register"] = lambda seen: says(odd, 201)
    assert failure(oauth(world), world).code == "invalid_client"


def test_nobody_can_register() -> None:
    world = World()
    del world.issuer.metadata["registration_endpoint"]
    assert "client_id=" in str(failure(oauth(world), world))


def test_a_registration_is_used_again() -> None:
    world, storage = World(), MemoryStorage()
    world.issuer.refreshes = False
    assert run(call(oauth(world, storage=storage), world)) == 200
    world.issuer.tokens.clear()
    assert run(call(oauth(world, storage=storage), world)) == 200
    assert len(world.issuer.questions) == 2
    assert len(world.issuer.clients) == 1


def test_but_not_for_another_redirect_uri_or_when_it_has_expired() -> None:
    world, storage, clock = World(), MemoryStorage(), Clock()
    world.issuer.refreshes = False

    def register(seen: Seen) -> Answer:
        made = json.loads(world.issuer.register(seen).body)
        return says({**made, "client_secret_expires_at": clock.now + 100}, 201)

    world.pages[f"{ISSUER}/register"] = register
    first = oauth(world, storage=storage, clock=clock)
    assert run(call(first, world)) == 200
    world.issuer.tokens.clear()
    moved = f"{CALLBACK}/moved"
    other = oauth(world, storage=storage, clock=clock, redirect_uri=moved)
    assert run(call(other, world)) == 200
    assert len(world.issuer.clients) == 2
    world.issuer.tokens.clear()
    assert run(call(other, world)) == 200
    assert len(world.issuer.clients) == 2
    clock.now += 100
    world.issuer.tokens.clear()
    assert run(call(other, world)) == 200
    assert len(world.issuer.clients) == 3


def test_an_issuer_that_has_forgotten_us_gets_to_know_us_again() -> None:
    world = World()
    auth = oauth(world)
    assert run(call(auth, world)) == 200
    world.issuer.tokens.clear()
    world.issuer.refresh_tokens.clear()
    world.issuer.clients.clear()
    with pytest.raises(KeyError):  # a page that says so, in a real browser
        run(call(auth, world))
    assert run(call(auth, world)) == 200
    assert len(posts(world, "/register")) == 2


def test_another_issuer_never_sees_the_client_of_the_first() -> None:
    world = World()
    auth = oauth(world)
    assert run(call(auth, world)) == 200
    (old,) = world.issuer.clients
    other = world.add(Issuer("https://new.example"))
    world.resource["authorization_servers"] = [other.url]
    before = len(world.seen)
    assert run(call(auth, world)) == 200
    (new,) = other.clients
    assert other.questions[0]["client_id"] == new != old
    later = world.seen[before:]
    assert not [seen for seen in later if seen.url.startswith(ISSUER)]
    assert not [seen for seen in later if b"refresh-secret" in seen.body]


def test_a_client_that_people_registered_stays_with_its_issuer() -> None:
    for settings in ({"issuer": ISSUER}, {}):
        for storage in (MemoryStorage(), None):
            world = World()
            known = preregistered(world)
            kept = storage or MemoryStorage()
            auth = oauth(world, **known, **settings, storage=kept)
            assert run(call(auth, world)) == 200
            other = world.add(Issuer("https://new.example"))
            world.resource["authorization_servers"] = [other.url]
            again = oauth(world, **known, **settings, storage=kept) if storage else auth
            assert "https://new.example" in str(failure(again, world))
            assert not other.questions
            assert not posts(world, "new.example/token")


def test_not_even_a_login_that_failed_lets_it_go_elsewhere() -> None:
    world = World(Issuer(denies="access_denied"))
    auth = oauth(world, **preregistered(world))
    assert failure(auth, world).code == "access_denied"
    other = world.add(Issuer("https://new.example"))
    world.resource["authorization_servers"] = [other.url]
    assert "https://new.example" in str(failure(auth, world))
    assert not other.questions


def test_the_issuer_can_be_chosen() -> None:
    world = World()
    other = world.add(Issuer("https://other.example"))
    world.resource["authorization_servers"] = [ISSUER, other.url]
    assert run(call(oauth(world, issuer=other.url), world)) == 200
    assert other.questions
    assert not world.issuer.questions


def test_a_known_issuer_needs_no_metadata_of_the_server() -> None:
    world = World()
    world.pages = {ISSUER + OAUTH: world.issuer.metadata}
    assert run(call(oauth(world, issuer=ISSUER), world)) == 200


# --- scopes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("challenge", "metadata", "ours", "issuers", "asked"),
    [
        (None, None, [], None, None),
        ("a b", None, [], None, "a b"),
        (None, ["c", "d"], [], None, "c d"),
        ("a", ["c", "d"], [], None, "a"),
        (None, [], [], ["offline_access"], None),
        (None, ["c"], ["e"], None, "e"),
        ("a", ["c"], ["e", "a"], None, "e a"),
        ("a", None, [], ["a", "offline_access"], "a offline_access"),
        ("a offline_access", None, [], ["a"], "a"),
        ("a offline_access", None, [], None, "a"),
        (None, ["offline_access", "c"], [], ["offline_access"], "c offline_access"),
        ('a é b\\"', None, [], None, "a"),
    ],
)
def test_which_scopes_are_asked_for(
    challenge: str | None,
    metadata: list[str] | None,
    ours: list[str],
    issuers: list[str] | None,
    asked: str | None,
) -> None:
    world = World()
    world.challenge = {} if challenge is None else {"scope": challenge}
    world.resource["scopes_supported"] = metadata
    world.issuer.metadata["scopes_supported"] = issuers
    assert run(call(oauth(world, scopes=ours), world)) == 200
    (question,) = world.issuer.questions
    assert question.get("scope") == asked
    assert ("prompt" in question) == ("offline_access" in (asked or ""))


def test_stepping_up_keeps_what_there_was() -> None:
    world = World()
    world.challenge = {"scope": "read"}
    auth = oauth(world)
    assert run(call(auth, world)) == 200
    world.needs = ["write"]
    assert run(call(auth, world)) == 200
    world.needs = ["read", "write", "admin"]
    assert run(call(auth, world)) == 200
    asked = [question["scope"] for question in world.issuer.questions]
    assert asked == ["read", "read write", "read write admin"]
    world.challenge = {}
    world.issuer.tokens.clear()
    world.issuer.refresh_tokens.clear()
    assert run(call(auth, world)) == 200
    assert world.issuer.questions[-1]["scope"] == "read write admin"


def test_a_server_that_is_never_content_asks_the_user_three_times() -> None:
    world, clock = World(), Clock()
    world.challenge = {"scope": "a"}
    auth = oauth(world, clock=clock)
    assert run(call(auth, world)) == 200
    world.serve = lambda sent: (403, 'Bearer error="insufficient_scope", scope="a"')
    assert "again and again" in str(failure(auth, world))
    assert len(world.issuer.questions) == 3
    assert "again and again" in str(failure(auth, world))
    assert len(world.issuer.questions) == 3
    clock.now += 3600
    failure(auth, world)
    assert len(world.issuer.questions) == 6


def test_a_401_that_never_ends_does_end() -> None:
    world = World()
    world.serve = lambda sent: (401, "")
    assert "again and again" in str(failure(oauth(world), world))
    assert len(world.issuer.questions) == 3
    assert len(world.seen) < 40


def test_a_403_for_another_reason_is_final() -> None:
    world = World()
    auth = oauth(world)
    assert run(call(auth, world)) == 200
    before = len(world.seen)
    for challenge in ("", 'Bearer error="invalid_token"', 'Basic error="x"'):
        sent = run(auth.header())
        assert run(auth.refused(403, challenge, sent)) is False
    assert len(world.seen) == before


def test_who_says_no_to_more_keeps_what_there_is() -> None:
    world = World()
    auth = oauth(world)
    assert run(call(auth, world)) == 200
    held = run(auth.header())
    world.needs, world.issuer.denies = ["write"], "access_denied"
    assert failure(auth, world).code == "access_denied"
    assert run(auth.header()) == held
    world.needs = []
    assert run(call(auth, world)) == 200


# --- what comes back from the browser -------------------------------------------------


def answering(world: World, change: dict[str, str | None]) -> Any:
    """A browser that comes back with something else."""

    async def browse(url: str) -> str:
        back = urlsplit(await world.browse(url))
        said: dict[str, Any] = {**dict(parse_qsl(back.query)), **change}
        pairs = [f"{key}={value}" for key, value in said.items() if value is not None]
        return f"{CALLBACK}?{'&'.join(pairs)}"

    return browse


@pytest.mark.parametrize("state", [None, "", "x", "é", "%00"])
def test_a_wrong_state_is_refused(state: str | None) -> None:
    world = World()
    error = failure(oauth(world, redirect=answering(world, {"state": state})), world)
    assert "state" in str(error)
    assert not posts(world, "/token")


@pytest.mark.parametrize(
    ("advertised", "iss", "good"),
    [
        (True, ISSUER, True),
        (False, ISSUER, True),
        (False, None, True),
        (None, None, True),
        (True, None, False),
        (True, "https://evil.example", False),
        (False, "https://evil.example", False),
        (True, f"{ISSUER}/", False),
        (False, f"{ISSUER}:443", False),
        (False, "https://LOGIN.example", False),
        (False, "", False),
    ],
)
def test_whose_answer_it_is(advertised: Any, iss: str | None, good: bool) -> None:
    """RFC 9207."""
    world = World()
    supported = "authorization_response_iss_parameter_supported"
    world.issuer.metadata[supported] = advertised
    auth = oauth(world, redirect=answering(world, {"iss": iss}))
    if good:
        assert run(call(auth, world)) == 200
    else:
        assert "iss" in str(failure(auth, world))
        assert not posts(world, "/token")


def test_nothing_that_a_stranger_says_is_shown() -> None:
    world = World()
    change = {"iss": "https://evil.example", "error": "call_me", "code": None}
    error = failure(oauth(world, redirect=answering(world, change)), world)
    assert "call_me" not in str(error) + error.code


def test_a_user_who_says_no() -> None:
    world = World(Issuer(denies="access_denied"))
    error = failure(oauth(world), world)
    assert error.code == "access_denied"
    assert "I would rather not" in str(error)


@pytest.mark.parametrize(
    "query",
    ["", "code=", "code=a&code=b", "error=e&code=a", "error=%1b[2Jx", "error=e" * 99],
)
def test_answers_without_a_code(query: str) -> None:
    world = World()

    async def browse(url: str) -> str:
        state = dict(parse_qsl(urlsplit(url).query))["state"]
        return f"{CALLBACK}?state={state}&{query}"

    error = failure(oauth(world, redirect=browse), world)
    assert str(error).isprintable()
    assert len(str(error)) < 600
    assert not posts(world, "/token")


@pytest.mark.parametrize("answer", ["", "nonsense", "http://[", "\x00", "?" * 9])
def test_what_is_no_answer_at_all(answer: str) -> None:
    async def browse(url: str) -> str:
        return answer

    world = World()
    failure(oauth(world, redirect=browse), world)
    assert not posts(world, "/token")


def test_a_user_who_never_answers() -> None:
    async def browse(url: str) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    world = World()
    error = failure(oauth(world, redirect=browse, timeout=0.01), world)
    assert "did not answer" in str(error)


def test_every_question_is_a_new_one() -> None:
    world = World()
    world.issuer.refreshes = False
    auth = oauth(world)
    for _ in range(3):
        assert run(call(auth, world)) == 200
        world.issuer.tokens.clear()
    for name in ("state", "code_challenge"):
        assert len({question[name] for question in world.issuer.questions}) == 3


def test_an_endpoint_with_a_query_keeps_it() -> None:
    world = World()
    world.issuer.metadata["authorization_endpoint"] = f"{ISSUER}/authorize?tenant=t"
    assert run(call(oauth(world), world)) == 200
    assert world.issuer.questions[0]["tenant"] == "t"


# --- tokens ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"access_token": ""},
        {"access_token": "a b"},
        {"access_token": "a\r\nX-Evil: 1"},
        {"access_token": "é"},
        {"access_token": 5},
        {"access_token": "t", "token_type": "DPoP"},
        {"access_token": "t", "token_type": "mac"},
        {"access_token": "t", "expires_in": "soon"},
        {"access_token": "t", "error": "invalid_grant"},
        {"access_token": "t", "refresh_token": {}},
    ],
)
def test_tokens_that_are_none(answer: dict[str, Any]) -> None:
    world = World()
    world.pages[f"{ISSUER}/token"] = lambda seen: says(answer)
    auth = oauth(world)
    failure(auth, world)
    assert run(auth.header()) is None


@pytest.mark.parametrize(
    "answer",
    [
        {"token_type": "bearer"},
        {"token_type": "BEARER", "expires_in": "3600"},
        {"expires_in": None, "scope": None},
        {"expires_in": 0},
        {"expires_in": -5},
        {"expires_in": "inf"},
        {"expires_in": "nan"},
        {"expires_in": 1e300},
    ],
)
def test_tokens_of_all_kinds(answer: dict[str, Any]) -> None:
    world = World()
    world.pages[f"{ISSUER}/token"] = lambda seen: says({"access_token": "t", **answer})
    storage = MemoryStorage()

    async def main() -> None:
        auth = oauth(world, storage=storage)
        assert await auth.refused(401, "", None)
        assert await auth.header() == "Bearer t"
        assert await oauth(world, storage=storage).header() == "Bearer t"

    run(main())
    json.dumps(storage._kept, allow_nan=False)


def test_a_token_is_renewed_before_it_ends() -> None:
    world, clock = World(), Clock()
    auth = oauth(world, clock=clock)
    assert run(call(auth, world)) == 200
    first = run(auth.header())
    clock.now += 3600 - 61
    assert run(auth.header()) == first
    clock.now += 2
    second = run(auth.header())
    assert second != first
    assert world.serve(second)[0] == 200
    form = posts(world, "/token")[-1].form
    assert form["grant_type"] == "refresh_token"
    assert form["resource"] == MCP
    clock.now += 3600
    third = run(auth.header())
    assert third not in (first, second)
    assert len(world.issuer.questions) == 1


def test_short_lived_tokens_are_not_renewed_all_the_time() -> None:
    world, clock = World(Issuer(lifetime=10)), Clock()
    auth = oauth(world, clock=clock)
    assert run(call(auth, world)) == 200
    first = run(auth.header())
    clock.now += 8
    assert run(auth.header()) == first
    clock.now += 1.5
    assert run(auth.header()) != first


def test_a_refused_token_is_renewed_without_the_user() -> None:
    world = World()
    auth = oauth(world)
    assert run(call(auth, world)) == 200
    world.issuer.tokens.clear()
    assert run(call(auth, world)) == 200
    assert len(world.issuer.questions) == 1


def test_a_server_without_rotation() -> None:
    world, clock = World(Issuer(rotates=False)), Clock()
    auth = oauth(world, clock=clock)
    assert run(call(auth, world)) == 200
    (token,) = world.issuer.refresh_tokens
    world.issuer.refreshes = False  # and nothing new is given either
    held = {run(auth.header())}
    for _ in range(3):
        clock.now += 3600
        held.add(run(auth.header()))
        assert posts(world, "/token")[-1].form["refresh_token"] == token
    assert len(held) == 4


def test_a_dead_refresh_token_leads_to_the_user() -> None:
    world, clock = World(), Clock()
    auth = oauth(world, clock=clock)
    assert run(call(auth, world)) == 200
    world.issuer.tokens.clear()
    world.issuer.refresh_tokens.clear()
    clock.now += 3600
    assert run(auth.header()) is not None  # it tries once, and lets the server decide
    before = len(world.seen)
    run(auth.header())
    assert len(world.seen) == before
    assert run(call(auth, world)) == 200
    assert len(world.issuer.questions) == 2


def test_an_issuer_that_is_down_does_not_lead_to_the_user() -> None:
    world, clock = World(), Clock()
    auth = oauth(world, clock=clock)
    assert run(call(auth, world)) == 200
    held = run(auth.header())
    for trouble in (BROKEN, says({}, 502)):
        world.pages[f"{ISSUER}/token"] = trouble
        clock.now += 3600
        assert run(auth.header()) == held
    world.issuer.tokens.clear()
    failure(auth, world)
    assert len(world.issuer.questions) == 1
    del world.pages[f"{ISSUER}/token"]
    assert run(call(auth, world)) == 200
    assert len(world.issuer.questions) == 1


def test_tokens_survive_the_program() -> None:
    world, storage = World(), MemoryStorage()
    assert run(call(oauth(world, storage=storage), world)) == 200
    before = len(world.seen)
    assert run(call(oauth(world, storage=storage), world)) == 200
    assert len(world.seen) == before


def test_what_another_program_got_is_used() -> None:
    world, storage = World(), MemoryStorage()
    ours, theirs = oauth(world, storage=storage), oauth(world, storage=storage)
    assert run(call(ours, world)) == 200
    world.issuer.tokens.clear()
    assert run(call(theirs, world)) == 200
    before = len(world.seen)
    assert run(call(ours, world)) == 200
    assert len(world.seen) == before


@pytest.mark.parametrize("kept", [{}, {"issuer": 1}, {"access_token": "x"}])
def test_what_was_kept_wrongly_is_ignored(kept: dict[str, Any]) -> None:
    world, storage = World(), MemoryStorage()
    run(storage.save(MCP, kept))
    assert run(call(oauth(world, storage=storage), world)) == 200


# --- many at once ---------------------------------------------------------------------


def test_many_refusals_are_one_flow() -> None:
    world = World()
    auth = oauth(world)

    async def main() -> None:
        statuses = await asyncio.gather(*(call(auth, world) for _ in range(50)))
        assert statuses == [200] * 50
        world.issuer.tokens.clear()
        statuses = await asyncio.gather(*(call(auth, world) for _ in range(50)))
        assert statuses == [200] * 50

    run(main())
    assert len(world.issuer.questions) == 1
    assert len(posts(world, "/token")) == 2


def test_many_renewals_are_one() -> None:
    world, clock = World(), Clock()
    auth = oauth(world, clock=clock)
    assert run(call(auth, world)) == 200
    clock.now += 3600

    async def main() -> None:
        values = await asyncio.gather(*(auth.header() for _ in range(50)))
        assert None not in values

    run(main())
    assert len(posts(world, "/token")) == 2


def test_a_no_is_a_no_for_all_who_wait() -> None:
    world = World(Issuer(denies="access_denied"))
    auth = oauth(world)

    async def main() -> None:
        calls = [call(auth, world) for _ in range(20)]
        errors = await asyncio.gather(*calls, return_exceptions=True)
        assert {getattr(error, "code", None) for error in errors} == {"access_denied"}

    run(main())
    assert len(world.issuer.questions) == 1


def test_who_gives_up_does_not_stop_the_others() -> None:
    world = World()
    may_answer = asyncio.Event()
    is_asked = asyncio.Event()

    async def browse(url: str) -> str:
        is_asked.set()
        await may_answer.wait()
        return await world.browse(url)

    async def main() -> None:
        auth = oauth(world, redirect=browse)
        first = asyncio.create_task(call(auth, world))
        await is_asked.wait()
        second = asyncio.create_task(call(auth, world))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        may_answer.set()
        assert await second == 200

    run(main())
    assert len(world.issuer.questions) == 1


def test_nobody_waits_for_a_login_that_is_not_for_them() -> None:
    world, clock = World(), Clock()
    is_asked = asyncio.Event()

    async def browse(url: str) -> str:
        is_asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> None:
        auth = oauth(world, clock=clock)
        assert await call(auth, world) == 200
        held = await auth.header()
        auth.redirect = browse
        world.needs = ["more"]
        stepping_up = asyncio.create_task(call(auth, world))
        await is_asked.wait()
        clock.now += 3600
        assert await asyncio.wait_for(auth.header(), 5) == held
        stepping_up.cancel()
        await asyncio.wait([stepping_up])

    run(main())


def test_when_all_give_up_nothing_is_left() -> None:
    world = World()
    is_asked, ended = asyncio.Event(), asyncio.Event()

    async def browse(url: str) -> str:
        is_asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()
        raise AssertionError

    async def main() -> None:
        before = asyncio.all_tasks()
        auth = oauth(world, redirect=browse)
        task = asyncio.create_task(call(auth, world))
        await is_asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()
        assert asyncio.all_tasks() == before
        auth.redirect = world.browse
        assert await call(auth, world) == 200

    run(main())


def test_an_exception_of_the_redirect_is_the_callers() -> None:
    async def browse(url: str) -> str:
        raise LookupError("no browser here")

    world = World()
    with pytest.raises(LookupError):
        run(call(oauth(world, redirect=browse), world))


# --- secrets --------------------------------------------------------------------------


def test_no_secret_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    world, clock = World(), Clock()
    world.issuer.metadata["token_endpoint_auth_methods_supported"] = [
        "client_secret_post"
    ]
    auth = oauth(world, clock=clock)
    assert run(call(auth, world)) == 200
    told = [repr(auth), repr(auth._grant), str(vars(auth))]

    def echo(seen: Seen) -> Answer:
        said = " ".join([*seen.form.values(), repr(seen.body)])
        return no("invalid_grant", said)

    world.pages[f"{ISSUER}/token"] = echo
    clock.now += 3600
    run(auth.header())
    world.issuer.tokens.clear()
    error = failure(auth, world)
    assert error.code == "invalid_grant"
    told += [str(error), repr(error), caplog.text]
    assert not re.search("-secret-", "".join(told))


def test_a_token_is_never_sent_to_the_issuers() -> None:
    world = World()
    auth = oauth(world)
    assert run(call(auth, world)) == 200
    world.issuer.tokens.clear()
    assert run(call(auth, world)) == 200
    assert not [seen for seen in world.seen if b"access-secret" in seen.body]
    assert not [seen for seen in world.seen if "Bearer" in str(seen.headers)]


# --- grants without a user ------------------------------------------------------------


def machine(world: World, method: str = "client_secret_basic") -> dict[str, Any]:
    secret = {} if method == "private_key_jwt" else {"client_secret": "hush"}
    world.issuer.clients["machine"] = {"token_endpoint_auth_method": method, **secret}
    world.issuer.metadata["token_endpoint_auth_methods_supported"] = [method]
    return {"client_id": "machine", "http": world, **secret}


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_client_credentials(method: str) -> None:
    world, clock = World(Issuer(refreshes=False)), Clock()
    world.resource["scopes_supported"] = ["read"]
    auth = ClientCredentials(MCP, **machine(world, method), clock=clock)
    assert run(call(auth, world)) == 200
    form = posts(world, "/token")[0].form
    assert form["grant_type"] == "client_credentials"
    assert form["resource"] == MCP
    assert form["scope"] == "read"
    first = run(auth.header())
    clock.now += 3600
    assert run(auth.header()) != first
    world.issuer.tokens.clear()
    assert run(call(auth, world)) == 200
    world.needs = ["read", "write"]
    assert run(call(auth, world)) == 200
    assert posts(world, "/token")[-1].form["scope"] == "read write"
    assert not world.issuer.questions
    assert not posts(world, "/register")


def test_client_credentials_that_are_wrong() -> None:
    world = World()
    settings = {**machine(world), "client_secret": "wrong"}
    assert failure(ClientCredentials(MCP, **settings), world).code == "invalid_client"
    assert len(posts(world, "/token")) == 1


def test_client_credentials_need_a_client() -> None:
    with pytest.raises(TypeError, match="client_id"):
        ClientCredentials(MCP)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kind", "algorithm"), [("EC", "ES256"), ("RSA", "RS256"), ("jwk", "ES256")]
)
def test_client_credentials_with_a_private_key(kind: str, algorithm: str) -> None:
    from joserfc import jwk, jwt

    key: Any
    if kind == "RSA":
        key = jwk.RSAKey.generate_key(2048)
    else:
        key = jwk.ECKey.generate_key("P-256", {"kid": "k1"} if kind == "jwk" else None)
    given = (
        key.as_dict(private=True)
        if kind == "jwk"
        else key.as_pem(private=True).decode()
    )
    world = World(Issuer(refreshes=False))
    settings = machine(world, "private_key_jwt")
    auth = ClientCredentials(MCP, **settings, private_key=given, algorithm=algorithm)
    assert run(call(auth, world)) == 200
    world.issuer.tokens.clear()
    assert run(call(auth, world)) == 200
    seen = [post.form for post in posts(world, "/token")]
    assert seen[0]["client_assertion_type"].endswith(":jwt-bearer")
    read = [jwt.decode(form["client_assertion"], key) for form in seen]
    claims = read[0].claims
    assert claims["iss"] == claims["sub"] == "machine"
    assert claims["aud"] == ISSUER
    assert time.time() < claims["exp"] < time.time() + 600
    assert len({token.claims["jti"] for token in read}) == 2
    assert read[0].header.get("kid") == ("k1" if kind == "jwk" else None)


def test_a_key_can_prove_a_metadata_document() -> None:
    from joserfc import jwk

    world = World()
    method = "private_key_jwt"
    world.issuer.clients[CIMD] = {
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": method,
    }
    world.issuer.metadata["client_id_metadata_document_supported"] = True
    world.issuer.metadata["token_endpoint_auth_methods_supported"] = [method]
    key = jwk.ECKey.generate_key("P-256").as_pem(private=True)
    auth = oauth(world, client_metadata_url=CIMD, private_key=key)
    assert run(call(auth, world)) == 200


@pytest.mark.parametrize("is_async", [False, True])
def test_somebody_vouches(is_async: bool) -> None:
    world = World(Issuer(refreshes=False))
    asked: list[tuple[str, str]] = []

    def vouch(issuer: str, resource: str) -> Any:
        asked.append((issuer, resource))
        if not is_async:
            return "a.b.c"
        return asyncio.sleep(0, "a.b.c")

    auth = JwtBearer(MCP, **machine(world), assertion=vouch, scopes=["x"])
    assert run(call(auth, world)) == 200
    form = posts(world, "/token")[0].form
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert (form["assertion"], form["scope"]) == ("a.b.c", "x")
    assert asked == [(ISSUER, MCP)]
    world.pages[f"{ISSUER}/token"] = lambda seen: no("invalid_grant")
    world.issuer.tokens.clear()
    assert failure(auth, world).code == "invalid_grant"
    assert len(posts(world, "/token")) == 2


def test_a_token_from_elsewhere() -> None:
    async def main() -> None:
        auth = StaticToken("abc")
        assert await auth.header() == "Bearer abc"
        assert not await auth.refused(401, "", "Bearer abc")
        tokens = iter(["one", "two", "two", "two"])
        auth = StaticToken(lambda: next(tokens))
        assert await auth.header() == "Bearer one"
        assert await auth.refused(401, "", "Bearer one")
        assert not await auth.refused(401, "", "Bearer two")
        assert not await auth.refused(403, "", "Bearer one")
        auth = StaticToken(lambda: asyncio.sleep(0, "three"))
        assert await auth.header() == "Bearer three"
        for bad in ("", "a b", "a\r\nb", "é"):
            with pytest.raises(ValueError, match="visible") as raised:
                await StaticToken(bad).header()
            assert not bad or bad not in str(raised.value)

    run(main())
    assert "abc" not in repr(StaticToken("abc"))


# --- settings -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"server_url": "http://mcp.example/mcp"},
        {"server_url": "mcp.example"},
        {"server_url": "https://user:pass@mcp.example/mcp"},
        {"server_url": f"{MCP}#x"},
        {"client_metadata_url": "http://127.0.0.1/client.json"},
        {"redirect_uri": "myapp://callback"},
        {"redirect_uri": "https://app.example/callback"},
        {"redirect_uri": "http://app.example/callback"},
        {"redirect_uri": "http://[::1]/callback"},
        {"redirect": lambda url: url},
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be|needed"):
        OAuth(**{"server_url": MCP, **settings})


def test_scopes_are_a_list() -> None:
    with pytest.raises(TypeError, match="scopes"):
        OAuth(MCP, scopes="read write")


# --- the browser, awaited on loopback -------------------------------------------------


def visit(url: str, raw: bytes | None = None) -> bytes:
    """What a browser gets to see there; b"" when it is turned away."""
    parts = urlsplit(url)
    request = raw or f"GET {parts.path}?{parts.query} HTTP/1.1\r\n\r\n".encode()
    with socket.create_connection((parts.hostname, parts.port or 80), 10) as peer:
        try:
            peer.sendall(request)
            return b"".join(iter(lambda: peer.recv(65536), b""))
        except (ConnectionResetError, BrokenPipeError):
            return b""


class Browser:
    """In place of the user's: goes where it is sent, and does odd things first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pages: queue.Queue[bytes] = queue.Queue()
        self.redirect = ""
        self.return_to: Callable[[str], bytes] = visit
        monkeypatch.setattr("webbrowser.open", self.open)

    def open(self, url: str) -> bool:
        head = visit(url).decode().partition("\r\n\r\n")[0]
        back = re.search("location: (.*)", head)
        assert back is not None
        self.redirect = back[1]
        self._pages.put(self.return_to(back[1]))
        return True

    def page(self) -> bytes:
        """What it shows in the end. It runs in a thread of its own."""
        return self._pages.get(timeout=20)


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Browser:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    return Browser(monkeypatch)


def test_a_flow_with_a_browser_over_real_sockets(browser: Browser) -> None:
    async def main() -> None:
        async with on_loopback() as world:
            web = Web(world.mcp, auth=OAuth(world.mcp))
            try:
                response = await web.send("POST", {}, b"{}")
                assert response.status == 200
            finally:
                await web.close()
            (asked,) = world.issuer.questions
            assert re.fullmatch(
                r"http://127\.0\.0\.1:\d+/callback", asked["redirect_uri"]
            )

    run(main())
    page = browser.page()
    assert page.startswith(b"HTTP/1.1 200 ")
    assert b"Go on in your application" in page
    assert b"default-src 'none'" in page
    assert b"code-secret" not in page
    with pytest.raises(ConnectionRefusedError):
        visit(browser.redirect)


def test_strangers_are_turned_away(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpgen.runtime.auth.redirect.HEAD_SECONDS", 0.05)
    turned_away: list[bytes] = []
    idle: list[socket.socket] = []

    def return_to(back: str) -> bytes:
        parts = urlsplit(back)
        there = f"http://{parts.netloc}"
        idle.append(socket.create_connection((parts.hostname, parts.port), 10))
        for target in ("/", "/favicon.ico", "/callback", "/callback?error=x&state=y"):
            turned_away.append(visit(there + target))
        turned_away.append(visit(f"{there}/other?{parts.query}"))
        turned_away.append(visit(back.replace("state=", "state=x")))
        ask = f"{parts.path}?{parts.query}"
        for raw in (
            f"POST {ask} HTTP/1.1\r\n\r\n",
            f"GET {ask} HTTP/2\r\n\r\n",
            f"GET {ask}\r\n\r\n",
            "GET //[ HTTP/1.1\r\n\r\n",
            "\x16\x03\x01\r\n\r\n",
            "\r\n\r\n",
            "A" * 100_000,
        ):
            turned_away.append(visit(back, raw.encode()))
        return visit(back)

    browser.return_to = return_to

    async def main() -> None:
        async with on_loopback() as world:
            assert await call(OAuth(world.mcp), world) == 200

    run(main())
    idle[0].close()
    assert set(turned_away) == {b""}
    assert browser.page().startswith(b"HTTP/1.1 200 ")


def test_requests_in_pieces_and_without_end(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpgen.runtime.auth.redirect.HEAD_SECONDS", 1000)

    def return_to(back: str) -> bytes:
        assert visit(back, b"A" * 100_000) == b""
        parts = urlsplit(back)
        with socket.create_connection((parts.hostname, parts.port), 10) as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in f"GET {parts.path}?{parts.query} HTTP/1.1\r\n\r\n".encode():
                peer.send(bytes([byte]))
            return peer.recv(100)

    browser.return_to = return_to

    async def main() -> None:
        async with on_loopback() as world:
            assert await call(OAuth(world.mcp), world) == 200

    run(main())
    assert browser.page().startswith(b"HTTP/1.1 200 ")


def test_the_port_is_kept_as_long_as_it_is_free(browser: Browser) -> None:
    async def main() -> None:
        async with on_loopback() as world:
            world.issuer.refreshes = False
            auth = OAuth(world.mcp)
            for _ in range(2):
                assert await call(auth, world) == 200
                world.issuer.tokens.clear()
            first, second = (asked["redirect_uri"] for asked in world.issuer.questions)
            assert first == second
            assert len(world.issuer.clients) == 1
            port = urlsplit(first).port or 0
            with socket.create_server(("127.0.0.1", port)):
                assert await call(auth, world) == 200
            assert world.issuer.questions[-1]["redirect_uri"] != first
            assert len(world.issuer.clients) == 2

    run(main())


def test_a_port_that_is_wanted_but_taken(browser: Browser) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            uri = f"http://localhost:{taken.getsockname()[1]}/cb"
            async with on_loopback() as world:
                auth = OAuth(world.mcp, redirect_uri=uri)
                with pytest.raises(AuthError, match="taken"):
                    await call(auth, world)
                taken.close()
                assert await call(auth, world) == 200
                assert world.issuer.questions[0]["redirect_uri"] == uri

    run(main())


def test_without_a_browser_the_page_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda url: False)

    async def main() -> None:
        async with on_loopback() as world:
            with pytest.raises(AuthError, match="did not answer"):
                await call(OAuth(world.mcp, timeout=0.2), world)
            assert f"{world.issuer.url}/authorize?" in capsys.readouterr().err

    run(main())


# --- what is kept in files ------------------------------------------------------------


def test_a_file_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "tokens.json"

    async def main() -> None:
        storage = FileStorage(path)
        assert await storage.load("a") is None
        await storage.save("a", {"token": "t"})
        await storage.save("b", {"x": [1, {"y": None}]})
        assert await FileStorage(str(path)).load("a") == {"token": "t"}
        await storage.save("a", None)
        assert await storage.load("a") is None
        assert await storage.load("b") == {"x": [1, {"y": None}]}

    old = os.umask(0)
    try:
        run(main())
    finally:
        os.umask(old)
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == {"tokens.json": 0o600, "tokens.json.lock": 0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_flow_is_kept_in_a_file(tmp_path: Path) -> None:
    world = World()
    for _ in range(2):
        auth = oauth(world, storage=FileStorage(tmp_path / "t"))
        assert run(call(auth, world)) == 200
    assert len(world.issuer.questions) == 1


@pytest.mark.parametrize("name", ["t", "t.new", "t.lock"])
def test_symbolic_links_are_not_followed(tmp_path: Path, name: str) -> None:
    target = tmp_path / "precious"
    target.write_bytes(b"{}")
    target.chmod(0o600)
    (tmp_path / name).symlink_to(target)
    with contextlib.suppress(AuthError, OSError):
        run(FileStorage(tmp_path / "t").save("a", {"token": "t"}))
    assert target.read_bytes() == b"{}"
    assert target.stat().st_mode & 0o777 == 0o600
    if name == "t":
        with pytest.raises(AuthError, match="symbolic"):
            run(FileStorage(tmp_path / "t").load("a"))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "t"
    path.write_text("{}")
    path.chmod(mode)
    with pytest.raises(AuthError, match="0600"):
        run(FileStorage(path).load("a"))


def test_no_pipe_and_no_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(AuthError, match="0600"):
        run(FileStorage(tmp_path / "pipe").load("a"))
    (tmp_path / "folder").mkdir(0o700)
    with pytest.raises((AuthError, OSError)):
        run(FileStorage(tmp_path / "folder").load("a"))


@pytest.mark.parametrize("data", [b"", b'{"a": {"tok', b"[]", b'{"a": 5}', b"\xff"])
def test_a_damaged_file_is_as_good_as_none(
    tmp_path: Path, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t"
    path.write_bytes(data)
    path.chmod(0o600)
    storage = FileStorage(path)
    assert run(storage.load("a")) is None
    assert "damaged" in caplog.text
    assert "tok" not in caplog.text.replace("tokens", "")
    run(storage.save("a", {"b": 1}))
    assert run(storage.load("a")) == {"b": 1}


def test_what_was_left_half_written_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "t.new").write_bytes(b'{"a": {"hal')
    storage = FileStorage(tmp_path / "t")
    assert run(storage.load("a")) is None
    run(storage.save("a", {"b": 1}))
    assert run(storage.load("a")) == {"b": 1}
    assert not (tmp_path / "t.new").exists()


def test_a_full_disk_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = FileStorage(tmp_path / "t")
    run(storage.save("a", {"b": 1}))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(AuthError, match="No space"):
        run(storage.save("a", {"b": 2}))
    assert run(storage.load("a")) == {"b": 1}


SAVING = """
import asyncio, sys
from mcpgen.runtime.auth.storage import FileStorage
storage = FileStorage(sys.argv[1])
for number in range(50):
    asyncio.run(storage.save(f"{sys.argv[2]}{number}", {"n": number}))
"""


def test_programs_share_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    command = [sys.executable, "-c", SAVING, path]
    running = [subprocess.Popen([*command, name]) for name in "abc"]
    try:
        assert [process.wait(60) for process in running] == [0, 0, 0]
    finally:
        for process in running:
            process.kill()
    kept = json.loads(Path(path).read_bytes())
    assert set(kept) == {f"{name}{number}" for name in "abc" for number in range(50)}


# --- imports --------------------------------------------------------------------------


def imported(statement: str) -> set[str]:
    program = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    return set(json.loads(done.stdout))


def test_a_server_imports_nothing_of_the_client() -> None:
    modules = imported("from mcpgen.runtime.auth import Bearer, JwtVerifier")
    assert not [name for name in modules if name.startswith("mcpgen.runtime.client")]
    assert "mcpgen.runtime.auth.flow" not in modules


def test_the_client_imports_no_more_than_it_needs() -> None:
    modules = imported("from mcpgen.runtime.auth.oauth import OAuth")
    foreign = {
        "joserfc",
        "cryptography",
        "httpx2",
        "httpx",
        "webbrowser",
        "http.client",
    }
    assert not foreign & modules


def test_without_joserfc_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    settings = machine(world, "private_key_jwt")
    for name in ["joserfc", *(n for n in sys.modules if n.startswith("joserfc."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"mcpgen\[auth\]"):
        run(call(ClientCredentials(MCP, **settings, private_key="pem"), world))
