"""What things are called on the wire, where both sides must say the same."""

from __future__ import annotations

INITIALIZE = "initialize"
INITIALIZED = "notifications/initialized"
PING = "ping"
DISCOVER = "server/discover"
LISTEN = "subscriptions/listen"

CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
MESSAGE = "notifications/message"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
ROOTS_CHANGED = "notifications/roots/list_changed"
UPDATED = "notifications/resources/updated"
LIST_CHANGED = {
    "tools": "notifications/tools/list_changed",
    "prompts": "notifications/prompts/list_changed",
    "resources": "notifications/resources/list_changed",
}
"""What may change → the notification that says so."""

SAMPLING = "sampling/createMessage"
ELICITATION = "elicitation/create"
ROOTS = "roots/list"

MCP_NAME = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Method → the param that the header Mcp-Name repeats."""

PREFIX = "io.modelcontextprotocol/"
PROTOCOL_VERSION = PREFIX + "protocolVersion"
CLIENT_CAPABILITIES = PREFIX + "clientCapabilities"
CLIENT_INFO = PREFIX + "clientInfo"
SERVER_INFO = PREFIX + "serverInfo"
LOG_LEVEL = PREFIX + "logLevel"
SUBSCRIPTION_ID = PREFIX + "subscriptionId"
