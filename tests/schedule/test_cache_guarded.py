"""cache_write of what is written under a condition: the rest of the buffer keeps its contents."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted
from tests.schedule.test_schedule_staging import body

GUARDED = """
@T.prim_func
def f(A: T.Buffer((3, 4, 6), "float32"), B: T.Buffer((3, 4), "float32")):
    for i, j in T.grid(3, 4):
        if 4 * i + j < 10:
            for k in range(6):
                with T.sblock("B"):
                    if k == 0:
                        B[i, j] = 0.0
                    B[i, j] = B[i, j] + A[i, j, k]
"""


def test_what_is_written_under_a_condition_is_copied_back_under_it() -> None:
    """What the condition keeps from being written is not copied in, and keeps its contents."""
    s = accepted(GUARDED, lambda s: s.cache_write("B", 0, "local", "i"))
    assert (
        body(s)
        == """\
    for i in range(3):
        B_local = T.alloc_buffer((1, 4), "float32", scope="local")
        for j in range(4):
            if 4 * i + j < 10:
                for k in range(6):
                    with T.sblock("B"):
                        if k == 0:
                            B_local[0, j] = T.float32(0.0)
                        B_local[0, j] = B_local[0, j] + A[i, j, k]
        for ax0, ax1 in T.grid(1, 4):
            if 4 * i + ax1 < 10:
                with T.sblock("B_local_back"):
                    B[i, ax1] = B_local[ax0, ax1]
"""
    )


@pytest.mark.parametrize(
    "text",
    [
        GUARDED.replace("if k == 0:", "if k == 1:"),  # the first sum begins with what was there
        GUARDED.replace("4 * i + j < 10", "A[i, j, 0] < 10.0"),  # says nothing of the element
    ],
    ids=["read first", "a condition on data"],
)
def test_old_contents_that_may_be_wanted_are_copied_in(text: str) -> None:
    s = accepted(text, lambda s: s.cache_write("B", 0, "local", "i"))
    assert 'with T.sblock("B_local"):' in body(s)
