"""Memory that threads do not share is allocated in their loops as soon as a step has brought all its uses there."""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule

HEAD = '@T.prim_func\ndef f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):\n'
DOUBLE = (
    HEAD
    + """
    for i in range(4):
        for j in range(8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
"""
)
THROUGH = (
    HEAD
    + """
    t = T.alloc_buffer((1,), "float32", scope="local")
    for i in range(4):
        for j in range(8):
            t[0] = A[i, j]
            B[i, j] = t[{index}]
"""
)


def body(s: Schedule) -> str:
    return s.script().partition("):\n")[2] + "\n"


def bound(text: str) -> Schedule:
    s = Schedule(text)
    s.bind("i", "blockIdx.x")
    s.bind("j", "threadIdx.x")
    return s


def test_bind() -> None:
    assert (
        body(bound(THROUGH.format(index=0)))
        == """\
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            t = T.alloc_buffer((1,), "float32", scope="local")
            t[0] = A[i, j]
            B[i, j] = t[0]
"""
    )


CARRIED = (
    HEAD
    + """
    t = T.alloc_buffer((1,), "float32", scope="local")
    t[0] = 0.0
    for i in range(4):
        for j in range(8):
            t[0] = t[0] + A[i, j]
            B[i, j] = t[0]
"""
)


def test_bind_of_a_loop_that_carries_it() -> None:
    with pytest.raises(Refuted, match=r"iterations? of the bound loop|uses t of scope local from outside"):
        bound(CARRIED)


def test_a_copy_waits_for_its_consumer() -> None:
    s = bound(DOUBLE)
    copy = s.cache_write("B", 0, "local")
    assert s.script().count("\n    B_local = T.alloc_buffer((4, 8)") == 1
    (note,) = s.notes
    assert note.startswith("B_local is memory that threads do not share, and is used outside of their loops")
    with pytest.raises(Refuted, match="uses B_local of scope local from outside"):
        s.prove_race_free()
    s.reverse_compute_at(copy, "j")
    assert not s.notes
    s.prove_race_free()
    assert (
        body(s)
        == """\
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            B_local = T.alloc_buffer((1, 1), "float32", scope="local")
            with T.sblock("B"):
                B_local[0, 0] = A[i, j] * T.float32(2.0)
            with T.sblock("B_local_back"):
                B[i, j] = B_local[0, 0]
"""
    )


STAGED = (
    HEAD
    + """
    t = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 8):
        with T.sblock("t"):
            t[i, j] = A[i, j] * 2.0
    for i_1, j_1 in T.grid(4, 8):
        with T.sblock("B"):
            B[i_1, j_1] = t[i_1, j_1]
    for i_2 in T.thread_binding(1, thread="blockIdx.x"):
        B[0, i_2] = B[0, i_2] + 1.0
"""
)


def test_memory_waits_that_had_its_scope_before_its_threads() -> None:
    """The scope is said first, then the loops are bound, and the consumer is moved in at the end."""
    s = Schedule(STAGED)
    s.set_scope("t", 0, "local")
    s.bind("i", "blockIdx.x")
    s.bind("j", "threadIdx.x")
    assert s.notes[0].startswith("t is memory that threads do not share")
    with pytest.raises(Refuted, match="uses t of scope local from outside"):
        s.prove_race_free()
    s.reverse_compute_at("B", "j")
    assert not s.notes
    s.prove_race_free()


def test_threads_of_others_do_not_wait() -> None:
    """As above, but all uses are in loops over threads: no later step could part them."""
    s = Schedule(STAGED.replace("t[i_1, j_1]", "t[i_1, 7 - j_1]"))
    s.set_scope("t", 0, "local")
    s.bind("i", "blockIdx.x")
    s.bind("j", "threadIdx.x")
    with pytest.raises(Refuted, match="from outside"):
        s.bind("i_1", "blockIdx.x")


def test_threads_do_not_meet_in_what_waits() -> None:
    """As long as it waits it is asked about as if it were all threads'."""
    text = DOUBLE.replace("B[vi, vj] = A[vi, vj] * 2.0", "B[vi, 0] = A[vi, 0]").replace('"SS"', '"SO"')
    s = Schedule(text)
    s.bind("i", "blockIdx.x")
    s.cache_write("B", 0, "local")
    with pytest.raises(Refuted, match="the same element of B_local"):
        s.bind("j", "threadIdx.x")


@pytest.mark.nightly
def test_the_copy_for_other_threads_is_refused() -> None:
    """Each thread reads what others stored: no step leaves it to itself."""
    s = bound(DOUBLE.replace("A[vi, vj] * 2.0", "A[vi, 7 - vj] * 2.0"))
    copy = s.cache_read("B", "A", "local")
    assert s.notes
    with pytest.raises(Refuted, match="from outside"):
        s.bind(s.get_loops(copy)[0], "blockIdx.x")


def test_loops_of_one_iteration_are_kept_if_asked_for() -> None:
    s = bound(DOUBLE)
    s.reverse_compute_at(s.cache_write("B", 0, "local"), "j", preserve_unit_loops=True)
    s.compute_at(s.cache_read("B", 0, "local"), "j", preserve_unit_loops=True)
    assert (
        body(s)
        == """\
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            A_local = T.alloc_buffer((1, 1), "float32", scope="local")
            for ax0, ax1 in T.grid(1, 1):
                with T.sblock("A_local"):
                    A_local[0, 0] = A[i, j]
            B_local = T.alloc_buffer((1, 1), "float32", scope="local")
            with T.sblock("B"):
                B_local[0, 0] = A_local[0, 0] * T.float32(2.0)
            for ax0, ax1 in T.grid(1, 1):
                with T.sblock("B_local_back"):
                    B[i, j] = B_local[0, 0]
"""
    )
