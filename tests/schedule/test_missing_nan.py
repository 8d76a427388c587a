"""A maximum over padding of minus infinity with the accumulator first: what is missing is that there is no NaN."""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Load

ROWS = """
@T.prim_func
def rows(A: T.Buffer((4, 14), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.float32("{start}")
        for j in range(14):
            B[i] = T.{op}(B[i], A[i, j])
"""
NO_NAN = "T.assume(A[i0, i1] == A[i0, i1]) for all elements (A: no NaN)"


def padded(op: str, tile: int) -> Schedule:
    start = "-inf" if op == "max" else "inf"
    s = Schedule(ROWS.format(start=start, op=op))
    layout = IndexMap.from_func(lambda i, j: [i, j // tile, j % tile], 2)
    s.transform_layout("A", layout, pad_value=float(start))
    s.sequential_buffer_access("A")
    return s


@pytest.mark.nightly
@pytest.mark.parametrize(("op", "tile"), [("max", 4), ("min", 8)])
def test_the_assumption_is_named(op: str, tile: int) -> None:
    with pytest.raises(Refuted) as refused:
        padded(op, tile).remove_branching_through_overcompute()
    assert refused.value.confirmed and "nan before" in str(refused.value)
    assert refused.value.remedy == f"it would be proved if the program began with {NO_NAN}"


@pytest.mark.parametrize(("op", "tile"), [("max", 4), ("min", 8)])
def test_it_may_be_said_after_the_layout_changed(op: str, tile: int) -> None:
    s = padded(op, tile)
    a = s.buffer("A")
    s.assume(lambda *x: Load(a, x).equal(Load(a, x)), "A", axiom=True)
    assert s.remove_branching_through_overcompute() == 1
    assert "if" not in s.script().replace("prim_func", "")


def test_of_another_buffer_it_does_not_help() -> None:
    s = padded("max", 4)
    b = s.buffer("B")
    s.assume(lambda i: Load(b, (i,)).equal(Load(b, (i,))), "B", axiom=True)
    with pytest.raises(Refuted):
        s.remove_branching_through_overcompute()
