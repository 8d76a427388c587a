"""loop_partition: a range cut into consecutive parts."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable, refused
from verified_tir import Schedule

ROWS = """
@T.prim_func
def rows(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16, 4), "float32")):
    for i, j in T.grid(16, 4):
        with T.block("B"):
            B[i, j] = A[i, j] * T.float32(2)
"""
SYMBOLIC = """
@T.prim_func
def symbolic(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    {assumed}
    for i in range(n):
        with T.block("A"):
            A[i] = T.float32(2)
"""


def body(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1].rstrip("\n")


def test_the_rest_is_a_last_part() -> None:
    s = accepted(ROWS, lambda s: s.loop_partition("i", [2, 1]))
    assert (
        body(s)
        == """\
    for i0, j in T.grid(2, 4):
        with T.sblock("B_i0"):
            B[i0, j] = A[i0, j] * T.float32(2.0)
    for i1 in range(2, 3):
        for j in range(4):
            with T.sblock("B_i1"):
                B[i1, j] = A[i1, j] * T.float32(2.0)
    for i2 in range(3, 16):
        for j in range(4):
            with T.sblock("B_i2"):
                B[i2, j] = A[i2, j] * T.float32(2.0)"""
    )


def test_a_factor_may_be_left_open_and_parts_may_be_partitioned_again() -> None:
    s = Schedule(ROWS)
    first, last = s.loop_partition(s.loops()[0], [None, 4], preserve_unit_iters=False)
    s.loop_partition(s.get_loops("B_i1")[1], [1, 3])
    assert [v.name for v in (first, last)] == ["i0", "i1"]
    assert s.blocks == ["B_i0", "B_i1_j0", "B_i1_j1"]
    assert [v.name for v in s.get_loops("B_i1_j1")] == ["i1", "j1"]
    s.parallel(last)
    assert len(s.loop_partition("j", [4])) == 1


def test_inner_loops_keep_their_handles_in_the_first_part() -> None:
    s = Schedule(ROWS)
    i, j = s.loops()
    s.loop_partition(i, [8, 8])
    s.vectorize(j)
    assert body(s).startswith("""\
    for i0 in range(8):
        for j in T.vectorized(4):
            with T.sblock("B_i0"):
""")


def test_a_symbolic_loop_must_be_long_enough() -> None:
    steps: Steps = lambda s: s.loop_partition("i", [4, None])  # noqa: E731
    s = accepted(SYMBOLIC.format(assumed="T.assume(n >= 4)"), steps)
    assert body(s).endswith("""\
    for i0 in range(4):
        with T.sblock("A_i0"):
            A[i0] = T.float32(2.0)
    for i1 in range(4, n):
        with T.sblock("A_i1"):
            A[i1] = T.float32(2.0)""")
    refused(SYMBOLIC.format(assumed="T.assume(n >= 3)"), steps, "every new iteration is an old one")


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ([10, 7], "the parts have 17 iterations, more than the 16 of the loop"),
        ([16, None], "nothing is left for the rest"),
        ([None, None], "at most one factor may be None; there are 2"),
        ([0], "a factor is a positive integer or None, not 0"),
        ([True], "a factor is a positive integer or None, not True"),
        (["2"], "a factor is a positive integer or None, not '2'"),
        ([], "loop_partition takes a list of factors"),
        ("23", "loop_partition takes a list of factors"),
    ],
)
def test_arguments_that_make_no_sense(factors: list[int | None], words: str) -> None:
    not_applicable(ROWS, lambda s: s.loop_partition("i", factors), words)
