"""Integers that are converted to floats, case by case: where an image that is resized is read."""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule
from verified_tir.logic import formula as f
from verified_tir.logic.cases import MANY
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Unknown
from verified_tir.logic.verdict import Refuted as Disproved

I, N = f.var("i", f.INT), f.var("n", f.INT)
SINGLE = "F32"


def resized(extent: int, size: int) -> str:
    return f"""
@T.prim_func
def f(A: T.Buffer(({size},), "float32"), B: T.Buffer(({extent},), "float32")):
    for i_0, i_1 in T.grid({extent // 4}, 4):
        B[i_0 * 4 + i_1] = A[T.Cast("int32", T.floor(T.Cast("float32", (i_0 * 4 + i_1) * 2) + T.float32(0.5)))]
"""


@pytest.mark.nightly
def test_a_resized_image() -> None:
    Schedule(resized(20, 39))
    with pytest.raises(Refuted, match="in bounds") as refused:
        Schedule(resized(20, 38))
    assert "i_0 = 4, i_1 = 3" in str(refused.value)
    assert refused.value.confirmed


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("extent, wanted", [(MANY, Proved), (MANY + 4, (Proved, Unknown))])
def test_the_number_of_cases(extent: int, wanted: type | tuple[type, ...]) -> None:
    goal = f.le(f.integer(0), f.make("fp.to_int", (f.make("fp.from_int", (I,), SINGLE),), f.INT))
    inside = (f.le(f.integer(0), I), f.lt(I, f.integer(extent)))
    assert isinstance(Solver().prove(inside, goal), wanted)


def test_a_case_that_is_false() -> None:
    goal = f.ne(f.make("fp.from_int", (I,), SINGLE), f.floating(SINGLE, 0x40E00000))
    inside = (f.le(f.integer(0), I), f.lt(I, f.integer(9)))
    assert isinstance(Solver().prove(inside, goal), Disproved)
    assert isinstance(Solver().prove((*inside, f.ne(I, f.integer(7))), goal), Proved)
