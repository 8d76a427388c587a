"""TVM folds ``0.0 * A[i]`` to ``0.0`` while it reads a program, which it would not read otherwise: ``i`` stands in a
block, where TVM allows no variables of loops around.

The net asks whether the program comes back as it was in words that are not folded, and in these it was not read at all;
so TVM's mistake was taken for one of the bridge.  A campaign found it (tvm, seed 20261222, round 2, case 13).
"""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")

from tests.fuzz.targets.tvm_checks import examine

PROGRAM = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((2,), "float32"), B: T.Buffer((), "float32")):
    for i in range(2):
        with T.sblock("b0"):
            v = T.axis.opaque(2, i)
            B[()] = {}
"""


@pytest.mark.parametrize("value", ["T.float32(0.0) * A[i]", "T.float32(0.0) / A[i]"])
def test_variables_that_tvm_folds_away(value: str) -> None:
    told = examine(PROGRAM.format(value), [], 0)
    assert told.wrong == [] and [where for where, _ in told.bugs] == ["reading"]
