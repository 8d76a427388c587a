"""Element types of graphs: those of programs, and floats of 8 bits and less and small integers, held as bytes there.

A byte of such a type is what ``ml_dtypes`` keeps: the bits of the element, the others 0.  Programs only move these
bytes, or convert them (the operator ``convert``), which is exact for what it reads, and rounds what it writes to the
nearest value, to the even one of two, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import ml_dtypes
import numpy as np

from verified_tir.codegen.aligned_arrays import aligned_empty
from verified_tir.ir.dtype import INT32, DType
from verified_tir.ir.expr import Expr
from verified_tir.ir.node import IRError
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812


@final
@dataclass(frozen=True, slots=True)
class Format:
    """A float: bits of the exponent and of the significand after the point, and what the exponent is less by.

    :ivar most: the code of the greatest finite value; of the infinity and NaN that there may be.
    """

    exponent: int
    fraction: int
    bias: int
    most: int
    infinity: int | None = None
    nan: int | None = None
    unsigned_zero: bool = False


FLOATS: Final = {
    "float8_e4m3fn": Format(4, 3, 7, 0x7E, nan=0x7F),
    "float8_e4m3fnuz": Format(4, 3, 8, 0x7F, nan=0x80, unsigned_zero=True),
    "float8_e5m2": Format(5, 2, 15, 0x7B, infinity=0x7C, nan=0x7E),
    "float8_e5m2fnuz": Format(5, 2, 16, 0x7F, nan=0x80, unsigned_zero=True),
    "float4_e2m1fn": Format(2, 1, 1, 0x7),
}
INTEGERS: Final = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4}
SMALL: Final = (*FLOATS, *INTEGERS, "float8_e8m0fnu")
"""Types that programs hold as bytes; the last one holds a power of two."""


def held_as(dtype: str) -> str:
    """The type that programs have for elements of a type."""
    return "uint8" if dtype in SMALL else dtype


def array_dtype(dtype: str) -> np.dtype[Any]:
    """NumPy's type of arrays.

    :raises IRError: if there is no such type.
    """
    if dtype in SMALL:
        small: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype))
        return small
    parsed = DType.parse(dtype)
    if parsed.lanes != 1 or not (parsed.is_float or parsed.is_int or parsed.is_bool):
        raise IRError(f"{dtype} is not an element type")
    return numpy_dtype(parsed)


def held(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array as programs take it."""
    return array.view(np.uint8) if str(array.dtype) in SMALL else array


def unchanging(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array, if neither it nor an array that it is a view of can be written; else a copy, dense and aligned, that
    cannot be written."""
    at: Any = array
    while isinstance(at, np.ndarray) and not at.flags.writeable:
        at = at.base
    if at is None or isinstance(at, bytes):
        return array
    made = aligned_empty(array.shape, array.dtype)
    made[...] = array
    for held_by in (made.base, made):
        assert held_by is not None
        held_by.flags.writeable = False
    return made


# -- conversions -------------------------------------------------------------------------------------------------------


def converted(x: Expr, dtype: str) -> Expr:
    """x in a type of programs: of a float the nearest integer towards zero that the type holds, 0 of NaN.

    A program's own cast is undefined there, so that two plans of one graph could differ.
    """
    target = DType.parse(dtype)
    if not (x.dtype.is_float and target.is_int):
        return T.cast(x, dtype)
    width, most = target.bits - (target.min_value < 0), _most(x.dtype)
    lost = max(0, width - _digits(x.dtype))  # bits for which the float has no room
    high, low = min((1 << width) - (1 << lost), most), max(target.min_value, -most)
    found = T.cast(_kept_within(x, low, high), dtype)
    if high < target.max_value:
        found = T.Select(x > const(high, x.dtype), const(target.max_value, dtype), found)
    if low > target.min_value:
        found = T.Select(x < const(low, x.dtype), const(target.min_value, dtype), found)
    return found


def near_int32(e: Expr) -> Expr:
    """An integer as the int32 that is nearest (a cast would take the last bits of it)."""
    if e.dtype.max_value > INT32.max_value:
        low = max(e.dtype.min_value, INT32.min_value)
        e = T.min(T.max(e, const(low, e.dtype)), const(INT32.max_value, e.dtype))
    return T.cast(e, "int32")


def _kept_within(x: Expr, low: int, high: int) -> Expr:
    """A float no less than ``low`` and no more than ``high``, which it has room for; 0 for NaN."""
    kept = T.min(const(high, x.dtype), T.max(const(low, x.dtype), x))
    return T.Select(x.equal(x), kept, const(0, x.dtype))


def _most(dtype: DType) -> int:
    """The greatest finite number of a float."""
    return int(float(ml_dtypes.finfo(numpy_dtype(dtype)).max))  # type: ignore[no-untyped-call]


def _digits(dtype: DType) -> int:
    """How many binary digits the significand of a float has."""
    return int(ml_dtypes.finfo(numpy_dtype(dtype)).nmant) + 1  # type: ignore[no-untyped-call]


def _power_of_two(k: Expr) -> Expr:
    """2 to the power of k, from -126 to 127, as float32."""
    return T.reinterpret("float32", T.cast(k + 127, "uint32") * const(1 << 23, "uint32"))


def decoded(byte: Expr, dtype: str) -> Expr:
    """The value of a byte of a small type: a float32, or an int32."""
    code = T.cast(byte, "int32")
    if dtype in INTEGERS:
        range_ = 1 << INTEGERS[dtype]
        code = code % range_
        return code if dtype.startswith("u") else T.Select(code >= range_ // 2, code - range_, code)
    if dtype == "float8_e8m0fnu":
        bits = T.cast(T.max(code, const(1)), "uint32") * const(1 << 23, "uint32")
        found = T.Select(code < 1, const(2.0**-127, "float32"), T.reinterpret("float32", bits))
        return T.Select(code.equal(255), const(float("nan"), "float32"), found)
    form = FLOATS[dtype]
    width = form.exponent + form.fraction
    size = code % (1 << width)
    exponent, fraction = size // (1 << form.fraction), size % (1 << form.fraction)
    whole = T.Select(exponent < 1, fraction, fraction + (1 << form.fraction))
    found = T.cast(whole, "float32") * _power_of_two(T.max(exponent, const(1)) - (form.bias + form.fraction))
    found = T.Select(code % (2 << width) >= 1 << width, -found, found)
    if form.infinity is not None:
        infinite = T.Select(code >= 1 << width, const(float("-inf"), "float32"), const(float("inf"), "float32"))
        found = T.Select(size.equal(form.infinity), infinite, found)
    if form.nan is not None:
        none = (
            code.equal(form.nan)
            if form.unsigned_zero
            else size > (form.most if form.infinity is None else form.infinity)
        )
        found = T.Select(none, const(float("nan"), "float32"), found)
    return found


def encoded(x: Expr, dtype: str, *, saturate: bool) -> Expr:
    """The byte of a float32 in a small float, rounded to the nearest; what is too large is the greatest value with
    ``saturate``, else infinity, or NaN where there is none."""
    form = FLOATS[dtype]
    nan = T.Not(x.equal(x))
    bits = T.reinterpret("uint32", T.if_then_else(nan, const(0.0, "float32"), x))  # nobody may look at those of NaN
    size = T.cast(bits % const(1 << 31, "uint32"), "int32")
    power, significand = size // (1 << 23), size % (1 << 23) + (1 << 23)
    shift = 23 - form.fraction
    least = 128 - form.bias  # the power, as float32 has it, of the least normal value
    code = _rounded(size, shift) - ((127 - form.bias) << form.fraction)
    small: Expr = const(0)
    for k in range(1, form.fraction + 2):
        small = T.Select(power.equal(least - k), _rounded(significand, shift + k), small)
    code = T.Select(power < least, small, code)
    over = form.infinity if form.infinity is not None else form.nan
    sign = 1 << (form.exponent + form.fraction)
    beyond = form.most if saturate or over is None else over
    negative = bits >= const(1 << 31, "uint32")
    if form.unsigned_zero:
        negative = T.And(negative, code > 0)
    large = code > form.most
    code = T.Select(large, const(beyond), code)
    signed = T.And(negative, T.Not(large)) if beyond == sign else negative  # that NaN has no other sign
    code = T.Select(signed, code + sign, code)
    return T.cast(code if form.nan is None else T.Select(nan, const(form.nan), code), "uint8")


def _rounded(x: Expr, shift: int) -> Expr:
    """x in units of 2 to the power of ``shift``, rounded to the nearest whole number, to the even one of two."""
    whole, rest = x // (1 << shift), x % (1 << shift)
    half = 1 << (shift - 1)
    up = T.Or(rest > half, T.And(rest.equal(half), (whole % 2).equal(1)))
    return whole + T.Select(up, const(1), const(0))


def encoded_integer(x: Expr, dtype: str) -> Expr:
    """The byte of a number in a small integer: without its fraction, modulo the type's range (as ONNX's own tests have
    it), 0 of infinities and NaN."""
    if x.dtype.is_float:
        bound = min(1 << 30, _most(x.dtype))  # of which, as of all greater floats, the last bits are 0
        x = _kept_within(x, -bound, bound)
    return T.cast(T.floormod(T.cast(x, "int32"), const(1 << INTEGERS[dtype])), "uint8")


def encoded_power(x: Expr) -> Expr:
    """The byte of a float32 as the next power of two, at most the greatest one; NaN for what is less than 0."""
    nan = T.Or(T.Not(x.equal(x)), x < const(0.0, "float32"))
    bits = T.reinterpret("uint32", T.if_then_else(x > const(0.0, "float32"), x, const(0.0, "float32")))
    power, part = T.cast(bits // const(1 << 23, "uint32"), "int32"), bits % const(1 << 23, "uint32")
    # subnormal numbers up to 2**-127 become that
    more = T.Select(power > 0, part > const(0, "uint32"), part > const(1 << 22, "uint32"))
    code = T.min(power + T.Select(more, const(1), const(0)), const(254))
    return T.cast(T.Select(nan, const(255), code), "uint8")
