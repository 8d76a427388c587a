"""Machine code is made of programs that were proved to have a meaning."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import CodegenError, Schedule, build, parse_func
from verified_tir.elaborate.meaning import has_meaning
from verified_tir.kernel.theorem import reflexive

COPY = """
@T.prim_func
def copy(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range({}):
        B[i] = A[i]
"""


def test_a_theorem_about_a_program_without_meaning_is_not_compiled() -> None:
    outside = parse_func(COPY.format(5).replace("copy", "outside"))
    with pytest.raises(CodegenError, match=r"outside is not compiled: .*in bounds"):
        build(reflexive(outside))
    assert not has_meaning(outside)
    with pytest.raises(CodegenError, match="contradict each other"):
        build(reflexive(parse_func(COPY.format(4).replace("    for", "    T.assume(A[0] < A[0])\n    for"))))


def test_a_theorem_that_no_schedule_made_is_proved_then() -> None:
    f = parse_func(COPY.format(4))
    copy = build(reflexive(f))
    assert has_meaning(f)
    b = np.zeros(4, np.int32)
    copy(np.arange(4, dtype=np.int32), b)
    assert b.tolist() == [0, 1, 2, 3]


def test_blocks_are_expanded_first() -> None:
    block = COPY.format(4).replace(
        "B[i] = A[i]", 'with T.block("b"):\n            vi = T.axis.spatial(4, i)\n            B[vi] = A[vi]'
    )
    f = parse_func(block)
    with pytest.raises(CodegenError, match="its blocks are not expanded; Schedule"):
        build(reflexive(f))
    build(Schedule(f))
