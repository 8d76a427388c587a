"""Found by a campaign: where a loop is to run was sought by inverting ``P[i]`` as if it were index arithmetic.

Finding: kernel | crash | IRError in ir/expr.py:typed
"""

import pytest

from verified_tir import IndexMap, Schedule, parse_func
from verified_tir.index.errors import IndexMapError
from verified_tir.testing import refusals_are_right

PROGRAM = """
@T.prim_func
def scatter(A: T.Buffer((4,), "float32"), P: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for p in range(4):
        T.assume(0 <= P[p] and P[p] < 4)
    for i in range(4):
        with T.block("B"):
            B[P[i]] = B[P[i]] + A[i]
"""


def test_a_place_that_is_loaded_is_refused_without_a_traceback() -> None:
    s = Schedule(PROGRAM)
    s.partition("i", 2)
    with refusals_are_right(s):
        s.compute_at(s.loops()[2], "p")


def test_a_map_that_loads_has_no_inverse() -> None:
    func = parse_func(PROGRAM)
    p = func.buffers[1]
    with pytest.raises(IndexMapError, match="loaded from memory"):
        IndexMap.from_func(lambda i: [p[i]], 1).inverse((4,))
