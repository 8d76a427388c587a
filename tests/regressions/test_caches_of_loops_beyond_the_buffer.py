"""A loop that runs far beyond a buffer, by a guard: its cache took as many elements as the loop has iterations, more
than the interpreter has memory for, and the net took that for a difference (found by ``vtir fuzz``)."""

from __future__ import annotations

import numpy as np

from verified_tir import Schedule
from verified_tir.testing.reference import Claim, disagreement

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] * T.float32(2.0)
"""
LARGE = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    t = T.alloc_buffer((1000000007,), "float32")
    for i in range(4):
        t[i] = A[i]
        B[i] = t[i] * T.float32({})
"""
ARGUMENTS = {name: np.array([2.0, 1.0, 0.0, -2.0], "float32") for name in "AB"}


def test_a_cache_is_no_larger_than_its_buffer() -> None:
    s = Schedule(PROGRAM)
    s.split("i", [1000000007])
    s.cache_read("A", "local")
    assert 'A_local = T.alloc_buffer((4,), "float32", scope="local")' in s.script()


def test_memory_that_the_interpreter_does_not_have_shows_nothing() -> None:
    small, large = Schedule(PROGRAM).func, Schedule(LARGE.format("2.0")).func
    assert disagreement(Claim(small, large), ARGUMENTS) is None
    assert disagreement(Claim(large, small), ARGUMENTS) is None
    other = Schedule(PROGRAM.replace("2.0", "3.0")).func
    assert disagreement(Claim(small, other), ARGUMENTS) is not None
