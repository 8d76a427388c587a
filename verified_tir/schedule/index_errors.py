"""Moved to ``verified_tir.index.errors``."""

from verified_tir.index.errors import IndexMapError

__all__ = ["IndexMapError"]
