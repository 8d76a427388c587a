"""What a sum had come to was passed to a lemma as a scalar: there the sum that goes on from it began anew.

``w = B[0]; B[0] = w + A[2]`` adds a term to B, in any order.  A lemma about ``B[0] = w + A[2]`` with a parameter w
knows the bits of that store, and of whatever is copied from it.
"""

from __future__ import annotations

import pytest

from verified_tir import ir, parse_func
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.call import Refine
from verified_tir.kernel.theorem import Refines, apply, licensed, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.schedule.edits import rewritten

PARAMS = 'A: T.Buffer((3,), "float32"), B: T.Buffer((1,), "float32"), D: T.Buffer((1,), "float32")'
BODY = "B[0] = w + A[2]\n        D[0] = B[0]"
PROVER = Prover(Solver())
CALLER = """
@T.prim_func
def f({params}):
    B[0] = A[0]
    w: T.let[T.float32] = {bound}
    with T.block("x"):
        {body}
"""
LEMMA = """
@T.prim_func
def g({params}, w: T.float32):
    {body}
"""


def theorem_of(func: ir.PrimFunc, definite: bool = False) -> Refines:
    made = licensed(reflexive(func, definite=definite), frozenset({func.buffers[1].data}), PROVER)
    assert isinstance(made, Refines)
    return made


@pytest.mark.parametrize(("bound", "allowed"), [("B[0]", False), ("B[0] * T.float32(2)", False), ("A[1]", True)])
def test_what_may_be_passed_for_a_scalar(bound: str, allowed: bool) -> None:
    body = BODY.replace("\n        ", "\n    ")
    lemma = parse_func(LEMMA.format(params=PARAMS, body=body))
    a = lemma.buffers[0]
    w = next(p for p in lemma.params if p.name == "w")
    total = ir.Binary("add", w, ir.Load(a, (ir.const(2),)))
    copied = apply(rewritten((1,), (0,), total), theorem_of(lemma), PROVER)  # D[0] = w + A[2]
    assert isinstance(copied, Refines)
    func = parse_func(CALLER.format(params=PARAMS, body=BODY, bound=bound))
    ((path, let),) = ir.places(func.body, lambda s: isinstance(s, ir.LetStmt))
    assert isinstance(let, ir.LetStmt)
    rule = Refine((*path, 0, 0), copied, Arguments(func.buffers, ((w, let.var),)))
    made = apply(rule, theorem_of(func, definite=True), PROVER)
    assert isinstance(made, Refines if allowed else NoMatch), made
    if isinstance(made, NoMatch):
        assert "a sum whose order is open" in made.reason
