"""A lemma that was proved from the bits of a float result counts, though the obligation that used it shows no float."""

from __future__ import annotations

import numpy as np

from tests.kernel.programs import PROVER, load, program, why
from tests.kernel.programs import buffer as buffer_of
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var, binary, const
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.order import Join
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.reindex import NewLoop, Reindex
from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.kernel.rules.unit import WrapUnit
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.semantics.interpreter import run

PARAMS = 'B: T.Buffer((1,), "float32"), ' + ", ".join(f'{name}: T.Buffer((1,), "int32")' for name in "DEFGHC")
COPIES = "".join(f"{to}[0] = {of}[0]\n" for of, to in ("DE", "EF", "FG", "GH"))
TAIL = "D[0] = T.if_then_else(T.isnan(B[0]), T.undef('int32'), 5)\n" + COPIES + "C[0] = 0"
PRODUCT = "B[0] = T.float32(0)\n" + 2 * "B[0] = B[0] * T.float32(1e30)\n" + TAIL
"""0.0, and NaN if the factors are multiplied first: then D, and what is copied of it, is undefined."""


def after(theorem: Refines, *rules: Rule) -> Refines:
    for rule in rules:
        new = apply(rule, theorem, PROVER)
        assert isinstance(new, Refines), why(new)
        theorem = new
    return theorem


def rolled(theorem: Refines) -> Refines:
    """The two multiplications as a loop."""
    for place in (1, 2):
        k, v, low = Var.fresh("k"), Var.fresh("v"), place - 1
        loop = NewLoop(k, const(low), const(1))
        theorem = after(theorem, WrapUnit((place,), v), Reindex((place,), 1, (loop,), (), (k - low,), (v + low,)))
    return after(theorem, Join((), 1))


def of_a_copy(func: PrimFunc) -> Rewrite:
    """``C[0] = 0`` becomes ``C[0] = H[0] * 0``, which is 0 if H[0] is defined."""
    return Rewrite((8,), (0,), binary("mul", load(buffer_of(func, "H"), 0), const(0)))


def apart(theorem: Refines) -> Refines | object:
    return apply(Reassociate((1,), Buffer.declare("P", (1,), "float32"), (const(0),), "B"), theorem, PROVER)


def test_that_a_product_is_no_nan_was_a_lemma() -> None:
    """Of H it was found out that it is defined throughout, by way of all that it was copied from."""
    theorem = reflexive(program(PRODUCT, PARAMS), definite=True)
    used = rolled(after(theorem, of_a_copy(theorem.after)))
    refusal = apart(used)
    assert isinstance(refusal, NoMatch) and "proved from the bits of a result: H[0] * 0 equals 0" in refusal.reason
    other = apart(rolled(theorem))
    assert isinstance(other, Refines)
    arrays = {b.name: np.ones(1, str(b.dtype)) for b in theorem.after.buffers}
    assert run(theorem.after, arrays).defined["C"].tolist() == [True]
    wrong = apart(reflexive(used.after))
    assert isinstance(wrong, Refines)
    assert run(wrong.after, arrays).defined["C"].tolist() == [False]
