"""Where verdicts are kept between runs, and whether.

In ``verdicts`` in the folder of the caches (:func:`verified_tir.codegen.cache.cache_folder`), unless the environment
says ``VTIR_VERDICT_CACHE=off``.
"""

from __future__ import annotations

import os
from pathlib import Path

from verified_tir.codegen.cache import cache_folder
from verified_tir.logic.verdict_store import VerdictStore

FOLDER = "verdicts"


def verdicts_folder() -> Path | None:
    """The folder; ``None`` if there is no home to keep it in."""
    folder = cache_folder()
    return None if folder is None else folder / FOLDER


def open_store() -> VerdictStore | None:
    """The store for a schedule's solver; ``None`` if verdicts are not to be kept, or cannot be."""
    if os.environ.get("VTIR_VERDICT_CACHE", "").lower() in ("off", "0", "no", "false"):
        return None
    folder = verdicts_folder()
    return None if folder is None else VerdictStore(folder)
