"""Moved to ``verified_tir.index.evaluate``."""

from verified_tir.index.evaluate import evaluate, open_grid

__all__ = ["evaluate", "open_grid"]
