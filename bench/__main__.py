"""`python -m bench`: a table of ratios, each against a peer timed in the same run.

Rounds are interleaved (ours, theirs, ours, theirs …) and medians compared, because the
machine may be shared. Nothing here fails on a slow day; the target column says what
each ratio is meant to be.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable


def main() -> None:
    """Measure everything and print the table."""
    rows = [*compiler(), *imports(), *parsing()]
    print(f"{'what':<58}{'ours':>11}{'peer':>11}{'ratio':>8}  target")
    for what, ours, theirs, ratio, target in rows:
        print(f"{what:<58}{_time(ours):>11}{_time(theirs):>11}{ratio:>8.2f}  {target}")


Row = tuple[str, float, float, float, str]


def compiler() -> list[Row]:
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

        generate, models = _interleave(
            lambda: _run([*mcpgen, "generate"], project), peer, rounds=3
        )
        check = _median(lambda: _run([*mcpgen, "check"], project), rounds=3)
    return [
        (
            "generate all versions / datamodel-codegen (pydantic, black)",
            generate,
            models,
            generate / models,
            "< 1",
        ),
        (
            "check, nothing changed / datamodel-codegen",
            check,
            models,
            check / models,
            "< 0.2",
        ),
    ]


def imports() -> list[Row]:
    """A process that uses one type, against one that only imports msgspec."""
    use = "from mcpgen.protocol.v2026_07_28 import TextContent; TextContent(text='x')"
    ours, theirs = _interleave(
        lambda: _run([PYTHON, "-c", use]),
        lambda: _run([PYTHON, "-c", "import msgspec"]),
        rounds=15,
    )
    return [("import one type / import msgspec", ours, theirs, ours / theirs, "<= 1.5")]


def parsing() -> list[Row]:
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
        mine, peer = _interleave(
            lambda: _repeat(lambda: decode(data, ours)),
            lambda: _repeat(lambda: theirs(data)),
            rounds=9,
        )
        return (what, mine / 1000, peer / 1000, peer / mine, target)

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
    rows = []
    for what, data, ours, model, parse, target in cases:
        rows.append(
            row(
                f"{what} / mcp-types model",
                data,
                ours,
                model.model_validate_json,
                target,
            )
        )
        rows.append(row(f"{what} / mcp-types parse", data, ours, parse, ""))
    return rows


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


def _run(command: list[str], directory: Path | None = None) -> None:
    subprocess.run(command, cwd=directory, check=True, capture_output=True)


def _repeat(work: Callable[[], object], times: int = 1000) -> None:
    for _ in range(times):
        work()


def _clock(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _median(work: Callable[[], object], rounds: int) -> float:
    return statistics.median(_clock(work) for _ in range(rounds))


def _interleave(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Median seconds of each, taken in turns after one warm-up."""
    ours(), theirs()
    pairs = [(_clock(ours), _clock(theirs)) for _ in range(rounds)]
    return statistics.median(p[0] for p in pairs), statistics.median(
        p[1] for p in pairs
    )


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.0f} ms"


if __name__ == "__main__":
    main()
