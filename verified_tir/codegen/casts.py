"""Casts, each rounded once.

A float that does not fit the integer type gives an undefined value.  LLVM's conversion gives *poison* there, which is
frozen to an arbitrary number.
"""

from __future__ import annotations

from verified_tir.codegen.builder import MEMORY, Function, Register, Value
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.floats import convert, narrow, widen
from verified_tir.codegen.llvm_types import MEMORY as MEMORY_TYPE
from verified_tir.codegen.llvm_types import REGISTER, bools, lanes_of, splat
from verified_tir.ir.dtype import FLOAT32, FLOAT64, DType
from verified_tir.ir.expr import Call, Cast
from verified_tir.semantics.values import wrap


def cast(b: Function, e: Cast) -> Value:
    """A value converted to another type."""
    x, source, flags = b.value(e.value)
    target, flags = e.type, flags & MEMORY
    if source is target:
        return x, target, flags
    if isinstance(x, int):
        if target.is_int:
            return wrap(target, x), target, flags
        if target.is_bool:
            return int(x != 0), target, flags
    if source.is_float:
        return _from_float(b, source, target, x), target, flags
    if target.is_float:
        return _to_float(b, source, target, x), target, flags
    kinds = f"{REGISTER[source]} {x} to {REGISTER[target]}"
    if target.is_bool:
        return b.assign(f"icmp ne {REGISTER[source]} {x}, {splat(source, 0)}"), target, flags
    if target.bits == source.bits:
        return x, target, flags
    how = "trunc" if target.bits < source.bits else "sext" if source.code == "int" else "zext"
    return b.assign(f"{how} {kinds}"), target, flags


def _from_float(b: Function, source: DType, target: DType, x: Register) -> Register:
    if target.is_float:
        return convert(b, source, target, x)
    if source.bits == 16:
        x, source = widen(b, source, x), lanes_of(FLOAT32, source.lanes)
    kind = REGISTER[source]
    if target.is_bool:
        return b.assign(f"fcmp une {kind} {x}, {splat(source, '0.0')}")
    how = "fptosi" if target.code == "int" else "fptoui"
    number = b.assign(f"{how} {kind} {x} to {REGISTER[target]}")
    return b.assign(f"freeze {REGISTER[target]} {number}")


def _to_float(b: Function, source: DType, target: DType, x: Register) -> Register:
    """An integer or bool as a float."""
    if target.bits > 16:
        return _hardware(b, source, target, x)
    single, double = lanes_of(FLOAT32, source.lanes), lanes_of(FLOAT64, source.lanes)
    if source.bits <= 16 or target.code == "float":  # exact in float32, or far beyond the largest float16
        return narrow(b, target, _hardware(b, source, single, x))
    if source.bits == 64:
        x = _shorten(b, source, x)
    return convert(b, double, target, _hardware(b, source, double, x))


def _hardware(b: Function, source: DType, target: DType, x: Register) -> str:
    how = "sitofp" if source.code == "int" else "uitofp"
    return b.assign(f"{how} {REGISTER[source]} {x} to {REGISTER[target]}")


def _shorten(b: Function, dtype: DType, x: Register) -> str:
    """A 64-bit integer that float64 holds exactly and that rounds to bfloat16 as ``x`` does.

    From 2**40 on, bits below 2**20 only say whether something is there: ``x`` is rounded to an odd multiple of 2**20.
    """
    kind, conditions = REGISTER[dtype], REGISTER[bools(dtype.lanes)]
    lost = b.assign(f"and {kind} {x}, {splat(dtype, (1 << 20) - 1)}")
    inexact = b.assign(f"icmp ne {kind} {lost}, {splat(dtype, 0)}")
    sticky = b.assign(f"select {conditions} {inexact}, {kind} {splat(dtype, 1 << 20)}, {kind} {splat(dtype, 0)}")
    multiple = b.assign(f"sub {kind} {x}, {lost}")
    odd = b.assign(f"or {kind} {multiple}, {sticky}")
    if dtype.code == "int":
        moved = b.assign(f"add {kind} {x}, {splat(dtype, 1 << 40)}")
        small = b.assign(f"icmp ult {kind} {moved}, {splat(dtype, 1 << 41)}")
    else:
        small = b.assign(f"icmp ult {kind} {x}, {splat(dtype, 1 << 40)}")
    return b.assign(f"select {conditions} {small}, {kind} {x}, {kind} {odd}")


def to_memory(b: Function, dtype: DType, x: Register) -> Register:
    """A value as it is stored: bools become bytes."""
    if dtype.code != "bool" or isinstance(x, int):
        return x
    return b.assign(f"zext {REGISTER[dtype]} {x} to {MEMORY_TYPE[dtype]}")


def from_memory(b: Function, dtype: DType, x: str) -> str:
    """A value as it was loaded (a bool that is neither 0 nor 1 is undefined: any will do)."""
    if dtype.code != "bool":
        return x
    return b.assign(f"trunc {MEMORY_TYPE[dtype]} {x} to {REGISTER[dtype]}")


def reinterpret(b: Function, e: Call) -> Value:
    """The same bytes at another type."""
    x, source, flags = b.value(e.args[0])
    target, flags = e.type, flags & MEMORY
    if source.nbytes != target.nbytes:
        raise CodegenError(f"reinterpret of {source} as {target} changes the number of bytes; use types of one size")
    if source is target:
        return x, target, flags
    old, new = MEMORY_TYPE[source], MEMORY_TYPE[target]
    x = to_memory(b, source, x)
    if old != new:
        x = b.assign(f"bitcast {old} {x} to {new}")
    elif isinstance(x, int) and target.is_int:  # the bits of a bfloat16 are no number to compute with
        return wrap(target, x), target, flags
    return from_memory(b, target, str(x)), target, flags
