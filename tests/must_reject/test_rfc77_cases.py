"""Cases 15 and 17: steps of RFC 77's own text."""

from __future__ import annotations

from tests.must_reject.support import accepted, refused
from verified_tir import Schedule
from verified_tir.ir.expr import Expr
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, places
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import If
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.theorem import Refines, apply
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Refuted
from verified_tir.schedule.edits import rewritten

# -- 15: (not ii < 2) and (not ii + fi < 2) rewritten as ii >= 2 or ii + fi >= 2


CONDITION = """
@T.prim_func
def f(B: T.Buffer((4, 3), "float32")):
    for ii, fi in T.grid(4, 3):
        if {condition}:
            B[ii, fi] = T.float32(1)
"""


def condition_of(func: PrimFunc) -> tuple[Path, Expr]:
    path, stmt = next(iter(places(func.body, lambda s: isinstance(s, If))))
    assert isinstance(stmt, If)
    return path, stmt.condition


def with_condition(new_condition: str) -> object:
    """Replace the RFC's condition by another one, written over the same variables."""
    before = Schedule(CONDITION.format(condition="(not ii < 2) and (not ii + fi < 2)"))
    theorem = before.theorem
    path, _ = condition_of(theorem.after)
    other = parse_func(CONDITION.format(condition=new_condition))
    _, condition = condition_of(other)
    from verified_tir.ir.visit import substitute

    here = {v.name: v for v in before.loops()}
    theirs = {v: here[v.name] for v in Schedule(other).loops()}
    return apply(rewritten(path, (0,), substitute(condition, dict(theirs))), theorem, Prover(Solver()))


def test_15_the_disjunction_is_refused() -> None:
    result = with_condition("ii >= 2 or ii + fi >= 2")
    assert isinstance(result, Unproved)
    assert isinstance(result.verdict, Refuted)


def test_15_the_conjunction_is_accepted() -> None:
    assert isinstance(with_condition("ii >= 2 and ii + fi >= 2"), Refines)
    assert isinstance(with_condition("ii >= 2"), Refines)


# -- 17: B[i] = B[i] + 0.0 called a no-op


ROW_SUM = """
@T.prim_func
def f(A: T.Buffer((2, 14), "float32"), B: T.Buffer((2,), "float32")):
    for i in range(2):
        {init}
        for j in range(14):
            B[i] = B[i] + A[i, j]
"""


def pad_and_overcompute(s: Schedule) -> None:
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()


def test_17_adding_zero_to_a_value_that_may_be_negative_zero_is_refused() -> None:
    refusal = refused(ROW_SUM.format(init="pass"), pad_and_overcompute, "writes the bits that are there already")
    assert "-0.0 before, 0.0 after" in str(refusal)


def test_17_adding_zero_to_a_sum_that_began_at_zero_is_accepted() -> None:
    s = accepted(ROW_SUM.format(init="B[i] = T.float32(0)"), pad_and_overcompute)
    assert "if" not in s.script().replace("prim_func", "")


def test_17_beginning_at_negative_zero_is_refused() -> None:
    program = ROW_SUM.format(init="B[i] = T.float32(-0.0)")
    refused(program, pad_and_overcompute, "writes the bits that are there already")
