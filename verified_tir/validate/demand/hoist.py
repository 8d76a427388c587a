"""A recurrence evaluates only what recurs one level at a time; the rest of each value is evaluated for all at once.

``C[i] = C[i] + A[i, k] * B[k]`` becomes ``x + y``, where y is evaluated beforehand in all instances and x stands for
what the instance before left.  Only operands that are evaluated in any case are taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import final

from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    Not,
    Select,
    Shuffle,
    Var,
)
from verified_tir.ir.visit import map_children, walk


@final
@dataclass(slots=True)
class Hoisted:
    """``residual`` speaks of the variables that stand for ``parts`` and for ``loads``."""

    residual: Expr
    parts: list[tuple[Var, Expr]] = field(default_factory=list)
    loads: list[tuple[Var, Load]] = field(default_factory=list)


class _CannotHoist(Exception):
    """Something recurrent is evaluated only on a condition."""


def hoist(value: Expr, inside: Collection[Var]) -> Hoisted | None:
    """Take apart a value; ``inside`` are the blocks of the recurrence and the lets in it.

    ``None`` if a load of them stands where it is not always evaluated.
    """
    found = Hoisted(value)

    def recurs(expr: Expr) -> bool:
        return any(
            (isinstance(node, Load) and node.buffer.data in inside) or (isinstance(node, Var) and node in inside)
            for node in walk(expr)
        )

    try:
        found.residual = _take_apart(value, recurs, found)
    except _CannotHoist:
        return None
    return found


def _take_apart(expr: Expr, recurs: Callable[[Expr], bool], found: Hoisted) -> Expr:
    if not recurs(expr):
        if isinstance(expr, (IntImm, FloatImm)):
            return expr
        part = Var.fresh("part", expr.dtype)
        found.parts.append((part, expr))
        return part
    match expr:
        case Load(indices=indices, predicate=predicate):
            if predicate is not None or any(recurs(index) for index in indices):
                raise _CannotHoist
            load = Var.fresh("load", expr.dtype)
            found.loads.append((load, expr))
            return load
        case IfThenElse() | LetExpr() | Var():
            raise _CannotHoist
        case Binary(op="and" | "or"):
            raise _CannotHoist
        case Binary() | Not() | Select() | Cast() | Broadcast() | Shuffle() | Call():
            return map_children(expr, lambda node: _child(node, recurs, found))
    raise _CannotHoist


def _child(node: object, recurs: Callable[[Expr], bool], found: Hoisted) -> Expr:
    assert isinstance(node, Expr)
    return _take_apart(node, recurs, found)
