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
    near_misses                     pairs of programs that differ in a place or two
    onnx_models                     ONNX models of random nodes, and what they are run on
    syntactic_functions, …          programs that need not mean anything, for printers and parsers

What is asserted begins with ``assert_`` and raises ``AssertionError`` with what differs: ``assert_refines`` runs a
schedule's program before and after, ``assert_confirmed`` a refusal's counterexample, ``assert_round_trip`` a text.

    >>> from hypothesis import given
    >>> from verified_tir.testing import arguments, prim_funcs
    >>> @given(prim_funcs())
    ... def test_my_pass(func): ...

Whatever is drawn shrinks to something small and readable.  Guides: docs/how-to/strategies.md, test-schedules.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from verified_tir.testing.index_maps import MapKind, index_maps
from verified_tir.testing.literals import array_of
from verified_tir.testing.near_misses import near_miss, near_misses
from verified_tir.testing.programs import ALL_FEATURES, Feature, modules, prim_funcs
from verified_tir.testing.syntax import syntactic_functions, syntactic_modules
from verified_tir.testing.trees import from_tree, tree

if TYPE_CHECKING:
    from verified_tir.testing.assertions import (
        assert_certificate_rechecks,
        assert_confirmed,
        assert_refines,
        refusals_are_right,
    )
    from verified_tir.testing.compiled import assert_compiles_alike, target_variant
    from verified_tir.testing.formulas import assert_decided_rightly
    from verified_tir.testing.index_values import assert_index_map_right, assert_simplifies_alike
    from verified_tir.testing.llvm_verdicts import assert_llvm_verdict_holds
    from verified_tir.testing.lowered import assert_lowers_alike
    from verified_tir.testing.onnx_agreement import assert_onnx_agrees
    from verified_tir.testing.onnx_case import OnnxModel, OnnxNode, small_of
    from verified_tir.testing.onnx_random import onnx_models
    from verified_tir.testing.roundtrip import assert_index_map_round_trip, assert_read_or_refused, assert_round_trip
    from verified_tir.testing.scheduling import Draft, Plan, Step, plans, schedules, seeds, steps
    from verified_tir.testing.second_opinions import assert_validator_agrees
    from verified_tir.testing.verdicts import assert_verdict_holds

_WHERE = {
    "Draft": "scheduling",
    "OnnxModel": "onnx_case",
    "OnnxNode": "onnx_case",
    "Plan": "scheduling",
    "Step": "scheduling",
    "assert_certificate_rechecks": "assertions",
    "assert_compiles_alike": "compiled",
    "assert_confirmed": "assertions",
    "assert_index_map_round_trip": "roundtrip",
    "assert_llvm_verdict_holds": "llvm_verdicts",
    "assert_lowers_alike": "lowered",
    "assert_onnx_agrees": "onnx_agreement",
    "assert_read_or_refused": "roundtrip",
    "assert_refines": "assertions",
    "assert_round_trip": "roundtrip",
    "assert_validator_agrees": "second_opinions",
    "assert_verdict_holds": "verdicts",
    "onnx_models": "onnx_random",
    "plans": "scheduling",
    "refusals_are_right": "assertions",
    "schedules": "scheduling",
    "seeds": "scheduling",
    "small_of": "onnx_case",
    "steps": "scheduling",
    "assert_decided_rightly": "formulas",
    "assert_simplifies_alike": "index_values",
    "assert_index_map_right": "index_values",
    "assert_simplified_alike": "simplified",
    "assert_touches": "simplified",
    "target_variant": "compiled",
}
"""What needs more of the package than strategies do is imported when it is first used."""

__all__ = [
    "ALL_FEATURES",
    "Draft",
    "Feature",
    "MapKind",
    "OnnxModel",
    "OnnxNode",
    "Plan",
    "Scope",
    "Step",
    "arguments",
    "array_of",
    "arrays",
    "assert_certificate_rechecks",
    "assert_compiles_alike",
    "assert_confirmed",
    "assert_decided_rightly",
    "assert_index_map_right",
    "assert_index_map_round_trip",
    "assert_llvm_verdict_holds",
    "assert_lowers_alike",
    "assert_onnx_agrees",
    "assert_read_or_refused",
    "assert_refines",
    "assert_round_trip",
    "assert_simplified_alike",
    "assert_simplifies_alike",
    "assert_touches",
    "assert_validator_agrees",
    "assert_verdict_holds",
    "dtypes",
    "expressions",
    "from_tree",
    "index_maps",
    "masks",
    "modules",
    "near_miss",
    "near_misses",
    "numbers",
    "onnx_models",
    "plans",
    "prim_funcs",
    "refusals_are_right",
    "scalars",
    "schedules",
    "seeds",
    "small_of",
    "steps",
    "syntactic_functions",
    "syntactic_modules",
    "target_variant",
    "tree",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
