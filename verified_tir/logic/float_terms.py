"""Terms of floats: operations, tests, conversions and the two zeros."""

from __future__ import annotations

from verified_tir.logic.term import BOOL, FLOAT_SORTS, Term, make


def fp(op: str, sort: str, *args: Term) -> Term:
    """A float operation by its SMT-LIB name (``fp.add``, ``fp.fma``, ``fp.sqrt``, ``fp.abs``, …), rounding to even."""
    return make(op, args, sort)


def fp_round(mode: str, a: Term) -> Term:
    """Round to an integral float; ``mode`` is ``RNE``, ``RNA``, ``RTZ``, ``RTP`` or ``RTN``."""
    return make("fp.roundToIntegral", (a,), a.sort, mode)


def fp_test(op: str, *args: Term) -> Term:
    """``fp.eq``, ``fp.lt``, ``fp.leq``, ``fp.isNaN``, ``fp.isInfinite``, ``fp.isNegative``, ``fp.isZero``."""
    return make(op, args, BOOL)


def fp_eq(a: Term, b: Term) -> Term:
    """IEEE ``==``: the zeros are equal, a NaN equals nothing."""
    return fp_test("fp.eq", a, b)


def convert(op: str, a: Term, sort: str, bits: int = 0) -> Term:
    """Conversions: ``fp.from_fp``, ``fp.from_int``, ``fp.to_int`` (towards zero), ``fp.from_bits``, ``fp.to_bits``."""
    return make(op, (a,), sort, bits)


def positive_zero(sort: str) -> Term:
    return make("const", (), sort, 0)


def negative_zero(sort: str) -> Term:
    exponent, significand = FLOAT_SORTS[sort]
    return make("const", (), sort, 1 << (exponent + significand - 1))
