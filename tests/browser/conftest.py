"""A browser for the tests here, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.suite import Unavailable

from . import chromium
from .driving import Browser, browser


@pytest.fixture(scope="session")
def a_browser() -> Iterator[Browser]:
    try:
        parts = chromium.node(), chromium.playwright(), chromium.chromium()
    except Unavailable as problem:
        if chromium.is_required():
            raise
        pytest.skip(str(problem))
    with browser(*parts) as found:
        yield found
