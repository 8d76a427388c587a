"""``vtir verify --watch``: verify again what changes, until somebody interrupts.

Files are looked at twice a second.  That needs no package, and works on network drives and in containers.  Each time a
new process verifies, so modules are imported as they are then, and a file that ends the process does not end the watch.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

from verified_tir.cli.apart import INTERRUPTED, in_child
from verified_tir.cli.discover import Choose, Excluded, Found, find_files
from verified_tir.cli.imports import ImportGraph

_PAUSE: Final = 0.5
"""Seconds between two looks at the files."""

Run = Callable[[Choose], int]
"""Verifies the files that a function chooses, and gives the exit code."""

_Stamps = dict[Path, tuple[int, int]]
_Reached = dict[Path, frozenset[Path]]


def watch(paths: tuple[Path, ...], exclude: Excluded, run: Run) -> int:
    """Verify, wait until a file or something that it imports changes, verify that file, and so on.

    :returns: the exit code once interrupted: 0 while waiting, 130 while verifying.
    """
    try:
        reached = _reached(paths, exclude)
        stamps = _stamps(paths, exclude, reached)
        if in_child(partial(run, list), quiet=True) == INTERRUPTED:
            return INTERRUPTED
        while True:
            _say(len(reached))
            chosen: set[Path] = set()
            while not chosen:
                time.sleep(_PAUSE)
                now = _stamps(paths, exclude, reached)
                differ = {p for p in now.keys() | stamps.keys() if now.get(p) != stamps.get(p)}
                stamps = now
                if differ:
                    before, reached = reached, _reached(paths, exclude)
                    chosen = {f for f, all_ in reached.items() if differ & (all_ | before.get(f, frozenset()))}
            print(file=sys.stderr)
            if in_child(partial(run, partial(_among, chosen)), quiet=True) == INTERRUPTED:
                return INTERRUPTED
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 0


def _among(chosen: set[Path], files: list[Found]) -> list[Found]:
    return [f for f in files if f.path.resolve() in chosen]


def _say(files: int) -> None:
    what = "1 file" if files == 1 else f"{files} files"
    print(f"watching {what} and what they import; Ctrl-C ends it", file=sys.stderr, flush=True)


def _reached(paths: tuple[Path, ...], exclude: Excluded) -> _Reached:
    """The files to verify, each with all that it imports from here or from beside it."""
    files = _files(find_files(paths, exclude))
    graph = ImportGraph({*files, *_beside(files), *_files(find_files([Path.cwd()]))})
    return {file: graph.reached(file) for file in files}


def _stamps(paths: tuple[Path, ...], exclude: Excluded, reached: _Reached) -> _Stamps:
    """What tells the contents of files from others: of those to verify, of what they import, of what is beside them."""
    files = _files(find_files(paths, exclude))
    return {p: _stamp(p) for p in {*files, *_beside(files), *(p for all_ in reached.values() for p in all_)}}


def _files(found: Iterable[Found]) -> set[Path]:
    return {f.path.resolve() for f in found}


def _beside(files: set[Path]) -> set[Path]:
    return {p for folder in {f.parent for f in files} for p in folder.glob("*.py")}


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:  # gone, or being replaced
        return 0, -1
    return found.st_mtime_ns, found.st_size
