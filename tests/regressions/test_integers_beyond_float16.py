"""An integer beyond the largest float16 is an infinity there, also where a wider type is next.

LLVM makes one conversion of an integer's to float32 and on to float16, and left float16 out where the integer has few
significant bits: 2**21 came back from float16 as 2**21.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, build
from verified_tir.codegen.target import Target
from verified_tir.semantics.interpreter import run

PROGRAM = """
@T.prim_func
def main(I: T.Buffer((8,), "{integer}"), B: T.Buffer((8,), "{wide}")):
    for i in T.{kind}(8):
        B[i] = T.Cast("{wide}", {value})
"""
VALUES = {
    "half": 'T.Cast("float16", {x})',
    "half of a float": 'T.Cast("float16", T.Cast("float32", {x}))',
    "half of a double": 'T.Cast("float16", T.Cast("float64", {x}))',
    "product of halves": 'T.Cast("float16", I[i] * T.{integer}(512)) * T.Cast("float16", I[i] * T.{integer}(512))',
    "near": 'T.Cast("float16", I[i] * T.{integer}(8192))',
}


@pytest.mark.sample(20)
@pytest.mark.parametrize("kind", ["unroll", "serial"])
@pytest.mark.parametrize("wide", ["float32", "float64"])
@pytest.mark.parametrize("integer", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("value", VALUES)
def test_integers_beyond_float16(value: str, integer: str, wide: str, kind: str) -> None:
    large = f"(I[i] << T.{integer}(21))"
    text = VALUES[value].format(x=large, integer=integer)
    s = Schedule(PROGRAM.format(integer=integer, wide=wide, kind=kind, value=text))
    numbers = np.array([0, 1, 2, 3, 4, 6, 7, 8]).astype(integer)
    want = run(s.func, {"I": numbers.copy(), "B": np.zeros(8, wide)}).arrays["B"]
    found = np.zeros(8, wide)
    build(s, Target.host(threads=1))(numbers, found)
    assert np.isinf(want).any()
    assert found.tolist() == want.tolist()
