"""Hypothesis strategies and assertions for programs, schedules and compilers (extra ``testing``).

What is drawn, from the small to the large:

    dtypes, numbers, scalars        data types and values, the awkward ones in good proportion
    arrays, masks                   arrays of any type and shape; which of their elements are defined
    expressions, Scope              typed expressions over some variables and buffers
    index_maps, MapKind             layouts
    prim_funcs, ALL_FEATURES        whole functions, with the features that are wanted
    modules                         functions that call each other
    arguments                       arrays and numbers for a function
    steps, plans, schedules, seeds  calls of primitives, and programs to try them on

What is asserted begins with ``assert_`` and raises ``AssertionError`` with what differs: ``assert_refines`` runs a
schedule's program before and after, ``assert_confirmed`` a refusal's counterexample.

    >>> from hypothesis import given
    >>> from verified_tir.testing import arguments, prim_funcs
    >>> @given(prim_funcs())
    ... def test_my_pass(func): ...

Whatever is drawn shrinks to something small and readable.  Guides: docs/how-to/strategies.md, test-schedules.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verified_tir.extras import missing

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError as absent:
    raise ImportError(missing("verified_tir.testing", "testing")) from absent

from verified_tir.testing.arguments import arguments
from verified_tir.testing.arrays import array_of, arrays, masks
from verified_tir.testing.dtypes import dtypes, numbers, scalars
from verified_tir.testing.expressions import Scope, expressions
from verified_tir.testing.index_maps import MapKind, index_maps
from verified_tir.testing.programs import ALL_FEATURES, Feature, modules, prim_funcs

if TYPE_CHECKING:
    from verified_tir.testing.assertions import (
        assert_certificate_rechecks,
        assert_confirmed,
        assert_refines,
        refusals_are_right,
    )
    from verified_tir.testing.scheduling import Draft, Plan, Step, plans, schedules, seeds, steps

_WHERE = {
    "Draft": "scheduling",
    "Plan": "scheduling",
    "Step": "scheduling",
    "assert_certificate_rechecks": "assertions",
    "assert_confirmed": "assertions",
    "assert_refines": "assertions",
    "plans": "scheduling",
    "refusals_are_right": "assertions",
    "schedules": "scheduling",
    "seeds": "scheduling",
    "steps": "scheduling",
}
"""What needs more of the package than strategies do is imported when it is first used."""

__all__ = [
    "ALL_FEATURES",
    "Draft",
    "Feature",
    "MapKind",
    "Plan",
    "Scope",
    "Step",
    "arguments",
    "array_of",
    "arrays",
    "assert_certificate_rechecks",
    "assert_confirmed",
    "assert_refines",
    "dtypes",
    "expressions",
    "index_maps",
    "masks",
    "modules",
    "numbers",
    "plans",
    "prim_funcs",
    "refusals_are_right",
    "scalars",
    "schedules",
    "seeds",
    "steps",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
