"""Found by a campaign: a tactic that failed carried its refusal as text.

Formulas share what occurs in them several times; written out in full, those of a loop whose iterations store what a
condition on a symbol allows were more text than there was memory (20 GB).
"""

from __future__ import annotations

import tracemalloc

from verified_tir import Schedule, parse
from verified_tir.lower.loop_partition import LoopPartition
from verified_tir.lower.passes import Pipeline

GUARDED = """
@T.prim_func
def main(A: T.Buffer((5, 3), "float64"), B: T.Buffer((5, 3), "float64"), s: T.int32):
    for i, j in T.grid(5, 3):
        with T.LetStmt(T.int32(0)) as k:
            if s > 2 and i < s:
                B[i, j] = A[k % 5, j] + T.Cast("float64", 1)
"""


def test_refusals_take_no_memory() -> None:
    tracemalloc.start()
    try:
        Pipeline(LoopPartition()).run(Schedule(parse(GUARDED)).theorem)
        assert tracemalloc.get_traced_memory()[1] < 200_000_000
    finally:
        tracemalloc.stop()
