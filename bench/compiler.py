"""The compiler and what it writes: generating, importing, reading messages."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .table import Row, share, times_faster
from .timing import clock, interleave

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable


def rows(quick: bool) -> Iterator[Row]:
    """All of this part."""
    yield from generating(rounds=1 if quick else 3)
    yield from importing(rounds=5 if quick else 15)
    yield from parsing(rounds=3 if quick else 9)


def generating(rounds: int) -> Iterator[Row]:
    """Generating and checking all versions, against datamodel-codegen's pydantic."""
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory)
        (project / "pyproject.toml").write_text('[tool.mcpgen]\noutput = "out"\n')
        mcpgen = [PYTHON, "-m", "mcpgen"]

        def peer() -> None:
            for file in sorted((ROOT / "schema").glob("*/schema.json")):
                _run(
                    [
                        *(PYTHON, "-m", "datamodel_code_generator"),
                        *("--input", str(file), "--input-file-type", "jsonschema"),
                        *("--output-model-type", "pydantic_v2.BaseModel"),
                        *("--output", str(project / f"{file.parent.name}.py")),
                    ],
                    project,
                )

        generate, models = interleave(
            lambda: _run([*mcpgen, "generate"], project), peer, rounds
        )
        what = "generate all versions / datamodel-codegen (pydantic, black)"
        yield share(what, generate, models, "< 1")
        check = statistics.median(
            clock(lambda: _run([*mcpgen, "check"], project)) for _ in range(rounds)
        )
        yield share(
            "check, nothing changed / datamodel-codegen", check, models, "< 0.2"
        )


def importing(rounds: int) -> Iterator[Row]:
    """A process that uses one type, against one that only imports msgspec."""
    use = "from mcpgen.protocol.v2026_07_28 import TextContent; TextContent(text='x')"
    ours, theirs = interleave(
        lambda: _run([PYTHON, "-c", use]),
        lambda: _run([PYTHON, "-c", "import msgspec"]),
        rounds,
    )
    yield share("import one type / import msgspec", ours, theirs, "<= 1.5")


def parsing(rounds: int) -> Iterator[Row]:
    """From bytes to checked types, against mcp-types, by two of its doors.

    `model_validate_json` of one public model is its quickest: it looks at fewer keys
    (no id, no jsonrpc) and coerces. `methods.parse_*` is what its SDK does with a
    message: check against the version's wire models, then build the public one.
    """
    import mcp_types
    from mcp_types import methods
    from mcpgen.protocol.v2025_11_25 import types
    from pydantic_core import from_json

    version = "2025-11-25"

    def call(data: bytes) -> object:
        frame = mcp_types.JSONRPCRequest.model_validate_json(data)
        return methods.parse_client_request(frame.method, version, frame.params)

    def result(method: str) -> Callable[[bytes], object]:
        return lambda data: methods.parse_server_result(
            method, version, from_json(data)
        )

    def row(
        what: str,
        data: bytes,
        ours: Any,
        theirs: Callable[[bytes], object],
        target: str,
    ) -> Row:
        decode = types.decode
        mine, peer = interleave(
            lambda: _repeat(lambda: decode(data, ours)),
            lambda: _repeat(lambda: theirs(data)),
            rounds,
        )
        return times_faster(what, mine / TIMES, peer / TIMES, target)

    cases = [
        (
            "tools/call request",
            CALL,
            types.CallToolRequest,
            mcp_types.CallToolRequest,
            call,
            ">= 3",
        ),
        (
            "tools/list result, 20 tools",
            TOOLS,
            types.ListToolsResult,
            mcp_types.ListToolsResult,
            result("tools/list"),
            ">= 3",
        ),
        (
            "result of 10 content blocks",
            BLOCKS,
            types.CallToolResult,
            mcp_types.CallToolResult,
            result("tools/call"),
            ">= 8",
        ),
    ]
    for what, data, ours, model, parse, target in cases:
        fastest = model.model_validate_json
        yield row(f"{what} / mcp-types model", data, ours, fastest, target)
        yield row(f"{what} / mcp-types parse", data, ours, parse, "")


CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {
            "name": "forecast",
            "arguments": {"city": "Oslo", "days": 3, "units": "metric"},
            "_meta": {"progressToken": "p-7"},
        },
    }
).encode()

TOOLS = json.dumps(
    {
        "tools": [
            {
                "name": f"tool_{i}",
                "title": f"Tool {i}",
                "description": "Looks something up and tells what it found.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "query": {"type": "string", "description": "What to look for."},
                        "limit": {"type": "integer", "minimum": 1, "default": 10},
                        "tags": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["query"],
                },
                "annotations": {"readOnlyHint": True, "title": f"Tool {i}"},
            }
            for i in range(20)
        ]
    }
).encode()

BLOCKS = json.dumps(
    {
        "content": [
            {"type": "text", "text": f"Line {i} of the answer."} for i in range(7)
        ]
        + [
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///a.txt", "name": "a"},
            {"type": "resource", "resource": {"uri": "file:///b.txt", "text": "b"}},
        ],
        "isError": False,
    }
).encode()


TIMES = 1000


def _run(command: list[str], directory: Path | None = None) -> None:
    subprocess.run(command, cwd=directory, check=True, capture_output=True)


def _repeat(work: Callable[[], object]) -> None:
    for _ in range(TIMES):
        work()
