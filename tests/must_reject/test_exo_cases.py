"""Cases 1, 2, 5, 11, 13 and 14 of the list of schedules that a sound tool refuses (accepted by Exo)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.must_reject.support import accepted, refused
from verified_tir import NotApplicable, Refuted, Schedule
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import const
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.theorem import Refines, apply
from verified_tir.logic.solver import Solver
from verified_tir.schedule.edits import rewritten


def ints(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


# -- 1: fusing loops of equal upper and different lower bounds


LOWER_BOUNDS = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(0, 8):
        A[i] = A[i] + T.float32(1)
    for j in range({low}, 8):
        B[j] = A[j]
"""


def test_1_fusing_loops_with_different_lower_bounds_is_refused() -> None:
    refusal = refused(
        LOWER_BOUNDS.format(low=1), lambda s: s.merge_loops("i", "j"), "every new iteration is an old one"
    )
    assert "before" in str(refusal)


def test_1_fusing_loops_with_equal_bounds_is_accepted() -> None:
    accepted(LOWER_BOUNDS.format(low=0), lambda s: s.merge_loops("i", "j"), A=ints(8), B=ints(8))


# -- 2: removing a loop whose range may be empty


IDEMPOTENT = """
@T.prim_func
def f(B: T.Buffer((4,), "float32"), lo: T.int32, hi: T.int32):
    {assume}
    for i in range(lo, hi):
        B[0] = T.float32(7)
"""


def test_2_removing_a_loop_that_may_be_empty_is_refused() -> None:
    program = IDEMPOTENT.format(assume="T.assume(0 <= lo and lo < 1000 and 0 <= hi and hi < 1000)")
    refusal = refused(program, lambda s: s.remove_loop("i"), "every new iteration is an old one")
    assert refusal.counterexample["lo"] >= refusal.counterexample["hi"]


def test_2_removing_a_loop_that_runs_at_least_once_is_accepted() -> None:
    program = IDEMPOTENT.format(assume="T.assume(0 <= lo and lo < hi and hi < 1000)")
    s = accepted(program, lambda s: s.remove_loop("i"))
    assert "for" not in s.script()


def test_2_removing_a_loop_whose_iterations_differ_is_refused() -> None:
    program = """
@T.prim_func
def f(B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[0] = B[0] + T.float32(1)
"""
    refused(program, lambda s: s.remove_loop("i"), "wrote the bits that were there already")


# -- 5: fission of a loop with a dependence between its halves


DEPENDENT = """
@T.prim_func
def f(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")):
    for i in range(8):
        A[i] = B[i] * T.float32(2)
        B[i + {ahead}] = A[i]
"""


def test_5_fission_across_a_dependence_is_refused() -> None:
    refused(DEPENDENT.format(ahead=1), lambda s: s.fission("i"), "the two statements may change places")


def test_5_fission_without_a_dependence_is_accepted() -> None:
    accepted(DEPENDENT.format(ahead=0), lambda s: s.fission("i"), A=ints(9), B=ints(9))


# -- 11: x * 0.0 simplified to 0.0


TIMES_ZERO = """
@T.prim_func
def f(A: T.Buffer((4,), "{dtype}"), B: T.Buffer((4,), "{dtype}")):
    for i in range(4):
        B[i] = A[i] * {zero}
"""


def rewrite_stored_value(program: str, zero: object, dtype: str) -> object:
    """Ask the kernel to replace the stored value by a constant zero."""
    theorem = Schedule(program).theorem
    path, _ = next(iter(places(theorem.after.body, lambda s: isinstance(s, Store))))
    return apply(rewritten(path, (0,), const(zero, dtype)), theorem, Prover(Solver()))  # type: ignore[arg-type]


def test_11_x_times_zero_is_not_zero_for_floats() -> None:
    program = TIMES_ZERO.format(dtype="float32", zero="T.float32(0)")
    result = rewrite_stored_value(program, 0.0, "float32")
    assert isinstance(result, Unproved)
    assert "equals" in result.obligation.claim


def test_11_x_times_zero_is_zero_for_integers() -> None:
    result = rewrite_stored_value(TIMES_ZERO.format(dtype="int32", zero="0"), 0, "int32")
    assert isinstance(result, Refines)


def test_11_simplify_leaves_the_float_product_alone() -> None:
    s = Schedule(TIMES_ZERO.format(dtype="float32", zero="T.float32(0)"))
    s.simplify()
    assert "A[i] * T.float32(0.0)" in s.script()


# -- 13: reordering the loops of a float sum


SUM = """
@T.prim_func
def f(A: T.Buffer((4, 4), "{dtype}"), B: T.Buffer((1,), "{dtype}")):
    for i, j in T.grid(4, 4):
        B[0] = B[0] + A[i, j]
"""


def test_13_reordering_a_float_sum_is_refused() -> None:
    refusal = refused(SUM.format(dtype="float32"), lambda s: s.reorder("j", "i"), "iterations change their order")
    assert "confirmed" in str(refusal)


def test_13_reordering_around_a_sum_that_keeps_its_order_is_accepted() -> None:
    program = """
@T.prim_func
def f(A: T.Buffer((4, 5), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 5):
        B[i] = B[i] + A[i, k]
"""
    accepted(program, lambda s: s.reorder("k", "i"), A=ints(4, 5), B=ints(4))


# -- 14: sinking an allocation whose contents are carried from one iteration to the next


CARRIED = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((1,), "float32")
    for i in range(8):
        {first}
        B[i] = t[0]
"""


def test_14_sinking_an_allocation_that_carries_values_is_refused() -> None:
    program = CARRIED.format(first="if i % 2 == 0:\n            t[0] = A[i]")
    refused(program, lambda s: s.sink_allocation("t"), "sees a write of its own iteration")


def test_14_sinking_an_allocation_written_in_every_iteration_is_accepted() -> None:
    s = accepted(CARRIED.format(first="t[0] = A[i]"), lambda s: s.sink_allocation("t"), A=ints(8), B=ints(8))
    text = s.script()
    assert text.index("for i") < text.index("alloc_buffer")


def test_14_sinking_a_buffer_that_is_not_there() -> None:
    with pytest.raises(NotApplicable, match="no buffer called 'u'"):
        Schedule(CARRIED.format(first="t[0] = A[i]")).sink_allocation("u")


def test_refusals_leave_the_schedule_as_it_was() -> None:
    s = Schedule(SUM.format(dtype="float32"))
    before = s.func
    with pytest.raises(Refuted):
        s.reorder("j", "i")
    assert s.func is before
    s.split("j", [None, 2])
