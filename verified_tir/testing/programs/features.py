"""What programs may have: names of features, to be switched on and off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, cast, get_args

Feature: TypeAlias = Literal[
    "sequences", "bounds", "triangular", "guards", "data_guards", "reductions", "dtypes", "locals", "views", "matches",
    "symbols", "scalars", "blocks", "labels", "vectors", "while_loops", "lets", "asserts", "assumes", "undef",
    "attributes", "loop_kinds", "gathers", "intrinsics", "choices", "casts", "wide_loops", "textbook", "faults",
]  # fmt: skip

ALL_FEATURES: Final[frozenset[Feature]] = frozenset(get_args(Feature))
"""Every feature.  ``textbook`` alone stands for nothing but programs from textbooks."""


def checked(features: Iterable[str]) -> frozenset[Feature]:
    """The features as a set.

    :raises ValueError: for a name that is none.
    """
    found = frozenset(features)
    unknown = sorted(found - ALL_FEATURES)
    if unknown:
        raise ValueError(f"no feature is called {', '.join(unknown)}; there are {', '.join(sorted(ALL_FEATURES))}")
    return cast("frozenset[Feature]", found)
