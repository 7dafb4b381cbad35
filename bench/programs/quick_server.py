"""A server that costs next to nothing: one loop that blocks, and answers made beforehand.

Behind it, what calls cost is what the client costs. No server that runs anything can be
as quick, so it is for measuring clients only.
"""

import sys

import msgspec

INFO = {"name": "quick", "version": "1"}
TOOL = {
    "name": "add",
    "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
LIST = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
ANSWERS = {
    "server/discover": {
        **LIST,
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": INFO},
    },
    "tools/list": {**LIST, "tools": [TOOL]},
    "tools/call": {
        "resultType": "complete",
        "content": [{"type": "text", "text": "3"}],
        "_meta": {"io.modelcontextprotocol/serverInfo": INFO},
    },
}


class Request(msgspec.Struct):
    """What an answer depends on."""

    method: str
    id: int | None = None


decode = msgspec.json.Decoder(Request).decode
encoded = {method: msgspec.json.encode(result) for method, result in ANSWERS.items()}
write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush

for line in sys.stdin.buffer:
    request = decode(line)
    if request.id is not None:
        write(
            b'{"jsonrpc":"2.0","id":%d,"result":%b}\n'
            % (request.id, encoded[request.method])
        )
        flush()
