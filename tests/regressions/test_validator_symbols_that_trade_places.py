"""Shape symbols were bound by their names: ``A: (m, n)`` was read as another shape of ``A: (n, m)``, of which only the
number of elements was compared."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.semantics.interpreter import run
from verified_tir.validate import Different, Equal, Unknown, validate
from verified_tir.validate.pairs import Budget, judge

FILL = """
@T.prim_func
def f(a: T.handle):
    {0} = T.int32()
    {1} = T.int32()
    A = T.match_buffer(a, ({0}, {1}), "int32")
    for i, j in T.grid({0}, {1}):
        A[i, j] = {2}
"""
FIXED = """
@T.prim_func
def f(A: T.Buffer(({0}), "int32")):
    A[{1}] = 5
"""


def fill(rows: str, columns: str, value: str) -> PrimFunc:
    return parse_func(FILL.format(rows, columns, value))


@pytest.mark.parametrize(
    ("after", "same"), [(("m", "n", "n"), False), (("m", "n", "m"), True), (("x", "y", "x"), True)]
)
def test_extents_correspond_by_position(after: tuple[str, str, str], same: bool) -> None:
    """The interpreter takes them from the argument, whatever their names."""
    programs = fill("n", "m", "n"), fill(*after)
    filled = [run(f, {"A": np.zeros((2, 3), np.int32)}).arrays["A"].tolist() for f in programs]
    assert (filled[0] == filled[1]) == same
    verdict = validate(*programs, sizes={"n": 2, "m": 3}).verdict
    assert isinstance(verdict, Equal if same else Different)
    assert judge("f", *programs, {}, Budget()).word == ("equal" if same else "unknown")


@pytest.mark.parametrize(
    ("shape", "index", "same"),
    [("3, 2", "0, 1", False), ("6,", "1", True), ("2, 3, 1", "0, 1, 0", True), ("3, 2, 1", "0, 1, 0", True)],
)
def test_another_shape_has_another_number_of_dimensions(shape: str, index: str, same: bool) -> None:
    """It is taken row by row; extents of one say nothing."""
    verdict = validate(parse_func(FIXED.format("2, 3", "0, 1")), parse_func(FIXED.format(shape, index))).verdict
    assert isinstance(verdict, Equal if same else Unknown)
    assert same or "no index map is given" in str(verdict)
