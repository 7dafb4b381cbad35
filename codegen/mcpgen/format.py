"""Text in black's style, the same as black would give, in a third of the time.

Black works on one file at a time, and most of the time of a `generate` went there. Two
facts make it quicker. Two blank lines at the left margin end everything black looks at,
so that a module can be formatted block by block; and versions of a protocol have much
in common, so that many blocks recur and need formatting once. The blocks are then
spread over processes.

Where a gap does not end everything (it is inside a string, or between a decorator and
its class), a block does not parse alone, and the file is formatted as a whole.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .diagnostics import CompileError, Diagnostic, clip

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

_GAP = re.compile(r"\n{3,}(?=\S)")
_WHOLE = re.compile(r"[\r\f]|\\$|#\s*(?:fmt|yapf)\s*:", re.MULTILINE)
"""What reaches across a gap: line endings, form feeds, continuations, directives."""
_IMPORT = re.compile(r"(?:^|;[ \t]*)(?:import|from)\b", re.MULTILINE)
"""A block that may end with an import; one too many does no harm."""
_STRING_FIRST = re.compile(r"(?:#.*\n|\n)*[A-Za-z]{0,2}[\"']")
"""A docstring if it is the module's first statement, and a mere string elsewhere."""
_BATCH = 16_000
"""Characters that a process takes at a time: small, so that all end together."""


@dataclass(frozen=True)
class _Formatted:
    text: str
    error: str = ""


def format_files(raw: dict[str, str]) -> dict[str, str]:
    """Every Python file of `raw` as black leaves it, other files as they are."""
    modules = {p: text for p, text in sorted(raw.items()) if p.endswith(".py")}
    blocks = {path: split(text) for path, text in modules.items()}
    done = _format_each(block for parts in blocks.values() for block in parts)
    failed = [
        path for path, parts in blocks.items() if any(done[b].error for b in parts)
    ]
    # Split where it could not be, or really not Python: the whole file tells.
    blocks |= {path: [modules[path]] for path in failed}
    done |= _format_each(modules[path] for path in failed)
    problems = [
        Diagnostic(
            "internal-syntax",
            f"the generated text is not Python: {clip(done[modules[path]].error)}",
            path,
            hint="this is a mistake in mcpgen or its templates; please report it",
        )
        for path in failed
        if done[modules[path]].error
    ]
    if problems:
        raise CompileError(problems)
    formatted = {
        path: join(done[block].text for block in parts)
        for path, parts in blocks.items()
    }
    return {path: formatted.get(path, raw[path]) for path in sorted(raw)}


def split(text: str) -> list[str]:
    """The blocks of a module; a single one where splitting might change the outcome."""
    blocks: list[str] = []
    imports = False
    for block in _GAP.split(text.strip("\n")):
        if imports:
            # Black closes the gap after an import, so it has to see both sides.
            blocks[-1] += f"\n\n{block}\n"
        else:
            blocks.append(f"{block}\n")
        imports = bool(_IMPORT.search(block))
    if (
        _WHOLE.search(text)
        or any(_STRING_FIRST.match(block) for block in blocks[1:])
        or _is_docstring(blocks[0])
    ):
        return [text]
    return blocks


def join(blocks: Iterable[str]) -> str:
    """Formatted blocks as one module, with the gaps that black puts."""
    return "\n\n".join(blocks)


def _is_docstring(block: str) -> bool:
    """Nothing but a docstring: black closes the gap after it to one line."""
    if not _STRING_FIRST.match(block):
        return False
    try:
        return len(ast.parse(block).body) == 1
    except (SyntaxError, ValueError):
        return False


# --- processes ----------------------------------------------------------------------


_known: dict[str, _Formatted] = {}
"""What this process has formatted: several trees of one command share most blocks."""


def _format_each(texts: Iterable[str]) -> dict[str, _Formatted]:
    wanted = set(texts)
    batches = list(_batches(wanted - _known.keys()))
    jobs = min(_jobs(), len(batches))
    # Beside other threads a fork is not safe.
    alone = jobs < 2 or threading.active_count() > 1
    results = map(_format_batch, batches) if alone else _spread(batches, jobs)
    for batch, result in zip(batches, results, strict=True):
        _known.update(zip(batch, result, strict=True))
    return {text: _known[text] for text in wanted}


def _spread(batches: list[list[str]], jobs: int) -> Iterable[list[_Formatted]]:
    # Imported here: `check` comes through this module, and rarely needs processes.
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    try:
        with ProcessPoolExecutor(jobs, _context(), _end_with_parent) as pool:
            return list(pool.map(_format_batch, batches))
    except (BrokenProcessPool, OSError):
        # No processes to be had here; alone it only takes longer.
        return map(_format_batch, batches)


def _batches(texts: set[str]) -> Iterator[list[str]]:
    # The largest first: a small one at the end leaves no process waiting for long.
    batch: list[str] = []
    size = 0
    for text in sorted(texts, key=lambda text: (-len(text), text)):
        batch.append(text)
        size += len(text)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _jobs() -> int:
    asked = os.environ.get("MCPGEN_JOBS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return min(4, os.cpu_count() or 1)


def _context() -> BaseContext:
    """Fork where the system is made for it: that hands on the imported black."""
    from multiprocessing import get_context

    if sys.platform != "linux":
        return get_context("spawn")
    import black  # noqa: F401

    return get_context("fork")


def _end_with_parent() -> None:
    """Watch the process that started this one: if it is killed, nobody else ends us."""
    from multiprocessing import parent_process

    parent = parent_process()

    def watch() -> None:
        if parent:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _format_batch(batch: list[str]) -> list[_Formatted]:
    """Run in a process of the pool, so it must be importable by name."""
    import black
    from black.mode import TargetVersion
    from black.parsing import InvalidInput

    mode = black.Mode(target_versions={TargetVersion.PY311})
    done = []
    for text in batch:
        try:
            done.append(_Formatted(black.format_str(text, mode=mode)))
        except InvalidInput as error:
            done.append(_Formatted("", str(error)))
    return done
