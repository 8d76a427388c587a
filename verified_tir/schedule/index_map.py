"""Moved to ``verified_tir.index.map``."""

from verified_tir.index.map import IndexMap

__all__ = ["IndexMap"]
