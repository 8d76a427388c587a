"""NaN constants with different payloads or signs were different expressions, though there is one NaN.

So a program with one did not read back as itself, and what is equal did not look equal.
"""

from __future__ import annotations

import math
import struct

import pytest

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import FloatImm
from verified_tir.ir.script import script
from verified_tir.ir.sugar import const

PATTERNS = (0x7FF8000000000000, 0xFFF8000000000001, 0x7FF8000020000000)
NANS = [struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in PATTERNS]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_there_is_one_nan(dtype: str) -> None:
    made = {FloatImm(DType.parse(dtype), value) for value in NANS} | {const(value, dtype) for value in NANS}
    assert len(made) == 1
    found = made.pop()
    assert isinstance(found, FloatImm) and math.isnan(found.value)
    assert "nan" in script(found)
    assert const(0.0, dtype) is not const(-0.0, dtype)
