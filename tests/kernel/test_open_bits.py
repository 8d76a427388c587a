"""No licence for what was proved from the bits of a sum, nor where its result decides whether there is a meaning."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernel.programs import (
    PROVER,
    accepted,
    blocks_of,
    body_of,
    licensed_for,
    load,
    program,
    refused,
    steps,
    store,
    unlicensed,
    variable,
)
from tests.kernel.programs import buffer as buffer_of
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, FloatImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import at
from verified_tir.ir.stmt import For
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.rules.call import Refine
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.reorder import Reorder
from verified_tir.kernel.theorem import Refines, Rule, reflexive
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import in_a_loop
from verified_tir.semantics.interpreter import run

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


def rolled(theorem: Refines, *, sums: bool = True) -> Refines:
    """The two updates as a loop."""
    for place in (1, 2):
        theorem = steps(theorem, in_a_loop((place,), v := Var.fresh("v")))
        k, low = Var.fresh("k"), place - 1
        theorem = steps(
            theorem, moves.reindex((place,), 1, (NewLoop(k, const(low), const(1)),), (), (k - low,), (v + low,))
        )
        if sums:
            theorem = steps(theorem, rewritten((place, 0), (0, 1, 0, 0), k))
    return steps(theorem, moves.join_index_sets((), 1))


def backwards(func: PrimFunc) -> Reorder:
    loop, r = at(func.body, (1,)), Var.fresh("r")
    assert isinstance(loop, For)
    return moves.in_any_order(moves.reindex((1,), 1, (NewLoop(r, const(0), const(2)),), (), (1 - r,), (1 - loop.var,)))


def test_a_branch_that_was_decided_by_the_result() -> None:
    f = program(UNROLLED.format(place=0), PARAMS)
    theorem = rolled(steps(f, moves.decide((3,), False)))
    assert body_of(theorem.after).endswith("D[0] = 2")
    step, reason = unlicensed(theorem, "B")
    assert step == 0 and "the branch is always taken here" in reason
    refused(licensed_for(f, "B"), moves.decide((3,), False), "the branch is always taken here")


@pytest.mark.parametrize("first", [False, True])
def test_a_branch_that_is_still_there(*, first: bool) -> None:
    """The licence may come before the other steps, or after them."""
    f = program(UNROLLED.format(place=0), PARAMS)
    theorem = rolled(licensed_for(f, "B")) if first else licensed_for(rolled(reflexive(f)), "B")
    done = steps(theorem, backwards(theorem.after))
    assert done.reassociated == blocks_of(f, "B")
    arrays = {"B": np.zeros(1, "float32"), "D": np.zeros(4, "int32")}
    assert (run(f, arrays).arrays["D"][0], run(done.after, arrays).arrays["D"][0]) == (2, 1)


def test_what_has_a_meaning_in_one_order_only() -> None:
    """``D[4]`` is never stored to, as the sum is 0.0."""
    f = program(UNROLLED.format(place=4), PARAMS)
    assert isinstance(verify_program(f, PROVER), tuple)
    for theorem in (reflexive(f), rolled(reflexive(f))):
        step, reason = unlicensed(theorem, "B")
        assert step == -1 and "in bounds" in reason


@pytest.mark.nightly
def test_properties_that_every_order_has() -> None:
    """That B is never -0.0 says nothing of its bits: adding 0.0 goes, and then the sum may be split."""
    text = """
B[0] = T.float32(0)
for k in range(4):
    B[0] = B[0] + T.Cast("float32", D[k])
B[0] = B[0] + T.float32(0)
"""
    f = program(text, PARAMS)
    theorem = steps(f, rewritten((2,), (0,), at(f.body, (2,)).value.a))  # type: ignore[attr-defined]
    assert body_of(theorem.after).endswith("B[0] = B[0]")
    accepted(licensed_for(theorem, "B"), in_halves(f, variable(f, "k") % 2))


def test_that_a_factor_of_one_changes_nothing_says_nothing_of_the_result() -> None:
    """It is true of every float: what is proved without the result's own bits may be used."""
    text = (
        "B[0] = T.float32(0)\nfor k in range(4):\n    B[0] = B[0] + T.Cast('float32', D[k])\nC[0] = B[0] * T.float32(1)"
    )
    f = program(text, PARAMS + ', C: T.Buffer((1,), "float32")')
    theorem = steps(f, rewritten((2,), (0,), load(buffer_of(f, "B"), 0)))
    accepted(licensed_for(theorem, "B"), in_halves(f, variable(f, "k") % 2))


def in_halves(func: PrimFunc, index: Expr) -> Reassociate:
    return Reassociate((1,), Buffer.declare("P", (2,), "float32"), (index,))


def refused_after(func: PrimFunc, first: Rule, second: Rule, claim: str) -> None:
    """Either step alone is accepted, but not the second after the first, whose obligation ``claim`` used the result."""
    accepted(licensed_for(func, "B"), second)
    step, reason = unlicensed(steps(func, first), "B")
    assert step == 0 and claim in reason
    if not isinstance(first, Refine):
        refused(licensed_for(func, "B"), first, claim)


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
    rule = rewritten((2,), (0,), const(0.0, "float32"))
    refused_after(f, rule, in_halves(f, variable(f, "k")), "T.float32(0.0) equals B[0]")


def test_a_product_that_is_never_negative_zero_is_so_in_another_order() -> None:
    """Each factor keeps what is not -0.0; the product of all of them may round to 0.0, if there are enough."""
    f = program(PRODUCT.format("-0.4", "0.6", " + T.float32(0)"), FLOATS)
    rule = rewritten((2,), (0,), load(buffer_of(f, "B"), 0))
    refused_after(f, rule, in_halves(f, variable(f, "k")), "B[0] equals B[0] + T.float32(0.0)")


def test_a_sum_that_is_never_nan_is_nan_in_another_order() -> None:
    """inf - inf, of the partial sums."""
    f = program(NEVER_NAN.format("B", "D"), PARAMS)
    refused_after(f, moves.decide((2,), False), in_halves(f, variable(f, "k") // 2), "the branch is always taken here")


def test_what_was_proved_of_a_function_that_was_called() -> None:
    """The function's parameters have other names than the caller's buffers."""
    f, g = (
        program(NEVER_NAN.format(x, y), f'{x}: T.Buffer((1,), "float32"), {y}: T.Buffer((1,), "int32")')
        for x, y in ("BD", "XY")
    )
    lemma = steps(g, moves.decide((2,), False))
    arguments = Arguments((buffer_of(f, "B"), buffer_of(f, "D")))
    refused_after(f, Refine((), lemma, arguments), in_halves(f, const(0)), "the branch is always taken here")


RESULT = 'T.Cast("int32", B[0])'
ZERO = """
K[0] = T.float32(0)
B[0] = T.float32(0)
for k in range(2):
    B[0] = B[0] * T.float32(1e30)
"""
"""In this order the product is 0.0, in the other one NaN, which no integer is."""
DECIDES = [
    ("if {0} > 0:\n    E[1] = 0", "branch"),
    ("while {0} > 7:\n    E[1] = 0", "branch"),
    ("assert {0} == 0, 'no'", "branch"),
    ("for i in range({0}):\n    E[1] = 0", "that is undef"),
    ("for i in range({0}, 3):\n    E[1] = 0", "that is undef"),
    ("E[{0}] = 0", "that is undef"),
    ("E[1] = E[{0}]", "that is undef"),
    ("D[0:4] = D.vload([T.Ramp(0, 1, 4)], predicate=T.Broadcast({0}, 4) > T.Ramp(0, 1, 4))", "branch"),
    ("D.vstore([T.Ramp(0, 1, 4)], T.Ramp(0, 1, 4), predicate=T.Broadcast({0} == 0, 4))", "branch"),
    (
        "E.vstore([T.Ramp({0}, 1, 2)], T.Broadcast(1, 2), predicate=T.Ramp(0, 1, 2) < T.Broadcast(n, 2))",
        "that is undef",
    ),
    ("x: T.let[T.int32] = {0} + 1\nt = T.alloc_buffer((x,), 'int32')\nt[0] = 5\nD[0] = t[0]", "extent"),
    (
        "x: T.let[T.int32] = {0} + 1\nv = T.decl_buffer((2,), 'int32', data=E.data, strides=(x,))\nv[1] = 0",
        "that is undef",
    ),
    (
        "x: T.let[T.int32] = {0}\nv = T.decl_buffer((2,), 'int32', data=E.data, elem_offset=x)\nv[1] = 0",
        "that is undef",
    ),
    ("D[0] = T.if_then_else({0} > 0, 1, 2)", "branch"),
    ("D[0] = {0} // -1", "overflow"),
    ("D[0] = n // ({0} + 1)", "that is undef"),
    ("D[0] = n % ({0} + 1)", "that is undef"),
    ("D[0] = T.truncdiv(n, {0} + 2)", "that is undef"),
    ("D[0] = T.truncmod(n, {0} + 1)", "that is undef"),
    ("D[0] = n << {0}", "shift"),
    ("D[0] = n >> {0}", "shift"),
    ("D[0] = T.Let(T.if_then_else(x > 0, 1, 2), where={{x: {0}}})", "branch"),
    ("D[0] = T.Let(E[0], where={{x: T.Let(n >> y, where={{y: {0}}})}})", "shift"),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("tail", "claim"), DECIDES)
def test_a_result_decides(tail: str, claim: str) -> None:
    f = deciding(tail, RESULT)
    assert isinstance(found := verify_program(f, PROVER), tuple), found
    step, reason = unlicensed(f, "B")
    assert step == -1 and claim in reason
    other = deciding(tail, RESULT.replace("B", "K"))
    accepted(licensed_for(other, "B"), of_all(other))


def deciding(tail: str, result: str) -> PrimFunc:
    params = PARAMS + ', E: T.Buffer((8,), "int32"), K: T.Buffer((1,), "float32"), n: T.int32'
    return program(ZERO + tail.format(result), params)


def of_all(func: PrimFunc) -> Reassociate:
    """The product of all factors by itself."""
    return Reassociate((2,), Buffer.declare("P", (1,), "float32"), (const(0),))


@pytest.mark.parametrize("tail", ["D[0] = {0}", "D[0] = {0} * 2 + 1", "D[0] = {0} // 2",
                                  "D[0] = {0} << 2", "D[0] = T.Select({0} > 0, 1, 2)",
                                  "D[0] = T.Let(x + 1, where={{x: {0}}})"])  # fmt: skip
def test_a_result_that_is_stored_decides_nothing(tail: str) -> None:
    f = deciding(tail, RESULT)
    accepted(licensed_for(f, "B"), of_all(f))


# -- lemmas ------------------------------------------------------------------------------------------------------------

COPIED = 'B: T.Buffer((1,), "float32"), ' + ", ".join(f'{name}: T.Buffer((1,), "int32")' for name in "DEFGHC")
COPIES = "".join(f"{to}[0] = {of}[0]\n" for of, to in ("DE", "EF", "FG", "GH"))
TAIL = "D[0] = T.if_then_else(T.isnan(B[0]), T.undef('int32'), 5)\n" + COPIES + "C[0] = 0"
MULTIPLIED = "B[0] = T.float32(0)\n" + 2 * "B[0] = B[0] * T.float32(1e30)\n" + TAIL
"""0.0, and NaN if the factors are multiplied first: then D, and what is copied of it, is undefined."""


def test_that_a_product_is_no_nan_was_a_lemma() -> None:
    """Of H it was found out that it is defined throughout, by way of all that it was copied from: the obligation that
    uses it shows no float.  ``C[0] = 0`` becomes ``C[0] = H[0] * 0``, which is 0 if H[0] is defined."""
    f = program(MULTIPLIED, COPIED)
    of_a_copy = rewritten((8,), (0,), binary("mul", load(buffer_of(f, "H"), 0), const(0)))
    theorem = reflexive(f, definite=True)
    used = rolled(steps(theorem, of_a_copy), sums=False)
    step, reason = unlicensed(used, "B")
    assert step == 0 and "H[0] * 0 equals 0" in reason
    apart = Reassociate((1,), Buffer.declare("P", (1,), "float32"), (const(0),))
    accepted(licensed_for(rolled(theorem, sums=False), "B"), apart)
    arrays = {b.name: np.ones(1, str(b.dtype)) for b in f.buffers}
    assert run(f, arrays).defined["C"].tolist() == [True]
    wrong = accepted(licensed_for(used.after, "B"), apart)
    assert run(wrong, arrays).defined["C"].tolist() == [False]


# -- what was proved before, and is proved again -----------------------------------------------------------------------


def test_what_needed_no_licence_may_need_one_then() -> None:
    """The greatest has the same bits in any order as C[0] is 2.0; a tree of other bits may be -0.0."""
    text = (
        "C[0] = T.float32(1)\nC[0] = C[0] * T.float32(2)\nB[0] = T.float32('-inf')\nfor k in range(2):\n"
        "    B[0] = T.max(B[0], T.if_then_else(T.isnan(C[0]), T.float32(1), C[0]))"
    )
    f = program(text, FLOATS)
    theorem = steps(f, Reassociate((3,), Buffer.declare("P", (2,), "float32"), (variable(f, "k"),)))
    assert theorem.reassociated == frozenset()
    step, reason = unlicensed(theorem, "C")
    assert step == 0 and "no term of the max into B is -0.0" in reason
    assert licensed_for(theorem, "B", "C").reassociated == blocks_of(f, "B")
    assert licensed_for(f, "B", "C").reassociated == frozenset()


def test_a_block_that_is_shared_with_one_without_licence_has_none() -> None:
    """Whether the block is a new one or that of the licensed buffer."""
    f = program(
        "".join(
            f'with T.alloc_buffer((1,), "float32") as {p}:\n    {p}[0] = T.float32(0)\n    for {k} in range(4):\n'
            f"        {p}[0] = {p}[0] + A[{k}]\n    B[{x}] = {p}[0]\n"
            for p, k, x in (("P", "k", 0), ("Q", "l", 1))
        ),
        'A: T.Buffer((4,), "float32"), B: T.Buffer((2,), "float32")',
    )
    partial = Buffer.declare("R", (2,), "float32")
    for data in (None, buffer_of(f, "P").data, buffer_of(f, "Q").data):
        block = Buffer.declare("w", (1,), "float32", data=data)
        share, split = MergeAllocations((), (0, 1), block), Reassociate((0, 1, 0, 1), partial, (variable(f, "l") % 2,))
        assert block.data not in steps(licensed_for(f, "P"), share).licensed
        refused(steps(licensed_for(f, "P"), share), split, "the same bits in any order")
        done = steps(licensed_for(f, "P", "Q"), share, split)
        assert done.reassociated == blocks_of(f, "P", "Q")


def test_a_value_does_not_become_a_term_of_a_sum() -> None:
    """B[0] begins anew with the term A[0] + A[1], which is 0.0 here, so that each order gives 2.0; were A[1] a term of
    its own, another order would give 1.0."""
    f = program(
        "B[0] = A[0]\nx: T.let[T.float32] = B[0]\nfor k in range(3):\n"
        "    B[0] = T.if_then_else(k == 0, A[0] + A[1], B[0] + A[k + 1])",
        params := 'A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")',
    )
    k, a, b = variable(f, "k"), buffer_of(f, "A"), buffer_of(f, "B")
    path, own = (1, 0, 0), load(b, 0)
    update = binary("add", own, load(a, k + 1))
    accepted(f, rewritten(path, (0,), update))
    start, words = licensed_for(f, "B"), "reads what a licence leaves open, and in another way"
    refused(start, rewritten(path, (0,), update), words)
    refused(start, rewritten(path, (0, 1, 0), own), words)
    refused(start, rewritten(path, (0, 1, 0), variable(f, "x")), words)
    done = accepted(start, rewritten(path, (0, 2), binary("add", load(b, k - k), load(a, 1 + k))))
    assert "T.if_then_else(k == 0, A[0] + A[1], B[k - k] + A[1 + k])" in body_of(done)
    g = program("x: T.let[T.float32] = B[0]\nB[0] = B[0] + A[1]", params)
    assert "B[0] = x + A[1]" in body_of(accepted(licensed_for(g, "B"), rewritten((0,), (0, 0), variable(g, "x"))))


AB = 'A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")'
READS = "reads what a licence leaves open, and in another way"


def test_a_term_that_changes_the_bits_of_no_order_yet_may_not_go() -> None:
    """``B * 5.0`` is B, as B is 0.0; as a factor among others it is not neutral."""
    f = program("B[0] = T.float32(0)\nB[0] = B[0] * T.float32(5)\nB[0] = B[0] * T.float32(1)", AB)
    own = load(buffer_of(f, "B"), 0)
    accepted(f, rewritten((1,), (0,), own), rewritten((2,), (0,), own))
    start = licensed_for(f, "B")
    refused(start, rewritten((1,), (0,), own), "B[0] equals B[0] * T.float32(5.0)")
    accepted(start, rewritten((2,), (0,), own))


def test_an_element_is_not_what_it_was_not_before() -> None:
    """The sum would have B[0] among its terms, and not the A[0] that it is."""
    f = program("B[0] = A[0]\nx: T.let[T.float32] = A[0]\nB[0] = x + A[1]", AB)
    a, b = buffer_of(f, "A"), buffer_of(f, "B")
    into_let = rewritten((1,), (0,), load(b, 0))
    accepted(f, into_let)
    refused(licensed_for(f, "B"), into_let, READS)
    f = program("B[0] = A[0]\nB[0] = A[0] + A[1]\nB[0] = B[0] + A[2]", AB)
    a, b = buffer_of(f, "A"), buffer_of(f, "B")
    into_sum = rewritten((1,), (0,), binary("add", load(b, 0), load(a, 1)))
    accepted(f, into_sum)
    refused(licensed_for(f, "B"), into_sum, READS)
    turned = rewritten((2,), (0,), binary("add", load(a, 2), load(b, 0)))
    assert "A[2] + B[0]" in body_of(accepted(licensed_for(f, "B"), turned))


def test_a_term_that_changes_no_bits_changes_other_orders() -> None:
    """1e30 + 1 is 1e30; 1 + A[0] may be another number than A[0], where the terms come in another order."""
    params = 'A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")'
    f = program("B[0] = T.float32(1e30)\nfor k in range(4):\n    B[0] = B[0] + A[k]", params)
    b = buffer_of(f, "B")
    added = Insert((0,), store(b, load(b, 0) + FloatImm(b.dtype, 1.0), 0), "after")
    accepted(f, added)
    refused(licensed_for(f, "B"), added, "writes the bits that are there already (Refuted)")


# -- which premises hold of every order --------------------------------------------------------------------------------

FOUR = ", ".join(f'{name}: T.Buffer((4,), "float32")' for name in "ABDE") + ", n: T.int32"


def test_what_another_block_holds_is_a_premise_where_no_term_changes() -> None:
    """The trees of a run are given there.  A term of another sum, and what is bound and may become one, is a term."""
    f = program("B[0] = B[0] + A[0]\nD[0] = B[0]\nE[0] = D[0]", FOUR)
    copied = rewritten((2,), (0,), load(buffer_of(f, "B"), 0))
    accepted(f, copied)
    accepted(licensed_for(f, "B"), copied)
    accepted(licensed_for(f, "A"), copied)
    refused(licensed_for(f, "B", "E"), copied, READS)
    g = program("B[0] = B[0] + A[0]\nD[0] = B[0]\nx: T.let[T.float32] = D[0]\nE[0] = x", FOUR)
    bound = rewritten((2,), (0,), load(buffer_of(g, "B"), 0))
    accepted(g, bound)
    refused(licensed_for(g, "B"), bound, READS)


def test_what_a_condition_says_of_a_result_is_a_premise_where_no_term_changes() -> None:
    """In each order in which the run gets there, B[0] is 1.0 or a NaN; but B[0] keeps its factors."""
    f = program("if T.Not(B[0] < T.float32(1)) and T.Not(B[0] > T.float32(1)):\n"
                "    E[0] = T.if_then_else(B[0] <= T.float32(2) or B[0] != B[0], A[0], A[1])\n"
                "    B[0] = T.if_then_else(B[0] <= T.float32(2) or B[0] != B[0], A[0], A[1])", FOUR)  # fmt: skip
    a = load(buffer_of(f, "A"), 0)
    elsewhere, in_the_sum = rewritten((0, 0), (0,), a), rewritten((0, 1), (0,), a)
    accepted(f, elsewhere, in_the_sum)
    accepted(licensed_for(f, "B"), elsewhere)
    refused(licensed_for(f, "B"), in_the_sum, "equals")
    refused(licensed_for(f, "B"), rewritten((0, 0), (0,), load(buffer_of(f, "A"), 1)), "equals")


def test_a_condition_beside_one_on_the_result_is_a_premise() -> None:
    """That n > 3 was found true together with something else, which is none."""
    f = program(
        "if B[0] > T.float32(0) and n > 3:\n    if n > 3:\n        if B[0] > T.float32(-1):\n            E[0] = A[0]",
        FOUR,
    )
    start = licensed_for(f, "B")
    accepted(start, moves.decide((0,), True))
    accepted(f, moves.decide((0, 0), True))
    refused(start, moves.decide((0, 0), True), "the branch is always taken here")


@pytest.mark.parametrize(("first", "begins"), [("n > 3", True), ("T.call_extern('int32', 'g') > 3", False)])
def test_what_a_call_may_have_written_is_computed(first: str, *, begins: bool) -> None:
    """A store of what the program does not write begins anew, and the element is known to hold it."""
    f = program(f"if {first}:\n    D[0] = T.float32(1)\nB[0] = A[0] + A[1]\nE[0] = B[0]", FOUR)
    a = buffer_of(f, "A")
    known = rewritten((2,), (0,), binary("add", load(a, 0), load(a, 1)))
    accepted(f, known)
    if begins:
        accepted(licensed_for(f, "B"), known)
    else:
        refused(licensed_for(f, "B"), known, "A[0] + A[1] equals B[0]")


SUMS = """
t = T.alloc_buffer((4,), "float32")
for i in range({count}):
    D[i] = A[i]
    t[i] = D[i] + A[i]
if t[3] > T.float32(0):
    E[0] = A[0]
"""


def test_a_sum_that_was_stored_is_defined_whatever_its_bits_are() -> None:
    f = program(SUMS.format(count=4), FOUR)
    assert licensed_for(f, "t").licensed == blocks_of(f, "t")
    step, reason = unlicensed(program(SUMS.format(count=3), FOUR), "t")
    assert step == -1 and "a branch on undef" in reason
