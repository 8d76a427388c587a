"""How data types look in LLVM, in registers and in memory, and how constants are written.

==========  ============  ==========
dtype       in registers  in memory
==========  ============  ==========
int, uint   ``iN``        ``iN``
bool        ``i1``        ``i8``, 0 or 1
float16     ``half``      ``half``
bfloat16    ``i16``       ``i16``
float32     ``float``     ``float``
float64     ``double``    ``double``
==========  ============  ==========

bfloat16 is kept as its bits, since LLVM's conversions to ``bfloat`` flush subnormals on some processors and call a
library function on others.  Lanes make ``<n x T>`` of these.
"""

from __future__ import annotations

import struct
from functools import cache

from verified_tir.codegen.errors import CodegenError
from verified_tir.ir.dtype import BOOL, DType
from verified_tir.ir.float_bits import round_to
from verified_tir.ir.floats import bits_of

_FLOATS = {16: "half", 32: "float", 64: "double"}


class _Table(dict[DType, str]):
    """A dictionary that computes what it lacks; a lookup costs less than a call."""

    def __init__(self, bool_width: int) -> None:
        super().__init__()
        self.bool_width = bool_width

    def __missing__(self, dtype: DType) -> str:
        scalar = self._scalar(dtype)
        found = scalar if dtype.lanes == 1 else f"<{dtype.lanes} x {scalar}>"
        self[dtype] = found
        return found

    def _scalar(self, dtype: DType) -> str:
        if dtype.code in ("int", "uint"):
            return f"i{dtype.bits}"
        if dtype.code == "bool":
            return f"i{self.bool_width}"
        if dtype.code == "bfloat":
            return "i16"
        if dtype.code == "float":
            return _FLOATS[dtype.bits]
        raise CodegenError(f"a value of type {dtype} has no place in a register; only numbers and bools have")


REGISTER = _Table(1)
"""The type of a value in a register."""

MEMORY = _Table(8)
"""The type of a value in memory."""


@cache
def lanes_of(dtype: DType, lanes: int) -> DType:
    """``dtype`` with another number of lanes (``DType.with_lanes``, remembered)."""
    return dtype.with_lanes(lanes)


@cache
def bools(lanes: int) -> DType:
    """The type of a comparison of ``lanes`` lanes."""
    return BOOL.with_lanes(lanes)


@cache
def parameter_type(dtype: DType) -> str:
    """The type of a scalar parameter: as in registers.

    bfloat16 too goes by its bits: passed as ``bfloat`` it may be converted to float and back, without subnormals.
    """
    return REGISTER[dtype]


def float_constant(dtype: DType, value: float) -> str:
    """A float constant of a scalar type: the value, or the nearest one that the type has."""
    if dtype.code == "bfloat":
        return str(bits_of(dtype, value))
    if dtype.bits == 16:
        return f"0xH{bits_of(dtype, value):04X}"
    if value != value:  # noqa: PLR0124 (the test for NaN; there is only one)
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', round_to(dtype, value)))[0]:016X}"


def splat(dtype: DType, scalar: object) -> str:
    """The constant of type ``dtype`` with ``scalar`` in each lane."""
    if dtype.lanes == 1:
        return str(scalar)
    return f"<{', '.join([f'{REGISTER[lanes_of(dtype, 1)]} {scalar}'] * dtype.lanes)}>"


def vector_constant(scalar_type: str, values: list[int]) -> str:
    """The constant vector of these integers."""
    return f"<{', '.join([f'{scalar_type} {v}' for v in values])}>"
