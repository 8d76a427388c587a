"""What would make a refused step succeed is tried; it is named only if the step was proved with it."""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule, ScheduleError

SUM = """
@T.prim_func
def total(A: T.Buffer((4, 8, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k, l in T.grid(4, 8, 8):
        with T.sblock("sum"):
            v, r, s = T.axis.remap("SRR", [i, k, l])
            with T.init():
                B[v] = 0.0
            B[v] = B[v] + A[v, r, s]
"""
SCALED = """
@T.prim_func
def scaled(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((1,), "float32")
    for i in range(8):
        {first}
        B[i] = t[0]
"""
ROWS = """
@T.prim_func
def rows(A: T.Buffer((16, 14), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = 0.0
        for j in range(14):
            B[i] = B[i] + A[i, j]
"""
FILL = """
@T.prim_func
def fill(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        A[i] = 0.0
"""


def refused_by(raised: pytest.ExceptionInfo[ScheduleError]) -> str | None:
    """The remedy; the message ends with it, and advice takes its place if there is none."""
    e = raised.value
    last = str(e).splitlines()[-1]
    assert last == (e.remedy if e.remedy is not None else f"try: {e.advice}")
    return e.remedy


def test_the_order_of_a_sum() -> None:
    s = Schedule(SUM)
    with pytest.raises(Refuted) as raised:
        s.reorder("l", "k")
    assert refused_by(raised) == (
        'it would be proved with reassociate="B", your word that the sum into B may be rounded otherwise'
    )
    s.reorder("l", "k", reassociate="B")


def test_memory_of_each_iteration() -> None:
    s = Schedule(SCALED.format(first="t[0] = A[i] * 2.0"))
    with pytest.raises(Refuted) as raised:
        s.parallel("i")
    assert refused_by(raised) == 'it would be proved after sink_allocation("t")'
    assert "sink_allocation" not in s.script() and len(s.steps) == 1
    s.sink_allocation("t")
    s.parallel("i")


def test_what_is_carried_has_no_remedy() -> None:
    s = Schedule(SCALED.format(first="t[0] = T.if_then_else(i == 0, A[0], t[0] + A[i])"))
    with pytest.raises(Refuted) as raised:
        s.parallel("i")
    assert refused_by(raised) is None
    assert raised.value.advice.startswith("each iteration of i needs its own t: let it store there before it reads")


def padded(value: float) -> Schedule:
    s = Schedule(ROWS)
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=value)
    s.sequential_buffer_access("A")
    return s


def test_another_value_in_the_padding() -> None:
    with pytest.raises(Refuted) as raised:
        padded(1.0).remove_branching_through_overcompute()
    assert refused_by(raised) == "it would be proved with pad_value=0.0 in the transform_layout of A"
    padded(0.0).remove_branching_through_overcompute()


def test_a_multiple() -> None:
    s = Schedule(FILL)
    with pytest.raises(Refuted) as raised:
        s.split("i", [None, 16], disable_predication=True)
    assert refused_by(raised) == "it would be proved if the program began with T.assume(n % 16 == 0)"
    s = Schedule(FILL.replace("    for", "    T.assume(n % 16 == 0)\n    for"))
    s.split("i", [None, 16], disable_predication=True)


def test_the_schedule_may_have_gone_on_when_the_remedy_is_asked_for() -> None:
    s = Schedule(SUM)
    with pytest.raises(Refuted) as raised:
        s.reorder("l", "k")
    s.split("i", [2, 2])
    assert raised.value.remedy is not None and "reassociate" in raised.value.remedy
    assert len(s.steps) == 2
