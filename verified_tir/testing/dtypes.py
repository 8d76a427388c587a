"""Strategies for data types and for scalar values of them, the awkward ones in good proportion."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from verified_tir.ir.dtype import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, DType
from verified_tir.ir.floats import exponent_bits
from verified_tir.semantics.values import UNDEF, Number, Scalar

FLOATS = (FLOAT32, FLOAT64, FLOAT16, BFLOAT16)
INTEGERS = tuple(DType(code, bits) for code in ("int", "uint") for bits in (32, 8, 64, 16))
SCALARS = (FLOATS[0], INTEGERS[0], BOOL, *INTEGERS[1:], *FLOATS[1:])
"""All scalar types of values, the most usual first."""


def dtypes(
    *,
    max_bits: int = 64,
    lanes: int | Sequence[int] = 1,
    kinds: Sequence[str] = ("float", "bfloat", "int", "uint", "bool"),
) -> SearchStrategy[DType]:
    """Data types of values.  The simplest is ``float32``, then ``int32``; of one lane, if several are allowed.

    :param max_bits: of one lane.
    :param lanes: how many lanes: a number, or the numbers to choose from (``(1, 2, 4, 3, 8, 16)`` is a good choice).
    :param kinds: which of ``float``, ``bfloat``, ``int``, ``uint``, ``bool``.
    :raises ValueError: if no type is left.
    """
    scalars = [t for t in SCALARS if t.bits <= max_bits and t.code in kinds]
    if not scalars:
        raise ValueError(f"no data type of at most {max_bits} bits is one of {', '.join(kinds)}")
    wanted = (lanes,) if isinstance(lanes, int) else tuple(lanes)
    return st.builds(DType.with_lanes, st.sampled_from(scalars), st.sampled_from(wanted))


def float_of_bits(dtype: DType, bits: int) -> float:
    """The float of type ``dtype`` with these bits, as a Python float."""
    if dtype is BFLOAT16:
        bits, dtype = bits << 16, FLOAT32
    unsigned, real = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}[dtype.bits]
    return float(struct.unpack(real, struct.pack(unsigned, bits))[0])


@cache
def special_patterns(dtype: DType) -> tuple[int, ...]:
    """The bits of awkward values of a scalar type, the tamer ones first.

    Floats: zeros, ones and their neighbours, halves, the least and the greatest subnormal and normal numbers,
    infinities, and NaNs: quiet, signalling, of several payloads and both signs.  Integers: around zero, around the ends
    of the range, around powers of two, and a pattern of alternating bits.
    """
    mask = (1 << dtype.bits) - 1
    if dtype.is_bool:
        return (0, 1)
    if not dtype.is_float:
        near = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, dtype.bits - 1, dtype.bits, dtype.bits + 1]
        powers = [(1 << k) + d for k in (dtype.bits // 2, dtype.bits - 2, dtype.bits - 1) for d in (-1, 0, 1)]
        far = [mask // 3, mask // 5, mask // 2 // 2]
        return tuple(dict.fromkeys(v & mask for a in (*near, *powers, *far) for v in (a, -a)))
    fraction = dtype.bits - 1 - exponent_bits(dtype)
    sign, inf = 1 << (dtype.bits - 1), ((1 << exponent_bits(dtype)) - 1) << fraction
    unit = 1 << fraction  # one step of the exponent, and the least normal number
    one = ((1 << (exponent_bits(dtype) - 1)) - 1) << fraction
    finite = [
        0, one, one + unit, one - unit, one + unit // 2, one + 1, one - 1, one + 2, (one + inf) // 2, one // 2,
        one + fraction * unit, one + (fraction + 1) * unit, unit, unit - 1, unit + 1, 1, 2, 3, inf - 1, inf - 2,
    ]  # fmt: skip
    special = [inf, inf + unit // 2, inf + unit // 2 + 5, inf + 1, inf + unit - 1]
    return tuple(v for p in (*finite, *special) for v in (p, p | sign))


def numbers(dtype: DType) -> SearchStrategy[Number]:
    """A value of a scalar type as a Python number: small, awkward, or any bits at all."""
    if dtype.is_bool:
        return st.booleans()
    patterns = st.one_of(st.sampled_from(special_patterns(dtype)), st.integers(0, (1 << dtype.bits) - 1))
    if dtype.is_float:
        return st.one_of(
            st.integers(-20, 20).map(lambda k: k / 4), patterns.map(lambda bits: float_of_bits(dtype, bits))
        )
    low, high = dtype.min_value, dtype.max_value
    return st.one_of(
        st.integers(max(low, -9), 9),
        patterns.map(lambda bits: bits if bits <= high else bits - (1 << dtype.bits)),
        st.integers(low, high),
    )


def scalars(dtype: DType, *, undef: bool = True) -> SearchStrategy[Scalar]:
    """A value of a scalar type, now and then (if ``undef``) the undefined one."""
    known = numbers(dtype)
    if not undef:
        return known
    return st.integers(0, 9).flatmap(lambda k: st.just(UNDEF) if k == 9 else known)
