"""The judge is no fool: it knows its rules, and every kind of lie."""

from __future__ import annotations

import pytest

from .fuzz_oracle import INVALID_REQUEST, PARSE_ERROR, Duty, Judge, duty

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{}}'
UNREADABLE = b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"not JSON"}}'
INVALID = b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"no request"}}'
REFUSED = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no request"}}'

unreadable = Duty(refusal=PARSE_ERROR)
invalid = Duty(refusal=INVALID_REQUEST)
nothing = Duty(required=False)


@pytest.mark.parametrize(
    ("message", "due"),
    [
        (PING, Duty(answer=(int, 1))),
        (b'{"jsonrpc":"2.0","id":"1","method":""}', Duty(answer=(str, "1"))),
        (b'{"jsonrpc":"2.0","method":"ping"}', nothing),
        (b'{"jsonrpc":"2.0","method":"ping","params":[]}', nothing),
        (ANSWER, nothing),
        (b'{"jsonrpc":"2.0","error":{}}', nothing),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', invalid),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', invalid),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', invalid),
        (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', invalid),
        (b'{"jsonrpc":"1.0","method":"ping"}', invalid),
        (b'{"method":"ping"}', invalid),
        (b'{"jsonrpc":"2.0","id":1}', invalid),
        (b"[%b]" % PING, invalid),
        (b"null", invalid),
        (b"", unreadable),
        (b"\xef\xbb\xbf" + PING, unreadable),
        (PING[:-1], unreadable),
        (PING + b"}", unreadable),
        (PING.replace(b"ping", b"\xff"), unreadable),
        (PING.replace(b"1", b"NaN"), unreadable),
        (PING.replace(b"1", b"01"), unreadable),
        (b"[" * 100_000 + b"]" * 100_000, Duty(refusal=0)),
    ],
)
def test_what_a_message_obliges_to(message: bytes, due: Duty) -> None:
    assert duty(message, batches=False) == due


def test_a_batch() -> None:
    found = duty(b"[%b,1]" % PING, batches=True)
    assert found.batch == [Duty(answer=(int, 1)), invalid]


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ([PING], [ANSWER]),
        ([PING, PING], [INVALID, ANSWER]),
        ([PING, PING], [ANSWER, ANSWER]),
        ([b"["], [UNREADABLE]),
        ([b"1"], [INVALID]),
        ([PING.replace(b"2.0", b"1.0")], [INVALID]),
        ([PING.replace(b"2.0", b"1.0")], [REFUSED]),
        ([ANSWER], []),
        ([b"[%b,1]" % PING], [b"[%b,%b]" % (INVALID, ANSWER)]),
    ],
)
def test_what_is_right(sent: list[bytes], received: list[bytes]) -> None:
    judge = judged(sent, received)
    assert judge.problem() is None
    judge.close()


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ([PING], [ANSWER, ANSWER]),
        ([], [ANSWER]),
        ([PING], [ANSWER.replace(b"1", b'"1"')]),
        ([PING], [REFUSED, ANSWER]),
        ([PING], [ANSWER.replace(b"2.0", b"1.0")]),
        ([PING], [ANSWER.replace(b"{}", b"[]")]),
        ([PING], [b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":""}}']),
        ([PING], [b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}']),
        ([PING], [ANSWER, INVALID]),
        ([ANSWER], [INVALID]),
        ([b"["], [UNREADABLE.replace(b'"error"', b'"id":null,"error"')]),
        ([b"["], [INVALID, UNREADABLE]),
        ([b"[%b]" % PING], [ANSWER]),
        ([PING], [b"[%b]" % ANSWER]),
        ([], [b'{"jsonrpc":"2.0","method":"notifications/progress",'
              b'"params":{"progressToken":1,"progress":1}}']),
    ],
)  # fmt: skip
def test_what_is_too_much(sent: list[bytes], received: list[bytes]) -> None:
    with pytest.raises(AssertionError):
        judged(sent, received).problem()


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ([PING], []),
        ([PING, PING], [ANSWER]),
        ([b"["], []),
        ([b"["], [INVALID]),
        ([b"1"], [UNREADABLE]),
        ([b"[%b,1]" % PING], []),
    ],
)
def test_what_is_missing(sent: list[bytes], received: list[bytes]) -> None:
    assert judged(sent, received).problem() is not None


def judged(sent: list[bytes], received: list[bytes]) -> Judge:
    judge = Judge(batches=True)
    for message in sent:
        judge.sent(message)
    for message in received:
        judge.received(message)
    return judge


def test_a_request_in_flight() -> None:
    judge = Judge()
    key = judge.hold(PING)
    judge.sent(PING)
    judge.received(INVALID)
    assert judge.problem() is None
    judge.let_go(key)
    assert judge.problem() is not None
    judge.received(ANSWER)
    assert judge.problem() is None


@pytest.mark.parametrize("meddling", [PING, PING.replace(b"2.0", b"1.0")])
def test_a_request_in_flight_is_not_answered_by_another(meddling: bytes) -> None:
    judge = Judge()
    judge.let_go(judge.hold(PING))
    judge.held.add((int, 1))
    judge.sent(meddling)
    judge.received(REFUSED)
    with pytest.raises(AssertionError):
        judge.received(ANSWER)


def test_what_was_cancelled_in_flight_is_not_answered() -> None:
    judge = Judge()
    judge.hold(PING)
    judge.sent(
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    )
    assert judge.problem() is None
    with pytest.raises(AssertionError):
        judge.received(ANSWER)
