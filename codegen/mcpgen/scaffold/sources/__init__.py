"""What `mcpgen new --from` makes of a document: tools, as typed functions."""

from __future__ import annotations

from ...diagnostics import clip, fail
from .source import Source

__all__ = ["Source", "read"]

_EXPECTED = (
    'a tools/list document ({"tools": […]}, a response that holds one, or a bare list of '
    "tools), or an OpenAPI 3.0 or 3.1 document; as JSON or YAML"
)


def read(
    document: bytes,
    shown: str,
    *,
    package: str = "server",
    runtime: str = "._mcp.runtime",
) -> Source:
    """The modules that a document gives; CompileError when it is none that is known.

    `shown` is how diagnostics call the document. `package` is the one that the modules
    will be in, for their tests; `runtime` is where they import the runtime from.
    """
    from . import openapi, tools
    from .document import read_document

    value = read_document(document, shown)
    if isinstance(value, dict) and "openapi" in value:
        return openapi.read(value, shown, package=package, runtime=runtime)
    listed = tools.listed(value)
    if listed is not None:
        return tools.read(*listed, shown, package=package, runtime=runtime)
    if isinstance(value, dict) and "swagger" in value:
        raise fail(
            "source-unknown",
            f"Swagger {clip(str(value['swagger']), 20)} is older than OpenAPI 3",
            file=shown,
            hint="convert it to OpenAPI 3, for example with swagger2openapi",
        )
    raise fail(
        "source-unknown",
        "neither lists tools nor describes an API",
        file=shown,
        hint=f"expected: {_EXPECTED}",
    )
