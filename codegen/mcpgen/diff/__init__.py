"""`mcpgen diff A B`: what changed between two versions, and whom it breaks."""
