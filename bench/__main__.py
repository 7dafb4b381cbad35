"""`python -m bench [PART …] [--quick]`: a table of ratios, each against a named peer.

Ours and the peer are measured in turns in the same run and medians compared, because
the machine may be shared. Nothing here fails on a slow day; the target column says what
each ratio is meant to be, and what missed it is marked.
"""

from __future__ import annotations

import argparse
import compileall
from itertools import chain
from pathlib import Path

from . import clients, compiler, linting, scaffold, servers, table

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    "compiler": compiler.rows,
    "servers": servers.rows,
    "clients": clients.rows,
    "scaffold": scaffold.rows,
    "linting": linting.rows,
}


def main() -> None:
    """Measure the chosen parts, or all, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("part", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="a rough look, sooner")
    options = parser.parse_args()
    if unknown := set(options.part) - set(PARTS):
        parser.error(f"there is no part {', '.join(unknown)}; only {', '.join(PARTS)}")
    chosen = options.part or list(PARTS)
    for source in ("codegen", "runtime", "generated"):
        # As pip does for what it installs, and as the peers are.
        compileall.compile_dir(ROOT / source, quiet=1)
    table.show(chain.from_iterable(PARTS[part](options.quick) for part in chosen))


if __name__ == "__main__":
    main()
