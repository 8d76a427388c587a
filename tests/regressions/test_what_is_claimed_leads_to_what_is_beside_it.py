"""``assume(A[0] == undef and c)`` says that A[0] may be evaluated; where it leads to c it was taken for a comparison.

Of a float that comparison says that it is not a NaN: so ``A[0] == A[0]`` was true there, and the assumption became one
that a NaN breaks.
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule, ir, parse_func
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.rules.rewrite import Edit, Rewrite
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.logic.solver import Solver

TEXT = """
@T.prim_func
def f(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    T.assume({claim})
    if T.isnan(A[0]):
        B[0] = 1.0
"""
TRUE, CLAIM = "T.bool(True)", 'A[0] == T.undef("float32")'


def second_operand_becomes_equality(claim: str, word: str) -> bool:
    """Whether the operand behind a claim may become ``A[0] == A[0]``."""
    func = parse_func(TEXT.format(claim=f"{claim} {word}"))
    load = next(n for n in ir.nodes_of(func.body, ir.Load))
    edit = Edit((), (0, 1), ir.Binary("eq", load, load))
    made = apply(Rewrite((0,), (edit,)), reflexive(func, definite=True), Prover(Solver()))
    return isinstance(made, Refines)


@pytest.mark.parametrize(
    ("claim", "allowed"), [(CLAIM, False), ('T.undef("float32") == A[0]', False), ("A[0] == T.float32(1)", True)]
)
def test_what_stands_behind_and(claim: str, allowed: bool) -> None:
    assert second_operand_becomes_equality(claim, f"and {TRUE}") is allowed


def test_what_stands_behind_or() -> None:
    """It is never asked, behind a claim."""
    assert second_operand_becomes_equality(CLAIM, f"or {TRUE}")
    assert not second_operand_becomes_equality("A[0] == T.float32(1)", f"or {TRUE}")


def test_simplify_keeps_the_branch() -> None:
    s = Schedule(TEXT.format(claim=f"{CLAIM} and {TRUE}"))
    s.simplify()
    assert "T.isnan(A[0])" in s.script()
