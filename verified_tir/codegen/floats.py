"""Conversions between float types, each rounded once, and the fused multiply-add of narrow types.

What LLVM would do differs between processors (its bfloat16 conversion flushes subnormals on some, float64 to float16
calls a library function on most), so that only float16 <-> float32 is left to it.  bfloat16 is the upper half of a
float32; rounding to it is integer arithmetic.

A float64 is rounded to a narrow type by way of a float32 that was *rounded to odd*: towards zero, but with the last bit
set if anything was lost.  Rounding once more is then as if from the original (S. Boldo, G. Melquiond, "Emulation of FMA
and correctly rounded sums: proved algorithms using rounding to odd", 2008).
"""

from __future__ import annotations

from verified_tir.codegen.builder import Function, Register
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.llvm_types import REGISTER, bools, float_constant, lanes_of, splat
from verified_tir.ir.dtype import FLOAT32, FLOAT64, INT32, INT64, DType


def widen(b: Function, dtype: DType, x: Register) -> str:
    """A float16 or bfloat16 as float32, exactly."""
    kind = REGISTER[lanes_of(FLOAT32, dtype.lanes)]
    if dtype.code == "float":
        need_half(b)
        return b.assign(f"fpext {REGISTER[dtype]} {x} to {kind}")
    words = lanes_of(INT32, dtype.lanes)
    bits = b.assign(f"zext {REGISTER[dtype]} {x} to {REGISTER[words]}")
    shifted = b.assign(f"shl {REGISTER[words]} {bits}, {splat(words, 16)}")
    return b.assign(f"bitcast {REGISTER[words]} {shifted} to {kind}")


def need_half(b: Function) -> None:
    """Refuse float16 on a processor that cannot convert it.

    :raises CodegenError: there.
    """
    if not b.module.target.converts_half:
        raise CodegenError(
            f"{b.module.target.cpu} cannot convert float16 (it lacks F16C); use float32 or bfloat16 buffers instead"
        )


def narrow(b: Function, dtype: DType, x: Register) -> str:
    """A float32 rounded to float16 or bfloat16."""
    kind = REGISTER[lanes_of(FLOAT32, dtype.lanes)]
    if dtype.code == "float":
        need_half(b)
        if b.module.from_integers:
            x = _infinite_if_large(b, dtype.lanes, x)
        return b.assign(f"fptrunc {kind} {x} to {REGISTER[dtype]}")
    words = lanes_of(INT32, dtype.lanes)
    word, conditions = REGISTER[words], REGISTER[bools(dtype.lanes)]
    bits = b.assign(f"bitcast {kind} {x} to {word}")
    upper = b.assign(f"lshr {word} {bits}, {splat(words, 16)}")
    odd = b.assign(f"and {word} {upper}, {splat(words, 1)}")
    half = b.assign(f"add {word} {odd}, {splat(words, 0x7FFF)}")  # ties go to the even one
    moved = b.assign(f"add {word} {bits}, {half}")
    rounded = b.assign(f"lshr {word} {moved}, {splat(words, 16)}")
    nan = b.assign(f"fcmp uno {kind} {x}, {x}")
    chosen = b.assign(f"select {conditions} {nan}, {word} {splat(words, 0x7FC0)}, {word} {rounded}")
    return b.assign(f"trunc {word} {chosen} to {REGISTER[dtype]}")


def _infinite_if_large(b: Function, lanes: int, x: Register) -> str:
    """A float32 that is infinite wherever float16 has no number for it.

    LLVM makes one conversion of an integer's to float32 and on to float16, and drops float16 where that goes back to a
    wider type, if the integer has few enough significant bits: so 2**21 came back as 2**21 (``isKnownExactCastIntToFP``
    forgets the exponent, still so in LLVM 22).
    """
    single = lanes_of(FLOAT32, lanes)
    kind, conditions = REGISTER[single], REGISTER[bools(lanes)]
    for comparison, bound, infinity in (("oge", 65520.0, float("inf")), ("ole", -65520.0, float("-inf"))):
        limit, beyond = (splat(single, float_constant(FLOAT32, v)) for v in (bound, infinity))
        large = b.assign(f"fcmp {comparison} {kind} {x}, {limit}")
        x = b.assign(f"select {conditions} {large}, {kind} {beyond}, {kind} {x}")
    return str(x)


def round_to_odd(b: Function, x: Register, lanes: int) -> str:
    """A float64 as float32: exact, or the neighbour whose last bit is 1."""
    double, single = REGISTER[lanes_of(FLOAT64, lanes)], REGISTER[lanes_of(FLOAT32, lanes)]
    words = lanes_of(INT32, lanes)
    word, conditions = REGISTER[words], REGISTER[bools(lanes)]
    suffix = "f64" if lanes == 1 else f"v{lanes}f64"
    nearest = b.assign(f"fptrunc {double} {x} to {single}")
    back = b.assign(f"fpext {single} {nearest} to {double}")
    bits = b.assign(f"bitcast {single} {nearest} to {word}")
    size = b.assign(f"call {double} @llvm.fabs.{suffix}({double} {x})")
    found = b.assign(f"call {double} @llvm.fabs.{suffix}({double} {back})")
    beyond = b.assign(f"fcmp ogt {double} {found}, {size}")
    correction = b.assign(f"sext {conditions} {beyond} to {word}")  # one step towards zero
    inward = b.assign(f"add {word} {bits}, {correction}")
    odd = b.assign(f"or {word} {inward}, {splat(words, 1)}")
    inexact = b.assign(f"fcmp one {double} {back}, {x}")  # false of NaN
    chosen = b.assign(f"select {conditions} {inexact}, {word} {odd}, {word} {bits}")
    return b.assign(f"bitcast {word} {chosen} to {single}")


def convert(b: Function, source: DType, target: DType, x: Register) -> Register:
    """A float of one type as one of another, rounded once."""
    if source is target:
        return x
    lanes = source.lanes
    if source.bits == 16:
        x, source = widen(b, source, x), lanes_of(FLOAT32, lanes)
    if source.bits == target.bits:
        return x
    if target.bits == 16:
        return narrow(b, target, round_to_odd(b, x, lanes) if source.bits == 64 else x)
    operation = "fpext" if target.bits > source.bits else "fptrunc"
    return b.assign(f"{operation} {REGISTER[source]} {x} to {REGISTER[target]}")


def fused_multiply_add(b: Function, dtype: DType, x: Register, y: Register, z: Register) -> Register:
    """``x * y + z``, rounded once.

    Of narrow types the product is exact in float64.  The sum is rounded there to odd, then to the type.
    """
    kind = REGISTER[dtype]
    if dtype.bits > 16:
        suffix = f"f{dtype.bits}" if dtype.lanes == 1 else f"v{dtype.lanes}f{dtype.bits}"
        return b.assign(f"call {kind} @llvm.fma.{suffix}({kind} {x}, {kind} {y}, {kind} {z})")
    wide = lanes_of(FLOAT64, dtype.lanes)
    x, y, z = (convert(b, dtype, wide, operand) for operand in (x, y, z))
    product = b.assign(f"fmul {REGISTER[wide]} {x}, {y}")
    return convert(b, wide, dtype, _sum_to_odd(b, wide, product, z))


def _sum_to_odd(b: Function, wide: DType, x: Register, y: Register) -> str:
    """The sum of two float64 rounded to odd; there is no overflow.

    ``error`` is what the rounded sum lacks, exactly (D. E. Knuth's TwoSum; for infinities and NaN it is NaN).
    """
    kind, words, conditions = REGISTER[wide], lanes_of(INT64, wide.lanes), REGISTER[bools(wide.lanes)]
    word = REGISTER[words]
    total = b.assign(f"fadd {kind} {x}, {y}")
    second = b.assign(f"fsub {kind} {total}, {x}")
    first = b.assign(f"fsub {kind} {total}, {second}")
    lost_y = b.assign(f"fsub {kind} {y}, {second}")
    lost_x = b.assign(f"fsub {kind} {x}, {first}")
    error = b.assign(f"fadd {kind} {lost_x}, {lost_y}")
    bits = b.assign(f"bitcast {kind} {total} to {word}")
    lost = b.assign(f"bitcast {kind} {error} to {word}")
    signs = b.assign(f"xor {word} {bits}, {lost}")
    beyond = b.assign(f"ashr {word} {signs}, {splat(words, 63)}")  # -1 if the sum is too large in magnitude
    inward = b.assign(f"add {word} {bits}, {beyond}")
    odd = b.assign(f"or {word} {inward}, {splat(words, 1)}")
    inexact = b.assign(f"fcmp one {kind} {error}, {splat(wide, '0.0')}")
    chosen = b.assign(f"select {conditions} {inexact}, {word} {odd}, {word} {bits}")
    return b.assign(f"bitcast {word} {chosen} to {kind}")
