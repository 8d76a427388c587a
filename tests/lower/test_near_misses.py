"""Passes on programs that differ in little: what is done to one and not to the other."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import body_of, gives, lowered
from tests.lower.test_removals import program
from verified_tir.lower.hoist_expression import HoistExpression
from verified_tir.lower.inject_virtual_thread import InjectVirtualThread
from verified_tir.lower.remove_store_undef import RemoveStoreUndef
from verified_tir.lower.simplify import Simplify
from verified_tir.lower.vector_type_rewriter import VectorTypeRewriter


@pytest.mark.parametrize(
    ("value", "condition"),
    [("T.if_then_else(i < 4, A[i], T.undef())", "i < 4"), ("T.if_then_else(i < 4, T.undef(), A[i])", "i >= 4")],
)
def test_the_arm_that_has_a_value_stays(value: str, condition: str) -> None:
    text = f"for i in range(8):\n    B[i] = {value}"
    gives(program(text), RemoveStoreUndef(), f"for i in range(8):\n    if {condition}:\n        B[i] = A[i]")


@pytest.mark.parametrize(("extent", "index"), [(4, "4 * (i % 2) + j"), (5, "(4 * i + j) % 8")])
def test_a_normal_form_knows_the_loops_around_it(extent: int, index: str) -> None:
    text = f"for i, j in T.grid(4, {extent}):\n    A[{{}}] = B[i]"
    gives(program(text.format("(j + i * 4) % 8")), Simplify(canonical=True), text.format(index))


LET = "x: T.let[T.float32] = B[0]\n"


@pytest.mark.parametrize(("conditionals", "lets", "moves"), [(0, 2, True), (2, 0, False), (2, 1, False)])
def test_lets_have_their_own_flags(conditionals: int, lets: int, *, moves: bool) -> None:
    inside = f"for i in range(4):\n    {LET}    A[i] = x"
    outside = f"{LET}for i in range(4):\n    A[i] = x"
    gives(program(inside), HoistExpression(conditionals, lets), outside if moves else inside)


@pytest.mark.parametrize("start", [4, 5])
def test_a_masked_ramp_is_not_even_tried(start: int) -> None:
    mask = "predicate=T.Ramp(n, 1, 4) < T.Broadcast(2, 4)"
    ramp = f"T.Ramp({start}, 1, 4)"
    masked = f"T.assume(n < 9)\nB.vstore([{ramp}], A.vload([{ramp}], {mask}), {mask})"
    params = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32'
    assert gives(program(masked, params), VectorTypeRewriter(), masked) == []
    theorem, (record,) = lowered(program(f"B[0:4] = A[0:4]\n{masked}", params), VectorTypeRewriter())
    assert "B_float32x4[0] = A_float32x4[0]" in body_of(theorem) and not record.notes


@pytest.mark.parametrize(("threads", "part"), [("2", "v"), ("1, 3", "v - 1")])
def test_virtual_threads_have_a_part_each(threads: str, part: str) -> None:
    text = f"""
for v in T.thread_binding({threads}, thread="vthread.x"):
    t = T.alloc_buffer((8,), "float32")
    for j in range(8):
        t[j] = A[v, j]
    for j in range(8):
        B[v, j] = t[7 - j]
"""
    params = 'A: T.Buffer((3, 8), "float32"), B: T.Buffer((3, 8), "float32")'
    gives(program(text, params), InjectVirtualThread(), f"""
t = T.alloc_buffer((2, 8), "float32")
for j in range(8):
    for v in T.unroll({threads}):
        t[{part}, j] = A[v, j]
for j in range(8):
    for v in T.unroll({threads}):
        B[v, j] = t[{part}, 7 - j]
""")  # fmt: skip
