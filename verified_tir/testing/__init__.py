"""Hypothesis strategies and assertions for programs, schedules and compilers (extra ``testing``)."""

from __future__ import annotations

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError as missing:
    raise ImportError(
        "verified_tir.testing needs Hypothesis; install the extra: pip install 'verified_tir[testing]'"
    ) from missing

from verified_tir.testing.arguments import arguments
from verified_tir.testing.arrays import arrays, masks
from verified_tir.testing.dtypes import dtypes, numbers, scalars
from verified_tir.testing.expressions import Scope, expressions
from verified_tir.testing.programs import ALL_FEATURES, Feature, prim_funcs
from verified_tir.testing.roundtrip import assert_index_map_round_trip, assert_read_or_refused, assert_round_trip
from verified_tir.testing.syntax import syntactic_functions, syntactic_modules
from verified_tir.testing.trees import from_tree, tree

__all__ = [
    "ALL_FEATURES",
    "Feature",
    "Scope",
    "arguments",
    "arrays",
    "assert_index_map_round_trip",
    "assert_read_or_refused",
    "assert_round_trip",
    "dtypes",
    "expressions",
    "from_tree",
    "masks",
    "numbers",
    "prim_funcs",
    "scalars",
    "syntactic_functions",
    "syntactic_modules",
    "tree",
]
