"""`python -m tests.fidelity [COUNT]`: the full differential run over all versions.

COUNT instances of every definition; the default makes more than 100,000. Each goes
through the bindings, the two other flavours and the schema that the IR writes back.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from mcpgen.catalog import Catalog

from ..flavours import emitted, write
from .compare import Bindings, Judge, LosslessBindings, Normalised

SEED = 2026


def run(version: str, count: int) -> tuple[Counter[bool], list[str]]:
    """The verdicts met in one version, and every disagreement."""
    catalog = Catalog()
    bindings = Bindings(catalog, version)
    others: list[Judge] = [Normalised(catalog, version)]
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for flavour in ("stdlib", "pydantic"):
            files = emitted(flavour, catalog.protocol(version)[0])
            package = write(files, Path(folder))
            others.append(LosslessBindings(catalog, version, package))
        wrong = [
            str(disagreement)
            for name in bindings.oracle.definitions
            for disagreement in bindings.compare(name, count, SEED, *others)
        ]
        sys.path.remove(folder)
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
