"""A block with several reduction axes is initialised where all of them start, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir.ir.script import parse_func
from verified_tir.semantics.interpreter import run

SUMS = """
@T.prim_func
def f(A: T.Buffer((2, 3, 4), "int32"), B: T.Buffer((2,), "int32")):
    for i, j, k in T.grid(2, 3, 4):
        with T.block("sum"):
            vi, vj, vk = T.axis.remap("S{kinds}", [i, j, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vj, vk]
"""


@pytest.mark.parametrize(("kinds", "sums"), [("RR", [66, 210]), ("SR", [38, 86]), ("RS", [63, 171])])
def test_init_runs_where_all_of_them_start(kinds: str, sums: list[int]) -> None:
    """All is summed; of the last row only (``vj`` starts nothing); from the last start of ``vj`` on."""
    a = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    outcome = run(parse_func(SUMS.format(kinds=kinds)), {"A": a, "B": np.full(2, 100, np.int32)})
    assert outcome.arrays["B"].tolist() == sums
