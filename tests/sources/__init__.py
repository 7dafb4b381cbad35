"""Documents that `mcpgen new --from` is given, and what it makes of each."""
