"""Accesses that go through another view, where it is tight: what is asked of each of them, and under what."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernel.programs import AB, accepted, body_of, buffer, program, refused, variable
from tests.kernel.rules.test_view import flat, indices_of
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Broadcast, Cast, Expr, Load, Ramp
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.scope import Declare
from verified_tir.schedule.edits import redirected, rewritten
from verified_tir.schedule.rule_builders import RuleBuilder, run_once
from verified_tir.semantics.interpreter import UndefinedBehaviour, refines, run

ABN = AB + ", n: T.int32"
READS = "view: the load of A_flat reads where the one of A did (Refuted)"
Moves = tuple[tuple[tuple[Expr, ...], tuple[Expr, ...]], ...]


def viewed(text: str, params: str = ABN, extent: int = 4) -> PrimFunc:
    """The program with another view of A declared around it."""
    f = program(text, params)
    return accepted(f, Declare((), flat(f, "A", extent, dtype="int32"), True))


def moved(f: PrimFunc, *moves: tuple[Expr | int, Expr | int]) -> RuleBuilder:
    pairs: Moves = tuple(((const(a),), (const(b),)) for a, b in moves)
    return redirected((0,), buffer(f, "A"), buffer(f, "A_flat"), pairs)


def test_an_access_that_is_not_listed_stays() -> None:
    f = viewed("B[0] = A[0] + A[1] + A[2]")
    assert body_of(accepted(f, moved(f, (1, 1)))).endswith("B[0] = A[0] + A_flat[1] + A[2]")


def test_loads_deep_within_an_expression() -> None:
    f = viewed("B[0] = (A[0] + 1) * 2 - 3")
    assert body_of(accepted(f, moved(f, (0, 0)))).endswith("B[0] = (A_flat[0] + 1) * 2 - 3")
    refused(f, moved(f, (0, 1)), READS)


def test_an_access_keeps_its_type() -> None:
    """What is evaluated for nothing may have another type; but here it lies beyond the block."""
    five = 'A: T.Buffer((5,), "float32")'
    f = program("T.evaluate(A[4])", five)
    wide = flat(f, "A", 2, dtype="float32x4")
    declared = accepted(f, Declare((), wide, True))
    rule = redirected((0,), buffer(f, "A"), wide, (((const(4),), (const(1),)),))
    refused(declared, rule, "the access of A_flat has type float32x4, not float32")
    text = 'V = T.decl_buffer((2,), "float32x4", data=A.data)\nT.evaluate({})'
    array = {"A": np.zeros(5, np.float32)}
    run(program(text.format("A[4]"), five), array)
    with pytest.raises(UndefinedBehaviour):
        run(program(text.format("V[1]"), five), array)


def test_a_condition_of_a_while_loop_is_evaluated_again() -> None:
    f = viewed("B[0] = 0\nwhile A[B[0]] > 0:\n    B[0] = B[0] + 1")
    (old,) = indices_of(f, "A")[0]
    refused(f, moved(f, (old, 0)), READS)
    accepted(f, moved(f, (old, old)))


def test_each_arm_of_a_branch_is_asked_about() -> None:
    f = viewed("if n > 0:\n    B[0] = 1\nelse:\n    B[0] = A[0]")
    refused(f, moved(f, (0, 1)), READS)
    accepted(f, moved(f, (0, 0)))


def test_an_index_is_safe_only_under_what_it_is_evaluated_under() -> None:
    """4 // n is evaluated where n is positive, and the access also where it is not."""
    f = viewed("B[0] = A[T.if_then_else(n > 0, T.min(4 // n, 3), 0)]")
    (old,) = indices_of(f, "A")[0]
    n = variable(f, "n")
    accepted(f, moved(f, (old, old)))
    refused(
        f, moved(f, (old, old + binary("floordiv", const(4), n) * 0)), "safety: 4 // n: no division by zero (Refuted)"
    )


def test_lanes_under_a_condition() -> None:
    """The lanes are read only where m == n."""
    read = "T.if_then_else(m {} n, A[T.Ramp(n, 1, 4)], T.Broadcast(0, 4))"
    text = f"if n >= 0 and n < 4 and m >= 0 and m < 4:\n    B[0:4] = {read}"
    for compare, fine in (("==", True), ("<=", False)):
        f = viewed(text.format(compare), ABN.replace("(4,)", "(8,)", 1) + ", m: T.int32", 8)
        n, m = variable(f, "n"), variable(f, "m")
        rule = moved(f, (Ramp(n, const(1), 4), Ramp(m, const(1), 4)))
        accepted(f, rule) if fine else refused(f, rule, READS)


def test_masked_lanes_need_not_exist() -> None:
    ramp = Ramp(const(0), const(1), 8)
    text = "B[0:8] = A.vload([T.Ramp(0, 1, 8)], predicate=T.Ramp(0, 1, 8) < T.Broadcast({}, 8))"
    sizes = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
    for lanes, fine in ((6, True), (7, False)):
        f = viewed(text.format(lanes), sizes, 6)
        rule = moved(f, (ramp, ramp))
        accepted(f, rule) if fine else refused(f, rule, "in bounds (Refuted)")


def test_a_block_may_be_a_buffer_that_is_declared_already() -> None:
    """To declare it again says the same."""
    f = program(
        't = T.alloc_buffer((4,), "int32")\nv = T.decl_buffer((4,), "int32", data=t.data)\nv[0] = 1\nB[0] = t[0]'
    )
    for name in "tv":
        after = accepted(f, MergeAllocations((), (), buffer(f, name)))
        for first in (-1, 1):
            given = {"A": np.array([0] * 4, np.int32), "B": np.array([first] * 4, np.int32)}
            assert not refines(run(f, given), run(after, given))
    accepted(f, MergeAllocations((), (), Buffer.declare("w", (4,), "int32", data=buffer(f, "t").data)))


def test_a_buffer_begins_where_its_block_does() -> None:
    f = program('t = T.alloc_buffer((2,), "int32", elem_offset=1)\nt[0] = 1\nB[0] = t[0]')
    starts = "view: the block of w is large enough for t (Refuted)"
    refused(f, MergeAllocations((), (), Buffer.declare("w", (4,), "int32")), starts)
    f = program('t = T.alloc_buffer((2,), "int32")\nt[0] = 1\nB[0] = t[0]')
    refused(f, MergeAllocations((), (), Buffer.declare("w", (4,), "int32", elem_offset=const(1))), starts)
    strided = Buffer.declare("w", (4,), "int32", strides=(const(0),))  # one element
    refused(f, MergeAllocations((), (), strided), "w has strides")
    f = program('t = T.alloc_buffer((2,), "int32", strides=(3,))\nt[1] = 1\nB[0] = t[1]')
    refused(f, MergeAllocations((), (), Buffer.declare("w", (2,), "int32")), "t has strides")


def test_a_shared_block_is_large_enough_where_a_buffer_begins() -> None:
    """What is assumed before that counts, and what is assumed after that does not."""
    alloc = 'for k in range(1):\n    {0} = T.alloc_buffer(({1},), "int32")\n    {0}[0] = 1\n    B[0] = {0}[0]\n'
    known = "T.assume(n <= 8)\n"
    for text, fine in ((alloc.format("t", 8) + known + alloc.format("u", "n"), True),
                       (alloc.format("t", 8) + "B[1] = 1\n" + alloc.format("u", "n"), False),
                       (alloc.format("t", "n") + known + alloc.format("u", 8), False)):  # fmt: skip
        f = program("T.assume(n >= 0)\n" + text, ABN)
        scoped = accepted(f, run_once((1,)), run_once((3,)))
        rule = MergeAllocations((), (1, 3), Buffer.declare("w", (8,), "int32"))
        accepted(scoped, rule) if fine else refused(scoped, rule, "view: the block of w is large enough for ")


def test_a_block_for_all_iterations_and_for_both_branches() -> None:
    """What an earlier iteration left may stand in the buffer, which was undefined; the block has its size outside."""
    text = 'for i in range(4):\n    t = T.alloc_buffer(({},), "int32")\n    t[0] = i\n    B[i] = t[0]'
    block = Buffer.declare("w", (4,), "int32")
    shared = body_of(accepted(program(text.format("i + 1")), MergeAllocations((), (0,), block)))
    assert shared.startswith('w = T.alloc_buffer((4,), "int32")\nfor i in range(4):\n')
    assert 't = T.decl_buffer((i + 1,), "int32", data=w.data)' in shared
    refused(
        program(text.format("i + 2")),
        MergeAllocations((), (0,), block),
        "view: the block of w is large enough for t (Refuted)",
    )
    f = program(text.format("4"))
    i = f.body.var  # type: ignore[attr-defined]
    refused(f, MergeAllocations((), (0,), Buffer.declare("w", (i + 4,), "int32")), "i is not in scope here")
    alloc = '    {0} = T.alloc_buffer((4,), "int32")\n    {0}[0] = 1\n    B[0] = {0}[0]\n'
    f = program("if n > 0:\n" + alloc.format("t") + "else:\n" + alloc.format("u"), ABN)
    assert body_of(accepted(f, MergeAllocations((), (0, 1), block))).count("data=w.data") == 2


def test_a_mask_that_is_another_one_is_no_way_to_name_an_element() -> None:
    """Of lanes that are masked out nothing was read."""
    text = "v = T.decl_buffer((8,), 'int32', data=A.data)\nB[0:8] = A.vload([T.Ramp(0, 1, 8)], predicate={0})"
    params = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
    ramp = Ramp(const(0), const(1), 8)
    some, others = (binary("lt", ramp, Broadcast(const(k), 8)) for k in (8, 4))
    f = program(text.format("T.Ramp(0, 1, 8) < T.Broadcast(8, 8)"), params)
    v = buffer(f, "v")
    gives = "B[0:8] = v.vload([T.Ramp(0, 1, 8)], predicate=T.Ramp(0, 1, 8) < T.Broadcast(8, 8))"
    assert body_of(accepted(f, rewritten((0,), (0,), Load(v, (ramp,), some)))).endswith(gives)
    refused(f, rewritten((0,), (0,), Load(v, (ramp,), others)), "equal: ")


def test_a_number_is_no_cast_of_its_bits() -> None:
    """Only a bool is made of the byte that it is kept in."""
    text = "v = T.decl_buffer((4,), '{0}', data=A.data)\nB[0] = A[1]"
    for dtype, other in (("float32", "int32"), ("int8", "bool"), ("int8", "uint8"), ("uint8", "int8")):
        f = program(text.format(other), f'A: T.Buffer((4,), "{dtype}"), B: T.Buffer((1,), "{dtype}")')
        v, a = buffer(f, "v"), buffer(f, "A")
        refused(f, rewritten((0,), (0,), Cast(a.dtype, Load(v, (const(1),)))), "equal: ")
    f = program(text.format("int8"), 'A: T.Buffer((4,), "bool"), B: T.Buffer((1,), "bool")')
    byte = Load(buffer(f, "v"), (const(1),))
    assert body_of(accepted(f, rewritten((0,), (0,), Cast(buffer(f, "A").dtype, byte)))).endswith(
        'B[0] = T.Cast("bool", v[1])'
    )
    f = program(text.format("uint8"), 'A: T.Buffer((4,), "bool"), B: T.Buffer((1,), "bool")')
    byte = Load(buffer(f, "v"), (const(1),))
    refused(f, rewritten((0,), (0,), Cast(buffer(f, "A").dtype, byte)), "equal: ")


@pytest.mark.parametrize("lanes", [2, 4])
def test_lanes_of_elements_are_elements_of_other_views(lanes: int) -> None:
    """Element 1 of V are those from ``lanes`` on of X."""
    text = f"X = T.decl_buffer(({4 * lanes},), 'int32', data=V.data)\nV[1] = T.Broadcast(7, {lanes})\nB[0] = X[{{}}]"
    params = f'V: T.Buffer((4,), "int32x{lanes}"), B: T.Buffer((1,), "int32")'
    for k in range(3 * lanes):
        rule = rewritten((0, 1), (0,), const(7))
        f = program(text.format(k), params)
        accepted(f, rule) if lanes <= k < 2 * lanes else refused(f, rule, "7 equals ")
