"""The `mcpgen` script. The commands are an extra; without it, say so."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the commands, or name the extra that brings them."""
    if sys.argv[1:2] == ["trace"]:
        from mcpgen.trace.command import quickly

        quickly(sys.argv[2:])  # which is not left again, if that is how hosts call it
    if find_spec("typer") is None:
        print(
            "mcpgen: the commands need the \"cli\" extra: pip install 'mcpgen[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    from mcpgen.cli import app

    app()


if __name__ == "__main__":
    main()
