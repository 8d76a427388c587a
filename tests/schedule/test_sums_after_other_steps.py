"""Consumers of a sum are inlined first, as tuners do, and then its loops come in another order."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, ScheduleError
from verified_tir.semantics.interpreter import run

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), W: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")):
    sums = T.alloc_buffer((4,), "float32")
    shifted = T.alloc_buffer((4,), "float32")
    scaled = T.alloc_buffer((4,), "float32")
    for i, k, l in T.grid(4, 2, 2):
        with T.sblock("sums"):
            vi, vk, vl = T.axis.remap("SRR", [i, k, l])
            with T.init():
                sums[vi] = T.float32(0)
            sums[vi] = sums[vi] + A[vi, vk * 2 + vl]
    for i in range(4):
        with T.sblock("shifted"):
            vi = T.axis.spatial(4, i)
            shifted[vi] = sums[vi] + W[vi]
    for i in range(4):
        with T.sblock("scaled"):
            vi = T.axis.spatial(4, i)
            scaled[vi] = shifted[vi] * W[vi]
    for i in range(4):
        with T.sblock("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = T.max(scaled[vi], T.float32(0))
"""


@pytest.mark.nightly
@pytest.mark.parametrize("first", [True, False])
def test_inlining_and_reordering_come_in_either_order(*, first: bool) -> None:
    s = Schedule(PROGRAM)
    if not first:
        s.reorder("l", "k", reassociate="sums")
    s.compute_inline("scaled")
    s.compute_inline("shifted")
    if first:
        s.reorder("l", "k", reassociate="sums")
    assert "T.max((sums[i] + W[i]) * W[i], T.float32(0.0))" in s.script()
    assert [b.name for b in s.theorem.before.buffers] == ["A", "W", "D"] and len(s.theorem.reassociated) == 1
    a = np.array([[1e8, 1, -1e8, 1]] * 4, "float32")
    out = run(s.func, {"A": a, "W": np.ones(4, "float32"), "D": np.zeros(4, "float32")})
    assert out.arrays["D"].tolist() == [np.float32(np.float32(1e8 - 1e8) + np.float32(2)) + 1] * 4


SPLIT = """
@T.prim_func
def f(A: T.Buffer((4, 4), "int32"), D: T.Buffer((4,), "int32")):
    sums = T.alloc_buffer((4,), "int32")
    for i, k in T.grid(4, 4):
        with T.sblock("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                sums[vi] = 0
            sums[vi] = sums[vi] + A[vi, vk]
    {between}
    for i in range(4):
        with T.sblock("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = sums[vi] * 2
"""


def test_what_is_left_of_a_sum_after_rfactor_goes_to_its_consumer() -> None:
    s = Schedule(SPLIT.format(between="T.evaluate(0)"))
    s.split("k", [2, 2])
    s.rfactor(s.loops("sums")[1])
    s.compute_at("sums", s.loops("D")[0])
    loops = s.loops("D")
    assert len(loops) == 1 and s.loops("sums")[0] == loops[0], s.script()
    assert "sums_rf" in s.script()
    given = {"A": np.arange(16, dtype="int32").reshape(4, 4), "D": np.zeros(4, "int32")}
    assert run(s.func, given).arrays["D"].tolist() == [12, 44, 76, 108]


def test_no_sum_goes_past_an_opaque_call() -> None:
    s = Schedule(SPLIT.format(between='T.evaluate(T.call_extern("int32", "g", A.data))'))
    s.split("k", [2, 2])
    s.rfactor(s.loops("sums")[1])
    with pytest.raises(ScheduleError, match="an opaque call stands there"):
        s.compute_at("sums", s.loops("D")[0])
