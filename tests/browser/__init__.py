"""Pages that mcpgen makes, in a real browser."""
