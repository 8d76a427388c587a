"""Found by a campaign: loops of int64 that fill a buffer which is read at indices of int32 crashed ``compute_inline``.

Finding: kernel | crash | IRError in ir/expr_core.py:__post_init__
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule, ScheduleError

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((8,), "float32")
    for i in range({0}):
        with T.sblock("t"):
            t[i] = A[i] + T.float32(1)
    for i in range({1}):
        B[i] = t[{2}]
"""


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [("T.int64(8)", "8", "A[T.Cast('int64', i)]"), ("8", "T.int64(8)", "A[T.Cast('int32', i)]"), ("8", "8", "A[i]")],
)
def test_the_reader_casts(first: str, second: str, read: str) -> None:
    s = Schedule(PROGRAM.format(first, second, "i"))
    s.compute_inline("t")
    assert f"B[i] = {read} + T.float32(1.0)".replace("'", '"') in s.script()


@pytest.mark.nightly
def test_what_was_read_must_still_be_there() -> None:
    changed = PROGRAM.replace("    for i in range({1}):", "    A[7] = T.float32(0)\n    for i in range({1}):")
    with pytest.raises(ScheduleError, match="compute_inline"):
        Schedule(changed.format("T.int64(8)", "8", "i")).compute_inline("t")


@pytest.mark.parametrize(("first", "second"), [("T.int64(8)", "8"), ("8", "T.int64(8)")])
@pytest.mark.parametrize("stored", ["i", "7 - i"])
def test_what_is_computed_again_is_counted_in_its_own_type(first: str, second: str, stored: str) -> None:
    """A second finding: ``compute_at``, by ranges and by an inverse, added indices of both types."""
    program = PROGRAM.replace("t[i] = A[i]", f"t[{stored}] = A[i]").replace(
        "for i in range({1})", "for j in range({1})"
    )
    s = Schedule(program.replace("B[i] = t[{2}]", "B[j] = t[j]").format(first, second))
    s.compute_at("t", "j")
    assert s.script().count("for ") == 1 and s.script().count("T.Cast(") >= 2


@pytest.mark.parametrize(("first", "second"), [("T.int64(8)", "8"), ("8", "T.int64(8)")])
def test_so_is_what_is_moved_behind_its_producer(first: str, second: str) -> None:
    """And a third one: ``reverse_compute_at``."""
    program = PROGRAM.replace("    for i in range({1}):", "    for j in range({1}):").replace(
        "        B[i]", "        with T.sblock('B'):\n            B[j]"
    )
    s = Schedule(program.format(first, second, "7 - j").replace("t[i] = A[i]", "t[7 - i] = A[i]"))
    s.reverse_compute_at("B", "i")
    assert 'with T.sblock("t")' in s.script().partition('with T.sblock("B")')[0]
