"""The validator: it marks barriers and the threads of thread blocks with attributes, and what threads exchange with a
scope of memory.  A program that had these attributes or that scope itself was believed: races went unseen.

Finding: validator | race-missed | marks of its own
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Equal, Unknown, validate

MIRRORED = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[3 - i]
"""
THREADS = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    {outside}
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        S = T.alloc_buffer((4,), "float32", scope="{scope}")
        S[tx] = A[tx]
        {between}
        B[tx] = S[3 - tx]
"""
LAST = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(4):
        B[0] = A[i]
"""
MEETING = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
    {outside}
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        {inside}
        B[0] = A[tx]
"""


@pytest.mark.parametrize("key", ["barrier", "warp", "threads of thread blocks"])
def test_an_attribute_is_no_barrier(key: str) -> None:
    after = parse_func(THREADS.format(outside="pass", scope="shared", between=f'T.attr("", "{key}", 0)'))
    report = validate(parse_func(MIRRORED), after)
    assert report.new_races == ("after: race between threads at S: no barrier is between",)


def test_a_barrier_is_one() -> None:
    between = 'T.attr("", "barrier", 0)\n        T.tvm_storage_sync("shared")'
    report = validate(parse_func(MIRRORED), parse_func(THREADS.format(outside="pass", scope="shared", between=between)))
    assert isinstance(report.verdict, Equal) and not report.new_races


@pytest.mark.parametrize("outside, inside", [("threads of thread blocks", "barrier"), ("x", "barrier"), ("x", "y")])
def test_attributes_change_nothing_about_races(outside: str, inside: str) -> None:
    marked = MEETING.format(outside=f'T.attr("", "{outside}", 0)', inside=f'T.attr("", "{inside}", 0)')
    assert validate(parse_func(LAST), parse_func(marked)).new_races == (
        "after: race between threads at B between iterations of tx",
    )


def test_the_scope_of_what_threads_exchange_is_none_of_a_program() -> None:
    after = THREADS.format(outside="pass", scope="exchange", between='T.tvm_storage_sync("shared")')
    verdict = validate(parse_func(MIRRORED), parse_func(after)).verdict
    assert isinstance(verdict, Unknown) and "exchange" in verdict.reason


def test_a_barrier_that_a_program_lacks_excuses_nothing_if_it_is_written() -> None:
    after = THREADS.format(outside="pass", scope="shared", between='T.tvm_storage_sync("missing")')
    assert validate(parse_func(MIRRORED), parse_func(after)).new_races
