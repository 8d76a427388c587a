"""Found by random schedules: tactics at buffers with extents of int32 and int64, and loops beyond int32."""

import pytest

from verified_tir import Schedule, ScheduleError

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((4, 3), "float32"), B: T.Buffer(({0}, {1}), "int32")):
    for i, j in T.grid(4, 3):
        with T.sblock("A"):
            A[i, j] = A[i, j] + T.float32(1)
"""
LARGE = """
@T.prim_func
def main(A: T.Buffer((7,), "int32"), B: T.Buffer((9,), "int32")):
    for i in range(T.int64(7)):
        with T.sblock("first"):
            B[i] = A[i]
"""


@pytest.mark.parametrize(("first", "second"), [("4", "T.int64(5)"), ("T.int64(4)", "5"), ("4", "5")])
def test_what_is_said_of_all_elements_of_a_buffer(first: str, second: str) -> None:
    s = Schedule(PROGRAM.format(first, second))
    s.add_buffer_constraint("B", lambda i, j: i >= 3, 0, axiom=True)
    assert "T.assume(" in s.script()
    with pytest.raises(ScheduleError, match="assume"):
        s.assume(lambda i, j: s.buffer("B")[i, j].equal(1), "B")


def test_a_block_around_a_loop_beyond_int32() -> None:
    s = Schedule(LARGE)
    s.split("i", [1000000007])
    s.split("i_0", [3, None, 1000000008])
    s.blockize("i_0_0", name="all")
    assert 'with T.sblock("all")' in s.script() and "B[0:9]" in s.script()


def test_near_miss_a_loop_within_int32() -> None:
    s = Schedule(LARGE)
    s.blockize("i", name="all")
    assert "B[0:7]" in s.script()
