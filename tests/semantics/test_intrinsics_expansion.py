"""An expansion, the evaluators of it and the call in the interpreter are one function, bit for bit."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest

from tests.semantics.oracles import FLOATS, interesting_floats, key
from tests.semantics.scalars import apply_call
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import FLOAT32, FLOAT64, INT32, DType
from verified_tir.ir.expr import Binary, Call, Cast, Expr, FloatImm, IntImm, LetExpr, Select, Var
from verified_tir.ir.find import data_vars
from verified_tir.ir.float_bits import round_to
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import bound_vars, free_vars, refresh_binders, walk
from verified_tir.semantics.interpreter.expressions import meaning_of
from verified_tir.semantics.interpreter.frame import Frame, Run
from verified_tir.semantics.intrinsics import EXPANDED, array_operation, expand, has_expansion, scalar_operation
from verified_tir.semantics.values import UNDEF

ALL = [(op, dtype) for op in sorted(EXPANDED) for dtype in FLOATS]
every = pytest.mark.parametrize(("op", "dtype"), ALL, ids=[f"{op}-{dtype}" for op, dtype in ALL])


def variables(op: str, dtype: DType) -> list[Var]:
    return [Var.fresh(name, DType.parse(dtype)) for name in "xy"[: PURE_CALLS[op].arity]]


def arguments(op: str, dtype: DType, count: int) -> list[tuple[float, ...]]:
    """Corner cases, and random numbers of every size."""
    corners = interesting_floats(dtype)
    corners += [round_to(dtype, x) for x in (math.pi / 2, -1e5, 88.7, -87.5, -103.9, 745.1, -708.5, 0.6, 1.5, 3.0)]
    draw = random.Random(f"{op} {dtype}")
    arity = PURE_CALLS[op].arity
    found = [(a,) for a in corners] if arity == 1 else draw.sample(list(product(corners, corners)), 60)
    for _ in range(count):
        spread = draw.choice((1.0, 4.0, 30.0, 700.0))
        found.append(
            tuple(
                round_to(
                    dtype,
                    math.ldexp(draw.uniform(-1, 1), round(draw.gauss(0, spread)) % 1000)
                    if draw.random() < 0.3
                    else draw.gauss(0, spread),
                )
                for _ in range(arity)
            )
        )
    return found


def interpreted(expr: Expr, parameters: list[Var], args: tuple[object, ...]) -> tuple[object, Frame]:
    frame = Frame(Run(), dict(zip(parameters, args, strict=True)))
    return meaning_of(expr, data_vars(expr))(frame), frame


@pytest.mark.sample(6)
@every
def test_expansion_evaluators_and_call_agree(op: str, dtype: DType) -> None:
    parameters = variables(op, dtype)
    expr = expand(op, parameters)
    scalar = scalar_operation(op, dtype)
    rows = arguments(op, dtype, 40)
    arrays = [np.array(column, np.float64).astype(numpy_dtype(dtype)) for column in zip(*rows, strict=True)]
    whole = array_operation(op, dtype)(*arrays).astype(np.float64)
    for row, together in zip(rows, whole, strict=True):
        defined, frame = interpreted(expr, parameters, row)
        assert key(defined) == key(float(together)) == key(scalar(*row)) == key(apply_call(op, dtype, row)[0]), row
        assert UNDEF not in frame.values.values(), row  # nothing is undef, not even where it is not chosen


@every
def test_lanes_are_computed_one_by_one(op: str, dtype: DType) -> None:
    rows = arguments(op, dtype, 3)[:: 7 if dtype.bits < 64 else 9][:4]
    parameters = variables(op, dtype.with_lanes(len(rows)))
    result, _ = interpreted(expand(op, parameters), parameters, tuple(zip(*rows, strict=True)))
    assert isinstance(result, tuple)
    assert [key(lane) for lane in result] == [key(scalar_operation(op, dtype)(*row)) for row in rows]


CALLS = {"fma", "sqrt", "abs", "reinterpret"}
OPERATIONS = {"add", "sub", "mul", "div", "bitand", "bitor", "bitxor", "shl", "shr", "eq", "ne", "lt", "le", "gt", "ge"}


@every
def test_only_basic_operations_occur(op: str, dtype: DType) -> None:
    expr = expand(op, variables(op, dtype))
    data = data_vars(expr)
    for node in walk(expr):
        match node:
            case Call(op=called, type=result, args=args):
                assert called in CALLS and result.bits == args[0].dtype.bits
            case Binary(op=operation, a=a, b=b):
                assert operation in OPERATIONS
                assert a.dtype.is_float or not is_index(node, data)  # it wraps
                if operation in ("shl", "shr") and isinstance(b, IntImm):
                    assert 0 <= b.value < a.dtype.bits
            case Cast(type=target, value=a):
                assert target.is_float or not a.dtype.is_float  # no conversion that may not fit
            case Expr():
                assert isinstance(node, (Var, IntImm, FloatImm, Select, LetExpr)), type(node)


@every
def test_binders_are_fresh_and_generic_traversals_reach_them(op: str, dtype: DType) -> None:
    parameters = variables(op, dtype)
    one, other = expand(op, parameters), expand(op, parameters)
    assert not set(bound_vars(one)) & set(bound_vars(other))
    assert set(free_vars(one)) == set(parameters)
    renamed, mapping = refresh_binders(one)
    assert set(mapping) == set(bound_vars(one)) and not set(bound_vars(renamed)) & set(bound_vars(one))


def test_arguments_are_evaluated_once() -> None:
    x = Var.fresh("x", FLOAT32)
    argument = Call(FLOAT32, "sqrt", (x + 1.0,))
    expr = expand("tanh", [argument])
    assert sum(node is argument for node in walk(expr)) == 1 and set(free_vars(expr)) == {x}
    assert isinstance(expr, LetExpr) and expr.value is argument
    assert interpreted(expr, [x], (3.0,))[0] == scalar_operation("tanh", FLOAT32)(2.0)


def test_constants_as_arguments() -> None:
    for value in (0.0, -1.5, math.inf, math.nan):
        expr = expand("exp", [const(value, "float32")])
        assert key(interpreted(expr, [], ())[0]) == key(scalar_operation("exp", FLOAT32)(value))


def test_what_has_no_expansion_is_refused() -> None:
    x, y, n = Var.fresh("x", FLOAT32), Var.fresh("y", FLOAT64), Var.fresh("n", INT32)
    assert not has_expansion("sqrt", FLOAT32) and not has_expansion("exp", INT32)
    assert has_expansion("exp", FLOAT32.with_lanes(8))
    with pytest.raises(IRError, match=r"sqrt of float32 has no expansion; those that have are: .*tanh"):
        expand("sqrt", [x])
    with pytest.raises(IRError, match="exp of int32 has no expansion"):
        expand("exp", [n])
    with pytest.raises(IRError, match="exp takes 1 arguments of one type, not float32, float64"):
        expand("exp", [x, y])
