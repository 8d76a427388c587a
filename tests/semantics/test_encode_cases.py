"""Laziness, undefined operands, index arithmetic against data, and vectors: the cases that are easy to get wrong.

Each sample states what the interpreter says of it, so that the two meanings cannot be wrong together unnoticed.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from tests.semantics.encode_agreement import Operands, Sample, disagreement, frame_of, holds, interpreted
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, INT8, INT32, INT64, DType
from verified_tir.ir.expr import (
    TRUE,
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    IfThenElse,
    LetExpr,
    Load,
    LogicOp,
    Not,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Undef,
    Var,
)
from verified_tir.ir.stmt import Assume
from verified_tir.ir.sugar import const
from verified_tir.logic import formula as f
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved
from verified_tir.semantics.encode import Encoded, Encoder, Safety, Unencodable
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.interpreter.program import call_effect
from verified_tir.semantics.interpreter.statements import body_effect
from verified_tir.semantics.values import UNDEF, Number, Scalar

SOLVER = Solver()

BOOLS = Buffer.declare("bools", (3,), BOOL)
NUMBERS = Buffer.declare("numbers", (4,), INT32)
MEMORY: dict[Buffer, tuple[Scalar, ...]] = {BOOLS: (False, True, UNDEF), NUMBERS: (0, 7, -1, UNDEF)}

NO, YES, MAYBE = (Load(BOOLS, (const(k),)) for k in range(3))
ZERO, SEVEN, MINUS, ANY = (Load(NUMBERS, (const(k),)) for k in range(4))
TROUBLE = Binary("truncdiv", SEVEN, ZERO)
BOOL_TROUBLE = Binary("lt", TROUBLE, SEVEN)
I, J, X, P = Var.fresh("i", INT32), Var.fresh("j", INT32), Var.fresh("x", FLOAT32), Var.fresh("p", BOOL)
VALUES: dict[Var, Number] = {I: 5, J: INT32.max_value, X: 0.5, P: True}

NAMES = {NO: "no", YES: "yes", MAYBE: "maybe", BOOL_TROUBLE: "trouble"}


def check(expr: Expr, *expected: object) -> None:
    """Both meanings agree, and the interpreter's is this: the lanes, or the kind of undefined behaviour."""
    sample = Sample(expr, VALUES, MEMORY)
    found = interpreted(sample)
    assert (found if isinstance(found, tuple) else (found,)) == expected
    trouble = disagreement(SOLVER, [sample], counts=Counter())
    assert trouble is None, trouble


def lazily(op: LogicOp, left: Expr, right: Expr) -> object:
    """What docs say of ``and`` and ``or``."""
    value: dict[Expr, object] = {NO: False, YES: True, MAYBE: UNDEF, BOOL_TROUBLE: "division-by-zero"}
    if left is MAYBE:
        return "undef-branch"
    if left is BOOL_TROUBLE:
        return value[left]
    return value[left] if (left is YES) == (op == "or") else value[right]


@pytest.mark.parametrize("op", ["and", "or"])
@pytest.mark.parametrize(("left", "right"), list(product(NAMES, NAMES)), ids=lambda e: NAMES[e])
def test_logic_is_lazy(op: LogicOp, left: Expr, right: Expr) -> None:
    check(Binary(op, left, right), lazily(op, left, right))


@pytest.mark.parametrize("op", ["and", "or"])
@pytest.mark.parametrize("right", NAMES, ids=lambda e: NAMES[e])
def test_logic_of_lanes_evaluates_both_operands(op: LogicOp, right: Expr) -> None:
    left = Shuffle((NO, YES), (0, 1))
    lanes = [lazily(op, NO, right), lazily(op, YES, right)]
    expected = lanes if right is not BOOL_TROUBLE else ["division-by-zero"]
    check(Binary(op, left, Broadcast(right, 2)), *expected)
    check(Binary(op, Shuffle((NO, MAYBE), (0, 1)), Broadcast(right, 2)), *_undecided(right))


def _undecided(right: Expr) -> list[object]:
    return ["division-by-zero"] if right is BOOL_TROUBLE else ["undef-branch"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [(YES, 7), (NO, "division-by-zero"), (MAYBE, "undef-branch"), (BOOL_TROUBLE, "division-by-zero")],
)
def test_if_then_else_evaluates_one_arm(condition: Expr, expected: object) -> None:
    check(IfThenElse(condition, SEVEN, TROUBLE), expected)
    check(IfThenElse(Binary("bitxor", condition, YES), TROUBLE, SEVEN), expected)
    vector = IfThenElse(condition, Broadcast(SEVEN, 2), Broadcast(TROUBLE, 2))
    check(vector, *([expected] * 2 if condition is YES else [expected]))


def test_if_then_else_with_undefined_arms() -> None:
    check(IfThenElse(YES, SEVEN, ANY), 7)
    check(IfThenElse(NO, SEVEN, ANY), UNDEF)
    check(IfThenElse(YES, IfThenElse(NO, TROUBLE, Undef(INT32)), TROUBLE), UNDEF)
    check(IfThenElse(Binary("and", NO, MAYBE), TROUBLE, SEVEN), 7)
    check(IfThenElse(Binary("and", YES, MAYBE), SEVEN, SEVEN), "undef-branch")


@pytest.mark.parametrize(("condition", "expected"), [(YES, 7), (NO, UNDEF), (MAYBE, UNDEF)])
def test_select_takes_the_definedness_of_the_arm_it_takes(condition: Expr, expected: object) -> None:
    check(Select(condition, SEVEN, ANY), expected)
    check(Select(condition, SEVEN, Undef(INT32)), expected)
    check(Select(Not(condition), ANY, SEVEN), expected)
    check(Select(condition, SEVEN, TROUBLE), "division-by-zero")
    check(Select(Shuffle((condition, YES), (0, 1)), Broadcast(SEVEN, 2), Broadcast(ANY, 2)), expected, 7)
    check(Select(condition, Shuffle((SEVEN, ANY), (0, 1)), Broadcast(ANY, 2)), expected, UNDEF)


ACCESSIBLE, OUTSIDE = (Binary("eq", e, Undef(INT32)) for e in (ANY, Load(NUMBERS, (SEVEN,))))
CLAIMS = {**NAMES, ACCESSIBLE: "accessible", OUTSIDE: "outside"}


@pytest.mark.parametrize("op", ["and", "or"])
@pytest.mark.parametrize(("left", "right"), list(product(CLAIMS, CLAIMS)), ids=lambda e: CLAIMS[e])
def test_assumed_claims(op: LogicOp, left: Expr, right: Expr) -> None:
    """``x == undef`` says that x may be evaluated; anywhere else it is a comparison, with an undefined result."""
    for claim in (Binary(op, left, right), Binary(op, right, Binary(op, left, right))):
        sample, safety = Sample(claim, VALUES, MEMORY), list[Safety]()
        try:
            body_effect(Assume(claim), call_effect)(frame_of(sample))
            passed = True
        except UndefinedBehaviour:
            passed = False
        operands = Operands(sample, 0, folded=True)
        e = Encoder(dict(operands.env), operands.load, safety).claim(claim)
        conditions = f.and_(e.value, e.defined, *[holds(s) for s in safety])
        assert isinstance(SOLVER.prove((), conditions if passed else f.not_(conditions)), Proved)


def test_a_claim_about_undef_is_a_comparison_elsewhere() -> None:
    check(ACCESSIBLE, UNDEF)
    check(Binary("and", YES, ACCESSIBLE), UNDEF)
    check(Binary("or", ACCESSIBLE, YES), "undef-branch")


def test_undef_is_strict_but_for_division() -> None:
    undef = Undef(INT32)
    check(Binary("mul", undef, ZERO), UNDEF)
    check(Binary("bitand", MAYBE, NO), UNDEF)
    check(Binary("eq", undef, undef), UNDEF)
    check(Binary("truncdiv", ANY, SEVEN), UNDEF)
    check(Binary("truncdiv", ANY, MINUS), "undef-divisor")  # the least integer might overflow
    check(Binary("truncdiv", Cast(DType("uint", 32), ANY), Cast(DType("uint", 32), MINUS)), UNDEF)
    check(Binary("floormod", SEVEN, ANY), "undef-divisor")
    check(Binary("shl", ANY, SEVEN), UNDEF)
    check(Binary("shr", SEVEN, undef), "undef-shift")
    check(Load(NUMBERS, (undef,)), "undef-index")
    check(Load(NUMBERS, (SEVEN,)), "out-of-bounds")
    check(Load(NUMBERS, (MINUS,)), "out-of-bounds")
    check(Call(INT32, "abs", (undef,)), UNDEF)


def test_index_arithmetic_overflows_and_data_wraps() -> None:
    one, least = const(1), INT32.min_value
    check(Binary("add", J, one), "index-overflow")
    check(Binary("sub", Binary("add", J, one), one), "index-overflow")  # on the way
    check(Binary("add", J, Cast(INT32, one)), least)
    check(Binary("add", J, SEVEN), least + 6)
    check(Binary("add", J, IfThenElse(Binary("lt", I, SEVEN), one, one)), least)  # a load in the condition
    check(Binary("add", J, Select(P, one, one)), "index-overflow")
    check(Binary("add", J, Select(Binary("lt", X, const(1.0, FLOAT32)), one, one)), least)
    check(Binary("add", J, Select(Binary("lt", X, X), I, one)), least)  # a float variable is not an index
    check(Binary("add", J, Load(NUMBERS, (Binary("sub", I, const(4)),))), least + 6)
    check(Load(NUMBERS, (Binary("sub", Binary("mul", J, J), I),)), "index-overflow")
    check(Binary("add", J, Call(INT32, "likely", (one,))), least)
    check(Cast(INT64, Binary("add", J, one)), "index-overflow")
    check(Binary("add", Cast(INT64, J), const(1, INT64)), INT32.max_value + 1)
    check(Call(INT32, "abs", (const(least),)), least)


def test_a_let_is_what_it_is_bound_to() -> None:
    t, v = Var.fresh("t", INT32), Var.fresh("v", INT32.with_lanes(2))
    check(LetExpr(t, J, Binary("add", t, const(1))), "index-overflow")
    check(LetExpr(t, SEVEN, Binary("add", Binary("add", J, t), const(1))), INT32.min_value + 7)
    check(LetExpr(t, TROUBLE, SEVEN), "division-by-zero")  # evaluated, used or not
    check(LetExpr(t, ANY, Select(YES, SEVEN, t)), 7)
    check(LetExpr(t, ANY, Binary("add", t, t)), UNDEF)
    check(IfThenElse(NO, LetExpr(t, TROUBLE, t), SEVEN), 7)
    lanes = Shuffle((SEVEN, ANY), (0, 1))
    check(LetExpr(v, lanes, v), 7, UNDEF)
    check(LetExpr(v, lanes, Shuffle((v, v), (2, 1, 0))), 7, UNDEF, 7)
    check(LetExpr(v, lanes, Shuffle((v,), (0,))), 7)
    check(LetExpr(v, Ramp(I, const(2), 2), Binary("sub", Shuffle((v,), (1,)), Shuffle((v,), (0,)))), 2)
    check(LetExpr(v, Shuffle((SEVEN, TROUBLE), (0, 1)), SEVEN), "division-by-zero")  # in a lane that nobody uses
    check(LetExpr(v, Shuffle((SEVEN, I), (0, 1)), Binary("add", J, const(1))), "index-overflow")
    check(LetExpr(v, lanes, Binary("add", J, Shuffle((v,), (0,)))), INT32.min_value + 6)


def test_vectors() -> None:
    one, two = const(1), const(2)
    check(Ramp(Binary("sub", J, two), one, 3), *[INT32.max_value - k for k in (2, 1, 0)])
    check(Ramp(Binary("sub", J, one), one, 3), "index-overflow")
    check(Ramp(J, SEVEN, 2), INT32.max_value, INT32.min_value + 6)
    check(Ramp(ANY, one, 2), UNDEF, UNDEF)
    check(Shuffle((Ramp(I, one, 3), Broadcast(SEVEN, 2)), (4, 2, 0)), 7, 7, 5)
    check(Shuffle((Ramp(Binary("sub", J, I), one, 2),), (0,)), INT32.max_value - 5)
    check(Shuffle((Ramp(J, one, 2),), (0,)), "index-overflow")  # in the lane that is not taken
    check(Shuffle((Load(NUMBERS, (Ramp(const(3), one, 2),)),), (0,)), "out-of-bounds")
    check(Binary("add", J, Shuffle((SEVEN, one), (1,))), INT32.min_value)  # data, though it takes the constant
    check(Load(NUMBERS, (Ramp(const(0), one, 4),)), *MEMORY[NUMBERS])
    check(Load(NUMBERS, (Ramp(const(1), two, 2),)), 7, UNDEF)


def test_elements_with_lanes() -> None:
    wide = Buffer.declare("wide", (2,), INT8.with_lanes(2))
    sample = Sample(Load(wide, (Ramp(const(1), const(-1), 2),)), {}, {wide: (1, 2, 3, UNDEF)})
    assert interpreted(sample) == (3, UNDEF, 1, 2)
    trouble = disagreement(SOLVER, [sample], counts=Counter())
    assert trouble is None, trouble


def test_what_has_no_value_in_the_logic_is_refused() -> None:
    free = Var.fresh("free", INT32)
    vector = Var.fresh("vector", INT32.with_lanes(2))
    env = {vector: Encoded(f.integer(0), f.TRUE, False)}
    for expr, lane in [
        (free, None),
        (vector, f.integer(0)),
        (StringImm("text"), None),
        (Call(INT32, "call_extern", (StringImm("f"),)), None),
        (Call(INT32, "reinterpret", (Broadcast(const(1, INT8), 4),)), None),
        (SEVEN, None),
    ]:
        with pytest.raises(Unencodable):
            Encoder(dict(env)).encode(expr, lane)
    assert Encoder({}).encode(TRUE).value is f.TRUE
