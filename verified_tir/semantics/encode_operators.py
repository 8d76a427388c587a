"""Operators on single lanes as formulas: sorts of dtypes, comparisons, float arithmetic, powers of two."""

from __future__ import annotations

from verified_tir.ir.dtype import DType
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


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
