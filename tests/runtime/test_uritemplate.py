"""URI templates: the RFC's own examples for expansion, and the rules of matching."""

from __future__ import annotations

import time

import pytest
from mcpgen.runtime.uritemplate import MAX_URI, Template

# RFC 6570, section 3.2: the variables, then the examples by section.
VALUES: dict[str, object] = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","},
    "v": "6",
    "x": "1024",
    "y": "768",
    "empty": "",
    "empty_keys": {},
    "undef": None,
}

RFC = """
{count}               one,two,three
{count*}              one,two,three
{/count}              /one,two,three
{/count*}             /one/two/three
{;count}              ;count=one,two,three
{;count*}             ;count=one;count=two;count=three
{?count}              ?count=one,two,three
{?count*}             ?count=one&count=two&count=three
{&count*}             &count=one&count=two&count=three
{var}                 value
{hello}               Hello%20World%21
{half}                50%25
O{empty}X             OX
O{undef}X             OX
{x,y}                 1024,768
{x,hello,y}           1024,Hello%20World%21,768
?{x,empty}            ?1024,
?{x,undef}            ?1024
?{undef,y}            ?768
{var:3}               val
{var:30}              value
{list}                red,green,blue
{list*}               red,green,blue
{keys}                semi,%3B,dot,.,comma,%2C
{keys*}               semi=%3B,dot=.,comma=%2C
{+var}                value
{+hello}              Hello%20World!
{+half}               50%25
{base}index           http%3A%2F%2Fexample.com%2Fhome%2Findex
{+base}index          http://example.com/home/index
O{+empty}X            OX
O{+undef}X            OX
{+path}/here          /foo/bar/here
here?ref={+path}      here?ref=/foo/bar
up{+path}{var}/here   up/foo/barvalue/here
{+x,hello,y}          1024,Hello%20World!,768
{+path,x}/here        /foo/bar,1024/here
{+path:6}/here        /foo/b/here
{+list}               red,green,blue
{+list*}              red,green,blue
{+keys}               semi,;,dot,.,comma,,
{+keys*}              semi=;,dot=.,comma=,
{#var}                #value
{#hello}              #Hello%20World!
{#half}               #50%25
foo{#empty}           foo#
foo{#undef}           foo
{#x,hello,y}          #1024,Hello%20World!,768
{#path,x}/here        #/foo/bar,1024/here
{#path:6}/here        #/foo/b/here
{#list}               #red,green,blue
{#list*}              #red,green,blue
{#keys}               #semi,;,dot,.,comma,,
{#keys*}              #semi=;,dot=.,comma=,
{.who}                .fred
{.who,who}            .fred.fred
{.half,who}           .50%25.fred
www{.dom*}            www.example.com
X{.var}               X.value
X{.empty}             X.
X{.undef}             X
X{.var:3}             X.val
X{.list}              X.red,green,blue
X{.list*}             X.red.green.blue
X{.keys}              X.semi,%3B,dot,.,comma,%2C
X{.keys*}             X.semi=%3B.dot=..comma=%2C
X{.empty_keys}        X
X{.empty_keys*}       X
{/who}                /fred
{/who,who}            /fred/fred
{/half,who}           /50%25/fred
{/who,dub}            /fred/me%2Ftoo
{/var}                /value
{/var,empty}          /value/
{/var,undef}          /value
{/var,x}/here         /value/1024/here
{/var:1,var}          /v/value
{/list}               /red,green,blue
{/list*}              /red/green/blue
{/list*,path:4}       /red/green/blue/%2Ffoo
{/keys}               /semi,%3B,dot,.,comma,%2C
{/keys*}              /semi=%3B/dot=./comma=%2C
{;who}                ;who=fred
{;half}               ;half=50%25
{;empty}              ;empty
{;v,empty,who}        ;v=6;empty;who=fred
{;v,bar,who}          ;v=6;who=fred
{;x,y}                ;x=1024;y=768
{;x,y,empty}          ;x=1024;y=768;empty
{;x,y,undef}          ;x=1024;y=768
{;hello:5}            ;hello=Hello
{;list}               ;list=red,green,blue
{;list*}              ;list=red;list=green;list=blue
{;keys}               ;keys=semi,%3B,dot,.,comma,%2C
{;keys*}              ;semi=%3B;dot=.;comma=%2C
{?who}                ?who=fred
{?half}               ?half=50%25
{?x,y}                ?x=1024&y=768
{?x,y,empty}          ?x=1024&y=768&empty=
{?x,y,undef}          ?x=1024&y=768
{?var:3}              ?var=val
{?list}               ?list=red,green,blue
{?list*}              ?list=red&list=green&list=blue
{?keys}               ?keys=semi,%3B,dot,.,comma,%2C
{?keys*}              ?semi=%3B&dot=.&comma=%2C
{&who}                &who=fred
{&half}               &half=50%25
?fixed=yes{&x}        ?fixed=yes&x=1024
{&x,y,empty}          &x=1024&y=768&empty=
{&x,y,undef}          &x=1024&y=768
{&var:3}              &var=val
{&list}               &list=red,green,blue
{&list*}              &list=red&list=green&list=blue
{&keys}               &keys=semi,%3B,dot,.,comma,%2C
{&keys*}              &semi=%3B&dot=.&comma=%2C
"""


@pytest.mark.parametrize("example", RFC.strip().splitlines())
def test_the_examples_of_the_rfc(example: str) -> None:
    template, expected = example.split()
    assert Template(template).expand(**VALUES) == expected


def test_expansion_beyond_the_examples() -> None:
    assert Template("é/{x}").expand(x="ü") == "%C3%A9/%C3%BC"
    assert Template("{+x}").expand(x="%41%4") == "%41%254"
    assert Template("{x}{?y}").expand(x=7) == "7"
    assert Template("{?x*}").expand(x=[]) == ""
    with pytest.raises(ValueError, match="x:1"):
        Template("{x:1}").expand(x=["a"])


def test_variables_in_order() -> None:
    assert Template("a").variables == ()
    assert Template("{b}{+a,c}{?b,d}{&e.f}").variables == ("b", "a", "c", "d", "e.f")


@pytest.mark.parametrize(
    ("template", "position"),
    [
        ("a{x", 1),
        ("a}", 1),
        ("a{}", 2),
        ("{/?x}", 2),
        ("{x,}", 3),
        ("{x, y}", 3),
        ("{.x,.y}", 4),
        ("{!x}", 1),
        ("{x:0}", 1),
        ("{x:10000}", 1),
        ("{x:2*}", 1),
        ("{x*:2}", 1),
        ("{x.}", 1),
        ("{x..y}", 1),
        ("{x{y}}", 0),
        ("a b", 1),
        ("a%4", 1),
        ("{é}", 1),
    ],
)
def test_malformed_templates_say_where(template: str, position: int) -> None:
    with pytest.raises(ValueError, match=rf"at {position}$"):
        Template(template)


@pytest.mark.parametrize(
    ("template", "uri", "expected"),
    [
        # Literals are exact.
        ("a.b", "a.b", {}),
        ("a.b", "aXb", None),
        ("a.b", "a.b/", None),
        ("", "", {}),
        ("", "a", None),
        ("é/{x}", "é/1", {"x": "1"}),
        ("é/{x}", "%C3%A9/1", {"x": "1"}),
        # Simple: one segment, not empty.
        ("users/{id}", "users/7", {"id": "7"}),
        ("users/{id}", "users/", None),
        ("users/{id}", "users/7/8", None),
        ("users/{id}", "users/7?x=1", None),
        ("users/{id}", "users/a%2Fb%20c", {"id": "a/b c"}),
        ("users/{id}", "users/ü", {"id": "ü"}),
        ("users/{id}", "users/%FF", None),
        ("users/{id}", "users/\ud800", None),
        ("users/{id}", "users/5%", {"id": "5%"}),
        ("users/{id}/posts/{n}", "users/7/posts/8", {"id": "7", "n": "8"}),
        ("{a}-{b}", "x-y-z", {"a": "x-y", "b": "z"}),
        ("{name}.json", "a.json.json", {"name": "a.json"}),
        ("{a}{b}", "xyz", {"a": "xy", "b": "z"}),
        ("{a}{b}", "x", None),
        ("{x,y}", "1,2", {"x": "1", "y": "2"}),
        ("{x}", "1,2", {"x": "1,2"}),
        ("{x*}", "1,2", {"x": ["1", "2"]}),
        ("s?q={q}", "s?q=a%26b", {"q": "a&b"}),
        ("s?q={q}", "s?q=a&b=c", None),
        # A name twice means the same value.
        ("{x}/{x}", "a/a", {"x": "a"}),
        ("{x}/{x}", "a/b", None),
        ("{x:1}/{x}", "t/term", {"x": "term"}),
        ("{x:1}/{x}", "e/term", None),
        ("{x:2}", "abc", None),
        # Reserved: across segments.
        ("file:///{+path}", "file:///a/b.txt", {"path": "a/b.txt"}),
        ("file:///{+path}", "file:///a?b#c", {"path": "a?b#c"}),
        ("{+path}/{name}", "a/b/c", {"path": "a/b", "name": "c"}),
        ("{+path}{?q}", "a/b?q=1", {"path": "a/b", "q": "1"}),
        ("{+path}{#f}", "a/b#c", {"path": "a/b", "f": "c"}),
        # Fragment, label, path.
        ("a{#f}", "a#b/c", {"f": "b/c"}),
        ("a{#f}", "a", {}),
        ("a{#f,g}", "a#b,c", {"f": "b", "g": "c"}),
        ("a{.e}", "a.tar.gz", {"e": "tar.gz"}),
        ("a{.e,f}", "a.tar.gz", {"e": "tar", "f": "gz"}),
        ("{name}{.e}", "a.tar.gz", {"name": "a", "e": "tar.gz"}),
        ("{name}{.e}", "a", {"name": "a"}),
        ("a{.e*}", "a.tar.gz", {"e": ["tar", "gz"]}),
        ("a{/x}", "a/b", {"x": "b"}),
        ("a{/x}", "a", {}),
        ("a{/x}", "a/b/c", None),
        ("a{/x,y}", "a/b", {"x": "b"}),
        ("a{/x,y}", "a/b/c", {"x": "b", "y": "c"}),
        ("a{/x*}", "a/b/c%2Fd", {"x": ["b", "c/d"]}),
        ("a{/x*}/end", "a/b/end/end", {"x": ["b", "end"]}),
        # Query: any order, all optional, no strangers.
        ("s{?a,b}", "s", {}),
        ("s{?a,b}", "s?a=1&b=2", {"a": "1", "b": "2"}),
        ("s{?a,b}", "s?b=2&a=1", {"a": "1", "b": "2"}),
        ("s{?a,b}", "s?b=x/y%26", {"b": "x/y&"}),
        ("s{?a,b}", "s?a=", {"a": ""}),
        ("s{?a,b}", "s?c=1", None),
        ("s{?a,b}", "s?a=1&a=2", None),
        ("s{?a*}", "s?a=1&a=2", {"a": ["1", "2"]}),
        ("s{?a}{&b}", "s?b=2&a=1", {"a": "1", "b": "2"}),
        ("s?v=1{&a}", "s?v=1&a=2", {"a": "2"}),
        ("s?v=1{&a}", "s?v=1", {}),
        ("s{?a}{#f}", "s?a=1#x", {"a": "1", "f": "x"}),
        ("s{;a,b}", "s;b=1;a", {"a": "", "b": "1"}),
    ],
)
def test_matching(
    template: str, uri: str, expected: dict[str, str | list[str]] | None
) -> None:
    assert Template(template).match(uri) == expected


@pytest.mark.parametrize(
    "template", ["x/{a}/{b}{/c*}{?d,e}", "x{?a,b,c*}{&d,e}", "x{a,b}{;d,e}{/c*}"]
)
@pytest.mark.parametrize("text", ["plain", "a/b", "ü%?#&=,;.", " ", "%41"])
def test_what_was_expanded_matches(template: str, text: str) -> None:
    values: dict[str, object] = {**dict.fromkeys("abde", text), "c": ["one", text]}
    assert Template(template).match(Template(template).expand(**values)) == values


@pytest.mark.parametrize(
    ("template", "piece"),
    [
        ("{a}{b}{c}{d}{e}{f}{g}{h}!", "x"),
        ("{a}-{b}-{c}-{d}-{e}-{f}!", "-"),
        ("{+a}/{+b}/{+c}{/d*}{/e*}{/f*}!", "/"),
        ("x{.a,b,c*}{.d*}{.e*}!", "."),
        ("{?a,b*}!", "&a=1"),
        ("{a}%41", "%"),
    ],
)
def test_hostile_uris_take_linear_time(template: str, piece: str) -> None:
    parsed = Template(template)

    def seconds(size: int) -> float:
        uri = (piece * size)[:size]
        start = time.process_time()
        assert parsed.match(uri) is None
        return time.process_time() - start

    # Linear is 8 times as long, quadratic 64 times; a floor against a coarse clock.
    short = min(seconds(MAX_URI // 8) for _ in range(3))
    assert min(seconds(MAX_URI) for _ in range(3)) < 30 * max(short, 0.001)


def test_longer_uris_match_nothing() -> None:
    assert Template("{+x}").match("x" * MAX_URI) == {"x": "x" * MAX_URI}
    assert Template("{+x}").match("x" * (MAX_URI + 1)) is None
