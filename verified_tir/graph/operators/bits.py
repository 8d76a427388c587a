"""Operators on the bits of integers, remainders, and functions that are made of others."""

from __future__ import annotations

import math
from collections.abc import Callable

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.elementwise import elementwise, is_nan
from verified_tir.ir.expr import Binary, Expr
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812


@elementwise("shift")
def _shift(x: Expr, amount: Expr, *, left: bool) -> Expr:
    """The bits of integers moved to the left, or to the right with copies of the sign.

    By a negative number, or by as many as there are or more, the sign alone stays on the right, nothing on the left.
    """
    bits, zero = const(x.dtype.bits, x.dtype), const(0, x.dtype)
    moved = Binary("shl" if left else "shr", x, amount)
    if x.dtype.min_value == 0:
        return T.if_then_else(amount < bits, moved, zero)
    gone = zero if left else T.Select(x < zero, const(-1, x.dtype), zero)
    return T.if_then_else(T.And(amount >= zero, amount < bits), moved, gone)


@elementwise("mod")
def _mod(a: Expr, b: Expr, *, truncated: bool = False) -> Expr:
    """The remainder of integers, with the divisor's sign or, if ``truncated``, the dividend's; 0 if divided by 0."""
    zero = const(0, a.dtype)
    rest = T.truncmod(a, b) if truncated else T.floormod(a, b)
    if a.dtype.min_value < 0:  # the least value has no quotient by -1
        rest = T.if_then_else(b.equal(const(-1, a.dtype)), zero, rest)
    return T.if_then_else(b.equal(zero), zero, rest)


@elementwise("float_mod")
def _float_mod(a: Expr, b: Expr, *, truncated: bool = True) -> Expr:
    """The remainder of float16 with the divisor's sign or, if ``truncated``, the dividend's.

    It is exact, since float64 has room for each quotient.  NaN if the dividend is infinite or the divisor 0; if the
    divisor is infinite the dividend or, if the signs have to be the same and are not, the divisor.
    """
    if str(a.dtype) != "float16":
        raise GraphError(f"remainders of {a.dtype} are not exact here; those of float16 are")
    p, q, zero = T.cast(a, "float64"), T.cast(b, "float64"), _number(0)
    rest = T.Select(T.isinf(q), p, p - q * te.trunc(p / q))
    if truncated:
        rest = T.Select(rest.equal(zero), p * zero, rest)  # a zero has the dividend's sign
    else:
        other = T.Or(T.And(rest < zero, q > zero), T.And(rest > zero, q < zero))
        rest = T.Select(rest.equal(zero), T.Select(q < zero, _number(-0.0), zero), T.Select(other, rest + q, rest))
    undefined = T.Or(T.isinf(p), T.Or(q.equal(zero), T.Or(is_nan(p), is_nan(q))))
    return T.cast(T.Select(undefined, _number(math.nan), rest), a.dtype)


@elementwise("isinf")
def _isinf(x: Expr, *, negative: bool = True, positive: bool = True) -> Expr:
    """Whether x is infinite, of the signs that count."""
    zero = const(0, x.dtype)
    signed = [x > zero] if positive else []
    signed += [x < zero] if negative else []
    return T.And(T.isinf(x), te.any(*signed)) if signed else const(False, "bool")


# -- functions by others; float64 has no room for what is lost in between ----------------------------------------------


def _widened(name: str, function: Callable[[Expr], Expr]) -> None:
    """Register a function that is computed in float64 and rounded once more."""

    def rounded(x: Expr) -> Expr:
        if str(x.dtype) not in ("float16", "bfloat16", "float32"):
            raise GraphError(f"{name} of {x.dtype} is not known here; of float32 and less it is")
        return T.cast(function(T.cast(x, "float64")), x.dtype)

    elementwise(name, f"The inverse of {name.removeprefix('a')}, computed in float64.")(rounded)


def _number(value: float) -> Expr:
    return const(value, "float64")


def _asin(x: Expr) -> Expr:
    return T.atan2(x, te.sqrt((_number(1) - x) * (_number(1) + x)))


def _acos(x: Expr) -> Expr:
    return T.atan2(te.sqrt((_number(1) - x) * (_number(1) + x)), x)


def _asinh(x: Expr) -> Expr:
    size = te.abs(x)
    found = te.log1p(size + size * size / (_number(1) + te.sqrt(size * size + _number(1))))
    huge = te.log(size) + _number(math.log(2))  # the square of a float32 may be large, but no float64 overflows by it
    whole = T.Select(size > _number(1e30), huge, found)
    return T.Select(x < _number(0), -whole, T.Select(x.equal(_number(0)), x, whole))


def _acosh(x: Expr) -> Expr:
    less = x - _number(1)
    found: Expr = te.log1p(less + te.sqrt(less * (x + _number(1))))
    return T.Select(x < _number(1), _number(math.nan), found)  # the root exists again below -1


def _atanh(x: Expr) -> Expr:
    size = te.abs(x)
    whole = _number(0.5) * te.log1p(_number(2) * size / (_number(1) - size))
    return T.Select(x < _number(0), -whole, T.Select(x.equal(_number(0)), x, whole))


for _name, _function in {"asin": _asin, "acos": _acos, "asinh": _asinh, "acosh": _acosh, "atanh": _atanh}.items():
    _widened(_name, _function)
