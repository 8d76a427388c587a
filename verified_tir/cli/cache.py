"""``vtir cache``: what is kept on disk between runs, object code and verdicts, and a way to be rid of it."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from verified_tir.codegen.cache import SUFFIX, cache_folder
from verified_tir.logic import kept
from verified_tir.schedule.verdicts import open_store, verdicts_folder


def run(*, clear: bool) -> int:
    """Say what there is, or remove it; gives the exit code: 0, or 2 if there is no home to keep anything in."""
    folder, verdicts = cache_folder(), verdicts_folder()
    if folder is None or verdicts is None:
        print("vtir: there is no home folder to keep a cache in; set VTIR_CACHE_DIR", file=sys.stderr)
        return 2
    code = _object_code(folder)
    count, size = kept.size(verdicts)
    if clear:
        removed = sum(_removed(path) for path in code)
        print(f"removed: object code of {removed} programs, {kept.clear(verdicts)} verdicts")
        return 0
    print(f"folder:      {folder}")
    print(f"object code: {len(code)} programs, {_megabytes(sum(_size(path) for path in code))}")
    off = "" if open_store().folder is not None else " (VTIR_VERDICT_CACHE is off: none are read or kept)"
    print(f"verdicts:    {count} queries, {_megabytes(size)}{off}")
    return 0


def _object_code(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in sorted(os.listdir(folder)) if name.endswith(SUFFIX)]
    except OSError:
        return []


def _removed(path: Path) -> bool:
    with contextlib.suppress(OSError):
        path.unlink()
        return True
    return False


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def _megabytes(size: int) -> str:
    return f"{size / 2**20:.1f} MB"
