"""What one iteration assumed, or made, was taken for what all did.

A statement that ran was looked at again with the variables as they are at the place of the question.  Inside an
induction that is another iteration of the loop around it: there the assumption was said of the other iteration's
elements, which nobody had assumed anything of.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, ScheduleError, parse_func
from verified_tir.semantics.interpreter import run

CARRIED = """
@T.prim_func
def f(A: T.Buffer((64,), "int32"), D: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((1,), "int32")
    B[0] = 0
    for i in range(16):
        if D[i] > 0:
            for j in range(4):
                {claim}
            {use}
        {left}
"""
MADE = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), D: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((1,), "int32")
    t = T.alloc_buffer((4,), "int32")
    B[0] = 0
    for i in range(16):
        for j in range(4):
            t[j] = 1 - i // 8
        if D[i] > 0:
            for j in range(4):
                T.assume(A[j] < 100 and A[j] >= t[j])
            if B[0] < 0:
                C[i] = 7
        B[0] = T.max(T.min(A[1], 100), -100) - (1 - i // 8)
"""
ASSUMED, ASSERTED = "T.assume(A[i * 4 + j] >= 0)", 'assert A[i * 4 + j] >= 0, "negative"'
BRANCH = "if B[0] < 0:\n                C[i] = 7"
LEFT = "B[0] = A[i * 4 + 1]"


def first_of_all_and_none(size: int) -> dict[str, np.ndarray]:
    """The first iteration assumes nothing, and leaves -5."""
    a, d = np.zeros(size, np.int32), np.ones(16, np.int32)
    d[0], a[1] = 0, -5
    return {"A": a, "D": d, "C": np.zeros(16, np.int32)}


@pytest.mark.parametrize("claim", [ASSUMED, ASSERTED])
def test_a_branch_on_what_another_iteration_left(claim: str) -> None:
    text = CARRIED.format(claim=claim, use=BRANCH, left=LEFT)
    s = Schedule(text)
    s.simplify()
    assert "C[i] = 7" in s.script()
    before, after = (run(f, first_of_all_and_none(64)).arrays["C"] for f in (parse_func(text), s.func))
    assert before.tolist() == after.tolist() == [0, 7, *[0] * 14]


@pytest.mark.parametrize("claim", [ASSUMED, ASSERTED])
def test_an_index_that_another_iteration_left(claim: str) -> None:
    with pytest.raises(ScheduleError, match=r"C\[-\d+\] is outside its shape \[16\]"):
        Schedule(CARRIED.format(claim=claim, use="C[T.min(B[0], 15)] = 7", left=LEFT))


@pytest.mark.parametrize("claim", [ASSUMED, ASSERTED])
def test_where_every_iteration_that_stores_has_assumed_it(claim: str) -> None:
    """The nearest right programs: the store comes behind the assumption, in the same branch."""
    s = Schedule(CARRIED.format(claim=claim, use=f"{BRANCH}\n            {LEFT}", left="pass"))
    s.simplify()
    assert "C[i] = 7" not in s.script()
    Schedule(CARRIED.format(claim=claim, use=f"C[T.min(B[0], 15)] = 7\n            {LEFT}", left="pass"))


def test_what_a_statement_stored_in_another_iteration() -> None:
    s = Schedule(MADE)
    s.simplify()
    assert "C[i] = 7" in s.script()
    given = {"A": np.zeros(4, np.int32), "D": np.zeros(16, np.int32), "C": np.zeros(16, np.int32)}
    given["D"][8] = 1
    before, after = (run(f, given).arrays["C"] for f in (parse_func(MADE), s.func))
    assert before.tolist() == after.tolist() == [*[0] * 8, 7, *[0] * 7]
