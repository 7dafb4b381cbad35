"""A seeded sample of `make fidelity`: every definition, a few instances each."""

from __future__ import annotations

import pytest
from mcpgen.catalog import Catalog

from .fidelity.compare import Bindings

CATALOG = Catalog()


@pytest.mark.parametrize("version", CATALOG.names())
def test_bindings_agree_with_the_oracle(version: str) -> None:
    bindings = Bindings(CATALOG, version)
    wrong = [
        str(disagreement)
        for name in bindings.oracle.definitions
        for disagreement in bindings.compare(name, 15, seed=7)
    ]
    assert not wrong, f"{len(wrong)} disagreements:\n" + "\n".join(wrong[:20])
