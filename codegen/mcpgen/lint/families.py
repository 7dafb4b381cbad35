"""All families of rules that follow a session, in the order in which they are told."""

from __future__ import annotations

from .capabilities import Capabilities
from .errors import Errors
from .handshake import Handshake
from .headers import Headers
from .ids import Ends
from .methods import Methods
from .progress import Cancellation, Logs, Progress
from .session import Family
from .stateless import Stateless, Subscriptions
from .structured import Structured

FAMILIES: tuple[type[Family], ...] = (
    Handshake,  # first: what initialize agrees on holds for its own result
    Methods,
    Capabilities,
    Progress,
    Cancellation,
    Logs,
    Stateless,
    Subscriptions,
    Headers,
    Structured,
    Errors,
    Ends,
)
