"""The size that a refused step lacks: it names the symbol that must be at least 1, and was tried."""

from __future__ import annotations

import pytest

from verified_tir import NotApplicable, Refuted, Schedule

ROW_SUM = """
@T.prim_func
def row_sum(a: T.handle, b: T.handle):
    m = T.int32()
    n = T.int32()
    A = T.match_buffer(a, (m, n), "int32")
    B = T.match_buffer(b, (m,), "int32")
    {assumed}
    for i, j in T.grid(m, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vj]
"""


def test_a_sum_of_no_terms() -> None:
    with pytest.raises(Refuted) as refused:
        Schedule(ROW_SUM.format(assumed="pass")).decompose_reduction("B", "j")
    assert refused.value.confirmed
    assert refused.value.remedy == "it would be proved if the program began with T.assume(n >= 1)"
    assert refused.value.remedy in str(refused.value)
    Schedule(ROW_SUM.format(assumed="T.assume(n >= 1)")).decompose_reduction("B", "j")


def test_what_no_size_mends_has_no_such_remedy() -> None:
    s = Schedule(ROW_SUM.format(assumed="pass"))
    with pytest.raises(Refuted) as refused:
        s.parallel("j")
    assert refused.value.remedy is None
    with pytest.raises(NotApplicable) as absent:
        s.parallel("q")
    assert absent.value.remedy is None


def test_programs_without_symbols_are_not_asked_about_sizes() -> None:
    s = Schedule(ROW_SUM.format(assumed="pass").replace("m = T.int32()", "m = 4").replace("n = T.int32()", "n = 3"))
    with pytest.raises(Refuted) as refused:
        s.parallel("j")
    assert refused.value.remedy is None
