"""Transcendental calls are uninterpreted: equal arguments give equal results, and nothing else is known.

That they are defined just where the interpreter defines them is part of ``test_encode.py``.
"""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from tests.semantics.encode_agreement import constant
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import FLOAT32, DType
from verified_tir.ir.expr import Call, Cast, Expr, Var
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted
from verified_tir.semantics.encode import Encoded, Encoder, sort_of
from verified_tir.testing.dtypes import FLOATS
from verified_tir.testing.expressions import INTERPRETED_CALLS, UNINTERPRETED_CALLS

SOLVER = Solver()
CELLS = [(op, t) for op in UNINTERPRETED_CALLS for t in FLOATS]


def encode(expr: Expr, env: dict[Var, Term]) -> Term:
    encoded = Encoder({v: Encoded(t, f.TRUE, False) for v, t in env.items()}).encode(expr)
    assert encoded.defined is f.TRUE
    assert encoded.data
    return encoded.value


def two_calls(op: str, dtype: DType) -> tuple[list[Term], list[Term], Term, Term]:
    """The arguments and the results of two calls with arguments of their own."""
    arity = PURE_CALLS[op].arity
    variables = [Var.fresh(f"x{k}", DType.parse(dtype)) for k in range(2 * arity)]
    terms = {v: f.var(f"x{k}", sort_of(dtype)) for k, v in enumerate(variables)}
    left, right = variables[:arity], variables[arity:]
    results = [encode(Call(dtype, op, tuple(args)), terms) for args in (left, right)]
    return [terms[v] for v in left], [terms[v] for v in right], results[0], results[1]


@pytest.mark.parametrize(("op", "dtype"), CELLS, ids=str)
def test_equal_arguments_give_equal_results(op: str, dtype: DType) -> None:
    left, right, a, b = two_calls(op, dtype)
    same = tuple(f.eq(x, y) for x, y in zip(left, right, strict=True))
    assert isinstance(SOLVER.prove(same, f.eq(a, b)), Proved)
    # two NaNs are equal
    nan = constant(dtype, math.nan)
    assert isinstance(SOLVER.prove(tuple(f.fp("fp.isNaN", f.BOOL, x) for x in (*left, *right)), f.eq(a, b)), Proved)
    assert isinstance(SOLVER.prove(tuple(f.eq(x, nan) for x in (*left, *right)), f.eq(a, b)), Proved)
    # every argument counts
    for k in range(len(same)):
        assert isinstance(SOLVER.prove(same[:k] + same[k + 1 :], f.eq(a, b)), Refuted)


@pytest.mark.parametrize(("op", "dtype"), CELLS, ids=str)
def test_nothing_else_is_known(op: str, dtype: DType) -> None:
    left, right, a, b = two_calls(op, dtype)
    for x, y in [(1.0, 2.0), (0.0, -0.0), (math.inf, -math.inf)]:
        given = (*[f.eq(t, constant(dtype, x)) for t in left], *[f.eq(t, constant(dtype, y)) for t in right])
        assert isinstance(SOLVER.prove(given, f.eq(a, b)), Refuted)
        assert isinstance(SOLVER.prove(given, f.ne(a, b)), Refuted)
    ieee = tuple(
        f.fp("fp.eq", f.BOOL, x, y) for x, y in zip(left, right, strict=True)
    )  # the zeros are equal, and two arguments
    assert isinstance(SOLVER.prove(ieee, f.eq(a, b)), Refuted)
    assert isinstance(SOLVER.prove((), f.eq(a, constant(dtype, 0.0))), Refuted)
    assert isinstance(SOLVER.prove((), f.not_(f.fp("fp.isNaN", f.BOOL, a))), Refuted)


def test_functions_of_other_names_and_types_are_others() -> None:
    x = Var.fresh("x", FLOAT32)
    env = {x: f.var("x", "F32")}
    results = [encode(Call(FLOAT32, op, (x,)), env) for op in UNINTERPRETED_CALLS if PURE_CALLS[op].arity == 1]
    results += [encode(Call(FLOAT32, op, (x, x)), env) for op in UNINTERPRETED_CALLS if PURE_CALLS[op].arity == 2]
    assert len(set(results)) == len(UNINTERPRETED_CALLS)
    for a, b in pairwise(results):
        assert isinstance(SOLVER.prove((), f.eq(a, b)), Refuted)
    wide = Cast(FLOAT32, Call(DType("float", 64), "exp", (Cast(DType("float", 64), x),)))
    assert isinstance(SOLVER.prove((), f.eq(encode(wide, env), encode(Call(FLOAT32, "exp", (x,)), env))), Refuted)


def test_every_pure_call_is_of_one_sort_or_the_other() -> None:
    assert set(INTERPRETED_CALLS) <= set(PURE_CALLS)
    x = {t: Var.fresh("x", DType.parse(t)) for t in FLOATS}
    for op, t in CELLS:
        value = encode(Call(t, op, (x[t],) * PURE_CALLS[op].arity), {x[t]: f.var("x", sort_of(t))})
        assert value.op == "app"
