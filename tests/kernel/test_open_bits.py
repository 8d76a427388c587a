"""No float reduction is put into another order after a step that used its result, nor where its result decides."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, body_of, load, program, variable, why
from tests.kernel.programs import buffer as buffer_of
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Var, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import at
from verified_tir.ir.stmt import For
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.entry import verify_program
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.rules.branch import Decide
from verified_tir.kernel.rules.call import Refine
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


def test_that_a_factor_of_one_changes_nothing_says_nothing_of_the_result() -> None:
    """It is true of every float: what is proved without the result's own bits may be used."""
    text = (
        "B[0] = T.float32(0)\nfor k in range(4):\n    B[0] = B[0] + T.Cast('float32', D[k])\nC[0] = B[0] * T.float32(1)"
    )
    f = program(text, PARAMS + ', C: T.Buffer((1,), "float32")')
    theorem = after(reflexive(f), Rewrite((2,), (0,), load(buffer_of(f, "B"), 0)))
    after(theorem, in_halves(f, variable(f, "k") % 2))


def in_halves(func: PrimFunc, index: Expr) -> Reassociate:
    return Reassociate((1,), Buffer.declare("P", (2,), "float32"), (index,), "B")


def refused_after(func: PrimFunc, first: Rule, second: Rule, claim: str) -> None:
    """Either step alone is accepted, but not the second after the first, whose obligation ``claim`` used the result."""
    after(reflexive(func), second)
    refusal = apply(second, after(reflexive(func), first), PROVER)
    assert isinstance(refusal, NoMatch)
    assert f"proved from the bits of a result: {claim}" in refusal.reason


PRODUCT = "B[0] = T.float32({0})\nfor k in range(2):\n    B[0] = B[0] * T.float32({1})\nC[0] = B[0]{2}"
FLOATS = 'B: T.Buffer((1,), "float32"), C: T.Buffer((1,), "float32")'

NEVER_NAN = """
{0}[0] = T.float32(0)
for k in range(4):
    {0}[0] = {0}[0] + T.if_then_else(k < 2, T.float32(3e38), T.float32(-3e38))
if T.isnan({0}[0]):
    {1}[0] = 1
else:
    {1}[0] = 2
"""


def test_a_product_that_begins_with_zero_is_nan_in_another_order() -> None:
    """0.0 · (1e30 · 1e30)."""
    f = program(PRODUCT.format("0", "1e30", ""), FLOATS)
    rule = Rewrite((2,), (0,), const(0.0, "float32"))
    refused_after(f, rule, in_halves(f, variable(f, "k")), "T.float32(0.0) equals B[0]")


def test_a_product_that_is_never_negative_zero_is_so_in_another_order() -> None:
    """Each factor keeps what is not -0.0; the product of all of them may round to 0.0, if there are enough."""
    f = program(PRODUCT.format("-0.4", "0.6", " + T.float32(0)"), FLOATS)
    rule = Rewrite((2,), (0,), load(buffer_of(f, "B"), 0))
    refused_after(f, rule, in_halves(f, variable(f, "k")), "B[0] equals B[0] + T.float32(0.0)")


def test_a_sum_that_is_never_nan_is_nan_in_another_order() -> None:
    """inf - inf, of the partial sums."""
    f = program(NEVER_NAN.format("B", "D"), PARAMS)
    refused_after(f, Decide((2,), False), in_halves(f, variable(f, "k") // 2), "the condition is always false here")


def test_what_was_proved_of_a_function_that_was_called() -> None:
    """The function's parameters have other names than the caller's buffers."""
    f, g = (
        program(NEVER_NAN.format(x, y), f'{x}: T.Buffer((1,), "float32"), {y}: T.Buffer((1,), "int32")')
        for x, y in ("BD", "XY")
    )
    lemma = after(reflexive(g), Decide((2,), False))
    arguments = Arguments((buffer_of(f, "B"), buffer_of(f, "D")))
    refused_after(f, Refine((), lemma, arguments), in_halves(f, const(0)), "the condition is always false")


@pytest.mark.parametrize(
    ("tail", "claim"),
    [
        (
            "x: T.let[T.int32] = T.Cast('int32', B[0]) + 1\nt = T.alloc_buffer((x,), 'int32')\nt[0] = 5\nD[0] = t[0]",
            "extent",
        ),
        (
            "D.vstore([T.Ramp(0, 1, 4)], T.Ramp(0, 1, 4), predicate=T.Broadcast(T.Cast('int32', B[0]) == 0, 4))",
            "branch",
        ),
        ("D[0] = T.Cast('int32', B[0]) // -1", "overflow"),
    ],
)
def test_a_result_decides_extents_masks_and_divisions(tail: str, claim: str) -> None:
    """In this order the product is 0.0, in the other one NaN, which no integer is."""
    f = program(f"B[0] = T.float32(0)\nfor k in range(2):\n    B[0] = B[0] * T.float32(1e30)\n{tail}", PARAMS)
    assert isinstance(verify_program(f, PROVER), tuple)
    refusal = apply(in_halves(f, const(0)), reflexive(f), PROVER)
    assert isinstance(refusal, Unproved) and claim in refusal.obligation.claim
    after(reflexive(product := program(PRODUCT.format("0", "1e30", ""), FLOATS)), in_halves(product, const(0)))
