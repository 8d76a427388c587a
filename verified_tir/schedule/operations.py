"""How much work it is to execute a program, roughly: so that what would take long is not begun."""

from __future__ import annotations

from collections.abc import Mapping

from verified_tir.index.evaluate import evaluate
from verified_tir.ir.expr import Expr, FloatImm, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import For, Stmt
from verified_tir.ir.visit import sub_statements, walk
from verified_tir.schedule.replay_inputs import symbols


def operations(func: PrimFunc, sizes: Mapping[str, int]) -> int:
    """About how many operations the validator takes for a program: some for each node that computes, each time."""
    values = {v: sizes[v.name] for v in symbols(func) if v.name in sizes}
    return _cost(func.body, dict(values))


def _cost(stmt: Stmt, values: dict[Var, int]) -> int:
    inner = sub_statements(stmt)
    if isinstance(stmt, For):
        lowest, extent = _number(stmt.min, values), max(0, _number(stmt.extent, values))
        if not extent:
            return 1
        values[stmt.var] = lowest + extent // 2  # of a triangle, half
        return extent * sum(_cost(s, values) for s in inner)
    if inner:
        return 1 + sum(_cost(s, values) for s in inner)
    return 2 + 2 * sum(isinstance(n, Expr) and not isinstance(n, (Var, IntImm, FloatImm)) for n in walk(stmt))


def _number(e: Expr, values: Mapping[Var, int]) -> int:
    """The value of a bound, or 1 where it depends on data: this is an estimate."""
    try:
        return int(evaluate([e], values)[0])
    except IRError:
        return 1
