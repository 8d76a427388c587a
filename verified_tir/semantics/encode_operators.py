"""Operators, casts and pure calls on single lanes as formulas.

Correctly rounded operations are interpreted; transcendental ones are uninterpreted functions, so a proof may use that
equal arguments give equal results and nothing else.
"""

from __future__ import annotations

from verified_tir.ir.calls import is_pure
from verified_tir.ir.dtype import DType
from verified_tir.ir.floats import bits_of
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


def sort_of(dtype: DType) -> str:
    """The sort of one lane of ``dtype``."""
    if dtype.is_float:
        return "BF16" if dtype.code == "bfloat" else f"F{dtype.bits}"
    return f.BOOL if dtype.is_bool else f.INT


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
    return f.and_(a, b) if op == "bitand" else f.or_(a, b) if op == "bitor" else f.ne(a, b)


def float_binary(op: str, sort: str, a: Term, b: Term) -> Term:
    """A float operation; ``min`` and ``max`` are selects on ``<`` and ``>``."""
    if op == "min":
        return f.ite(f.fp_test("fp.lt", a, b), a, b)
    if op == "max":
        return f.ite(f.fp_test("fp.lt", b, a), a, b)
    return f.fp({"add": "fp.add", "sub": "fp.sub", "mul": "fp.mul", "div": "fp.div"}[op], sort, a, b)


def compare(op: str, operand: DType, a: Term, b: Term) -> Term:
    """A comparison of two lanes of type ``operand``; with a NaN all but ``ne`` are false."""
    if op == "ne":
        return f.not_(compare("eq", operand, a, b))
    if op in ("gt", "ge"):
        return compare("lt" if op == "gt" else "le", operand, b, a)
    if operand.is_float:
        return f.fp_test({"eq": "fp.eq", "lt": "fp.lt", "le": "fp.leq"}[op], a, b)
    if op == "eq":
        return f.eq(a, b)
    if operand.is_bool:
        a, b = f.ite(a, f.integer(1), f.integer(0)), f.ite(b, f.integer(1), f.integer(0))
    return f.lt(a, b) if op == "lt" else f.le(a, b)


def encode_cast(source: DType, target: DType, value: Term) -> tuple[Term, Term]:
    """Value and definedness of one lane cast from ``source`` to ``target``."""
    if source is target:
        return value, f.TRUE
    if source.is_bool:
        if target.is_float:
            one = f.floating(sort_of(target), bits_of(target, 1.0))
            return f.ite(value, one, f.positive_zero(sort_of(target))), f.TRUE
        return f.ite(value, f.integer(1), f.integer(0)), f.TRUE
    if target.is_bool:
        if source.is_float:
            return f.not_(f.fp_eq(value, f.positive_zero(sort_of(source)))), f.TRUE
        return f.ne(value, f.integer(0)), f.TRUE
    if source.is_float and target.is_float:
        return f.convert("fp.from_fp", value, sort_of(target)), f.TRUE
    if source.is_float:
        whole = f.convert("fp.to_int", value, f.INT)
        finite = f.not_(f.or_(f.fp_test("fp.isNaN", value), f.fp_test("fp.isInfinite", value)))
        return whole, f.and_(finite, in_range(whole, target))
    if target.is_float:
        return f.convert("fp.from_int", value, sort_of(target)), f.TRUE
    return f.wrap(value, target.bits, target.code == "int"), f.TRUE


_ROUNDING = {"floor": "RTN", "ceil": "RTP", "trunc": "RTZ", "nearbyint": "RNE", "round": "RNE"}


def encode_call(op: str, result: DType, types: list[DType], args: list[Term]) -> tuple[Term, Term]:
    """Value and definedness of one lane of a pure call.

    The call must be pure.
    """
    assert is_pure(op), op
    sort = sort_of(result)
    if op in ("fma", "sqrt") and result.is_float:
        return f.fp(f"fp.{op}", sort, *args), f.TRUE
    if op == "abs":
        if result.is_float:
            return f.fp("fp.abs", sort, *args), f.TRUE
        magnitude = f.ite(f.lt(args[0], f.integer(0)), f.neg(args[0]), args[0])
        return f.wrap(magnitude, result.bits, result.code == "int"), f.TRUE
    if op in _ROUNDING:
        return f.fp_round(_ROUNDING[op], args[0]), f.TRUE
    if op in ("isnan", "isinf"):
        return f.fp_test("fp.isNaN" if op == "isnan" else "fp.isInfinite", args[0]), f.TRUE
    if op == "isfinite":
        return f.not_(f.or_(f.fp_test("fp.isNaN", args[0]), f.fp_test("fp.isInfinite", args[0]))), f.TRUE
    if op == "likely":
        return args[0], f.TRUE
    if op == "bitwise_not":
        base = f.integer(-1 if result.code == "int" else result.max_value)
        return f.sub(base, args[0]), f.TRUE
    if op in ("popcount", "clz"):
        return _bit_count(op, types[0], args[0]), f.TRUE
    if op == "reinterpret":
        return _reinterpret(types[0], result, args[0])
    names = ".".join(sort_of(t) for t in types)
    return f.app(f"{op}.{names}", tuple(args), sort), f.TRUE


def _bit_count(op: str, dtype: DType, a: Term) -> Term:
    bits = dtype.bits
    raw = f.wrap(a, bits, signed=False)
    if op == "popcount":
        total = f.integer(0)
        for k in range(bits):
            total = f.add(total, f.floormod(f.floordiv(raw, f.integer(1 << k)), f.integer(2)))
        return total
    result = f.integer(bits)
    for k in range(bits):  # highest bit wins, so it comes last
        result = f.ite(f.le(f.integer(1 << k), raw), f.integer(bits - 1 - k), result)
    return result


def _reinterpret(source: DType, target: DType, a: Term) -> tuple[Term, Term]:
    """The same bits at another type; a NaN has no particular bits."""
    if source is target:
        return a, f.TRUE
    if source.is_float:
        bits = f.convert("fp.to_bits", a, f.INT, source.bits)
        defined = f.not_(f.fp_test("fp.isNaN", a))
    else:
        bits, defined = f.wrap(a, source.bits, signed=False), f.TRUE
    if target.is_float:
        return f.convert("fp.from_bits", bits, sort_of(target), target.bits), defined
    return f.wrap(bits, target.bits, target.code == "int"), defined
