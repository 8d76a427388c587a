"""TVM prints a view of one element with a stride of -1 as ``A.view(-1)``, which nobody can read back.

The net around TVM took for granted that the program before a step can be read.  A campaign found it (tvm, seed
20261220, round 13, case 23) an hour after such views were drawn for the first time.
"""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")

from tests.fuzz.targets.tvm_checks import examine

PROGRAM = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    V = T.decl_buffer((1,), "float32", data=A.data, strides=(-1,))
    B[0] = V[0]
"""


def test_views_that_tvm_prints_without_extents() -> None:
    assert examine(PROGRAM, [], 0).wrong == []
