"""What all tests share."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One for all that mypy does here: most of its time goes into the standard library.

    Each worker has its own, so that none reads what another one is writing.
    """
    os.environ["MYPY_CACHE_DIR"] = str(tmp_path_factory.mktemp("mypy"))
