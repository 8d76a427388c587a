"""Operators, casts and pure calls on single lanes as formulas.

Correctly rounded operations are interpreted; transcendental ones are uninterpreted functions, so a proof may use that
equal arguments give equal results and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verified_tir import ir
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


def sort_of(dtype: ir.DType) -> str:
    """The sort of one lane of ``dtype``."""
    return ir.FLOATS[dtype.scalar].sort if dtype.is_float else f.BOOL if dtype.is_bool else f.INT


def in_range(value: Term, dtype: ir.DType) -> Term:
    """Whether an integer term fits the type."""
    return f.and_(f.le(f.integer(dtype.min_value), value), f.le(value, f.integer(dtype.max_value)))


def power_of_two(exponent: Term, bits: int) -> Term:
    """2**exponent for 0 <= exponent < bits."""
    result = f.ONE
    for k in range(1, bits):
        result = f.ite(f.eq(exponent, f.integer(k)), f.integer(1 << k), result)
    return result


def _number(dtype: ir.DType, value: int) -> Term:
    """A small number as a constant of a type."""
    return f.floating(sort_of(dtype), ir.bits_of(dtype, value)) if dtype.is_float else f.integer(value)


_BITS: Final = {"bitand": "bvand", "bitor": "bvor", "bitxor": "bvxor"}
_TRUTH: Final[dict[str, Callable[[Term, Term], Term]]] = {"bitand": f.and_, "bitor": f.or_, "bitxor": f.ne}
_INTEGERS: Final[dict[str, Callable[[Term, Term], Term]]] = {
    "add": f.add, "sub": f.sub, "mul": f.mul, "floordiv": f.floordiv, "floormod": f.floormod, "truncdiv": f.truncdiv,
    "truncmod": f.truncmod,
}  # fmt: skip


def encode_binary(op: str, operand: ir.DType, a: Term, b: Term) -> Term:
    """An operator on two lanes of type ``operand``, of integers without a bound where it does not combine bits.

    ``min`` and ``max`` are selects on ``<`` and ``>``.
    """
    if op in ir.COMPARE_OPS:
        return _compare(op, operand, a, b)
    if op in ("min", "max"):
        return f.ite(_compare("lt" if op == "min" else "gt", operand, a, b), a, b)
    if operand.is_float:
        return f.fp(f"fp.{op}", sort_of(operand), a, b)
    if operand.is_bool:
        return _TRUTH[op](a, b)
    if op in _BITS:
        return f.wrap(f.bitwise(_BITS[op], operand.bits, a, b), operand.bits, operand.code == "int")
    if op in ("shl", "shr"):
        power = power_of_two(b, operand.bits)
        return f.mul(a, power) if op == "shl" else f.floordiv(a, power)
    return _INTEGERS[op](a, b)


def _compare(op: str, operand: ir.DType, a: Term, b: Term) -> Term:
    """A comparison of two lanes of type ``operand``; with a NaN all but ``ne`` are false."""
    if op == "ne":
        return f.not_(_compare("eq", operand, a, b))
    if op in ("gt", "ge"):
        return _compare("lt" if op == "gt" else "le", operand, b, a)
    if operand.is_float:
        return f.fp({"eq": "fp.eq", "lt": "fp.lt", "le": "fp.leq"}[op], f.BOOL, a, b)
    if op == "eq":
        return f.eq(a, b)
    if operand.is_bool:
        a, b = f.ite(a, f.integer(1), f.integer(0)), f.ite(b, f.integer(1), f.integer(0))
    return f.lt(a, b) if op == "lt" else f.le(a, b)


def _is_finite(a: Term) -> Term:
    return f.not_(f.or_(f.fp("fp.isNaN", f.BOOL, a), f.fp("fp.isInfinite", f.BOOL, a)))


def encode_cast(source: ir.DType, target: ir.DType, value: Term) -> tuple[Term, Term]:
    """Value and definedness of one lane cast from ``source`` to ``target``."""
    if source is target:
        return value, f.TRUE
    if target.is_bool:
        return _compare("ne", source, value, _number(source, 0)), f.TRUE
    if source.is_bool:
        return f.ite(value, _number(target, 1), _number(target, 0)), f.TRUE
    if target.is_float:
        return f.fp("fp.from_fp" if source.is_float else "fp.from_int", sort_of(target), value), f.TRUE
    if source.is_float:
        whole = f.fp("fp.to_int", f.INT, value)
        return whole, f.and_(_is_finite(value), in_range(whole, target))
    return f.wrap(value, target.bits, target.code == "int"), f.TRUE


_ROUNDING: Final = {"floor": "RTN", "ceil": "RTP", "trunc": "RTZ", "nearbyint": "RNE", "round": "RNE"}
_TESTS: Final = {"isnan": "fp.isNaN", "isinf": "fp.isInfinite"}


def encode_call(op: str, result: ir.DType, types: list[ir.DType], args: list[Term]) -> tuple[Term, Term]:
    """Value and definedness of one lane of a pure call.

    The call must be pure (the encoder has asked): one that is not known here is a function of its arguments.
    """
    sort = sort_of(result)
    if op == "reinterpret":
        return _reinterpret(types[0], result, args[0])
    if op in ("fma", "sqrt") or (op == "abs" and result.is_float):
        return f.fp(f"fp.{op}", sort, *args), f.TRUE
    if op == "abs":
        magnitude = f.ite(f.lt(args[0], f.integer(0)), f.neg(args[0]), args[0])
        return f.wrap(magnitude, result.bits, result.code == "int"), f.TRUE
    if op in _ROUNDING:
        return f.fp(f"fp.roundToIntegral {_ROUNDING[op]}", sort, args[0]), f.TRUE
    if op in _TESTS:
        return f.fp(_TESTS[op], f.BOOL, args[0]), f.TRUE
    if op == "isfinite":
        return _is_finite(args[0]), f.TRUE
    if op == "likely":
        return args[0], f.TRUE
    if op == "bitwise_not":
        return f.sub(f.integer(-1 if result.code == "int" else result.max_value), args[0]), f.TRUE
    if op in ("popcount", "clz"):
        return _bit_count(op, types[0], args[0]), f.TRUE
    names = ".".join(map(sort_of, types))
    return f.app(f"{op}.{names}", tuple(args), sort), f.TRUE


def _bit_count(op: str, dtype: ir.DType, a: Term) -> Term:
    """How many bits are ones (``popcount``), or stand before the first one (``clz``)."""
    raw, result = f.wrap(a, dtype.bits, signed=False), f.ZERO
    for k in range(dtype.bits):
        power = f.integer(1 << k)
        one = f.floormod(f.floordiv(raw, power), f.integer(2))
        result = f.add(result, one if op == "popcount" else f.ite(f.lt(raw, power), f.ONE, f.ZERO))
    return result


def _reinterpret(source: ir.DType, target: ir.DType, a: Term) -> tuple[Term, Term]:
    """The same bits at another type; a NaN has no particular bits."""
    if source is target:
        return a, f.TRUE
    if source.is_float:
        bits = f.fp("fp.to_bits", f.INT, a)
        defined = f.not_(f.fp("fp.isNaN", f.BOOL, a))
    else:
        bits, defined = f.wrap(a, source.bits, signed=False), f.TRUE
    if target.is_float:
        return f.fp("fp.from_bits", sort_of(target), bits), defined
    return f.wrap(bits, target.bits, target.code == "int"), defined
