"""Reductions by bitwise operations over a padded axis: the neutral padding lets the branch go, and no other does."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Refuted, Schedule, build

ROWS = """
@T.prim_func
def rows(A: T.Buffer((3, 15), "{dtype}"), B: T.Buffer((3,), "{dtype}")):
    for i in range(3):
        B[i] = {start}
        for j in range(15):
            B[i] = B[i] {op} A[i, j]
"""
NEUTRAL = {"|": 0, "^": 0, "&": -1}


def whole_vectors(op: str, dtype: str, pad_value: int) -> Schedule:
    s = Schedule(ROWS.format(op=op, dtype=dtype, start=5))
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=pad_value)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()
    return s


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["int32", "int8"])
@pytest.mark.parametrize("op", NEUTRAL)
def test_neutral_padding(op: str, dtype: str) -> None:
    s = whole_vectors(op, dtype, NEUTRAL[op])
    assert "if" not in s.script()
    kernel = build(s)
    a = np.random.default_rng(7).integers(-100, 100, (3, 15)).astype(dtype)
    b = np.zeros(3, dtype)
    kernel(kernel.pack("A", a), b)
    ufunc = {"|": np.bitwise_or, "^": np.bitwise_xor, "&": np.bitwise_and}[op]
    assert (b == ufunc(ufunc.reduce(a, axis=1), np.asarray(5, dtype))).all()


@pytest.mark.nightly
@pytest.mark.parametrize(("op", "pad_value"), [("|", 2), ("^", 1), ("&", 0)])
def test_other_padding_is_refused(op: str, pad_value: int) -> None:
    with pytest.raises(Refuted, match="bits that are there already") as refused:
        whole_vectors(op, "int8", pad_value)
    assert refused.value.confirmed
