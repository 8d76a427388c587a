"""Vectors: lanes put in, taken out, and rearranged."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.codegen.builder import INDEX, KEPT, MEMORY, Function, Register, Value
from verified_tir.codegen.llvm_types import REGISTER, lanes_of, splat, vector_constant
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Broadcast, Ramp, Shuffle


def extract(b: Function, vector: Register, dtype: DType, lane: int) -> Register:
    """One lane of a vector (of a scalar, the scalar)."""
    if dtype.lanes == 1:
        return vector
    return b.assign(f"extractelement {REGISTER[dtype]} {vector}, i64 {lane}")


def assemble(b: Function, dtype: DType, scalars: Sequence[Register]) -> Register:
    """The vector of these lanes."""
    if dtype.lanes == 1:
        return scalars[0]
    kind, scalar = REGISTER[dtype], REGISTER[lanes_of(dtype, 1)]
    vector = "poison"
    for k, lane in enumerate(scalars):
        vector = b.assign(f"insertelement {kind} {vector}, {scalar} {lane}, i64 {k}")
    return vector


def spread(b: Function, dtype: DType, scalar: Register) -> Register:
    """The vector of type ``dtype`` with a scalar in each lane."""
    if dtype.lanes == 1:
        return scalar
    if not (isinstance(scalar, str) and scalar.startswith("%")):
        return splat(dtype, scalar)
    kind = REGISTER[dtype]
    one = b.assign(f"insertelement {kind} poison, {REGISTER[lanes_of(dtype, 1)]} {scalar}, i64 0")
    return b.assign(f"shufflevector {kind} {one}, {kind} poison, <{dtype.lanes} x i32> zeroinitializer")


def permute(b: Function, kind: str, x: Register, y: Register, mask: Sequence[int]) -> str:
    """LLVM's ``shufflevector`` of two vectors of type ``kind``."""
    lanes = f"<{len(mask)} x i32> {vector_constant('i32', list(mask))}"
    return b.assign(f"shufflevector {kind} {x}, {kind} {y}, {lanes}")


def broadcast(b: Function, e: Broadcast) -> Value:
    """Copies of a scalar."""
    scalar, dtype, flags = b.value(e.value)
    dtype = lanes_of(dtype, e.lanes)
    return spread(b, dtype, scalar), dtype, flags


def ramp(b: Function, e: Ramp) -> Value:
    """``base + k * stride``.  The product may wrap where the sum fits, so that neither is marked exact."""
    base, dtype, bf = b.value(e.base)
    stride, _, sf = b.value(e.stride)
    flags = (bf & sf & KEPT) | ((bf | sf) & MEMORY)
    if e.lanes == 1:
        return base, dtype, flags
    low, size = dtype.min_value, 1 << dtype.bits
    dtype = lanes_of(dtype, e.lanes)
    kind = REGISTER[dtype]
    if isinstance(stride, int):
        steps = [(k * stride - low) % size + low for k in range(e.lanes)]
        if isinstance(base, int):
            lanes = [(base + step - low) % size + low for step in steps]
            return vector_constant(REGISTER[lanes_of(dtype, 1)], lanes), dtype, flags
        multiples = vector_constant(REGISTER[lanes_of(dtype, 1)], steps)
    else:
        numbers = [(k - low) % size + low for k in range(e.lanes)]
        counts = vector_constant(REGISTER[lanes_of(dtype, 1)], numbers)
        multiples = b.assign(f"mul {kind} {spread(b, dtype, stride)}, {counts}")
    return b.assign(f"add {kind} {spread(b, dtype, base)}, {multiples}"), dtype, flags


def shuffle(b: Function, e: Shuffle) -> Value:
    """Some lanes of several vectors."""
    given = [b.value(v) for v in e.vectors]
    flags = 0
    for _, _, f in given:
        flags |= f & MEMORY
    if all(f & INDEX for _, _, f in given):
        flags |= INDEX
    dtype = lanes_of(given[0][1], len(e.indices))
    same = all(d is given[0][1] for _, d, _ in given)
    if same and len(given) <= 2 and dtype.lanes > 1 and given[0][1].lanes > 1:
        other = given[1][0] if len(given) == 2 else "poison"
        return permute(b, REGISTER[given[0][1]], given[0][0], other, e.indices), dtype, flags
    places = [(register, d, k) for register, d, _ in given for k in range(d.lanes)]
    return assemble(b, dtype, [extract(b, *places[k]) for k in e.indices]), dtype, flags
