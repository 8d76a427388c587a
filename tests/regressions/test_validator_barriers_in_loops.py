"""The validator: iterations of a loop with a barrier inside were tried all at once first, and what threads touched in
different iterations counted as conflicts in one phase: a tree of sums in shared memory was said to race.

Finding: validator | race-found | no barrier is between
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Equal, validate

SERIAL = """
@T.prim_func
def f(A: T.Buffer((2, 16), "int32"), B: T.Buffer((2,), "int32")):
    for b in range(2):
        B[b] = 0
        for i in range(16):
            B[b] = B[b] + A[b, i]
"""
TREE = """
@T.prim_func
def f(A: T.Buffer((2, 16), "int32"), B: T.Buffer((2,), "int32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            S = T.alloc_buffer((17,), "int32", scope="shared")
            S[tx] = A[bx, tx]
            T.tvm_storage_sync("shared")
            for s in range(4):
                if tx < T.shift_right({half}, s):
                    S[tx] = S[tx] + S[tx + T.shift_right(8, s)]
                {barrier}
            if tx == 0:
                B[bx] = S[0]
"""
BARRIER = 'T.tvm_storage_sync("shared")'


@pytest.mark.parametrize("fast", [True, False])
def test_a_tree_of_sums_has_no_race(*, fast: bool) -> None:
    report = validate(parse_func(SERIAL), parse_func(TREE.format(half=8, barrier=BARRIER)), fast=fast)
    assert isinstance(report.verdict, Equal), report.verdict
    assert not report.findings


@pytest.mark.parametrize("fast", [True, False])
def test_threads_that_add_too_much_meet_in_one_phase(*, fast: bool) -> None:
    report = validate(parse_func(SERIAL), parse_func(TREE.format(half=9, barrier=BARRIER)), fast=fast)
    assert report.new_races == ("after: race between threads at S: no barrier is between",)


@pytest.mark.parametrize("fast", [True, False])
def test_without_the_barrier_it_races(*, fast: bool) -> None:
    report = validate(parse_func(SERIAL), parse_func(TREE.format(half=8, barrier="pass")), fast=fast)
    assert report.new_races
