"""Moved to ``verified_tir.index.parse``."""

from verified_tir.index.parse import parse_index_map

__all__ = ["parse_index_map"]
