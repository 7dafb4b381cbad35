"""The generated types, as their users meet them."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import msgspec
import pytest
from mcpgen.protocol import v2024_11_05, v2025_11_25, v2026_07_28
from mcpgen.protocol._codec import InvalidMessage
from msgspec import UNSET

types = v2025_11_25.types


# --- constructing ---------------------------------------------------------------------


def test_constructors_fill_in_constants() -> None:
    block = types.TextContent(text="hi")
    assert block.type == "text"
    assert types.encode(block) == b'{"type":"text","text":"hi"}'
    request = types.ListToolsRequest(id=1)
    assert types.encode(request) == b'{"method":"tools/list","jsonrpc":"2.0","id":1}'


def test_what_is_absent_is_unset_and_not_sent() -> None:
    tool = types.Tool(name="a", input_schema={"type": "object"})
    assert tool.title is UNSET
    assert json.loads(types.encode(tool)) == {
        "name": "a",
        "inputSchema": {"type": "object"},
    }


def test_null_is_kept_where_the_schema_has_it() -> None:
    task = {
        "taskId": "t",
        "status": "working",
        "ttl": None,
        "createdAt": "2025-01-01T00:00:00Z",
        "lastUpdatedAt": "2025-01-01T00:00:00Z",
    }
    decoded = types.decode(json.dumps(task), types.Task)
    assert decoded.ttl is None
    assert json.loads(types.encode(decoded)) == task


def test_a_wrong_constructor_argument_that_a_record_can_see_is_refused() -> None:
    with pytest.raises(ValueError, match="type: required, but missing"):
        types.Tool(name="a", input_schema={})


# --- decoding -------------------------------------------------------------------------


def test_wire_names_become_python_names() -> None:
    data = b'{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}'
    tool = types.decode(data, types.Tool)
    assert tool.annotations.read_only_hint is True
    assert tool.input_schema == {"type": "object"}


def test_unions_give_the_arm_that_is_meant() -> None:
    data = b"""{"content": [
        {"type": "text", "text": "a"},
        {"type": "resource", "resource": {"uri": "file:///a", "blob": "eA=="}},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}}
    ]}"""
    text, blob, plain = types.decode(data, types.CallToolResult).content
    assert isinstance(text, types.TextContent)
    assert isinstance(blob.resource, types.BlobResourceContents)
    assert isinstance(plain.resource, types.TextResourceContents)


def test_aliases_are_decoded_by_name() -> None:
    assert types.decode(b'"debug"', "LoggingLevel") == "debug"
    assert types.decode(b"7", "RequestId") == 7
    with pytest.raises(InvalidMessage, match=r"\$: expected .*, got a boolean"):
        types.decode(b"true", "RequestId")


def test_numbers_follow_json_schema() -> None:
    root = b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}'
    assert types.decode(root, types.PingRequest).id == 1
    assert types.decode(b'{"priority": 1}', types.Annotations).priority == 1
    with pytest.raises(InvalidMessage):
        types.decode(b'{"priority": 1.5}', types.Annotations)


@pytest.mark.parametrize(
    ("data", "issue"),
    [
        (b'{"id":1,"method":"ping"}', "$.jsonrpc: required, but missing"),
        (b'{"jsonrpc":"2.0","id":1}', "$.method: required, but missing"),
        (b'{"jsonrpc":"2.0","method":"ping"}', "$.id: required, but missing"),
        (
            b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
            "$.id: expected a string or an integer, got a boolean",
        ),
        (b"[]", "$: expected an object, got an array"),
    ],
)
def test_refusals_say_where_and_what(data: bytes, issue: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        types.decode(data, types.PingRequest)
    assert [str(found) for found in caught.value.issues] == [issue]


def test_every_problem_is_listed() -> None:
    with pytest.raises(InvalidMessage) as caught:
        types.decode(b'{"inputSchema": {"type": 1, "required": [2]}}', types.Tool)
    assert {found.path for found in caught.value.issues} == {
        "$.inputSchema.type",
        "$.inputSchema.required[0]",
        "$.name",
    }


def test_invalid_messages_are_msgspec_errors_too() -> None:
    assert issubclass(InvalidMessage, msgspec.ValidationError)
    with pytest.raises(msgspec.DecodeError):
        types.decode(b"{", types.PingRequest)


def test_deep_nesting_is_refused_not_fatal() -> None:
    deep = b'{"a":' * 5000 + b"1" + b"}" * 5000
    data = b'{"name":"a","inputSchema":{"type":"object","x":' + deep + b"}}"
    with pytest.raises(InvalidMessage, match="nested too deeply"):
        types.decode(data, types.Tool)


# --- open objects ---------------------------------------------------------------------


def test_unknown_keys_of_open_objects_survive() -> None:
    data = {"content": [], "isError": False, "x-trace": {"id": 1}}
    result = types.decode(json.dumps(data), types.CallToolResult)
    assert result.extra["x-trace"] == {"id": 1}
    assert json.loads(types.encode(result)) == data


def test_extra_keys_can_be_added_and_never_replace_known_ones() -> None:
    result = types.CallToolResult(content=[], extra={"a": 1, "content": "no"})
    assert json.loads(types.encode(result)) == {"content": [], "a": 1}


def test_open_inline_objects_are_dicts() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "$defs": {}, "title": "T"}
    data = json.dumps({"name": "a", "inputSchema": schema})
    tool = types.decode(data, types.Tool)
    assert tool.input_schema == schema
    assert json.loads(types.encode(tool)) == json.loads(data)


# --- converting, copying --------------------------------------------------------------


def test_convert_takes_parsed_json() -> None:
    params = types.convert({"name": "a", "arguments": {}}, types.CallToolRequestParams)
    assert params.name == "a"
    with pytest.raises(InvalidMessage):
        types.convert({"name": 1}, types.CallToolRequestParams)


def test_values_compare_and_pickle() -> None:
    one = types.TextContent(text="a")
    assert one == types.TextContent(text="a") != types.TextContent(text="b")
    assert pickle.loads(pickle.dumps(one)) == one


# --- versions side by side ------------------------------------------------------------


def test_each_version_has_its_own_shapes() -> None:
    listing = {"tools": []}
    assert v2024_11_05.types.convert(listing, v2024_11_05.ListToolsResult).tools == []
    with pytest.raises(InvalidMessage) as caught:
        v2026_07_28.types.convert(listing, v2026_07_28.ListToolsResult)
    missing = {issue.path for issue in caught.value.issues}
    assert missing == {"$.cacheScope", "$.resultType", "$.ttlMs"}


def test_traits_follow_the_version() -> None:
    assert v2024_11_05.methods.TRAITS.era == "legacy"
    assert v2026_07_28.methods.TRAITS.era == "modern"
    assert "initialize" in v2024_11_05.methods.REQUESTS
    assert "initialize" not in v2026_07_28.methods.REQUESTS


def test_a_version_loads_nothing_until_it_is_used() -> None:
    program = (
        "import sys; import mcpgen.protocol.v2026_07_28 as v;"
        "assert 'msgspec' not in sys.modules;"
        "v.TextContent(text='x');"
        "loaded = {m for m in sys.modules if m.startswith('mcpgen.protocol.')};"
        "print(sorted(loaded))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(
        [
            "mcpgen.protocol._codec",
            "mcpgen.protocol.v2026_07_28",
            "mcpgen.protocol.v2026_07_28.types",
        ]
    )
