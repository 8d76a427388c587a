"""Cases 7 and 9 (accepted by Exo) and 21 (by TVM): staging what a live alias touches, dividing a loop with
recomputation, caching what is overwritten."""

from __future__ import annotations

import numpy as np

from tests.must_reject.support import accepted, refused
from verified_tir import Schedule
from verified_tir.ir.expr import Binary, Var
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.erase import Erase
from verified_tir.schedule.moves import NewLoop, recompute
from verified_tir.schedule.session import Session


def ints(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


# -- 7: staging a buffer region while a live alias (window) reads or writes it


WINDOW = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    window = T.decl_buffer((4,), "float32", data=A.data, elem_offset={start})
    for o in range(1):
        for i in range(4):
            with T.block("A"):
                {statement}
"""


def window(start: int, statement: str) -> str:
    return WINDOW.format(start=start, statement=statement)


def test_7_a_window_that_reads_the_staged_region_is_refused() -> None:
    statement = "A[i] = B[i]\n                B[i + 4] = window[i]"
    refused(
        window(0, statement),
        lambda s: s.cache_write("A", "A"),
        "without going through A_global misses the region: no dependence between the read and the write of window",
    )
    accepted(window(4, statement), lambda s: s.cache_write("A", "A"), A=ints(8), B=ints(8) + 1)


def test_7_a_window_that_writes_the_staged_region_is_refused() -> None:
    statement = "B[i] = A[i]\n                window[3 - i] = T.float32(-1)"
    refused(window(0, statement), lambda s: s.cache_read("A", "A", loop="o"), "writes window without going through A_")
    accepted(window(4, statement), lambda s: s.cache_read("A", "A", loop="o"), A=ints(8), B=ints(8))


def test_7_a_window_that_only_reads_does_no_harm_to_a_copy_that_is_only_read() -> None:
    accepted(window(0, "B[i] = A[i] + window[3 - i]"), lambda s: s.cache_read("A", "A"), A=ints(8), B=ints(8))


# -- 9: dividing a loop with recomputation when its lower bound is not zero


SHIFTED = """
@T.prim_func
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((12,), "float32")
    for i in range(2, 12):
        with T.block("t"):
            t[i] = A[i - 2] * T.float32(2)
    for j in range(8):
        B[j] = t[j + 2] + t[j + 4]
"""


def divided(s: Schedule, start: int, tile: int = 6, end: int = 12) -> None:
    """``for i in [2, 12)`` in three tiles of six that start four apart, two elements being computed twice."""
    outer, inner = Var.fresh("i_0"), Var.fresh("i_1")
    loops = (NewLoop(outer, const(0), const(3)), NewLoop(inner, const(0), const(tile)))
    i = outer * 4 + inner + start
    again = recompute((0, 1), (0, 0, 0), loops, (Binary("lt", i, const(end)),), (i,))

    def steps(session: Session) -> None:
        session.apply(again)
        session.apply(Erase((0, 0), dead_at_end=True))

    s._do("divide", (), steps)


def test_9_tiles_that_overlap_start_where_the_loop_starts() -> None:
    s = accepted(SHIFTED, lambda s: divided(s, 2), A=ints(10), B=ints(8))
    assert "t[i_0 * 4 + i_1 + 2] = A[i_0 * 4 + i_1 + 2 - 2]" in s.script()
    refused(SHIFTED, lambda s: divided(s, 0), "the recomputed instance has run before")
    refused(SHIFTED, lambda s: divided(s, 2, end=13), "the recomputed instance has run before")
    refused(
        SHIFTED,
        lambda s: divided(s, 2, tile=3),
        "the store to t is dead: no later read sees it",
    )


def test_9_so_does_a_consumer_in_tiles() -> None:
    s = accepted(SHIFTED, lambda s: s.compute_at("t", s.split("j", [None, 4])[0]), A=ints(10), B=ints(8))
    assert "for i in range(6):" in s.script() and "t[i] = A[4 * j_0 + i] * T.float32(2.0)" in s.script()


# -- 21: cache_read of a buffer that is overwritten between the copy and its use


OVERWRITTEN = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        A[{written}] = T.float32(1)
        with T.block("B"):
            B[i] = A[i] * T.float32(2)
"""


def test_21_a_copy_of_what_is_overwritten_before_its_use_is_refused() -> None:
    refused(
        OVERWRITTEN.format(written="i"), lambda s: s.cache_read("B", "A", loop="i"), "writes A without going through A_"
    )


def test_21_a_copy_after_the_store_is_accepted() -> None:
    s = accepted(OVERWRITTEN.format(written="i"), lambda s: s.cache_read("B", "A"), A=ints(8), B=ints(8))
    assert s.script().index("A[i] = ") < s.script().index("A_global[")


def test_21_a_copy_of_what_others_overwrite_is_accepted() -> None:
    accepted(OVERWRITTEN.format(written="i + 4"), lambda s: s.cache_read("B", "A", loop="i"), A=ints(8), B=ints(8))


COPIES = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(7):
        A[i{write}] = A[i{read}] * T.float32(2)
"""


def test_21_a_copy_of_the_whole_function_s_input() -> None:
    """Each element is read before it is overwritten; or the one before it was overwritten is wanted."""
    accepted(COPIES.format(write="", read=" + 1"), lambda s: s.cache_read("A", "local"), A=ints(8), B=ints(8))
    wrong = COPIES.format(write=" + 1", read="")
    refused(wrong, lambda s: s.cache_read("A", "local"), "without going through A_local comes after its last read")
    accepted(wrong, lambda s: s.cache_write("A", "local"), A=ints(8), B=ints(8))


# -- neighbours of compute_at: an input that is overwritten, and a result that others read


MOVED = """
@T.prim_func
def f(A: T.Buffer((9,), "float32"), B: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((9,), "float32")
    for i in range(9):
        with T.block("t"):
            t[i] = A[i] * T.float32(2)
    for j in range(8):
        B[j] = t[j] + t[j + 1]
        A[{written}] = T.float32(0)
"""


def test_recomputing_from_an_overwritten_input_is_refused() -> None:
    refused(
        MOVED.format(written="j + 1"),
        lambda s: s.compute_at("t", "j"),
        "was not overwritten since: no dependence between the read and the write of A",
    )


def test_recomputing_from_an_input_that_is_overwritten_after_its_last_use_is_accepted() -> None:
    accepted(MOVED.format(written="j"), lambda s: s.compute_at("t", "j"), A=ints(9), B=ints(8))
