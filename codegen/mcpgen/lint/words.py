"""What things are called on the wire, as far as the rules look at them."""

from __future__ import annotations

from typing import Final

INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
PING: Final = "ping"
DISCOVER: Final = "server/discover"
LISTEN: Final = "subscriptions/listen"

CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
MESSAGE: Final = "notifications/message"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
TOOLS_CHANGED: Final = "notifications/tools/list_changed"
UPDATED: Final = "notifications/resources/updated"

SET_LEVEL: Final = "logging/setLevel"
CALL: Final = "tools/call"
READ: Final = "resources/read"
GET_PROMPT: Final = "prompts/get"
LIST_PROMPTS: Final = "prompts/list"
LIST_TOOLS: Final = "tools/list"

PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"

RESULT_TYPES: Final = ("complete", "input_required")
"""The kinds of results that need no extension."""

MCP_NAME: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Method → the param that the header Mcp-Name repeats."""

FILTERS: Final = {
    TOOLS_CHANGED: "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
}
"""Notification → what a subscription's filter calls it."""

REDACTED: Final = "[redacted]"
"""What a recorder writes in place of a secret."""
