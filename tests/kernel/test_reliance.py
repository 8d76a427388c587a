"""No float reduction is put into another order after a step that used its result, nor where its result decides."""

from __future__ import annotations

from tests.kernel.programs import PROVER, body_of, program, why
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import at
from verified_tir.ir.stmt import For
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.rules.branch import Decide
from verified_tir.kernel.rules.order import Join
from verified_tir.kernel.rules.reassociate import Reassociate, Reordered
from verified_tir.kernel.rules.reindex import NewLoop, Reindex
from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.kernel.rules.unit import WrapUnit
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive

PARAMS = 'B: T.Buffer((1,), "float32"), D: T.Buffer((4,), "int32")'
UNROLLED = """
B[0] = T.float32(1e8)
B[0] = B[0] + T.if_then_else(T.LT(0, 1), T.float32(1), T.float32(-1e8))
B[0] = B[0] + T.if_then_else(T.LT(1, 1), T.float32(1), T.float32(-1e8))
if B[0] > T.float32(0.5):
    D[{place}] = 1
else:
    D[0] = 2
"""
"""In this order the sum is 0.0, in the other one 1.0."""


def after(theorem: Refines, rule: Rule) -> Refines:
    new = apply(rule, theorem, PROVER)
    assert isinstance(new, Refines), why(new)
    return new


def rolled(theorem: Refines) -> Refines:
    """The two additions as a loop."""
    for place in (1, 2):
        theorem = after(theorem, WrapUnit((place,), v := Var.fresh("v")))
        k, low = Var.fresh("k"), place - 1
        theorem = after(theorem, Reindex((place,), 1, (NewLoop(k, const(low), const(1)),), (), (k - low,), (v + low,)))
        theorem = after(theorem, Rewrite((place, 0), (0, 1, 0, 0), k))
    return after(theorem, Join((), 1))


def backwards(func: PrimFunc) -> Reordered:
    loop, r = at(func.body, (1,)), Var.fresh("r")
    assert isinstance(loop, For)
    return Reordered(Reindex((1,), 1, (NewLoop(r, const(0), const(2)),), (), (1 - r,), (1 - loop.var,)), "B")


def test_a_branch_that_was_decided_by_the_result() -> None:
    f = program(UNROLLED.format(place=0), PARAMS)
    theorem = rolled(after(reflexive(f), Decide((3,), False)))
    assert body_of(theorem.after).endswith("D[0] = 2")
    refusal = apply(backwards(theorem.after), theorem, PROVER)
    assert isinstance(refusal, NoMatch)
    assert refusal.reason == (
        "a step was proved from the bits of a result: the condition is always false here; reassociate before that step"
    )


def test_a_branch_that_is_still_there() -> None:
    theorem = rolled(reflexive(program(UNROLLED.format(place=0), PARAMS)))
    assert isinstance(apply(backwards(theorem.after), theorem, PROVER), Refines)


def test_what_has_a_meaning_in_one_order_only() -> None:
    """``D[4]`` is never stored to, as the sum is 0.0."""
    theorem = rolled(reflexive(program(UNROLLED.format(place=4), PARAMS)))
    refusal = apply(backwards(theorem.after), theorem, PROVER)
    assert isinstance(refusal, Unproved) and "in bounds" in refusal.obligation.claim


def test_properties_that_every_order_has() -> None:
    """That B is never -0.0 says nothing of its bits: adding 0.0 goes, and then the sum may be split."""
    text = """
B[0] = T.float32(0)
for k in range(4):
    B[0] = B[0] + T.Cast("float32", D[k])
B[0] = B[0] + T.float32(0)
"""
    f = program(text, PARAMS)
    theorem = after(reflexive(f), Rewrite((2,), (0,), at(f.body, (2,)).value.a))  # type: ignore[attr-defined]
    assert body_of(theorem.after).endswith("B[0] = B[0]")
    k = at(f.body, (1,)).var  # type: ignore[attr-defined]
    split = Reassociate((1,), Buffer.declare("P", (2,)), (k % 2,), "B")
    assert isinstance(apply(split, theorem, PROVER), Refines)
