"""A literal takes the type of the value whose bits it meets, as in TVM.

``A[i] << 1`` of uint8 was read as an int32, as ``A[i] * 2`` is: 510 for 255, where TVM's program says 254.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import ScriptError, parse_func, script
from verified_tir.ir.equal import structural_equal
from verified_tir.semantics.interpreter import run

HEAD = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int8"), U: T.Buffer((4,), "uint8"), L: T.Buffer((4,), "int64"),
      W: T.Buffer((4,), "uint32"), P: T.Buffer((4,), "bool"), K: T.Buffer((4,), "int64"), n: T.int32):
    for i in range(4):
        K[i] = {}
"""
A, C = np.array([-7, 7, 2**31 - 1, -(2**31)], np.int32), np.array([-128, 127, 3, -1], np.int8)
U, W = np.array([255, 254, 1, 128], np.uint8), np.array([2**32 - 1, 2**31, 5, 0], np.uint32)
L, P = np.array([2**40, -(2**40), 2**62, -1], np.int64), np.array([True, False, True, False])

MEANT = {
    "U[i] << 1": U << np.uint8(1),
    "(U[i] << 1) >> 1": U << np.uint8(1) >> np.uint8(1),
    "T.shift_left(U[i], 1)": U << np.uint8(1),
    "U[i] ^ 255": ~U,
    "200 | U[i]": U | np.uint8(200),
    "C[i] & 127": C & np.int8(127),
    "C[i] | -2": C | np.int8(-2),
    "T.bitwise_and(127, C[i]) << 1": (C & np.int8(127)) << np.int8(1),
    "A[i] << 1": A << np.int32(1),
    "L[i] & 2147483647": L & 2147483647,
    "L[i] & T.int64(4294967295)": L & 4294967295,
    "W[i] & T.uint32(4294901760)": W & np.uint32(4294901760),
    "P[i] & 1": P,
    "P[i] ^ True": ~P,
    "A[i] & True": A & 1,
    "T.Cast('int32', U[i]) << 1": U.astype(np.int32) << 1,
    "T.Cast('int64', C[i]) & 255": C.astype(np.int64) & 255,
    "1 << (C[i] & 3)": np.int8(1) << (C & np.int8(3)),
    "1 << 3": np.full(4, 8),
    # two values of two types are converted as ever, and so are literals elsewhere
    "U[i] | A[i]": U | A,
    "U[i] << T.int32(1)": U.astype(np.int32) << 1,
    "U[i] * 2": U.astype(np.int32) * 2,
}


def result(func_text: str) -> list[int]:
    arrays = {"A": A, "C": C, "U": U, "L": L, "W": W, "P": P, "K": np.zeros(4, np.int64)}
    return list(run(parse_func(HEAD.format(func_text)), {**arrays, "n": 1}).arrays["K"])


@pytest.mark.parametrize("text", MEANT)
def test_what_is_meant(text: str) -> None:
    assert result(text) == MEANT[text].astype(np.int64).tolist()


def test_a_literal_of_32_bits_that_tvm_refuses() -> None:
    assert result("W[i] & 4294901760") == (W & np.uint32(4294901760)).tolist()


@pytest.mark.parametrize("text", MEANT)
def test_what_is_printed_reads_back(text: str) -> None:
    func = parse_func(HEAD.format(text))
    assert structural_equal(parse_func(script(func)), func)


@pytest.mark.parametrize("text", MEANT)
def test_tvm_means_the_same(text: str) -> None:
    tvm = pytest.importorskip("tvm")
    read = tvm.script.from_source("# from tvm.script import tirx as T\n" + HEAD.format(text), check_well_formed=False)
    assert structural_equal(parse_func(read.script()), parse_func(HEAD.format(text)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U[i] & 256", "256 does not fit uint8"),
        ("C[i] & 255", "255 does not fit int8"),
        ("U[i] ^ -1", "-1 does not fit uint8"),
        ("A[i] & 4294967295", "4294967295 does not fit int32"),
        ("L[i] & 4294967295", "TVM takes the last 32 bits of 4294967295 here; write T.int64(4294967295)"),
        ("T.shift_right(255, C[i])", "255 does not fit int8"),
        ("P[i] | 2", "2 is not a value of type bool"),
    ],
)
def test_a_literal_that_does_not_fit(text: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse_func(HEAD.format(text))
    assert caught.value.message == message
