"""Where verdicts are kept between runs, and whether.

In ``verdicts`` in the folder of the caches (:func:`verified_tir.codegen.cache.cache_folder`), unless the environment
says ``VTIR_VERDICT_CACHE=off``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from verified_tir.codegen.cache import cache_folder
from verified_tir.logic.verdict_store import VerdictStore

FOLDER = "verdicts"
_OFF: ContextVar[bool] = ContextVar("verdicts_off", default=False)


def verdicts_folder() -> Path | None:
    """The folder; ``None`` if there is no home to keep it in."""
    folder = cache_folder()
    return None if folder is None else folder / FOLDER


def open_store(wanted: bool = True) -> VerdictStore:
    """The store for a schedule's solver; in memory if verdicts are not ``wanted`` to be kept, or cannot be."""
    if not wanted or _OFF.get() or os.environ.get("VTIR_VERDICT_CACHE", "").lower() in ("off", "0", "no", "false"):
        return VerdictStore()
    return VerdictStore(verdicts_folder())


@contextmanager
def without_store(wanted: bool = True) -> Iterator[None]:
    """Inside the block schedules read no verdicts of other processes and keep none, if that is wanted."""
    token = _OFF.set(wanted or _OFF.get())
    try:
        yield
    finally:
        _OFF.reset(token)
