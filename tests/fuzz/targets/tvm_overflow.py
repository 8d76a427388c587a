"""The same program, undefined where integers overflow: TVM's code generator tells LLVM that they do not.

Sums, differences and products of signed and unsigned integers of 32 bits or more are ``nsw`` and ``nuw`` in TVM's
machine code, and its simplifier takes signed ones of any width for mathematical integers; our data wraps.  Where the
program that is made here is undefined, the machine may do what it likes.
"""

from __future__ import annotations

from typing import Final

from verified_tir.ir.dtype import FLOAT64
from verified_tir.ir.expr import Binary, Call, Cast, Expr, LetExpr, Select, Undef, Var
from verified_tir.ir.find import data_vars
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import Node
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import map_children

_RINGS: Final = ("add", "sub", "mul")


def without_wrapping(func: PrimFunc) -> PrimFunc:
    """The function with ``undef`` for each sum, difference, product and absolute value of data that overflows."""
    data = data_vars(func.body)
    memo: dict[Node, Node] = {}

    def go(node: Node) -> Node:
        if node not in memo:
            made = map_children(node, go)
            asked = isinstance(node, (Binary, Call)) and node.dtype.is_int and not is_index(node, data)
            memo[node] = _guarded(made) if asked and isinstance(made, (Binary, Call)) else made
        return memo[node]

    body = go(func.body)
    return func.with_body(body)  # type: ignore[arg-type]


def _guarded(made: Binary | Call) -> Expr:
    """The value, or ``undef`` if it does not fit.  That is asked in float64: of 64 bits, those far below count."""
    dtype = made.dtype
    if dtype.scalar.code == "uint" and dtype.bits < 32:
        return made
    least, most = dtype.scalar.min_value, dtype.scalar.max_value
    if dtype.bits == 64:
        least, most = least // 2, most // 2
    wide = FLOAT64.with_lanes(dtype.lanes)
    match made:
        case Binary(op=op, a=a, b=b) if op in _RINGS:
            x, y = Var.fresh("x", a.dtype), Var.fresh("y", b.dtype)
            exact: Expr = Binary(op, Cast(wide, x), Cast(wide, y))
            low, high = Binary("le", const(least, wide), exact), Binary("le", exact, const(most, wide))
            fits: Expr = Binary("and", low, high)
            return LetExpr(x, a, LetExpr(y, b, Select(fits, Binary(op, x, y), Undef(dtype))))
        case Call(op="abs", args=(a,)) if dtype.scalar.code == "int":
            x = Var.fresh("x", a.dtype)
            more = Binary("ne", x, const(dtype.scalar.min_value, a.dtype))
            return LetExpr(x, a, Select(more, Call(dtype, "abs", (x,)), Undef(dtype)))
        case _:
            return made
