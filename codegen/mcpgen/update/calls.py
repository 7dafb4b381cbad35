"""Which protocol methods stand behind what the runtime offers to a program."""

from __future__ import annotations

from typing import Final

from ..ir import Side

CALLS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "Context": {
        "progress": ("notifications/progress",),
        "log": ("notifications/message",),
        "sample": ("sampling/createMessage",),
        "elicit": ("elicitation/create",),
        "elicit_url": ("elicitation/create",),
        "roots": ("roots/list",),
    },
    "Server": {
        "tool": ("tools/list", "tools/call"),
        "resource": ("resources/list", "resources/templates/list", "resources/read"),
        "prompt": ("prompts/list", "prompts/get"),
        "completion": ("completion/complete",),
        "resource_updated": ("notifications/resources/updated",),
    },
    "Client": {
        "call_tool": ("tools/call",),
        "list_tools": ("tools/list",),
        "tools": ("tools/list",),
        "list_resources": ("resources/list",),
        "resources": ("resources/list",),
        "list_resource_templates": ("resources/templates/list",),
        "resource_templates": ("resources/templates/list",),
        "read_resource": ("resources/read",),
        "list_prompts": ("prompts/list",),
        "prompts": ("prompts/list",),
        "get_prompt": ("prompts/get",),
        "complete": ("completion/complete",),
        "set_level": ("logging/setLevel",),
        "ping": ("ping",),
        "roots_changed": ("notifications/roots/list_changed",),
    },
}
"""Class of the runtime → its method → the protocol's."""

ASKS: Final[dict[str, str]] = {
    "Sample": "sampling/createMessage",
    "Elicit": "elicitation/create",
    "ElicitUrl": "elicitation/create",
    "Roots": "roots/list",
}
"""What a program hands to `ctx.ask`."""


def sender(kind: str, method: str) -> Side:
    """Who sends a method that stands behind a class of the runtime."""
    if kind == "Server" and not method.startswith("notifications/"):
        return "client"  # which asks; the server answers
    return "client" if kind == "Client" else "server"
