"""Integer instructions on numbers that are known: what each gives, and when a flag makes poison of it."""

import pytest

from verified_tir.validate.llvm.graph import UNDEF, Graph
from verified_tir.validate.llvm.integers import Integers
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import Terms

INTEGERS = Integers(Graph(Builder(Terms())), lambda condition, what: None)


@pytest.mark.parametrize(
    ("op", "flag", "bits", "x", "y", "result"),
    [
        ("mul", "nsw", 32, 2**15, 2**15, 2**30),
        ("mul", "nsw", 32, 2**16, 2**16, UNDEF),
        ("mul", "", 32, 2**16, 2**16, 0),
        ("add", "nsw", 8, 127, 1, UNDEF),
        ("add", "nuw", 8, 127, 1, 128),
        ("add", "nuw", 8, 255, 1, UNDEF),
        ("sub", "nsw", 8, 0, 1, 255),
        ("sub", "nuw", 8, 0, 1, UNDEF),
        ("shl", "nsw", 8, 64, 1, UNDEF),
        ("shl", "nuw", 8, 64, 1, 128),
        ("lshr", "", 8, 0xF8, 1, 0x7C),
        ("ashr", "", 8, 0xF8, 1, 0xFC),
        ("ashr", "", 8, 0x78, 1, 0x3C),
        ("ashr", "exact", 8, 0xF9, 1, UNDEF),
        ("ashr", "", 8, 1, 8, UNDEF),
        ("or", "disjoint", 8, 1, 3, UNDEF),
        ("or", "disjoint", 8, 1, 2, 3),
    ],
)
def test_arithmetic(op: str, flag: str, bits: int, x: int, y: int, result: int) -> None:
    assert INTEGERS.binary(op, bits, {flag} - {""}, x, y) == result


@pytest.mark.parametrize(
    ("word", "flag", "result"),
    [("slt", "", 1), ("ult", "", 0), ("sge", "", 0), ("uge", "", 1), ("eq", "", 0), ("ne", "", 1),
     ("ult", "samesign", UNDEF)],
)  # fmt: skip
def test_comparisons_of_minus_one_with_zero(word: str, flag: str, result: int) -> None:
    assert INTEGERS.compare(word, 8, {flag} - {""}, 255, 0) == result
