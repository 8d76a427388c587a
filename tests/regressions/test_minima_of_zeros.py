"""Of a minimum it was known that it is -0.0 only if its terms are: that is so of sums.

``min(a, b)`` takes the second of two zeros, so of -0.0 and 0.0 it is 0.0 in one order and -0.0 in the other.  What was
known held of the order of the program, and a licence to take another one broke it.
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule, ScheduleError

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((1,), "float32")):
    T.assume(A[0] == A[0])
    B[0] = T.float32({first})
    for k in range(2):
        with T.block("B"):
            B[0] = {update}
    for l in range(2, 3):
        with T.block("B2"):
            B[0] = {last}
        with T.block("C"):
            C[0] = B[0] + T.float32(0.0)
"""
TERM = "T.if_then_else({} == 1, A[0], T.float32(0.0))"


def scheduled(form: str, first: float) -> Schedule:
    """C is B + 0.0, which is never -0.0; it becomes B, if B is never -0.0; then B's terms come in another order."""
    update, last = (form.format(TERM.format(v)) for v in "kl")
    s = Schedule(PROGRAM.format(first=first, update=update, last=last))
    s.restate("C", lambda i: s.buffer("B")[0])
    s.fission("l")
    k = s.merge_loops("k", s.loops("B2")[0])
    i, j = s.split(k, factors=[2, 2])
    s.reorder(j, i, reassociate="B")
    return s


@pytest.mark.parametrize(("form", "first"), [("T.min(B[0], {})", 5.0), ("T.max(B[0], {})", -5.0)])
def test_what_is_known_of_a_minimum_holds_in_every_order(form: str, first: float) -> None:
    with pytest.raises(ScheduleError, match="reorder"):
        scheduled(form, first)


def test_a_sum_with_a_term_that_is_not_negative_zero_is_not() -> None:
    """The nearest right step."""
    assert scheduled("B[0] + {}", 5.0).theorem.reassociated
