"""What secrets look like: the names that they have, and their forms inside of text.

Expressions are linear: what they read was written by strangers. `_HINTS` decide first.
Characters repeat possessively (`*+`), groups do not: those do not work before Python 3.11.5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from string import ascii_letters, digits

REDACTED = "[redacted]"

_HINTS = (
    b" -u",
    b'"-u',
    *b"pass pwd secret token key credential auth cookie bearer basic jwt signature ://".split(),
    *b"verifier assertion grant_ redirect_ device phrase mnemonic identified \\".split(),
    *b"""%2f%2f @tcp( @unix( pat" pat' pat= pat:""".split(),
    b"_pat ",
    *b'"pin" "otp" "pw" pin= otp= pw= sig= code= --user mysql'.split(),
    *b"eyj _pat_ ghp_ gho_ ghs_ ghu_ ghr_ glpat- xox xapp akia asia aiza ya29. gocspx".split(),
    *b"sk- sk_ rk_ npm_ pypi- hf_ sg. :aa ntn_ gsk_ xai- hvs. atatt3".split(),
    *b"lin_api_ figd_ shpat_ sbp_ dop_v1_ glsa_ whsec_ sntry pplx- tvly-".split(),
)
"""Without any of these, in lower case, there is no secret that we could tell."""
_LONG = 16 * 1024
"""Bytes from which on it pays to leave images out before hints are sought."""
_BLOB = re.compile(rb"[A-Za-z0-9+/]{1000,}+={0,2}")
"""An image or the like, in base64: nothing in it has a form, and it may be long."""

# --- names ----------------------------------------------------------------------------

_SECRET = re.compile(
    "passw|passphrase|passcode|^pin$|^otp$|^pat$|secret(?!ar)|credential"
    "|mnemonic|(?:seed|recovery)phrase"
    "|(?:api|access|private|signing|encryption|auth|account|ssh|shared|master|storage"
    "|subscription|app|session|hmac|license|service|consumer|openai)key"
    "|authheader$|authorization$|cookies?$|bearer$|jwt$|signature$"
    "|tokens?$|tokenvalue$|codeverifier$|assertion$|(?:auth|authorization|device)code$"
)
_LAST_WORD = re.compile(
    r"(?:(?:^|[^A-Za-z])(?i:pass|pwd?|auth)|[a-z0-9](?:Pass|Pwd?|(?<!o)Auth)|[A-Z0-9]_(?:KEY|PAT))$"
)
"""Words that others end with, too: `compass`, `oauth`, `sort_key`."""
_HARMLESS = {"progresstoken", "pagetoken", "nextpagetoken", "nexttoken"}
_HARMLESS |= {"continuationtoken"}


@lru_cache(4096)
def is_secret(name: str) -> bool:
    """Does a key or the name of a header look as if its value were secret?"""
    ends = name if len(name) < 200 else name[:100] + name[-100:]
    plain = re.sub(r"[^a-z0-9]", "", ends.lower())
    if plain in _HARMLESS:
        return False
    return bool(_SECRET.search(plain) or _LAST_WORD.search(ends))


# --- text -----------------------------------------------------------------------------

# Quotes may be escaped here, as in JSON inside of a string.
_KEY = (
    r"[\w.-]{0,64}(?:passw(?:or)?d|passphrase|secret(?!ar)|credential"
    r"|(?:api|access|private|account|ssh|encryption|signing|subscription)[ _-]?key"
    r"|authorization|cookie|jwt|mnemonic"
    r"|signature|code[_-]?verifier|client[_-]?assertion|(?:auth|device)[_-]?code"
    r"|(?<!progress)(?<!progress[_-])(?<!page)(?<!page[_-])(?<!next)(?<!next[_-])"
    r"(?<!invalid_)token(?![_-]?(?:type|endpoint|ur[il]|count|limit|expir)))[\w-]{0,24}"
    r"|(?:[\w.-]{0,64}[_-])?(?:pwd(?!=/)|(?:pass|auth)(?==)|pass(?=[\"']?: ?[\"']))"
    r"|[\w.-]{0,64}[_-]pass"
    r"|(?-i:[A-Z0-9_]{1,64}_(?:KEY|PAT))"
    r"|(?<![^?&#])(?:key|sig|code|assertion|pw|pin|otp)(?==)"
)
_END = r"""\s"',;&\\}\]){[("""
"""What a value without quotes ends with, unless it is a bracket or comma inside of it."""
# After a name: a quote, a bracket, or stars as in Markdown; then `:`, `=` and the like.
_CLOSED = r"""\\*+(?:["']\]?|\*\*|`)?\s*+"""
_SIGN = r"(?::(?!:)(?:\*\*|=|\s*+&?str(?:ing)?\s*+=(?!=)|(?!=|\*\*))|=(?!=)(?:>|(?!>))|%(?:25)*3D)\s*+"
_ASSIGNED = re.compile(
    rf"""(?<![\w.-])(?=-|[\w.-]++(?:[ ][\w.-]++)?{_CLOSED}[:=%])"""
    rf"""((?:{_KEY}){_CLOSED}{_SIGN}"""
    r"""(?:[bruf]{1,2}(?=["'])|[|>][+-]?[ \t]*+\n\s*+)?"""
    rf"""|--?(?:{_KEY}|auth)\s++(?!-))"""
    r"""(?:"(?P<quoted>[^"\\\n]*+(?:\\.[^"\\\n]*+)*)"?"""
    r"""|(?P<escape>\\++)"(?P<escaped>.*?)(?=(?P=escape)"|$)"""
    r"""|'(?P<single>[^'\n]*+)'?"""
    r"""|(?P<plain>(?:(?:bearer|basic|digest|token|negotiate|apikey)\s+)?"""
    rf"""[^{_END}]++(?:[][(){{}},]++(?![\w.-]*+\s*+[=:])[^{_END}]++)*))""",
    re.IGNORECASE | re.MULTILINE,
)
_PLAIN = {
    "null",
    "true",
    "false",
    "None",
    "True",
    "False",
    "undefined",
    "str",
    "string",
}
"""What is no secret, but code or a type."""
_COUNT = re.compile(r"[\w.-]*tokens\W*", re.IGNORECASE)
_HEADER = re.compile(
    r"(^[ \t\r\f\v<>*]*+(?:set-cookie|cookie|(?:proxy-)?authorization)\s*:\s*)\S[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
_COOKIES = re.compile(
    r"(?<![\w-])((?:set-)?cookie\s*+:\s*+)"
    r"""[^\s;:="'\\]++=[^\s;"'\\]*+(?:;[ \t]*+[^\s;="'\\]++(?:=[^\s;"'\\]*+)?)*""",
    re.IGNORECASE,
)
"""Several of them, on a line that begins with something else."""
_PAIR = re.compile(
    r"""(\(b?(["'])([\w.-]{1,64})\2, ?b?(["']))"""
    r"""[^"'\\\n]*+(?:(?:\\.|(?!\4)["'])[^"'\\\n]*+)*(?=\4\))"""
)
"""As Python shows headers: `(b'x-api-key', b'abc')`."""
_ELEMENT = re.compile(
    r"(<(?:[\w-]{1,64}:)?([\w.-]{1,64})(?:\s[^<>]{0,200})?>\s*+)[^<>\s][^<>]*+(?=</)"
)
_SQL = re.compile(
    r"(\b(?:password|identified\s++by)\s++')[^'\n]*+(?:''[^'\n]*+)*(?=')", re.IGNORECASE
)
_SCHEME = re.compile(
    r"\b((?i:bearer)\s++)(?![\w-]++\s*+=\s*+[\w\"]"  # realm="x" is no token
    r"|(?:auth\w*|scheme|tokens|credentials?|format|header)\b)[\w.~+/=-]{6,}"
    r"|\b((?i:basic)\s++)(?![A-Z]?(?:[a-z]+|[A-Z]+)\b)[\w.~+/=-]{8,}"
)
_USER = re.compile(
    r"(?<=://)[^/?#\s\"']+(?=@)"
    r"|(?i:(?<=%2F%2F)(?:(?!%2F|%40)[^/?#\s\"'@])+(?=%40))"
    r"|(?<![^\s\"'=])[\w.-]{1,64}:[^\s\"'@(]{1,200}(?=@(?:tcp|unix)\()"
)
"""Of an address, also of one inside of another, and as Go writes that of a database."""
_BEGIN, _FINISH = (
    rf"-----{word} [A-Z ]*PRIVATE KEY(?: BLOCK)?-----" for word in ("BEGIN", "END")
)
_KNOWN = re.compile(
    r"\b(?:eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)*"  # a JSON web token
    r"|sk-[\w-]{16,}|[rs]k_(?:[a-z]{1,8}_)?[A-Za-z0-9]{16,}"
    r"|gh[opsur]_[A-Za-z0-9]{20,}|(?:github|dckr)_pat_[\w-]{20,}"
    r"|(?:xox[abeoprs]|xapp|glpat|pypi|GOCSPX|xai)-[\w-]{10,}"
    r"|A[KS]IA[0-9A-Z]{16}\b|AIza[\w-]{30,}|ya29\.[\w.-]{16,}"
    r"|npm_[A-Za-z0-9]{30,}|(?:hf|ntn|gsk|secret)_[A-Za-z0-9]{20,}"
    r"|(?:lin_api|figd|shpat|sbp|dop_v1|glsa|whsec|sntry[su])_[\w-]{20,}"
    r"|(?:pplx|tvly)-[\w-]{20,}"
    r"|ATATT3[\w-]{20,}|hvs\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,})"
    r"|(?<![0-9])[0-9]{8,12}:AA[\w-]{30,}"
    r"|(?<=hooks\.slack\.com/)[\w/]{20,}|(?<=/api/webhooks/)[0-9]+/[\w-]{20,}"
    rf"|{_BEGIN}.*?(?:{_FINISH}|\Z)",
    re.DOTALL,
)


def may_hold(data: bytes) -> bool:
    """Is a closer look worth it? This is done for every frame."""
    if len(data) > _LONG:
        strings = data.split(b'"')
        data = b'"'.join(s for s in strings if len(s) < 1000 or not _BLOB.fullmatch(s))
    lower = data.lower()
    # A loop, because a generator takes twice as long.
    for hint in _HINTS:  # noqa: SIM110
        if hint in lower:
            return True
    return False


def without(text: str) -> str:
    """The text with `[redacted]` for every secret."""
    text = _KNOWN.sub(REDACTED, text)
    text = _HEADER.sub(rf"\1{REDACTED}", text)
    text = _COOKIES.sub(rf"\1{REDACTED}", text)
    text = _SCHEME.sub(lambda found: f"{found[1] or found[2]}{REDACTED}", text)
    text = _ASSIGNED.sub(_assigned, text)
    text = _PAIR.sub(lambda found: _named(found, found[3]), text)
    text = _ELEMENT.sub(lambda found: _named(found, found[2]), text)
    text = _SQL.sub(rf"\1{REDACTED}", text)
    text = _BOTH.sub(rf"\1:{REDACTED}", text)
    text = _COMMAND.sub(_login, text)
    return _USER.sub(REDACTED, text)


def _assigned(found: re.Match[str]) -> str:
    name, plain = found[1], found["plain"]
    if plain is not None:
        is_count = plain.isdigit() and _COUNT.fullmatch(name)
        return found[0] if plain in _PLAIN or is_count else f"{name}{REDACTED}"
    if (escape := found["escape"]) is not None:
        return f'{name}{escape}"{REDACTED}'
    mark = "'" if found["single"] is not None else '"'
    return f"{name}{mark}{REDACTED}{mark}"


def _named(found: re.Match[str], name: str) -> str:
    return f"{found[1]}{REDACTED}" if is_secret(name) else found[0]


# --- commands -------------------------------------------------------------------------

# Flags of one letter say little by themselves: -p is a port, or a password where somebody
# logs in. -u and --user are a name, or `user:password`, as curl has it.
_LOGIN = re.compile(
    r"""(?<!python)(?<!python3)(?:^|[\s"'])(?:-u|--user(?:name)?)(?![\w-])"""
    r"""|\b(?:sshpass|mysql\w*|mariadb)(?![\w.:/-])"""
)
_COMMAND = re.compile(r"(?<![^\n;|&])[^\n;|&]*(?<!\S)-p[^\n;|&]*")
_PORT = r"[\d.:/-]+(?:tcp|udp)?"
_P = re.compile(rf"""(?<!\S)(-p[ =]?)(?!-|{_PORT}(?![^\s"']))["']?[^\s"']++["']?""")
_BOTH = re.compile(
    r"""(?<![^\s"'])((?:-u\s*+|--user(?:\s++|=))["']?[^\s:/"']++):(?!//)[^\s"']++"""
)


def _login(found: re.Match[str]) -> str:
    command = found[0]
    return _P.sub(rf"\1{REDACTED}", command) if _LOGIN.search(command) else command


def among(words: Sequence[object]) -> Mapping[int, str]:
    """Which words of a command are secret for what is around them: where → what to show."""
    found: dict[int, str] = {}
    text = " ".join(word for word in words if isinstance(word, str))
    logs_in = _LOGIN.search(text) is not None
    flag = ""
    for place, word in enumerate(words):
        if not isinstance(word, str):
            flag = ""
        elif not word.startswith("-"):
            if word and _is_value(flag, word, logs_in):
                found[place] = REDACTED
            flag = ""
        elif logs_in and word.startswith("-p") and word != "-p":
            found[place] = _P.sub(rf"\1{REDACTED}", word)
        else:
            flag = word
    return found


def _is_value(flag: str, word: str, logs_in: bool) -> bool:
    if flag in ("-u", "--user"):
        return ":" in word
    if flag == "-p":
        return logs_in and not re.fullmatch(_PORT, word)
    return flag == "--key" or ("=" not in flag and flag != "" and is_secret(flag))


# --- private keys, a line at a time ---------------------------------------------------

_BEGINS, _ENDS = re.compile(_BEGIN), re.compile(_FINISH)
_ALPHABET = f"{ascii_letters}{digits}+/="
_BODY = re.compile(
    r"(?:(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{32,}+|^\s*+[A-Za-z0-9+/]{1,64}+)={0,2}+"
    r"(?:\\n)?\W*+$"
)
_MOST_LINES = 200
"""So many are taken for the body of a key that has no end."""


class PrivateKeys:
    """Private keys in a log: line by line, only the first one tells what they are."""

    def __init__(self) -> None:
        self._lines_left = 0

    def without(self, line: str) -> str:
        """The line without what it has of a key that an earlier one began."""
        if self._lines_left:
            self._lines_left -= 1
            if ended := _ENDS.search(line):
                self._lines_left = 0
                before = line[: ended.start()].rstrip(_ALPHABET)
                line = f"{before}{REDACTED}{line[ended.end() :]}"
            else:
                line = _BODY.sub(REDACTED, line)
        *_, last = ("", *_BEGINS.finditer(line))
        if last and not _ENDS.search(line, last.end()):
            self._lines_left = _MOST_LINES
        return line
