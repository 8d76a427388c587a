"""Floats taken for unknown things: what follows from equal operands, and what does not."""

from __future__ import annotations

import pytest

from tests.logic.terms import below, plus, times
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.generalise import Hidden, generalise
from verified_tir.logic.names import has_floats
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved

SOLVER = Solver()
I, J = f.var("i", f.INT), f.var("j", f.INT)
A, B = f.var("a", "F32"), f.var("b", "F32")
D = f.var("a", "F64")


def load(name: str, i: Term, sort: str = "F32") -> Term:
    return f.app(name, (i,), sort)


def follows(given: tuple[Term, ...], goal: Term) -> bool:
    *premises, conclusion = generalise((*given, goal), Hidden(floats=True))
    assert not any(has_floats(t) for t in (*premises, conclusion))
    return isinstance(SOLVER.prove(tuple(premises), conclusion), Proved)


SAME = f.eq(f.add(f.mul(f.integer(4), f.floordiv(I, f.integer(4))), f.floormod(I, f.integer(4))), J)
ONE, ZERO, MINUS = (f.floating("F32", bits) for bits in (0x3F800000, 0, 0x80000000))

TRUE: list[tuple[tuple[Term, ...], Term]] = [
    ((SAME,), f.eq(load("X", I), load("X", J))),
    ((SAME,), f.eq(times(load("X", I), plus(A, load("Y", J))), times(load("X", J), plus(A, load("Y", I))))),
    ((f.eq(A, B),), f.eq(plus(A, ONE), plus(B, ONE))),
    ((f.eq(A, B), below(A, ONE)), below(B, ONE)),
    ((f.implies(SAME, f.eq(load("X", I), A)), SAME), f.eq(plus(load("X", J), A), plus(A, A))),
    ((SAME,), f.eq(f.ite(below(A, B), load("X", I), A), f.ite(below(A, B), load("X", J), A))),
    ((f.eq(I, J),), f.eq(f.fp("fp.from_int", "F32", I), f.fp("fp.from_int", "F32", J))),
]

UNKNOWN: list[tuple[tuple[Term, ...], Term]] = [
    ((), f.eq(load("X", I), load("X", J))),
    ((SAME,), f.eq(load("X", I), load("Y", J))),
    ((), f.eq(plus(A, B), times(A, B))),
    ((), f.eq(plus(A, MINUS), A)),  # true, but not for that reason
    ((), f.eq(plus(A, ZERO), A)),
    ((f.fp("fp.eq", f.BOOL, A, B),), f.eq(plus(A, ONE), plus(B, ONE))),  # -0.0 == 0.0, and a NaN equals nothing
    ((), f.fp("fp.eq", f.BOOL, A, A)),
    ((), f.eq(ZERO, MINUS)),
    ((), f.eq(plus(A, ONE), plus(A, ZERO))),
    ((), f.eq(f.fp("fp.from_int", "F32", I), f.fp("fp.from_int", "F32", J))),
    ((f.eq(A, B),), below(D, f.var("b", "F64"))),  # of one name, and of another sort
    ((f.eq(f.fp("fp.abs", "F32", A), f.fp("fp.abs", "F32", B)),), f.eq(A, B)),
]


@pytest.mark.parametrize("k", range(len(TRUE)))
def test_equal_operands_give_equal_results(k: int) -> None:
    assert follows(*TRUE[k])


@pytest.mark.parametrize("k", range(len(UNKNOWN)))
def test_nothing_else_is_known(k: int) -> None:
    assert not follows(*UNKNOWN[k])


def test_the_float_path_asks() -> None:
    """Equations of loads, under a premise about integers that nonlinear arithmetic gives."""
    given, goal = TRUE[1]
    verdict = Solver().prove(given, goal, quick=True)
    assert isinstance(verdict, Proved) and verdict.how in ("congruence", "lemma")
