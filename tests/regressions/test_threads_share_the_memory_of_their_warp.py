"""Threads that race in memory of scope ``warp``, allocated inside their loop, were bound all the same.

Finding: validator | validator-against-kernel | Schedule.bind
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule
from verified_tir.schedule.errors import Refuted

COPY = """
@T.prim_func
def f(A: T.Buffer((8, 4), "int32"), B: T.Buffer((8, 4), "int32")):
    for i in range(8):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2
"""


@pytest.mark.parametrize("scope", ["shared", "warp"])
def test_threads_share_the_memory_of_their_warp(scope: str) -> None:
    s = Schedule(COPY, cache=False)
    s.cache_read("B", 0, "local")
    s.compute_at("A_local", "i")
    s.set_scope("A_local", scope)
    with pytest.raises(Refuted):
        s.bind("i", "threadIdx.x")


def test_memory_of_a_warp_that_is_there_is_not_sunk_into_its_threads() -> None:
    s = Schedule(COPY, cache=False)
    s.bind("i", "threadIdx.x")
    s.cache_read("B", 0, "warp")
    with pytest.raises(Refuted):
        s.compute_at("A_warp", "i")
