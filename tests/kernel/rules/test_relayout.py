"""The layout of a parameter changes, and what its padding holds is remembered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import (
    PROVER,
    accepted,
    blocks_of,
    body_of,
    buffer,
    licensed_for,
    load,
    program,
    refused,
    store,
    take,
    why,
)
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import FALSE, Expr, FloatImm, Undef, Var
from verified_tir.ir.stmt import SKIP, Evaluate, If
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.schedule import moves

x, y, z = Var.fresh("x"), Var.fresh("y"), Var.fresh("z")
FIVE = 'A: T.Buffer((5,), "int32"), B: T.Buffer((4,), "int32")'
TEXT = "for i in range(5):\n    A[i] = A[i] + 1\nB[0] = A[4]"
PADDED = LayoutMap((x,), (x // 2, x % 2), (y, z), (y * 2 + z,), (const(3), const(2)), binary("ge", y * 2 + z, 5))


def test_relayout() -> None:
    f = program(TEXT, FIVE)
    after = accepted(f, Relayout(buffer(f, "A"), PADDED, const(0)))
    loop = "for i in range(5):\n    A[i // 2, i % 2] = A[i // 2, i % 2] + 1"
    assert body_of(after) == f"{loop}\nB[0] = A[T.FloorDiv(4, 2), T.FloorMod(4, 2)]"
    assert [e.value for e in after.buffer_named("A").shape] == [3, 2]  # type: ignore[attr-defined]


def test_what_is_wrong_with_a_map() -> None:
    f = program(TEXT, FIVE)
    a = buffer(f, "A")
    exact = "layout: the padding of A is exactly where no element is mapped (Refuted)"
    refused(f, Relayout(a, replace(PADDED, padding=FALSE), const(0)), exact)
    refused(f, Relayout(a, replace(PADDED, outputs=(x // 2, const(0))), const(0)), "layout: no two elements of A")
    refused(f, Relayout(a, replace(PADDED, shape=(const(2), const(2))), const(0)), "layout: every element of A")
    refused(f, Relayout(a, PADDED, FloatImm(a.dtype.parse("float32"), 0.0)), "the padding has type float32")


def padded(pad: Expr | None) -> Refines:
    f = program(TEXT, FIVE)
    theorem = apply(Relayout(buffer(f, "A"), PADDED, pad), reflexive(f), PROVER)
    assert isinstance(theorem, Refines)
    return theorem


def test_what_the_padding_holds_is_known() -> None:
    theorem = padded(const(7))
    a = theorem.after.buffer_named("A")
    assert [p.value for p in theorem.paddings] == [const(7)]
    assert isinstance(apply(Insert((1,), store(a, 7, 2, 1)), theorem, PROVER), Refines)
    assert not isinstance(apply(Insert((1,), store(a, 8, 2, 1)), theorem, PROVER), Refines)
    assert not isinstance(apply(Insert((1,), store(a, 7, 2, 0)), theorem, PROVER), Refines)


def test_what_nobody_touches_holds_what_it_held() -> None:
    """Whatever is known at the end of what the program writes."""
    f = program("while A[0] > 3:\n    A[0] = A[0] - 1", FIVE)
    accepted(f, Relayout(buffer(f, "A"), PADDED, const(7)))


def test_padding_may_hold_anything_or_be_out_of_reach() -> None:
    theorem = padded(Undef(const(0).dtype))
    a = theorem.after.buffer_named("A")
    assert isinstance(apply(Insert((1,), store(a, 8, 2, 1)), theorem, PROVER), Refines)
    closed = padded(None)
    a = closed.after.buffer_named("A")
    assert not isinstance(apply(Insert((1,), Evaluate(load(a, 2, 1))), closed, PROVER), Refines)
    assert isinstance(apply(Insert((1,), Evaluate(load(a, 2, 0))), closed, PROVER), Refines)
    assert not isinstance(apply(Insert((1,), store(a, 8, 2, 1)), closed, PROVER), Refines)  # undefined, but not free
    assert not isinstance(apply(Insert((1,), If(load(a, 2, 1) > 0, SKIP)), closed, PROVER), Refines)


def test_what_does_not_fit() -> None:
    f = program('V = T.decl_buffer((2, 2), "int32", data=A.data)\nV[0, 0] = 1')
    four = LayoutMap((x,), (x,), (y,), (y,), (const(4),), FALSE)
    refused(f, Relayout(buffer(f, "A"), four, None), "A has other views or strides")
    f = program("A[0] = 1")
    five = LayoutMap((x,), (x,), (y,), (y,), (const(5),), y >= 4)
    moving, still = load(buffer(f, "A"), 0), load(buffer(f, "A"), 1)
    refused(f, Relayout(buffer(f, "A"), five, moving), "the padding of A holds its value at the end (Refuted)")
    refused(f, Relayout(buffer(f, "A"), five, still), "the padding of A holds its value at the end (Refuted)")
    accepted(reflexive(f, definite=True), Relayout(buffer(f, "A"), five, still))
    refused(
        f,
        Relayout(buffer(f, "B").with_data(Var.fresh("d", HANDLE), "C"), four, None),
        "C is not a parameter",
    )


PRODUCT = """
{0}[0] = 0.0
for i in range(2):
    {0}[0] = {0}[0] * T.float32(1e30)
if {0}[0] == T.float32(0.0):
    D[0] = 1
else:
    D[0] = 2
"""
"""0.0 in this order; NaN if the factors are multiplied first."""


@pytest.mark.parametrize("name", ["B", "t"])
def test_a_licence_moves_along(name: str) -> None:
    """The bits stay open: no branch is decided by them."""
    head = 't = T.alloc_buffer((1,), "float32")' if name == "t" else ""
    f = program(head + PRODUCT.format(name), 'B: T.Buffer((1,), "float32"), D: T.Buffer((1,), "int32")')
    aside = LayoutMap((x,), (x + 1,), (y,), (y - 1,), (const(2),), y < 1)
    rule, branch = (Couple((), aside), (0, 2)) if name == "t" else (Relayout(buffer(f, "B"), aside, None), (2,))
    for start in (reflexive(f), licensed_for(f, name)):
        theorem = apply(rule, start, PROVER)
        assert isinstance(theorem, Refines), why(theorem)
        found = take(moves.decide(branch, True), theorem)
        assert isinstance(found, Refines) is (not start.licensed)
        assert not start.licensed or theorem.licensed >= blocks_of(theorem.after, name)


def test_padding_that_the_program_may_not_touch_needs_no_proof_at_the_end() -> None:
    """Whether B[0] is an index of A nobody knows; if it is not, the program has no meaning."""
    f = program("A[B[0]] = 1", FIVE)
    accepted(f, Relayout(buffer(f, "A"), PADDED, const(0)))
