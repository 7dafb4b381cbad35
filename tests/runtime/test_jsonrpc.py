"""Frames are told apart by their keys, as literals of the wire."""

from __future__ import annotations

import pytest
from mcpgen.runtime.jsonrpc import FrameError, decode


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"ping"}', "request"),
        ('{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}', "request"),
        ('{"jsonrpc":"2.0","method":"notifications/initialized"}', "notification"),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', "result"),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}', "error"),
        ('{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}', "error"),
    ],
)
def test_kinds(wire: str, kind: str) -> None:
    assert decode(wire).kind() == kind


@pytest.mark.parametrize(
    ("wire", "code"),
    [
        ("{", -32700),
        (b"\xff", -32700),
        ('{"params":' + "[" * 100_000, -32700),
        ("7", -32600),
        ("[]", -32600),
        ("{}", -32600),
        ('{"jsonrpc":"2.0"}', -32600),
        ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        ('{"jsonrpc":2,"id":1,"method":"ping"}', -32600),
        ('{"id":1,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
        ('{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', -32600),
    ],
)
def test_what_is_no_message(wire: str | bytes, code: int) -> None:
    with pytest.raises(FrameError) as caught:
        decode(wire).kind()
    assert caught.value.code == code


def test_parts_of_a_request() -> None:
    frame = decode('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":1}}')
    assert (frame.request_id(), frame.method_name()) == (7, "tools/call")
    assert bytes(frame.params) == b'{"a":1}'  # type: ignore[arg-type]
