"""A block stored to an element that it does not declare, at an index that it had stored itself.

Found by mutation: that its loads are looked up in the memory which it finds, and in no later one, could be changed, and
no test noticed.  What it stores on its way decided where it goes, and was not looked at.
"""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule

TEXT = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), X: T.Buffer((2,), "int32")):
    X[0] = 0
    with T.block("b"):
        v = T.axis.spatial(1, 0)
        T.{claim}
        {store} = 5
        B[X[0]] = A[X[0]]
"""


@pytest.mark.parametrize("claim", ["writes(B[0], X[0:2])", "reads(A[0], X[0:2])"])
def test_claims_of_blocks_that_move_their_own_indices(claim: str) -> None:
    with pytest.raises(Refuted, match="only what it declares"):
        Schedule(TEXT.format(claim=claim, store="X[0]"))
    Schedule(TEXT.format(claim=claim.replace("X[0:2]", "A[0:8], X[0:2]") if "writes" in claim else claim, store="A[0]"))
