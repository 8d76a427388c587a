"""An integer 0 that a comparison of floats chooses is not a zero of floats.

Where zeros with two signs may be chosen was asked of every choice, and the bits of 0.0 as an int8 ended compilation
with a ``KeyError``.  A campaign found it (codegen, seed 20261218, round 14, case 8) an hour after it was written.
"""

from __future__ import annotations

import numpy as np

from tests.parts.compiled import assert_compiles_alike
from verified_tir import parse_func

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((1,), "float64"), B: T.Buffer((1,), "int8"), C: T.Buffer((1,), "int8")):
    A[0] = T.float64(0.0)
    C[0] = B[0]
    V = T.decl_buffer((1,), "int8", data=B.data)
    if A[0] < T.float64(0.0):
        V[0] = T.int8(0)
"""


def test_integers_chosen_by_floats() -> None:
    one = {"A": np.ones(1), "B": np.ones(1, np.int8), "C": np.ones(1, np.int8)}
    assert assert_compiles_alike(parse_func(PROGRAM), [one]) == 1
