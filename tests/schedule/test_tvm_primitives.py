"""TVM's primitives that are made of others: reindex, transform_block_layout, loop_partition, merge, storage_align …"""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted, not_applicable, refused
from tests.schedule.test_overcompute import body, buffers, text
from verified_tir import NotApplicable, Refuted, Schedule
from verified_tir.ir.stmt import Block
from verified_tir.ir.visit import nodes_of

MATMUL = text(
    buffers(A="8x4 int32", B="4x6 int32", C="8x6 int32"),
    """
for i, j, k in T.grid(8, 6, 4):
    with T.block("update"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = 0
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
)
CONV = text(
    buffers(A="10 int32", W="3 int32", C="8 int32"),
    """
for i, r in T.grid(8, 3):
    with T.block("conv"):
        C[i] = C[i] + A[i + r] * W[r]
""",
)
TRANSPOSE = text(
    buffers(A="8x4 int32", C="4x8 int32"),
    """
for i, j in T.grid(8, 4):
    with T.block("copy"):
        C[j, i] = A[i, j]
""",
)


# -- reindex -----------------------------------------------------------------------------------------------------------


def test_what_is_read_is_copied_for_each_combination_of_its_loops() -> None:
    s = accepted(CONV, lambda s: s.reindex("conv", ("read", 1)))
    assert body(s).endswith(
        'A_reindex = T.alloc_buffer((8, 3), "int32")\n'
        "for ax0, ax1 in T.grid(8, 3):\n"
        '    with T.sblock("A_reindex"):\n'
        "        A_reindex[ax0, ax1] = A[ax0 + ax1]\n"
        "for i, r in T.grid(8, 3):\n"
        '    with T.sblock("conv"):\n'
        "        C[i] = C[i] + A_reindex[i, r] * W[r]"
    )


def test_loops_that_the_indices_do_not_mention_count_not() -> None:
    s = accepted(MATMUL, lambda s: s.reindex("update", ("read", 1)))
    assert "for ax0, ax1 in T.grid(6, 4):" in body(s)  # in the order of the loops, j before k
    assert "B_reindex[ax0, ax1] = B[ax1, ax0]" in body(s)
    assert "A[i, k] * B_reindex[j, k]" in body(s)


def test_what_is_written_is_copied_back_in_the_order_of_the_loops() -> None:
    s = accepted(TRANSPOSE, lambda s: s.reindex("copy", ("write", 0)))
    assert 'C_reindex = T.alloc_buffer((8, 4), "int32")' in body(s)
    assert "C_reindex[i, j] = A[i, j]" in body(s)
    assert Schedule(TRANSPOSE).reindex("copy", "C").name == "C_reindex"  # by its name


def test_a_buffer_that_the_nest_changes_is_not_copied_before_it() -> None:
    scan = text(buffers(A="9 int32"), "for i in range(8):\n    with T.block('scan'):\n        A[i + 1] = A[i] + 1")
    refused(scan, lambda s: s.reindex("scan", ("read", 0)), "A_reindex[i] equals A[i]")


def test_a_copy_under_a_guard_has_the_guard() -> None:
    guarded = text(
        buffers(A="6 int32", C="8 int32"),
        "for i in range(8):\n    with T.block('copy'):\n        v = T.axis.spatial(8, i)\n        T.where(i < 6)\n"
        "        C[v] = A[v]",
    )
    s = accepted(guarded, lambda s: s.reindex("copy", ("read", 0)))
    assert body(s).count("if ") == 2


def test_several_indices_and_sums_of_loops_are_not_reindexed() -> None:
    stencil = text(
        buffers(A="9 int32", C="9 int32"), "for i in range(8):\n    with T.block('s'):\n        C[i] = A[i] + A[i + 1]"
    )
    not_applicable(stencil, lambda s: s.reindex("s", ("read", 0)), "by 2 different indices")
    skewed = text(
        buffers(A="12 int32", C="12 int32"),
        "for i, j in T.grid(3, 4):\n    with T.block('s'):\n        C[i * 4 + j] = A[i * 4 + j]",
    )
    not_applicable(skewed, lambda s: s.reindex("s", ("write", 0)), "each index to be one loop")
    not_applicable(CONV, lambda s: s.reindex("conv", ("read", 7)), "no read buffer number 7")


# -- transform_block_layout --------------------------------------------------------------------------------------------


def test_loops_run_over_the_image_of_a_map() -> None:
    s = accepted(TRANSPOSE, lambda s: s.transform_block_layout("copy", lambda i, j: (i * 4 + j,)))
    assert "for axis0 in range(32):" in body(s)
    assert "C[axis0 % 4, axis0 // 4] = A[axis0 // 4, axis0 % 4]" in body(s)
    again = accepted(TRANSPOSE, lambda s: s.transform_block_layout("copy", lambda i, j: (j, i // 2, i % 2)))
    assert "T.grid(4, 4, 2)" in body(again)


def test_holes_of_the_image_get_a_guard() -> None:
    s = accepted(TRANSPOSE, lambda s: s.transform_block_layout("copy", lambda i, j: (i // 3, i % 3, j)))
    assert "T.grid(3, 3, 4)" in body(s) and "if " in body(s)


def test_a_map_that_loses_an_instance_or_an_order_is_refused() -> None:
    not_applicable(TRANSPOSE, lambda s: s.transform_block_layout("copy", lambda i, j: (i,)), "the map sends both")
    scan = text(buffers(A="9 int32"), "for i in range(8):\n    with T.block('scan'):\n        A[i + 1] = A[i] + 1")
    with pytest.raises(Exception, match="refused"):
        Schedule(scan).transform_block_layout("scan", lambda i: (7 - i,))
    not_applicable("relu_1d", lambda s: s.transform_block_layout("nobody", lambda i: i), "no block called 'nobody'")


# -- loop_partition, merge, add_unit_loop ------------------------------------------------------------------------------


def ranges(s: Schedule) -> list[str]:
    return [line.strip() for line in body(s).splitlines() if line.startswith("for ")]


def test_a_range_is_cut_into_parts_and_what_is_left() -> None:
    copy = text(buffers(A="10 int32", B="10 int32"), "for i in range(10):\n    with T.block('b'):\n        B[i] = A[i]")
    s = accepted(copy, lambda s: s.loop_partition("i", [2, 3]))
    assert [line.partition(" in ")[2] for line in ranges(s)] == ["range(2):", "range(2, 5):", "range(5, 10):"]
    t = accepted(copy, lambda s: s.loop_partition("i", [2, None, 3]))
    assert [line.partition(" in ")[2] for line in ranges(t)] == ["range(2):", "range(2, 7):", "range(7, 10):"]
    assert len(Schedule(copy).loop_partition("i", [4, 6])) == 2
    for factors in ([11], [None, None], [0, 4], [5, None, 5], ["x"]):
        not_applicable(copy, lambda s, f=factors: s.loop_partition("i", f), "")  # type: ignore[misc]


def test_loops_in_a_row_become_one() -> None:
    three = text(
        buffers(A="4 int32", B="4 int32", C="4 int32"),
        "".join(
            f"for {v} in range(4):\n    {b}[{v}] = {k}\n" for k, (v, b) in enumerate(zip("ijk", "ABC", strict=True))
        ),
    )
    s = accepted(three, lambda s: s.merge("i", "j", "k"))
    assert len(ranges(s)) == 1
    not_applicable(three, lambda s: s.merge("i"), "two loops or more")


def test_a_loop_of_one_iteration_around_a_block() -> None:
    s = accepted(TRANSPOSE, lambda s: s.add_unit_loop("copy"))
    assert "T.grid(8, 4, 1)" in body(s)
    t = accepted(TRANSPOSE, lambda s: s.add_unit_loop("i"))
    assert "T.grid(1, 8, 4)" in body(t)


# -- notes for memory --------------------------------------------------------------------------------------------------


def test_an_alignment_is_a_note_of_the_block() -> None:
    s = Schedule(TRANSPOSE)
    s.cache_write("copy", 0, "shared")
    for axis, factor in ((0, 16), (-1, 4), (0, 32)):
        s.storage_align("copy", 0, axis, factor, 8)
    (note,) = [dict(b.annotations)["buffer_dim_align"] for b in nodes_of(s.func.body, Block) if b.name == "copy"]
    assert note == ((0, 1, 4, 8), (0, 0, 32, 8))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((0, 5, 16, 8), "no dimension 5"), ((0, 0, 0, 8), "a factor is positive"), ((3, 0, 16, 8), "no write buffer")],
)
def test_an_alignment_of_nothing_is_refused(arguments: tuple[int, int, int, int], words: str) -> None:
    def steps(s: Schedule) -> None:
        s.cache_write("copy", 0, "shared")
        s.storage_align("copy", *arguments)

    not_applicable(TRANSPOSE, steps, words)
    with pytest.raises(NotApplicable, match="is a parameter"):
        Schedule(TRANSPOSE).storage_align("copy", 0, 0, 16, 8)


# -- TVM's names of parameters -----------------------------------------------------------------------------------------


def test_parameters_go_by_tvm_names_too() -> None:
    s = Schedule(TRANSPOSE)
    s.cache_read("copy", read_buffer_index=0, storage_scope="global")
    s.cache_write(block="copy", write_buffer_index=0, storage_scope="global")
    s.split("i", factors=[2, None], preserve_unit_iters=True, disable_predication=True)
    s.annotate("copy", "k", [1, ["a", 2.0]])
    assert dict(next(b for b in nodes_of(s.func.body, Block) if b.name == "copy").annotations)["k"] == (1, ("a", 2.0))
    with pytest.raises(TypeError, match="which are one parameter"):
        s.bind("j", thread="threadIdx.x", thread_axis="threadIdx.y")
    s.bind("j", thread_axis="threadIdx.x")
    with pytest.raises(TypeError, match="index is -1"):
        s.compute_at("copy", "j", index=0)


def test_without_a_predicate_the_factors_divide_the_range() -> None:
    refused(TRANSPOSE, lambda s: s.split("i", [None, 3], disable_predication=True), "every new iteration is an old one")
    accepted(TRANSPOSE, lambda s: s.split("i", [None, 4], disable_predication=True))


def test_one_loop_is_fused_and_ordered_as_it_is() -> None:
    s = Schedule(TRANSPOSE)
    i, j = s.loops()
    assert s.fuse(i) is i
    s.reorder("j")
    assert s.loops() == [i, j] and s.script() == Schedule(TRANSPOSE).script()


PARTS = text(
    buffers(A="8 int32", B="8 int32"),
    """
x = T.alloc_buffer((8,), "int32")
for i in T.serial(8):
    with T.block("in"):
        x[i] = A[i]
    with T.block("out"):
        B[i] = x[{read}]
""",
)


def test_memory_that_becomes_each_thread_s_own_moves_into_their_loop() -> None:
    def steps(s: Schedule) -> None:
        s.bind("i", "threadIdx.x")
        s.set_scope("x", "local")

    s = accepted(PARTS.format(read="i"), steps)
    assert [line.strip()[:9] for line in body(s).splitlines()[:2]] == ["for i in ", "x = T.all"]
    with pytest.raises(Refuted, match="no two of its iterations write and read"):
        Schedule(PARTS.format(read="7 - i")).bind("i", "threadIdx.x")


def test_what_other_threads_stored_keeps_memory_where_it_is() -> None:
    s = Schedule(PARTS.format(read="0"))
    first, second = s.fission("i", after="in")
    s.bind(first, "threadIdx.x")
    s.bind(second, "threadIdx.x")
    with pytest.raises(Refuted, match="uses x of scope local from outside"):
        s.set_scope("x", "local")
