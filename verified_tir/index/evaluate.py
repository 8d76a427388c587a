"""Evaluation of index expressions on whole grids of points at once, with numpy.

Used to check proposed inverses and predicates by brute force and to move arrays into a layout.  Values are int64
whatever the index type, Python's integers for uint64; an index expression whose value outgrows that is undefined
anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from verified_tir.ir.expr import Binary, Cast, Expr, IfThenElse, IntImm, LetExpr, Not, Select, Var
from verified_tir.ir.node import IRError

Grid: TypeAlias = npt.NDArray[Any]
"""An array of int64 or bool; arrays of one environment broadcast against each other."""


class UnsafeIndex(IRError):
    """The expression divides by zero at some point."""


class NotEvaluable(IRError):
    """The expression holds something that is not index arithmetic (a load, a call, a float)."""


def open_grid(shape: Sequence[int]) -> list[Grid]:
    """One array per axis with the values ``0 … extent-1`` along it; they broadcast to ``shape``."""
    rank = len(shape)
    return [
        np.arange(extent, dtype=np.int64).reshape((1,) * axis + (extent,) + (1,) * (rank - axis - 1))
        for axis, extent in enumerate(shape)
    ]


def evaluate(exprs: Sequence[Expr], values: Mapping[Var, Grid | int]) -> list[Grid]:
    """The expressions at every point of the grid; a result is broadcastable, not broadcast.

    :raises UnsafeIndex: if a divisor is zero at a point where it is evaluated (``and``, ``or`` and ``if_then_else``
        are lazy).
    :raises NotEvaluable: for a load, call or unknown variable.
    """
    memo: dict[Expr, Grid] = {v: _typed(v, x) for v, x in values.items()}
    with np.errstate(all="ignore"):
        return [_evaluate(e, memo, _EVERYWHERE) for e in exprs]


_EVERYWHERE: Grid = np.asarray(True)


def _typed(e: Expr, x: Any) -> Grid:
    """The values of an expression: Python's integers for uint64, which numpy makes floats of beside int64."""
    return np.asarray(x, object if e.dtype.code == "uint" and e.dtype.bits == 64 else None)


def _floormod(a: Grid, b: Grid) -> Grid:
    return np.asarray(np.mod(a, b))


def _truncdiv(a: Grid, b: Grid) -> Any:
    # not by absolute values: the least integer has none
    return np.floor_divide(a, b) + ((np.mod(a, b) != 0) & ((a < 0) != (b < 0)))


def _truncmod(a: Grid, b: Grid) -> Any:
    return a - b * _truncdiv(a, b)


_OPERATIONS: dict[str, Callable[[Grid, Grid], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide, "floormod": _floormod,
    "truncdiv": _truncdiv, "truncmod": _truncmod, "min": np.minimum, "max": np.maximum,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor,
    "shl": np.left_shift, "shr": np.right_shift,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def _evaluate(expr: Expr, memo: dict[Expr, Grid], active: Grid) -> Grid:
    """The expression at every point; it need have a value only where ``active``."""
    found = memo.get(expr)
    if found is None:
        found = _compute(expr, memo, active)
        if active is _EVERYWHERE:  # a value computed in a lazy arm may stand for undefined
            memo[expr] = found
    return found


def _compute(expr: Expr, memo: dict[Expr, Grid], active: Grid) -> Grid:
    match expr:
        case IntImm(value=value):
            return _typed(expr, bool(value) if expr.dtype.is_bool else value)
        case Binary(op="and" | "or" as op, a=a, b=b):
            x = _evaluate(a, memo, active)
            y = _evaluate(b, memo, active & (x if op == "and" else ~x))
            return np.asarray(_OPERATIONS[op](x, y))
        case Binary(op=op, a=a, b=b) if op in _OPERATIONS:
            x, y = _evaluate(a, memo, active), _evaluate(b, memo, active)
            if op in ("floordiv", "floormod", "truncdiv", "truncmod") and not y.all():
                if bool(np.any((y == 0) & active)):
                    raise UnsafeIndex(f"a divisor of {op} is zero at some point")
                y = np.where(y == 0, 1, y)
            return _typed(expr, _OPERATIONS[op](x, y))
        case Not(a=a):
            return np.logical_not(_evaluate(a, memo, active))
        case Select(condition=c, true_value=a, false_value=b):
            return np.where(_evaluate(c, memo, active), _evaluate(a, memo, active), _evaluate(b, memo, active))
        case IfThenElse(condition=c, true_value=a, false_value=b):
            test = _evaluate(c, memo, active)
            return np.where(test, _evaluate(a, memo, active & test), _evaluate(b, memo, active & ~test))
        case Cast(type=t, value=value) if t.is_int and value.dtype.is_int and t.bits >= 32:
            return _typed(expr, _evaluate(value, memo, active))
        case LetExpr(var=v, value=value, body=body):
            memo[v] = _evaluate(value, memo, active)
            return _evaluate(body, memo, active)
        case Var():
            raise NotEvaluable(f"nothing is known about the value of {expr.name}")
        case _:
            raise NotEvaluable(f"{type(expr).__name__} is not index arithmetic")
