"""Two classic faults, put into the rule ``call``: binders that are not renamed apart, and what is assumed elsewhere.

Each test shows the sound kernel at work, and then what the fault would do: so the refusal rests on that piece.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernel.programs import PROVER, program, take, variable, why
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.ir.sugar import const
from verified_tir.kernel import calls
from verified_tir.kernel.begin import scalars_of
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.rules import call
from verified_tir.kernel.rules.call import Refine
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.schedule import moves
from verified_tir.semantics.interpreter import refines, run

CLEAR = """
@T.prim_func
def clear(X: T.Buffer((4,), "int32")):
    for k in range(4):
        X[k] = 0
"""
TWICE = program("for i in range(4):\n    A[i] = 0\nfor j in range(4):\n    A[j] = 0", 'A: T.Buffer((4,), "int32")')


def both_calls() -> object:
    """Both nests become the same refinement of ``clear``."""
    lemma = take(moves.split_index_set((), const(2)), reflexive(parse_func(CLEAR)))
    assert isinstance(lemma, Refines), why(lemma)
    theorem: object = reflexive(TWICE)
    for path in ((1,), (0,)):
        assert isinstance(theorem, Refines)
        theorem = apply(Refine(path, lemma, Arguments(TWICE.buffers)), theorem, PROVER)
    return theorem


def test_a_lemma_may_be_used_twice() -> None:
    assert isinstance(both_calls(), Refines)


def test_without_renaming_apart_no_program_would_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of the lemma would be bound twice; facts about the one would be taken for facts about the other."""
    monkeypatch.setattr(calls.ir, "refresh_binders", lambda stmt: (stmt, {}))
    result = both_calls()
    assert not isinstance(result, Refines)
    assert "is bound twice" in why(result)  # type: ignore[arg-type]


GUARDED = """
@T.prim_func
def guarded(X: T.Buffer((4,), "int32"), n: T.int32):
    T.assume(X[0] == 7)
    if X[0] == 7:
        X[1] = n
"""


def without_guard(body: str) -> tuple[PrimFunc, object]:
    """``guarded`` needs no condition, since it assumes it; put in the place of ``body``."""
    lemma = take(moves.decide((1,), True), reflexive(parse_func(GUARDED)))
    assert isinstance(lemma, Refines), why(lemma)
    func = program(f"with T.block('b'):\n    {body}", 'A: T.Buffer((4,), "int32"), m: T.int32')
    (n,) = scalars_of(lemma.before)
    return func, apply(
        Refine((0,), lemma, Arguments(func.buffers, ((n, variable(func, "m")),))), reflexive(func), PROVER
    )


ASSUMED = "T.assume(A[0] == 7)\n    if A[0] == 7:\n        A[1] = m"


def test_what_the_lemma_assumes_must_stand_there() -> None:
    _, result = without_guard(ASSUMED)
    assert isinstance(result, Refines)
    for body in (
        "if A[0] == 7:\n        A[1] = m",
        "T.assume(A[0] == 7)\n    A[0] = m\n    if A[0] == 7:\n        A[1] = m",
        "T.assume(A[1] == 7)\n    if A[0] == 7:\n        A[1] = m",
    ):
        _, result = without_guard(body)
        assert "the statement is not guarded on the arguments" in why(result)  # type: ignore[arg-type]


def test_were_it_not_looked_for_the_result_would_be_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call.ir, "structural_equal", lambda stmt, instance: True)
    func, result = without_guard("if A[0] == 7:\n        A[1] = m")
    assert isinstance(result, Refines)
    a: dict[str, np.ndarray | int] = {"A": np.zeros(4, np.int32), "m": 5}
    kept = run(func, a)
    stripped = result.after.with_body(result.after.body.body.stmts[1])  # type: ignore[attr-defined]
    assert refines(kept, run(stripped, a))
