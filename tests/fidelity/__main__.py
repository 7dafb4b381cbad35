"""`python -m tests.fidelity [COUNT]`: the full differential run over all versions.

COUNT instances of every definition; the default makes more than 100,000.
"""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from mcpgen.catalog import Catalog

from .compare import Bindings

SEED = 2026


def run(version: str, count: int) -> tuple[Counter[bool], list[str]]:
    """The verdicts met in one version, and every disagreement."""
    bindings = Bindings(Catalog(), version)
    wrong = [
        str(disagreement)
        for name in bindings.oracle.definitions
        for disagreement in bindings.compare(name, count, seed=SEED)
    ]
    return bindings.verdicts, wrong


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    versions = Catalog().names()
    total: Counter[bool] = Counter()
    disagreements = 0
    with ProcessPoolExecutor(2) as pool:
        results = pool.map(partial(run, count=count), versions)
        for version, (verdicts, wrong) in zip(versions, results, strict=True):
            print(*wrong, sep="\n", end="\n" if wrong else "")
            print(
                f"{version}: {verdicts[True]} valid and {verdicts[False]} invalid "
                f"instances, {len(wrong)} disagreements",
                flush=True,
            )
            total += verdicts
            disagreements += len(wrong)
    print(f"{total.total()} instances, {disagreements} disagreements")
    return 1 if disagreements else 0


if __name__ == "__main__":
    raise SystemExit(main())
