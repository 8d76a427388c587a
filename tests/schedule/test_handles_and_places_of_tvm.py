"""Steps were proved, but what they left was not what TVM's step of the same name leaves.

In a trace, after ``rfactor`` handles meant the loops of the partial results, so that ``unroll`` changed another one;
``reverse_compute_at`` of a copy took along what reads the copy, if the copy's buffer was allocated around both;
``fuse`` kept the kind of its loops; ``reverse_compute_inline`` took apart a nest that the producer shared.  What
iteration variables are counted by is kept in ``tests/schedule/test_declared_axes.py``, and all of it against TVM in
``tests/interop_tvm/test_handles.py``.
"""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted, agree
from verified_tir import Schedule

SUM = """
@T.prim_func
def f(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
"""
CHAIN = """
@T.prim_func
def f(P: T.Buffer((8, 6), "int32"), C: T.Buffer((8, 6), "int32"), E: T.Buffer((8, 6), "int32")):
    for i, j in T.grid(8, 6):
        with T.block("C"):
            C[i, j] = P[i, j] * 2
    for i, j in T.grid(8, 6):
        with T.block("E"):
            E[i, j] = C[i, j] - P[i, j]
"""
SHARED = """
@T.prim_func
def f(A: T.Buffer((4, 6), "int32"), B: T.Buffer((4,), "int32"), D: T.Buffer((4, 6), "int32")):
    for i in range(4):
        with T.block("B"):
            B[i] = A[i, 0]
        for j in range(6):
            with T.block("D"):
                D[i, j] = A[i, j] * 5
"""


def body(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1].rstrip("\n")


def test_the_loop_of_the_block_that_keeps_its_name() -> None:
    s = Schedule(SUM)
    s._session.handles_of_tvm = True  # as in a trace
    outer, inner = s.split("k", [None, 4])
    s.rfactor(outer)
    s.unroll(outer)
    assert 'for k_0 in T.unroll(2):\n            with T.sblock("B")' in s.script()
    agree(s)
    s.unroll(inner)  # it is summed already, and runs over the partial results alone
    assert 'for k_1 in T.unroll(4):\n            with T.sblock("B_rf")' in s.script()
    agree(s)


def test_a_copy_comes_without_what_reads_it() -> None:
    def steps(s: Schedule) -> None:
        loop = s.loops("C")[0]
        copy = s.cache_read("E", "C", "local")
        s.reverse_compute_at(copy.name, loop)

    assert (
        body(accepted(CHAIN, steps))
        == """
    C_local = T.alloc_buffer((8, 6), "int32", scope="local")
    for i in range(8):
        for j in range(6):
            with T.sblock("C"):
                C[i, j] = P[i, j] * 2
        for ax1 in range(6):
            with T.sblock("C_local"):
                C_local[i, ax1] = C[i, ax1]
    for i, j in T.grid(8, 6):
        with T.sblock("E"):
            E[i, j] = C_local[i, j] - P[i, j]""".lstrip("\n")
    )


def test_what_reads_a_copy_comes_without_it() -> None:
    """Beside it: the copy is filled before the producer then, or the step is refused."""

    def steps(s: Schedule) -> None:
        loop = s.loops("C")[0]
        s.cache_read("E", "P", "local")
        s.reverse_compute_at("E", loop)

    script = accepted(CHAIN, steps).script()

    assert script.index('"P_local")') < script.index('"C")') < script.index('"E")')


@pytest.mark.parametrize("kind", ["parallel", "unroll"])
def test_fused_loops_are_serial(kind: str) -> None:
    def steps(s: Schedule) -> None:
        i, j = s.loops("C")
        getattr(s, kind)(i)
        getattr(s, kind)(j)
        s.fuse(i, j)

    assert "for i_j_fused in range(48)" in accepted(CHAIN, steps).script()


def test_a_producer_stays_in_the_nest_that_it_shares() -> None:
    def steps(s: Schedule) -> None:
        s.cache_write("D", 0, "local")
        s.reverse_compute_inline("D_local_back")

    assert body(accepted(SHARED, steps)) == SHARED.split("):\n", 1)[1].rstrip("\n").replace("T.block", "T.sblock")
