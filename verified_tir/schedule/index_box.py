"""Moved to ``verified_tir.index.box``."""

from verified_tir.index.box import proves

__all__ = ["proves"]
