"""Found by reading: a refusal of ``merge_adjacent_loops`` crashed while it was put into words.

Of two views of one block the question names that of the second loop, which does not occur in the first (StopIteration);
and the elements of a nest with a loop without known bounds were asked for (IRError).

Finding: kernel | crash | StopIteration in schedule/tactics/merge.py:_explained
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule, ScheduleError, domain_touched

VIEWS = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    V = T.decl_buffer((8,), "int32", data=A.data)
    for i in range(7):
        A[i] = B[i]
    for j in range(7):
        B[j] = V[j + 1]
"""
NO_BOUNDS = """
@T.prim_func
def main(A: T.Buffer((40,), "int32"), B: T.Buffer((40,), "int32"), P: T.Buffer((8,), "int32")):
    for i in range(5):
        for j in range(4):
            for k in range(j & 3):
                A[k + j + i % 3] = B[i]
    for i in range(5):
        for j in range(3):
            B[j] = A[j + (P[i] & 3)]
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("program", "condition"),
    [
        (VIEWS, "condition 1: what the first loop writes"),
        (NO_BOUNDS, "condition 2: what the first loop reads"),  # the other one fails, too
        (NO_BOUNDS.replace("= B[i]", "= i"), "condition 1: what the first loop writes"),
    ],
)
def test_the_refusal_says_which_condition_fails(program: str, condition: str) -> None:
    with pytest.raises(ScheduleError, match=condition):
        Schedule(program).merge_adjacent_loops()


def test_what_is_touched_by_a_loop_without_known_bounds() -> None:
    touched = domain_touched(NO_BOUNDS, "A", reads=False)
    assert not touched.exact
    assert touched.why == "the range of k has no known bounds"
    assert touched.elements({}) == {(k,) for k in range(40)}
