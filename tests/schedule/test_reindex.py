"""reindex: a block reads or writes a copy that is indexed by its iteration variables."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable, refused

CONV = """
@T.prim_func
def conv(A: T.Buffer((10,), "float32"), W: T.Buffer((3, 4), "float32"), C: T.Buffer((4, 8), "float32")):
    for i, o, r in T.grid(8, 4, 3):
        with T.sblock("C"):
            vi, vo, vr = T.axis.remap("SSR", [i, o, r])
            with T.init():
                C[vo, vi] = T.float32(0)
            C[vo, vi] = C[vo, vi] + A[vi + vr + vo // 4] * W[vr, vo]
"""

GUARDED = """
@T.prim_func
def f(A: T.Buffer((15,), "int32"), B: T.Buffer((15,), "int32")):
    for i, j in T.grid(4, 4):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i * 4 + j < 15)
            B[vi * 4 + vj] = A[vi * 4 + vj] + 1
"""


def test_what_is_read_may_have_several_places_in_the_copy() -> None:
    def steps(s):  # type: ignore[no-untyped-def]
        assert s.reindex("C", ("read", 0)) == "A_reindex_reindex"
        assert s.reindex("C", "W") == "W_reindex_reindex"
        assert len(s.get_loops("A_reindex_reindex")) == 2

    s = accepted(CONV, steps)
    assert s.script().split("):\n", 1)[1] == (
        '    A_reindex = T.alloc_buffer((8, 3), "float32")\n'
        "    for ax0, ax1 in T.grid(8, 3):\n"
        '        with T.sblock("A_reindex_reindex"):\n'
        "            A_reindex[ax0, ax1] = A[ax0 + ax1]\n"
        '    W_reindex = T.alloc_buffer((4, 3), "float32")\n'
        "    for ax0, ax1 in T.grid(4, 3):\n"
        '        with T.sblock("W_reindex_reindex"):\n'
        "            W_reindex[ax0, ax1] = W[ax1, ax0]\n"
        "    for i, o, r in T.grid(8, 4, 3):\n"
        '        with T.sblock("C"):\n'
        "            if r == 0:\n"
        "                C[o, i] = T.float32(0.0)\n"
        "            C[o, i] = C[o, i] + A_reindex[i, r] * W_reindex[o, r]"
    )


def test_what_is_written_is_copied_back() -> None:
    s = accepted(CONV, lambda s: s.reindex("C", ("write", 0)))
    assert s.script().split("):\n", 1)[1] == (
        '    C_reindex = T.alloc_buffer((8, 4), "float32")\n'
        "    for i, o, r in T.grid(8, 4, 3):\n"
        '        with T.sblock("C"):\n'
        "            if r == 0:\n"
        "                C_reindex[i, o] = T.float32(0.0)\n"
        "            C_reindex[i, o] = C_reindex[i, o] + A[i + r] * W[r, o]\n"
        "    for ax0, ax1 in T.grid(8, 4):\n"
        '        with T.sblock("C_reindex"):\n'
        "            C[ax1, ax0] = C_reindex[ax0, ax1]"
    )


def test_the_order_of_the_variables_is_that_in_which_the_block_came() -> None:
    """As in TVM, where ``reorder`` changes loops and not the block."""
    s = accepted(CONV, lambda s: (s.reorder("o", "i"), s.reindex("C", ("write", 0))))
    assert "C_reindex[i, o] = T.float32(0.0)" in s.script()


def test_a_condition_around_the_block_holds_for_the_copies_too() -> None:
    """TVM copies all elements: those that the block does not read, and those that it does not write."""
    s = accepted(GUARDED, lambda s: (s.reindex("B", ("read", 0)), s.reindex("B", ("write", 0))))
    assert s.script().split("):\n", 1)[1] == (
        '    A_reindex = T.alloc_buffer((4, 4), "int32")\n'
        "    for ax0, ax1 in T.grid(4, 4):\n"
        "        if ax0 * 4 + ax1 < 15:\n"
        '            with T.sblock("A_reindex_reindex"):\n'
        "                A_reindex[ax0, ax1] = A[4 * ax0 + ax1]\n"
        '    B_reindex = T.alloc_buffer((4, 4), "int32")\n'
        "    for i, j in T.grid(4, 4):\n"
        "        if i * 4 + j < 15:\n"
        '            with T.sblock("B"):\n'
        "                B_reindex[i, j] = A_reindex[i, j] + 1\n"
        "    for ax0, ax1 in T.grid(4, 4):\n"
        "        if 4 * ax0 + ax1 < 15:\n"
        '            with T.sblock("B_reindex"):\n'
        "                B[4 * ax0 + ax1] = B_reindex[ax0, ax1]"
    )


def test_a_buffer_that_is_read_and_written_is_filled_first() -> None:
    """Of such a block TVM makes a copy that it reads and writes, and copies only one way (docs/tvm-findings.md)."""
    update = """
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] + 1
"""
    s = accepted(update, lambda s: s.reindex("A", ("write", 0)))
    assert s.script().split("):\n", 1)[1] == (
        '    A_reindex = T.alloc_buffer((8,), "int32")\n'
        "    for ax0 in range(8):\n"
        '        with T.sblock("A_reindex_in"):\n'
        "            A_reindex[ax0] = A[ax0]\n"
        "    for i in range(8):\n"
        '        with T.sblock("A"):\n'
        "            A_reindex[i] = A_reindex[i] + 1\n"
        "    for ax0 in range(8):\n"
        '        with T.sblock("A_reindex"):\n'
        "            A[ax0] = A_reindex[ax0]"
    )
    not_applicable(update, lambda s: s.reindex("A", ("read", 0)), "block A writes A, too")


def test_symbolic_extents() -> None:
    text = """
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int64):
    A = T.match_buffer(a, (T.int64(4), n), "float32")
    B = T.match_buffer(b, (n, T.int64(4)), "float32")
    for i, j in T.grid(n, T.int64(4)):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""
    s = accepted(text, lambda s: s.reindex("B", "A"))
    assert "A_reindex[ax0, ax1] = A[ax1, ax0]" in s.script()


def test_a_copy_does_not_read_what_the_block_does_not() -> None:
    """TVM reads B[-1] (docs/tvm-findings.md)."""
    lazy = """
@T.prim_func
def f(B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(1 <= vi, B[vi - 1], 7)
"""
    refused(lazy, lambda s: s.reindex("C", ("read", 0)), "B[ax0 - 1]: in bounds")


def test_two_instances_that_write_one_element() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4, 4), "int32"), B: T.Buffer((7,), "int32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            B[i + j] = A[i, j]
"""
    not_applicable(text, lambda s: s.reindex("B", ("write", 0)), "the iteration does not follow from the index of B")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda s: s.reindex("C", ("read", 3)), "block C has no read buffer number 3"),
        (lambda s: s.reindex("C", "Q"), "block C does not use Q"),
        (lambda s: s.reindex("Q", "A"), "there is no block called 'Q'"),
        (lambda s: s.reindex("C", 3), "a buffer of a block is its name"),
        (lambda s: (s.blockize("r"), s.reindex(s.blocks[0], "A")), "which changes within block"),
    ],
)
def test_arguments_that_make_no_sense(step: Steps, reason: str) -> None:
    not_applicable(CONV, step, reason)


def test_several_elements_in_one_instance() -> None:
    text = CONV.replace("A[vi + vr + vo // 4]", "(A[vi + vr] + A[vi])")
    not_applicable(text, lambda s: s.reindex("C", "A"), "block C reads 2 elements of A")
