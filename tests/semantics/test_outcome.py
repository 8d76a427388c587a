"""Refinement of outcomes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tests.semantics.programs import function
from verified_tir.ir.stmt import SKIP
from verified_tir.semantics.interpreter import ArgumentError, Difference, Outcome, refines, run


def outcome(values: list[object], dtype: object = np.float32) -> Outcome:
    """An outcome with one array A; ``None`` is undefined."""
    array = np.array([0 if v is None else v for v in values], dtype)  # type: ignore[call-overload]
    return Outcome({"A": array}, {"A": np.array([v is not None for v in values])}, (), 0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_bits_of_floats(dtype: object) -> None:
    nan = math.nan
    same = [(1.0, 1.0), (nan, nan), (-0.0, -0.0), (math.inf, math.inf), (None, 3.0), (None, None), (None, nan)]
    for before, after in same:
        assert refines(outcome([before], dtype), outcome([after], dtype)) == []
    for before, after in [(1.0, 2.0), (0.0, -0.0), (nan, 1.0), (1.0, nan), (1.0, None), (0.0, None), (nan, None)]:
        (difference,) = refines(outcome([before], dtype), outcome([after], dtype))
        assert (difference.buffer, difference.indices) == ("A", (0,))
        assert (difference.after is None) == (after is None)


def test_nans_of_other_payload_are_equal() -> None:
    odd = np.array([0x7FC00001, 0xFFC00000], np.uint32).view(np.float32)
    defined = {"A": np.ones(2, bool)}
    assert refines(Outcome({"A": odd}, defined, (), 0), outcome([math.nan, math.nan])) == []


def test_all_differences_with_their_places() -> None:
    mask = np.ones((2, 2), bool)
    before = Outcome({"A": np.array([[1, 2], [3, 4]], np.int8)}, {"A": mask}, (), 0)
    after = Outcome({"A": np.array([[1, 5], [3, 0]], np.int8)}, {"A": np.array([[True, True], [True, False]])}, (), 0)
    found = refines(before, after)
    assert found == [Difference("A", (0, 1), 2, 5), Difference("A", (1, 1), 4, None)]
    assert [str(d) for d in found] == ["A[0, 1] was 2 and would be 5", "A[1, 1] was 4 and would be undefined"]


def test_bool_and_scalar_arrays() -> None:
    assert len(refines(outcome([True, False], np.bool_), outcome([True, True], np.bool_))) == 1
    zero = Outcome({"A": np.array(1.0)}, {"A": np.array(True)}, (), 0)
    one = Outcome({"A": np.array(2.0)}, {"A": np.array(True)}, (), 0)
    assert refines(zero, zero) == [] and refines(zero, one)[0].indices == ()


def test_outcomes_that_cannot_be_compared() -> None:
    for other in (outcome([1.0, 2.0]), outcome([1.0], np.float64), run(function([], SKIP), {})):
        with pytest.raises(ArgumentError):
            refines(outcome([1.0]), other)
