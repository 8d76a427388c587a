"""Operators on single lanes as formulas: sorts of dtypes, comparisons, arithmetic, powers of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encoded import Encoded

if TYPE_CHECKING:
    from verified_tir.semantics.encode import Encoder


def sort_of(dtype: DType) -> str:
    """The sort of one lane of ``dtype``."""
    if dtype.is_bool:
        return f.BOOL
    if dtype.is_float:
        return {("float", 16): "F16", ("float", 32): "F32", ("float", 64): "F64", ("bfloat", 16): "BF16"}[
            (dtype.code, dtype.bits)
        ]
    return f.INT


def in_range(value: Term, dtype: DType) -> Term:
    """Whether an integer term fits the type."""
    return f.and_(f.le(f.integer(dtype.min_value), value), f.le(value, f.integer(dtype.max_value)))


def power_of_two(exponent: Term, bits: int) -> Term:
    """2**exponent for 0 <= exponent < bits."""
    if exponent.op == "const":
        return f.integer(1 << (f.value_of(exponent) % bits))
    result = f.integer(1 << (bits - 1))
    for k in range(bits - 2, -1, -1):
        result = f.ite(f.eq(exponent, f.integer(k)), f.integer(1 << k), result)
    return result


def bool_binary(op: str, a: Term, b: Term) -> Term:
    """A bitwise operation on truth values."""
    if op == "bitand":
        return f.and_(a, b)
    if op == "bitor":
        return f.or_(a, b)
    return f.not_(f.eq(a, b))


def float_binary(op: str, sort: str, a: Term, b: Term) -> Term:
    """A float operation; ``min`` and ``max`` are selects on ``<`` and ``>``."""
    if op == "min":
        return f.ite(f.fp_test("fp.lt", a, b), a, b)
    if op == "max":
        return f.ite(f.fp_test("fp.lt", b, a), a, b)
    return f.fp({"add": "fp.add", "sub": "fp.sub", "mul": "fp.mul", "div": "fp.div"}[op], sort, a, b)


def compare(op: str, operand: DType, a: Term, b: Term) -> Term:
    """A comparison of two lanes of type ``operand``; with a NaN all but ``ne`` are false."""
    if operand.is_bool:
        a, b = (
            (a, b)
            if op in ("eq", "ne")
            else (f.ite(a, f.integer(1), f.integer(0)), f.ite(b, f.integer(1), f.integer(0)))
        )
    is_float = operand.is_float
    match op:
        case "eq":
            return f.fp_eq(a, b) if is_float else f.eq(a, b)
        case "ne":
            return f.not_(f.fp_eq(a, b)) if is_float else f.ne(a, b)
        case "lt":
            return f.fp_test("fp.lt", a, b) if is_float else f.lt(a, b)
        case "le":
            return f.fp_test("fp.leq", a, b) if is_float else f.le(a, b)
        case "gt":
            return f.fp_test("fp.lt", b, a) if is_float else f.lt(b, a)
        case _:
            return f.fp_test("fp.leq", b, a) if is_float else f.le(b, a)


def integer_binary(encoder: Encoder, expr: Binary, a: Encoded, b: Encoded, defined: Term, data: bool) -> Encoded:
    """An operator on integers, and what makes it safe."""
    x, y, t = a.value, b.value, expr.dtype.scalar
    match expr.op:
        case "add":
            return encoder.integer(expr, f.add(x, y), defined, data)
        case "sub":
            return encoder.integer(expr, f.sub(x, y), defined, data)
        case "mul":
            return encoder.integer(expr, f.mul(x, y), defined, data)
        case "min":
            return Encoded(f.ite(f.lt(x, y), x, y), defined, data)
        case "max":
            return Encoded(f.ite(f.lt(y, x), x, y), defined, data)
        case "floordiv" | "floormod" | "truncdiv" | "truncmod":
            divide = {
                "floordiv": f.floordiv, "floormod": f.floormod, "truncdiv": f.truncdiv, "truncmod": f.truncmod,
            }[expr.op]  # fmt: skip
            encoder.require("a divisor that is undef", expr, b.defined)
            encoder.require("no division by zero", expr, f.ne(y, f.integer(0)))
            if t.code == "int" and not (y.op == "const" and f.value_of(y) != -1):
                # a dividend that is undef may be anything, so also the smallest integer
                least = f.and_(f.or_(f.not_(a.defined), f.eq(x, f.integer(t.min_value))), f.eq(y, f.integer(-1)))
                encoder.require("no overflow", expr, f.not_(least))
            return Encoded(divide(x, y), defined, data)
        case "bitand" | "bitor" | "bitxor":
            name = {"bitand": "bvand", "bitor": "bvor", "bitxor": "bvxor"}[expr.op]
            return Encoded(f.wrap(f.bitwise(name, t.bits, x, y), t.bits, t.code == "int"), defined, data)
        case "shl" | "shr":
            encoder.require("a shift amount that is undef", expr, b.defined)
            encoder.require("a shift amount in range", expr, f.between(f.integer(0), y, f.integer(t.bits)))
            power = power_of_two(y, t.bits)
            if expr.op == "shr":
                return Encoded(f.floordiv(x, power), defined, data)
            return encoder.integer(expr, f.mul(x, power), defined, data)
        case _:
            raise AssertionError(expr.op)
