"""Is it a message at all? The envelope of JSON-RPC, and batches."""

from __future__ import annotations

from typing import Any

import msgspec

from ..recording import Entry
from .rule import Rule
from .seen import Id, usable
from .session import Journal, Session
from .text import short, who_has
from .words import INITIALIZE

STRAY_OUTPUT = Rule(
    "stray-output",
    "error",
    "something else than a message on the server's standard output",
    "Over stdio, standard output belongs to the protocol: one JSON message a line. A stray print, a "
    "banner or the output of a child process breaks the client's reader.",
    "write logs and prints to standard error",
)
NOT_JSON = Rule(
    "not-json",
    "error",
    "something that cannot be read as JSON",
    "A message is one JSON value in UTF-8. What cannot be read is answered with a parse error, or not at "
    "all.",
    "send one JSON object, encoded as UTF-8, without raw line breaks, NaN or half a surrogate pair in it",
)
NOT_A_MESSAGE = Rule(
    "not-a-message",
    "error",
    "JSON that is no JSON-RPC message",
    "A message is an object with a method (a request or a notification) or with a result or an error (a "
    "response).",
    "send a request, a notification or a response",
)
JSONRPC = Rule(
    "jsonrpc-version",
    "error",
    'jsonrpc is not "2.0"',
    'Every message carries `"jsonrpc": "2.0"`, a string. Without it, it is an invalid request.',
    'send "jsonrpc": "2.0"',
)
BOTH = Rule(
    "result-and-error",
    "error",
    "a response with both a result and an error",
    "A response says either that it went well or that it did not. Of both, readers take one or the other.",
    "send only one of them",
)
NEITHER = Rule(
    "no-result",
    "error",
    "a response with neither a result nor an error",
    "A message with an id and without a method is a response, and has to carry a result or an error.",
    "send an empty result, {}, when there is nothing to say; or name the method",
)
CALL_AND_ANSWER = Rule(
    "call-and-answer",
    "error",
    "a message with a method and a result or an error",
    "It cannot be told whether it asks or answers.",
    "send a request without result and error, or a response without method",
)
ID_NULL = Rule(
    "id-null",
    "error",
    "an id that is null",
    "JSON-RPC allows it in principle, MCP does not: a request has a string or an integer, a notification "
    "has no id at all.",
    "leave the id out of a notification; count up for requests",
)
ID_TYPE = Rule(
    "id-type",
    "error",
    "an id that is neither a string nor an integer",
    "Only these two can be an id.",
    "count up, or use strings",
)
METHOD_TYPE = Rule(
    "method-type",
    "error",
    "a method that is no string",
    "The method is the name of what is asked for.",
    "send the method's name",
)
PARAMS_TYPE = Rule(
    "params-type",
    "error",
    "params that are no object",
    "Parameters of MCP have names: they are an object, or left out. JSON-RPC's arrays are not used.",
    "send an object, or leave params out",
)
BATCH_UNSUPPORTED = Rule(
    "batch-unsupported",
    "error",
    "a batch in a version without batches",
    "Arrays of messages exist in few versions of the protocol; elsewhere they are invalid.",
    "send the messages one by one",
)
BATCH_EMPTY = Rule(
    "batch-empty",
    "error",
    "a batch of nothing",
    "An empty array is an invalid request.",
    "send nothing instead",
)
BATCH_INITIALIZE = Rule(
    "batch-initialize",
    "error",
    "initialize inside of a batch",
    "The version is not agreed on before initialize is answered, and with it whether there are batches.",
    "send initialize alone, and wait for its answer",
)
BATCH_MIXED = Rule(
    "batch-mixed",
    "error",
    "requests and responses in one batch over HTTP",
    "A body holds requests and notifications, or responses, never both.",
    "send the responses in a body of their own",
)

MEMBERS = 10_000
"""Messages of one batch that are looked at."""


def check_id(journal: Journal, line: int, path: str, value: object) -> Id | None:
    """The id, if it can be used; what is wrong is reported."""
    if (id := usable(value)) is not None:
        return id
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 1.0 is an integer to JSON Schema
    if value is None:
        journal.report(ID_NULL, line, "the id is null", f"{path}.id")
    else:
        journal.report(ID_TYPE, line, f"the id is {kind(value)}", f"{path}.id")
    return None


def unreadable(entry: Entry) -> str:
    """Why what came where a message should is no JSON."""
    text = entry.text or ""
    told = f'"{short(text)}" is no JSON'
    if '"jsonrpc"' not in text or entry.cut:
        return told
    try:
        msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError) as error:
        return f"{told}: {short(str(error))}"
    return told


def kind(value: object) -> str:
    """What sort of JSON value it is."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    names = {int: "a number", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "an object")


def check_jsonrpc(
    journal: Journal, line: int, path: str, frame: dict[str, Any]
) -> None:
    """Report what is there in place of "2.0"."""
    if "jsonrpc" not in frame:
        journal.report(JSONRPC, line, "jsonrpc is missing", path)
        return
    found = frame["jsonrpc"]
    shown = f'"{short(found, 20)}"' if isinstance(found, str) else kind(found)
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        shown = "a number"
    journal.report(JSONRPC, line, f'jsonrpc is {shown}, not "2.0"', f"{path}.jsonrpc")


def check_batch(session: Session, line: int, batch: list[Any], sender: str) -> bool:
    """May there be one here? What is wrong is reported, and the members looked at."""
    report = session.journal.report
    version = session.version
    members = [m for m in batch[:MEMBERS] if isinstance(m, dict)]
    if not batch:
        report(BATCH_EMPTY, line, "the array is empty")
        return False
    if any(m.get("method") == INITIALIZE for m in members):
        report(BATCH_INITIALIZE, line, "initialize is in a batch")
        return False
    if session.http and sender == "client":
        calls = sum("method" in m for m in members)
        if 0 < calls < len(members):
            report(BATCH_MIXED, line, "the array holds requests and responses")
    if version is not None and not version.traits.batch:
        batching = [each.name for each in session.journal.versions if each.traits.batch]
        told = f"an array of {len(batch)}, and {version.name} has no batches"
        if batching:
            told += f" (only {who_has(batching)})"
        report(BATCH_UNSUPPORTED, line, told)
        return False
    return True
