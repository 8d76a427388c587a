"""Operators on the bits of integers, remainders, and functions that are made of others."""

from __future__ import annotations

import math

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.elementwise import is_nan, mapped, same_type
from verified_tir.graph.operators.registry import operator
from verified_tir.ir.expr import Binary, Expr
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.tensor import Tensor


@operator("shift")
def shift(x: Tensor, amount: Tensor, *, left: bool) -> Tensor:
    """The bits of integers moved to the left, or to the right with copies of the sign.

    By a negative number, or by as many as there are or more, the sign alone stays on the right, nothing on the left.
    """
    same_type(x, amount)

    def element(e: Expr, by: Expr) -> Expr:
        bits, zero = const(e.dtype.bits, e.dtype), const(0, e.dtype)
        if e.dtype.min_value == 0:
            return T.if_then_else(by < bits, Binary("shl" if left else "shr", e, by), zero)
        gone = zero if left else T.Select(e < zero, const(-1, e.dtype), zero)
        return T.if_then_else(T.And(by >= zero, by < bits), Binary("shl" if left else "shr", e, by), gone)

    return mapped("shift", element, x, amount)


@operator("mod")
def mod(a: Tensor, b: Tensor, *, truncated: bool = False) -> Tensor:
    """The remainder of integers, with the divisor's sign or, if ``truncated``, the dividend's; 0 if divided by 0."""
    same_type(a, b)

    def element(x: Expr, y: Expr) -> Expr:
        zero = const(0, x.dtype)
        rest = T.truncmod(x, y) if truncated else T.floormod(x, y)
        if x.dtype.min_value < 0:  # the least value has no quotient by -1
            rest = T.if_then_else(y.equal(const(-1, x.dtype)), zero, rest)
        return T.if_then_else(y.equal(zero), zero, rest)

    return mapped("mod", element, a, b)


@operator("float_mod")
def float_mod(a: Tensor, b: Tensor, *, truncated: bool = True) -> Tensor:
    """The remainder of float16 with the divisor's sign or, if ``truncated``, the dividend's.

    It is exact, since float64 has room for each quotient.  NaN if the dividend is infinite or the divisor 0; if the
    divisor is infinite the dividend or, if the signs have to be the same and are not, the divisor.
    """
    same_type(a, b)
    if a.dtype != "float16":
        raise GraphError(f"remainders of {a.dtype} are not exact here; those of float16 are")

    def element(x: Expr, y: Expr) -> Expr:
        p, q, zero = T.cast(x, "float64"), T.cast(y, "float64"), _number(0)
        rest = T.Select(T.isinf(q), p, p - q * te.trunc(p / q))
        if truncated:
            rest = T.Select(rest.equal(zero), p * zero, rest)  # a zero has the dividend's sign
        else:
            other = T.Or(T.And(rest < zero, q > zero), T.And(rest > zero, q < zero))
            rest = T.Select(rest.equal(zero), T.Select(q < zero, _number(-0.0), zero), T.Select(other, rest + q, rest))
        undefined = T.Or(T.isinf(p), T.Or(q.equal(zero), T.Or(is_nan(p), is_nan(q))))
        return T.cast(T.Select(undefined, _number(math.nan), rest), x.dtype)

    return mapped("float_mod", element, a, b)


@operator("isinf")
def isinf(x: Tensor, *, negative: bool = True, positive: bool = True) -> Tensor:
    """Whether x is infinite, of the signs that count."""

    def element(e: Expr) -> Expr:
        zero = const(0, e.dtype)
        signed = [e > zero] if positive else []
        signed += [e < zero] if negative else []
        return T.And(T.isinf(e), te.any(*signed)) if signed else const(False, "bool")

    return mapped("isinf", element, x)


# -- functions by others; float64 has no room for what is lost in between ----------------------------------------------


def _widened(name: str, function: object) -> None:
    """Register a function that is computed in float64 and rounded once more."""

    def define(x: Tensor) -> Tensor:
        if x.dtype not in ("float16", "bfloat16", "float32"):
            raise GraphError(f"{name} of {x.dtype} is not known here; of float32 and less it is")
        return mapped(name, lambda e: T.cast(function(T.cast(e, "float64")), e.dtype), x)  # type: ignore[operator]

    define.__doc__ = f"The inverse of {name.removeprefix('a')}, computed in float64."
    operator(name)(define)


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
