"""A sum was put into another order with the user's word, and a later step inlined the local buffer that it went into.

The word names that buffer, and neither the program as it was written nor the one that is left has it. So the other bits
of the result were looked for in nothing, and a campaign took them for a wrong step.
"""

from __future__ import annotations

import numpy as np

from verified_tir import Schedule
from verified_tir.derivation.assumptions import reassociated
from verified_tir.testing.reference import Claim, disagreement

SUM = """
@T.prim_func
def f(A: T.Buffer((4, 1), "float32"), C: T.Buffer((4,), "float32"), D: T.Buffer((4,), "int32")):
    for i in range(4):
        for z in range(1):
            with T.block("first"):
                C[i] = A[3, z]
        for k, l in T.grid(3, 1):
            with T.block("sum"):
                C[i] = C[i] + A[k, l]
        D[i] = 7
"""


def summed() -> Schedule:
    """``C[i] = ((A[3] + A[0]) + A[1]) + A[2]`` becomes ``C[i] = A[3] + ((A[0] + A[1]) + A[2])``."""
    s = Schedule(SUM)
    s.cache_write("C", "local", "i")
    s.rfactor("l", reassociate="C_local")
    s.compute_at("first", s.loops("sum")[-1])
    s.reverse_compute_at("C_local_back", s.loops("sum")[-1])
    s.simplify()
    s.merge_writes("first", "sum")
    s.compute_inline("sum")
    return s


def test_other_bits_of_a_sum_are_no_disagreement() -> None:
    s = summed()
    assert reassociated(s.theorem) == ["C"] and "C_local[" not in s.script()
    a = np.array([[-1e30], [1.0], [0.0], [1e30]], np.float32)
    arguments = {"A": a, "C": np.zeros(4, np.float32), "D": np.zeros(4, np.int32)}
    claim = Claim.of(s.theorem)
    assert disagreement(claim, arguments) is None
    assert disagreement(Claim(claim.before, claim.after), arguments) == "C[0] was 1.0 and would be 0.0"


def test_what_the_sum_does_not_reach_is_compared() -> None:
    claim = Claim.of(summed().theorem)
    wrong = Schedule(SUM.replace("D[i] = 7", "D[i] = 8")).func
    other = Claim(claim.before, wrong, reassociated=claim.reassociated, between=claim.between)
    arguments = {"A": np.ones((4, 1), np.float32), "C": np.zeros(4, np.float32), "D": np.zeros(4, np.int32)}
    assert disagreement(other, arguments) == "D[0] was 7 and would be 8"
