"""RFC 77's transformations as passes: its example, the flags as numbers, and near misses."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import body_of, gives, lowered
from tests.lower.test_removals import program
from verified_tir.lower.expression import parse_pipeline
from verified_tir.lower.hoist_expression import HoistExpression
from verified_tir.lower.merge_adjacent_loops import MergeAdjacentLoops
from verified_tir.lower.reduce_loop_extents import ReduceLoopExtents
from verified_tir.lower.remove_branching_through_overcompute import RemoveBranchingThroughOvercompute
from verified_tir.lower.remove_no_op import RemoveNoOp
from verified_tir.lower.remove_overcompute_through_branching import RemoveOvercomputeThroughBranching

PADDING = """
for i, j in T.grid(2, 4):
    if i == 0 and j < 2:
        A[4 * i + j] = T.float32(0.0)
"""


@pytest.mark.parametrize("conditionals", [1, 4])
def test_the_initialisation_of_padding(conditionals: int) -> None:
    """The outer loop goes, whether or not its condition leaves the inner one first."""
    passes = HoistExpression(conditionals=conditionals) >> ReduceLoopExtents()
    gives(program(PADDING), passes, "for j in range(2):\n    A[j] = T.float32(0.0)")


def test_chains_of_overwritten_stores() -> None:
    text = "A[0] = T.float32(1.0)\nA[0] = T.float32(2.0)\nA[0] = T.float32(3.0)"
    gives(program(text), RemoveNoOp(), "A[0] = T.float32(3.0)")
    reads = text.replace("A[0] = T.float32(2.0)", "B[0] = A[0]")
    gives(program(reads), RemoveNoOp(), reads)


def test_what_becomes_a_no_op_goes_too() -> None:
    """The last store is one once the loop is gone, of which nothing is known but where it stores."""
    text = """
A[0] = T.float32(1.0)
B[0] = A[0]
for i in range(8):
    A[i] = A[i]
A[0] = T.float32(1.0)
"""
    gives(program(text), RemoveNoOp(), "A[0] = T.float32(1.0)\nB[0] = A[0]")


def test_the_flags_in_a_pipeline_text() -> None:
    made = parse_pipeline("HoistExpression(conditionals=7, let_bindings=0) >> ReduceLoopExtents >> RemoveNoOp")
    assert repr(made) == "Pipeline(HoistExpression(conditionals=7, let_bindings=0), ReduceLoopExtents(), RemoveNoOp())"
    again, _ = lowered(program(PADDING), made >> made)
    once, _ = lowered(program(PADDING), made)
    assert len(again.derivation) == len(once.derivation)


GUARDED = """
for i in range(8):
    if i < 6:
        A[i] = T.float32(1.0)
for i in range(8):
    if i >= {first}:
        A[i] = T.float32(2.0)
"""


def test_branches_that_are_overwritten_go() -> None:
    text = GUARDED.format(first=6)
    always = text.replace("    if i < 6:\n        A[i] = T.float32(1.0)", "    A[i] = T.float32(1.0)")
    assert gives(program(text), RemoveBranchingThroughOvercompute(), always) == []
    near = GUARDED.format(first=7)  # nothing overwrites A[6]
    (note,) = gives(program(near), RemoveBranchingThroughOvercompute(), near)
    assert note.startswith("no branch was removed")


SUM = """
for i in range(8):
    T.assume(i < 6 or A[i] == {zero})
for i in range(8):
    B[i] = {zero}
for i in range(8):
    {guard}B[i] = A[i]
"""
INTS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'


def test_branches_appear_where_padding_is_known() -> None:
    guarded = SUM.format(zero=0, guard="if i < 6:\n        ")
    passes = RemoveOvercomputeThroughBranching()
    assert gives(program(SUM.format(zero=0, guard=""), INTS), passes, guarded) == []
    floats = SUM.format(zero="T.float32(0.0)", guard="")  # it may be -0.0
    (note,) = gives(program(floats), passes, floats)
    assert "it wrote the bits that were there already" in note


@pytest.mark.parametrize(("index", "merged"), [("i", True), ("7 - i", False)])
def test_adjacent_loops_merge(index: str, *, merged: bool) -> None:
    text = f"for i in range(8):\n    A[i] = T.float32(1.0)\n    for i in range(8):\n        B[i] = A[{index}]"
    text = text.replace("    for i", "for i").replace("        B", "    B")
    one = "for i in range(8):\n    A[i] = T.float32(1.0)\n    B[i] = A[i]"
    notes = gives(program(text), MergeAdjacentLoops(), one if merged else text)
    assert bool(notes) is not merged


def test_arms_and_temporaries_that_do_nothing_go() -> None:
    empty = "for i in range(8):\n    if i < 4:\n        {}\n    else:\n        {}"
    store, nothing = "A[i] = T.float32(1.0)", "T.evaluate(0)"
    short = f"for i in range(8):\n    if {{}}:\n        {store}"
    gives(program(empty.format(nothing, store)), RemoveNoOp(), short.format("not i < 4"))
    gives(program(empty.format(store, nothing)), RemoveNoOp(), short.format("i < 4"))
    unused = """
t = T.alloc_buffer((8,), "float32")
for i in range(8):
    t[i] = A[i]
for i in range(8):
    B[i] = {}
for i in range(8):
    t[i] = T.float32(0.0)
"""
    gives(program(unused.format("T.float32(1.0)")), RemoveNoOp(), "for i in range(8):\n    B[i] = T.float32(1.0)")
    last = "for i in range(8):\n    t[i] = T.float32(0.0)\n"
    gives(program(unused.format("t[i]")), RemoveNoOp(), unused.format("t[i]").replace(last, ""))


@pytest.mark.parametrize(
    ("guard", "extents"), [("i < 6", "6, 4"), ("i >= 2 and i < 6", "range(2, 6)"), ("i * 4 + j < 26", None)]
)
def test_a_guard_in_an_inner_loop(guard: str, extents: str | None) -> None:
    text = f"for i, j in T.grid(8, 4):\n    if {guard}:\n        A[i] = T.float32(1.0)"
    theorem, _ = lowered(program(text), ReduceLoopExtents())
    if extents is None:  # in i = 6 some iterations of j are left: their number depends on i
        assert "for i in range(8):\n    for j in range(T.max(0, T.min(26 - 4 * i, 4))):" in body_of(theorem)
    else:
        assert extents in body_of(theorem) and "if" not in body_of(theorem)
