"""`python -m tests.fidelity [COUNT]`: the full differential run over all versions."""

from __future__ import annotations

import sys

from mcpgen.catalog import Catalog

from .compare import Bindings


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    catalog, total, wrong = Catalog(), 0, 0
    for version in catalog.names():
        bindings, before = Bindings(catalog, version), wrong
        for name in bindings.oracle.definitions:
            for disagreement in bindings.compare(name, count, seed=2026):
                wrong += 1
                print(disagreement)
            total += count
        definitions = len(bindings.oracle.definitions)
        print(f"{version}: {definitions} definitions, {wrong - before} disagreements")
    print(f"{total} instances, {wrong} disagreements")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
