"""Calls of primitives as TVM's users write them: names of parameters, one loop for several, threads' own memory."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted, refused
from tests.schedule.test_overcompute import body, buffers, text
from verified_tir import NotApplicable, Refuted, Schedule
from verified_tir.ir.stmt import Block
from verified_tir.ir.visit import nodes_of

TRANSPOSE = text(
    buffers(A="8x4 int32", C="4x8 int32"),
    """
for i, j in T.grid(8, 4):
    with T.block("copy"):
        C[j, i] = A[i, j]
""",
)


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
    refused(TRANSPOSE, lambda s: s.split("i", [None, 3], disable_predication=True), "the branch is always taken")
    accepted(TRANSPOSE, lambda s: s.split("i", [None, 4], disable_predication=True))


def test_one_loop_is_fused_and_ordered_as_it_is() -> None:
    s = Schedule(TRANSPOSE)
    i, j = s.loops()
    fused = s.fuse(i)
    s.reorder("j")
    assert fused.name == "i_fused" and s.loops() == [fused, j]
    assert s.script().endswith("""
    for i_fused, j in T.grid(8, 4):
        with T.sblock("copy"):
            C[j, i_fused] = A[i_fused, j]""")
    s.unroll(i)  # the handle stays good


def test_annotations_may_be_dictionaries() -> None:
    s = Schedule(TRANSPOSE)
    s.annotate("copy", "k", {"a": [0, 1], "b": {"c": "d"}})
    assert 'T.sblock_attr({"k": {"a": [0, 1], "b": {"c": "d"}}})' in s.script()
    assert Schedule(s.script()).script() == s.script()
    with pytest.raises(NotApplicable, match="is no dictionary of texts, numbers and lists"):
        s.annotate("copy", "l", {"a": object()})


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
    with pytest.raises(Refuted, match="that another one writes"):
        Schedule(PARTS.format(read="7 - i")).bind("i", "threadIdx.x")


def test_what_other_threads_stored_keeps_memory_where_it_is() -> None:
    s = Schedule(PARTS.format(read="0"))
    first, second = s.fission("i", after="in")
    s.bind(first, "threadIdx.x")
    s.bind(second, "threadIdx.x")
    with pytest.raises(Refuted, match="uses x of scope local from outside"):
        s.set_scope("x", "local")


def test_blockize_of_several_blocks() -> None:
    s = Schedule(PARTS.format(read="i"))
    assert s.blockize(["in", "out"]) == "outer_in_out_"
    assert s.script().endswith("""
    for i in range(8):
        with T.sblock("outer_in_out_"):
            T.sblock_attr({"reads": ["A[i:i + 1]", "x[i:i + 1]"], "writes": ["x[i:i + 1]", "B[i:i + 1]"]})
            with T.sblock("in"):
                x[i] = A[i]
            with T.sblock("out"):
                B[i] = x[i]""")
    with pytest.raises(NotApplicable, match="there is no block called 'on'"):
        s.blockize(["in", "on"])


@pytest.mark.parametrize("primitive", ["split", "fuse"])
def test_marks_are_not_dropped(primitive: str) -> None:
    """TVM refuses it, too."""

    def step(s: Schedule) -> object:
        return s.split("i", [2, None]) if primitive == "split" else s.fuse("i", "j")

    s = Schedule(TRANSPOSE)
    s.bind("i", "threadIdx.x")
    with pytest.raises(NotApplicable, match=f"the loop over i is bound to threadIdx.x: {primitive} first, then bind"):
        step(s)
    s = Schedule(TRANSPOSE)
    s.annotate("i", "k", 1)
    with pytest.raises(NotApplicable, match=rf"the loop over i is annotated \('k'\): {primitive} first"):
        step(s)
    s.unannotate("i", "k")
    step(s)
