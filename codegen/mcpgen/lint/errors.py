"""Error responses, explained: what the code means, the likely cause, and what to do."""

from __future__ import annotations

from typing import Any, Final

from ..diagnostics import did_you_mean
from .capabilities import needs
from .messages import OTHER, Answer, Call
from .methods import FOLKLORE
from .rule import Rule
from .session import Family
from .text import short, who_has
from .versions import Version, declared
from .words import CALL, DISCOVER, GET_PROMPT, INITIALIZE, PING, READ

INVALID = Rule(
    "error-invalid",
    "error",
    "an error that does not fit the schema",
    "An error has a code, an integer, and a message, a string; some codes have data of a certain shape.",
    "send code and message, and the data that the schema asks for with this code",
)
PARSE_ERROR = Rule(
    "error-parse-error",
    "note",
    "-32700: the other side could not read a message as JSON",
    "What was sent is not JSON in UTF-8, or was cut off.",
    "look at what was sent just before",
)
INVALID_REQUEST = Rule(
    "error-invalid-request",
    "note",
    "-32600: JSON, but no request that can be served now",
    "The envelope is wrong (jsonrpc, id, method), or the request comes at the wrong time, such as before "
    "initialize.",
    "look at the findings about the request",
)
METHOD_NOT_FOUND = Rule(
    "error-method-not-found",
    "note",
    "-32601: the other side does not have the method",
    "Either the version that is spoken has no such method, or its capability was not declared.",
    "ask only for what the version and the declared capabilities allow",
)
INVALID_PARAMS = Rule(
    "error-invalid-params",
    "note",
    "-32602: the params do not fit",
    "Params that the schema does not allow; an unknown tool, prompt or cursor; arguments that do not fit "
    "the tool's inputSchema.",
    "compare the params with the schema, and the arguments with the inputSchema of tools/list",
)
INTERNAL_ERROR = Rule(
    "error-internal-error",
    "warning",
    "-32603: the other side failed",
    "A mistake in the program that answers. The reason is rarely in the message: it is in the log.",
    "look at the server's standard error",
)
RESOURCE_NOT_FOUND = Rule(
    "error-resource-not-found",
    "note",
    "there is no resource with that URI",
    "The URI was not listed, fits no template, or the resource is gone.",
    "take URIs from resources/list, or fill in a template of resources/templates/list",
)
URL_ELICITATION = Rule(
    "error-url-elicitation-required",
    "note",
    "-32042: the user must visit an address first",
    "The request can be served only after the user did something in a browser; data.elicitations says "
    "where.",
    "show the addresses to the user, wait for notifications/elicitation/complete, and try again",
)
HEADER_MISMATCH = Rule(
    "error-header-mismatch",
    "note",
    "-32020: an HTTP header is missing or differs from the body",
    "The headers repeat parts of the body, so that proxies need not read it. A server compares both.",
    "set MCP-Protocol-Version, Mcp-Method and Mcp-Name from the body that is sent",
)
MISSING_CAPABILITY = Rule(
    "error-missing-required-client-capability",
    "note",
    "-32021: the request needs a capability that its client did not declare",
    "The server would have to ask the client for something (data.requiredCapabilities) that it said it "
    "cannot do.",
    "declare the capability in _meta of the request, if the client has it",
)
UNSUPPORTED_VERSION = Rule(
    "error-unsupported-protocol-version",
    "note",
    "-32022: the server does not speak this version",
    "data.supported lists what it speaks.",
    "try again with one of data.supported",
)
OTHER_VERSION_CODE = Rule(
    "error-other-version",
    "warning",
    "an error code of another version",
    "The code has its meaning in other versions of the protocol, but not in the one that is spoken.",
    "use the code that this version has for it",
)
FOLKLORE_CODE = Rule(
    "error-folklore",
    "warning",
    "an error code that only articles know",
    "-32001, -32002 and -32003 are told to mean that a resource, a tool or a prompt failed or was not "
    "found. No version says so, but that older ones have -32002 for resources; some libraries use them "
    "for other things, such as timeouts.",
    "-32602 for a tool or prompt that does not exist; a result with isError for a tool that failed",
)
OWN_CODE = Rule(
    "error-other",
    "note",
    "an error code that the protocol does not define",
    "Applications may have codes of their own. A client can only show the message.",
    "read the message; ask the documentation of the server",
)
TOOL_FAILED = Rule(
    "tool-failed",
    "note",
    "a tool that failed",
    "A result with isError tells the model what went wrong, so that it can try again.",
    "read the text of the result; compare the arguments with the inputSchema",
)
ARGUMENT_STYLE = Rule(
    "error-argument-style",
    "note",
    "bad arguments of a tool, answered with an error",
    "In this version bad arguments are told in a result with isError: the model can read that, and try "
    "again. An error never reaches it.",
    "answer with a result that has isError and says what is wrong",
    whole=True,
)

BY_NAME: Final = {
    rule.id.removeprefix("error-").replace("-", "_").upper(): rule
    for rule in (
        *(PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS),
        *(INTERNAL_ERROR, RESOURCE_NOT_FOUND, URL_ELICITATION, HEADER_MISMATCH),
        *(MISSING_CAPABILITY, UNSUPPORTED_VERSION),
    )
}
"""What a version calls a code → the rule that explains it."""
FOLKLORE_CODES: Final = (-32001, -32002, -32003)
RESERVED: Final = range(-32099, -32019)
"""Codes that stateless versions keep for themselves."""


class Errors(Family):
    """What went wrong, as far as the session shows it."""

    # --- results ----------------------------------------------------------------------

    def result(self, answer: Answer, result: Any) -> None:
        """Learn the tools; tell why one failed."""
        call = answer.call
        if call is None or not (type(result) is dict or answer.entry.cut):
            return
        result = result or {}
        self.session.listings.learn(answer, call, result)
        if call.method == CALL and result.get("isError") is True:
            told = f"{short(call.about or 'the tool')}: {_text_of(result)}"
            self.report(TOOL_FAILED, answer.line, told, f"{answer.path}.result")
            self._compare(call, TOOL_FAILED)

    def _compare(self, call: Call, rule: Rule) -> bool:
        """Compare a call with the listing: do its arguments differ?"""
        hidden = self.session.journal.redacted
        differ = False
        for path, message, fix, in_arguments in self.session.listings.differences(call):
            if not (hidden and hidden in message):
                differ = differ or in_arguments
                self.report(rule, call.line, message, path, fix)
        return differ

    # --- errors -----------------------------------------------------------------------

    def refusal(self, answer: Answer, error: Any) -> None:
        """Explain an error."""
        where = f"{answer.path}.error"
        if not isinstance(error, dict):
            self.report(INVALID, answer.line, "the error is no object", where)
            return
        code, message = error.get("code"), error.get("message")
        if isinstance(code, float) and code.is_integer():
            code = int(code)
        if type(code) is not int:
            told = "the code is no integer" if "code" in error else "there is no code"
            self.report(INVALID, answer.line, told, f"{where}.code")
            return
        if not isinstance(message, str):
            told = (
                "the message is no string"
                if "message" in error
                else "there is no message"
            )
            self.report(INVALID, answer.line, told, f"{where}.message")
            message = ""
        version = answer.call.version if answer.call else self.session.version
        self._explain(answer, error, code, short(message, 200), version)

    def _explain(
        self,
        answer: Answer,
        error: dict[str, Any],
        code: int,
        message: str,
        version: Version | None,
    ) -> None:
        call, line, where = answer.call, answer.line, f"{answer.path}.error"
        if version is None:
            version = self.versions.usual()
        asked = f"{short(call.method)} (line {call.line}): " if call else ""
        told = f"{asked}{code} {message}".rstrip()
        name = version.codes.get(code)
        strange = code in FOLKLORE_CODES and call and call.method in (CALL, GET_PROMPT)
        if name is None or strange:
            self._strange(answer, code, told, version)
            return
        self._data(answer, error, name, version)
        rule = BY_NAME.get(name, OWN_CODE)
        if (
            call is not None
            and call.method == READ
            and (code == version.traits.resource_not_found)
        ):
            rule = RESOURCE_NOT_FOUND
        fix = ""
        if rule is METHOD_NOT_FOUND and call is not None:
            cause, fix = self._why_not_found(call)
            told += f": {cause}" if cause else ""
        elif rule is INTERNAL_ERROR:
            if answer.sender == "server":
                # What explains it may still be on its way.
                self.session.journal.later.append((rule, line, told, f"{where}.code"))
                return
            fix = "look at the client's log"
        elif rule is UNSUPPORTED_VERSION:
            data = error.get("data")
            if isinstance(data, dict) and isinstance(data.get("supported"), list):
                names = ", ".join(short(str(v), 20) for v in data["supported"][:10])
                fix = f"the server speaks {names}"
        self.report(rule, line, told, f"{where}.code", fix)
        if rule is INVALID_PARAMS and call is not None and self._compare(call, rule):
            style = version.traits.bad_arguments
            if call.method == CALL and style == "result":
                told = f"{version.name} tells bad arguments in a result with isError"
                self.report(ARGUMENT_STYLE, line, told, where)

    def _strange(self, answer: Answer, code: int, told: str, version: Version) -> None:
        where = f"{answer.path}.error.code"
        call, not_found = answer.call, version.traits.resource_not_found
        others = [each for each in self.versions if code in each.codes]
        if others and version not in others:
            name = others[-1].codes[code].replace("_", " ").lower()
            names = ", ".join(each.name for each in others)
            told += f": {name} in {names}, not in {version.name}"
            self.report(OTHER_VERSION_CODE, answer.line, told, where)
        elif code in FOLKLORE_CODES:
            fix = f"{not_found} for a resource that does not exist"
            reads = call is not None and call.method == READ
            self.report(FOLKLORE_CODE, answer.line, told, where, fix if reads else "")
        elif version.modern and code in RESERVED:
            told += ": it is kept for the protocol, which does not define it"
            fix = "use a code of your own that is not between -32768 and -32000"
            self.report(OWN_CODE, answer.line, told, where, fix)
        else:
            self.report(OWN_CODE, answer.line, told, where)

    def _why_not_found(self, call: Call) -> tuple[str, str]:
        """The likely cause of -32601, and what to do about it."""
        version, method, other = call.version, call.method, OTHER[call.sender]
        row = call.row
        if method in FOLKLORE:
            meant = FOLKLORE[method]
            return "there is no such method", (
                f'did you mean "{meant}"?' if meant else ""
            )
        if row is None:
            others = self.versions.having(method)
            if others:
                return (
                    f"a version mismatch: {version.name} is spoken, and only "
                    f"{who_has(others)} it",
                    "agree on such a version, or do without",
                )
            return "no version has it", did_you_mean(method, version.requests)
        if call.sender not in row.sent_by:
            return f"the {call.sender} does not send it", "let the other side send it"
        path = needs(row, other)
        capabilities = self.session.parties[other].capabilities
        if path is not None and capabilities is not None:
            shown_path = ".".join(path)
            if not declared(capabilities, path):
                return (
                    f"a capability mismatch: the {other} never declared {shown_path}",
                    "look at the capabilities before asking",
                )
            return (
                f"the {other} declares {shown_path}, and does not have the method",
                f"implement it, or do not declare {shown_path}",
            )
        if method == PING:
            return f"every {other} has to answer it", "answer with an empty result"
        if method == INITIALIZE and self.versions.modern:
            return "the server may speak stateless versions only", f"try {DISCOVER}"
        if method == DISCOVER and self.versions.legacy:
            return "the server may speak older versions only", f"try {INITIALIZE}"
        return "", ""

    def _data(
        self, answer: Answer, error: dict[str, Any], name: str, version: Version
    ) -> None:
        """Codes with data of a certain shape have a definition."""
        check = version.error_checks.get(name)
        if check is None or answer.entry.cut:
            return
        for issue in check(error, "$.error")[:3]:
            where = answer.path + issue[0][1:]
            self.report(INVALID, answer.line, f"{error['code']}: {issue[1]}", where)


def _text_of(result: dict[str, Any]) -> str:
    content = result.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            return short(block["text"], 200)
    return "it does not say why"
