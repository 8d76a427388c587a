"""What was loaded before a parallel loop is loaded anew after it.

Machine code kept loaded values across a loop whose body had become a function of its own, as if that stored nothing.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, build
from verified_tir.codegen.target import Target
from verified_tir.semantics.interpreter import run

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((3,), "int32"), n: T.int32):
    T.assume(n <= 8)
    x: T.let[T.int32] = A[0]
    T.evaluate(A[1] + A[2])
    for i in T.{kind}({extent}):
        A[i] = A[i] + 1
    B[0] = A[0]
    B[1] = A[1] + A[2]
    B[2] = x
"""


@pytest.mark.parametrize("kind", ["parallel", "serial"])
@pytest.mark.parametrize("extent", ["8", "n"])
@pytest.mark.parametrize("n", [0, 1, 8])
def test_loads_after_parallel_loops(kind: str, extent: str, n: int) -> None:
    s = Schedule(PROGRAM.format(kind=kind, extent=extent))
    a, b = np.arange(8, dtype=np.int32), np.zeros(3, np.int32)
    want = run(s.func, {"A": a.copy(), "B": b.copy(), "n": n}).arrays
    build(s, Target.host(threads=2))(a, b, n)
    assert (a == want["A"]).all()
    assert b.tolist() == want["B"].tolist()
