"""More that the pass Simplify does to expressions: what their surroundings decide, vectors, constants.

    if_then_else(c, x, max(0, if_then_else(c, y, z)))     ⟶     if_then_else(c, x, max(0, z))
    broadcast(j, 4) + ramp(0, 1, 4)                       ⟶     ramp(j, 1, 4)
    cast(float32, 3)                                      ⟶     3.0
    x * 3 // 2, for x in [0, 2)                           ⟶     x
    min(1, n), where a parameter has n * 32 - 1 elements  ⟶     1

The functions propose; each rewrite is proved by the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from verified_tir.index.bounds import Bounds, Ranges
from verified_tir.index.conditions import conjuncts, facts_of, negate
from verified_tir.index.evaluate import NotEvaluable, UnsafeIndex, evaluate
from verified_tir.index.fold import size
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import (
    TRUE,
    Binary,
    Broadcast,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    IntImm,
    Ramp,
    Select,
    Undef,
    Var,
)  # fmt: skip
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import Poly, as_poly
from verified_tir.ir.stmt import Allocate, Assume, Block, Seq, Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, map_children, nodes_of, sub_statements
from verified_tir.kernel.rules.rewrite import ExprPath, Rewrite, expressions
from verified_tir.schedule.edits import largest_parts, narrowed, rewritten
from verified_tir.schedule.session import Session
from verified_tir.schedule.tactics.known import Known
from verified_tir.schedule.tactics.simplify import inside, unhinted

FEW = 16
"""An index expression is tabulated for loops of so many iterations at most."""
EXACT = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Bits of the integers that a float type has all of."""


def contextual_rewrites(session: Session) -> list[Rewrite]:
    """Replacements that the surroundings of expressions allow; none of them moves another's place."""
    known = Known(facts_of_shapes(session.func))
    return [rewritten(path, where, new) for path, where, new in _proposals(session.func.body, (), {}, known)]


def facts_of_shapes(func: PrimFunc) -> tuple[Poly, ...]:
    """What is ≥ 0 since no parameter has a negative extent."""
    extents = [e for b in func.buffers for e in b.shape if not isinstance(e, IntImm) and is_index(e)]
    symbols = {v for e in extents for v in free_vars(e) if v not in func.params}
    return tuple(as_poly(e) for e in (*extents, *sorted(symbols, key=lambda v: v.uid)))


def _proposals(stmt: Stmt, path: Path, ranges: Ranges, known: Known) -> Iterator[tuple[Path, ExprPath, Expr]]:
    if not isinstance(stmt, (Allocate, Assume, Block, Seq)):
        simplifier = Simplifier(Bounds(ranges, known.facts))
        choices = {k: new for k, e in enumerate(expressions(stmt)) if (new := _decided(e, simplifier, ())) is not e}
        yield from ((path, *narrowed(stmt, (k,), new)) for k, new in choices.items())
        for where, new in largest_parts(stmt, partial(_simpler, simplifier, ranges)):
            if where[0] not in choices:
                yield path, where, new
    for k, sub in enumerate(sub_statements(stmt)):
        yield from _proposals(sub, (*path, k), *inside(stmt, k, ranges, known))


# ------------------------------------------------------------------------------------------------------------- choices


def _decided(e: Expr, simplifier: Simplifier, assumed: tuple[Expr, ...]) -> Expr:
    """The expression with those choices decided that the conditions around decide; ``e`` if there are none."""
    choices = len(nodes_of(e, IfThenElse)) + len(nodes_of(e, Select))
    if not choices:
        return e
    match e:
        case (
            IfThenElse(condition=c, true_value=a, false_value=b) | Select(condition=c, true_value=a, false_value=b)
        ) if c.dtype.lanes == 1:
            verdict = _verdict(c, simplifier, assumed)
            if verdict is not None and not nodes_of(a if verdict else b, Undef):
                return _decided(a if verdict else b, simplifier, assumed)
            c = _decided(c, simplifier, assumed)
            holds, fails = conjuncts(c), conjuncts(negate(c))
            a = _decided(a, _given(simplifier, holds), (*assumed, *holds))
            b = _decided(b, _given(simplifier, fails), (*assumed, *fails))
            parts = (e.condition, e.true_value, e.false_value)
            return e if (c, a, b) == parts else type(e)(c, a, b)
        case _:

            def visit(child: Node) -> Node:
                return _decided(child, simplifier, assumed) if isinstance(child, Expr) else child

            return map_children(e, visit)


def _given(simplifier: Simplifier, conditions: list[Expr]) -> Simplifier:
    facts = [*facts_of(c for c in conditions if is_index(c))]
    return Simplifier(simplifier.bounds.given(facts)) if facts else simplifier


def _verdict(condition: Expr, simplifier: Simplifier, assumed: tuple[Expr, ...]) -> bool | None:
    """Whether a condition is true, or false, where others are true; ``None`` if they do not tell."""

    condition = unhinted(condition)

    def certain(c: Expr) -> bool:
        return any(structural_equal(c, a) for a in assumed) or (is_index(c) and simplifier.expr(c) is TRUE)

    if all(certain(c) for c in conjuncts(condition)):
        return True
    return False if any(certain(negate(c)) for c in (condition, *conjuncts(condition))) else None


# ------------------------------------------------------------------------------------------- vectors, constants, tables


def _simpler(simplifier: Simplifier, ranges: Ranges, e: Expr) -> Expr:
    """A shorter form of a vector of indices, a conversion, or an index expression; ``e`` if there is none."""
    if isinstance(e, (Var, IntImm, FloatImm, Ramp, Broadcast)) or nodes_of(e, Undef):
        return e
    if isinstance(e, Cast):
        return _converted(e)
    if e.dtype.is_int and e.dtype.lanes > 1:
        return _vector(e, simplifier)
    if isinstance(e, Binary) and (neutral := _without_neutral(e)) is not e:
        return neutral
    if not (e.dtype.is_int or e.dtype.is_bool) or e.dtype.lanes > 1 or not is_index(e):
        return e
    new = simplifier.expr(e)
    if new.dtype is not e.dtype or size(new) >= size(e):
        new = _tabulated(e, simplifier, ranges)
    return new


def _converted(e: Cast) -> Expr:
    """A constant of the other type, if it has the value."""
    match e.value:
        case IntImm(value=value, type=old) if old.is_int and abs(value) <= 2 ** EXACT.get(str(e.type), -1):
            return FloatImm(e.type, float(value))
        case IntImm(value=value, type=old) if old.is_int and e.type.is_int:
            return const(value, e.type) if e.type.min_value <= value <= e.type.max_value else e
        case _:
            return e


def _without_neutral(e: Binary) -> Expr:
    """``x`` for ``x + 0``, ``x * 1`` and the like.  A float plus 0.0 is not always the same: -0.0 would be lost."""
    for x, c, op in ((e.a, e.b, e.op), (e.b, e.a, e.op if e.op in ("add", "mul") else "")):
        if not isinstance(c, (IntImm, FloatImm)) or c.dtype is not e.dtype:
            continue
        minus = isinstance(c, FloatImm) and math.copysign(1, c.value) < 0
        zero = c.value == 0 and (isinstance(c, IntImm) or minus == (op == "add"))
        if (zero and op in ("add", "sub")) or (c.value == 1 and op in ("mul", "div", "floordiv", "truncdiv")):
            return x
    return e


def _vector(e: Expr, simplifier: Simplifier) -> Expr:
    """Sums and products of ramps and broadcasts as one of these."""
    found = _lanes(e)
    if found is None:
        return e
    base, stride = (simplifier.expr(x) for x in found)
    lanes = e.dtype.lanes
    if isinstance(stride, IntImm) and stride.value == 0:
        return Broadcast(base, lanes)
    return Ramp(base, stride, lanes)


def _lanes(e: Expr) -> tuple[Expr, Expr] | None:
    """Base and stride of a vector of indices; ``None`` if its lanes are not equally far apart."""
    zero = const(0, e.dtype.scalar) if e.dtype.is_int else None
    match e:
        case Ramp(base=base, stride=stride) if is_index(base) and is_index(stride):
            return base, stride
        case Broadcast(value=value) if zero is not None and is_index(value):
            return value, zero
        case Binary(op="add" | "sub" as op, a=a, b=b):
            x, y = _lanes(a), _lanes(b)
            return None if x is None or y is None else (Binary(op, x[0], y[0]), Binary(op, x[1], y[1]))
        case Binary(op="mul", a=a, b=Broadcast() as b) | Binary(op="mul", a=Broadcast() as b, b=a):
            x = _lanes(a)
            return None if x is None or not is_index(b.value) else (x[0] * b.value, x[1] * b.value)
        case _:
            return None


def _tabulated(e: Expr, simplifier: Simplifier, ranges: Ranges) -> Expr:
    """``a * x + b`` for an expression of one variable of few values that has these values; ``e`` if it has not."""
    variables = free_vars(e)
    if len(variables) != 1 or variables[0] not in ranges or not e.dtype.is_int:
        return e
    (x,) = variables
    low, high = simplifier.bounds.atom_interval(x)
    if low is None or high is None or not 0 <= high - low < FEW or x.dtype is not e.dtype:
        return e
    try:
        (values,) = evaluate([e], {x: np.arange(low, high + 1)})
    except (NotEvaluable, UnsafeIndex):
        return e
    points = [int(v) for v in np.broadcast_to(values, (high - low + 1,))]
    step = points[1] - points[0] if len(points) > 1 else 0
    if any(v != points[0] + k * step for k, v in enumerate(points)):
        return e
    try:
        new = simplifier.expr(x * step + (points[0] - step * low))
    except IRError:
        return e
    return new if size(new) < size(e) else e


__all__ = ["contextual_rewrites", "facts_of_shapes"]
