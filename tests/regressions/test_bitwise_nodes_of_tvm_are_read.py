"""TVM prints bitwise operations of constants as ``T.BitwiseNot(1)``, ``T.LShift(1, 2)``; the parser knew no such names.
It prints ``T.undef()`` without a type, too, which was taken for a float where only an integer fits.

Found by a campaign: a program that went to TVM could not be read back, so that nothing was said of any step on it.
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func, script
from verified_tir.ir.equal import structural_equal

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((1,), "int32")):
    A[0] = {value}
"""


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("T.BitwiseNot(1)", "T.bitwise_not(1)"),
        ("T.BitwiseAnd(6, 3)", "T.bitwise_and(6, 3)"),
        ("T.BitwiseOr(6, 3)", "T.bitwise_or(6, 3)"),
        ("T.BitwiseXor(6, 3)", "T.bitwise_xor(6, 3)"),
        ("T.LShift(6, 3)", "T.shift_left(6, 3)"),
        ("T.RShift(6, 3)", "T.shift_right(6, 3)"),
    ],
)
def test_nodes_of_bitwise_operations_are_read(printed: str, meant: str) -> None:
    func = parse_func(PROGRAM.format(value=printed))
    assert structural_equal(func, parse_func(PROGRAM.format(value=meant)))
    assert structural_equal(func, parse_func(script(func)))


@pytest.mark.parametrize("name", ["popcount", "clz", "bitwise_not", "BitwiseNot"])
def test_undef_is_an_integer_where_one_is_needed(name: str) -> None:
    func = parse_func(PROGRAM.format(value=f"T.{name}(T.undef())"))
    assert structural_equal(func, parse_func(PROGRAM.format(value=f'T.{name}(T.undef(dtype="int32"))')))
    assert structural_equal(func, parse_func(script(func)))
