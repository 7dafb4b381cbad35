"""Bringing what mcpgen owns in a project up to date, and telling what that changes."""
