"""Functions of expressions under the names that ``te`` has for them."""

from __future__ import annotations

from verified_tir.ir.expr import Expr
from verified_tir.ir.sugar import ExprLike, as_expr, const
from verified_tir.script import tir as T  # noqa: N812

abs = T.abs
atan = T.atan
atan2 = T.atan2
ceil = T.ceil
cos = T.cos
cosh = T.cosh
erf = T.erf
exp = T.exp
exp2 = T.exp2
floor = T.floor
floordiv = T.floordiv
floormod = T.floormod
if_then_else = T.if_then_else
indexdiv = T.floordiv
indexmod = T.floormod
isfinite = T.isfinite
isinf = T.isinf
isnan = T.isnan
likely = T.likely
log = T.log
log10 = T.log10
log1p = T.log1p
log2 = T.log2
nearbyint = T.nearbyint
popcount = T.popcount
power = T.pow
round = T.round
rsqrt = T.rsqrt
sigmoid = T.sigmoid
sin = T.sin
sinh = T.sinh
sqrt = T.sqrt
tan = T.tan
tanh = T.tanh
trunc = T.trunc
truncdiv = T.truncdiv
truncmod = T.truncmod


def all(*conditions: ExprLike) -> Expr:
    """The lazy conjunction."""
    return T.And(*conditions)


def any(*conditions: ExprLike) -> Expr:
    """The lazy disjunction."""
    return T.Or(*conditions)


def add(a: ExprLike, b: ExprLike) -> Expr:
    """``a + b``."""
    return as_expr(a) + b


def subtract(a: ExprLike, b: ExprLike) -> Expr:
    """``a - b``."""
    return as_expr(a) - b


def multiply(a: ExprLike, b: ExprLike) -> Expr:
    """``a * b``."""
    return as_expr(a) * b


def div(a: ExprLike, b: ExprLike) -> Expr:
    """``a / b``: of integers rounded towards zero, as in C."""
    x = as_expr(a)
    return T.truncdiv(x, b) if x.dtype.is_int else x / b


__all__ = [  # noqa: RUF022  (as a reader looks them up)
    "abs", "add", "all", "any", "atan", "atan2", "ceil", "const", "cos", "cosh", "div", "erf", "exp", "exp2",
    "floor", "floordiv", "floormod", "if_then_else", "indexdiv", "indexmod", "isfinite", "isinf", "isnan",
    "likely", "log", "log10", "log1p", "log2", "multiply", "nearbyint", "popcount", "power", "round", "rsqrt",
    "sigmoid", "sin", "sinh", "sqrt", "subtract", "tan", "tanh", "trunc", "truncdiv", "truncmod",
]  # fmt: skip
