"""What OAuth fails with."""

from __future__ import annotations


class AuthError(Exception):
    """No authorization could be had. It never holds a secret."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code
        """What OAuth calls the failure (`access_denied`, …), if it has a name there."""
